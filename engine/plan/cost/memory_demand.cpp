#include "engine/plan/cost/memory_demand.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/plan/cost/expected_bytes.h"
#include "engine/plan/estimate/joins.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan/schedule/statements.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/machine_memory.h"

namespace weft {
namespace {

constexpr double most_bytes = 0x1p63;

std::uint64_t whole(double bytes) { return static_cast<std::uint64_t>(std::min(std::ceil(bytes), most_bytes)); }

double dense_bytes(const std::vector<IndexId>& indices, IndexSet without, Scalar scalar, const Network& network) {
  double bytes = scalar_bytes(scalar);
  for (const IndexId index : indices) {
    if (!contains(without, index)) bytes *= static_cast<double>(network.indices[index].extent);
  }
  return bytes;
}

double result_bytes(const TensorDeclaration& result, Scalar scalar) {
  double bytes = scalar_bytes(scalar);
  for (const std::uint64_t extent : result.extents) bytes *= static_cast<double>(extent);
  return bytes;
}

struct Nest {
  std::size_t first = 0;
  std::size_t last = 0;
};

std::vector<Nest> nests_of(const Schedule& schedule) {
  std::vector<Nest> nests;
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    if (schedule.statements[number].fused == 0) nests.push_back({number, number});
    nests.back().last = number;
  }
  return nests;
}

// The ends below the dense levels; everything else is shared with the operand.
double opened_bytes(const Format& format, const OperandFacts& operand) {
  double positions = 1;
  std::size_t level = 0;
  for (; is_dense(format.levels[level].kind); ++level) {
    positions *= static_cast<double>(operand.exact().extents()[format.mode_order[level]]);
  }
  return (positions + 1) * format.levels[level].pos_bits / 8;
}

// Of a coordinate list.
double entry_bytes(const std::vector<std::uint64_t>& extents, Scalar scalar) {
  double bytes = scalar_bytes(scalar);
  for (const std::uint64_t extent : extents) bytes += coordinate_bits(extent) / 8;
  return bytes;
}

}  // namespace

std::uint64_t usable_memory(const PlanOptions& options) {
  return std::min(options.memory_limit, machine_memory());
}

double memory_beside(const Problem& problem, bool dense_result) {
  const auto& [network, operands, options] = problem;
  double left = static_cast<double>(usable_memory(options));
  for (const OperandFacts& operand : operands) left -= static_cast<double>(operand.exact_bytes());
  const TensorDeclaration& result = network.tensors[network.assignments.front().result.tensor];
  return dense_result ? left - result_bytes(result, result.scalar) : left;
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
  MemoryPlan memory;
  double growing = 0;  // of what lasts: charged as it grows
  double announced = 0;  // and what is known before
  double sorting = 0;  // the largest conversion's coordinates, twice while they are sorted
  const auto demand = [&](std::string name, double bytes, bool grows = false) {
    memory.demands.push_back({std::move(name), whole(bytes), grows});
    return bytes;
  };
  for (const OperandFacts& operand : operands) {
    const std::string& name = network.tensors[operand.tensor].name;
    announced += demand("operand " + name, static_cast<double>(operand.exact_bytes()));
  }
  for (const ScheduledTensor& tensor : schedule.tensors) {
    if (tensor.role == TensorRole::result) {
      const auto number = static_cast<std::uint32_t>(&tensor - schedule.tensors.data());
      const bool dense = tensor.format.all_dense() && !tensor.delivered;
      const double bytes = dense ? result_bytes(network.tensors[tensor.tensor], tensor.format.scalar)
                                 : expected_bytes(schedule, writer_of(schedule, number), problem);
      (dense ? announced : growing) += demand("result " + tensor.name, bytes, !dense);
    } else if (tensor.opened) {
      announced += demand("conversion " + tensor.name, opened_bytes(tensor.format, facts_of(operands, tensor.tensor)));
    } else if (tensor.converted) {
      const Statistics& statistics = facts_of(operands, tensor.tensor).exact();
      announced += demand("conversion " + tensor.name, stored_bytes(tensor.format, statistics));
      sorting = std::max(sorting, 2 * statistics.nnz() * entry_bytes(statistics.extents(), tensor.format.scalar));
    }
  }
  if (sorting > 0) demand("sorting conversions", sorting);

  double most = sorting;
  double most_announced = sorting;
  const std::vector<Nest> nests = nests_of(schedule);
  for (std::size_t number = 0; number < nests.size(); ++number) {
    const Nest nest = nests[number];
    double live = 0;
    double live_growing = 0;  // not among it
    double leaving = 0;
    for (std::size_t writer = 0; writer <= nest.last; ++writer) {
      const ScheduledAccess& target = schedule.statements[writer].target;
      const ScheduledTensor& tensor = schedule.tensors[target.tensor];
      const std::size_t reader = last_reader_of(schedule, target.tensor);
      const bool leaves = reader == schedule.statements.size() || reader > nest.last;
      if (writer >= nest.first && leaves) leaving += dense_bytes(target.indices, 0, tensor.format.scalar, network);
      if (writer >= nest.first && schedule.statements[writer].drained) {
        live += demand("workspace of " + tensor.name,
                       options.machine.threads * drained_bytes(schedule, writer, problem));
      }
      if (tensor.role != TensorRole::intermediate || reader < nest.first) continue;
      if (writer >= nest.first && !leaves) {
        const std::size_t depth = shared_loops(schedule, writer, reader);
        const std::vector<IndexId>& loops = schedule.statements[writer].loops;
        const IndexSet shared = index_set({loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(depth)});
        const double bytes = tensor.format.all_dense()
                                 ? dense_bytes(target.indices, shared, tensor.format.scalar, network)
                                 : keyed_bytes(schedule, writer, shared, problem);
        live += demand("workspace " + tensor.name, options.machine.threads * bytes);
        continue;
      }
      const bool dense = tensor.format.all_dense();
      const double bytes = dense ? dense_bytes(target.indices, 0, tensor.format.scalar, network)
                                 : expected_bytes(schedule, writer, problem);
      if (writer >= nest.first) demand("intermediate " + tensor.name, bytes, !dense);
      (dense ? live : live_growing) += bytes;
    }
    if (number < schedule.roots.size() && schedule.roots[number] == RootReduction::private_copies) {
      // The number of copies gives way to the limit before the schedule does.
      const double left = static_cast<double>(options.memory_limit) - announced - growing - live - live_growing;
      const double copies_at_most = std::max(options.machine.threads, static_cast<double>(usual_slots));
      const double fitting = leaving > 0 ? std::floor(left / leaving) : copies_at_most;
      live += demand("private copies", std::clamp(fitting, 2.0, copies_at_most) * leaving);
    }
    most = std::max(most, live + live_growing);
    most_announced = std::max(most_announced, live);
  }
  memory.peak_bytes = whole(announced + growing + most);
  memory.announced_bytes = whole(announced + most_announced);
  return memory;
}

}  // namespace weft
