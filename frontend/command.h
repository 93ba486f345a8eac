// The weft command: options, and one function per subcommand. Exit statuses are those of interface.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/block_fill.h"
#include "weft/error.h"
#include "weft/memory.h"

namespace weft {

struct EvaluateOptions;
struct EngineOptions;
class Tensor;
enum class Specialization : std::uint8_t;

/// Options of every subcommand; each uses its own.
struct CommandOptions {
  std::string subcommand;
  std::vector<std::string> arguments;  ///< positional, after the subcommand
  std::vector<std::string> formats;
  std::vector<std::string> outputs;
  std::vector<std::string> stages;
  std::string tree;
  std::string schedule_file;
  std::string objective;
  std::string memory_limit;
  std::string cache_directory;
  std::string shape;                   ///< of weft layout
  std::string format;                  ///< of the one tensor of weft info and weft convert
  std::string output;                  ///< of weft calibrate
  std::string page;                    ///< --html: where to
  std::string dump_directory;
  std::string specialize;
  std::vector<std::string> given;      ///< the words after the name of the command, as they were given
  std::optional<std::string> json;     ///< path; empty: standard output
  std::string json_text;               ///< the option as given; `json` is what it means
  unsigned threads = 0;
  unsigned repeat = 0;
  std::optional<double> calls;
  bool no_cache = false;
  bool paranoid = false;
  bool count = false;
  bool explain = false;
  bool deterministic = false;
  bool strict_fp = false;
  bool prove = false;
  bool checked = false;
  bool unfused = false;
  bool quiet = false;
  bool verbose = false;
};

/// 0; 2 input; 3 unsupported; 4 internal; 5 resource; 130 cancelled.
int exit_status(ErrorKind kind);

/// weft repl, which stands apart because it brings a line editor; returns the exit status.
using ReplCommandLine = std::function<Expected<int>(const CommandOptions& options)>;

/// The whole command: parses, dispatches, prints, and returns the exit status.
int command(int argc, const char* const* argv, const ReplCommandLine& repl);

/// Threads, memory limit, progress, and a cancellation that Ctrl-C sets.
Expected<Resources> command_resources(const CommandOptions& options);

/// What a session is made of, with the calibration read. Input errors: a bad calibration, an unknown grade.
Expected<EngineOptions> session_options(const CommandOptions& options, const Resources& resources);

/// Adds what --format says, "A:ds:1,0" or "R:like(T)". Input errors: malformed, or given twice for a name.
Expected<void> add_format(const std::string& text, EvaluateOptions& evaluate);

/// The text of a schedule's file. Input error: it cannot be read, or is blank.
Expected<std::string> schedule_text(const std::string& file);

/// The grade that --specialize names, or the usual one. Input error: no such grade.
Expected<Specialization> specialization(const CommandOptions& options);

/// What weft info prints: shape, how much of each mode is used, the range of the values. Resource error while counting.
Expected<std::string> info_text(const Tensor& tensor, const std::string& name, const Resources& resources);
/// The layouts that it lists: of a matrix that has none and is not dense, the few that take least memory. Resource error while counting.
Expected<std::vector<BlockFill>> listed_layouts(const Tensor& tensor, const std::string& name, const Resources& resources);
/// What weft cache prints.
Expected<std::string> cache_text(const CommandOptions& options);

// The subcommands. They print their own results; an error is printed by command().
Expected<void> run_or_plan(const CommandOptions& options, bool run);
Expected<void> compare(const CommandOptions& options);
Expected<void> info(const CommandOptions& options);
Expected<void> convert_file(const CommandOptions& options);
Expected<void> describe_layout(const CommandOptions& options);
Expected<void> cache(const CommandOptions& options);
Expected<void> calibrate(const CommandOptions& options);

}  // namespace weft
