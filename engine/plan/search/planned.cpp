#include "engine/plan/search/planned.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/widths.h"
#include "engine/text/trimmed.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 4> producers = {"dp", "z3", "baseline", "user"};
constexpr std::array<std::string_view, 3> claims = {"false", "tree", "all"};

template <typename Enumeration, std::size_t count>
std::optional<Enumeration> meant(std::string_view from, const std::array<std::string_view, count>& words) {
  const auto place = std::ranges::find(words, from);
  if (place == words.end()) return std::nullopt;
  return static_cast<Enumeration>(place - words.begin());
}

}  // namespace

std::string_view word(Producer producer) { return producers[static_cast<std::size_t>(producer)]; }
std::string_view word(Optimal optimal) { return claims[static_cast<std::size_t>(optimal)]; }
std::optional<Producer> parse_producer(std::string_view from) { return meant<Producer>(from, producers); }
std::optional<Optimal> parse_optimal(std::string_view from) { return meant<Optimal>(from, claims); }

std::size_t Frontier::looks_at(const ContractionTree& tree) {
  trees_.push_back(tree);
  return trees_.size() - 1;
}

bool Frontier::all_trees() const {
  return std::ranges::none_of(left_out_, [](const LeftOut& left) { return left.scope == Scope::other_trees; });
}

Optimal Frontier::claim(double best_ns, const ContractionTree& chosen, bool beyond) const {
  const auto place = static_cast<std::size_t>(std::ranges::find(trees_, chosen) - trees_.begin());
  bool all = true;
  bool own = place < trees_.size();
  for (const LeftOut& left : left_out_) {
    if (left.least_ns >= best_ns) continue;
    if (left.scope == Scope::any_tree) return Optimal::none;
    all = false;
    if (left.scope == Scope::tree && left.tree == place) own = false;
  }
  if (all && (own || beyond)) return Optimal::all;
  return own ? Optimal::tree : Optimal::none;
}

std::optional<Why> Frontier::why_not(double best_ns) const {
  std::optional<Why> first;
  for (const LeftOut& left : left_out_) {
    if (left.least_ns < best_ns && (!first || left.why < *first)) first = left.why;
  }
  return first;
}

Plan::Plan() = default;
Plan::Plan(const Plan&) = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(const Plan&) = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

Error too_large(const Cost& cost, std::uint64_t limit, const std::string& why) {
  std::string demands;
  std::vector<MemoryDemand> sorted = cost.memory;
  std::erase_if(sorted, &MemoryDemand::grows);  // which was not compared with the limit
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const MemoryDemand& left, const MemoryDemand& right) { return left.bytes > right.bytes; });
  for (const MemoryDemand& demand : sorted) {
    if (demands.empty() || demand.bytes > limit / 20) {
      demands += fmt::format("{}{} {} bytes", demands.empty() ? "" : ", ", demand.name, demand.bytes);
    }
  }
  const bool result = !sorted.empty() && sorted.front().name.starts_with("result");
  const char* advice = result ? "request a sparse format for the result, or raise the limit"
                              : "raise the memory limit, or contract in another order: give a tree";
  return Error{.kind = ErrorKind::resource,
               .message = fmt::format("the smallest plan that was found needs {} bytes but {} are available ({}{}{}): {}",
                                      cost.announced_bytes, limit, demands, why.empty() ? "" : "; ", why, advice),
               .code = ErrorCode::memory_limit};
}

Expected<Plan> plan_given(const Schedule& given, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  // It may have been made for other extents, or by somebody who leaves widths to weft.
  const Schedule schedule = with_widths(given, scheduled_network(given, network), operands);
  if (auto legal = check(schedule, problem); !legal) return std::unexpected(legal.error());
  Plan plan;
  plan.schedule = schedule;
  plan.cost = cost(schedule, problem);
  plan.producer = Producer::user;
  plan.optimal = Optimal::none;
  plan.candidates = 1;
  if (plan.cost.announced_bytes > usable_memory(options)) {
    return std::unexpected(too_large(plan.cost, usable_memory(options)));
  }
  return plan;
}

std::string proof_of(Optimal optimal, bool beyond, const std::string& why_not) {
  if (optimal == Optimal::none) return "Whether there is anything cheaper is open: " + why_not;
  const char* dearer = optimal == Optimal::all ? "tree, order of loops, fusion or conversion of sparse operands takes less"
                                        : "order of loops, fusion or conversion of sparse operands takes less with this tree";
  constexpr const char* tried =
      "Without copies for lookups, levels opened in place or marked, dense operands transposed and chains of levels, which were tried "
      "one after the other";
  return beyond ? fmt::format("{}, no {}", tried, dearer)
                : fmt::format("No {}, as long as no fiber is copied for lookups and no levels are marked or chained", dearer);
}

std::string proof_of(Optimal optimal, bool beyond, std::optional<Why> why_not) {
  const auto sentence = [&] {
    switch (why_not.value_or(Why::layouts_untried)) {
      case Why::solver_missing: return "Z3 could not be asked";
      case Why::effort_spent: return "Z3's effort was spent";
      case Why::priced_before_known: return "layouts on the way to the result are priced before they are known";
      case Why::too_many_nests: return "there were too many nests for Z3";
      case Why::search_budget: return "looking further would take longer than it could save";
      case Why::layouts_untried: break;
    }
    return "not every choice of layouts for this tree was tried";
  };
  return proof_of(optimal, beyond, std::string(sentence()));
}

std::string why_it_lost(const Plan& plan, const Network& network) {
  const Cost& loser = *plan.runner_up_cost;
  const auto [left, right] = first_different_lines(plan.schedule, *plan.runner_up, network);
  const std::string_view what = left.empty() || right.empty() ? std::string_view() : trimmed(right);
  const auto sum = [](const Cost& cost, double LoopCost::*figure) {
    double all = 0;
    for (const LoopCost& loop : cost.loops) all += loop.*figure;
    return all;
  };
  const auto parallel_nests = [](const Schedule& schedule) {
    return std::ranges::count_if(schedule.roots, [](RootReduction root) { return root != RootReduction::serial; });
  };
  constexpr double notable = 1.005;  // three digits tell it from nothing
  const double ratio = plan.cost.ns > 0 ? loser.ns / plan.cost.ns : 1;
  const std::string longer = ratio < notable ? "hardly more time" : fmt::format("{:.3g} times the time", ratio);
  if (loser.conversion_ns > plan.cost.conversion_ns) {
    return fmt::format("{}: its conversions do not pay ({})", longer, what);
  }
  const double steps = sum(plan.cost, &LoopCost::steps), steps_of_loser = sum(loser, &LoopCost::steps);
  if (steps_of_loser > steps * notable) {
    return fmt::format("{}: {:.3g} against {:.3g} loop and merge steps ({})", longer, steps_of_loser, steps, what);
  }
  const bool works_more = sum(loser, &LoopCost::ns) > sum(plan.cost, &LoopCost::ns);
  const auto in_parallel = parallel_nests(plan.schedule), others_in_parallel = parallel_nests(*plan.runner_up);
  const bool shares_less = others_in_parallel < in_parallel || (in_parallel > 0 && plan.runner_up->roots != plan.schedule.roots);
  return fmt::format("{}: {} ({})", longer,
                     works_more                         ? "its loops move more data, or through slower caches"
                     : others_in_parallel > in_parallel ? "starting its threads takes longer than they save"
                     : shares_less                      ? "it leaves threads without work"
                     : ratio < notable                  ? "nothing that it does otherwise takes time"
                                                        : "what stands before and behind its loops takes longer",
                     what);
}

}  // namespace weft
