// Statements: the products that a contraction tree asks for, before anything is decided about loops.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace weft {

/// A set of indices of the network: bit i is index i. The planner refuses networks with more than 64 indices.
using IndexSet = std::uint64_t;

struct ResultFormat;

inline constexpr std::size_t most_planned_indices = 64;

constexpr IndexSet one_index(IndexId index) { return IndexSet{1} << index; }
constexpr bool contains(IndexSet set, IndexId index) { return (set >> index & 1) != 0; }
constexpr IndexSet index_set(std::span<const IndexId> indices) {
  IndexSet set = 0;
  for (const IndexId index : indices) set |= one_index(index);
  return set;
}
constexpr IndexSet index_set(std::initializer_list<IndexId> indices) { return index_set(std::span(indices.begin(), indices.size())); }

/// The indices of a set, ascending: to go over, or as a vector.
class IndexMembers {
 public:
  explicit IndexMembers(IndexSet set) : set_(set) {}

  class Iterator {
   public:
    explicit Iterator(IndexSet left) : left_(left) {}
    IndexId operator*() const { return static_cast<IndexId>(std::countr_zero(left_)); }
    Iterator& operator++() {
      left_ &= left_ - 1;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    IndexSet left_;
  };
  Iterator begin() const { return Iterator(set_); }
  Iterator end() const { return Iterator(0); }

  bool empty() const { return set_ == 0; }
  std::size_t size() const { return static_cast<std::size_t>(std::popcount(set_)); }
  IndexId front() const { return *begin(); }
  operator std::vector<IndexId>() const;

 private:
  IndexSet set_;
};
inline IndexMembers members(IndexSet set) { return IndexMembers(set); }

/// What this planner can plan: assignments of one term each, at most 64 indices, dense results.
Expected<void> check_plannable(const Network& network, const std::vector<OperandFacts>& operands,
                               const PlanOptions& options);

/// The facts of an operand. The tensor must be among them.
const OperandFacts& facts_of(const std::vector<OperandFacts>& operands, TensorId tensor);

/// A schedule of the first assignment with tensors and statements but no loops yet. Every occurrence of an operand has a tensor of its own, in
/// the order of the factors and in its given layout, so that layouts can be chosen per occurrence; intermediates
/// follow, then the result. Statements stand in the order of `order`: inner nodes of the tree, children first.
/// Intermediates are dense in ascending order of their indices. The root statement carries the coefficient.
Schedule statements_of(const Network& network, const ContractionTree& tree, const std::vector<std::uint32_t>& order,
                       const std::vector<OperandFacts>& operands, const PlanOptions& options);

/// The same with this way to store the result, the first of result_formats() above.
Schedule statements_of(const Network& network, const ContractionTree& tree, const std::vector<std::uint32_t>& order,
                       const std::vector<OperandFacts>& operands, const ResultFormat& result_format);

/// A name for one more intermediate: short, and of no tensor and no index.
std::string intermediate_name(const Network& network, const std::vector<ScheduledTensor>& tensors);

/// The inner nodes of a tree, each subtree in one piece (depth first): one order for every way to order the subtrees
/// with statements below each node, at most `limit`. A tree of one leaf has the order {leaf}.
std::vector<std::vector<std::uint32_t>> statement_orders(const ContractionTree& tree, std::size_t limit);

/// Every index of the target and the factors.
IndexSet indices_of(const ScheduledStatement& statement);

/// Number of the statement that writes, the first or the last that reads the tensor; statements.size() if none.
std::size_t writer_of(const Schedule& schedule, std::uint32_t tensor);
std::size_t reader_of(const Schedule& schedule, std::uint32_t tensor);
std::size_t last_reader_of(const Schedule& schedule, std::uint32_t tensor);

/// The first and the last of the statements that share the loop at `depth` of a statement.
std::size_t first_sharer(const Schedule& schedule, std::size_t statement, std::size_t depth);
std::size_t last_sharer(const Schedule& schedule, std::size_t statement, std::size_t depth);

/// Loops shared by all statements from `first` to `last` (positions in Schedule::statements, first <= last).
std::size_t shared_loops(const Schedule& schedule, std::size_t first, std::size_t last);

/// Occurrences of an operand in one layout become one tensor; names keep their order.
Schedule merge_layouts(Schedule schedule);

}  // namespace weft
