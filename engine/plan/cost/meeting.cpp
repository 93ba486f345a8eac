#include "engine/plan/cost/meeting.h"

#include "runtime/level_traits.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {

// How often a processor is wrong about the end of a fiber that is not empty, of this length in the mean: fibers of one
// entry alone are foreseen; of two or three, drawn by Poisson or geometrically, 0.8 to 1 are not (bench/README.md).
double unforeseen_end(double length) { return length > 1 ? 1 - std::exp(-2 * (length - 1)) : 0; }

double search_ns(const Machine& machine, double length) {
  return machine.search_base + machine.search_halving * std::log2(std::max(1.0, length));
}

// Measured on one thread beside the same operand in compressed levels (bench/README.md). Slots are looked at a vector at a time; the
// words of a bitmap cost a guess wherever an empty one follows another (Poisson lengths), twice: of the word and of the loop.
double gaps_ns(const Machine& machine, LevelKind kind, double length, double extent, bool ordered) {
  constexpr double word_ns = 1.0;
  constexpr double bit_ns = 0.8;
  constexpr double slots_of_fiber_ns = 12;
  constexpr double slot_of_entry_ns = 0.7;
  constexpr double list_of_fiber_ns = 20;  // slots put in order
  constexpr double listed_entry_ns = 3.5;
  constexpr double sorted_by_digits_ns = 250;  // from so many entries on, instead of an insertion sort
  constexpr double many_entries = 32;
  const double entered = std::min(1.0, length);
  if (has_bits(kind)) {
    const double words = std::ceil(extent / 64);
    const double empty = words > 0 ? std::exp(-length / words) : 1;
    return words * (word_ns + 2 * machine.branch_miss * std::min(empty, 1 - empty)) + length * bit_ns;
  }
  if (!has_slots(kind)) return 0;
  const double sorting = list_of_fiber_ns * entered + listed_entry_ns * length + (length > many_entries ? sorted_by_digits_ns : 0);
  return slots_of_fiber_ns * entered + slot_of_entry_ns * length + (ordered ? sorting : 0);
}

double probe_ns(LevelKind kind) {
  constexpr double slot_ns = 6;  // the first slot may be another's, which nobody foresees
  constexpr double bit_ns = 1;
  constexpr double workspace_ns = 1.5;
  switch (kind) {
    case LevelKind::hashed: return slot_ns;
    case LevelKind::bitmap: return bit_ns;
    case LevelKind::accumulator:
    case LevelKind::dense:
    case LevelKind::compressed:
    case LevelKind::compressed_nonunique:
    case LevelKind::singleton: break;
  }
  return workspace_ns;
}

namespace {

double gallop_ns(const Machine& machine, double length, double lookups) {
  return machine.gallop_base + machine.gallop_doubling * std::log2(1 + std::max(1.0, length / std::max(1.0, lookups)));
}

double look_up_ns(const Machine& machine, const Meeter& meeter, double lookups) {
  if (meeter.table != Table::none) return meeter.probe_ns;
  return meeter.part.gallop ? gallop_ns(machine, meeter.length, lookups) : search_ns(machine, meeter.length);
}

// Two fingers advance until one fiber ends. In a random order of a and b coordinates, those behind the last of the other
// fiber are a / (b + 1) and b / (a + 1) in the mean.
Meeting merge_all(const Machine& machine, std::span<const Meeter> meeters) {
  Meeting meeting;
  double scans = 0;
  for (const Meeter& meeter : meeters) {
    meeting.steps += meeter.length;
    scans += meeter.scan_ns;
  }
  if (meeters.size() == 2) {
    const double one = meeters[0].length;
    const double other = meeters[1].length;
    meeting.steps -= one / (other + 1) + other / (one + 1);
  }
  meeting.ns = meeting.steps * (meeters.size() == 1 ? machine.drive_step : machine.merge_step) + scans;
  return meeting;
}

// Drivers are merged; what they have in common, at most the shortest of them, is looked up in the others.
Meeting price(const Machine& machine, std::span<const Meeter> meeters) {
  Meeting meeting;
  meeting.looked_up = true;
  std::size_t drivers = 0;
  double shortest = std::numeric_limits<double>::infinity();
  double scans = 0;
  for (const Meeter& meeter : meeters) {
    if (!meeter.part.drive) continue;
    ++drivers;
    scans += meeter.scan_ns;
    meeting.steps += meeter.length;
    shortest = std::min(shortest, meeter.length);
  }
  meeting.ns = meeting.steps * (drivers == 1 ? machine.drive_step : machine.merge_step) + scans;
  for (const Meeter& meeter : meeters) {
    if (meeter.part.drive) continue;
    meeting.steps += shortest;
    meeting.ns += shortest * look_up_ns(machine, meeter, shortest);
  }
  return meeting;
}

// One of the accesses drives, in any order, and the others are searched.
Meeting meet_tables(const Machine& machine, std::span<Meeter> meeters) {
  const auto tables = std::ranges::count(meeters, Table::several_modes, &Meeter::table);
  Meeting best;
  best.ns = std::numeric_limits<double>::infinity();
  std::size_t best_driver = meeters.size();
  const auto drive = [&](std::size_t driver) {
    for (std::size_t number = 0; number < meeters.size(); ++number) meeters[number].part.drive = number == driver;
  };
  for (std::size_t driver = 0; driver < meeters.size(); ++driver) {
    if (tables > (meeters[driver].table == Table::several_modes ? 1 : 0)) continue;
    drive(driver);
    const Meeting meeting = price(machine, meeters);
    if (meeting.ns >= best.ns) continue;
    best = meeting;
    best_driver = driver;
  }
  drive(best_driver);
  return best;
}

}  // namespace

Meeting cheapest_meeting(const Machine& machine, std::span<Meeter> meeters) {
  const bool tables = std::ranges::any_of(meeters, [](const Meeter& one) { return one.table != Table::none; });
  if (tables && meeters.size() > 1) return meet_tables(machine, meeters);
  const Meeting merged = merge_all(machine, meeters);
  if (meeters.size() < 2) return merged;
  std::size_t shortest = 0;
  for (std::size_t number = 1; number < meeters.size(); ++number) {
    if (meeters[number].length < meeters[shortest].length) shortest = number;
  }
  for (std::size_t number = 0; number < meeters.size(); ++number) {
    Intersection::Part& part = meeters[number].part;
    part.drive = number == shortest;
    part.gallop = number != shortest && gallop_ns(machine, meeters[number].length, meeters[shortest].length) <
                                            search_ns(machine, meeters[number].length);
  }
  const Meeting looked_up = price(machine, meeters);
  return looked_up.ns < merged.ns ? looked_up : merged;
}

Meeting given_meeting(const Machine& machine, std::span<Meeter> meeters, const std::vector<Intersection::Part>& parts) {
  if (parts.empty() || meeters.size() < 2) return merge_all(machine, meeters);
  for (Meeter& meeter : meeters) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Intersection::Part& part) {
      return part.statement == meeter.part.statement && part.factor == meeter.part.factor;
    });
    if (found != parts.end()) meeter.part = *found;
  }
  return price(machine, meeters);
}

}  // namespace weft
