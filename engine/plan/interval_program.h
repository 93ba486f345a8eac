// The dynamic program over intervals of statements and sets of bound indices.
//
// Kanakagiri & Solomonik, "Minimum Cost Loop Nests for Contraction of a Sparse Tensor with a Tensor Network" (SPAA
// 2024), Algorithm 1, with loops chosen per prefix SET (planning.md section 4): the statements i … j share the loops
// over the set S; a next index x is peeled for the first of them, i … e; e + 1 … j stay at S. With g the cost per
// combination of the indices in S,
//
//   g(S, i, j) = min over x, e of  loop(S, x, i … e) + n(S, x, i … e) * g(S + x, i, e) + crossing(S, i … e) + g(S, e+1, j)
//
// and at S = {} each group is a nest of its own, run in parallel. Exact for a given order of the statements, given
// choice of free layouts and intermediates that are random access, as long as no statement has more than
// `widest_exact` unbound indices; beyond that only the most selective next indices are tried.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/plan/cost_model.h"

namespace weft {

class IntervalProgram {
 public:
  /// Without `fused`, every statement is a nest of its own.
  explicit IntervalProgram(const CostModel& model, bool fused = true) : model_(model), fused_(fused) {}

  /// Loops and fusion depths of every statement, in order; nothing if no legal nest exists.
  struct Nests {
    double ns = 0;  ///< without conversions
    bool exact = true;
    std::vector<std::vector<IndexId>> loops;
    std::vector<std::uint32_t> fused;
  };
  std::optional<Nests> solve();

  /// No nest of statements first … last below the loops over `bound` takes less, per entry; at the root, over the run.
  /// Infinite where there is no legal one.
  double least(IndexSet bound, std::uint32_t first, std::uint32_t last) { return best(bound, first, last); }
  bool exact() const { return exact_; }
  bool fused() const { return fused_; }

  /// Loops priced so far: a measure of work that is the same on every machine.
  std::uint64_t work() const { return work_; }

  static constexpr int widest_exact = 9;

 private:
  struct Key {
    IndexSet bound = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Choice {
    double ns = 0;
    IndexId index = 0;
    std::uint32_t end = 0;  // last statement of the group
    bool body = false;      // statement `first` needs no further loop
  };

  double best(IndexSet bound, std::uint32_t first, std::uint32_t last);
  Choice choose(IndexSet bound, std::uint32_t first, std::uint32_t last);
  std::vector<IndexId> candidates(IndexSet bound, std::uint32_t first);
  void read(IndexSet bound, std::uint32_t first, std::uint32_t last, std::vector<IndexId>& path, Nests& nests) const;

  const CostModel& model_;
  bool fused_;
  std::unordered_map<Key, Choice, KeyHash> known_;
  std::uint64_t work_ = 0;
  bool exact_ = true;
};

}  // namespace weft
