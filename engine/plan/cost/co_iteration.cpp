#include "engine/plan/cost/co_iteration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/network/code_forms.h"
#include "runtime/level_traits.h"

namespace weft {

// How often a processor is wrong about the end of a fiber that is not empty, of this length in the mean: fibers of one
// entry alone are foreseen; of two or three, drawn by Poisson or geometrically, 0.8 to 1 are not (bench/measured/lookups.md). Where most
// have one, a longer one is met unforeseen twice, behind its first entry and at its end.
double unforeseen_end(double length, double with_company) {
  return length > 1 ? std::min(1 - std::exp(-2 * (length - 1)), 2 * with_company) : 0;
}

// Lengths are drawn geometrically: a share of e^(-n/l) of them is longer than n. R(i) = T(i,j) of 5000 rows of 35 takes 26 us.
double unforeseen_range_end(double length) {
  if (length <= 0) return 0;
  constexpr double vector = 8, block = 32;  // codegen/adjacent.cpp
  constexpr double most_even = 0.5;         // lengths of real rows differ less
  const double longer = std::exp(-vector / length);
  const double blocks = std::exp(-block / length);
  return most_even * (std::min(longer, 1 - longer) + std::min(blocks, longer - blocks) + blocks);
}

// A vector of coordinates at a time, and a branch that is often guessed wrong; of long runs, a search. MTTKRP of a million entries in
// {dense, compressed_nonunique, singleton …} of 60^5 takes 11.9 ms in loops over runs of one to five entries, 3.7 over compressed levels.
double run_end_ns(double entries) {
  constexpr double found_ns = 3.5;
  constexpr double compared_ns = 0.4;
  constexpr double searched_from = 128;
  constexpr double search_ns = 60;
  return found_ns + compared_ns * std::min(entries, searched_from) + (entries > searched_from ? search_ns : 0);
}

// Halves of the fiber until one vector of coordinates is left. Where nothing waits for the entry, searches overlap and a halving takes a
// quarter of its price, as in SpMV with a sparse vector; in outer loops, where a run of loops waits for it, 5 ns.
double search_ns(const Machine& machine, double length) {
  return machine.search_base + machine.search_halving * std::log2(std::max(1.0, length / compared_at_once));
}

// A vector of coordinates at a time. Fibers of some 16 entries have one vector or two, which is guessed wrong every other time, and so is
// whichever is the last of more (bench/measured/lookups.md).
double scan_ns(const Machine& machine, double length) {
  constexpr double vector_ns = 0.8;
  constexpr double guesses = 0.5;
  const double more = std::max(0.0, length / compared_at_once - 0.5);
  return machine.search_base + vector_ns * more + machine.branch_miss * std::min(guesses, more);
}

// Measured on one thread beside the same operand in compressed levels (bench/measured/lookups.md). Slots are looked at a vector at a
// time; the words of a bitmap cost a guess wherever an empty one follows another (Poisson lengths), twice: of the word and of the loop.
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
  constexpr double slot_ns = 6;  // the first slot may be another key's: a branch mispredict
  constexpr double bit_ns = 0.8;  // SpMV of 20 entries a row with x as a bitmap of 1 % takes 0.5 ns an entry, as with x dense
  constexpr double workspace_ns = 1.5;
  return has_slots(kind) ? slot_ns : has_bits(kind) ? bit_ns : workspace_ns;
}

// Some vectors from where the last lookup ended; what is further away is searched for.
double gallop_ns(const Machine& machine, double length, double lookups) {
  constexpr double near = 128;
  const double ahead = std::max(1.0, length / std::max(1.0, lookups));
  const double walked = machine.gallop_base + machine.gallop_doubling * std::log2(1 + std::min(ahead, near));
  return ahead > near ? walked + search_ns(machine, length) : walked;
}

namespace {

double look_up_ns(const Machine& machine, const Participant& participant, double lookups) {
  if (participant.table != Table::none) return participant.probe_ns;
  return participant.part.gallop ? gallop_ns(machine, participant.length, lookups) : search_ns(machine, participant.length);
}

// Two fingers advance until one fiber ends. In a random order of a and b coordinates, those behind the last of the other
// fiber are a / (b + 1) and b / (a + 1) in the mean.
CoIteration merge_all(const Machine& machine, std::span<const Participant> participants) {
  CoIteration co_iteration;
  double scans = 0;
  for (const Participant& participant : participants) {
    co_iteration.steps += participant.length;
    scans += participant.scan_ns;
  }
  if (participants.size() == 2) {
    const double one = participants[0].length;
    const double other = participants[1].length;
    co_iteration.steps -= one / (other + 1) + other / (one + 1);
  }
  co_iteration.ns = co_iteration.steps * (participants.size() == 1 ? machine.drive_step : machine.merge_step) + scans;
  return co_iteration;
}

// Drivers are merged; what they have in common, at most the shortest of them, is looked up in the others.
CoIteration price(const Machine& machine, std::span<const Participant> participants) {
  CoIteration co_iteration;
  co_iteration.looked_up = true;
  std::size_t drivers = 0;
  double shortest = std::numeric_limits<double>::infinity();
  double scans = 0;
  for (const Participant& participant : participants) {
    if (!participant.part.drive) continue;
    ++drivers;
    scans += participant.scan_ns;
    co_iteration.steps += participant.length;
    shortest = std::min(shortest, participant.length);
  }
  co_iteration.ns = co_iteration.steps * (drivers == 1 ? machine.drive_step : machine.merge_step) + scans;
  for (const Participant& participant : participants) {
    if (participant.part.drive) continue;
    co_iteration.steps += shortest;
    co_iteration.ns += shortest * look_up_ns(machine, participant, shortest);
  }
  return co_iteration;
}

// One of the accesses drives, in any order, and the others are searched.
CoIteration meet_tables(const Machine& machine, std::span<Participant> participants) {
  const auto tables = std::ranges::count(participants, Table::several_modes, &Participant::table);
  CoIteration best;
  best.ns = std::numeric_limits<double>::infinity();
  const Participant* best_driver = nullptr;
  const auto drive = [&](const Participant* driver) {
    for (Participant& participant : participants) participant.part.drive = &participant == driver;
  };
  for (const Participant& driver : participants) {
    if (tables > (driver.table == Table::several_modes ? 1 : 0)) continue;
    drive(&driver);
    const CoIteration co_iteration = price(machine, participants);
    if (co_iteration.ns >= best.ns) continue;
    best = co_iteration;
    best_driver = &driver;
  }
  drive(best_driver);
  return best;
}

}  // namespace

CoIteration cheapest_co_iteration(const Machine& machine, std::span<Participant> participants) {
  const bool tables = std::ranges::any_of(participants, [](const Participant& one) { return one.table != Table::none; });
  if (tables && participants.size() > 1) return meet_tables(machine, participants);
  const CoIteration merged = merge_all(machine, participants);
  if (participants.size() < 2) return merged;
  const auto shortest = std::ranges::min_element(participants, {}, &Participant::length);
  for (Participant& participant : participants) {
    participant.part.drive = &participant == &*shortest;
    participant.part.gallop = !participant.part.drive && gallop_ns(machine, participant.length, shortest->length) <
                                                             search_ns(machine, participant.length);
  }
  const CoIteration looked_up = price(machine, participants);
  return looked_up.ns < merged.ns ? looked_up : merged;
}

CoIteration given_co_iteration(const Machine& machine, std::span<Participant> participants, const std::vector<Intersection::Part>& parts) {
  if (parts.empty() || participants.size() < 2) return merge_all(machine, participants);
  for (Participant& participant : participants) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Intersection::Part& part) {
      return part.statement == participant.part.statement && part.factor == participant.part.factor;
    });
    if (found != parts.end()) participant.part = *found;
  }
  return price(machine, participants);
}

}  // namespace weft
