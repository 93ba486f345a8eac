#include "engine/plan/prove/prove.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/plan/schedule/check.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/search/effort.h"
#include "engine/plan/space/sparse_intermediates.h"

namespace weft {
namespace {

constexpr std::size_t most_options = 20'000;      // of one alternative
constexpr std::size_t options_at_once = 4'000;    // of alternatives that share a solver
constexpr double most_work = 1'000'000;           // loops priced to tell which alternatives may be cheaper
constexpr int most_refused = 32;                  // choices that the judges refuse, per solver: the rest of its budget

class Prover {
 public:
  Prover(const Problem& problem, const std::vector<Alternative>& alternatives, const ProofRequest& request)
      : network_(problem.network), operands_(problem.operands), options_(problem.options), alternatives_(alternatives), request_(request),
        best_ns_(request.below_ns) {}

  Expected<Proof> run() {
    for (std::size_t number = 0; number < alternatives_.size() && !is_cancelled(options_); ++number) {
      if (static_cast<double>(work_) > work_of_proof(options_, most_work)) {
        proof_.proven = false;
        proof_.effort_spent = true;
        break;
      }
      open(number);
    }
    if (options_.budget) options_.budget->take_work(work_);
    std::stable_sort(opened_.begin(), opened_.end(),
                     [](const Opened& left, const Opened& right) { return left.least_ns < right.least_ns; });
    for (std::size_t begin = 0; begin < opened_.size() && !proof_.effort_spent && !is_cancelled(options_);) {
      if (options_.progress) options_.progress("proving", static_cast<double>(begin) / static_cast<double>(opened_.size()));
      std::size_t end = begin;
      std::size_t options = 0;
      std::vector<std::pair<std::size_t, NestGraph>> group;
      for (; end < opened_.size() && (group.empty() || options < options_at_once); ++end) {
        NestGraph graph = graph_of(opened_[end]);
        if (!graph.complete) proof_.proven = false;
        if (graph.states.empty() || !graph.complete) {
          if (graph.complete) ++proof_.bounded;
          continue;
        }
        options += graph.options.size();
        group.emplace_back(opened_[end].number, std::move(graph));
      }
      begin = end;
      if (group.empty()) continue;
      if (auto done = solve(group); !done) return std::unexpected(done.error());
    }
    return std::move(proof_);
  }

 private:
  struct Opened {
    std::size_t number = 0;
    double least_ns = 0;
    double conversion_ns = 0;
  };

  double below() const { return best_ns_ * request_.kept; }

  CostModel model_of(const Alternative& alternative) const {
    return CostModel(alternative.schedule, Problem{network_, operands_, options_}, alternative.free, alternative.room);
  }

  void open(std::size_t number) {
    const Alternative& alternative = alternatives_[number];
    const CostModel model = model_of(alternative);
    IntervalProgram program(model);
    const double conversions = least_conversion_ns(alternative, operands_, options_);
    const double least = program.least({{}, 0, static_cast<std::uint32_t>(model.statements() - 1), 0}) + conversions;
    work_ += program.work();
    // What it is priced at bounds nothing.
    if (!stores_as_priced(alternative.schedule) && model.least_ns() + conversions < below()) proof_.overpriced = true;
    if (!program.exact()) {
      proof_.proven = false;
    } else if (std::isinf(least) || !(least < below())) {
      ++proof_.bounded;
    } else {
      opened_.push_back({number, least, conversions});
    }
  }

  NestGraph graph_of(const Opened& opened) const {
    if (!(opened.least_ns < below())) return {};
    const CostModel model = model_of(alternatives_[opened.number]);
    IntervalProgram program(model);
    return nest_graph(model, program, below() - opened.conversion_ns, most_options);
  }

  Expected<void> solve(const std::vector<std::pair<std::size_t, NestGraph>>& group) {
    Expected<Solver> solver = Solver::create(Tracking::none, options_.cancelled_by);
    if (!solver) return std::unexpected(solver.error());
    Encoding encoding(*solver, Problem{network_, operands_, options_}, request_.memory_limit);
    for (const auto& [number, graph] : group) encoding.add(alternatives_[number], graph);
    encoding.close();
    proof_.solved += group.size();
    int refused = 0;
    for (;;) {
      encoding.below(best_ns_ * (1 - proof_rounding) * std::min(slack_, request_.kept));
      const std::uint64_t before = solver->effort_spent();
      const std::uint64_t left = request_.effort > proof_.effort ? request_.effort - proof_.effort : 0;
      const Satisfiable answer = solver->check(left);
      proof_.effort += solver->effort_spent() - before;
      if (answer == Satisfiable::no) return {};
      if (auto sufficed = solver->had_memory(); !sufficed) return sufficed;
      if (answer == Satisfiable::unknown) {
        proof_.proven = false;
        proof_.effort_spent = true;
        return {};
      }
      const ChosenNests chosen = encoding.read();
      Candidate candidate = judged(alternatives_[group[chosen.alternative].first], chosen);
      const double loops_ns = candidate.cost.ns - candidate.cost.conversion_ns / std::max(1.0, options_.calls);
      if (loops_ns < chosen.ns * (1 - proof_rounding)) slack_ = std::max(slack_, chosen.ns / loops_ns);
      if (slack_ > request_.kept) proof_.overpriced = true;
      const bool fits = request_.memory_limit == 0 || candidate.cost.announced_bytes <= request_.memory_limit;
      if (fits && candidate.cost.ns < best_ns_ && check(candidate.schedule, Problem{network_, operands_, options_})) {
        best_ns_ = candidate.cost.ns;
        proof_.cheaper = std::move(candidate);
        continue;
      }
      // Cheaper only by proof_rounding, or judged otherwise than encoded: never again this one.
      encoding.exclude_chosen();
      ++proof_.refused;
      if (++refused == most_refused) {
        proof_.proven = false;
        proof_.effort_spent = true;
        return {};
      }
    }
  }

  Candidate judged(const Alternative& alternative, const ChosenNests& chosen) const {
    Schedule schedule = alternative.schedule;
    for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
      schedule.statements[number].loops = chosen.loops[number];
      schedule.statements[number].fused = chosen.fused[number];
    }
    schedule = complete(std::move(schedule), network_, model_of(alternative), alternative.free, operands_);
    schedule.roots = chosen.roots;
    Cost ns = cost(schedule, Problem{network_, operands_, options_});
    return {std::move(schedule), std::move(ns)};
  }

  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  const std::vector<Alternative>& alternatives_;
  const ProofRequest& request_;
  double best_ns_;
  double slack_ = 1;  // what answers were encoded dearer than judged, at most: so much dearer ones are asked for too
  std::vector<Opened> opened_;
  std::uint64_t work_ = 0;
  Proof proof_;
};

}  // namespace

Expected<Proof> prove(const Problem& problem,
                      const std::vector<Alternative>& alternatives, const ProofRequest& request) {
  return Prover(problem, alternatives, request).run();
}

}  // namespace weft
