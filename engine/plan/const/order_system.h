// OrderSystem: is there a nest of a tree's statements whose workspaces have at most l dimensions?
//
// Raje, Xu, Rountev, Valeev & Sadayappan, "CoNST: Code Generation for Sparse Tensor Networks" (TACO 2024), section 3.2,
// with its variables: ap (position of a statement, 3.2.1), dp (position of each mode in the layout of each tensor,
// 3.2.2), lp (position of each loop around each statement, 3.2.3); and its constraints: concordance of layouts and loops
// for every sparse input (3.2.4; dense ones do without, as the paper's dense workspaces do); and for every intermediate
// of n modes the outermost n - l loops of producer, consumer and everything between are the same, all over its modes
// (3.2.5).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/prove/solver.h"
#include "engine/plan/schedule/statements.h"

namespace weft {

/// Layouts the solver may choose for sparse operands: any, or for each the one it has.
enum class OperandLayouts : std::uint8_t { any, given };

/// What the solver assigned, by step of the skeleton and by operand of the network.
struct OrderModel {
  std::vector<std::uint32_t> statements;           ///< in the order of ap
  std::vector<std::vector<IndexId>> loops;         ///< of each statement, in the order of lp
  std::vector<std::vector<std::uint32_t>> layouts; ///< by TensorId: its modes in the order of dp; empty for dense tensors and results
  bool operator==(const OrderModel&) const = default;
};

class OrderSystem {
 public:
  /// Of contractions and l = `order`. An operand that is pinned, or whose levels cannot be
  /// converted, keeps its layout in any case. Unsupported where there is no Z3.
  static Expected<OrderSystem> create(const Contractions& skeleton, const Network& network,
                                      const std::vector<OperandFacts>& operands, std::uint32_t order,
                                      OperandLayouts layouts, const std::vector<Cancellation>& cancelled_by = {});

  /// `effort` as in Solver::check.
  Satisfiable solve(std::uint64_t effort) { return solver_.check(effort); }
  Expected<void> had_memory() const { return solver_.had_memory(); }
  OrderModel model() const;                                          ///< after yes
  std::vector<std::string> contradiction() const { return solver_.core(); }  ///< after no: families of constraints

  /// No further model may have these orders of statements and loops.
  void exclude(const OrderModel& model);

 private:
  OrderSystem(Solver solver, const Contractions& skeleton, const Network& network);

  /// Integers of which no two are equal, and which of each pair is smaller.
  struct Permutation {
    std::vector<Integer> positions;
    std::vector<std::vector<Literal>> smaller;  // [a][b], a != b
  };
  Permutation permutation(std::size_t count, Family family);
  void add_statements();
  void add_loops();
  void add_layouts(const std::vector<OperandFacts>& operands, OperandLayouts layouts);
  void add_concordance();
  void add_workspaces(std::uint32_t order);
  /// Among the indices of a statement; their number for any other.
  std::size_t place(std::size_t statement, IndexId index) const;
  const Literal* at(std::size_t statement, IndexId index, std::size_t position) const;

  Solver solver_;
  const Contractions& skeleton_;
  const Network& network_;
  Permutation statements_;                              // ap
  std::vector<std::vector<IndexId>> indices_;           // of each statement
  std::vector<Permutation> loops_;                      // lp, by place in indices_
  std::vector<std::vector<std::vector<Literal>>> at_;   // statement, place in indices_, position: lp = position
  std::vector<Permutation> layouts_;                    // dp, by TensorId
};

}  // namespace weft
