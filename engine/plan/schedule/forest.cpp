#include "engine/plan/schedule/forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/network/inlining.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan/estimate/product_estimate.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/statements.h"

namespace weft {
namespace {

const std::string& result_name(const Network& network, std::size_t assignment) {
  return network.tensors[network.assignments[assignment].result.tensor].name;
}

// The schedule's tensor that holds each assignment's result.
Expected<std::vector<std::uint32_t>> stored_tensors(const Schedule& schedule, const Network& network) {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<std::uint32_t> stored(network.assignments.size(), none);
  for (std::uint32_t tensor = 0; tensor < schedule.tensors.size(); ++tensor) {
    const auto assignment = stored_assignment(schedule.tensors[tensor], network);
    if (!assignment) continue;
    if (stored[*assignment] != none) return illegal(fmt::format("{} is stored twice", result_name(network, *assignment)));
    const ScheduledTensor& declared = schedule.tensors[tensor];
    if (declared.role == TensorRole::intermediate && declared.modes != network.assignments[*assignment].result.indices)
      return illegal(fmt::format("intermediate {} is not declared with the indices it is assigned with", declared.name));
    stored[*assignment] = tensor;
  }
  const auto missing = std::ranges::find(stored, none);
  if (missing == stored.end()) return stored;
  return illegal(fmt::format("no line 'result' for {}", result_name(network, static_cast<std::size_t>(missing - stored.begin()))));
}

// Known from the products alone, whatever the schedule says.
bool all_finite(const Assignment& assignment, const std::vector<OperandFacts>& known) {
  return std::ranges::all_of(assignment.terms.front().factors, [&](const TensorAccess& factor) {
    return has_facts(known, factor.tensor) && facts_of(known, factor.tensor).statistics.finite();
  });
}

std::set<std::uint32_t> tensors_of(const Contraction& step) {
  std::set<std::uint32_t> tensors{step.target.tensor};
  for (const ScheduledAccess& factor : step.factors) tensors.insert(factor.tensor);
  return tensors;
}

Expected<void> check_declared(const Schedule& schedule) {
  std::vector<bool> used(schedule.tensors.size(), false);
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    for (const std::uint32_t tensor : tensors_of(schedule.statements[number])) {
      if (tensor >= used.size()) return illegal(number, "a tensor is not declared");
      used[tensor] = true;
    }
  }
  const auto unused = std::ranges::find(used, false);
  if (unused == used.end()) return {};
  return illegal(fmt::format("{} is declared but in no statement", schedule.tensors[static_cast<std::size_t>(unused - used.begin())].name));
}

// An assignment's statements end with the one that writes its result.
Expected<std::vector<StatementRange>> spans(const Schedule& schedule, const Network& network,
                                            const std::vector<std::uint32_t>& stored) {
  std::vector<StatementRange> found;
  std::size_t begin = 0;
  for (std::size_t assignment = 0; assignment < stored.size(); ++assignment) {
    const std::size_t writer = writer_of(schedule, stored[assignment]);
    if (writer == schedule.statements.size())
      return illegal(fmt::format("{} is never written", result_name(network, assignment)));
    if (writer < begin) {
      return illegal(writer, fmt::format("{} is written before {}, which the expression assigns first",
                                         result_name(network, assignment), result_name(network, assignment - 1)));
    }
    if (assignment > 0 && schedule.statements[begin].fused > 0) {
      return illegal(begin, fmt::format("it shares loops with the assignment to {}: each stored assignment has loop nests of its "
                                        "own", result_name(network, assignment - 1)));
    }
    found.push_back({begin, writer});
    begin = writer + 1;
  }
  if (begin != schedule.statements.size()) {
    return illegal(begin, fmt::format("it stands after the one that writes {}, the last result",
                                      result_name(network, stored.size() - 1)));
  }
  return found;
}

// The statements and tensors of one assignment, taken out of a schedule.
Schedule part_of(const Schedule& schedule, const Network& network, std::size_t assignment, StatementRange span) {
  Schedule part;
  part.tree = assignment + 1 == network.assignments.size() ? schedule.tree : schedule.earlier_trees[assignment];
  std::set<std::uint32_t> used;
  for (std::size_t number = span.first; number < span.end(); ++number) used.merge(tensors_of(schedule.statements[number]));
  std::map<std::uint32_t, std::uint32_t> renumbered;
  for (const std::uint32_t tensor : used) {
    renumbered[tensor] = static_cast<std::uint32_t>(part.tensors.size());
    ScheduledTensor& taken = part.tensors.emplace_back(schedule.tensors[tensor]);
    const auto stored = stored_assignment(taken, network);
    if (!stored) continue;
    taken.tensor = network.assignments[*stored].result.tensor;
    taken.modes.clear();
    taken.role = *stored == assignment ? TensorRole::result : TensorRole::operand;
  }
  for (ScheduledTensor& tensor : part.tensors) {
    // An operand that no statement of the part reads: out of range, so that the rules refuse it.
    if (tensor.like) tensor.like = renumbered.contains(*tensor.like) ? renumbered.at(*tensor.like) : ~0u;
  }
  for (std::size_t number = span.first; number < span.end(); ++number) {
    ScheduledStatement& statement = part.statements.emplace_back(schedule.statements[number]);
    statement.target.tensor = renumbered.at(statement.target.tensor);
    for (ScheduledAccess& factor : statement.factors) factor.tensor = renumbered.at(factor.tensor);
    for (Intersection& intersection : statement.intersections) {
      // A part of a statement outside stays out of range: the rules of one assignment then refuse it.
      for (Intersection::Part& met : intersection.parts) met.statement -= static_cast<std::uint32_t>(span.first);
    }
  }
  const std::vector<StatementRange> nests = nests_of(schedule);
  for (std::size_t nest = 0; nest < std::min(nests.size(), schedule.roots.size()); ++nest)
    if (span.contains(nests[nest].first)) part.roots.push_back(schedule.roots[nest]);
  return part;
}

// Puts the tensors and statements of parts together, in order.
class Joiner {
 public:
  Joiner(const Network& network, const PlanOptions& options) : network_(network), options_(options) {
    for (const TensorDeclaration& tensor : network.tensors) taken_.insert(tensor.name);
    for (const Index& index : network.indices) taken_.insert(index.name);
  }

  void add(const Schedule& part, std::size_t assignment) {
    if (assignment + 1 < network_.assignments.size()) {
      schedule_.earlier_trees.push_back(part.tree);
    } else {
      schedule_.tree = part.tree;
    }
    const auto first = static_cast<std::uint32_t>(schedule_.statements.size());
    std::vector<std::uint32_t> renumbered;
    for (const ScheduledTensor& tensor : part.tensors) renumbered.push_back(place(tensor, assignment));
    for (std::size_t number = 0; number < part.tensors.size(); ++number) {
      if (part.tensors[number].like) schedule_.tensors[renumbered[number]].like = renumbered[*part.tensors[number].like];
    }
    for (ScheduledStatement statement : part.statements) {
      statement.target.tensor = renumbered[statement.target.tensor];
      for (ScheduledAccess& factor : statement.factors) factor.tensor = renumbered[factor.tensor];
      for (Intersection& intersection : statement.intersections) {
        for (Intersection::Part& met : intersection.parts) met.statement += first;
      }
      schedule_.statements.push_back(std::move(statement));
    }
    schedule_.roots.insert(schedule_.roots.end(), part.roots.begin(), part.roots.end());
  }

  Schedule schedule() { return merge_layouts(schedule_); }

 private:
  std::uint32_t place(ScheduledTensor tensor, std::size_t assignment) {
    if (tensor.role == TensorRole::operand) {
      // What an earlier assignment stored.
      for (const auto& [result, position] : stored_) {
        if (result == tensor.tensor) return position;
      }
    } else if (tensor.role == TensorRole::intermediate) {
      tensor.name = free_name(tensor.name);
    } else {
      stored_.emplace_back(tensor.tensor, static_cast<std::uint32_t>(schedule_.tensors.size()));
      if (!is_wanted(tensor.name, network_, options_)) {
        tensor.role = TensorRole::intermediate;
        tensor.modes = network_.assignments[assignment].result.indices;
        tensor.tensor = 0;
      }
    }
    schedule_.tensors.push_back(std::move(tensor));
    return static_cast<std::uint32_t>(schedule_.tensors.size() - 1);
  }

  std::string free_name(const std::string& wanted) {
    std::string name = wanted;
    for (std::size_t number = 2; !taken_.insert(name).second; ++number) name = fmt::format("{}{}", wanted, number);
    return name;
  }

  const Network& network_;
  const PlanOptions& options_;
  std::set<std::string> taken_;
  std::vector<std::pair<TensorId, std::uint32_t>> stored_;  // results by tensor, and where the schedule has them
  Schedule schedule_;
};

}  // namespace

std::optional<std::size_t> stored_assignment(const ScheduledTensor& tensor, const Network& network) {
  if (tensor.role == TensorRole::operand) return std::nullopt;
  for (std::size_t assignment = 0; assignment < network.assignments.size(); ++assignment) {
    const TensorId result = network.assignments[assignment].result.tensor;
    const bool same = tensor.role == TensorRole::result ? tensor.tensor == result : tensor.name == network.tensors[result].name;
    if (same) return assignment;
  }
  return std::nullopt;
}

Network scheduled_network(const Schedule& schedule, const Network& network) {
  std::vector<bool> stored(network.assignments.size(), false);
  for (const ScheduledTensor& tensor : schedule.tensors) {
    if (const auto assignment = stored_assignment(tensor, network)) stored[*assignment] = true;
  }
  std::vector<TensorId> dropped;
  for (std::size_t assignment = 0; assignment < network.assignments.size(); ++assignment) {
    if (!stored[assignment]) dropped.push_back(network.assignments[assignment].result.tensor);
  }
  return inlined(network, dropped);
}

Network part_network(const Network& network, std::size_t assignment) {
  Network part = network;
  part.assignments = {network.assignments[assignment]};
  for (TensorId tensor = 0; tensor < part.tensors.size(); ++tensor) {
    part.tensors[tensor].is_result = tensor == network.assignments[assignment].result.tensor;
  }
  return part;
}

namespace {

// Dense factors that are whole, and sums over something.
bool is_everywhere(const Network& network, const Assignment& assignment, const std::vector<OperandFacts>& known) {
  return std::ranges::all_of(assignment.terms.front().factors, [&](const TensorAccess& factor) {
    const OperandFacts& facts = facts_of(known, factor.tensor);
    return facts.format.all_dense() && facts.certain && !network.tensors[factor.tensor].has_sums() &&
           std::ranges::none_of(factor.indices, [&](IndexId index) { return network.indices[index].extent == 0; });
  });
}

}  // namespace

OperandFacts stored_facts(const Network& network, const Assignment& assignment, const Format& format,
                          const std::vector<OperandFacts>& known) {
  const std::vector<std::uint64_t>& extents = network.tensors[assignment.result.tensor].extents;
  const bool finite = all_finite(assignment, known);
  const bool sparse = has_sparse_level(format);
  double entries = 1;
  for (const std::uint64_t extent : extents) entries *= static_cast<double>(extent);
  Statistics statistics = sparse ? estimated_statistics(ProductEstimate(network, known, assignment.terms.front().factors), network,
                                                        assignment.result.indices, format, finite)
                                 : Statistics(extents, format, entries, {}, finite);
  const double bytes = sparse ? stored_bytes(format, statistics) : entries * static_cast<double>(scalar_bytes(format.scalar));
  OperandFacts facts{assignment.result.tensor, format, std::move(statistics), static_cast<std::uint64_t>(std::min(bytes, 0x1p62)), true};
  facts.computed = true;
  facts.certain = !sparse && is_everywhere(network, assignment, known);
  return facts;
}

bool reads(const Assignment& assignment, TensorId tensor) {
  const std::vector<TensorAccess>& factors = assignment.terms.front().factors;
  return std::ranges::find(factors, tensor, &TensorAccess::tensor) != factors.end();
}

std::size_t readers_of(const Network& network, TensorId tensor) {
  const auto of_it = [&](const Assignment& assignment) { return reads(assignment, tensor); };
  return static_cast<std::size_t>(std::ranges::count_if(network.assignments, of_it));
}

bool is_wanted(const std::string& name, const Network& network, const PlanOptions& options) {
  return name == network.tensors[network.assignments.back().result.tensor].name || options.results.contains(name) ||
         options.result_formats.contains(name);
}

std::vector<TensorId> unwanted(const Network& network, const PlanOptions& options) {
  std::vector<TensorId> tensors;
  for (std::size_t assignment = 0; assignment < network.assignments.size(); ++assignment)
    if (!is_wanted(result_name(network, assignment), network, options)) tensors.push_back(network.assignments[assignment].result.tensor);
  return tensors;
}

std::vector<TensorId> unneeded(const Network& network, const PlanOptions& options) {
  std::vector<bool> read(network.tensors.size(), false);
  std::vector<TensorId> found;
  for (auto assignment = network.assignments.rbegin(); assignment != network.assignments.rend(); ++assignment) {
    const TensorId tensor = assignment->result.tensor;
    if (!read[tensor] && !is_wanted(network.tensors[tensor].name, network, options)) {
      found.push_back(tensor);
      continue;
    }
    for (const Term& term : assignment->terms) {
      for (const TensorAccess& factor : term.factors) read[factor.tensor] = true;
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

Expected<std::vector<ForestPart>> forest_parts(const Schedule& schedule, const Network& network,
                                               const std::vector<OperandFacts>& operands) {
  if (schedule.earlier_trees.size() + 1 != network.assignments.size()) {
    return illegal(fmt::format("{} trees for {} stored assignments", schedule.earlier_trees.size() + 1,
                               network.assignments.size()));
  }
  if (auto done = check_declared(schedule); !done) return std::unexpected(done.error());
  const auto stored = stored_tensors(schedule, network);
  if (!stored) return std::unexpected(stored.error());
  const auto found = spans(schedule, network, *stored);
  if (!found) return std::unexpected(found.error());
  std::vector<ForestPart> parts;
  std::vector<OperandFacts> known = operands;
  for (std::size_t assignment = 0; assignment < network.assignments.size(); ++assignment) {
    const Assignment& planned = network.assignments[assignment];
    parts.push_back({part_network(network, assignment), known,
                     part_of(schedule, network, assignment, (*found)[assignment]), (*found)[assignment].first});
    known.push_back(stored_facts(network, planned, schedule.tensors[(*stored)[assignment]].format, known));
  }
  return parts;
}

Schedule joined(const std::vector<Schedule>& parts, const Network& network, const PlanOptions& options) {
  Joiner joiner(network, options);
  for (std::size_t assignment = 0; assignment < parts.size(); ++assignment) joiner.add(parts[assignment], assignment);
  return joiner.schedule();
}

}  // namespace weft
