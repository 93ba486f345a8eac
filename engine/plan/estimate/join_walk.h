// A generic join of parts: how many combinations they let through together, and how many distinct ones of some indices.
//
// P(i,k) = (0,1) (0,2) (3,1) and Q(k,j) = (1,5) (1,6) (2,5) share k: 5 combinations, of (i,j) 4 distinct ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "runtime/indices.h"
#include "weft/tensor.h"

namespace weft {

/// The coordinates of one mode.
inline Indices column(const Coordinates& all, std::size_t mode) { return {all.crd[mode], coordinate_bits(all.extents[mode])}; }

/// Distinct tuples of one projection, sorted, column by column: first the indices that other parts have too, in the order of the join,
/// then its own.
struct JoinPart {
  std::vector<std::vector<std::uint64_t>> columns;
  std::vector<std::size_t> column_of;  ///< per shared index of the join; columns.size() if it lacks it
  std::size_t own = 0;                 ///< the first column that no other part has
  std::size_t size() const { return columns.empty() ? 0 : columns.front().size(); }
};

/// The entries of these numbers projected on these modes; `shared` has the mode of each shared index, in the order of the join, if the
/// part has it: entries (0,2) (1,2) (0,2) of modes {0, 1} that share mode 1 are the columns 2 2 and 0 1.
JoinPart projected(const Coordinates& all, const std::vector<std::uint64_t>& entries, const std::vector<std::size_t>& modes,
                   const std::vector<std::optional<std::size_t>>& shared);

/// The fixed hash of SplitMix64 (Steele, Lea and Flood, 2014).
std::uint64_t hash_of(std::uint64_t coordinate);

/// Walks the shared indices one after the other, driven by the part with the fewest tuples left; what only one part has multiplies. A
/// search of a part is a step. Counts once, one way or the other.
class JoinWalk {
 public:
  /// The parts must outlive the walk.
  JoinWalk(const std::vector<JoinPart>& parts, std::size_t shared, double steps) : parts_(parts), shared_(shared), left_(steps) {}

  /// All combinations. Nothing if the steps did not suffice.
  std::optional<double> count();
  /// Distinct combinations of the columns of one part alone with these shared indices, by their hashes. Nothing as above.
  std::optional<double> distinct(const std::vector<bool>& kept);
  /// Steps that were not needed.
  double left() const { return left_; }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t size() const { return end - begin; }
  };
  static Range equal_range(const std::vector<std::uint64_t>& column, Range range, std::uint64_t value);
  double below(std::size_t index, const std::vector<Range>& ranges);
  std::size_t driver(std::size_t index, const std::vector<Range>& ranges) const;
  bool is_new(std::size_t index, const std::vector<Range>& ranges);
  void meet(std::size_t part, std::uint64_t bound, const std::vector<Range>& ranges);

  const std::vector<JoinPart>& parts_;
  std::size_t shared_;
  double left_;
  const std::vector<bool>* kept_ = nullptr;  // per shared index; none where distinct combinations are not asked for
  std::uint64_t bound_ = 0;
  std::vector<std::uint64_t> met_;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace weft
