// RunPool: one kernel bound to tensors, for any number of runs at once.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/compiled_network.h"
#include "runtime/charge.h"
#include "weft/engine.h"

namespace weft {

/// Bound networks over the same operands: as many as run at once or are held by results. Idle ones are kept for the next
/// run, a few; taking one takes no lock. Thread safe.
class RunPool : public std::enable_shared_from_this<RunPool> {
 public:
  /// `idle` limits the memory of those that are kept.
  RunPool(CompiledNetwork code, Tensors operands, HostMemory host, const EngineOptions& options, std::optional<Memory> idle);
  ~RunPool();
  RunPool(const RunPool&) = delete;
  RunPool& operator=(const RunPool&) = delete;

  /// As Kernel::run. With outputs in memory of the host runs take turns.
  Expected<Tensors> run(const Cancellation* cancellation);

 private:
  class Lease;
  struct Bound {
    BoundNetwork network;
    Charge kept = {};  ///< while it is idle
  };
  Expected<std::unique_ptr<Bound>> take(const Cancellation& cancellation);
  void give_back(std::unique_ptr<Bound> bound);

  CompiledNetwork code_;
  Tensors operands_;
  HostMemory host_;
  Resources resources_;
  bool deterministic_;
  std::optional<Memory> most_idle_;
  std::mutex turn_;  // of runs that write to memory of the host
  std::array<std::atomic<Bound*>, 16> idle_{};
};

}  // namespace weft
