#include "engine/plan/prove/prove_jointly.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/search/effort.h"
#include "engine/plan/search/interval_program.h"
#include "engine/plan/space/alternatives.h"
#include "engine/plan/space/shared_layouts.h"

namespace weft {
namespace {

constexpr std::size_t most_alternatives = 5'000;
constexpr std::size_t most_joint_options = 12'000;  // of all assignments: they share one solver
constexpr int most_refused_jointly = 200;
constexpr double most_joint_work = 1'000'000;             // loops priced

class JointProver {
 public:
  JointProver(const Problem& problem,
              const std::vector<Occurrence>& counted, const ProofRequest& request, const JointJudge& judge)
      : stored_(problem.network), operands_(problem.operands), options_(problem.options), counted_(counted), request_(request), judge_(judge) {
    for (std::size_t part = 0; part < parts(); ++part) networks_.push_back(part_network(problem.network, part));
    for (const OperandFacts& facts : problem.operands) {
      const std::size_t readers = readers_of(facts.tensor);
      if (readers > 1 && may_be_converted(facts)) shared_[facts.tensor] = 1 / static_cast<double>(readers);
    }
    proof_.ns = request.below_ns;
  }

  Expected<JointProof> run() {
    for (std::size_t part = 0; part < parts(); ++part) {
      if (!open(part)) {
        proof_.proven = false;
        return std::move(proof_);
      }
    }
    if (auto done = solve(); !done) return std::unexpected(done.error());
    return std::move(proof_);
  }

 private:
  // An alternative for one assignment, in given layouts of the results that it reads and writes.
  struct Opened {
    std::size_t part = 0;
    Alternative alternative;
    const std::vector<OperandFacts>* known = nullptr;
    const PlanOptions* options = nullptr;
    std::vector<std::pair<TensorId, std::string>> layouts;
    double conversion_ns = 0;  // the least of it: its share of copies that others may read
    double least_ns = 0;
  };

  std::size_t parts() const { return stored_.assignments.size(); }
  TensorId result(std::size_t part) const { return stored_.assignments[part].result.tensor; }
  bool reads(std::size_t part, TensorId tensor) const {
    const std::vector<TensorAccess>& factors = stored_.assignments[part].terms.front().factors;
    return std::ranges::find(factors, tensor, &TensorAccess::tensor) != factors.end();
  }
  std::size_t readers_of(TensorId tensor) const {
    std::size_t readers = 0;
    for (std::size_t part = 0; part < parts(); ++part) readers += reads(part, tensor) ? 1 : 0;
    return readers;
  }
  bool is_wanted(std::size_t part) const {
    return weft::is_wanted(stored_.tensors[result(part)].name, stored_, options_);
  }

  // False where there are too many alternatives, or what they store is not known before their loops are.
  bool open(std::size_t part) {
    std::vector<OperandFacts> ways;
    const bool read = readers_of(result(part)) > 0;
    const bool complete = for_each_known(part, 0, operands_, [&](const std::vector<OperandFacts>& known) {
      const ResultFormat plain = plainest_result_format(Problem{networks_[part], known, options_});
      const bool sparse = !plain.format.all_dense();
      if (sparse && read && is_wanted(part)) return false;
      std::vector<std::optional<Format>> own{std::nullopt};
      if (read && !is_wanted(part)) {
        const SharedLayouts layouts = result_layouts(Problem{networks_[part], known, options_});
        if (!layouts.all) return false;
        if (sparse && !layouts.formats.empty()) own.clear();
        for (const Format& format : layouts.formats) own.emplace_back(format);
      }
      known_.push_back(known);
      return std::ranges::all_of(own, [&](const auto& format) { return open(part, known_.back(), format, read, ways); });
    });
    stored_ways_.push_back(std::move(ways));
    return complete;
  }

  bool open(std::size_t part, const std::vector<OperandFacts>& known, const std::optional<Format>& own, bool read,
            std::vector<OperandFacts>& ways) {
    PlanOptions& options = options_of_.emplace_back(options_);
    options.joins = renumbered(options_.joins, counted_, occurrences(networks_[part], known));
    if (own) options.result_formats[stored_.tensors[result(part)].name] = *own;
    AlternativeChoice choice = all_alternatives(Problem{networks_[part], known, options}, most_alternatives);
    if (!choice.complete || opened_.size() + choice.alternatives.size() > most_alternatives) return false;
    for (Alternative& alternative : choice.alternatives) {
      const ScheduledTensor& target = alternative.schedule.tensors.back();
      if (own && target.delivered) continue;
      Opened opened{part, std::move(alternative), &known, &options, {}, 0, 0};
      for (const OperandFacts& facts : known) {
        if (facts.computed && reads(part, facts.tensor)) opened.layouts.emplace_back(facts.tensor, facts.format.text());
      }
      const Format& format = opened.alternative.schedule.tensors.back().format;
      if (read) {
        opened.layouts.emplace_back(result(part), format.text());
        const bool there = std::ranges::any_of(ways, [&](const OperandFacts& facts) { return same_layout(facts.format, format); });
        if (!there) ways.push_back(stored_facts(stored_, stored_.assignments[part], format, known));
      }
      opened_.push_back(std::move(opened));
    }
    return true;
  }

  // All ways in which the results that an assignment reads may be stored.
  template <class Visit>
  bool for_each_known(std::size_t part, std::size_t earlier, const std::vector<OperandFacts>& known, const Visit& visit) const {
    if (earlier == part) return visit(known);
    if (!reads(part, result(earlier))) return for_each_known(part, earlier + 1, known, visit);
    return std::ranges::all_of(stored_ways_[earlier], [&](const OperandFacts& facts) {
      std::vector<OperandFacts> more = known;
      more.push_back(facts);
      return for_each_known(part, earlier + 1, more, visit);
    });
  }

  CostModel model_of(const Opened& opened) const {
    return CostModel(opened.alternative.schedule, Problem{networks_[opened.part], *opened.known, *opened.options},
                     opened.alternative.free, opened.alternative.room);
  }

  // What each alternative takes at least, and each assignment.
  void bound() {
    least_.assign(parts(), infinity);
    std::uint64_t work = 0;
    const auto most_loops = static_cast<std::uint64_t>(work_of_proof(options_, most_joint_work));
    for (Opened& opened : opened_) {
      if (is_cancelled(options_)) return;
      if (work > most_loops) {
        proof_.proven = false;
        proof_.report.effort_spent = true;
        break;
      }
      opened.conversion_ns = least_conversion_ns(opened.alternative, *opened.known, *opened.options, shared_tensors());
      for (const auto& [tensor, share] : shared_) {
        for (std::size_t number = 0; number < opened.alternative.free.size(); ++number) {
          if (!opened.alternative.free[number] || opened.alternative.schedule.tensors[number].tensor != tensor) continue;
          opened.conversion_ns += share * conversion_ns(facts_of(operands_, tensor), options_.machine) / std::max(1.0, options_.calls);
          break;
        }
      }
      const CostModel model = model_of(opened);
      IntervalProgram program(model);
      opened.least_ns = program.least({{}, 0, static_cast<std::uint32_t>(model.statements() - 1), 0}) + opened.conversion_ns;
      work += program.work();
      if (!program.exact()) proof_.proven = false;
      least_[opened.part] = std::min(least_[opened.part], opened.least_ns);
    }
    if (options_.budget) options_.budget->take_work(work);
  }

  std::set<TensorId> shared_tensors() const {
    std::set<TensorId> tensors;
    for (const auto& [tensor, share] : shared_) tensors.insert(tensor);
    return tensors;
  }

  // Other assignments whose results are there while one runs, being wanted or read then or later: as memory_plan() counts.
  std::vector<std::size_t> live_beside(std::size_t part) const {
    std::vector<std::size_t> found;
    for (std::size_t number = 0; number < parts(); ++number) {
      bool live = is_wanted(number);
      for (std::size_t later = part; later < parts() && number < part; ++later) live = live || reads(later, result(number));
      if (live && number != part) found.push_back(number);
    }
    return found;
  }

  // Graphs of what may still be cheaper, in the order of opened_: empty where nothing is. Nothing if there is too much.
  std::optional<std::vector<NestGraph>> graphs() {
    bound();
    if (proof_.report.effort_spent) return std::nullopt;
    double all = 0;
    for (const double least : least_) all += least;
    const double below = request_.below_ns * request_.kept;
    std::vector<NestGraph> found;
    std::size_t options = 0;
    for (const Opened& opened : opened_) {
      if (is_cancelled(options_)) return std::nullopt;
      const double left = std::isinf(below) ? below : below - (all - least_[opened.part]);
      found.emplace_back();
      if (!(opened.least_ns < left)) {
        ++proof_.report.bounded;
        continue;
      }
      const CostModel model = model_of(opened);
      IntervalProgram program(model);
      found.back() = nest_graph(model, program, left - opened.conversion_ns, most_joint_options);
      options += found.back().options.size();
      if (!found.back().complete || options > most_joint_options) return std::nullopt;
    }
    return found;
  }

  Expected<void> solve() {
    const auto graphs = this->graphs();
    if (!graphs) {
      proof_.proven = false;
      return {};
    }
    std::vector<bool> any(parts(), false);
    for (std::size_t number = 0; number < opened_.size(); ++number) {
      if (!(*graphs)[number].states.empty()) any[opened_[number].part] = true;
    }
    if (std::ranges::find(any, false) != any.end()) return {};  // nothing is cheaper
    Expected<Solver> solver = Solver::create(Tracking::none, options_.cancelled_by);
    if (!solver) return std::unexpected(solver.error());
    proof_.report.asked = true;
    Encoding encoding(*solver, Problem{networks_.front(), operands_, options_}, request_.memory_limit);
    std::vector<std::size_t> added;
    double operand_bytes = 0;
    for (const OperandFacts& facts : operands_) operand_bytes += static_cast<double>(facts.exact_bytes());
    std::size_t part = parts();
    for (std::size_t number = 0; number < opened_.size(); ++number) {
      if ((*graphs)[number].states.empty()) continue;
      const Opened& opened = opened_[number];
      if (opened.part != part) {
        part = opened.part;
        encoding.next_assignment(networks_[part], *opened.known, shared_tensors(), operand_bytes, is_wanted(part), live_beside(part));
      }
      encoding.add(opened.alternative, (*graphs)[number], *opened.known, *opened.options);
      for (const auto& [tensor, layout] : opened.layouts) encoding.stores(added.size(), tensor, layout);
      added.push_back(number);
    }
    encoding.close();
    proof_.report.alternatives = added.size();
    return ask(*solver, encoding, added);
  }

  Expected<void> ask(Solver& solver, Encoding& encoding, const std::vector<std::size_t>& added) {
    double slack = 1;  // as in prove()
    for (int refused = 0;;) {
      if (options_.progress) options_.progress("proving", static_cast<double>(solver.effort_spent()) / static_cast<double>(request_.effort));
      encoding.below(proof_.ns * (1 - proof_rounding) * std::min(slack, request_.kept));
      const std::uint64_t left = request_.effort > solver.effort_spent() ? request_.effort - solver.effort_spent() : 0;
      const Satisfiable answer = solver.check(left);
      proof_.report.effort = solver.effort_spent();
      if (answer == Satisfiable::no) return {};
      if (auto sufficed = solver.had_memory(); !sufficed) return sufficed;
      if (answer == Satisfiable::unknown) {
        proof_.proven = false;
        proof_.report.effort_spent = true;
        return {};
      }
      std::vector<Plan> made;
      for (std::size_t part = 0; part < parts(); ++part) {
        const ChosenNests chosen = encoding.read(part);
        made.push_back(plan_of(opened_[added[chosen.alternative]], chosen));
        const Cost& judged = made.back().cost;
        const double loops_ns = judged.ns - judged.conversion_ns / std::max(1.0, options_.calls);
        if (loops_ns < chosen.ns * (1 - proof_rounding)) slack = std::max(slack, chosen.ns / loops_ns);
      }
      if (slack > request_.kept) proof_.proven = false;
      const auto ns = judge_(made);
      if (ns && *ns < proof_.ns) {
        proof_.ns = *ns;
        proof_.cheaper = std::move(made);
        continue;
      }
      encoding.exclude_chosen();
      if (++refused == most_refused_jointly) {
        proof_.proven = false;
        return {};
      }
    }
  }

  Plan plan_of(const Opened& opened, const ChosenNests& chosen) const {
    Schedule schedule = opened.alternative.schedule;
    for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
      schedule.statements[number].loops = chosen.loops[number];
      schedule.statements[number].fused = chosen.fused[number];
    }
    schedule = complete(std::move(schedule), networks_[opened.part], model_of(opened), opened.alternative.free, *opened.known);
    schedule.roots = chosen.roots;
    Plan plan;
    plan.cost = cost(schedule, Problem{networks_[opened.part], *opened.known, *opened.options});
    plan.schedule = std::move(schedule);
    plan.producer = "z3";
    plan.optimal = "all";
    plan.candidates = 1;
    return plan;
  }

  const Network& stored_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  const std::vector<Occurrence>& counted_;
  const ProofRequest& request_;
  const JointJudge& judge_;
  std::vector<Network> networks_;
  std::map<TensorId, double> shared_;                   // operands, and what each reader bears of a copy at least
  std::deque<std::vector<OperandFacts>> known_;         // referred to by what is opened, as the following
  std::deque<PlanOptions> options_of_;
  std::vector<std::vector<OperandFacts>> stored_ways_;  // per assignment: how its result may be stored
  std::vector<Opened> opened_;
  std::vector<double> least_;
  JointProof proof_;
};

}  // namespace

Expected<JointProof> prove_jointly(const Problem& problem, const std::vector<Occurrence>& counted,
                                   const ProofRequest& request, const JointJudge& judge) {
  return JointProver(problem, counted, request, judge).run();
}

}  // namespace weft
