// The dynamic program over intervals of statements and sets of bound indices.
//
// Kanakagiri & Solomonik, "Minimum Cost Loop Nests for Contraction of a Sparse Tensor with a Tensor Network" (SPAA
// 2024), Algorithm 1, with loops chosen per prefix SET (planning.md section 4): the statements i … j share the loops
// over the set S; a next index x is peeled for the first of them, i … e; e + 1 … j stay at S. With g the cost per
// combination of the indices in S,
//
//   g(S, i, j) = min over x, e of  loop(S, x, i … e) + n(S, x, i … e) * g(S + x, i, e) + materialising(S, i … e) + g(S, e+1, j)
//
// and at S = {} each group is a nest of its own, run in parallel. Where joins were counted, loops also depend on what
// filters S on behalf of statements that share the loops over some of S, but are not among i … j: that is part of the
// state. Exact for a given order of the statements, given
// choice of free layouts and intermediates that are random access, as long as no statement has more than
// `widest_exact` unbound indices; beyond that only the most selective next indices are tried. So it is where the table is full.
//
// What cannot stay below a limit is cut off: every state is asked for something cheaper than what its caller could still
// use, and remembers either its least or that it takes no less than so much.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/cost/interval_table.h"
#include "engine/plan/cost/nest.h"

namespace weft {

inline constexpr double infinity = std::numeric_limits<double>::infinity();  ///< where nothing is legal

/// `ns` so many times; nothing legal is still nothing legal 0 times.
inline double times(double count, double ns) { return std::isinf(ns) ? ns : count * ns; }

class IntervalProgram {
 public:
  /// Without `fused`, every statement is a nest of its own. Looks up and remembers what it finds in a `shared` table, by the numbers that
  /// statements have there, or in one of its own.
  explicit IntervalProgram(const CostModel& model, bool fused = true, IntervalTable* shared = nullptr,
                           const std::vector<std::uint32_t>& numbers = {});

  /// Loops and fusion depths of every statement, in order; nothing if no legal nest exists.
  struct Nests : LoopNests {
    double ns = 0;  ///< without conversions
    bool exact = true;
  };
  /// Nothing either if none takes less than `limit`, which is looked for with less effort.
  std::optional<Nests> solve(double limit = std::numeric_limits<double>::infinity());

  /// No way to go on from a state takes less, per entry; at the root, over the run. Infinite where there is no legal one.
  double least(const NestState& state) { return best(state, infinity); }

  bool exact() const { return exact_; }
  bool fused() const { return fused_; }

  /// Loops priced so far: a measure of work that is the same on every machine.
  std::uint64_t work() const { return work_; }

  static constexpr int widest_exact = 9;

 private:
  using Choice = IntervalTable::Choice;

  double best(const NestState& state, double limit);
  Choice choose(const NestState& state, double limit);
  Choice body(const NestState& state, double limit);
  LoopPrice loop(const NestState& state, IndexId index, std::uint32_t end, JoinSet others);
  std::uint32_t interval(std::uint32_t first, std::uint32_t last, const Outside& outside, JoinSet others) {
    const std::uint32_t number = intervals_[first * count_ + last];
    return IntervalTable::below(others == 0 ? number : table_.beside(number, others), outside.gathers, outside.batch_of(last));
  }
  bool is_full() const { return table_.bytes() + model_.bytes() > table_.most_bytes; }
  IndexSet candidates(const NestState& state);
  void read(const NestState& state, std::vector<IndexId>& path, Nests& nests);

  const CostModel& model_;
  bool fused_;
  std::uint32_t count_;
  std::unique_ptr<IntervalTable> own_;
  IntervalTable& table_;
  std::vector<std::uint32_t> intervals_;  // by first and last statement
  std::uint64_t work_ = 0;
  bool exact_ = true;
};

}  // namespace weft
