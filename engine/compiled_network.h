// CompiledNetwork: loaded code with the programs and the schedule it came from. BoundNetwork: that with its tensors and memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/codegen/codegen.h"
#include "engine/jit/jit.h"
#include "engine/lower/lower.h"
#include "engine/network/exposure.h"
#include "engine/plan/plan.h"
#include "runtime/dense.h"
#include "weft/stage.h"
#include "weft/tensor.h"

namespace weft {

enum class KernelOrigin : std::uint8_t { memory, disk, compiled };  ///< the slower, the later
/// As reports call it: "memory", "disk", "compiled".
std::string_view word(KernelOrigin origin);

/// One compiled nest: the program as lowered, its canonical form, and the code for the latter.
struct CompiledNest {
  LoweredNest nest;
  loop::Canonical canonical;
  Signature signature;  ///< of the canonical program
  LoadedCode code;
  /// What counts the entries of what is appended, where the program asks for it (Reduction::count).
  std::optional<LoadedCode> counting = {};
  KernelOrigin origin = KernelOrigin::compiled;
  std::uint64_t object_bytes = 0;
};

/// Milliseconds of each phase of making a kernel.
struct CompilePhases {
  double lower = 0;
  double generate = 0;
  double emit = 0;
  double load = 0;
};

class BoundNetwork;
struct ComputedPattern;
struct SavedNetwork;

/// Memory of the host that a result is written to, and how: alpha * result + beta * memory.
struct HostOutput {
  Tensor memory;
  Scaling scaling = {};
};

/// What the host keeps a hand on while a network is bound.
struct HostMemory {
  std::map<std::string, HostOutput> outputs;  ///< by name
  std::set<std::string> changing;         ///< operands whose values change between runs
  std::set<std::string> assume_finite = {};  ///< operands whose values no run looks through
  /// Memory for what runs need beside operands and results, used instead of the account's; empty: none. Nothing else uses it
  /// while a run is under way; between runs anybody may.
  std::span<std::byte> scratch = {};
  /// Operands are held by somebody else while a run is under way, and bound anew before the next: the binding holds none.
  bool lent = false;
  /// Operands as the host gave them, where those that are bound are layouts made of these; null: they are as they were given.
  const std::map<std::string, Tensor>* given = nullptr;
  std::set<std::string> from_values = {};  ///< likewise: those whose values decide which coordinates the layout has
  /// The network as the host gave it, where the one that is bound is over levels; null: that one.
  const Network* network = nullptr;
};

/// What layouts of operands took, of one binding since it was made.
struct LayoutCounters {
  std::uint64_t made = 0;      ///< converted
  std::uint64_t known = 0;     ///< found with the tensor
  std::uint64_t refilled = 0;  ///< values gathered
  std::uint64_t read_through = 0;  ///< values read where they are, which had changed
};

class CompiledNetwork;

/// Makes the kernel that takes the place of one over exposed levels, for operands that it does not fit, and why not.
using PlainKernel = std::function<Expected<CompiledNetwork>(const std::map<std::string, Tensor>&, const std::string&)>;

/// Immutable, shareable between threads; outlives its engine.
class CompiledNetwork {
 public:
  CompiledNetwork() = default;  ///< a place for one
  const Network& network() const;
  const Plan& plan() const;
  const std::vector<CompiledNest>& nests() const;
  const CompilePhases& phases() const;
  /// Operands that have to be finite for this code; of others it does not matter.
  std::vector<std::string> finite_operands() const;
  /// What the code is made for: generic, profiled or baked.
  Specialization grade() const;
  /// network, tree, schedule, loops, signature, llvm, asm; "object" gives the bytes. Input error for other names.
  Expected<std::string> explain(Stage stage) const;

  /// Binds operands by name: checks formats, extents and facts, converts where the schedule says so, allocates and
  /// touches results, intermediates, private copies and scratch. The binding keeps what it needs alive. A result is
  /// computed in the host's memory if that is laid out like it and the code can scale it as asked, else copied there by
  /// results(). Operands of which something
  /// does not hold that the kernel assumes (extents, a pattern baked in, a full level, finite values) are bound to a generic
  /// kernel for the same schedule, or for another where it is not legal for them; that is compiled if need be. Input error
  /// for operands of other orders, or whose extents do not agree.
  Expected<BoundNetwork> bind(const std::map<std::string, Tensor>& operands, const Resources& resources,
                              bool deterministic, const HostMemory& host = {}) const;

  /// The same code, which takes operands, and hands over results, as a network with layouts has them: this one is compiled
  /// for its levels (network/exposure.h).
  CompiledNetwork over(std::shared_ptr<const Exposure> exposure, PlainKernel plain, std::map<std::string, Format> formats) const;
  /// The same code over operands that are stored in layouts first, all of whose places are entries, whatever the code reads.
  CompiledNetwork with_pinned_layouts(std::map<std::string, Format> layouts) const;
  /// The same code; the text of its schedule says what tensors stand in.
  CompiledNetwork with_stated_formats(std::map<std::string, StatedFormat> formats) const;
  /// What it is compiled over; null: the tensors as they are.
  const Exposure* exposure() const;

 private:
  friend class Pipeline;
  friend class BoundNetwork;
  friend Expected<SavedNetwork> saved(const CompiledNetwork& network);
  struct State;
  explicit CompiledNetwork(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  /// Binds the tensors of `network()` itself.
  Expected<BoundNetwork> bind_given(const std::map<std::string, Tensor>& operands, const Resources& resources, bool deterministic,
                                    const HostMemory& host) const;
  /// To a general kernel, which others take the place of where it was made for operands with other entries.
  static Expected<BoundNetwork> in_its_place(Expected<BoundNetwork> bound);
  Expected<BoundNetwork> bind_levels(const std::map<std::string, Tensor>& operands, const Resources& resources, bool deterministic,
                                     const HostMemory& host) const;
  const State& state() const { return *state_; }
  std::shared_ptr<const State> state_;
};

/// How a nest is cut for threads: entries of the operand that its root loop walks, or coordinates where there is none.
struct NestBalance {
  std::uint64_t chunks = 0;
  std::uint64_t parts = 0;     ///< chunks among them that are parts of slices
  std::uint64_t entries = 0;   ///< of all chunks
  std::uint64_t heaviest = 0;  ///< of the largest one
};

/// Not thread safe: one run at a time. Different bindings of one kernel run concurrently.
class BoundNetwork {
 public:
  BoundNetwork(BoundNetwork&&) noexcept;
  BoundNetwork& operator=(BoundNetwork&&) noexcept;
  ~BoundNetwork();

  /// Other operands, or the same: what does not depend on those that are others stays as it is (workspaces, frames,
  /// conversions). False where this binding cannot take them (extents, a pattern that is baked in, a full level, finite values):
  /// they have to be bound by CompiledNetwork::bind. Input error for an operand that is missing. After an error, or false, it
  /// has to be bound anew.
  Expected<bool> rebind(const std::map<std::string, Tensor>& operands, const HostMemory& host);
  /// Results that are stored at the positions of an operand as that was given, by name: theirs is its pattern.
  const std::map<std::string, std::string>& patterns() const;
  /// Whether a result is computed over the levels of a layout, and put together from these when it is handed over: memory of the host for
  /// it has to be dense.
  bool is_over_levels(const std::string& result) const;
  /// Of operands that are lent: lets go of their layouts; where there are any it has to be bound again before it runs.
  void let_go();
  bool whole() const;  ///< whether it could run as it is
  /// Whether the values that have to be finite, and were found to be, and those that views or padded copies hold are those of then: no
  /// change of them was announced since. `operands`: those that it is bound to.
  bool is_current(const std::map<std::string, Tensor>& operands) const;
  const LayoutCounters& layouts() const;
  /// Converts and checks anew what changes, clears the results and runs every nest. Cancelled, resource or internal errors leave the
  /// results undefined; what was appended until then is freed.
  Expected<void> run();
  /// Results of the last run by name, sharing memory with the binding: valid until the next run(). Those that are asked
  /// for in another layout than they are computed in are converted here, once per run. Resource error, or cancelled.
  Expected<std::map<std::string, Tensor>> results();
  /// A copy of one of the results that owns its memory and knows what its pattern was computed from. Resource error.
  Expected<Tensor> kept(const std::string& name, const Tensor& result) const;
  /// What each nest took in the last run, in milliseconds of wall clock, once time_nests() was called; else nothing.
  const std::vector<double>& nest_ms() const;
  void time_nests(bool timed = true);
  /// Of a counting kernel: how often the body of every loop ran since the binding was made, by nest and loop
  /// (LoweredNest::loops); else zeros.
  const std::vector<std::vector<std::uint64_t>>& counts() const;
  /// Of the next runs; until then the one of the resources.
  void cancel_with(const Cancellation& cancellation);
  /// What HostMemory::scratch has to hold: workspaces of all threads, private copies, dense intermediates. Not what grows
  /// (tables, sparse intermediates).
  std::uint64_t scratch_bytes() const;
  std::uint64_t bytes() const;  ///< that only this binding needs: converted operands, what it writes, workspaces
  double convert_ms() const;  ///< spent converting: operands while binding, results while handing them over
  unsigned threads() const;
  /// By nest, as it is cut now.
  std::vector<NestBalance> balance() const;

 private:
  friend class CompiledNetwork;
  struct State;
  std::shared_ptr<const ComputedPattern> computed_pattern(const std::string& result) const;
  Expected<bool> rebind_given(const std::map<std::string, Tensor>& operands, const HostMemory& host);
  Expected<bool> rebind_levels(const std::map<std::string, Tensor>& operands, const HostMemory& host);
  Expected<std::map<std::string, Tensor>> level_results();
  explicit BoundNetwork(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft
