// Plans over long extents, and those of them that no test runs: refused for their size, or with loops that go over all of a long extent.
#pragma once

#include <cstdint>
#include <thread>

#include "engine/plan/plan.h"
#include "oracle/built_network.h"
#include "weft/memory.h"

namespace weft::test {

/// Bytes that hold all that is drawn, and nothing that is dense over a long extent.
constexpr std::uint64_t memory_over_long_extents = std::uint64_t{1} << 27;

/// Whether an index has a long extent.
bool has_long_extents(const Network& network);

/// The options; with a memory limit where the network has long extents.
PlanOptions within_memory(const Network& network, PlanOptions options = {});

/// Layouts that are pinned may leave a loop without anything that drives it: it goes over all of 2^32 coordinates, if what is
/// around it ever runs.
bool goes_over_long_ranges(const Schedule& schedule, const Network& network);

/// Whether a schedule over long extents is not run: a loop goes over all of one, or what it computes takes more than
/// memory_over_long_extents, as a schedule that was not planned may. Of networks without long extents none is.
bool is_left_out(const Schedule& schedule, const BuiltNetwork& built);

/// The same of a plan. One that is refused is left out too where its network has long extents and the refusal is for their size; any
/// other refusal is thrown.
bool is_left_out(const Expected<Plan>& plan, const BuiltNetwork& built);

/// For the kernels of an engine, whose plans are not seen: a token that is set after two seconds, by when a run goes over all of a long
/// extent.
class Patience {
 public:
  Patience();
  const Cancellation* over() const { return &over_; }

 private:
  Cancellation over_;
  std::jthread waiting_;
};

}  // namespace weft::test
