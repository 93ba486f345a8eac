#include "engine/plan_cache.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "engine/build_id.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/schedule_text.h"

namespace weft {
namespace {

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

std::string layout_text(const Format& format) {
  std::string text = fmt::format("{}:{}", format.text(), name(format.scalar));
  for (const Level& level : format.levels) {
    if (level == Level{level.kind}) continue;
    text += fmt::format(" {}/{}{}", level.pos_bits, level.crd_bits, level.strided ? " strided" : "");
  }
  return text;
}

void append_figures(std::string& text, const Statistics& statistics) {
  text += fmt::format(" nnz {}", statistics.nnz());
  if (statistics.format().all_dense() || statistics.nnz() <= 0) return;
  text += " distinct";
  for (const ModeSet set : quantised_sets(statistics.format())) text += fmt::format(" {:x}:{}", set, statistics.distinct(set));
}

// The bindings name every member: a new one does not compile before it is decided here whether plans depend on it.
void append_operand(std::string& text, const OperandFacts& operand, const Network& network, bool limited) {
  const auto& [tensor, format, statistics, bytes, pinned, counted, computed, certain, share, copied, looks, changes, laid_out, adjacent,
              place_bits, lent, stored] =
      operand;
  static_cast<void>(stored);
  static_cast<void>(changes);  // what plans know of it is the share
  static_cast<void>(laid_out);
  static_cast<void>(place_bits);
  static_cast<void>(looks);  // what comes of them is whether the values are taken to be finite
  text += fmt::format("operand {} {}{} bytes {}", network.tensors[tensor].name, layout_text(format),
                      computed ? certain ? " computed" : " computed in part" : copied ? " copied" : pinned ? " pinned" : "", bytes);
  if (share != 1) text += fmt::format(" converted at {}", share);
  if (!statistics.finite()) text += " not finite";
  if (adjacent != Adjacency::none) text += " adjacent";
  append_figures(text, statistics);
  text += '\n';
  if (!limited) return;
  if (lent != 0) text += fmt::format("lent {} bytes {}\n", network.tensors[tensor].name, lent);
  if (!counted) return;
  text += fmt::format("counted {} bytes {}", network.tensors[tensor].name, counted->bytes);
  append_figures(text, counted->statistics);
  text += '\n';
}

void append_options(std::string& text, const PlanOptions& options, const Network& network) {
  const auto& [calls, memory_limit, planning_memory, strict_fp, prove, budget, proof_share, below_ns, tree, result_formats, result_patterns,
               results, lent_results, reorders_results, machine, objective, joins, entries, cancelled_by, progress] = options;
  static_cast<void>(budget);            // made by plan(), as `prove` says
  static_cast<void>(reorders_results);  // false for parts of a network alone
  text += fmt::format("calls {}\n", calls);
  if (memory_limit != no_limit) text += fmt::format("memory limit {}\n", memory_limit);
  for (const std::string& result : lent_results)
    if (memory_limit != no_limit) text += fmt::format("lent {}\n", result);
  if (strict_fp) text += "strict floating point\n";
  if (prove) text += planning_memory == no_limit ? "proven\n" : fmt::format("proven within {}\n", planning_memory);
  if (prove && proof_share != 1) text += fmt::format("share of the proof {}\n", proof_share);
  if (below_ns != PlanOptions().below_ns) text += fmt::format("below {}\n", below_ns);
  if (tree) text += fmt::format("tree {}\n", print(*tree, factor_names(network)));
  for (const auto& [result, format] : result_formats) text += fmt::format("result {} {}\n", result, layout_text(format));
  for (const std::string& result : results) text += fmt::format("wanted {}\n", result);
  if (objective == Objective::workspace_order) text += "objective workspace-order\n";
  for (const auto& [result, operand] : result_patterns) text += fmt::format("result {} like {}\n", result, operand);
  for (const auto& [join, ratio] : joins) text += fmt::format("join {:x} {}\n", join, ratio);
  for (const auto& [result, counted] : entries) text += fmt::format("entries of {} {}\n", result, counted);
  if (machine != Machine{}) text += fmt::format("machine\n{}", print(machine));
}

/// The lines "# NAME VALUE" at the beginning of a text.
class Remarks {
 public:
  explicit Remarks(std::string_view text) : text_(text) {}

  std::optional<std::string_view> value(std::string_view name) const {
    const std::string begin = fmt::format("\n# {} ", name);
    const std::size_t found = text_.find(begin);
    if (found == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text_.substr(found + begin.size());
    return rest.substr(0, rest.find('\n'));
  }

  template <class Number>
  std::optional<Number> number(std::string_view name) const {
    const auto text = value(name);
    if (!text) return std::nullopt;
    Number read{};
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), read);
    if (problem != std::errc{} || end != text->data() + text->size()) return std::nullopt;
    return read;
  }

  /// The lines "# | ...", without that.
  std::string quoted() const {
    std::string lines;
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      if (line.starts_with("# | ")) lines += fmt::format("{}\n", line.substr(4));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    return lines;
  }

 private:
  std::string_view text_;
};

std::unexpected<Error> not_restored(std::string_view why) { return internal_error(std::string(why)); }

}  // namespace

std::string plan_key(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options) {
  static const std::string code = build_id();
  std::string text = fmt::format("weft {} build {}\n{}\n", WEFT_VERSION, code, print(network));
  for (const Index& index : network.indices) text += fmt::format("extent {} {}\n", index.name, index.extent);
  for (const TensorDeclaration& tensor : network.tensors) {
    if (tensor.is_result) text += fmt::format("result {} {}\n", tensor.name, name(tensor.scalar));
  }
  const bool limited = options.memory_limit != no_limit;
  for (const OperandFacts& operand : operands) append_operand(text, operand, network, limited);
  append_options(text, options, network);
  text.pop_back();
  return text;
}

std::string print_plan(const Plan& plan, const Network& network) {
  const auto& [schedule, cost, producer, optimal, proof, candidates, runner_up, runner_up_cost, why, too_large, origin, trees,
              trees_bounded, solver] = plan;
  std::string text = fmt::format("#\n# cost_ns {}\n# producer {}\n# optimal {}\n# proof {}\n# candidates {}\n# too large {}\n"
                                 "# trees {}\n# trees ruled out {}\n",
                                 cost.ns, word(producer), word(optimal), proof, candidates, too_large, trees, trees_bounded);
  const auto& [asked, alternatives, bounded, effort, effort_spent, unavailable] = solver;
  if (asked) {
    text += fmt::format("# solver alternatives {}\n# solver ruled out {}\n# solver effort {}\n# solver effort spent {}\n",
                        alternatives, bounded, effort, effort_spent ? 1 : 0);
  }
  if (runner_up && runner_up_cost) {
    text += fmt::format("# runner-up costs {}\n# because {}\n", runner_up_cost->ns, why);
    const std::string other = print(*runner_up, network);
    for (std::size_t begin = 0; begin < other.size();) {
      const std::size_t end = std::min(other.find('\n', begin), other.size());
      text += fmt::format("# | {}\n", std::string_view(other).substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return text + print(schedule, network);
}

Expected<Plan> restored_plan(const std::string& text, const Network& network, const std::vector<OperandFacts>& operands,
                             const PlanOptions& options) {
  const Remarks remarks(text);
  const auto cost_ns = remarks.number<double>("cost_ns");
  const auto producer = parse_producer(remarks.value("producer").value_or(""));
  const auto optimal = parse_optimal(remarks.value("optimal").value_or(""));
  const auto candidates = remarks.number<std::uint64_t>("candidates");
  const auto too_large = remarks.number<std::uint64_t>("too large");
  const auto trees = remarks.number<std::uint64_t>("trees");
  const auto trees_bounded = remarks.number<std::uint64_t>("trees ruled out");
  if (!cost_ns || !producer || !optimal || !candidates || !too_large || !trees || !trees_bounded) {
    return not_restored("a remark is missing");
  }
  auto schedule = parse_schedule(text, network);
  if (!schedule) return std::unexpected(schedule.error());
  if (auto legal = check(*schedule, Problem{network, operands, options}); !legal) return std::unexpected(legal.error());
  Plan plan;
  plan.schedule = std::move(*schedule);
  plan.cost = cost(plan.schedule, Problem{network, operands, options});
  if (plan.cost.ns != *cost_ns) return not_restored(fmt::format("costs {} now, not {}", plan.cost.ns, *cost_ns));
  if (plan.cost.announced_bytes > usable_memory(options)) return not_restored("no longer fits into memory");
  plan.producer = *producer;
  plan.optimal = *optimal;
  plan.proof = std::string(remarks.value("proof").value_or(""));
  plan.candidates = *candidates;
  plan.too_large = *too_large;
  plan.trees = *trees;
  plan.trees_bounded = *trees_bounded;
  if (const auto alternatives = remarks.number<std::uint64_t>("solver alternatives")) {
    plan.solver.asked = true;
    plan.solver.alternatives = *alternatives;
    plan.solver.bounded = remarks.number<std::uint64_t>("solver ruled out").value_or(0);
    plan.solver.effort = remarks.number<std::uint64_t>("solver effort").value_or(0);
    plan.solver.effort_spent = remarks.number<std::uint64_t>("solver effort spent").value_or(0) != 0;
  }
  if (const auto other_ns = remarks.number<double>("runner-up costs")) {
    auto other = parse_schedule(remarks.quoted(), network);
    if (!other) return std::unexpected(other.error());
    if (auto legal = check(*other, Problem{network, operands, options}); !legal) return std::unexpected(legal.error());
    plan.runner_up = std::move(*other);
    plan.runner_up_cost = cost(*plan.runner_up, Problem{network, operands, options});
    if (plan.runner_up_cost->ns != *other_ns) return not_restored("the runner-up costs something else now");
    plan.why = remarks.value("because").value_or("");
  }
  return plan;
}

Expected<Plan> with_memory(Plan plan, const Network& network, const std::vector<OperandFacts>& operands,
                           const PlanOptions& options) {
  MemoryPlan memory = memory_plan(plan.schedule, Problem{network, operands, options});
  plan.cost.memory = std::move(memory.demands);
  plan.cost.peak_bytes = memory.peak_bytes;
  plan.cost.announced_bytes = memory.announced_bytes;
  if (plan.cost.announced_bytes > usable_memory(options)) return resource_error("the remembered plan does not fit into memory");
  return plan;
}

}  // namespace weft
