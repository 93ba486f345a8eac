#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/explain/explanation.h"
#include "engine/plan/explain/quantities.h"
#include "engine/plan/schedule/schedule_text.h"

namespace weft {
namespace {

void append_line(std::string& text, const std::string& nest, const std::string& figures) {
  text += fmt::format("  {:<58} {}\n", nest, figures);
}

std::string loop_notes(const Schedule& schedule, const ScheduledStatement& statement, std::size_t loop,
                       std::optional<RootReduction> root) {
  std::string notes;
  for (const Intersection& intersection : statement.intersections) {
    if (intersection.index != statement.loops[loop]) continue;
    std::vector<std::string> parts;
    for (const Intersection::Part& part : intersection.parts) parts.push_back(print_met(schedule, part));
    notes += fmt::format("  {}", fmt::join(parts, ", "));
  }
  if (loop == 0 && root && *root != RootReduction::serial) {
    notes += "  parallel";
    if (*root == RootReduction::private_copies) notes += ", private copies";
    if (*root == RootReduction::counted) notes += ", counted first";
  }
  if (statement.vector && loop + 1 == statement.loops.size()) notes += "  vector";
  return notes;
}

std::string explain_nest(const Schedule& schedule, const Cost& cost, const Network& network) {
  std::string text;
  append_line(text, "loop nest", fmt::format("{:>10} {:>9} {:>9} {:>9} {:>10}", "iterations", "steps", "flops", "bytes", "one thread"));
  auto priced = cost.loops.begin();
  std::size_t root = 0;
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    const ScheduledStatement& statement = schedule.statements[number];
    std::optional<RootReduction> reduction;
    if (statement.fused == 0 && root < schedule.roots.size()) reduction = schedule.roots[root++];
    for (std::size_t loop = statement.fused; loop < statement.loops.size(); ++loop) {
      std::string figures;
      if (priced != cost.loops.end()) {
        figures = fmt::format("{:>10} {:>9} {:>9} {:>9} {:>10}", count_text(priced->iterations), count_text(priced->steps),
                              count_text(priced->flops), bytes_text(priced->bytes), time_text(priced->ns));
        ++priced;
      }
      append_line(text,
                  fmt::format("{:{}}for {}{}", "", 2 * loop, network.indices[statement.loops[loop]].name,
                              loop_notes(schedule, statement, loop, reduction)),
                  figures);
    }
    text += fmt::format("  {:{}}{}\n", "", 2 * statement.loops.size(), print_product(schedule, statement, network));
  }
  return text;
}

std::string explain_layouts(const Schedule& schedule, const Explanation& explained, const Network& network) {
  std::string text = "layouts\n";
  for (std::size_t number = 0; number < schedule.tensors.size(); ++number) {
    const ScheduledTensor& tensor = schedule.tensors[number];
    const ExplainedLayout& layout = explained.layouts[number];
    text += fmt::format("  {} {} {}", layout.name, layout.format.empty() ? "scalar" : layout.format, layout.scalar);
    switch (tensor.role) {
      case TensorRole::operand:
        text += fmt::format("  {}\n", layout.reason);
        break;
      case TensorRole::intermediate: {
        const auto kept = std::ranges::find(explained.workspaces, layout.name, &ExplainedWorkspace::name);
        text += fmt::format("  intermediate over {}", tensor.modes.empty() ? "nothing" : print_indices(tensor.modes, network));
        if (kept != explained.workspaces.end()) {
          text += fmt::format("; {} at once, {}", bytes_text(static_cast<double>(kept->bytes)), kept->place);
        }
        if (!tensor.format.all_dense()) text += fmt::format("; {}", layout.reason);
        text += '\n';
        break;
      }
      case TensorRole::result:
        text += fmt::format("  result, {}\n", layout.reason);
        break;
    }
  }
  return text;
}

// "predicted 3.12 ms on 2 threads, 906 us on the 8 that the plan was chosen for; 25.46M operations"
std::string predicted_text(const Plan& plan, const Explanation& explained) {
  const auto& here = explained.of_this_run;
  std::string text = fmt::format("predicted {} on {:g} thread{}", time_text(here.ns), here.threads, here.threads == 1 ? "" : "s");
  if (here.threads != explained.threads)
    text += fmt::format(", {} on the {:g} that the plan was chosen for", time_text(plan.cost.ns + explained.beside_plan_ns),
                        explained.threads);
  return text + fmt::format("; {} operations", count_text(plan.cost.flops));
}

}  // namespace

std::string explain(const Plan& plan, const Problem& problem) {
  return explain(plan, explanation(plan, problem), problem.network);
}

std::string explain(const Plan& plan, const Explanation& explained, const Network& given) {
  const Schedule& schedule = plan.schedule;
  const Network network = scheduled_network(schedule, given);
  std::string text = fmt::format("tree {}\n", print_trees(schedule, network));
  text += explain_nest(schedule, plan.cost, network);
  text += explain_layouts(schedule, explained, network);
  text += "memory\n";
  for (const MemoryDemand& demand : plan.cost.memory) {
    text += fmt::format("  {:<30} {:>10}\n", demand.name, bytes_text(static_cast<double>(demand.bytes)));
  }
  text += fmt::format("  {:<30} {:>10}\n", "peak", bytes_text(static_cast<double>(plan.cost.peak_bytes)));
  text += predicted_text(plan, explained) + "\n";
  text += plan.producer == Producer::user
              ? "given by the user\n"
              : fmt::format("chosen by {} among {} candidates, optimal: {}\n", word(plan.producer), plan.candidates, word(plan.optimal));
  for (const std::string& sentence : explained.search) text += sentence + "\n";
  if (plan.runner_up) {
    const Network other = scheduled_network(*plan.runner_up, given);  // whose assignments may be inlined otherwise
    std::vector<std::string> orders;
    for (const ScheduledStatement& statement : plan.runner_up->statements) orders.push_back(print_indices(statement.loops, other));
    text += fmt::format("runner-up {} with loops {}: {}; {}\n", print_trees(*plan.runner_up, given),
                        fmt::join(orders, " | "), time_text(plan.runner_up_cost ? plan.runner_up_cost->ns : 0), plan.why);
  }
  return text;
}

}  // namespace weft
