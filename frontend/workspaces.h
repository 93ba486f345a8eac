// Workspaces: what the runs of a kernel need beside its operands, kept from one run to the next.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/compiled_network.h"
#include "runtime/kept.h"
#include "weft/engine.h"

namespace weft {

/// What a run is over: the tables of Bindings. A stamp stands for one content of them.
struct RunOperands {
  Tensors tensors;
  HostMemory host{.outputs = {}, .changing = {}, .assume_finite = {}, .scratch = {}, .lent = true};
  std::uint64_t stamp = next_stamp();
  mutable std::atomic<bool> verified{false};
  mutable std::mutex turn;  ///< of runs that write to memory of the host

  RunOperands() = default;
  RunOperands(const RunOperands& other) : tensors(other.tensors), host(other.host) {}
  RunOperands& operator=(const RunOperands&) = delete;
  static std::uint64_t next_stamp();
  /// Borrowed arrays that nothing has verified yet, memory for results, and that none overlaps another.
  Expected<void> verify(const Resources& resources) const;
};

/// Memory of the host that runs use, by all kernels of an engine. Thread safe.
class ScratchInUse {
 public:
  /// False where another run uses some of it.
  bool take(std::span<const std::byte> memory);
  void give_back(std::span<const std::byte> memory) noexcept;

 private:
  std::mutex mutex_;
  std::vector<std::span<const std::byte>> taken_;
};

/// Workspaces that wait for a run, of all kernels of an engine: all of them go when memory runs short.
class IdleWorkspaces : public Kept {
 public:
  explicit IdleWorkspaces(std::uint64_t most) : most_(most) {}
  void enlist(std::weak_ptr<Kept> one) { list_.enlist(std::move(one)); }
  void give_back() noexcept override { list_.give_back(); }
  /// One of so many bytes waits now: others go, the least recently used kernels first, until all together keep within the
  /// bound. It stays itself, however large it is.
  void add(std::uint64_t bytes) noexcept;
  void subtract(std::uint64_t bytes) noexcept { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  ScratchInUse& scratch() noexcept { return scratch_; }

 private:
  ScratchInUse scratch_;
  const std::uint64_t most_;
  std::atomic<std::uint64_t> bytes_{0};
  KeptList list_;
};

/// What an engine's runs did with layouts.
struct LayoutTotals {
  std::atomic<std::uint64_t> made{0}, known{0}, refilled{0};
};

/// Bound networks of one kernel: as many as run at once or are held by results. Idle ones are kept for the next run, a few;
/// taking one takes no lock. One that waits holds no operand and no layout of one. Thread safe.
class Workspaces : public Kept, public std::enable_shared_from_this<Workspaces> {
 public:
  Workspaces(CompiledNetwork code, const EngineOptions& options, std::set<std::string> changing,
             std::set<std::string> changing_patterns, std::shared_ptr<IdleWorkspaces> idle, std::shared_ptr<LayoutTotals> totals);
  ~Workspaces() override;
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  /// As Kernel::run. With outputs in memory of the host runs over the same operands take turns.
  Expected<Tensors> run(const RunOperands& operands, const Cancellation* cancellation);
  /// As Kernel::symbolic.
  Expected<Tensors> symbolic(const RunOperands& operands, const Cancellation* cancellation);
  /// As Kernel::scratch_bytes.
  Expected<std::uint64_t> scratch_bytes(const RunOperands& operands, const Cancellation* cancellation);
  /// As Kernel::prepare.
  Expected<void> prepare(const RunOperands& operands, const Cancellation* cancellation);
  void give_back() noexcept override;

 private:
  class Lease;
  class ScratchLease;
  struct Bound {
    BoundNetwork network;
    std::uint64_t stamp = 0;  ///< of the operands it is bound to
    std::uint64_t idle_bytes = 0;
    LayoutCounters told = {};
  };
  struct Place {
    std::atomic<Bound*> bound{nullptr};
    std::atomic<std::uint64_t> stamp{0};  ///< a hint, for who looks for one
  };
  /// An idle one, rather of that stamp, or null.
  std::unique_ptr<Bound> taken(std::uint64_t stamp) noexcept;
  /// One that is bound to the operands.
  Expected<std::unique_ptr<Bound>> bound_to(const RunOperands& operands, const Cancellation& cancellation);
  void put_back(std::unique_ptr<Bound> bound) noexcept;
  void count(Bound& bound) noexcept;

  CompiledNetwork code_;
  Resources resources_;
  bool deterministic_;
  std::set<std::string> changing_;
  std::set<std::string> changing_patterns_;
  std::shared_ptr<IdleWorkspaces> idle_;
  std::shared_ptr<LayoutTotals> totals_;
  std::array<Place, 16> places_;
};

}  // namespace weft
