#include "bench/plans.h"

#include <algorithm>
#include <cmath>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "bench/exam_fit.h"
#include "bench/exam_network.h"
#include "bench/exam_record.h"
#include "bench/trials.h"
#include "bench/wanted.h"
#include "engine/plan/estimate/count_joins.h"
#include "engine/plan/search/plan_by_need.h"
#include "frontend/file_text.h"
#include "tests/oracle/sample_schedules.h"

namespace weft::bench {
namespace {

using KnownTimes = std::map<std::string, std::map<std::string, double>>;
using Choices = std::map<std::string, std::string>;

constexpr double hopeless = 10;          // times the best so far: not worth waiting for
constexpr double least_limit_ms = 0.5;
constexpr double first_patience_ms = 5000;     // for the first schedule, when nothing is known
constexpr std::size_t best_counted = 10; // by exact counts, timed too
constexpr std::size_t pool = 3;          // times the sample: judged by exact counts
constexpr std::size_t finalists = 5;     // that are timed again in turn
constexpr std::size_t most_joins = 300;  // counted for one network
constexpr double most_bytes = 1e9;       // of a schedule that is tried
constexpr double calls_of_the_exam = 1000; // conversions hardly count: the exam is about nests and layouts

// The times of the schedules of one network, each timed once.
class Stopwatch {
 public:
  Stopwatch(Trials& trials, std::map<std::string, double> known) : trials_(trials), known_(std::move(known)) {}

  /// Limited to a multiple of the best so far unless `patient`.
  Expected<void> time(const Schedule& schedule, bool patient) {
    const std::string text = print(schedule, trials_.network());
    if (std::ranges::find(timed_, text, &TimedSchedule::text) != timed_.end()) return {};
    const Cost judged = cost(schedule, weft::Problem{trials_.network(), trials_.facts(), trials_.options()});
    if (static_cast<double>(judged.peak_bytes) > most_bytes) return {};
    TimedSchedule one{text, judged.ns, 0, false};
    if (const auto found = known_.find(text); found != known_.end()) {
      one.ms = std::abs(found->second);
      one.abandoned = found->second < 0;
    } else {
      const double limit = patient ? first_patience_ms : std::max(least_limit_ms, hopeless * best_ms_);
      const auto trial = trials_.time(schedule, limit);
      if (!trial) return std::unexpected(trial.error());
      one.ms = trial->ms;
      one.abandoned = trial->abandoned;
      ++measured_;
    }
    if (!one.abandoned) best_ms_ = std::min(best_ms_, one.ms);
    timed_.push_back(std::move(one));
    schedules_.push_back(schedule);
    return {};
  }

  /// The first schedule timed, `others`, and the fastest ones.
  std::vector<Schedule> finals(const std::vector<Schedule>& others) const {
    std::vector<std::size_t> order;
    for (std::size_t n = 0; n < timed_.size(); ++n)
      if (!timed_[n].abandoned) order.push_back(n);
    std::ranges::sort(order, {}, [&](std::size_t n) { return timed_[n].ms; });
    std::vector<Schedule> found = {schedules_.front()};
    const auto add = [&](const Schedule& schedule) {
      if (std::ranges::find(found, schedule) == found.end()) found.push_back(schedule);
    };
    for (const Schedule& other : others) add(other);
    for (std::size_t place = 0; place < std::min(finalists, order.size()); ++place) add(schedules_[order[place]]);
    return found;
  }

  const std::vector<TimedSchedule>& timed() const { return timed_; }
  const std::vector<Schedule>& schedules() const { return schedules_; }
  std::size_t measured() const { return measured_; }
  double ms_of(const std::string& text) const { return std::ranges::find(timed_, text, &TimedSchedule::text)->ms; }

 private:
  Trials& trials_;
  std::map<std::string, double> known_;
  std::vector<TimedSchedule> timed_;
  std::vector<Schedule> schedules_;
  double best_ms_ = std::numeric_limits<double>::infinity();
  std::size_t measured_ = 0;
};

// Known times decide where nothing had to be measured; else the finalists run in turn.
Expected<void> decide(ExamRecord& record, Trials& trials, const Stopwatch& stopwatch, const std::vector<Schedule>& finals,
                      const Schedule& counted, const std::optional<Schedule>& earlier, double seconds) {
  std::vector<double> ms;
  if (stopwatch.measured() == 0) {
    for (const Schedule& schedule : finals) ms.push_back(stopwatch.ms_of(print(schedule, trials.network())));
  } else {
    const auto timings = trials.side_by_side(finals, seconds);
    if (!timings) return std::unexpected(timings.error());
    for (const Timing& timing : *timings) ms.push_back(timing.median());
  }
  const auto best = static_cast<std::size_t>(std::ranges::min_element(ms) - ms.begin());
  record.chosen_ms = ms.front();
  record.best_ms = ms[best];
  record.best = print(finals[best], trials.network());
  const auto ms_of = [&](const Schedule& one) { return ms[static_cast<std::size_t>(std::ranges::find(finals, one) - finals.begin())]; };
  record.counted_ms = ms_of(counted);
  if (earlier) record.earlier_ms = ms_of(*earlier);
  return {};
}

// The cheapest schedules when every join they depend on is counted exactly, as far as steps suffice.
Expected<std::vector<Schedule>> cheapest_counted(const Trials& trials, const std::map<TensorId, const Tensor*>& tensors,
                                                 std::vector<Schedule> schedules, const Schedule& chosen,
                                                 const Resources& resources) {
  PlanOptions options = trials.options();
  options.joins.clear();
  JoinCounter counter(trials.network(), trials.facts(), tensors, JoinBudget::exact(), resources);
  schedules.insert(schedules.begin(), chosen);
  std::vector<std::pair<double, std::size_t>> judged;
  for (std::size_t n = 0; n < schedules.size(); ++n) {
    if (options.joins.size() < most_joins) {
      if (auto done = count_joins_of(schedules[n], trials.network(), trials.facts(), options, counter); !done)
        return std::unexpected(done.error());
    }
    // What depends on uncounted joins cannot be judged by counts.
    if (!uncounted_joins(schedules[n], weft::Problem{trials.network(), trials.facts(), options}).empty()) continue;
    judged.emplace_back(cost(schedules[n], weft::Problem{trials.network(), trials.facts(), options}).ns, n);
  }
  std::ranges::sort(judged);
  std::vector<Schedule> cheapest;
  for (std::size_t place = 0; place < std::min(best_counted, judged.size()); ++place)
    cheapest.push_back(schedules[judged[place].second]);
  return cheapest;
}

// What the planner chooses when every join that it asks for is counted exactly instead of sampled.
Expected<Schedule> choice_by_exact_counts(const Trials& trials, const std::map<TensorId, const Tensor*>& tensors,
                                          const Resources& resources) {
  PlanOptions options = trials.options();
  options.joins.clear();
  JoinCounter counter(trials.network(), trials.facts(), tensors, JoinBudget::exact(), resources);
  auto planned = plan_counted(trials.network(), trials.facts(), options, counter,
                              [&](const PlanOptions& with) { return plan(weft::Problem{trials.network(), trials.facts(), with}); });
  if (!planned) return std::unexpected(planned.error());
  return std::move(planned->schedule);
}

// What an earlier exam chose, if it is another schedule.
Expected<std::optional<Schedule>> earlier_choice(const std::string& name, const Choices& choices, const Schedule& chosen,
                                                 const Network& network) {
  const auto text = choices.find(name);
  if (text == choices.end() || text->second == print(chosen, network)) return std::nullopt;
  auto parsed = parse_schedule(text->second, network);
  if (!parsed) return std::unexpected(parsed.error());
  return std::move(*parsed);
}

Expected<ExamRecord> examine(const ExamNetwork& exam, const PlansOptions& options, const KnownTimes& known, const Choices& choices,
                             const Machine& machine, const Resources& resources, std::vector<FitCase>* cases) {
  const auto start = std::chrono::steady_clock::now();
  PlanOptions plan_options;
  plan_options.calls = calls_of_the_exam;
  plan_options.machine = machine;
  plan_options.machine.threads = options.threads;
  auto trials = exam_trials(exam, options.data, options.seed, std::move(plan_options), resources);
  if (!trials) return std::unexpected(trials.error());
  ExamRecord record;
  record.name = exam.name;
  record.held_out = exam.held_out;
  const std::map<TensorId, const Tensor*> tensors = numbered(trials->operands(), trials->network(), trials->facts());
  JoinCounter sampling(trials->network(), trials->facts(), tensors, {}, resources);
  double planning_ms = 0;
  Expected<Plan> planned = Plan{};
  const double both_ms = time_ms([&] {
    planned = plan_counted(trials->network(), trials->facts(), trials->options(), sampling, [&](const PlanOptions& with) {
      Expected<Plan> one = Plan{};
      planning_ms += time_ms([&] { one = plan(weft::Problem{trials->network(), trials->facts(), with}); });
      return one;
    });
  });
  if (!planned) return std::unexpected(planned.error());
  record.sampling_ms = both_ms - planning_ms;
  record.plan_ms = std::numeric_limits<double>::infinity();
  for (int time = 0; time < 5; ++time) {
    Expected<Plan> again = Plan{};
    const weft::Problem problem{trials->network(), trials->facts(), trials->options()};
    record.plan_ms = std::min(record.plan_ms, time_ms([&] { again = plan(problem); }));
    if (!again) return std::unexpected(again.error());
  }
  if (auto counted = count_joins_of(planned->schedule, trials->network(), trials->facts(), trials->options(), sampling); !counted)
    return std::unexpected(counted.error());
  record.chosen = print(planned->schedule, trials->network());
  record.cost_ns = planned->cost.ns;
  record.explanation = explain(*planned, weft::Problem{trials->network(), trials->facts(), trials->options()});
  for (const auto& [join, ratio] : trials->options().joins)
    record.explanation += fmt::format("  join {:x}: {:.3g} times independence\n", join, ratio);

  const auto times = known.find(exam.name);
  Stopwatch stopwatch(*trials, times == known.end() ? std::map<std::string, double>{} : times->second);
  if (auto timed = stopwatch.time(planned->schedule, true); !timed) return std::unexpected(timed.error());
  const std::vector<Schedule> sampled =
      sample_schedules(weft::Problem{trials->network(), trials->facts(), trials->options()}, pool * options.sample, options.seed);
  for (const Schedule& schedule : sampled) {
    if (std::chrono::steady_clock::now() - start > std::chrono::duration<double>(options.budget)) break;
    if (stopwatch.timed().size() > options.sample) break;
    if (auto timed = stopwatch.time(schedule, false); !timed) return std::unexpected(timed.error());
  }
  auto counted = cheapest_counted(*trials, tensors, sampled, planned->schedule, resources);
  if (!counted) return std::unexpected(counted.error());
  for (const Schedule& schedule : *counted)
    if (auto timed = stopwatch.time(schedule, false); !timed) return std::unexpected(timed.error());
  const auto exact = choice_by_exact_counts(*trials, tensors, resources);
  if (!exact) return std::unexpected(exact.error());
  if (auto timed = stopwatch.time(*exact, true); !timed) return std::unexpected(timed.error());
  const auto earlier = earlier_choice(exam.name, choices, planned->schedule, trials->network());
  if (!earlier) return std::unexpected(earlier.error());
  std::vector<Schedule> others = {*exact};
  if (*earlier) {
    if (auto timed = stopwatch.time(**earlier, true); !timed) return std::unexpected(timed.error());
    others.push_back(**earlier);
  }
  record.timed = stopwatch.timed();
  if (auto decided = decide(record, *trials, stopwatch, stopwatch.finals(others), *exact, *earlier, options.seconds); !decided)
    return std::unexpected(decided.error());
  if (cases != nullptr && !exam.held_out) {
    for (const Schedule& schedule : stopwatch.schedules()) {
      if (trials->options().joins.size() >= most_joins) break;
      if (auto counted_too = count_joins_of(schedule, trials->network(), trials->facts(), trials->options(), sampling); !counted_too)
        return std::unexpected(counted_too.error());
    }
    FitCase fit{exam.name, std::move(*trials), {}, {}};
    for (std::size_t n = 0; n < record.timed.size(); ++n) {
      fit.schedules.push_back(stopwatch.schedules()[n]);
      fit.ms.push_back(record.timed[n].ms);
    }
    cases->push_back(std::move(fit));
  }
  return record;
}

}  // namespace

int run_plans(const PlansOptions& options) {
  const auto failed = [](const Error& error) {
    fmt::print(stderr, "error: {}\n", error.message);
    return 2;
  };
  KnownTimes known;
  if (!options.known.empty()) {
    auto read = read_exam(options.known);
    if (!read) return failed(read.error());
    known = std::move(*read);
  }
  Choices choices;
  if (!options.against.empty()) {
    auto read = read_choices(options.against);
    if (!read) return failed(read.error());
    choices = std::move(*read);
  }
  Machine machine;
  if (!options.calibration.empty()) {
    const auto text = file_text(options.calibration);
    if (!text) return failed(text.error());
    auto parsed = parse_machine(*text, options.calibration);
    if (!parsed) return failed(parsed.error());
    machine = *parsed;
  }
  std::vector<FitCase> cases;
  Resources resources;
  resources.threads = Threads(options.threads);
  std::vector<ExamRecord> records;
  int failures = 0;
  if (options.data.empty() && !options.list) fmt::print("no --data DIR: drawn tensors only\n");
  if (!options.list) fmt::print("{}", exam_head());
  for (const ExamNetwork& exam : exam_networks(options.data)) {
    if (!wanted(exam.name, options.filters)) continue;
    if (options.list) {
      fmt::print("{:<28} {}{}\n", exam.name, exam.expression, exam.held_out ? "  (held out)" : "");
      continue;
    }
    const auto record = examine(exam, options, known, choices, machine, resources, options.fit.empty() ? nullptr : &cases);
    if (!record) {
      fmt::print("{:<28} FAILED: {}\n", exam.name, record.error().message);
      ++failures;
      continue;
    }
    fmt::print("{}", exam_row(*record));
    if (options.schedules) fmt::print("chosen:\n{}{}best:\n{}", record->chosen, record->explanation, record->best);
    std::fflush(stdout);
    records.push_back(*record);
  }
  if (options.list) return 0;
  fmt::print("{}", exam_summary(records));
  if (!options.json.empty()) {
    if (auto written = write_exam(options.json, records); !written) return failed(written.error());
  }
  if (!cases.empty()) {
    std::ofstream file(options.fit);
    file << print(fitted(cases, machine));
    file.close();
    if (!file) return failed(Error{ErrorKind::input, "cannot write " + options.fit});
  }
  if (records.empty() && failures == 0) return failed(Error{ErrorKind::input, "no network has such a name; --list shows them"});
  return failures == 0 ? 0 : 1;
}

}  // namespace weft::bench
