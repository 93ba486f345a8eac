// Iteration: one run of the body of loops, as constants and what holds of them by the loops and by the arrays of
// levels.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "engine/loop/walk.h"
#include "engine/prove/claim.h"
#include "engine/prove/query.h"

namespace weft {

/// What arrays that pass `verify()` say of two of their entries; all of it unless a test leaves something out.
struct AssumedOfArrays {
  bool fibers_in_order = true;   ///< pos: the fiber of a parent ends before those of later parents begin
  bool coordinates_rise = true;  ///< compressed: strictly within a fiber
  bool chains_rise = true;  ///< nonunique and the singletons below: strictly within a fiber, by the first that differ
  bool coordinates_differ = true;  ///< hashed, and without an order: no two slots of a fiber have one coordinate
  bool below_extents = true;       ///< coordinates lie within [0, extent)
  bool fibers_full = true;         ///< where the fact `full` says so: as many entries as the extent
  bool coordinates_fall = true;    ///< compressed, of those that do: strictly within a fiber
  bool starts_apart = true;        ///< starts of blocks: the block of one ends before the next one of its fiber
};

/// Where a claim is made: below these statements, the last of which is the one that it is about, with its own steps
/// taken.
loop::Path entered(const loop::Statement& statement, const loop::Path& path);
/// A level that drives a loop.
struct LoopDriver {
  loop::Step step;
  std::size_t level = 0;
};
/// Of the loop at a depth: sparse levels, those of a merge that are not looked up under the others; none where the
/// whole range is visited.
std::vector<LoopDriver> drivers(const loop::Program& program, const loop::Path& path, std::size_t depth);
/// Whether a level is a mode of a key of several.
bool is_in_key(const std::vector<Level>& levels, std::size_t level);
/// The first level of the chain that a level is part of: nonunique, singleton, …; the level itself if it is of none.
std::size_t chain_head(const std::vector<Level>& levels, std::size_t level);

/// Coordinates "c_j_1", positions "p_x_0_1" and times. Those of the first `shared` statements are the same in every
/// iteration with the same query. What is asked for brings what the loops say of it: that x has at this position the
/// coordinate of j.
class Iteration {
 public:
  Iteration(Query& query, const loop::Program& program, const loop::Path& path, std::size_t shared, std::string suffix,
            const AssumedOfArrays& assumed);

  std::string coordinate(loop::IndexId index);
  /// What is looked for at a level that has the index: its coordinate, of a start of blocks the sum that it covers.
  std::string wanted(loop::IndexId index);
  /// Of a level of an access, bound on the path; "0" at the root, and above the last mode of a key.
  std::string position(loop::AccessId access, std::size_t level);
  /// Of an index: a number where a fact tells it.
  std::string extent(loop::IndexId index);
  /// Of the parent of a fiber: the position of the level above.
  std::string parent(loop::AccessId access, std::size_t level) {
    return level == 0 ? "0" : position(access, level - 1);
  }
  /// Less in the iterations that run before, of those with the same times further out.
  std::string time(std::size_t depth);
  /// The times of the loops at these depths, outermost first.
  std::vector<std::string> times(std::size_t first, std::size_t last);
  /// Coordinates of the loops before a depth, as counterexamples tell them.
  std::vector<ClaimValue> told(std::size_t last);

  /// An entry that the iteration has reached.
  struct Entry {
    loop::StorageId storage = 0;  ///< whose arrays tell of it
    std::size_t level = 0;
    std::string position, parent;          ///< of a chain: the parent of its first level
    std::vector<std::string> coordinates;  ///< of a chain: those of its levels down to this one
  };
  const std::vector<Entry>& entries() const { return entries_; }
  /// Constants that an iteration of the loop at a depth decides on, by name without suffix.
  const std::map<std::string, std::string>& decided(std::size_t depth) { return decided_[depth]; }

 private:
  std::string named(const std::string& name, std::size_t depth);
  std::string given_extent(const loop::IndexDefinition& definition, const std::string& name);
  std::string sum(const loop::IndexDefinition& definition);
  std::string part_of(loop::IndexId index, const IndexPart& part);
  void divide(std::string of, const IndexPart& part, const std::string& name, const std::string& constant, std::size_t depth);
  void give(const loop::IndexDefinition& definition, const std::string& constant, std::size_t depth);
  bool is_ranged(std::size_t depth) const;
  void bind_packed(loop::AccessId access, std::size_t level, const std::string& position);
  void bind_slot(loop::AccessId access, std::size_t level, const std::string& position);
  void note(loop::AccessId access, std::size_t level, const std::string& position);

  Query& query_;
  const loop::Program& program_;
  const loop::Path& path_;
  std::size_t shared_;
  std::string suffix_;
  const AssumedOfArrays& assumed_;
  std::vector<Entry> entries_;
  std::map<std::size_t, std::map<std::string, std::string>> decided_;  // by depth
};

/// Requires what arrays say of the entries of two iterations.
void relate(Query& query, const loop::Program& program, const Iteration& a, const Iteration& b,
            const AssumedOfArrays& assumed);
/// Requires that iterations of the loop at depth `last` decide alike where all times from depth `first` to there are
/// the same.
void decide_alike(Query& query, Iteration& a, Iteration& b, std::size_t first, std::size_t last);

}  // namespace weft
