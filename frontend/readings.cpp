#include "frontend/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ranges>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {
namespace {

constexpr double worth_reading_so = 0.95;  // of the predicted time
constexpr double worth_planning_ns = 20'000;  // planning again takes longer than less
constexpr double without_order = 1.3;      // of coordinates in order: 400,000 random entries times a vector of 15,444

bool has_no_room(const Expected<PlannedReading>& planned) { return !planned && planned.error().kind == ErrorKind::resource; }

/// "B is located through its layout", "A and B are read through plain copies".
std::string reading_text(const std::vector<TensorDeclaration>& tensors, const std::set<TensorId>& operands, bool located) {
  std::string names;
  for (const TensorId tensor : operands) names += (names.empty() ? "" : " and ") + tensors[tensor].name;
  const bool one = operands.size() == 1;
  if (located) return fmt::format("{} {}", names, one ? "is located through its layout" : "are located through their layouts");
  return fmt::format("{} {}", names, one ? "is read through a plain copy" : "are read through plain copies");
}

/// "x is looked up at sums of digits", as it stands.
std::string digits_text(const std::vector<TensorDeclaration>& tensors, const std::set<TensorId>& operands) {
  std::string names;
  for (const TensorId tensor : operands) names += (names.empty() ? "" : " and ") + tensors[tensor].name;
  return fmt::format("{} {} looked up at sums of digits", names, operands.size() == 1 ? "is" : "are");
}

/// At least, of plain copies.
double copies_of(const std::set<TensorId>& tensors, const PlannedReading& reading, const CopyPrices& prices) {
  double ns = 0;
  for (const TensorId tensor : tensors) {
    const std::string& name = reading.exposure->given.tensors[tensor].name;
    if (const auto operand = reading.operands.find(name); operand != reading.operands.end())
      ns += prices.at_least(name, *operand->second, plain_format(operand->second->format(), operand->second->extents()));
  }
  return ns;
}

/// Whether all of these are read through plain copies, and no other layout through its levels.
bool reads_copies(const PlannedReading& reading, const std::set<TensorId>& operands) {
  if (!reading.exposure) return false;
  const std::vector<ExposedTensor>& tensors = reading.exposure->tensors;
  return std::ranges::all_of(operands, [&](TensorId tensor) { return tensors[tensor].read_in && tensors[tensor].parts.empty(); }) &&
         std::ranges::none_of(tensors, [](const ExposedTensor& one) { return !one.parts.empty(); });
}

/// Operands in blocks, diagonals, bands and triangles beside others: cut or copied, located, all copied.
Expected<ChosenReading> blocks_read(PlannedReading all, const CopyPrices& prices, const PlanReading& plan) {
  const std::set<TensorId> blocked = all.may_be_located;
  const std::set<TensorId> at_digits = all.may_be_at_digits;
  const double cut_copies_ns = all.cut_copies_ns;
  const std::vector<TensorDeclaration> tensors = all.exposure->given.tensors;
  const double copies_ns = copies_of(blocked, all, prices);
  double asked_ns = all.cut_copies_ns;
  ChosenReading best;
  double best_ns = worth_reading_so * asked_ns;
  const bool cuts = all.ns() >= best_ns || !all.exposure->by_choice;
  if (cuts) {
    auto cut = plan({});
    if (!cut && !has_no_room(cut)) return std::unexpected(cut.error());
    asked_ns = cut ? cut->ns() : std::numeric_limits<double>::infinity();
    best_ns = worth_reading_so * asked_ns;
    if (cut) best.reading = std::move(*cut);
  }
  const auto consider = [&](PlannedReading one, const std::set<TensorId>& located) {
    const double ns = one.ns();
    if (ns >= best_ns || !one.exposure->by_choice) return;  // not where values that are not finite forbid it
    best_ns = ns;
    const std::string reading = !located.empty() && located == at_digits
                                    ? digits_text(tensors, located)
                                    : reading_text(tensors, located.empty() ? blocked : located, !located.empty());
    const std::string instead = cuts ? fmt::format("{:.3g} us", asked_ns * 1e-3) : fmt::format("more than {:.3g} us", asked_ns * 1e-3);
    best = {std::move(one), fmt::format("{}, {:.3g} us a call, copies included, instead of {}", reading, ns * 1e-3, instead)};
  };
  consider(std::move(all), blocked);
  std::vector<Reading> others;
  for (const TensorId tensor : blocked)
    if (blocked.size() > 1) others.push_back({.located = {tensor}});
  others.push_back({.exposing = Exposing::copies});
  for (const Reading& other : others) {
    if (other.exposing == Exposing::copies && (copies_ns >= best_ns || reads_copies(best.reading, blocked))) continue;
    auto one = plan(other);
    if (!one && !has_no_room(one)) return std::unexpected(one.error());
    if (one) consider(std::move(*one), other.located);
  }
  // Loops over operands that are laid out anew for digits are no slower, so that copies are all there is to save.
  if (!at_digits.empty() && cut_copies_ns > std::max(worth_planning_ns, (1 - worth_reading_so) * best_ns)) {
    auto one = plan({.located = at_digits});
    if (!one && !has_no_room(one)) return std::unexpected(one.error());
    if (one) consider(std::move(*one), at_digits);
  }
  if (!best.reading.preparation) return resource_error("no way to read the operands fits into memory");
  return best;
}

/// Slots, diagonals and coordinates without an order: their places, or plain copies.
Expected<ChosenReading> places_read(PlannedReading levels, const CopyPrices& prices, const std::map<std::string, Format>& pinned,
                                    const PlanReading& plan) {
  std::set<TensorId> placed;
  bool unordered = false;
  for (TensorId tensor = 0; levels.exposure && tensor < levels.exposure->tensors.size(); ++tensor) {
    const ExposedTensor& read = levels.exposure->tensors[tensor];
    if (!read.unordered && std::ranges::none_of(read.parts, &ModePart::own)) continue;
    const std::string& name = levels.exposure->given.tensors[tensor].name;
    if (!levels.operands.contains(name) || pinned.contains(name)) return ChosenReading{std::move(levels)};
    placed.insert(tensor);
    unordered = unordered || read.unordered;
  }
  if (placed.empty()) return ChosenReading{std::move(levels)};
  const double copies_ns = copies_of(placed, levels, prices);
  const double ns = levels.ns() * (unordered ? without_order : 1);
  if (copies_ns >= ns) return ChosenReading{std::move(levels)};
  auto plain = plan({.exposing = Exposing::none});
  if (has_no_room(plain)) return ChosenReading{std::move(levels)};
  if (!plain) return std::unexpected(plain.error());
  const double copied_ns = plain->ns();
  if (copied_ns > worth_reading_so * ns) return ChosenReading{std::move(levels)};
  const std::string reading = reading_text(levels.exposure->given.tensors, placed, false);
  return ChosenReading{std::move(*plain), fmt::format("{}, {:.3g} us a call, conversion included, instead of {:.3g} us", reading,
                                                      copied_ns * 1e-3, ns * 1e-3)};
}

/// Whatever the modes are called.
bool is_same_storage(const Format& one, const Format& other) {
  if (!one.layout || !other.layout || one.layout->modes.size() != other.layout->modes.size()) return one.text() == other.text();
  Layout renamed = *one.layout;
  renamed.modes = other.layout->modes;
  return renamed.text() == other.text();
}

/// A result in blocks or diagonals that is computed there, level by level, or in plain levels and converted after every run.
Expected<ChosenReading> results_computed(ChosenReading levels, const PlanReading& plan) {
  const PlannedReading& there = levels.reading;
  std::set<TensorId> results;
  for (TensorId tensor = 0; there.exposure && tensor < there.exposure->tensors.size(); ++tensor) {
    const ExposedTensor& computed = there.exposure->tensors[tensor];
    const bool in_layout = computed.handed_over && computed.handed_over->layout;
    if (there.exposure->given.tensors[tensor].is_result && in_layout && !computed.parts.empty()) results.insert(tensor);
  }
  const double ns = there.ns();
  if (results.empty() || ns < worth_planning_ns) return levels;
  auto plain = plan({.exposing = Exposing::copies});
  if (!plain && plain.error().kind == ErrorKind::cancelled) return std::unexpected(plain.error());
  if (!plain || plain->ns() > worth_reading_so * ns || !plain->exposure) return levels;
  const auto name = [&](TensorId tensor) { return there.exposure->given.tensors[tensor].name; };
  const std::string names = fmt::format("{}", fmt::join(results | std::views::transform(name), ", "));
  std::string reason = fmt::format("{} {} computed in plain levels and converted after every run, {:.3g} us a call instead of {:.3g} us",
                                   names, results.size() == 1 ? "is" : "are", plain->ns() * 1e-3, ns * 1e-3);
  return ChosenReading{std::move(*plain), std::move(reason)};
}

}  // namespace

bool asks_for_order(const Exposure& exposure, const Schedule& schedule) {
  for (const ScheduledStatement& statement : schedule.statements) {
    for (std::size_t loop = 0; loop < statement.loops.size(); ++loop) {
      for (const SparseLevel& met : sparse_levels(schedule, statement, loop)) {
        const ScheduledTensor& read = schedule.tensors[statement.factors[met.factor].tensor];
        if (!met.direct && read.role == TensorRole::operand && exposure.tensors[read.tensor].unordered) return true;
      }
    }
  }
  return false;
}

std::vector<Reading> Reading::with_safer_ones() const {
  std::vector<Reading> readings;
  if (exposing == Exposing::copies) readings.push_back({.exposing = Exposing::copies});
  for (const Exposing each : {Exposing::all, Exposing::whole_blocks})
    if (!located.empty()) readings.push_back({each, located});
  for (const Exposing each : {Exposing::all, Exposing::whole_blocks, Exposing::none})
    if (each >= exposing || exposing == Exposing::copies) readings.push_back({.exposing = each});
  return readings;
}

double CopyPrices::of(const std::string& name, const Format& from, double from_places, const Format& to, double to_places) const {
  const auto changes = [&](const std::vector<std::string>& names) { return std::ranges::find(names, name) != names.end(); };
  const double once = conversion_ns(from, from_places, to, to_places, machine_) / options_.calls;
  if (!changes(options_.changing) && !changes(options_.changing_patterns)) return once;
  const double calls_again = (options_.calls - 1) / options_.calls;
  return once + calls_again * copy_again_ns(from, from_places, to, to_places, machine_);
}

double CopyPrices::of(const std::string& name, const Tensor& from, const Tensor& to) const {
  return of(name, from.format(), static_cast<double>(from.nnz()), to.format(), static_cast<double>(to.nnz()));
}

double CopyPrices::at_least(const std::string& name, const Tensor& from, const Format& to) const {
  const auto places = static_cast<double>(from.nnz());
  return of(name, from.format(), places, to, places);
}

double CopyPrices::at_least(const Exposure& exposure, const std::map<std::string, const Tensor*>& operands) const {
  double ns = 0;
  for (TensorId tensor = 0; tensor < exposure.tensors.size(); ++tensor) {
    const auto operand = operands.find(exposure.given.tensors[tensor].name);
    const auto& read_in = exposure.tensors[tensor].read_in;
    if (exposure.given.tensors[tensor].is_result || operand == operands.end() || !read_in) continue;
    const Format& format = operand->second->format();
    if (!format.all_dense() && format.text() != read_in->text()) ns += at_least(operand->first, *operand->second, *read_in);
  }
  return ns;
}

Expected<ChosenReading> chosen_reading(PlannedReading first, const CopyPrices& prices, const std::map<std::string, Format>& pinned,
                                       const PlanReading& plan) {
  ChosenReading chosen{std::move(first)};
  if (!chosen.reading.may_be_located.empty()) {
    auto blocks = blocks_read(std::move(chosen.reading), prices, plan);
    if (!blocks) return blocks;
    chosen = std::move(*blocks);
  }
  if (chosen.reason.empty()) {
    auto places = places_read(std::move(chosen.reading), prices, pinned, plan);
    if (!places) return places;
    chosen = std::move(*places);
  }
  return results_computed(std::move(chosen), plan);
}

Expected<std::optional<StatedRequest>> stated_request(const EvaluateOptions& options, const NamedFacts& operands,
                                                      const std::set<std::string>& results) {
  const auto wrong = [&](const std::string& message) {
    return input_error(fmt::format("{}{}{}", options.schedule_name, options.schedule_name.empty() ? "" : ": ", message));
  };
  auto formats = parse_stated_formats(options.schedule);
  if (!formats) return formats.error().kind == ErrorKind::input ? wrong(formats.error().message) : std::unexpected(formats.error());
  if (formats->empty()) return std::nullopt;
  StatedRequest request{options};
  for (const auto& [name, stated] : *formats) {
    const auto operand = operands.find(name);
    if (operand == operands.end() && !results.contains(name))
      return wrong(fmt::format("the schedule says what {} is stored in, but no tensor is named so", name));
    if (stated.read_by == ReadBy::location) request.reading.located_names.insert(name);
    if (stated.read_by == ReadBy::copy) request.reading.exposing = Exposing::copies;
    const auto pinned = options.formats.find(name);
    if (pinned != options.formats.end()) {
      const bool same_scalar = operand != operands.end() || pinned->second.scalar == stated.format.scalar;
      if (is_same_storage(pinned->second, stated.format) && same_scalar) continue;
      return wrong(fmt::format("the schedule is for {} in {}, which is pinned to {}", name, stated.format.text(), pinned->second.text()));
    }
    if (operand != operands.end() && is_same_storage(operand->second.format, stated.format)) continue;
    request.options.formats[name] = stated.format;
    if (operand != operands.end() && stated.chosen) request.chosen.insert(name);
  }
  return request;
}

Expected<PlannedReading> read_as_scheduled(Expected<PlannedReading> first, const std::set<TensorId>& may_be_located,
                                           const std::set<TensorId>& may_be_at_digits, const std::size_t& lines,
                                           const PlanReading& plan) {
  const auto is_wrong = [](const Error& error) { return error.kind == ErrorKind::input || error.kind == ErrorKind::unsupported; };
  std::vector<Reading> others;
  if (!may_be_located.empty()) others.push_back({.located = may_be_located});
  for (const TensorId tensor : may_be_located)
    if (may_be_located.size() > 1) others.push_back({.located = {tensor}});
  if (!may_be_at_digits.empty()) others.push_back({.located = may_be_at_digits});
  others.push_back({.exposing = Exposing::copies});
  others.push_back({.exposing = Exposing::none});
  std::size_t most = lines;
  for (const Reading& other : others) {
    if (first || !is_wrong(first.error())) return first;
    auto one = plan(other);
    if (one || one.error().kind == ErrorKind::cancelled) return one;
    if (lines <= most || !is_wrong(one.error())) continue;
    most = lines;
    first = std::move(one);
  }
  return first;
}

}  // namespace weft
