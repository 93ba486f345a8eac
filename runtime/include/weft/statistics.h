// Statistics: what the planner may know of a tensor's pattern.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft {

using ModeSet = std::uint32_t;  ///< bit m is mode m

/// Lengths of the fibers of one level: children per position above, empty fibers included. Repeated coordinates of a
/// nonunique chain (u q …) count once, as in the tree of the same entries.
struct FiberLengths {
  double mean = 0;
  std::uint64_t maximum = 0;
  double spread = 0;  ///< standard deviation
  bool operator==(const FiberLengths&) const = default;
};

/// Facts of one pattern. distinct(S) = number of distinct coordinate tuples over the modes of S among the stored
/// entries: exact for prefixes of the stored order, products of extents for dense tensors, and where a bitmap of the
/// extents' product is small; else a HyperLogLog estimate with fixed hash (standard error 0.8 %). Consistent for up to
/// six modes in levels above the trailing dense ones: max over x of d(S−x) ≤ d(S) ≤ min(nnz, product of extents,
/// d(S−x)·extent(x)); beyond, every set is counted when first asked and only bounded by the exact figures. Computed
/// when first asked, then kept. Thread safe. Results do not depend on the number of threads or the order of asking.
/// Where memory runs out answers stand for none, and the compilation that is given these statistics next says so.
class Statistics {
 public:
  /// Of a tensor; keeps its arrays. One with borrowed arrays that are not valid (verify()) counts as empty:
  /// what can refuse it does. Of one with hashed or bitmap levels an own copy in compressed ones, charged to the
  /// memory; without room for it distinct counts are estimated by independence.
  explicit Statistics(const Tensor& tensor, const Resources& resources);
  explicit Statistics(const Tensor& tensor, const Threads& threads);
  /// Given figures, for tests and what-if planning: distinct counts of every non-empty subset are looked up in
  /// `distinct`, absent ones estimated by independence from extents and nnz (entries drawn without replacement), within
  /// the bounds that the given ones set.
  Statistics(std::vector<std::uint64_t> extents, Format format, double nnz, std::map<ModeSet, double> distinct = {},
             bool finite = true);

  const std::vector<std::uint64_t>& extents() const;
  const Format& format() const;
  double nnz() const;
  double distinct(ModeSet modes) const;  ///< distinct(0) is 1 (0 if the tensor is empty)
  FiberLengths fibers(std::size_t level) const;
  /// Distinct coordinates of mode `counted` among the entries that share the coordinate of `mode` with an entry, in
  /// the mean over all entries: more than the distinct(mode, counted) / distinct(mode) of a slice where slices differ
  /// in size. Sampled, of a tensor; 0 of given figures, and where one of the modes has a trailing dense level.
  double distinct_in_slices(std::size_t mode, std::size_t counted) const;
  /// Of the distinct tuples over `modes`, the share with two entries or more: of 1, 1, 1 and 97 entries 0.25.
  /// Sampled, of a tensor; 1 of given figures, and where a mode has a trailing dense level.
  double share_with_company(ModeSet modes) const;
  bool finite() const;  ///< no stored NaN or Inf; of a tensor: in its values as they are now, looked at when asked
  Statistics with_finite(bool finite) const;  ///< the same figures, of values said to be so: they are not looked at
  std::string text() const;
  /// That memory ran out in one of these functions, told once; always, if there are no statistics for want of it.
  std::optional<Error> take_failure() const;

 private:
  friend Statistics statistics(const Tensor& tensor, const Resources& resources);
  friend Statistics statistics(const Tensor& tensor, const Threads& threads);
  friend Statistics of_values(Statistics figures, const Statistics& counted);
  struct State;
  Statistics() = default;  // none
  static std::shared_ptr<State> counting(const Tensor& tensor, const Resources& resources);
  static std::shared_ptr<State> figures(std::vector<std::uint64_t>&& extents, Format&& format, double nnz,
                                        std::map<ModeSet, double>&& distinct, bool finite);
  FiberLengths counted_fibers(std::size_t level) const;
  double counted_distinct(ModeSet modes) const;
  double counted_in_slices(std::size_t mode, std::size_t counted) const;
  double counted_with_company(ModeSet modes) const;
  std::string whole_text() const;
  Threads threads() const;
  template <class Value, class Count>
  Value counted(Value instead, Count&& count) const;
  std::shared_ptr<State> state_;
  std::shared_ptr<const StoredValues> values_;  ///< whose finiteness is told; none: figures were given
  std::optional<bool> finite_;                  ///< told instead
  std::optional<Threads> threads_;              ///< to count on; none: the caller's
};

/// The tensor's statistics, computed lazily and kept with its pattern, for all tensors over that.
Statistics statistics(const Tensor& tensor, const Resources& resources);
Statistics statistics(const Tensor& tensor, const Threads& threads);

}  // namespace weft
