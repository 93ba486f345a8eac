#include "frontend/joint_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "frontend/words.h"

namespace weft {
namespace {

constexpr std::size_t most_enumerated = 1024;   // choices of layouts of several operands
constexpr std::size_t most_asked = 64;          // of them, for a proof
constexpr double most_counted = 1e9;
constexpr double share_of_calls = 0.2;          // of what all take, as long as a search may (search_budget.h)
constexpr double usual_planning_ns = 5e5;       // a candidate takes about as long,
constexpr double planning_with_joins_ns = 8e6;  // where joins are counted for it
constexpr std::size_t most_told = 8;
constexpr double unbounded = std::numeric_limits<double>::infinity();

std::size_t laid_out_in(const std::vector<std::size_t>& choice) {
  return choice.size() - static_cast<std::size_t>(std::ranges::count(choice, std::size_t{0}));
}

std::string price_text(double ns) { return fmt::format("{:.3g} us a call", ns * 1e-3); }

}  // namespace

JointLayouts::JointLayouts(CandidatePlanner& planner, std::vector<ProposedLayouts> proposed, PlannedReading given, double calls,
                           bool proves, std::size_t most_planned)
    : planner_(planner),
      proposed_(std::move(proposed)),
      given_ns_(given.ns()),
      planned_ns_(given_ns_),
      calls_(calls),
      proves_(proves),
      most_planned_(most_planned) {
  Candidate& first = candidates_.emplace_back();
  first.reading = given.reading;
  first.ns = given_ns_;
  first.state = State::planned;
  first.planned = std::move(given);
}

Expected<void> JointLayouts::add(const Choice& layouts) {
  Candidate each;
  for (std::size_t operand = 0; operand < layouts.size(); ++operand) {
    if (layouts[operand] == 0) continue;
    const ProposedLayout& layout = proposed_[operand].layouts[layouts[operand] - 1];
    each.layouts.emplace(proposed_[operand].operand, layout.format);
    each.conversion_ns += layout.conversion_ns;
    each.worth = std::min(each.worth, layout.worth);
  }
  if (proves_) each.worth = 1;
  if (each.conversion_ns >= each.worth * given_ns_) {
    each.least_ns = each.conversion_ns;
    each.state = State::bounded;
    candidates_.push_back(std::move(each));
    return {};
  }
  const auto readings = planner_.readings(each.layouts);
  if (!readings) return std::unexpected(readings.error());
  if (readings->empty()) {
    each.state = State::no_room;
    candidates_.push_back(std::move(each));
    return {};
  }
  for (const BoundedReading& one : *readings) {
    each.reading = one.reading;
    each.words = one.words;
    each.least_ns = each.conversion_ns + one.least_ns;
    candidates_.push_back(each);
  }
  return {};
}

void JointLayouts::enumerate() {
  double all = 1;
  for (const ProposedLayouts& one : proposed_) all *= 1 + static_cast<double>(one.layouts.size());
  const auto count = static_cast<std::size_t>(std::min(all, most_counted)) - 1;
  std::vector<std::size_t> choice(proposed_.size(), 0);
  for (std::size_t operand = 0; operand < proposed_.size() && several_.size() < most_enumerated;) {
    if (choice[operand] == proposed_[operand].layouts.size()) {
      choice[operand++] = 0;
      continue;
    }
    ++choice[operand];
    operand = 0;
    if (laid_out_in(choice) > 1) several_.push_back(choice);
  }
  std::size_t single = 0;
  for (const ProposedLayouts& one : proposed_) single += one.layouts.size();
  left_out_ = count - single - several_.size();
}

Expected<void> JointLayouts::add_singles() {
  for (std::size_t operand = 0; operand < proposed_.size(); ++operand) {
    for (std::size_t layout = 1; layout <= proposed_[operand].layouts.size(); ++layout) {
      Choice choice(proposed_.size(), 0);
      choice[operand] = layout;
      if (auto added = add(choice); !added) return added;
    }
  }
  return {};
}

double JointLayouts::promised_ns(const Choice& choice) const {
  double ns = given_ns_;
  for (std::size_t operand = 0; operand < choice.size(); ++operand) {
    if (choice[operand] == 0) continue;
    const ProposedLayout& layout = proposed_[operand].layouts[choice[operand] - 1];
    double alone = unbounded;
    for (const Candidate& each : candidates_) {
      const auto format = each.layouts.find(proposed_[operand].operand);
      if (each.layouts.size() != 1 || format == each.layouts.end() || format->second != layout.format) continue;
      if (!is_possible(each)) continue;
      alone = std::min(alone, each.state == State::planned ? each.ns : std::max(each.least_ns, given_ns_));
    }
    ns *= alone / given_ns_;
  }
  return ns;
}

Expected<void> JointLayouts::plan(Candidate& candidate, double below_ns) {
  auto one = planner_.planned(candidate.layouts, candidate.reading, below_ns - candidate.conversion_ns);
  if (!one) return std::unexpected(one.error());
  candidate.state = !*one ? State::no_room : (*one)->gives_results() ? State::planned : State::unfit;
  if (candidate.state != State::planned) return {};
  candidate.at_least = (*one)->at_least;
  candidate.ns = candidate.at_least ? below_ns : candidate.conversion_ns + (*one)->ns();
  candidate.planned = std::move(*one);
  return {};
}

Expected<void> JointLayouts::choose() {
  enumerate();
  if (auto added = add_singles(); !added) return added;
  std::size_t left = most_planned_;
  // What lays out one operand is planned in any case, and says what the others promise.
  if (auto done = plan_from(1, left); !done) return done;
  std::vector<std::pair<double, Choice>> promises;
  for (Choice& choice : several_) promises.emplace_back(promised_ns(choice), std::move(choice));
  std::ranges::stable_sort(promises, {}, &std::pair<double, Choice>::first);
  several_.clear();
  const double planning_ns = candidates_.front().planned->counts_joins ? planning_with_joins_ns : usual_planning_ns;
  left = std::min(left, static_cast<std::size_t>(std::min(share_of_calls * calls_ * given_ns_ / planning_ns, most_counted)));
  const std::size_t first = candidates_.size();
  for (auto& [ns, choice] : promises) {
    if (candidates_.size() - first >= left) {
      several_.push_back(std::move(choice));
    } else if (auto added = add(choice); !added) {
      return added;
    }
  }
  if (auto done = plan_from(first, left); !done) return done;
  for (std::size_t number = 1; number < candidates_.size(); ++number) {
    const Candidate& each = candidates_[number];
    if (each.state != State::planned || each.at_least) continue;
    if (each.ns < chosen_ns() && each.ns <= each.worth * chosen_ns()) chosen_ = number;
  }
  return {};
}

Expected<void> JointLayouts::plan_from(std::size_t first, std::size_t& left) {
  std::vector<std::size_t> order(candidates_.size() - first);
  std::iota(order.begin(), order.end(), first);
  std::ranges::stable_sort(order, {}, [&](std::size_t number) { return candidates_[number].least_ns; });
  // What takes a little more than the cheapest may be preferred.
  double worth = 1;
  for (const Candidate& each : candidates_) worth = std::min(worth, each.worth);
  for (const std::size_t number : order) {
    Candidate& each = candidates_[number];
    if (each.state != State::open) continue;
    const double below_ns = std::min(planned_ns_ / worth, given_ns_);
    if (each.least_ns >= std::min(below_ns, each.worth * given_ns_)) {
      each.state = State::bounded;
    } else if (left == 0) {
      each.state = State::left_out;
    } else {
      --left;
      if (auto done = plan(each, below_ns); !done) return done;
      if (each.state == State::planned) planned_ns_ = std::min(planned_ns_, each.ns);
      // Operands of what cannot be chosen any more take memory.
      for (std::size_t other = 1; other < candidates_.size(); ++other)
        if (candidates_[other].ns * worth > planned_ns_) candidates_[other].planned.reset();
    }
  }
  return {};
}

Expected<void> JointLayouts::ask(std::size_t number, double share) {
  Candidate& each = candidates_[number];
  each.asked = true;
  const double below_ns = number == chosen_ ? unbounded : chosen_ns();
  auto one = planner_.proven(each.layouts, each.reading, below_ns - each.conversion_ns, share);
  if (!one) return std::unexpected(one.error());
  const bool is_plan = *one && (*one)->gives_results();
  each.settled = is_plan && (*one)->proven;
  if (!is_plan) {
    each.state = *one ? State::unfit : State::no_room;
    return {};
  }
  const double ns = (*one)->at_least ? below_ns : each.conversion_ns + (*one)->ns();
  if (number != chosen_ && ns >= below_ns) {
    if (each.state == State::open || each.state == State::left_out) {
      each.ns = ns;
      each.at_least = (*one)->at_least;
    }
    each.state = State::planned;
    return {};
  }
  each.ns = ns;
  each.at_least = false;
  each.state = State::planned;
  each.planned = std::move(*one);
  chosen_ = number;
  return {};
}

Expected<void> JointLayouts::prove() {
  // Other ways to read the operands as they are given were priced before, and nothing was claimed of them.
  const auto readings = planner_.readings({});
  if (!readings) return std::unexpected(readings.error());
  for (const BoundedReading& one : *readings) {
    if (one.reading == candidates_.front().reading) continue;
    Candidate& each = candidates_.emplace_back();
    each.reading = one.reading;
    each.words = one.words;
    each.least_ns = one.least_ns;
  }
  const std::size_t looked_at = std::min(several_.size(), most_asked);
  for (std::size_t number = 0; number < looked_at; ++number)
    if (auto added = add(several_[number]); !added) return added;
  several_.erase(several_.begin(), several_.begin() + static_cast<std::ptrdiff_t>(looked_at));
  std::vector<std::size_t> order(candidates_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t number) { return candidates_[number].least_ns; });
  const auto is_open = [&](std::size_t number) {
    const Candidate& each = candidates_[number];
    return number != chosen_ && !each.asked && is_possible(each) && each.least_ns < chosen_ns();
  };
  for (bool better = true; better;) {
    better = false;
    if (auto done = ask(chosen_, 1); !done) return done;
    if (!is_possible(candidates_[chosen_])) return {};  // with a proof
    const auto others = static_cast<double>(std::ranges::count_if(order, is_open));
    for (const std::size_t number : order) {
      if (!is_open(number) || better) continue;
      if (auto done = ask(number, 1 / others); !done) return done;
      better = number == chosen_;
    }
  }
  proved_ = true;
  return {};
}

std::string JointLayouts::laid_out(const Candidate& candidate) const {
  std::vector<std::string> parts;
  for (const auto& [operand, layouts] : proposed_) {
    const auto format = candidate.layouts.find(operand);
    if (format == candidate.layouts.end()) continue;
    const auto layout = std::ranges::find_if(layouts, [&](const ProposedLayout& one) { return one.format == format->second; });
    const bool chosen = &candidate == &candidates_[chosen_];
    parts.push_back(chosen                  ? fmt::format("{} is stored in {}", operand, layout->words)
                    : proposed_.size() == 1 ? layout->words
                                            : fmt::format("{} in {}", operand, layout->words));
  }
  return in_a_row(parts) + (candidate.words.empty() ? "" : ", " + candidate.words);
}

std::string JointLayouts::reason() const {
  const Candidate& best = candidates_[chosen_];
  std::vector<std::string> operands;
  for (const ProposedLayouts& one : proposed_) operands.push_back(one.operand);
  if (operands.empty() && chosen_ == 0) return {};
  std::string text;
  if (chosen_ == 0) {
    text = fmt::format("{} {} as given, {}", in_a_row(operands), operands.size() == 1 ? "stays" : "stay", price_text(best.ns));
  } else if (best.layouts.empty()) {
    text = fmt::format("operands stay as given, {}, {}, copies included, instead of {:.3g} us", best.words, price_text(best.ns),
                       given_ns_ * 1e-3);
  } else {
    text = fmt::format("{}, {}, conversion included, instead of {:.3g} us", laid_out(best), price_text(best.ns), given_ns_ * 1e-3);
  }
  std::vector<const Candidate*> others;
  std::size_t unplanned = left_out_ + several_.size();
  for (const Candidate& each : candidates_) {
    if (&each == &best || each.layouts.empty() || (!is_possible(each) && !each.words.empty())) continue;
    if (each.state == State::left_out) ++unplanned;
    else others.push_back(&each);
  }
  const auto told_ns = [](const Candidate* each) {
    return each->state == State::planned ? each->ns : each->state == State::bounded ? each->least_ns : unbounded;
  };
  std::vector<double> prices;
  std::ranges::transform(others, std::back_inserter(prices), told_ns);
  std::ranges::sort(prices);
  const double most_ns = prices.size() > most_told ? prices[most_told - 1] : unbounded;
  std::size_t dearer = 0;
  for (const Candidate* each : others) {
    if (told_ns(each) > most_ns) {
      ++dearer;
      continue;
    }
    text += "; not " + laid_out(*each);
    if (each->state == State::no_room) text += ", which memory has no room for";
    else if (each->state == State::unfit) text += ", over which no plan gives the same results";
    else text += ", " + price_text(told_ns(each)) + (each->state == State::bounded || each->at_least ? " or more" : "");
    // What was found before has to be beaten by more than a price may be off.
    if (told_ns(each) < best.ns) text += fmt::format(", within {:.0f} % of what was found before", 100 * (1 - each->worth));
  }
  if (dearer > 0) text += fmt::format("; nor {} other{} that take{} longer", dearer, dearer == 1 ? "" : "s", dearer == 1 ? "s" : "");
  if (unplanned > 0)
    text += fmt::format("; {} more {} not planned, which could take longer than it saves", unplanned, unplanned == 1 ? "was" : "were");
  return text;
}

bool JointLayouts::is_possible(const Candidate& candidate) {
  return candidate.state != State::no_room && candidate.state != State::unfit;
}

bool JointLayouts::is_ruled_out(const Candidate& candidate) const {
  return !candidate.asked && candidate.least_ns >= chosen_ns();
}

std::size_t JointLayouts::open_candidates() const {
  const auto is_open = [&](const Candidate& each) {
    return &each != &candidates_[chosen_] && is_possible(each) && !each.settled && !is_ruled_out(each);
  };
  return left_out_ + several_.size() + static_cast<std::size_t>(std::ranges::count_if(candidates_, is_open));
}

std::string JointLayouts::claim() const {
  std::size_t bounded = 0, searched = 0;
  for (std::size_t number = 0; number < candidates_.size(); ++number) {
    const Candidate& each = candidates_[number];
    if (number == chosen_ || !is_possible(each)) continue;
    if (each.settled) ++searched;
    else if (is_ruled_out(each)) ++bounded;
  }
  const std::size_t open = open_candidates();
  const std::size_t all = bounded + searched + open;
  if (all == 0) return {};
  const std::string others = fmt::format("{} other choice{} of layouts and ways to read them", all, all == 1 ? "" : "s");
  if (open > 0) return fmt::format("{} of {} were not proven to take longer", open, others);
  return fmt::format("Nor does a schedule over any of {}, conversions included: {} by their bounds, {} by a proof", others, bounded,
                     searched);
}

JointChoice JointLayouts::chosen() && {
  JointChoice choice;
  choice.reason = reason();
  if (proved_) {
    choice.claim = claim();
    choice.settled = open_candidates() == 0;
  }
  Candidate& best = candidates_[chosen_];
  choice.as_given = chosen_ == 0;
  choice.layouts = std::move(best.layouts);
  choice.reading = std::move(*best.planned);
  return choice;
}

}  // namespace weft
