// Schedules as booleans: what the solver chooses from, and what it costs.
//
// The encoding of planning.md over nest graphs. An alternative (tree, order of statements, which accesses are
// converted, with how many dense levels) brings its graph: every state that is opened needs one of its options, an
// option opens the states below and behind it. A sum over options, conversions and the alternative itself is the time.
// Layouts are order prefixes as SETS of modes: an option that binds an index puts the set bound so far among the
// prefixes of every converted access it serves, a copy of an operand has one prefix of every size, and accesses that use
// one copy agree. Workspaces and what else lives beside them stay within the memory that a nest may use; what is sparse and
// grows while it is computed is no part of that, as in MemoryPlan::announced_bytes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/prove/nest_graph.h"
#include "engine/plan/prove/solver.h"
#include "engine/plan/space/alternatives.h"

namespace weft {

/// Families of constraints about memory begin with this; the names of what a nest stores follow.
inline constexpr std::string_view memory_family = "memory limit ";

/// One way of computing an assignment, before its loops are decided.
struct Way {
  Alternative alternative;
  Problem problem;  ///< of the assignment alone; its operands may be results of earlier ones
  std::vector<std::pair<TensorId, std::string>> layouts = {};  ///< of what lies between assignments and it writes or reads
};

/// Operands of which one copy may serve several assignments.
std::set<TensorId> shared_operands(const Problem& problem);

/// What the solver chose for one assignment.
struct ChosenNests : LoopNests {
  const Way* way = nullptr;
  std::vector<RootReduction> roots;
  double ns = 0;                 ///< as encoded, without conversions
  std::vector<Literal> options;  ///< of the way's graph
};

/// The bytes that memory_plan() will count for the schedule that a choice becomes, or less where that depends on decisions made
/// later: whether a dense block below the key of an intermediate is provably written, else its modes are part of the key.
/// All figures are bytes of one thread. Refers to all of its arguments.
class WorkspaceBytes {
 public:
  WorkspaceBytes(const Alternative& alternative, const Problem& problem);

  /// Of the intermediate that a statement writes, inside loops over `shared`, which its reader shares.
  double inside(std::size_t writer, IndexSet shared) const;
  /// Between nests: nothing for a sparse one, which is charged as it grows.
  double between(std::size_t writer) const;
  /// Of the result: nothing either, if it is sparse.
  double of_result() const;
  /// The workspace that is drained into the target of a statement where the loop over `index` below `bound` leaves the
  /// order in which that is appended to; of an intermediate, only if it leaves its nest. Nothing elsewhere.
  std::optional<double> drained(std::size_t writer, Outside outside, IndexId index, StatementRange range) const;

 private:
  IndexSet modes(std::size_t writer) const;
  Scalar scalar(std::size_t writer) const;
  double dense(std::size_t writer, IndexSet indices) const;
  double keyed(std::size_t writer, IndexSet outside, IndexSet whole_key, LevelKind kind) const;

  const Alternative& alternative_;
  const Problem problem_;
  std::optional<CostModel> model_;         // only where something is sparse
  std::vector<ProductEstimate> products_;  // per statement, then
};

/// Of every assignment of a network one way, with one layout for what lies between assignments and a copy of a shared operand
/// paid once; within one memory limit, in which copies last for the whole run, and results as long as they are wanted or read.
class Encoding {
 public:
  /// Refers to all that it is given. `memory_limit` of 0: no constraint on memory.
  Encoding(Solver& solver, const Problem& problem, std::uint64_t memory_limit);

  /// The ways of one assignment after those of the one before it. The graph must not be empty.
  void add(std::size_t assignment, const Way& way, NestGraph graph);
  /// After the last way: one of them is chosen, of every assignment.
  void close();
  /// The sum stays below so many nanoseconds. Every part is rounded down, to a millionth of the bound or a little
  /// more: where no sum is below it, no schedule is.
  void below(double ns);
  /// The choice after Satisfiable::yes, and never again one with the same loops and nests of every assignment.
  ChosenNests read(std::size_t assignment) const;
  void exclude_chosen();

 private:
  using Sizes = std::vector<std::pair<Literal, double>>;  // what counts where its literal is true
  // What lives while a nest runs, if its literal is true: between a writer and its reader, or to be drained into what
  // the writer appends to.
  struct Workspace {
    std::size_t writer = 0;
    bool drained = false;
    Literal used;
    double bytes = 0;  // of all threads
  };
  struct Encoded {
    std::size_t assignment = 0;
    const Way* way = nullptr;
    NestGraph graph;
    Literal chosen;
    std::vector<Literal> states;
    std::vector<Literal> options;
    Sizes copies;  // levels of converted operands
    // Where memory matters: bytes of the result, of what statements store between nests, and workspaces.
    double result = 0;
    std::vector<double> between;
    std::vector<Workspace> workspaces;
  };
  struct Converted {
    std::size_t statement = 0;
    const ScheduledAccess* access = nullptr;
  };
  // Copies of one operand: which are made, and the order prefixes of each as sets of modes.
  struct Copies {
    std::vector<Literal> made;
    std::vector<std::map<ModeSet, Literal>> prefixes;
    std::vector<std::map<std::tuple<ModeSet, ModeSet, double>, Literal>> levels;  // modes above, with the level's, bytes
    std::size_t before = 0;  // accesses of earlier assignments
    std::size_t accesses = 0;
  };
  struct StoredResult {
    bool wanted = true;             // it lasts for the whole run
    std::vector<std::size_t> live;  // other assignments whose results are there while this one runs
    std::pair<Literal, double> bytes;  // if some way that makes a dense result is chosen
  };

  void price(Literal literal, double ns);
  void encode_states(Encoded& encoded);
  void encode_copies(Encoded& encoded);
  void use_copies(TensorId tensor, const std::vector<Converted>& accesses, Encoded& encoded, Copies& copies, Sizes& sizes);
  void lay_out(const Converted& access, const Encoded& encoded, const std::vector<Literal>& uses, const AccessModel* model, Copies& copies,
               Sizes& sizes);
  void order_copies(TensorId tensor, const Copies& copies);
  Family layouts_of(TensorId tensor);
  const std::vector<OperandFacts>& exact(const Way& way, TensorId tensor);
  // encode_memory.cpp
  void encode_memory();
  void encode_workspaces(Encoded& encoded);
  void encode_conversions(const Encoded& encoded);
  void encode_nest(const Encoded& encoded, std::size_t option);
  Sizes lasting_sizes(const Encoded& encoded, bool running) const;
  void within(Sizes sizes, double budget, Literal chosen, Family family);

  Solver& solver_;
  const Problem problem_;
  std::uint64_t memory_limit_;
  double left_;  // of it beside the operands
  std::set<TensorId> shared_;
  std::vector<StoredResult> results_;  // per assignment
  std::vector<Encoded> ways_;
  std::map<TensorId, Copies> shared_copies_;
  Sizes shared_sizes_;
  std::map<TensorId, std::vector<OperandFacts>> exact_;
  std::map<std::pair<TensorId, std::string>, Literal> layouts_;
  Sizes sum_;  // nanoseconds
};

}  // namespace weft
