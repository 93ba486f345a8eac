// Constants of the cost model: nanoseconds and bytes. The defaults describe the kind of machine weft was measured on;
// `weft calibrate` measures another one into a file. Part of the planner's arguments: nothing is measured while planning.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "weft/error.h"

namespace weft {

struct Machine {
  // Caches by capacity, and what lies behind them. Pages of a block collide in the second, of 1 MiB, before it is full.
  static constexpr double usable_second_cache = 0.8125;
  std::array<double, 3> cache_bytes = {32.0 * 1024, usable_second_cache * 1024 * 1024, 32.0 * 1024 * 1024};
  // Reading whole lines one after the other, bytes per nanosecond, from L1, L2, L3 and memory. Gathered rows of 256
  // bytes reached 118, 92, 80, 52 and 20 as the table grew from 0.5 to 128 MiB.
  std::array<double, 4> stream = {260, 194, 70, 18};
  double stream_ahead = 320;      // from L2, of blocks one behind the other while other things are done
  // Reading one element of a line that serves no other access: latency, partly overlapped.
  std::array<double, 4> gather = {0.23, 0.6, 3.0, 10.0};
  double line_bytes = 64;
  double register_bytes = 512;    // eight vectors: what the generator keeps in registers across a loop

  double range_step = 0.33;       // a loop over a whole extent
  double drive_step = 0.26;       // a loop over one fiber
  double merge_step = 2.4;        // two fingers: one comparison, one mispredicted branch in a few
  double search_base = 2.8;       // search of a short fiber, and per halving of a longer one
  double search_halving = 2.5;
  double gallop_base = 1.0;       // from where the last search ended, and per doubling
  double gallop_doubling = 1.6;
  double table_lookup = 0.63;     // a dense level of a sparse tensor
  double loop_entry = 0.8;        // setting up an inner loop
  double fiber_entry = 0.3;       // finding where a fiber begins and ends
  double branch_miss = 4.3;       // a branch guessed wrong
  double scalar_body = 0.31;      // one scalar accumulation, and per factor
  double scalar_factor = 0.15;
  double fiber_sum = 0.33;        // share of steps, gathers and arithmetic where one fiber is summed: entries do not wait for each other
  double vector_flop = 0.018;     // per element
  double row_update = 1.7;        // a row in memory that each entry of a fiber chooses is added to: times a row in registers
  double vector_sum = 2.1;        // adding up the elements of the last vector
  double part_stored = 0.4;       // a vector of which a part was stored is read again
  double reset_entry = 1.0;       // clearing a workspace, besides its bytes

  double convert_entry = 25;      // sorting and rebuilding, per stored entry, all threads together
  double threads = 8;             // assumed: a plan does not depend on how many it runs on
  double start_serial = 200;      // of a loop nest
  double start_parallel = 5000;

  /// Of the smallest cache that holds so many bytes; 3: memory.
  std::size_t cache_level(double bytes) const {
    std::size_t level = 0;
    while (level < 3 && bytes > cache_bytes[level]) ++level;
    return level;
  }

  bool operator==(const Machine&) const = default;
};

/// A constant by the name that it has in texts.
struct MachineConstant {
  std::string_view name;
  double& (*of)(Machine&);
};
std::span<const MachineConstant> machine_constants();

/// One `name value` per line, every constant once; values in the shortest form that reads back equal.
std::string print(const Machine& machine);

/// Reads what print writes; blank lines and lines that begin with # are skipped. Input error naming `name` and the line
/// for a constant that is unknown, repeated, missing or not a number from 1e-12 to 1e15; threads from 1 on.
Expected<Machine> parse_machine(std::string_view text, const std::string& name);

}  // namespace weft
