#include "engine/plan/explain/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/plan/const/workspace_order.h"
#include "engine/plan/cost/conversion.h"
#include "engine/plan/cost/cost_model.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/explain/quantities.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/statements.h"
#include "engine/plan/space/contraction_variants.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

std::string table_of(LevelKind kind) {
  switch (kind) {
    case LevelKind::hashed: return "a hash table";
    case LevelKind::bitmap: return "a bitmap";
    case LevelKind::accumulator:
    case LevelKind::dense:
    case LevelKind::compressed:
    case LevelKind::compressed_nonunique:
    case LevelKind::variable:
    case LevelKind::singleton: break;
  }
  return "an accumulator";
}

std::vector<IndexId> first_loops(const ScheduledStatement& statement, std::size_t depth) {
  return {statement.loops.begin(), statement.loops.begin() + static_cast<std::ptrdiff_t>(depth)};
}

std::string expected_text(const ExpectedEntries& expected) {
  return fmt::format("{} entries expected, {:.3g} % of all", count_text(expected.entries), 100 * expected.fill);
}

// In which order entries are made.
std::string how_written(const Schedule& schedule, std::size_t writer, const Network& network) {
  const ScheduledStatement& statement = schedule.statements[writer];
  const Format& format = schedule.tensors[statement.target.tensor].format;
  const AppendOrder order = append_order(statement.target.indices, format, statement.loops);
  if (!statement.drained) return "appended in the order of the loops";
  const std::string key = print_indices(drained_key(statement.target.indices, format, order), network);
  const std::vector<IndexId> outside = first_loops(statement, order.direct);
  return fmt::format("{} gathered in {} {}, and drained in order", key, table_of(*statement.drained),
                     outside.empty() ? "for the whole result" : fmt::format("for each {}", print_indices(outside, network)));
}

// Of a result (position in Schedule::tensors): requested, dense or sparse by its expected fill, at the positions of an operand; how it
// is written where it has compressed levels, and what handing it over in another format takes.
std::string result_reason(const Schedule& schedule, std::uint32_t result, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const ScheduledTensor& tensor = schedule.tensors[result];
  const bool requested = options.result_formats.contains(tensor.name);
  if (tensor.like) {
    const ScheduledTensor& operand = schedule.tensors[*tensor.like];
    const std::size_t levels = appended_levels(tensor.format.levels);
    std::string which = operand.name;
    if (levels != appended_levels(operand.format.levels))
      which += levels == 1 ? " in its first level" : fmt::format(" in its first {} levels", levels);
    std::string text = fmt::format("{}at the positions of {}, which are shared",
                                   options.result_patterns.contains(tensor.name) ? "requested: " : "", which);
    if (tensor.delivered) text += fmt::format("; handed over as {}, with the same entries in the same order", tensor.delivered->text());
    return text;
  }
  if (!has_sparse_level(tensor.format)) {
    std::string text = requested ? "requested" : "dense: any entry may be written";
    if (!tensor.delivered) return text;
    const double ns = reordering_ns(result_bytes(network.tensors[tensor.tensor], tensor.format.scalar), options.machine);
    return text + fmt::format("; computed as {}, so that its rows lie along the loops, and handed over as {}: {} after every run",
                              tensor.format.text(), tensor.delivered->text(), time_text(ns));
  }
  const std::size_t writer = writer_of(schedule, result);
  const ExpectedEntries expected = expected_entries(schedule, writer, problem);
  std::string text = fmt::format("{}: {}; {}", requested ? "requested" : "sparse", expected_text(expected),
                                 how_written(schedule, writer, network));
  if (tensor.delivered) {
    text += fmt::format("; converted to {} after every run, {}", tensor.delivered->text(),
                        time_text(expected.entries * options.machine.convert_entry));
  }
  return text;
}

// Of an intermediate that knows its entries: where they are kept; empty for a dense one.
std::string intermediate_reason(const Schedule& schedule, std::uint32_t intermediate, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const ScheduledTensor& tensor = schedule.tensors[intermediate];
  if (!has_sparse_level(tensor.format)) return {};
  const std::size_t writer = writer_of(schedule, intermediate);
  const ExpectedEntries expected = expected_entries(schedule, writer, problem);
  if (may_be_computed(tensor.format)) {
    return fmt::format("stored with compressed levels: {}; {}", expected_text(expected), how_written(schedule, writer, network));
  }
  std::vector<IndexId> key;
  LevelKind kind = LevelKind::accumulator;
  for (std::size_t level = 0; level < tensor.format.order(); ++level) {
    if (!is_sparse(tensor.format.levels[level].kind)) continue;
    kind = tensor.format.levels[level].kind;
    key.push_back(tensor.modes[tensor.format.mode_order[level]]);
  }
  if (is_mark_array_copy(schedule, writer)) {
    const std::size_t operand = schedule.statements[writer].factors.front().tensor;
    return fmt::format("a fiber of {} over {}, copied to be looked up in {}: {} entries in all", schedule.tensors[operand].name,
                       print_indices(key, network), table_of(kind), count_text(expected.entries));
  }
  return fmt::format("only what was accumulated is read, from {} over {}: {}", table_of(kind), print_indices(key, network),
                     expected_text(expected));
}

class Explainer {
 public:
  /// `problem`: of the scheduled network; `given`: the one that was planned, of which the runner-up may schedule another.
  Explainer(const Plan& plan, const Problem& problem, const Network& given)
      : plan_(plan), schedule_(plan.schedule), problem_(problem), network_(problem.network), given_(given) {}

  /// `cost`: predicted for the threads of a run, which are so many.
  Explanation explain(const Cost& cost, double threads) {
    explanation_.threads = problem_.options.machine.threads;
    statements();
    loops();
    nests(cost, threads);
    layouts();
    workspaces();
    for (const MemoryDemand& demand : plan_.cost.memory) explanation_.memory.push_back({demand.name, demand.bytes});
    explanation_.absence = absence_reason(schedule_, problem_.operands);
    search();
    if (plan_.runner_up && plan_.runner_up_cost) {
      explanation_.runner_up = {print_trees(*plan_.runner_up, given_), print(*plan_.runner_up, given_), plan_.why,
                                plan_.runner_up_cost->ns};
    }
    return std::move(explanation_);
  }

 private:
  void search() {
    std::vector<std::string>& told = explanation_.search;
    if (!explanation_.absence.empty()) told.push_back(explanation_.absence);
    if (problem_.options.objective == Objective::workspace_order) told.push_back(explain_workspace_order(plan_));
    if (plan_.trees > 0) {
      told.push_back(plan_.trees_bounded > 0
                         ? fmt::format("{} contraction trees; {} of them left out, because a lower bound says they take "
                                       "longer than the chosen one", plan_.trees, plan_.trees_bounded)
                         : fmt::format("{} contraction tree{}, every one planned", plan_.trees, plan_.trees == 1 ? "" : "s"));
    }
    if (!plan_.proof.empty()) told.push_back(plan_.proof);
    if (plan_.solver.asked && plan_.solver.unavailable.empty()) {
      told.push_back(fmt::format("Z3 asked about {} alternative{}, {} more ruled out by a bound; effort {}{}", plan_.solver.alternatives,
                                 plan_.solver.alternatives == 1 ? "" : "s", plan_.solver.bounded, plan_.solver.effort,
                                 plan_.solver.effort_spent ? ", all that was allowed: the best schedule known is kept" : ""));
    }
    if (!plan_.solver.unavailable.empty()) told.push_back(fmt::format("Z3 was not asked: {}", plan_.solver.unavailable));
    if (plan_.too_large > 0) {
      told.push_back(fmt::format("{} candidate{} did not fit into memory, or gave up private copies for it",
                                 plan_.too_large, plan_.too_large == 1 ? "" : "s"));
    }
  }

  bool has_one_reader(std::uint32_t tensor) const {
    return schedule_.tensors[tensor].role == TensorRole::intermediate && reader_of(schedule_, tensor) == last_reader_of(schedule_, tensor);
  }

  void statements() {
    for (const ScheduledStatement& statement : schedule_.statements) {
      ExplainedStatement told;
      told.text = print_product(schedule_, statement, network_);
      told.target = print_access(schedule_, statement.target, network_);
      for (const ScheduledAccess& factor : statement.factors) {
        told.factors.push_back(print_access(schedule_, factor, network_));
        const std::size_t writer = writer_of(schedule_, factor.tensor);
        const bool below = has_one_reader(factor.tensor) && writer < schedule_.statements.size();
        told.written_by.push_back(below ? static_cast<std::int32_t>(writer) : -1);
      }
      told.fused = statement.fused;
      told.loops = names_of(statement.loops, network_);
      told.iterations = 1;
      explanation_.statements.push_back(std::move(told));
    }
  }

  // What takes part in a loop: the accesses of all statements that share it.
  std::string how(std::size_t first, std::size_t depth) const {
    const IndexId index = schedule_.statements[first].loops[depth];
    std::vector<std::string> drive, search, gallop;
    const Intersection* intersection = nullptr;
    for (std::size_t number = first; number <= last_sharer(schedule_, first, depth); ++number) {
      const ScheduledStatement& statement = schedule_.statements[number];
      for (const Intersection& each : statement.intersections) {
        if (each.index == index && !intersection) intersection = &each;
      }
      for (const SparseLevel& met : sparse_levels(schedule_, statement, depth)) {
        (met.direct ? drive : search).push_back(label(schedule_, statement.factors[met.factor].tensor));
      }
    }
    if (intersection) {
      drive.clear();
      for (const Intersection::Part& part : intersection->parts) {
        const std::string name = label(schedule_, schedule_.statements[part.statement].factors[part.factor].tensor);
        (part.drive ? drive : part.gallop ? gallop : search).push_back(name);
      }
    }
    std::vector<std::string> parts;
    if (drive.size() > 1) parts.push_back(fmt::format("merges {}", fmt::join(drive, ", ")));
    if (drive.size() == 1) parts.push_back(fmt::format("walks {}", drive.front()));
    if (drive.empty()) parts.push_back("every coordinate");
    if (!search.empty()) parts.push_back(fmt::format("searches {}", fmt::join(search, ", ")));
    if (!gallop.empty()) parts.push_back(fmt::format("gallops through {}", fmt::join(gallop, ", ")));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  void loops() {
    std::vector<bool> parallel(schedule_.statements.size(), false);
    const std::vector<StatementRange> ranges = nests_of(schedule_);
    for (std::size_t nest = 0; nest < std::min(ranges.size(), schedule_.roots.size()); ++nest)
      parallel[ranges[nest].first] = schedule_.roots[nest] != RootReduction::serial;
    for (const LoopCost& cost : plan_.cost.loops) {
      const ScheduledStatement& statement = schedule_.statements[cost.statement];
      ExplainedLoop told;
      told.index = cost.index;
      told.extent = network_.indices[statement.loops[cost.depth]].extent;
      told.depth = cost.depth;
      told.statement = cost.statement;
      told.how = how(cost.statement, cost.depth);
      told.parallel = cost.depth == 0 && parallel[cost.statement];
      told.vector = statement.vector && cost.depth + 1 == statement.loops.size();
      told.iterations = cost.iterations;
      told.steps = cost.steps;
      told.flops = cost.flops;
      told.bytes = cost.bytes;
      told.ns = cost.ns;
      explanation_.statements[cost.statement].ns += cost.ns;
      explanation_.loops.push_back(std::move(told));
    }
    for (std::size_t number = 0; number < schedule_.statements.size(); ++number) {
      const std::size_t depth = schedule_.statements[number].loops.size();
      if (depth == 0) continue;
      const std::size_t runner = first_sharer(schedule_, number, depth - 1);
      for (const ExplainedLoop& loop : explanation_.loops) {
        if (loop.statement == runner && loop.depth + 1 == depth) explanation_.statements[number].iterations = loop.iterations;
      }
    }
  }

  void nests(const Cost& cost, double threads) {
    explanation_.of_this_run = {threads, cost.ns, cost.conversion_ns / std::max(1.0, problem_.options.calls)};
    for (const StatementRange range : nests_of(schedule_)) {
      ExplainedNest& nest = explanation_.nests.emplace_back();
      nest.statement = static_cast<std::uint32_t>(range.first);
      if (explanation_.nests.size() <= cost.nests_ns.size()) nest.ns = cost.nests_ns[explanation_.nests.size() - 1];
    }
    for (const ExplainedLoop& loop : explanation_.loops) nest_of(explanation_, loop.statement).bytes += loop.bytes;
  }

  std::string kept_reason(const ScheduledTensor& tensor, const OperandFacts& facts, std::uint32_t number) const {
    if (tensor.located.modes != 0) return "kept: located through its layout";
    if (network_.tensors[tensor.tensor].falling != 0) return "kept: gone over from the last entries on, as its coordinates fall";
    if (facts.pinned) return "kept: pinned";
    if (!has_sparse_level(tensor.format)) return "kept: dense, so any loop order reaches its entries directly";
    for (const ScheduledStatement& statement : schedule_.statements) {
      for (const ScheduledAccess& factor : statement.factors) {
        if (factor.tensor != number) continue;
        const std::vector<std::string> levels = names_of(by_level(factor.indices, tensor.format), network_);
        bool late = false;
        const std::vector<BoundLevel> bound = bind_levels(factor.indices, tensor.format, statement.loops, tensor.located);
        for (std::size_t level = 0; level < bound.size(); ++level) {
          late = late || (!bound[level].direct && is_sparse(tensor.format.levels[level].kind));
        }
        return late ? fmt::format("kept: levels {} in stored order; those bound too late are searched, which costs less "
                                  "than a conversion", fmt::join(levels, ", "))
                    : fmt::format("kept: the loops meet its levels {} in stored order", fmt::join(levels, ", "));
      }
    }
    return "kept: not read";
  }

  std::string converted_reason(const ScheduledTensor& tensor, const OperandFacts& facts, double ns) const {
    std::vector<std::string> changes;
    if (tensor.format.mode_order != facts.format.mode_order) {
      changes.push_back(fmt::format("the loops need its modes in the order {}", fmt::join(tensor.format.mode_order, ",")));
    }
    const auto dense = [](const Format& format) { return std::ranges::count(format.levels, LevelKind::dense, &Level::kind); };
    if (dense(tensor.format) > dense(facts.format)) changes.push_back("dense levels replace searches by table lookups");
    if (std::ranges::any_of(tensor.format.levels, begins_chain, &Level::kind)) {
      changes.push_back("one loop walks over its entries, whose fibers are too short for loops of their own");
    }
    if (changes.empty()) changes.push_back("other level kinds suit the loops better");
    const char* how = tensor.opened ? "opened in place" : "converted";
    return fmt::format("{} from {}: {}; {} once, {} a run over {:.6g} {}", how, facts.format.text(), fmt::join(changes, ", and "),
                       time_text(ns), time_text(ns / std::max(1.0, problem_.options.calls)), problem_.options.calls,
                       problem_.options.calls == 1 ? "call" : "calls");
  }

  void layouts() {
    for (std::uint32_t number = 0; number < schedule_.tensors.size(); ++number) {
      const ScheduledTensor& tensor = schedule_.tensors[number];
      ExplainedLayout told;
      told.name = label(schedule_, number);
      told.format = tensor.format.order() == 0 ? "" : tensor.format.text();
      told.scalar = name(tensor.format.scalar);
      switch (tensor.role) {
        case TensorRole::operand: {
          const OperandFacts& facts = facts_of(problem_.operands, tensor.tensor);
          told.role = "operand";
          told.converted = tensor.converted;
          told.conversion_ns = layout_ns(tensor, facts, problem_.options.machine);
          told.conversion_ns_a_run = told.conversion_ns / std::max(1.0, problem_.options.calls);
          told.reason = tensor.converted ? converted_reason(tensor, facts, told.conversion_ns) : kept_reason(tensor, facts, number);
          break;
        }
        case TensorRole::intermediate:
          told.role = "intermediate";
          told.reason = intermediate_reason(schedule_, number, problem_);
          if (!told.reason.empty()) break;
          told.reason = fmt::format("over {}, in the order its writer needs", print_indices(tensor.modes, network_));
          break;
        case TensorRole::result:
          told.role = "result";
          told.reason = result_reason(schedule_, number, problem_);
          break;
      }
      explanation_.layouts.push_back(std::move(told));
    }
  }

  std::string inside(const std::vector<IndexId>& loops) const {
    return fmt::format("inside loop{} {}", loops.size() == 1 ? "" : "s", fmt::join(names_of(loops, network_), ", "));
  }

  // The workspace gathered before it is appended to a tensor with compressed levels.
  void drained(std::size_t writer) {
    const ScheduledStatement& statement = schedule_.statements[writer];
    const ScheduledTensor& target = schedule_.tensors[statement.target.tensor];
    const AppendOrder order = append_order(statement.target.indices, target.format, statement.loops);
    const double bytes = drained_bytes(schedule_, writer, problem_);
    const std::vector<IndexId> outside = first_loops(statement, order.direct);
    ExplainedWorkspace told;
    told.name = fmt::format("{} of {}", drain_word(*statement.drained), label(schedule_, statement.target.tensor));
    told.indices = names_of(drained_key(statement.target.indices, target.format, order), network_);
    told.bytes = static_cast<std::uint64_t>(std::min(bytes, 0x1p63));
    told.place = outside.empty() ? "around the loop nest" : inside(outside);
    explanation_.workspaces.push_back(std::move(told));
  }

  void workspaces() {
    for (std::uint32_t number = 0; number < schedule_.tensors.size(); ++number) {
      const ScheduledTensor& tensor = schedule_.tensors[number];
      const std::size_t writer = writer_of(schedule_, number);
      if (writer == schedule_.statements.size()) continue;
      if (schedule_.statements[writer].drained) drained(writer);
      if (tensor.role != TensorRole::intermediate) continue;
      const std::size_t reader = last_reader_of(schedule_, number);
      const std::size_t depth = reader < schedule_.statements.size() ? shared_loops(schedule_, writer, reader) : 0;
      const std::vector<IndexId> shared = first_loops(schedule_.statements[writer], depth);
      std::vector<IndexId> stored = tensor.modes;
      std::erase_if(stored, [&](IndexId index) { return contains(index_set(shared), index); });
      double bytes = dense_bytes(index_set(stored), tensor.format.scalar, network_);
      ExplainedWorkspace told;
      told.name = label(schedule_, number);
      told.indices = names_of(stored, network_);
      if (!tensor.format.all_dense()) {
        bytes = shared.empty() ? expected_bytes(schedule_, writer, problem_)
                               : keyed_bytes(schedule_, writer, index_set(shared), problem_);
      }
      told.bytes = static_cast<std::uint64_t>(std::min(bytes, 0x1p63));
      told.place = shared.empty() ? "between loop nests" : inside(shared);
      explanation_.workspaces.push_back(std::move(told));
    }
  }

  const Plan& plan_;
  const Schedule& schedule_;
  const Problem problem_;
  const Network& network_;
  const Network& given_;
  Explanation explanation_;
};

}  // namespace

Explanation explanation(const Plan& plan, const Problem& problem, unsigned threads) {
  const auto& [given, operands, options] = problem;
  const Network network = scheduled_network(plan.schedule, given);
  const bool others = threads != 0 && threads != options.machine.threads;
  const Cost cost = others ? predicted_cost(plan.schedule, problem, threads) : plan.cost;
  return Explainer(plan, Problem{network, operands, options}, given).explain(cost, others ? threads : options.machine.threads);
}

ExplainedNest& nest_of(Explanation& explained, std::uint32_t statement) {
  const auto after = std::ranges::upper_bound(explained.nests, statement, {}, &ExplainedNest::statement);
  return *std::prev(after);
}

namespace {

// Those of the operands that a tensor is made from.
void append_not_finite(const Schedule& schedule, std::uint32_t tensor, const std::vector<OperandFacts>& operands,
                       std::vector<std::string>& names, bool& looked_at) {
  const ScheduledTensor& declared = schedule.tensors[tensor];
  if (is_finite(schedule, tensor, operands)) return;
  if (declared.role == TensorRole::operand) {
    looked_at = looked_at && facts_of(operands, declared.tensor).looks != Looks::never;
    if (std::ranges::find(names, declared.name) == names.end()) names.push_back(declared.name);
    return;
  }
  for (const ScheduledAccess& factor : schedule.statements[writer_of(schedule, tensor)].factors) {
    append_not_finite(schedule, factor.tensor, operands, names, looked_at);
  }
}

}  // namespace

std::string absence_reason(const Schedule& schedule, const std::vector<OperandFacts>& operands) {
  const auto annihilated = annihilated_tensors(schedule, finite_tensors(schedule, operands));
  const std::vector<bool> makes_entries = entry_making_tensors(schedule);
  std::vector<std::string> spoiled, kept;
  bool looked_at = true;
  for (std::uint32_t tensor = 0; tensor < schedule.tensors.size(); ++tensor) {
    if (!annihilated[tensor] || makes_entries[tensor]) continue;
    kept.push_back(schedule.tensors[tensor].name);
    append_not_finite(schedule, *annihilated[tensor], operands, spoiled, looked_at);
  }
  if (kept.empty()) return {};
  const char* const hold = !looked_at ? "may hold" : spoiled.size() == 1 ? "holds" : "hold";
  return fmt::format("{} {} NaN or Inf{}, so that {} {} to tell absent entries from zeros, which takes more time than plain "
                     "dense intermediates",
                     fmt::join(spoiled, ", "), hold, looked_at ? "" : ", for looking in every run would take longer",
                     fmt::join(kept, ", "), kept.size() == 1 ? "has" : "have");
}

namespace {

bool is_pinned(const Term& term) {
  const auto inner = std::ranges::count_if(term.pinned.nodes, [](const auto& node) { return !node.children.empty(); });
  return inner > 1 || (term.factors.size() > 2 && !term.open);
}

Network without_trees(Network network) {
  for (Assignment& assignment : network.assignments) {
    for (Term& term : assignment.terms) {
      term.pinned = flat_tree(term.factors.size());
      term.open = true;
    }
  }
  return network;
}

}  // namespace

std::vector<ExplainedConstraint> binding_constraints(const Plan& plan, const Problem& problem, const Planner& planner) {
  const auto& [network, operands, options] = problem;
  std::vector<ExplainedConstraint> told;
  const auto add = [&](std::string name, const Network& of, const std::vector<OperandFacts>& facts, PlanOptions free) {
    // Something cheaper is enough to know that a constraint binds: a proof for each would take as long again.
    free.prove = false;
    const auto relaxed = planner(Problem{of, facts, free});
    ExplainedConstraint& constraint = told.emplace_back(ExplainedConstraint{std::move(name), false, {}});
    if (!relaxed) {
      constraint.effect = "without it there is no plan: " + relaxed.error().message;
    } else if (relaxed->cost.ns < plan.cost.ns * 0.999) {
      constraint.binds = true;
      constraint.effect = fmt::format("without it {} instead of {}, with the tree {}", time_text(relaxed->cost.ns), time_text(plan.cost.ns),
                                      print_trees(relaxed->schedule, scheduled_network(relaxed->schedule, of)));
    } else {
      constraint.effect = "nothing cheaper is found without it";
    }
  };
  if (plan.producer == Producer::user) {
    add("schedule", network, operands, options);
    return told;
  }
  for (std::size_t number = 0; number < operands.size(); ++number) {
    if (!operands[number].pinned) continue;
    std::vector<OperandFacts> free = operands;
    free[number].pinned = false;
    add(fmt::format("layout of {}", network.tensors[operands[number].tensor].name), network, free, options);
  }
  const bool in_text = std::ranges::any_of(network.assignments, [](const Assignment& assignment) {
    return std::ranges::any_of(assignment.terms, is_pinned);
  });
  PlanOptions free = options;
  if (options.tree || in_text) {
    free.tree.reset();
    add("contraction tree", without_trees(network), operands, std::exchange(free, options));
  }
  if (options.memory_limit != ~std::uint64_t{0}) {
    free.memory_limit = ~std::uint64_t{0};
    add(fmt::format("memory limit of {}", bytes_text(static_cast<double>(options.memory_limit))), network, operands,
        std::exchange(free, options));
  }
  if (options.strict_fp) {
    free.strict_fp = false;
    add("strict floating point", network, operands, free);
  }
  return told;
}

}  // namespace weft
