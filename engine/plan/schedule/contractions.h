// Contractions: the products that a contraction tree asks for, in order, before anything is decided about loops.
//
//   ((T * C) * B)    x[i,r,j] += T[i,j,k] * C[k,r]     A[i,r] += x[i,r,j] * B[j,r]
//
// A schedule is contractions with loops: complete() (search/complete.h) makes one of them, contractions_of() looks at one without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/index_set.h"
#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"
#include "runtime/sparse_levels.h"

namespace weft {

struct ResultFormat;

/// How a tensor is stored, as far as that is decided before loops are.
enum class Storage : std::uint8_t {
  stored,     ///< in `layout`: operands, results, intermediates with compressed levels between nests
  workspace,  ///< an intermediate, dense: over the modes that the loops shared by writer and readers leave unbound
  keyed,      ///< an intermediate inside a nest, with a key over the modes that sparse factors restrict
  of_loops,   ///< as the loops will have it, priced before that is known: an intermediate keyed inside a nest or stored between nests,
              ///< a result appended in the order of its writer's loops
};

/// A tensor of contractions. Every occurrence of an operand has one, so that layouts can be chosen for each.
struct ContractedTensor : NamedTensor {
  Storage storage = Storage::stored;
  Scalar scalar = Scalar::f64;
  Format layout = {};  ///< of what is stored
  IndexSet block = 0;  ///< of a result of_loops: dense below the levels that are appended

  /// An intermediate over these modes.
  static ContractedTensor workspace(std::string name, std::vector<IndexId> modes, Scalar scalar);

  bool dense() const { return storage == Storage::workspace || (storage == Storage::stored && layout.all_dense()); }
  bool sparse() const { return storage == Storage::stored ? has_sparse_level(layout) : storage != Storage::workspace; }
  /// The mode of a level; ascending where that is up to the loops.
  std::uint32_t mode(std::size_t level) const {
    return storage == Storage::stored ? layout.mode_order[level] : static_cast<std::uint32_t>(level);
  }
};

struct Contractions {
  ContractionTree tree;
  std::vector<ContractedTensor> tensors;
  std::vector<Contraction> steps;
};

/// What the last step writes.
inline const ContractedTensor& result_of(const Contractions& made) { return made.tensors[made.steps.back().target.tensor]; }

/// The products of contractions, or of a schedule, whose statements are steps with loops.
class Steps {
 public:
  Steps(const Contractions& contractions) : contractions_(&contractions) {}
  Steps(const Schedule& schedule) : schedule_(&schedule) {}

  std::size_t size() const { return schedule_ != nullptr ? schedule_->statements.size() : contractions_->steps.size(); }
  const Contraction& operator[](std::size_t number) const {
    return schedule_ != nullptr ? schedule_->statements[number] : contractions_->steps[number];
  }
  std::size_t tensors() const { return schedule_ != nullptr ? schedule_->tensors.size() : contractions_->tensors.size(); }
  const NamedTensor& tensor(std::size_t number) const {
    if (schedule_ != nullptr) return schedule_->tensors[number];
    return contractions_->tensors[number];
  }

 private:
  const Contractions* contractions_ = nullptr;
  const Schedule* schedule_ = nullptr;
};

/// What can be planned: assignments of one term each, of operands that are there, results in formats that kernels write.
Expected<void> check_plannable(const Problem& problem);

/// Of the first assignment. Occurrences of operands come first, in the order of the factors and in their given layouts; intermediates
/// follow, then the result. Steps stand in the order of `order`: inner nodes of the tree, children first. Intermediates are workspaces
/// with their indices ascending. The root carries the coefficient.
Contractions contractions_of(const Network& network, const ContractionTree& tree, const std::vector<std::uint32_t>& order,
                             const std::vector<OperandFacts>& operands, const PlanOptions& options);

/// The same with this way to store the result, the first of result_formats() above.
Contractions contractions_of(const Network& network, const ContractionTree& tree, const std::vector<std::uint32_t>& order,
                             const std::vector<OperandFacts>& operands, const ResultFormat& result_format);

/// What the statements of a schedule compute, and how they store it.
ContractedTensor contracted(const ScheduledTensor& tensor);
Contractions contractions_of(const Schedule& schedule);

/// Every index of each step once, outermost first, of which it shares the first `fused` with its predecessor.
struct LoopNests {
  std::vector<std::vector<IndexId>> loops = {};
  std::vector<std::uint32_t> fused = {};
};

/// Contractions with loops; intermediates whose levels these decide are dense, for complete() (search/complete.h) to decide them.
Schedule with_loops(const Contractions& contractions, const LoopNests& nests);

/// Appends a node of a tree and all below it to another, children first: its number there.
std::uint32_t append_subtree(const ContractionTree& from, std::uint32_t node, ContractionTree& to);

/// Every tail behind every head, at most so many.
template <class Row>
std::vector<Row> concatenated(const std::vector<Row>& heads, const std::vector<Row>& tails, std::size_t most = ~std::size_t{0}) {
  std::vector<Row> found;
  for (const Row& head : heads) {
    for (const Row& tail : tails) {
      if (found.size() == most) return found;
      found.push_back(head);
      found.back().insert(found.back().end(), tail.begin(), tail.end());
    }
  }
  return found;
}

/// The inner nodes of a tree, each subtree in one piece (depth first): one order for every way to order the subtrees
/// with steps below each node, at most `limit`. A tree of one leaf has the order {leaf}.
std::vector<std::vector<std::uint32_t>> step_orders(const ContractionTree& tree, std::size_t limit);

/// A name for one more intermediate: short, and of no tensor and no index.
std::string intermediate_name(const Network& network, const Contractions& contractions);

/// Puts a step with one factor, which makes a tensor over its modes, before the step at `place`; `reader`, one of those behind it, then
/// reads what it makes in place of its factor. The result stays the last tensor.
void insert_step(Contractions& contractions, std::size_t place, std::size_t reader, std::size_t factor, ContractedTensor made);

/// Whether a step copies an operand into an intermediate, a mark array (space/contraction_variants.h): it multiplies and sums nothing.
bool is_mark_array_copy(Steps steps, std::size_t step);

/// Every index of the target and the factors.
IndexSet indices_of(const Contraction& step);

/// Number of the step that writes, the first or the last that reads the tensor; the number of steps if none.
std::size_t writer_of(Steps steps, std::uint32_t tensor);
std::size_t reader_of(Steps steps, std::uint32_t tensor);
std::size_t last_reader_of(Steps steps, std::uint32_t tensor);

/// Whether the cost of what contractions become is known once their loops are: no intermediate is of_loops.
bool stores_as_priced(const Contractions& contractions);

}  // namespace weft
