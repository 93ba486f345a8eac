#include "engine/plan/cost/drain.h"

#include "runtime/level_traits.h"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

// Nanoseconds; measured on SpGEMM kernels over rows of ten to a thousand entries.
constexpr double insert_mark = 0.9;       // test and set a mark, add
constexpr double push_touched = 1.0;      // a new entry
constexpr double sort_short = 1.0;        // a key of a touched list that is sorted in registers (runtime/sort_keys.h)
constexpr double sort_long = 2.5;         // and of a longer one, by digits
constexpr double shortest_long = 256;
constexpr double read_marks = 0.6;        // 64 marks, instead of sorting a list that is long for its extent
constexpr double read_marked = 0.6;
constexpr double drain_entry = 1.2;       // reading and clearing one
constexpr double scan_key = 0.8;          // a key of a bitmap, whose values and marks are cleared before: all are looked at
constexpr double insert_hashed = 5.0;
constexpr double drain_slot = 0.6;
constexpr double slots_per_entry = 2;
constexpr double far_entry = 40;          // of tuples that fill no cache: sorted by digits and read across it, in new pages
constexpr double compose_key = 0.8;       // of several coordinates, when inserting
constexpr double split_key = 2.5;         // and when draining: runs of equal coordinates, a loop in a loop

// Measured, a table of all keys is faster at every extent tried (bench/measured/sparse_results.md); how many entries there are is an
// estimate, and with few of them both seem to cost nothing. So a hash table has to promise more than a little.
constexpr double hashed_advantage = 1.25;

// An accumulator is a table of all keys for every thread, with a byte for each as its mark. Each thread clears the marks in
// every run; its pages are new in the first one.
constexpr double most_table_bytes = 1u << 30;
constexpr double mark_bytes = 1;
constexpr double new_byte = 0.1;
constexpr double page_bytes = 2 << 20;

}  // namespace

KeyedPrice keyed_price(const Machine& machine, const KeyedWorkspace& workspace, LevelKind kind) {
  const double value = workspace.block * workspace.scalar_bytes;
  const double entries = std::max(0.0, workspace.entries);
  const double sorting =
      workspace.ordered && entries > 1
          ? std::min(entries * (entries > shortest_long ? sort_long : sort_short),
                     has_slots(kind) ? std::numeric_limits<double>::infinity()
                                               : workspace.keys / 64 * read_marks + entries * read_marked)
          : 0;
  KeyedPrice price{kind, machine.reset_entry, 0};
  const double fillings = std::max(1.0, workspace.fillings);
  const double threads = std::min<double>(machine.threads, fillings);
  // The share of one filling in pages that each thread touches for the first time.
  const double new_share = threads / fillings / std::max(1.0, workspace.runs);
  if (!workspace.one_mode) price.ns += workspace.inserts * compose_key + entries * split_key;
  if (has_slots(kind)) {
    price.bytes = entries * slots_per_entry * (value + 12);
    const std::size_t level = machine.cache_level(price.bytes);
    const double far = workspace.ordered && level == 3 ? entries * far_entry : 0;
    price.ns += workspace.inserts * (insert_hashed + machine.gather[level]);
    price.ns += entries * (slots_per_entry * drain_slot + drain_entry) + sorting + far;
    price.ns += new_share * price.bytes * new_byte;
    return price;
  }
  price.bytes = workspace.keys * (value + mark_bytes);
  // Few touched lines stay near, and marks, of which a line has many; touching a value for the first time, and clearing it,
  // goes to where the table is.
  const double values = workspace.keys * value;
  const double touched = std::min(values, entries * std::max(value, machine.line_bytes));
  const double miss = machine.gather[machine.cache_level(values)];
  price.ns += workspace.inserts * (insert_mark + machine.gather[machine.cache_level(touched)]);
  price.ns += entries * (drain_entry + miss);
  const double marks = workspace.keys * mark_bytes;
  const double touched_pages = std::min(price.bytes, fillings * entries / threads * page_bytes);
  price.ns += threads / fillings * marks / machine.stream[machine.cache_level(marks)] + new_share * touched_pages * new_byte;
  if (has_bits(kind)) {
    price.ns += workspace.keys * scan_key;
  } else {
    price.ns += entries * push_touched + sorting;
    price.bytes += entries * 4;
  }
  return price;
}

KeyedPrice cheapest_keyed(const Machine& machine, const KeyedWorkspace& workspace) {
  KeyedPrice best = keyed_price(machine, workspace, LevelKind::accumulator);
  const bool too_large = workspace.keys * (workspace.block * workspace.scalar_bytes + mark_bytes) > most_table_bytes;
  const auto consider = [&](LevelKind kind, double advantage) {
    const KeyedPrice other = keyed_price(machine, workspace, kind);
    if (too_large && !has_slots(kind)) return;
    if (too_large || other.ns * advantage < best.ns) best = other;
  };
  if (workspace.one_mode) consider(LevelKind::bitmap, 1);
  consider(LevelKind::hashed, hashed_advantage);
  return best;
}

}  // namespace weft
