// The problem that planning solves: a network, facts of its operands, and options. A plan is a function of these alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/network/contraction_tree.h"
#include "engine/network/network.h"
#include "engine/plan/machine.h"
#include "runtime/adjacency.h"
#include "weft/memory.h"
#include "weft/objective.h"
#include "weft/statistics.h"
#include "weft/tensor.h"

namespace weft {

/// When the values of an operand are looked through for NaN and Inf, if a plan rests on there being none.
enum class Looks : std::uint8_t {
  once,     ///< they stay as they are
  always,   ///< before every run, for they change
  never,    ///< planned as if there were some
};

/// Facts of an operand, from reading it to planning and compiling: by name at first, then one per operand of the network, in
/// the order of Network::tensors.
struct OperandFacts {
  TensorId tensor = 0;      ///< of the network, once there is one
  Format format;            ///< as it is stored now
  Statistics statistics;
  std::uint64_t bytes = 0;
  bool pinned = false;      ///< the user fixed the layout: never converted
  /// Where statistics and bytes are quantised: what they were before. Memory is predicted from it.
  struct Counted {
    Statistics statistics;
    std::uint64_t bytes = 0;
  };
  std::optional<Counted> counted = {};

  /// Made by an earlier assignment of the same run: its positions are not there before.
  bool computed = false;
  /// Dense, and every entry was accumulated into. Not so a result that only later assignments read: entries without a
  /// contribution are absent there.
  bool certain = true;
  /// Of an assignment that is planned beside others: the part of a conversion's price that it bears; and whether
  /// `format` is that of a copy which another one pays for, so that everything else is as in a converted operand.
  double conversion_share = 1;
  bool copied = false;
  Looks looks = Looks::once;
  /// Values change between runs, over a pattern that stays; and whether `format` is not the one it is given in, but pinned.
  bool changes = false;
  bool laid_out = false;
  /// What the format does not say: whether fibers have no gaps (runtime/adjacency.h), and where the values of a layout's levels stand.
  Adjacency adjacent = Adjacency::none;
  std::uint8_t place_bits = 0;
  /// Of its bytes those in memory that a host has lent: a limit is over what weft allocates.
  std::uint64_t lent = 0;
  /// The tensor itself, if it is there: the caller's, who keeps it. Joins are sampled where those of all operands are.
  const Tensor* stored = nullptr;

  const Statistics& exact() const { return counted ? counted->statistics : statistics; }
  std::uint64_t exact_bytes() const { return counted ? counted->bytes : bytes; }
  std::uint64_t allocated_bytes() const { return exact_bytes() - std::min(lent, exact_bytes()); }
};

using NamedFacts = std::map<std::string, OperandFacts>;

/// The facts of an operand. The tensor must be among them.
const OperandFacts& facts_of(const std::vector<OperandFacts>& operands, TensorId tensor);
bool has_facts(const std::vector<OperandFacts>& operands, TensorId tensor);

/// What a proof may still take, counted and not timed: of all parts of a network together, whether they are searched one after the
/// other or asked about at once.
struct ProofBudget {
  std::uint64_t effort = 0;  ///< of the solver, in its units
  std::uint64_t work = 0;    ///< loops priced

  bool spent() const { return effort == 0 || work == 0; }
  void take_effort(std::uint64_t units) { effort -= std::min(effort, units); }
  void take_work(std::uint64_t loops) { work -= std::min(work, loops); }
};

struct PlanOptions {
  // Members with much code stay out of every file that copies one: in problem.cpp.
  PlanOptions();
  PlanOptions(const PlanOptions&);
  PlanOptions(PlanOptions&&) noexcept;
  PlanOptions& operator=(const PlanOptions&);
  PlanOptions& operator=(PlanOptions&&) noexcept;
  ~PlanOptions();

  double calls = 1;                             ///< amortises conversions
  std::uint64_t memory_limit = ~std::uint64_t{0};  ///< bytes over operands, conversions, intermediates, results
  /// What a search for a proof may keep in memory, in bytes; it ends without one where that does not suffice.
  std::uint64_t planning_memory = ~std::uint64_t{0};
  bool strict_fp = false;
  bool prove = false;                           ///< search on until nothing cheaper can exist, with the solver as judge
  std::shared_ptr<ProofBudget> budget;          ///< of that proof; plan() makes one where there is none
  double proof_share = 1;                       ///< of the usual budget, where plan() makes it: of one of several proofs
  /// Nanoseconds of the best plan known of the same request over other layouts: schedules that take as long are not looked for, and a
  /// claim is that none takes less than this, or than the plan. Of problems that are priced at once (is_priced_at_once()); of others all
  /// is looked for.
  double below_ns = std::numeric_limits<double>::infinity();
  std::optional<ContractionTree> tree;          ///< pinned by --tree
  std::map<std::string, Format> result_formats; ///< requested by --format
  std::map<std::string, std::string> result_patterns;  ///< requested by --format NAME:like(OPERAND)
  /// Assignments whose results are wanted, beside the last and those of result_formats; the others may be fused away.
  std::set<std::string> results;
  /// Results, by name, whose memory is the host's where they are dense and computed as they are handed over: none is allocated for them.
  std::set<std::string> lent_results;
  /// Whether results may be computed in another order of their modes and converted when they are handed over; else later assignments
  /// read them as they are computed.
  bool reorders_results = true;
  Machine machine;                              ///< constants of the cost model
  Objective objective = Objective::time;
  /// Sizes of joins of sparse operands (joins.h) over what independence says, where they were counted.
  std::map<std::uint64_t, double> joins;
  /// Distinct coordinates of results, by name, where they were counted: of the modes that sparse operands restrict.
  std::map<std::string, double> entries;
  /// Any of these ends planning, between trees and layouts, with an error; a plan does not depend on them.
  std::vector<Cancellation> cancelled_by;
  /// Told between trees, layouts and questions to Z3 how much of the search is done; often. May be empty.
  Progress progress;
};

/// Everything that planning is a function of. Refers to its parts.
struct Problem {
  const Network& network;
  const std::vector<OperandFacts>& operands;  ///< one per operand of the network
  const PlanOptions& options;
};

/// How many factors of the first assignment's term are sparse.
std::size_t sparse_factors(const Network& network, const std::vector<OperandFacts>& operands);

bool any_cancelled(const std::vector<Cancellation>& tokens);
inline bool is_cancelled(const PlanOptions& options) { return any_cancelled(options.cancelled_by); }

}  // namespace weft
