// Counting joins, and their distinct combinations where indices are summed, on the operands themselves, in whole or on a sample.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/estimate/joins.h"

namespace weft {

/// Effort of counting one join. The sample keeps, of the index that most operands share, the coordinates whose fixed
/// hash is small, and of the other operands what can meet them (facts.md, "Sampling that works").
struct JoinBudget {
  double entries = 20'000;     ///< sampled of an operand, about
  double reachable = 400'000;  ///< of an operand that the sample meets, at most
  double steps = 300'000;      ///< of walking
  static JoinBudget exact() { return {1e18, 1e18, 2e7}; }
};

/// The operands of a network by their number in it; all must be there.
std::map<TensorId, const Tensor*> numbered(const std::map<std::string, Tensor>& operands, const Network& network,
                                           const std::vector<OperandFacts>& facts);

/// Counts joins of the operands of a network. A function of the operands' entries: not of threads, time or what was
/// counted before. Keeps the coordinates of the operands that joins were counted of. Not for several threads at once.
class JoinCounter {
 public:
  /// `operands` by their number in the network; they must outlive the counter. Only formats with a sparse level count.
  JoinCounter(const Network& network, const std::vector<OperandFacts>& facts,
              const std::map<TensorId, const Tensor*>& operands, JoinBudget effort, const Resources& resources);
  ~JoinCounter();
  JoinCounter(JoinCounter&&) noexcept;
  JoinCounter& operator=(JoinCounter&&) noexcept;

  /// Size of the join over its size by independence, of the statistics' distinct counts; 1 where the effort does not
  /// suffice or the join is empty by independence. A join that no sampled entry has counts as half an entry. Errors:
  /// memory, cancellation.
  Expected<double> ratio(JoinSet join);

  /// Distinct combinations of those of these indices that the accesses of a join have, one access or several: what a
  /// product of them stores. Nothing where the effort does not suffice. On a sample of the coordinates of one of these
  /// indices, of which each has all of its combinations. Errors as above.
  Expected<std::optional<double>> entries(JoinSet join, IndexSet indices);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
