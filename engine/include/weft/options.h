// What an engine may use, and whom it tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weft/memory.h"

namespace weft {

struct EngineOptions {
  Resources resources;         ///< memory and its limit, threads, cancellation of everything, progress
  bool deterministic = false;  ///< bit-identical results for every number of threads
  bool strict_fp = false;      ///< the nest exactly as printed, no FMA, every sum in loop order
  bool checked = false;        ///< kernels check every access, and runs whether others use what they write to; slow
  bool use_cache = true;       ///< false: plans and kernels are made anew and not kept
  std::optional<std::string> cache_directory;  ///< of plans and kernels on disk; none: memory only
  /// Plans and kernels each that are kept in memory for the next who asks (of kernels also at most 64 MiB of code): the
  /// least recently used go, and their code with the last who holds them.
  std::size_t kernels_in_memory = 1024;
  bool paranoid = false;  ///< what the disk cache gives is made anew and compared; a difference is traced and replaced
  std::string calibration;       ///< text that weft calibrate writes; empty: the constants that weft ships with
  std::string calibration_name;  ///< where that text is from, named in errors
  bool perf_map = false;  ///< names of kernels for perf, in /tmp/perf-PID.map; also if WEFT_PERF is set and not empty
  std::optional<std::string> dump_directory;  ///< loops, LLVM IR and assembly of every kernel go there; none: WEFT_DUMP
  /// One line per plan, compile, load and run: a command that repeats it, " # ", what was done and in what time; and a
  /// line for each defect of the disk cache. From any thread that uses the engine, also from several at once.
  std::function<void(std::string_view line)> trace;
};

/// What an engine has done so far. A network has a kernel for each of its loop nests.
struct CacheCounters {
  std::uint64_t memory = 0, disk = 0, compiled = 0;    ///< kernels found in memory, loaded from disk, compiled
  std::uint64_t generic = 0, profiled = 0, baked = 0;  ///< networks by the grade of their code, found or made
  std::uint64_t fallbacks = 0;  ///< bindings of which a kernel assumed too much: a more general one ran instead
  std::uint64_t plans_memory = 0, plans_disk = 0, plans_made = 0;
  /// Compilations answered at once, by text, options and what is known of the operands; and those that were not, by the
  /// first part in which they differ from the last of the same text (a text that is new or was forgotten, options, the
  /// names of operands; of an operand its format, its extents, its pattern, whether its values are finite).
  std::uint64_t known = 0;
  std::uint64_t missed_text = 0, missed_options = 0, missed_operands = 0;
  std::uint64_t missed_format = 0, missed_extents = 0, missed_pattern = 0, missed_values = 0;
  /// Operands in other layouts: converted, found with the tensor, filled anew because values had changed; or these were
  /// read where they are.
  std::uint64_t layouts_made = 0, layouts_known = 0, layouts_refilled = 0, layouts_read_through = 0;
  std::uint64_t idle_bytes = 0;  ///< of workspaces that wait for the next run
};

}  // namespace weft
