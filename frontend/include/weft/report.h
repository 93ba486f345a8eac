// Report: what planning, compiling and running an expression told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/specialization.h"

namespace weft {

struct Explanation;

/// The words of a report, for programs. `unknown`: nothing was planned or compiled, or a later word.
enum class PlanProducer : std::uint8_t { unknown, dp, z3, baseline, enumerated, user };
/// Of what the plan is the cheapest: nothing known, one contraction tree, all of them.
enum class PlanOptimal : std::uint8_t { unknown, none, tree, all };
enum class PlanSource : std::uint8_t { unknown, made, remembered };
enum class KernelSource : std::uint8_t { unknown, memory, disk, compiled };

struct OperandReport {
  std::vector<std::uint64_t> extents;
  std::uint64_t nnz = 0;
  std::string format;
  std::string scalar;
  std::uint64_t bytes = 0;
};

/// A mode of an operand, by its name.
struct OperandMode {
  std::string operand;
  std::uint32_t mode = 0;
};

struct ResultReport {
  std::vector<std::uint64_t> extents;
  std::string format;
  std::string scalar;
  std::vector<OperandMode> modes;      ///< by mode, an operand's that has the same index, and so the same extent
  std::optional<std::uint64_t> nnz;    ///< stored entries; of a sparse result only a run can tell
  std::optional<std::uint64_t> bytes;  ///< likewise
  double sum = 0;
  double norm = 0;
};

/// What a kernel rests on, and what Z3 says to it.
struct ProofReport {
  std::string kind;            ///< cursor, passed, candidate, probe, table, unique, within, owner, append
  std::string claim;           ///< "x at j never moves back, loops i j, state i"
  std::string verdict;         ///< proven, refuted, unknown
  std::string counterexample;  ///< "(i=0,j=3) and (i=0,j=1)"; of what is refuted
  std::string skeleton;        ///< what rests on it: "cursor j", "bisection", "owner"
  bool cached = false;         ///< it was settled before
  double ms = 0;
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
  std::string specialization;  ///< of the kernel: generic, profiled or baked
  std::string kernel_cache;  ///< memory, disk or compiled; empty if nothing was compiled
  std::uint64_t object_bytes = 0;
  unsigned threads = 0;
  double predicted_ms = 0;     ///< for the threads of this run, conversions by the expected calls included
  std::vector<double> run_ms;
  double median_run_ms() const;               ///< 0 where nothing ran
  std::map<std::string, OperandReport> operands;
  std::map<std::string, ResultReport> results;
  std::vector<std::string> not_computed;      ///< assigned, but neither wanted nor read
  std::string explanation;                    ///< several lines for people
  std::shared_ptr<const Explanation> explained;  ///< the same as figures
  std::map<std::string, std::string> stages;  ///< by name, those asked for
  std::optional<std::vector<ProofReport>> proofs;  ///< if the stage "proofs" or EvaluateOptions::proofs asked for them
  /// Operands that were given and that the expression does not use: legitimate where one map serves several
  /// expressions, and a misspelling where it does not.
  std::vector<std::string> unused;

  PlanProducer producer() const;                    ///< of `plan.producer`
  PlanOptimal optimal() const;                      ///< of `plan.optimal`
  PlanSource plan_source() const;                   ///< of `plan_cache`
  KernelSource kernel_source() const;               ///< of `kernel_cache`
  std::optional<Specialization> specialised() const;  ///< of `specialization`; none: nothing was compiled
};

}  // namespace weft
