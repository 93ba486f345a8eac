// Session: an engine and named tensors; evaluates expressions given as text.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/explanation.h"
#include "weft/format.h"
#include "weft/memory.h"
#include "weft/tensor.h"

namespace weft {

struct SessionOptions {
  Resources resources;
  bool deterministic = false;  ///< bit-identical results for every number of threads
  bool strict_fp = false;      ///< the nest exactly as printed, no FMA, every sum in loop order
  bool checked = false;        ///< kernels check every access; slow
  bool use_cache = true;
  std::optional<std::string> cache_directory;  ///< of plans and kernels on disk; none: memory only
  bool paranoid = false;  ///< what the disk cache gives is made anew and compared; a difference is traced and replaced
  std::string calibration;       ///< text that weft calibrate writes; empty: the constants that weft ships with
  std::string calibration_name;  ///< where that text is from, named in errors
  bool perf_map = false;  ///< names of kernels for perf, in /tmp/perf-PID.map; also if WEFT_PERF is set and not empty
  std::optional<std::string> dump_directory;  ///< loops, LLVM IR and assembly of every kernel go there; none: WEFT_DUMP
  /// One line per plan, compile, load and run: a command that does the like, " # ", and what was done in what time; and a
  /// line for each defect of the disk cache.
  std::function<void(std::string_view line)> trace;
};

struct EvaluateOptions {
  std::map<std::string, Format> formats;  ///< pinned layouts of operands, requested formats of results, by name
  /// Results that are stored at the positions of an operand, by name: the result shares its coordinates, and holds 0
  /// where nothing contributed. Both have the same indices.
  std::map<std::string, std::string> patterns;
  /// Of several assignments those whose results are wanted, beside the last and those with a format; the others may be
  /// fused away, and are not computed if nothing reads them.
  std::vector<std::string> results;
  std::string tree;                       ///< replaces the planner's choice, e.g. "((T * C) * B)"; several: separated by ;
  std::string schedule;                   ///< text of a schedule; replaces the planner
  std::string schedule_name;              ///< where that text is from, named in errors
  /// "time" or "" (the cheapest plan), or "workspace-order": the fewest dimensions of the largest workspace, of one
  /// contraction tree (CoNST); not with `schedule` or `unfused`.
  std::string objective;
  bool unfused = false;                   ///< the best plan that stores every intermediate
  bool prove = false;                     ///< plan until nothing cheaper can exist; the report's `optimal` says of what
  double calls = 1;                       ///< expected runs; amortises layout conversions
  unsigned repeat = 0;                    ///< 0: one run; n: n timed runs after one warm-up
  bool run = true;                        ///< false: plan only
  bool why = false;                       ///< tell what each constraint costs, by planning without it
  bool count = false;                     ///< count iterations in a run of its own, before the timed ones
  bool compile = true;                    ///< false and not run: machine code only for stages that show it
  std::vector<std::string> stages;        ///< stage texts wanted in the report
};

struct OperandReport {
  std::vector<std::uint64_t> extents;
  std::uint64_t nnz = 0;
  std::string format;
  std::string scalar;
  std::uint64_t bytes = 0;
};

struct ResultReport {
  std::vector<std::uint64_t> extents;
  std::string format;
  std::optional<std::uint64_t> nnz;    ///< stored entries; of a sparse result only a run can tell
  std::optional<std::uint64_t> bytes;  ///< likewise
  double sum = 0;
  double norm = 0;
};

/// What a run tells. Times in milliseconds, sizes in bytes.
struct Report {
  std::string expression;
  std::string tree;
  struct {
    std::string producer, optimal, schedule, loops;
    double cost_ns = 0;
    std::uint64_t peak_bytes = 0;
    bool peak_is_estimate = false;
    double flops = 0;
    std::uint64_t candidates = 0;
  } plan;
  struct {
    double parse = 0, statistics = 0, plan = 0, lower = 0, generate = 0, emit = 0, load = 0, convert = 0;
  } phases;
  std::string plan_cache = "miss";
  std::string kernel_cache;  ///< memory, disk or compiled; empty if nothing was compiled
  std::uint64_t object_bytes = 0;
  unsigned threads = 0;
  std::vector<double> run_ms;
  double median_run_ms() const;               ///< 0 where nothing ran
  std::map<std::string, OperandReport> operands;
  std::map<std::string, ResultReport> results;
  std::vector<std::string> not_computed;      ///< assigned, but neither wanted nor read
  std::string explanation;                    ///< several lines for people
  Explanation explained;                      ///< the same as figures and texts
  std::map<std::string, std::string> stages;  ///< by name, those asked for
};

struct Evaluation {
  std::map<std::string, Tensor> results;  ///< empty if only planned
  Report report;
};

/// Not thread safe; make one per thread, or guard it. Tensors are values and may be shared between sessions.
class Session {
 public:
  static Expected<Session> create(SessionOptions options);
  void set(const std::string& name, Tensor tensor);
  void drop(const std::string& name);
  const std::map<std::string, Tensor>& tensors() const;

  /// Evaluates an assignment, or several, over the tensors given by name. `operands` lists the names to use, in the
  /// order of an einsum's factors; every one must occur in the expression. Errors: input with a picture of the text, unsupported,
  /// resource, internal with a reproducing text, cancelled.
  Expected<Evaluation> evaluate(std::string_view expression, const std::vector<std::string>& operands,
                                const EvaluateOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft
