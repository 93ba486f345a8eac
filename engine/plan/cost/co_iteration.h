// How the sparse accesses of one loop meet, and what that takes: merging, searching, galloping.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/machine.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// Workspaces with a key, and hashed and bitmap levels of operands: their entries are found at once, and those of all but
/// bitmaps come in no particular order. A key over several modes can only drive.
enum class Table : std::uint8_t { none, one_mode, several_modes };

/// A sparse access that can drive the loop, and the mean length of its fibers there.
struct Participant {
  Intersection::Part part;
  double length = 0;
  Table table = Table::none;
  double probe_ns = 0;  ///< of a table
  bool branches = true;  ///< whether an entry is there is a branch of its own; of hash tables and workspaces probe_ns has it
  double scan_ns = 0;  ///< of driving, beside its entries: slots and bits without one, bringing entries in order
};

/// Figures per entry into the loop.
struct CoIteration {
  double steps = 0;
  double ns = 0;
  bool looked_up = false;  ///< as the parts say; otherwise all drive
};

/// How often a processor is wrong about the end of a fiber that is not empty and has this length in the mean, where a share of them has
/// more than one entry.
double unforeseen_end(double length, double with_company = 1);
/// The same of entries whose coordinates nothing asks for: up to eight are one vector, up to 32 four, whichever of its places are taken.
double unforeseen_range_end(double length);
/// Finding where a run of so many equal coordinates ends.
double run_end_ns(double entries);
/// Nanoseconds of a binary search in a fiber of this length.
double search_ns(const Machine& machine, double length);
/// One of so many lookups that go on from where the one before ended.
double gallop_ns(const Machine& machine, double length, double lookups);
/// Of looking at one entry of such a fiber after the other.
double scan_ns(const Machine& machine, double length);
/// Looking into a table: a hashed or bitmap level of an operand, of any other kind a workspace.
double probe_ns(LevelKind kind);
/// Beside its entries, what driving a fiber of this length of a hashed or bitmap level of an operand takes; `ordered`:
/// something needs the entries in order.
double gaps_ns(const Machine& machine, LevelKind kind, double length, double extent, bool ordered);

/// The shortest fiber drives and the others are looked up, unless two fingers are cheaper, which need entries in order.
/// Infinite where two tables would have to drive. Sets the parts.
CoIteration cheapest_co_iteration(const Machine& machine, std::span<Participant> participants);

/// As the parts of a schedule say; accesses without a part drive. Sets the parts.
CoIteration given_co_iteration(const Machine& machine, std::span<Participant> participants, const std::vector<Intersection::Part>& parts);

}  // namespace weft
