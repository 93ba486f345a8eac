// Emitter: the only place that knows basic blocks. Structured control flow from lambdas, loop-carried slots, one load,
// one store, the polling of the cancellation flag, and the checks of the checked mode.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/codegen/codegen.h"

namespace weft {

/// A variable of the generated function. Slots are entry-block allocas while code is written; finish() turns them into
/// phis, so writing one costs nothing at run time.
class Slot {
 public:
  Slot() = default;
  explicit Slot(llvm::AllocaInst* place) : place_(place) {}
  llvm::AllocaInst* place() const { return place_; }
  llvm::Type* type() const { return place_->getAllocatedType(); }

 private:
  llvm::AllocaInst* place_ = nullptr;
};

/// Which storage and level an access belongs to: what a failed check reports.
struct Origin {
  std::uint32_t storage = 0;
  std::uint32_t level = 0;
};

/// Between the loop and the role in the name of a block, "for i: drive T; body".
inline constexpr const char* loop_and_role = "; ";

class Emitter {
 public:
  using Body = llvm::function_ref<void()>;
  using Condition = llvm::function_ref<llvm::Value*()>;

  /// What blocks that are made while it lives are named after: the loop that they belong to, in the words of the loop program. IR and
  /// assembly carry it as text; where names are discarded (object code) it costs nothing.
  class Within {
   public:
    Within(Emitter& emitter, const std::function<std::string()>& loop);
    ~Within();
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    Emitter& emitter_;
    std::string before_;
  };

  /// Starts writing at the entry of an empty function. Only one that returns KernelStatus may poll and check.
  Emitter(llvm::Function& function, llvm::Value* worker, const CodeOptions& options, unsigned vector_bits);

  llvm::IRBuilder<>& ir() { return ir_; }
  bool checked() const { return options_.checked; }
  bool strict() const { return options_.strict_fp; }
  /// Of the target's widest vectors. From 256 on parts of a vector are loaded by a mask.
  unsigned vector_bits() const { return vector_bits_; }

  llvm::Type* word() { return ir_.getInt64Ty(); }
  llvm::Value* constant(std::uint64_t value) { return ir_.getInt64(value); }
  // Arithmetic on 64-bit words with the simplifications that no later pass would make.
  llvm::Value* add(llvm::Value* a, llvm::Value* b);
  llvm::Value* sub(llvm::Value* a, llvm::Value* b);
  llvm::Value* mul(llvm::Value* a, llvm::Value* b);
  llvm::Value* one_less(llvm::Value* value);  ///< written right behind the value: loops in between do not repeat it
  llvm::Value* minimum(llvm::Value* a, llvm::Value* b);
  llvm::Value* widen(llvm::Value* value);  ///< zero-extended to 64 bits
  /// A coordinate or position as an array of such a width holds it (narrow_numbers in runtime/indices.h).
  llvm::Value* narrowed(llvm::Value* value, unsigned bits);

  Slot slot(llvm::Value* initial);
  llvm::Value* get(Slot slot);
  /// Memory of the function for `count` words, whose address may be handed out.
  llvm::Value* words(std::uint64_t count);
  void set(Slot slot, llvm::Value* value);

  /// `base` points to elements of `type`.
  llvm::Value* address(llvm::Type* type, llvm::Value* base, llvm::Value* index);
  llvm::Value* load(llvm::Type* type, llvm::Value* address, unsigned alignment);
  void store(llvm::Value* value, llvm::Value* address, unsigned alignment);
  /// The line there will be read, or written. `nearest`: the cache that it should be in.
  void fetch(llvm::Value* address, bool written = false, unsigned nearest = 1);

  void if_then(llvm::Value* condition, Body body);
  void if_else(llvm::Value* condition, Body then, Body otherwise, llvm::MDNode* weights = nullptr);
  void if_rarely(llvm::Value* condition, Body body);  ///< the same, its body out of the way
  void if_usually(llvm::Value* condition, Body body, Body rarely);  ///< the same as if_else, `rarely` out of the way
  /// The kernel ends with this status unless it is KernelStatus::done.
  void return_unless_done(llvm::Value* status);
  /// If all conditions of one of the ways hold: asked in order, up to the first that does not hold, so that each may rest on those before,
  /// and each is a branch of its own.
  void if_any(std::initializer_list<std::initializer_list<Condition>> ways, Body body);
  void while_loop(Condition condition, Body body);
  void while_all(std::initializer_list<Condition> conditions, Body body);  ///< asked in order, up to the first that does not hold
  /// Runs `inner(limits)` until one position has reached its end: `inner` is a loop that advances the positions while
  /// all are below their limits. The cancellation flag is polled between strips, so that an endless fiber can be
  /// interrupted while its inner loop pays nothing for it. Positions never exceed their ends.
  void strips(std::span<const Slot> positions, std::span<llvm::Value* const> ends,
              llvm::function_ref<void(std::span<llvm::Value* const>)> inner);
  /// At the back edge of a loop that has loops inside, unless one of them always runs in strips: these spend fuel, too.
  void spend_fuel();

  /// Until forget_poll(), writes `more`, code without branches, wherever the flag is polled: after fuel_per_poll iterations
  /// or at most some more.
  void on_poll(std::function<void()> more) { at_poll_.push_back(std::move(more)); }
  void forget_poll() { at_poll_.pop_back(); }
  /// Memory of the function for a value of that type, not to be promoted.
  llvm::AllocaInst* memory(llvm::Type* type);

  /// Calls a function of runtime/abi.h.
  llvm::Value* call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments);
  /// Where a member of the worker lies, `offset` bytes into it.
  llvm::Value* worker_place(std::uint64_t offset);
  /// A pointer that the worker holds there.
  llvm::Value* worker_member(std::uint64_t offset);

  /// Checked mode: unless `holds`, the kernel returns failed_check with the origin and `value`.
  void check(llvm::Value* holds, Origin origin, llvm::Value* value);

  llvm::Module& module() { return *function_.getParent(); }
  /// Returns KernelStatus::done, or `result`, promotes the slots to registers, and drops what is read for nothing.
  void finish();
  void finish(llvm::Value* result);

 private:
  llvm::BasicBlock* block(const char* role);
  /// Goes on writing at `inside`.
  void branch_if_all(std::initializer_list<Condition> conditions, llvm::BasicBlock* inside, llvm::BasicBlock* otherwise);
  /// Reads the cancellation flag, fills up with fuel and writes what on_poll() adds; whether to go to cancelled().
  llvm::Value* poll();
  /// The one block of the function that returns `cancelled`.
  llvm::BasicBlock* cancelled();

  llvm::Function& function_;
  llvm::Value* worker_;
  CodeOptions options_;
  unsigned vector_bits_;
  llvm::IRBuilder<> ir_;
  std::vector<llvm::AllocaInst*> slots_;
  std::vector<std::function<void()>> at_poll_;
  llvm::BasicBlock* cancelled_ = nullptr;
  Slot fuel_;
  std::string loop_;  // that blocks are named after
};

}  // namespace weft
