// Workspaces: what the runs of a kernel need beside its operands, kept from one run to the next.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/compiled_network.h"
#include "runtime/kept.h"
#include "runtime/spread.h"
#include "weft/engine.h"

namespace weft {

/// What a run is over: the tables of Bindings. A stamp stands for one content of them. Every run counts a reference to it, so
/// that it shares no line with what runs of other threads write to.
struct alignas(spread_bytes) RunOperands {
  Tensors tensors;
  HostMemory host{.outputs = {}, .changing = {}, .assume_finite = {}, .scratch = {}, .lent = true};
  std::uint64_t stamp = next_stamp();
  mutable std::atomic<bool> verified{false};
  mutable std::atomic<bool> known{false};  ///< some workspace may be bound to these: of the stamp, as is the former

  RunOperands() = default;
  RunOperands(const RunOperands& other) : tensors(other.tensors), host(other.host) {}
  RunOperands& operator=(const RunOperands&) = delete;
  static std::uint64_t next_stamp();
  /// Borrowed arrays that nothing has verified yet, memory for results, and that none overlaps another.
  Expected<void> verify(const Resources& resources) const;
};

class Workspaces;

/// Workspaces that wait for a run, of all kernels of an engine: at most so many bytes of them. Where memory runs short they go kernel by
/// kernel, the one that ran longest ago first: each is on the list of the engine's memory.
class IdleWorkspaces : public Kept {
 public:
  explicit IdleWorkspaces(std::uint64_t most) : most_(most) {}
  /// Forgets kernels that have ended.
  void give_back() noexcept override { list_.prune(); }
  void enlist(const std::shared_ptr<Workspaces>& one, const Memory& memory);
  /// One that has waited before, and is of so many bytes now, has other bytes than then. Nothing is written where it has not.
  void resize(std::uint64_t before, std::uint64_t bytes) noexcept {
    if (before != bytes) bytes_.fetch_add(bytes - before, std::memory_order_relaxed);
  }
  /// One of so many bytes is about to wait: others go, the least recently used kernels first, until all together keep
  /// within the bound. It stays itself, however large it is.
  void make_room_for(std::uint64_t bytes) noexcept;
  /// Of those that wait.
  std::uint64_t bytes() const noexcept;

 private:
  const std::uint64_t most_;
  std::atomic<std::uint64_t> bytes_{0};  ///< of all that have ever waited and still are there: at least of those that do
  KeptList list_;
};

/// What an engine's runs did with layouts.
struct LayoutTotals {
  std::atomic<std::uint64_t> made{0}, known{0}, refilled{0}, read_through{0};
};

/// What runs took: one in 64 is timed, and all that are long enough not to be slowed by it. The fastest of these.
struct MeasuredRun {
  double ms = 0;
  std::vector<double> nest_ms;
  std::uint64_t timed = 0;  ///< runs; none: nothing is known
};

/// Bound networks of one kernel: as many as run at once or are held by results. Idle ones are kept for the next run, a few;
/// taking one takes no lock. One that waits holds no operand and no layout of one. A run writes to nothing that runs of other
/// threads write to: each thread has places of its own, where it looks first, and bound networks keep these alive themselves,
/// so that no run counts references. Thread safe.
class Workspaces : public Kept, public std::enable_shared_from_this<Workspaces> {
 public:
  /// `shared`: results that may keep arrays which the host has lent with an operand (RunOrigin::shared).
  /// With the last handle those that wait end, and the others when their results do.
  static std::shared_ptr<Workspaces> of(CompiledNetwork code, const EngineOptions& options, std::set<std::string> changing,
                                        std::set<std::string> changing_patterns, std::set<std::string> shared,
                                        std::shared_ptr<IdleWorkspaces> idle, std::shared_ptr<LayoutTotals> totals);
  /// As `of` makes them.
  Workspaces(CompiledNetwork code, const EngineOptions& options, std::set<std::string> changing,
             std::set<std::string> changing_patterns, std::set<std::string> shared, std::shared_ptr<IdleWorkspaces> idle,
             std::shared_ptr<LayoutTotals> totals);
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  /// As Kernel::run. Runs that write to the same tensor of the host take turns.
  Expected<Tensors> run(const RunOperands& operands, const Cancellation* cancellation);
  /// As Kernel::symbolic.
  Expected<Tensors> symbolic(const RunOperands& operands, const Cancellation* cancellation);
  /// As Kernel::scratch_bytes.
  Expected<std::uint64_t> scratch_bytes(const RunOperands& operands, const Cancellation* cancellation);
  /// As Kernel::prepare.
  Expected<void> prepare(const RunOperands& operands, const Cancellation* cancellation);
  void give_back() noexcept override;
  /// Of those that wait.
  std::uint64_t idle_bytes() const noexcept;
  /// Of runs of the kernel itself, not of a more general one that had to take its place.
  MeasuredRun measured() const;

 private:
  class Lease;
  struct alignas(spread_bytes) Bound {
    Bound(std::shared_ptr<Workspaces> of, BoundNetwork made) : owner(std::move(of)), network(std::move(made)) {}
    ~Bound() { owner->idle_->resize(counted_bytes, 0); }
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;

    /// What it is bound to, of these.
    const Tensors& operands(const RunOperands& given) const { return renewed.empty() ? given.tensors : renewed; }

    std::shared_ptr<Workspaces> owner;
    Tensors renewed = {};  ///< operands with facts of their own, for patterns that change: the network has handles of them that own nothing
    BoundNetwork network;
    std::map<std::string, Tensor> owned = {};  ///< of the operands it is bound to: RunOrigin::owned
    std::uint64_t stamp = 0;  ///< of the operands it is bound to
    std::uint64_t counted_bytes = 0;  ///< when it waited last
    LayoutCounters told = {};
    std::uint64_t runs = 0;
  };
  struct alignas(spread_bytes) Place {
    std::atomic<Bound*> bound{nullptr};
    // Hints, written before one is put here.
    std::atomic<std::uint64_t> stamp{0};
    std::atomic<std::uint64_t> bytes{0};

    /// What is here, or null.
    std::unique_ptr<Bound> taken() noexcept;
  };
  static constexpr std::size_t places = 16;
  /// What stands in every place once no handle is left: nothing is put there any more.
  static Bound* closed() noexcept;
  void close() noexcept;
  /// The place where the calling thread looks after so many others.
  Place& place(std::size_t others) noexcept { return places_[(2 * spread_place() + others) % places]; }
  /// An idle one, rather of the stamp of the operands, or null.
  std::unique_ptr<Bound> taken(const RunOperands& operands) noexcept;
  /// One that is bound to the operands.
  Expected<std::unique_ptr<Bound>> bound_to(const RunOperands& operands, const Cancellation& cancellation);
  Expected<std::unique_ptr<Bound>> bound_anew(std::unique_ptr<Bound> bound, const RunOperands& operands, const Cancellation& cancellation);
  /// May end the workspaces themselves.
  static void put_back(std::unique_ptr<Bound> bound) noexcept;
  void count(Bound& bound) noexcept;
  /// Runs it, timed or not.
  Expected<void> run_bound(Bound& bound);

  CompiledNetwork code_;
  Resources resources_;
  bool deterministic_;
  bool checked_;
  std::set<std::string> changing_;
  std::set<std::string> changing_patterns_;
  std::set<std::string> shared_;
  std::shared_ptr<IdleWorkspaces> idle_;
  std::shared_ptr<LayoutTotals> totals_;
  std::array<Place, places> places_;
  mutable std::mutex measuring_;
  MeasuredRun measured_;
};

}  // namespace weft
