// Why a plan is as it is, and what it is expected to cost, as plain figures and texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// Figures are totals over one run; times are predicted nanoseconds of one thread's work, bytes are moved between caches.
struct ExplainedLoop {
  std::string index;
  std::uint64_t extent = 0;
  std::uint32_t depth = 0;
  std::uint32_t statement = 0;  ///< the first that runs it: position in Explanation::statements
  std::string how;              ///< what the loop walks: "T drives, S is searched", "every coordinate"
  bool parallel = false;
  bool vector = false;
  double iterations = 0;
  double steps = 0;  ///< merge, search and gallop steps
  double flops = 0;
  double bytes = 0;
  double ns = 0;
  std::optional<std::uint64_t> counted;  ///< iterations that a counting run made
};

/// One product, as a node of the contraction tree.
struct ExplainedStatement {
  std::string text;                    ///< "x[i,r] += T[i,j] * B[j,r]"
  std::string target;                  ///< "x[i,r]"
  std::vector<std::string> factors;    ///< "T[i,j]"
  /// By factor: the statement that writes it, where this is its only reader; -1: an operand, or stored for several.
  std::vector<std::int32_t> written_by;
  std::uint32_t fused = 0;             ///< loops shared with the statement before
  std::vector<std::string> loops;
  double iterations = 0;               ///< of its innermost loop; 1 without loops
  double ns = 0;                       ///< of the loops that no earlier statement runs
  std::optional<std::uint64_t> counted;
};

/// One loop nest, which runs by itself.
struct ExplainedNest {
  std::uint32_t statement = 0;        ///< its first
  double ns = 0;                      ///< predicted for the threads of this run, without conversions
  double bytes = 0;                   ///< moved between caches and memory, as predicted
  std::optional<double> measured_ms;  ///< of the fastest run; where something ran
};

struct ExplainedLayout {
  std::string name;
  std::string role;    ///< operand, intermediate, result
  std::string format;  ///< "ss:1,0"; empty: a scalar
  std::string scalar;
  bool converted = false;
  double conversion_ns = 0;        ///< once
  double conversion_ns_a_run = 0;  ///< over the expected calls
  std::string reason;
};

struct ExplainedWorkspace {
  std::string name;
  std::vector<std::string> indices;  ///< of the block stored at once
  std::uint64_t bytes = 0;           ///< at once; for each thread, if it lives inside loops
  std::string place;                 ///< "inside loops i, j" or "between loop nests"
};

struct ExplainedMemory {
  std::string name;
  std::uint64_t bytes = 0;
};

/// What the planner was not free to choose.
struct ExplainedConstraint {
  std::string name;  ///< "memory limit", "layout of T", "contraction tree", "strict floating point"
  bool binds = false;
  std::string effect;
};

struct Explanation {
  std::vector<ExplainedStatement> statements;
  std::vector<ExplainedLoop> loops;  ///< in the order of the nest
  std::vector<ExplainedNest> nests;
  std::vector<ExplainedLayout> layouts;
  std::vector<ExplainedWorkspace> workspaces;
  std::vector<ExplainedMemory> memory;
  std::vector<ExplainedConstraint> constraints;
  std::string absence;              ///< a sentence: which operands hold NaN or Inf, so that intermediates keep absence; or empty
  std::vector<std::string> search;  ///< sentences: what was tried, what was left out and why
  double threads = 8;               ///< that the plan was chosen for; times of loops are one thread's work
  struct {
    double threads = 0;
    double ns = 0;             ///< in all, conversions by calls included
    double conversion_ns = 0;  ///< of that
  } of_this_run;                    ///< predicted for the threads of this run
  double beside_plan_ns = 0;        ///< of that, a run: conversions into what the plan reads, which its cost has none of
  bool calibrated = true;           ///< prices are those that `weft calibrate` measured
  struct {
    std::string tree, schedule, reason;  ///< empty: there is none
    double cost_ns = 0;
  } runner_up;
};

}  // namespace weft
