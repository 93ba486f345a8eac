// Memory of the host that runs use at once: results take turns, scratch memory is used by one, checked engines watch all.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "frontend/workspaces.h"
#include "weft/error.h"

namespace weft {

/// Runs that write to one tensor of the host, as operands of a kernel or another, one after the other: by the copies of its
/// handle, which stand for the same memory.
class Turns {
 public:
  /// Waits, to a cancelled error where the token is set before its turn comes.
  static Expected<Turns> of(const RunOperands& operands, const Cancellation& cancellation);

 private:
  std::vector<std::unique_lock<std::timed_mutex>> locks_;
};

/// Memory that the host lends, for as long as a run writes to it, by all engines of the process: input error where another run
/// uses some of it.
class ScratchLease {
 public:
  static Expected<ScratchLease> of(std::span<const std::byte> memory);
  ScratchLease(ScratchLease&& other) noexcept;
  ScratchLease& operator=(ScratchLease&&) = delete;
  ~ScratchLease();

 private:
  explicit ScratchLease(std::span<const std::byte> memory) : memory_(memory) {}
  std::span<const std::byte> memory_;
};

/// A run of a checked engine, as long as it is under way: input error, naming both, where it writes to what another such run of
/// the process reads or writes, or reads what another writes. What takes turns is no such case.
class WatchedRun {
 public:
  /// Nothing is watched where the engine is not checked.
  static Expected<WatchedRun> of(const RunOperands& operands, bool checked);
  WatchedRun(WatchedRun&& other) noexcept : operands_(std::exchange(other.operands_, nullptr)) {}
  WatchedRun& operator=(WatchedRun&&) = delete;
  ~WatchedRun();

 private:
  explicit WatchedRun(const RunOperands* operands) : operands_(operands) {}
  const RunOperands* operands_;
};

}  // namespace weft
