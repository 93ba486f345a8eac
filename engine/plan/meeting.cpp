#include "engine/plan/meeting.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {

double search_ns(const Machine& machine, double length) {
  return machine.search_base + machine.search_halving * std::log2(std::max(1.0, length));
}

namespace {

double gallop_ns(const Machine& machine, double length, double lookups) {
  return machine.gallop_base + machine.gallop_doubling * std::log2(1 + std::max(1.0, length / std::max(1.0, lookups)));
}

constexpr double probe_ns = 1.5;  // whether a table has an entry

// Two fingers advance through every fiber until the shortest ends.
Meeting merge_all(const Machine& machine, const std::vector<Meeter>& candidates) {
  Meeting meeting;
  for (const Meeter& candidate : candidates) meeting.steps += candidate.length;
  meeting.ns = meeting.steps * (candidates.size() == 1 ? machine.drive_step : machine.merge_step);
  return meeting;
}

// Drivers are merged; what they have in common, at most the shortest of them, is looked up in the others.
Meeting price(const Machine& machine, const std::vector<Meeter>& candidates) {
  Meeting meeting;
  std::size_t drivers = 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (const Meeter& candidate : candidates) {
    if (!candidate.part.drive) continue;
    ++drivers;
    meeting.steps += candidate.length;
    shortest = std::min(shortest, candidate.length);
  }
  meeting.ns = meeting.steps * (drivers == 1 ? machine.drive_step : machine.merge_step);
  for (const Meeter& candidate : candidates) {
    meeting.parts.push_back(candidate.part);
    if (candidate.part.drive) continue;
    meeting.steps += shortest;
    meeting.ns += shortest * (candidate.table != Table::none ? probe_ns : candidate.part.gallop ? gallop_ns(machine, candidate.length, shortest) : search_ns(machine, candidate.length));
  }
  return meeting;
}

// One of the accesses drives, in any order, and the others are searched.
Meeting meet_tables(const Machine& machine, std::vector<Meeter> candidates) {
  const auto tables = std::ranges::count(candidates, Table::several_modes, &Meeter::table);
  Meeting best;
  best.ns = std::numeric_limits<double>::infinity();
  for (std::size_t driver = 0; driver < candidates.size(); ++driver) {
    if (tables > (candidates[driver].table == Table::several_modes ? 1 : 0)) continue;
    for (std::size_t number = 0; number < candidates.size(); ++number) candidates[number].part.drive = number == driver;
    Meeting meeting = price(machine, candidates);
    if (meeting.ns < best.ns) best = std::move(meeting);
  }
  return best;
}

}  // namespace

Meeting cheapest_meeting(const Machine& machine, std::vector<Meeter> candidates) {
  const bool tables = std::ranges::any_of(candidates, [](const Meeter& one) { return one.table != Table::none; });
  if (tables && candidates.size() > 1) return meet_tables(machine, std::move(candidates));
  const Meeting merged = merge_all(machine, candidates);
  if (candidates.size() < 2) return merged;
  std::size_t shortest = 0;
  for (std::size_t number = 1; number < candidates.size(); ++number) {
    if (candidates[number].length < candidates[shortest].length) shortest = number;
  }
  for (std::size_t number = 0; number < candidates.size(); ++number) {
    Intersection::Part& part = candidates[number].part;
    part.drive = number == shortest;
    part.gallop = number != shortest && gallop_ns(machine, candidates[number].length, candidates[shortest].length) <
                                            search_ns(machine, candidates[number].length);
  }
  const Meeting looked_up = price(machine, candidates);
  return looked_up.ns < merged.ns ? looked_up : merged;
}

Meeting given_meeting(const Machine& machine, std::vector<Meeter> candidates, const std::vector<Intersection::Part>& parts) {
  if (parts.empty() || candidates.size() < 2) return merge_all(machine, candidates);
  for (Meeter& candidate : candidates) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Intersection::Part& part) {
      return part.statement == candidate.part.statement && part.factor == candidate.part.factor;
    });
    if (found != parts.end()) candidate.part = *found;
  }
  return price(machine, candidates);
}

}  // namespace weft
