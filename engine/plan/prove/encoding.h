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

#include "engine/plan/prove/nest_graph.h"
#include "engine/plan/prove/solver.h"
#include "engine/plan/space/alternative.h"

namespace weft {

/// Families of constraints about memory begin with this; the names of what a nest stores follow.
inline constexpr std::string_view memory_family = "memory limit ";

/// What the solver chose.
struct ChosenNests {
  std::size_t alternative = 0;  ///< in the order of add()
  std::vector<std::vector<IndexId>> loops;
  std::vector<std::uint32_t> fused;
  std::vector<RootReduction> roots;
  double ns = 0;                       ///< as encoded, without conversions
  std::vector<std::uint32_t> options;  ///< of the alternative's graph
};

class Encoding {
 public:
  /// `memory_limit` of 0: no constraint on memory.
  Encoding(Solver& solver, const Problem& problem, std::uint64_t memory_limit);

  /// Of several assignments: alternatives that are added from now on are those of another one, whose operands may be
  /// results of earlier ones. A copy of one of the `shared` operands is paid once, whichever assignments read it.
  /// `lasting`: bytes of the operands of all. `live`: the other assignments, by their number, whose results are there
  /// while this one runs; of what is not `wanted`, only then. Called before the first one too.
  void next_assignment(const Network& network, const std::vector<OperandFacts>& operands,
                       const std::set<TensorId>& shared, double lasting, bool wanted, const std::vector<std::size_t>& live);
  /// Of the alternatives of all assignments that store or read a tensor, only those of one layout are chosen together.
  void stores(std::size_t alternative, TensorId tensor, const std::string& layout);

  /// The graph must not be empty.
  void add(const Alternative& alternative, const NestGraph& graph) { add(alternative, graph, *planned().operands, options_); }
  /// Of several assignments: with what this alternative knows of earlier results, and the joins of its assignment.
  void add(const Alternative& alternative, const NestGraph& graph, const std::vector<OperandFacts>& operands,
           const PlanOptions& options);
  /// After the last alternative: one of them is chosen, of every assignment.
  void close();
  /// The sum stays below so many nanoseconds. Every part is rounded down, to a millionth of the bound or a little
  /// more: where no sum is below it, no schedule is.
  void below(double ns);
  /// The choice after Satisfiable::yes, and never again one with the same loops and nests of every assignment.
  ChosenNests read(std::size_t assignment = 0) const;
  void exclude_chosen();

 private:
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
    Literal chosen;
    NestGraph graph;
    std::vector<Literal> states;
    std::vector<Literal> options;
    std::size_t statements = 0;
    std::vector<std::pair<Literal, double>> copies;  // bytes of the levels of converted operands
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
  // What alternatives are added to.
  struct PlannedAssignment {
    const Network* network = nullptr;
    const std::vector<OperandFacts>* operands = nullptr;
    std::vector<OperandFacts> exact;  // where memory matters: sizes before they were quantised
    std::set<TensorId> shared;
    std::optional<double> lasting;
    bool wanted = true;
    std::vector<std::size_t> live;
    std::pair<Literal, double> result;  // its bytes if some alternative that makes a dense one is chosen
  };

  void price(Literal literal, double ns);
  void encode_states(Encoded& encoded);
  void encode_copies(const Alternative& alternative, Encoded& encoded);
  void use_copies(TensorId tensor, const std::vector<Converted>& accesses, double room, Encoded& encoded, Copies& copies,
                  std::vector<std::pair<Literal, double>>& sizes);
  void order_copies(TensorId tensor, const Copies& copies);
  double level_bytes(const Converted& access, TensorId tensor, double room, ModeSet above, ModeSet level) const;
  void encode_workspaces(const Alternative& alternative, const std::vector<OperandFacts>& operands,
                         const PlanOptions& options, Encoded& encoded);
  void encode_memory(const Alternative& alternative, const Encoded& encoded);
  std::vector<std::pair<Literal, double>> lasting_sizes(const Encoded& encoded, bool running) const;
  const PlannedAssignment& planned() const { return assignments_.back(); }
  void encode_nest(const Alternative& alternative, const Encoded& encoded, std::size_t option, double lasting);
  void within(std::vector<std::pair<Literal, double>> sizes, double room, Literal chosen, Family family);

  Solver& solver_;
  const PlanOptions& options_;
  std::uint64_t memory_limit_;
  std::vector<PlannedAssignment> assignments_;
  std::vector<Encoded> alternatives_;
  std::vector<Alternative> postponed_;  // of several assignments: whose memory is encoded once all copies are known
  std::map<TensorId, Copies> shared_copies_;
  std::vector<std::pair<Literal, double>> shared_sizes_;  // bytes of their levels
  std::map<std::pair<TensorId, std::string>, Literal> layouts_;
  std::vector<std::pair<Literal, double>> sum_;  // nanoseconds
};

}  // namespace weft
