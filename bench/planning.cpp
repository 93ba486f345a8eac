#include "bench/planning.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "bench/exam_network.h"
#include "bench/timing.h"
#include "bench/trials.h"
#include "bench/wanted.h"
#include "engine/plan/estimate/count_joins.h"
#include "engine/plan/prove/prove.h"
#include "engine/plan/search/plan_by_need.h"

namespace weft::bench {
namespace {

constexpr double patience_ms = 300;  // for the plans of one network beyond the first three

struct PlannedNetwork {
  ExamNetwork network;
  std::string result_format;  // requested; empty: as the exam has it
};

ExamOperand uniform(std::string name, std::vector<std::uint64_t> extents, std::uint64_t draws) {
  return {std::move(name), std::move(extents), {}, draws, 1};
}

std::vector<PlannedNetwork> planned_networks(const std::string& directory) {
  std::vector<PlannedNetwork> networks;
  for (ExamNetwork& exam : exam_networks(directory)) networks.push_back({std::move(exam), {}});
  const ExamOperand matrix = uniform("A", {20'000, 20'000}, 200'000);
  networks.push_back({{"sparse: product", "C(i,j) = A(i,k) * A(k,j)", {matrix}}, "ds"});
  networks.push_back({{"sparse: masked product", "C(i,j) = A(i,j) * A(i,k) * A(k,j)", {matrix}}, "ds"});
  networks.push_back({{"sparse: chain of three", "C(i,l) = A(i,j) * A(j,k) * A(k,l)", {matrix}}, "ds"});
  networks.push_back({{"sparse: SDDMM", "S(i,j) = M(i,j) * A(i,k) * B(j,k)", {uniform("M", {20'000, 20'000}, 200'000)}, 32}, "ds"});
  networks.push_back({{"sparse: TTM", "A(i,j,r) = T(i,j,k) * C(k,r)", {uniform("T", {500, 500, 500}, 200'000)}, 16}, "ssd"});
  networks.push_back({{"sparse: unfolded", "C(i,l) = T(i,j,k) * T(l,j,k)", {uniform("T", {2'000, 300, 300}, 200'000)}}, "ss"});
  networks.push_back(
      {{"chain of ten statements",
        "y(a) = A(a,b) * B(b,c) * C(c,d) * D(d,e) * E(e,f) * F(f,g) * G(g,h) * H(h,i) * I(i,j) * J(j,k) * x(k)",
        {uniform("A", {80, 80}, 300), uniform("C", {80, 80}, 300), uniform("E", {80, 80}, 300), uniform("G", {80, 80}, 300),
         uniform("I", {80, 80}, 300)},
        80},
       {}});
  return networks;
}

struct Times {
  double median_ms = 0;
  double solver_ms = 0;  // of it, where the solver was asked
  Plan plan;
};

// The solver's share: asked again about what the search leaves open.
double solver_time(const Trials& trials, const PlanOptions& options, int repeat) {
  const SearchResult found = search_schedules(weft::Problem{trials.network(), trials.facts(), options});
  Timing timing;
  for (int time = 0; time < std::min(repeat, 5); ++time) {
    timing.ms.push_back(time_ms([&] { static_cast<void>(improve(found, weft::Problem{trials.network(), trials.facts(), options})); }));
  }
  return timing.median();
}

Expected<Times> planning_times(const Trials& trials, const PlanOptions& options, int repeat) {
  Timing timing;
  Expected<Plan> planned = Plan{};
  double spent = 0;
  for (int time = 0; time <= repeat && (time < 4 || spent < patience_ms); ++time) {
    const double ms = time_ms([&] { planned = plan(weft::Problem{trials.network(), trials.facts(), options}); });
    if (!planned) return std::unexpected(planned.error());
    spent += ms;
    if (time > 0) timing.ms.push_back(ms);  // the first one is not warm
  }
  const double solver_ms = planned->solver.asked ? solver_time(trials, options, repeat) : 0;
  return Times{timing.median(), solver_ms, std::move(*planned)};
}

struct PlanningRow {
  std::size_t factors = 0;
  double plan_ms = 0;       // by the program alone
  double solver_ms = 0;     // on top of it
  double prove_ms = 0;      // of the chosen tree
  double prove_all_ms = 0;  // over all trees
};

Expected<PlanningRow> measure(const PlannedNetwork& planned, const PlanningOptions& options, const Resources& resources) {
  PlanOptions plan_options;
  plan_options.calls = options.calls;
  auto trials = exam_trials(planned.network, options.data, 1, std::move(plan_options), resources);
  if (!trials) return std::unexpected(trials.error());
  if (!planned.result_format.empty()) {
    auto format = parse_format(planned.result_format);
    if (!format) return std::unexpected(format.error());
    const TensorId result = trials->network().assignments.back().result.tensor;
    trials->options().result_formats[trials->network().tensors[result].name] = *format;
  }
  JoinCounter counter(trials->network(), trials->facts(), numbered(trials->operands(), trials->network(), trials->facts()), {}, resources);
  const auto counted = plan_counted(trials->network(), trials->facts(), trials->options(), counter, [&](const PlanOptions& with) {
    return plan(weft::Problem{trials->network(), trials->facts(), with});
  });
  if (!counted) return std::unexpected(counted.error());

  PlanningRow row;
  row.factors = trials->network().assignments.front().terms.front().factors.size();
  const auto usual = planning_times(*trials, trials->options(), options.repeat);
  if (!usual) return std::unexpected(usual.error());
  row.solver_ms = usual->solver_ms;
  row.plan_ms = std::max(0.0, usual->median_ms - usual->solver_ms);
  std::string proofs;
  if (!options.no_proofs) {
    PlanOptions proving = trials->options();
    proving.prove = true;
    const auto all = planning_times(*trials, proving, options.repeat);
    if (!all) return std::unexpected(all.error());
    proving.tree = usual->plan.schedule.tree;
    const auto given = planning_times(*trials, proving, options.repeat);
    if (!given) return std::unexpected(given.error());
    row.prove_ms = given->median_ms;
    row.prove_all_ms = all->median_ms;
    const auto said = [](const Plan& one) { return std::string(word(one.optimal)) + (one.solver.effort_spent ? ", budget spent" : ""); };
    proofs = fmt::format(" {:>9.3f} {:<20} {:>9.3f} {:<20}", row.prove_ms, said(given->plan), row.prove_all_ms, said(all->plan));
  }
  fmt::print("{:<28} {:>7} {:>9.3f}{} {:>14.6g} {}{}; {}\n", planned.network.name, row.factors, row.plan_ms, proofs, usual->plan.cost.ns,
             word(usual->plan.producer), usual->plan.solver.asked ? ", solver asked" : "", usual->plan.proof);
  if (options.schedules) fmt::print("{}", print(usual->plan.schedule, trials->network()));
  return row;
}

void print_quantiles(const char* name, std::vector<double> ms) {
  if (ms.empty()) return;
  std::ranges::sort(ms);
  fmt::print("{:<44} {:>9.3f} median {:>9.3f} worst, {} networks\n", name, ms[ms.size() / 2], ms.back(), ms.size());
}

}  // namespace

int run_planning(const PlanningOptions& options) {
  Resources resources;
  resources.threads = Threads(1);
  fmt::print("{:<28} {:>7} {:>9} {:>9}{} {:>14}\n", "milliseconds", "factors", "plan", "solver",
             options.no_proofs ? "" : fmt::format(" {:>9} {:<20} {:>9} {:<20}", "prove", "the tree", "prove", "all trees"), "predicted ns");
  std::vector<double> few;
  std::vector<double> all;
  std::vector<double> given_tree;
  std::vector<double> all_trees;
  int failures = 0;
  for (const PlannedNetwork& planned : planned_networks(options.data)) {
    if (!wanted(planned.network.name, options.filters)) continue;
    const auto row = measure(planned, options, resources);
    std::fflush(stdout);
    if (!row) {
      fmt::print("{:<28} FAILED: {}\n", planned.network.name, row.error().message);
      ++failures;
      continue;
    }
    all.push_back(row->plan_ms);
    if (row->factors <= 4) few.push_back(row->plan_ms);
    if (options.no_proofs) continue;
    given_tree.push_back(row->prove_ms);
    all_trees.push_back(row->prove_all_ms);
  }
  print_quantiles("planning, up to four factors", few);
  print_quantiles("planning", all);
  print_quantiles("proving, for the chosen tree", given_tree);
  print_quantiles("proving, over all trees", all_trees);
  return failures == 0 ? 0 : 1;
}

}  // namespace weft::bench
