#include "engine/plan/cost/memory_demand.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/cost/sparse_target.h"
#include "engine/plan/estimate/joins.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/forest.h"
#include "runtime/dense_levels.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/machine_memory.h"

namespace weft {
namespace {

constexpr double most_bytes = 0x1p63;

std::uint64_t whole(double bytes) { return static_cast<std::uint64_t>(std::min(std::ceil(bytes), most_bytes)); }

using Joins = std::map<JoinSet, double>;

// What a statement writes, in the schedule of its assignment alone.
struct Written {
  const Schedule& schedule;
  std::size_t number = 0;
  const Network& network;
  const std::vector<OperandFacts>& operands;
  const Joins& joins;
  const std::map<std::string, double>& entries;

  const ScheduledStatement& statement() const { return schedule.statements[number]; }
  const std::vector<IndexId>& indices() const { return statement().target.indices; }
  const ScheduledTensor& tensor() const { return schedule.tensors[statement().target.tensor]; }
  ProductEstimate product() const { return estimate_of(schedule, number, network, operands, joins, entries); }
};

// Nothing where the schedule is no forest, which check() refuses.
template <class Ask>
auto of_part(const Schedule& schedule, std::size_t writer, const Problem& problem, const Ask& ask) {
  const auto& [network, operands, options] = problem;
  using Answer = decltype(ask(Written{schedule, writer, network, operands, options.joins, options.entries}));
  if (network.assignments.size() == 1) return ask(Written{schedule, writer, network, operands, options.joins, options.entries});
  const auto parts = forest_parts(schedule, network, operands);
  if (!parts) return Answer{};
  for (const ForestPart& part : *parts) {
    const std::size_t number = writer - part.first_statement;
    if (writer < part.first_statement || number >= part.schedule.statements.size()) continue;
    const Joins own = options.joins.empty() ? Joins() : renumbered(options.joins, occurrences(network, operands),
                                                                   occurrences(part.network, part.operands));
    return ask(Written{part.schedule, number, part.network, part.operands, own, options.entries});
  }
  return Answer{};
}

// The ends below the dense levels; everything else is shared with the operand.
double opened_bytes(const Format& format, const OperandFacts& operand) {
  const std::size_t level = leading_dense_levels(format.levels);
  return (leading_positions(format, level, operand.exact()) + 1) * format.levels[level].pos_bits / 8;
}

// What a schedule holds, by name: what lasts for the whole run first, then nest by nest.
class Demands {
 public:
  Demands(const Schedule& schedule, const Problem& problem) : schedule_(schedule), problem_(problem) {}

  MemoryPlan plan() {
    for (const OperandFacts& operand : problem_.operands) {
      const std::string& name = problem_.network.tensors[operand.tensor].name;
      announced_ += demand("operand " + name, static_cast<double>(operand.allocated_bytes()));
    }
    for (const ScheduledTensor& tensor : schedule_.tensors) lasting(tensor);
    if (sorting_ > 0) demand("sorting conversions", sorting_);
    double most = sorting_;
    double most_announced = sorting_;
    for (std::size_t first = 0, root = 0; first < schedule_.statements.size(); ++root) {
      const StatementRange nest{first, last_sharer(schedule_, first, 0)};
      const bool copies = root < schedule_.roots.size() && schedule_.roots[root] == RootReduction::private_copies;
      const Live live = live_in(nest, copies);
      first = nest.end();
      most = std::max(most, live.bytes + live.growing);
      most_announced = std::max(most_announced, live.bytes);
    }
    memory_.peak_bytes = whole(announced_ + growing_ + most);
    memory_.announced_bytes = whole(announced_ + most_announced);
    return std::move(memory_);
  }

 private:
  // While a nest runs.
  struct Live {
    double bytes = 0;    // known before
    double growing = 0;  // charged as it grows; not among them
    double leaving = 0;  // what the nest writes for later ones, dense: each private copy has as much
  };

  double demand(std::string name, double bytes, bool grows = false) {
    memory_.demands.push_back({std::move(name), whole(bytes), grows});
    return bytes;
  }

  void lasting(const ScheduledTensor& tensor) {
    if (tensor.role == TensorRole::result) {
      const auto number = static_cast<std::uint32_t>(&tensor - schedule_.tensors.data());
      const bool dense = tensor.format.all_dense();
      const double copies = allocated_copies(tensor.name, tensor.delivered.has_value(), problem_.options);
      if (dense && copies == 0) return;
      const double bytes = dense ? copies * result_bytes(problem_.network.tensors[tensor.tensor], tensor.format.scalar)
                                 : expected_bytes(schedule_, writer_of(schedule_, number), problem_);
      (dense ? announced_ : growing_) += demand("result " + tensor.name, bytes, !dense);
    } else if (tensor.opened) {
      announced_ += demand("conversion " + tensor.name, opened_bytes(tensor.format, facts_of(problem_.operands, tensor.tensor)));
    } else if (tensor.converted) {
      const OperandFacts& facts = facts_of(problem_.operands, tensor.tensor);
      announced_ += demand("conversion " + tensor.name, stored_bytes(tensor.format, facts.exact()));
      sorting_ = std::max(sorting_, sorting_bytes(facts));
    }
  }

  Live live_in(StatementRange nest, bool private_copies) {
    Live live;
    for (std::size_t writer = 0; writer <= nest.last; ++writer) written(writer, nest, live);
    if (!private_copies) return live;
    // The number of copies gives way to the limit before the schedule does.
    const Machine& machine = problem_.options.machine;
    const double left = static_cast<double>(problem_.options.memory_limit) - announced_ - growing_ - live.bytes - live.growing;
    const double copies_at_most = std::max(machine.threads, static_cast<double>(usual_slots));
    const double fitting = live.leaving > 0 ? std::floor(left / live.leaving) : copies_at_most;
    live.bytes += demand("private copies", std::clamp(fitting, 2.0, copies_at_most) * live.leaving);
    return live;
  }

  // Bytes of a statement's target while a nest runs: the statement stands in the nest or before it.
  void written(std::size_t writer, StatementRange nest, Live& live) {
    const ScheduledAccess& target = schedule_.statements[writer].target;
    const ScheduledTensor& tensor = schedule_.tensors[target.tensor];
    const Network& network = problem_.network;
    const double threads = problem_.options.machine.threads;
    const std::size_t reader = last_reader_of(schedule_, target.tensor);
    const bool leaves = reader == schedule_.statements.size() || reader > nest.last;
    const bool inside = writer >= nest.first;
    const bool dense = tensor.format.all_dense();
    if (inside && leaves) live.leaving += dense_bytes(index_set(target.indices), tensor.format.scalar, network);
    if (inside && schedule_.statements[writer].drained) {
      live.bytes += demand("workspace of " + tensor.name, threads * drained_bytes(schedule_, writer, problem_));
    }
    if (tensor.role != TensorRole::intermediate || reader < nest.first) return;
    if (inside && !leaves) {
      const IndexSet shared = shared_indices(schedule_, writer, reader);
      const double bytes = dense ? dense_bytes(index_set(target.indices) & ~shared, tensor.format.scalar, network)
                                 : keyed_bytes(schedule_, writer, shared, problem_);
      live.bytes += demand("workspace " + tensor.name, threads * bytes);
      return;
    }
    const double bytes = dense ? dense_bytes(index_set(target.indices), tensor.format.scalar, network)
                               : expected_bytes(schedule_, writer, problem_);
    if (inside) demand("intermediate " + tensor.name, bytes, !dense);
    (dense ? live.bytes : live.growing) += bytes;
  }

  const Schedule& schedule_;
  const Problem& problem_;
  MemoryPlan memory_;
  double announced_ = 0;  // of what lasts: known before
  double growing_ = 0;    // and charged as it grows
  double sorting_ = 0;    // the largest conversion's coordinates, twice while they are sorted
};

}  // namespace

double allocated_copies(const std::string& result, bool delivered, const PlanOptions& options) {
  return (delivered ? 2 : 1) - (options.lent_results.contains(result) ? 1 : 0);
}

double result_bytes(const TensorDeclaration& result, Scalar scalar) {
  double bytes = scalar_bytes(scalar);
  for (const std::uint64_t extent : result.extents) bytes *= static_cast<double>(extent);
  return bytes;
}

double dense_bytes(IndexSet indices, Scalar scalar, const Network& network) {
  return scalar_bytes(scalar) * combinations(indices, network);
}

double expected_bytes(const Schedule& schedule, std::size_t writer, const Problem& problem) {
  return of_part(schedule, writer, problem, [](const Written& written) {
    const ScheduledTensor& tensor = written.tensor();
    if (tensor.like) {
      const ScheduledTensor& pattern = written.schedule.tensors[*tensor.like];
      const Statistics& exact = facts_of(written.operands, pattern.tensor).exact();
      const std::size_t shared = appended_levels(tensor.format.levels);
      Format leading = pattern.format;
      leading.levels.resize(shared);
      leading.mode_order.resize(shared);
      double elements = stored_arrays(leading, exact).positions;
      for (std::size_t level = shared; level < tensor.format.order(); ++level)
        elements *= static_cast<double>(written.network.indices[written.indices()[tensor.format.mode_order[level]]].extent);
      return elements * scalar_bytes(tensor.format.scalar);
    }
    const ProductEstimate product = written.product();
    const auto bytes = [&](const Format& format) {
      return stored_bytes(format, estimated_statistics(product, written.network, written.indices(), format, true));
    };
    return bytes(tensor.format) + (tensor.delivered ? bytes(*tensor.delivered) : 0);
  });
}

double drained_bytes(const Schedule& schedule, std::size_t writer, const Problem& problem) {
  return of_part(schedule, writer, problem, [&](const Written& written) {
    if (!written.statement().drained) return 0.0;
    const Format& format = written.tensor().format;
    const AppendOrder order = append_order(written.indices(), format, written.statement().loops);
    IndexSet direct = 0;
    for (std::size_t level = 0; level < order.direct; ++level) direct |= one_index(written.indices()[format.mode_order[level]]);
    const SparseTarget target(contracted(written.tensor()), written.indices(), written.product());
    return keyed_price(problem.options.machine, target.workspace(direct, 0), *written.statement().drained).bytes;
  });
}

double keyed_bytes(const ProductEstimate& product, IndexSet outside, IndexSet key, IndexSet block, LevelKind kind, Scalar scalar,
                   const Problem& problem) {
  KeyedWorkspace workspace;
  workspace.scalar_bytes = scalar_bytes(scalar);
  workspace.keys = combinations(key, problem.network);
  workspace.block = combinations(block, problem.network);
  workspace.entries = product.distinct(outside | key) / std::max(1.0, product.distinct(outside));
  const bool table = has_bits(kind) && (key & (key - 1)) != 0;
  return keyed_price(problem.options.machine, workspace, table ? LevelKind::accumulator : kind).bytes;
}

double keyed_bytes(const Schedule& schedule, std::size_t writer, IndexSet shared, const Problem& problem) {
  return of_part(schedule, writer, problem, [&](const Written& written) {
    const Format& format = written.tensor().format;
    LevelKind kind = LevelKind::dense;
    IndexSet key = 0;
    for (std::size_t level = 0; level < format.order(); ++level) {
      const IndexId index = written.indices()[format.mode_order[level]];
      if (contains(shared, index) || !is_sparse(format.levels[level].kind)) continue;
      kind = format.levels[level].kind;
      key |= one_index(index);
    }
    const IndexSet block = index_set(written.indices()) & ~shared & ~key;
    if (key == 0) return dense_bytes(block, format.scalar, written.network);
    return keyed_bytes(written.product(), shared, key, block, kind, format.scalar, {written.network, written.operands, problem.options});
  });
}

double sorting_bytes(const OperandFacts& operand) {
  if (operand.format.all_dense()) return 0;  // turned, element by element
  double entry = scalar_bytes(operand.format.scalar);
  for (const std::uint64_t extent : operand.exact().extents()) entry += coordinate_bits(extent) / 8;
  return 2 * operand.exact().nnz() * entry;
}

std::uint64_t usable_memory(const PlanOptions& options) {
  return std::min(options.memory_limit, machine_memory());
}

double memory_beside(const Problem& problem, bool dense_result) {
  const auto& [network, operands, options] = problem;
  double left = static_cast<double>(usable_memory(options));
  for (const OperandFacts& operand : operands) left -= static_cast<double>(operand.allocated_bytes());
  const TensorDeclaration& result = network.tensors[network.assignments.front().result.tensor];
  return dense_result ? left - allocated_copies(result.name, false, options) * result_bytes(result, result.scalar) : left;
}

MemoryPlan memory_plan(const Schedule& schedule, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (network.assignments.size() > 1) {
    const Network spoken_of = scheduled_network(schedule, network);
    if (spoken_of.assignments.size() < network.assignments.size()) {
      PlanOptions of_those = options;
      of_those.joins = renumbered(options.joins, occurrences(network, operands), occurrences(spoken_of, operands));
      return memory_plan(schedule, Problem{spoken_of, operands, of_those});
    }
  }
  return Demands(schedule, problem).plan();
}

ExpectedEntries expected_entries(const Schedule& schedule, std::size_t writer, const Problem& problem) {
  return of_part(schedule, writer, problem, [](const Written& written) {
    const IndexSet modes = index_set(written.indices());
    const ProductEstimate product = written.product();
    return ExpectedEntries{product.distinct(modes), product.fill(modes)};
  });
}

}  // namespace weft
