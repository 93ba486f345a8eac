#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "frontend/given_options.h"
#include "frontend/joint_layouts.h"
#include "frontend/preparation_steps.h"
#include "frontend/result_report.h"
#include "frontend/words.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

constexpr double unbounded_ns = std::numeric_limits<double>::infinity();

/// A reason why, first among those of the search.
void tell_reason(Report& report, const std::string& reason) {
  report.explanation += reason + "\n";
  Explanation explained = explanation_of(report);
  explained.search.insert(explained.search.begin(), reason);
  report.explained = std::make_shared<const Explanation>(std::move(explained));
}

/// Whether a layout has places without an entry: one of blocks, strips or slices, and a dense vector.
bool has_places(const Format& format) { return format.layout != nullptr || is_dense(format.levels.back().kind); }

/// Of operands that are stored in chosen layouts the first whose places without an entry would change a result of the plan; none: none
/// does. A result that is dense over the operands as given may be expected to be sparse over blocks: it would store their places.
/// `layouts`: of these operands, and maybe of others.
std::optional<std::string> places_that_change(const Preparation& planned, const Request& request, const std::set<std::string>& chosen,
                                              const Layouts& layouts) {
  const Threads& threads = request.pipeline.options().resources.threads;
  const auto found = std::ranges::find_if(chosen, [&](const std::string& name) {
    return has_places(layouts.at(name)) && !may_have_places(planned.prepared(), request.operands, name, threads);
  });
  return found == chosen.end() ? std::nullopt : std::optional(*found);
}

/// A schedule of the host over a layout that would change a result.
std::unexpected<Error> over_chosen_layout(const std::string& operand, const Format& layout, const std::string& file) {
  return input_error(fmt::format("{2}{3}the schedule is for {0} in {1}, chosen for its price where places without an entry change "
                                 "nothing: here a result is not dense, or another operand not finite; the format {0}:{1} asks for them",
                                 operand, layout.text(), file, file.empty() ? "" : ": "));
}

/// With a schedule that says what tensors stand in.
Expected<Prepared> prepared_as_stated(const Request& request, const StatedRequest& stated) {
  const auto one = preparation_of(request, stated.options, stated.chosen, stated.reading);
  if (auto known = one->read(); !known) return std::unexpected(known.error());
  if (auto planned = one->plan(unbounded_ns, 1); !planned) return std::unexpected(planned.error());
  if (const auto changing = places_that_change(*one, request, stated.chosen, stated.options.formats))
    return over_chosen_layout(*changing, stated.options.formats.at(*changing), stated.options.schedule_name);
  return one->finish();
}

/// A request with its options, over operands as they are given or laid out otherwise, and the readings of these.
class RequestPlanner : public CandidatePlanner {
 public:
  RequestPlanner(const Request& request, const EvaluateOptions& options) : request_(request), options_(options), searched_(options) {
    searched_.prove = false;
    searched_.schedule.clear();
  }

  /// Cut, or through copies.
  Expected<Prepared> as_asked() {
    auto first = read(options_, {});
    if (first && first->asks_for_order) first = read(options_, {.exposing = Exposing::none});
    if (!first) return std::unexpected(first.error());
    return first->preparation->finish();
  }

  /// Over the layouts and the reading that are cheapest.
  Expected<Prepared> chosen() {
    auto given = read_best();
    if (!given) return std::unexpected(given.error());
    auto choice = laid_out(std::move(given->reading));
    if (!choice) return std::unexpected(choice.error());
    Preparation& best = *choice->reading.preparation;
    if (!choice->claim.empty()) best.claim(choice->claim, choice->settled);
    const double others_ms = plan_ms_ - best.prepared().report.phases.plan;
    const double statistics_ms = statistics_ms_ - best.prepared().report.phases.statistics;
    known_.clear();
    auto prepared = best.finish();
    if (!prepared) return prepared;
    Report& report = prepared->report;
    report.phases.plan += others_ms;
    report.phases.statistics += statistics_ms;
    if (choice->as_given && !given->reason.empty()) tell_reason(report, given->reason);
    if (!choice->reason.empty()) tell_reason(report, choice->reason);
    return prepared;
  }

  /// By a schedule of the host, which may be one over a reading, or over the layouts, that are chosen without it.
  Expected<Prepared> scheduled() {
    auto first = read(options_, {});
    std::size_t most = lines_;
    first = read_as_scheduled(std::move(first), may_be_located_, may_be_at_digits_, lines_, [&](const Reading& reading) {
      auto one = read(options_, reading);
      most = std::max(most, lines_);
      return one;
    });
    if (first) return first->preparation->finish();
    if (!options_.choose_layouts || first.error().kind != ErrorKind::input) return std::unexpected(first.error());
    lines_ = 0;
    auto over_chosen = scheduled_over_chosen();
    if (over_chosen || (lines_ > most && over_chosen.error().kind == ErrorKind::input)) return over_chosen;
    return std::unexpected(first.error());
  }

  Expected<std::vector<BoundedReading>> readings(const Layouts& layouts) override {
    std::vector<BoundedReading> found;
    auto cut = known_over(layouts, {});
    if (!cut) return none_without_room(cut.error(), std::move(found));
    const std::set<TensorId> blocked = (*cut)->priced().may_be_located;
    const std::set<TensorId> at_digits = (*cut)->priced().may_be_at_digits;
    const bool is_exposed = (*cut)->priced().exposure != nullptr;
    found.push_back({(*cut)->priced().reading, {}, (*cut)->least_ns()});
    cut->reset();
    std::vector<std::set<TensorId>> located;
    for (const TensorId tensor : blocked) located.push_back({tensor});
    if (blocked.size() > 1) located.push_back(blocked);
    if (!at_digits.empty()) located.push_back(at_digits);
    for (const std::set<TensorId>& each : located) {
      auto one = known_over(layouts, {.located = each});
      if (!one && one.error().kind != ErrorKind::resource) return std::unexpected(one.error());
      if (!one || (*one)->priced().reading.located != each) continue;  // values that are not finite forbid it
      found.push_back({(*one)->priced().reading, located_text(**one, each, each == at_digits), (*one)->least_ns()});
    }
    if (!layouts.empty()) return found;
    // Operands that stand in layouts, and results that are wanted in some, through plain copies.
    for (const Exposing exposing : {Exposing::copies, Exposing::none}) {
      if (!is_exposed) break;
      auto one = known_over(layouts, {.exposing = exposing});
      if (!one && one.error().kind != ErrorKind::resource) return std::unexpected(one.error());
      if (one) found.push_back({(*one)->priced().reading, "through plain copies", (*one)->least_ns()});
    }
    return found;
  }

  Expected<std::optional<PlannedReading>> planned(const Layouts& layouts, const Reading& reading, double below_ns) override {
    return planned_over(searched_, layouts, reading, below_ns, 1);
  }
  Expected<std::optional<PlannedReading>> proven(const Layouts& layouts, const Reading& reading, double below_ns, double share) override {
    return planned_over(options_, layouts, reading, below_ns, share);
  }

 private:
  /// Layouts that are held are not given back where memory has no room for others: those of one candidate at a time.
  bool holds_others() const { return request_.pipeline.options().resources.memory.limit() == Memory::unlimited; }
  bool by_time() const { return options_.objective.empty() || options_.objective == "time"; }

  static Expected<std::vector<BoundedReading>> none_without_room(const Error& error, std::vector<BoundedReading> none) {
    if (error.kind != ErrorKind::resource) return std::unexpected(error);
    return none;
  }

  std::string located_text(const Preparation& known, const std::set<TensorId>& tensors, bool at_digits) const {
    std::vector<std::string> located;
    for (const TensorId tensor : tensors) located.push_back(known.priced().exposure->given.tensors[tensor].name);
    if (at_digits) return fmt::format("{} looked up at sums of digits", in_a_row(located));
    return fmt::format("{} located through {}", in_a_row(located), tensors.size() == 1 ? "its layout" : "their layouts");
  }

  static std::set<std::string> names_of(const Layouts& layouts) {
    std::set<std::string> names;
    for (const auto& [name, format] : layouts) names.insert(name);
    return names;
  }

  std::shared_ptr<Preparation> preparation(const EvaluateOptions& with, const Layouts& layouts, const Reading& reading) const {
    EvaluateOptions laid_out = with;
    for (const auto& [name, format] : layouts) laid_out.formats.insert_or_assign(name, format);
    return preparation_of(request_, std::move(laid_out), names_of(layouts), reading);
  }

  Expected<void> plan(Preparation& one, double below_ns, double share) {
    auto done = one.plan(below_ns, share);
    plan_ms_ += one.prepared().report.phases.plan;
    statistics_ms_ += one.prepared().report.phases.statistics;
    return done;
  }

  Expected<PlannedReading> read(const EvaluateOptions& with, const Reading& reading, const Layouts& layouts = {}) {
    auto one = preparation(with, layouts, reading);
    auto done = one->read();
    if (done) done = plan(*one, unbounded_ns, 1);
    PlannedReading priced = one->priced();
    may_be_located_ = priced.may_be_located;
    may_be_at_digits_ = priced.may_be_at_digits;
    lines_ = priced.schedule_lines;
    if (!done) return std::unexpected(done.error());
    priced.preparation = std::move(one);
    return priced;
  }

  /// As operands are given.
  Expected<ChosenReading> read_best() {
    const PlanReading plan = [&](const Reading& reading) { return read(searched_, reading); };
    auto first = plan({.locate_all = by_time()});
    if (!first && by_time() && first.error().kind == ErrorKind::resource) first = plan({});
    if (first && first->asks_for_order) first = plan({.exposing = Exposing::none});
    if (!first) return std::unexpected(first.error());
    if (!by_time()) first->may_be_located.clear();
    return chosen_reading(std::move(*first), CopyPrices(request_.machine, options_), options_.formats, plan);
  }

  /// `given`, or what is cheaper than it, with a proof where one is asked for.
  Expected<JointChoice> laid_out(PlannedReading given) {
    if (!by_time() || options_.unfused) {
      if (!options_.prove) return JointChoice{.reading = std::move(given)};
      auto proven = read(options_, given.reading);
      if (!proven) return std::unexpected(proven.error());
      return JointChoice{.reading = std::move(*proven)};
    }
    std::vector<ProposedLayouts> proposed;
    if (options_.choose_layouts) {
      const PlannedRequest planned{request_.pipeline.options(), request_.machine, request_.operands, options_,
                                   given.preparation->prepared()};
      auto found = proposed_layouts(planned);
      if (!found) return std::unexpected(found.error());
      proposed = std::move(*found);
    }
    JointLayouts joint(*this, std::move(proposed), std::move(given), options_.calls, options_.prove);
    if (auto done = joint.choose(); !done) return std::unexpected(done.error());
    if (options_.prove)
      if (auto done = joint.prove(); !done) return std::unexpected(done.error());
    JointChoice choice = std::move(joint).chosen();
    if (choice.reading.preparation) return choice;
    auto again = read(options_.prove ? options_ : searched_, choice.reading.reading, choice.layouts);
    if (!again) return std::unexpected(again.error());
    choice.reading = std::move(*again);
    return choice;
  }

  Expected<Prepared> scheduled_over_chosen() {
    auto given = read(searched_, {});
    if (!given) return std::unexpected(given.error());
    auto choice = laid_out(std::move(*given));
    if (!choice) return std::unexpected(choice.error());
    auto over = read(options_, choice->reading.reading, choice->layouts);
    if (!over) return std::unexpected(over.error());
    if (const auto changing = places_that_change(*over->preparation, request_, names_of(choice->layouts), choice->layouts))
      return over_chosen_layout(*changing, choice->layouts.at(*changing), options_.schedule_name);
    return over->preparation->finish();
  }

  /// The network over these levels, and what is known of its operands.
  Expected<std::shared_ptr<Preparation>> known_over(const Layouts& layouts, const Reading& reading) {
    auto one = preparation(searched_, layouts, reading);
    if (auto known = one->read(); !known) return std::unexpected(known.error());
    if (holds_others()) known_.push_back({layouts, one});
    return one;
  }

  /// What is known of it; null where it has to be read.
  std::shared_ptr<Preparation> taken(const Layouts& layouts, const Reading& reading) {
    const auto place = std::ranges::find_if(known_, [&](const Known& one) {
      return one.layouts == layouts && one.preparation->priced().reading == reading;
    });
    if (place == known_.end()) return nullptr;
    auto one = std::move(place->preparation);
    known_.erase(place);
    return one;
  }

  Expected<std::optional<PlannedReading>> planned_over(const EvaluateOptions& with, const Layouts& layouts, const Reading& reading,
                                                       double below_ns, double share) {
    auto one = &with == &searched_ ? taken(layouts, reading) : nullptr;
    Expected<void> done;
    if (!one) {
      one = preparation(with, layouts, reading);
      done = one->read();
    }
    if (done) done = plan(*one, below_ns, share);
    if (!done && done.error().kind == ErrorKind::resource) return std::nullopt;
    if (!done) return std::unexpected(done.error());
    PlannedReading priced = one->priced();
    priced.changes_results = !priced.at_least && places_that_change(*one, request_, names_of(layouts), layouts).has_value();
    if (!holds_others()) {
      priced.exposure = nullptr;
      priced.operands.clear();
      return priced;
    }
    priced.preparation = std::move(one);
    return priced;
  }

  const Request& request_;
  const EvaluateOptions& options_;
  EvaluateOptions searched_;  // the same without a proof, and without a schedule
  std::set<TensorId> may_be_located_;  // of the last reading, planned or not
  std::set<TensorId> may_be_at_digits_;
  std::size_t lines_ = 0;              // of the schedule, likewise
  struct Known {
    Layouts layouts;
    std::shared_ptr<Preparation> preparation;
  };
  std::vector<Known> known_;  // read, and not planned yet
  double plan_ms_ = 0;        // of all candidates
  double statistics_ms_ = 0;
};

}  // namespace

double Report::median_run_ms() const {
  std::vector<double> sorted = run_ms;
  std::ranges::sort(sorted);
  return sorted.empty() ? 0 : sorted[sorted.size() / 2];
}

Expected<Prepared> prepare(const Pipeline& pipeline, const Machine& machine, const RequestText& text,
                           const std::vector<std::string>& names, const NamedFacts& operands,
                           const EvaluateOptions& options, const Cancellation& cancellation, CodeFrom from,
                           const SavedKernel* saved) {
  if (auto right = check_options(options); !right) return std::unexpected(right.error());
  const Request request{pipeline, machine, text, names, operands, cancellation, from, saved};
  if (!options.schedule.empty() && saved == nullptr && text.parsed()) {
    std::set<std::string> results;
    for (const ParsedAssignment& assignment : text.parsed()->assignments) results.insert(assignment.result.name);
    const auto stated = stated_request(options, operands, results);
    if (!stated) return std::unexpected(stated.error());
    if (*stated) return prepared_as_stated(request, **stated);
  }
  RequestPlanner planner(request, options);
  const bool known = std::ranges::all_of(operands, [](const auto& operand) { return operand.second.stored != nullptr; });
  if (!known || from != CodeFrom::anywhere || saved != nullptr) return planner.as_asked();
  return options.schedule.empty() ? planner.chosen() : planner.scheduled();
}

}  // namespace weft
