#include "engine/codegen/emit.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <cstddef>

#include "runtime/abi.h"
#include "runtime/indices.h"

namespace weft {

namespace {

/// Iterations between two looks at the cancellation flag: at a few nanoseconds each, well under a millisecond.
constexpr std::uint64_t fuel_per_poll = 1 << 16;
/// Iterations of one fiber between two looks: some milliseconds.
constexpr std::uint64_t longest_strip = 1 << 20;

}  // namespace

Emitter::Emitter(llvm::Function& function, llvm::Value* worker, const CodeOptions& options, unsigned vector_bits)
    : function_(function), worker_(worker), options_(options), vector_bits_(vector_bits), ir_(function.getContext()) {
  ir_.SetInsertPoint(block("entry"));
  if (!options.strict_fp) {
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    ir_.setFastMathFlags(flags);
  }
  fuel_ = slot(constant(fuel_per_poll));
}

llvm::BasicBlock* Emitter::block(const char* role) {
  if (loop_.empty()) return llvm::BasicBlock::Create(function_.getContext(), role, &function_);
  // The role last, for LLVM tells equal names apart by digits behind them.
  return llvm::BasicBlock::Create(function_.getContext(), llvm::Twine(loop_) + loop_and_role + role, &function_);
}

Emitter::Within::Within(Emitter& emitter, const std::function<std::string()>& loop) : emitter_(emitter), before_(emitter.loop_) {
  if (!emitter.function_.getContext().shouldDiscardValueNames()) emitter_.loop_ = loop();
}
Emitter::Within::~Within() { emitter_.loop_ = std::move(before_); }

llvm::Value* Emitter::add(llvm::Value* a, llvm::Value* b) {
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(a); number && number->isZero()) return b;
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(b); number && number->isZero()) return a;
  return ir_.CreateAdd(a, b);
}

llvm::Value* Emitter::sub(llvm::Value* a, llvm::Value* b) {
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(b); number && number->isZero()) return a;
  return ir_.CreateSub(a, b);
}

llvm::Value* Emitter::one_less(llvm::Value* value) {
  auto* made = llvm::dyn_cast<llvm::Instruction>(value);
  if (!made || llvm::isa<llvm::PHINode>(made) || made->isTerminator()) return sub(value, constant(1));
  return llvm::IRBuilder<>(made->getNextNode()).CreateSub(value, constant(1));
}

llvm::Value* Emitter::mul(llvm::Value* a, llvm::Value* b) {
  for (auto [factor, other] : {std::pair(a, b), std::pair(b, a)})
    if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(factor)) {
      if (number->isZero()) return number;
      if (number->isOne()) return other;
      if (number->getValue().isPowerOf2()) return ir_.CreateShl(other, number->getValue().logBase2());
    }
  return ir_.CreateMul(a, b);
}

llvm::Value* Emitter::minimum(llvm::Value* a, llvm::Value* b) {
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b);
}

llvm::Value* Emitter::widen(llvm::Value* value) { return ir_.CreateZExtOrTrunc(value, word()); }

llvm::Value* Emitter::narrowed(llvm::Value* value, unsigned bits) {
  if constexpr (WEFT_NARROW_BITS < 32) {
    if (bits == 32) value = ir_.CreateAnd(value, narrow_numbers - 1);
  }
  return ir_.CreateTrunc(value, ir_.getIntNTy(bits));
}

Slot Emitter::slot(llvm::Value* initial) {
  llvm::BasicBlock& entry = function_.getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  slots_.push_back(at_entry.CreateAlloca(initial->getType()));
  ir_.CreateStore(initial, slots_.back());
  return Slot(slots_.back());
}

llvm::Value* Emitter::words(std::uint64_t count) {
  llvm::BasicBlock& entry = function_.getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(llvm::ArrayType::get(word(), count));
}

llvm::AllocaInst* Emitter::memory(llvm::Type* type) {
  llvm::BasicBlock& entry = function_.getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type);
}

llvm::Value* Emitter::get(Slot slot) { return ir_.CreateLoad(slot.type(), slot.place()); }

void Emitter::set(Slot slot, llvm::Value* value) { ir_.CreateStore(value, slot.place()); }

llvm::Value* Emitter::address(llvm::Type* type, llvm::Value* base, llvm::Value* index) {
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(index); number && number->isZero()) return base;
  return ir_.CreateInBoundsGEP(type, base, index);
}

llvm::Value* Emitter::load(llvm::Type* type, llvm::Value* address, unsigned alignment) {
  return ir_.CreateAlignedLoad(type, address, llvm::Align(alignment));
}

void Emitter::store(llvm::Value* value, llvm::Value* address, unsigned alignment) {
  ir_.CreateAlignedStore(value, address, llvm::Align(alignment));
}

void Emitter::fetch(llvm::Value* address, bool written, unsigned nearest) {
  constexpr std::uint32_t data = 1, most_local = 4;
  ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                      {address, ir_.getInt32(written ? 1 : 0), ir_.getInt32(most_local - nearest), ir_.getInt32(data)});
}

void Emitter::if_then(llvm::Value* condition, Body body) {
  // What is known of a baked pattern: there may be no coordinate to speak of where nothing is.
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (known->isOne()) body();
    return;
  }
  llvm::BasicBlock* inside = block("then");
  llvm::BasicBlock* after = block("endif");
  ir_.CreateCondBr(condition, inside, after);
  ir_.SetInsertPoint(inside);
  body();
  ir_.CreateBr(after);
  after->moveAfter(ir_.GetInsertBlock());
  ir_.SetInsertPoint(after);
}

void Emitter::if_else(llvm::Value* condition, Body then, Body otherwise, llvm::MDNode* weights) {
  llvm::BasicBlock* inside = block("then");
  llvm::BasicBlock* other = block("else");
  llvm::BasicBlock* after = block("endif");
  ir_.CreateCondBr(condition, inside, other, weights);
  ir_.SetInsertPoint(inside);
  then();
  ir_.CreateBr(after);
  other->moveAfter(ir_.GetInsertBlock());
  ir_.SetInsertPoint(other);
  otherwise();
  ir_.CreateBr(after);
  after->moveAfter(ir_.GetInsertBlock());
  ir_.SetInsertPoint(after);
}

void Emitter::if_rarely(llvm::Value* condition, Body body) {
  llvm::BasicBlock* inside = block("rare");
  llvm::BasicBlock* after = block("usual");
  llvm::MDBuilder metadata(function_.getContext());
  ir_.CreateCondBr(condition, inside, after, metadata.createUnlikelyBranchWeights());
  ir_.SetInsertPoint(inside);
  body();
  ir_.CreateBr(after);
  after->moveAfter(ir_.GetInsertBlock());
  ir_.SetInsertPoint(after);
}

void Emitter::if_usually(llvm::Value* condition, Body body, Body rarely) {
  if_else(condition, body, rarely, llvm::MDBuilder(function_.getContext()).createLikelyBranchWeights());
}

void Emitter::return_unless_done(llvm::Value* status) {
  llvm::BasicBlock* stop = block("stop");
  llvm::BasicBlock* go_on = block("grown");
  ir_.CreateCondBr(ir_.CreateICmpNE(status, ir_.getInt32(0)), stop, go_on);
  ir_.SetInsertPoint(stop);
  ir_.CreateRet(status);
  ir_.SetInsertPoint(go_on);
}

void Emitter::branch_if_all(std::initializer_list<Condition> conditions, llvm::BasicBlock* inside, llvm::BasicBlock* otherwise) {
  for (const Condition& each : conditions) {
    llvm::BasicBlock* next = &each + 1 == conditions.end() ? inside : block("and");
    ir_.CreateCondBr(each(), next, otherwise);
    ir_.SetInsertPoint(next);
  }
}

void Emitter::if_any(std::initializer_list<std::initializer_list<Condition>> ways, Body body) {
  llvm::BasicBlock* inside = block("then");
  llvm::BasicBlock* after = block("endif");
  for (const auto& way : ways) {
    llvm::BasicBlock* other = &way + 1 == ways.end() ? after : block("else");
    branch_if_all(way, inside, other);
    if (other == after) break;
    other->moveAfter(&function_.back());
    ir_.SetInsertPoint(other);
  }
  inside->moveAfter(&function_.back());
  ir_.SetInsertPoint(inside);
  body();
  ir_.CreateBr(after);
  after->moveAfter(ir_.GetInsertBlock());
  ir_.SetInsertPoint(after);
}

void Emitter::while_loop(Condition condition, Body body) { while_all({condition}, body); }

void Emitter::while_all(std::initializer_list<Condition> conditions, Body body) {
  llvm::BasicBlock* head = block("loop");
  llvm::BasicBlock* inside = block("body");
  llvm::BasicBlock* after = block("exit");
  ir_.CreateBr(head);
  ir_.SetInsertPoint(head);
  branch_if_all(conditions, inside, after);
  inside->moveAfter(&function_.back());
  body();
  ir_.CreateBr(head);
  after->moveAfter(ir_.GetInsertBlock());
  ir_.SetInsertPoint(after);
}

void Emitter::strips(std::span<const Slot> positions, std::span<llvm::Value* const> ends,
                     llvm::function_ref<void(std::span<llvm::Value* const>)> inner) {
  llvm::BasicBlock* head = block("strip");
  llvm::BasicBlock* thirsty = block("poll");
  llvm::BasicBlock* go = block("go");
  llvm::BasicBlock* after = block("exit");
  std::vector<Slot> limits;
  for (llvm::Value* end : ends) limits.push_back(slot(end));
  ir_.CreateBr(head);
  // The whole fiber is paid for at once, so short ones cost a subtraction and a branch never taken.
  ir_.SetInsertPoint(head);
  llvm::Value* fuel = get(fuel_);
  for (std::size_t n = 0; n < positions.size(); ++n) {
    fuel = ir_.CreateSub(fuel, ir_.CreateSub(ends[n], get(positions[n])));
    set(limits[n], ends[n]);
  }
  set(fuel_, ir_.CreateSub(fuel, constant(1)));
  ir_.CreateCondBr(ir_.CreateICmpSLT(get(fuel_), constant(0)), thirsty, go);
  ir_.SetInsertPoint(thirsty);
  llvm::Value* stop = poll();
  for (std::size_t n = 0; n < positions.size(); ++n) {
    llvm::Value* position = get(positions[n]);
    set(limits[n], add(position, minimum(sub(ends[n], position), constant(longest_strip))));
  }
  ir_.CreateCondBr(stop, cancelled(), go);
  go->moveAfter(ir_.GetInsertBlock());
  ir_.SetInsertPoint(go);
  std::vector<llvm::Value*> values;
  for (const Slot limit : limits) values.push_back(get(limit));
  inner(values);
  llvm::Value* more = nullptr;
  for (std::size_t n = 0; n < positions.size(); ++n) {
    llvm::Value* below = ir_.CreateICmpULT(get(positions[n]), ends[n]);
    more = more ? ir_.CreateAnd(more, below) : below;
  }
  ir_.CreateCondBr(more, head, after);
  after->moveAfter(ir_.GetInsertBlock());
  ir_.SetInsertPoint(after);
}

void Emitter::spend_fuel() {
  set(fuel_, ir_.CreateSub(get(fuel_), constant(1)));
  llvm::BasicBlock* thirsty = block("poll");
  llvm::BasicBlock* go_on = block("fueled");
  ir_.CreateCondBr(ir_.CreateICmpSLT(get(fuel_), constant(0)), thirsty, go_on);
  ir_.SetInsertPoint(thirsty);
  ir_.CreateCondBr(poll(), cancelled(), go_on);
  ir_.SetInsertPoint(go_on);
}

llvm::Value* Emitter::poll() {
  llvm::Value* pointer = worker_member(offsetof(Worker, cancelled));
  llvm::LoadInst* flag = ir_.CreateAlignedLoad(ir_.getInt8Ty(), pointer, llvm::Align(1));
  flag->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::Value* stop = ir_.CreateICmpNE(flag, ir_.getInt8(0));
  set(fuel_, constant(fuel_per_poll));
  for (const std::function<void()>& more : at_poll_) more();
  return stop;
}

llvm::BasicBlock* Emitter::cancelled() {
  if (!cancelled_) {
    cancelled_ = llvm::BasicBlock::Create(function_.getContext(), "cancelled", &function_);
    llvm::IRBuilder<>(cancelled_).CreateRet(ir_.getInt32(static_cast<std::uint32_t>(KernelStatus::cancelled)));
  }
  return cancelled_;
}

llvm::Value* Emitter::call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  return ir_.CreateCall(module().getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)), arguments);
}

llvm::Value* Emitter::worker_place(std::uint64_t offset) {
  return address(ir_.getInt8Ty(), worker_, constant(offset));
}

llvm::Value* Emitter::worker_member(std::uint64_t offset) {
  return load(ir_.getPtrTy(), worker_place(offset), 8);
}

void Emitter::check(llvm::Value* holds, Origin origin, llvm::Value* value) {
  llvm::BasicBlock* failed = block("failed");
  llvm::BasicBlock* fine = block("fine");
  ir_.CreateCondBr(holds, fine, failed);
  ir_.SetInsertPoint(failed);
  const auto report = [&](std::size_t offset, llvm::Value* number) {
    store(number, address(ir_.getInt8Ty(), worker_, constant(offset)), 8);
  };
  report(offsetof(Worker, failed_storage), constant(origin.storage));
  report(offsetof(Worker, failed_level), constant(origin.level));
  report(offsetof(Worker, failed_value), widen(value));
  ir_.CreateRet(ir_.getInt32(static_cast<std::uint32_t>(KernelStatus::failed_check)));
  ir_.SetInsertPoint(fine);
}

void Emitter::finish() { finish(ir_.getInt32(static_cast<std::uint32_t>(KernelStatus::done))); }

void Emitter::finish(llvm::Value* result) {
  ir_.CreateRet(result);
  if (cancelled_) cancelled_->moveAfter(&function_.back());
  llvm::DominatorTree dominators(function_);
  llvm::PromoteMemToReg(slots_, dominators);
  for (llvm::BasicBlock& block : function_)
    for (llvm::Instruction& each : llvm::make_early_inc_range(llvm::reverse(block)))
      if (llvm::isInstructionTriviallyDead(&each)) each.eraseFromParent();
}

}  // namespace weft
