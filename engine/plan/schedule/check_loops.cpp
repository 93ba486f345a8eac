#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/statements.h"

namespace weft {
namespace {

Expected<void> check_coverage(const Schedule& schedule, const Network& network, std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  IndexSet seen = 0;
  for (const IndexId index : statement.loops) {
    if (index >= network.indices.size()) return illegal(number, "a loop has an index the expression lacks");
    if (contains(seen, index)) return illegal(number, fmt::format("two loops over {}", network.indices[index].name));
    seen |= one_index(index);
  }
  const IndexSet needed = indices_of(statement);
  for (const IndexId index : members(needed & ~seen)) {
    return illegal(number, fmt::format("no loop over {}", network.indices[index].name));
  }
  for (const IndexId index : members(seen & ~needed)) {
    return illegal(number, fmt::format("a loop over {}, which is in no factor", network.indices[index].name));
  }
  return {};
}

Expected<void> check_fusion(const Schedule& schedule, const Network& network, std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  if (number == 0) {
    if (statement.fused > 0) return illegal(number, "the first statement has no predecessor to share loops with");
    return {};
  }
  const std::vector<IndexId>& before = schedule.statements[number - 1].loops;
  if (statement.fused > statement.loops.size() || statement.fused > before.size()) {
    return illegal(number, fmt::format("{} loops cannot be shared: it has {}, its predecessor {}", statement.fused,
                                       statement.loops.size(), before.size()));
  }
  for (std::size_t loop = 0; loop < statement.fused; ++loop) {
    if (statement.loops[loop] != before[loop]) {
      return illegal(number, fmt::format("shared loop {} is {} here but {} in its predecessor", loop + 1,
                                         network.indices[statement.loops[loop]].name, network.indices[before[loop]].name));
    }
  }
  return {};
}

Expected<void> check_vector(const Schedule& schedule, const Network& network, const PlanOptions& options,
                            std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  if (!statement.vector) return {};
  if (statement.loops.empty() || statement.loops.back() != *statement.vector)
    return illegal(number, "only the innermost loop can become vector code");
  if (may_be_vector(schedule, number, options)) return {};
  return illegal(number, fmt::format("loop {} cannot become vector code: it is shared, visits stored coordinates only, or its "
                                     "sum would be reassociated under strict floating point",
                                     network.indices[*statement.vector].name));
}

// Accesses that can drive a loop of statements from `number` on, as (statement, factor), ascending.
std::vector<std::pair<std::size_t, std::size_t>> drivers(const Schedule& schedule, std::size_t number, std::size_t loop) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t sharer = number; sharer <= last_sharer(schedule, number, loop); ++sharer) {
    for (const SparseLevel& met : sparse_levels(schedule, schedule.statements[sharer], loop)) {
      if (met.direct) found.emplace_back(sharer, met.factor);
    }
  }
  return found;
}

Expected<void> check_intersections(const Schedule& schedule, const Network& network, std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  IndexSet described = 0;
  for (const Intersection& intersection : statement.intersections) {
    if (intersection.index >= network.indices.size()) return illegal(number, "'meet' over an unknown index");
    const std::string& index = network.indices[intersection.index].name;
    const auto loop = static_cast<std::size_t>(std::ranges::find(statement.loops, intersection.index) - statement.loops.begin());
    if (loop == statement.loops.size() || loop < statement.fused)
      return illegal(number, fmt::format("'meet {}' belongs to the first statement that runs the loop", index));
    if (contains(described, intersection.index)) return illegal(number, fmt::format("two lines 'meet {}'", index));
    described |= one_index(intersection.index);
    std::vector<std::pair<std::size_t, std::size_t>> given;
    bool driven = false;
    for (const Intersection::Part& part : intersection.parts) {
      given.emplace_back(part.statement, part.factor);
      driven = driven || part.drive;
      if (part.drive && part.gallop)
        return illegal(number, fmt::format("'meet {}': what drives the loop does not gallop", index));
    }
    std::ranges::sort(given);
    if (given != drivers(schedule, number, loop)) {
      return illegal(number, fmt::format("'meet {}' must list every factor with a sparse level over {} once, and no other", index,
                                         index));
    }
    if (!driven) return illegal(number, fmt::format("nothing drives the loop in 'meet {}'", index));
  }
  return {};
}

Expected<void> check_leaving(const Schedule& schedule, StatementRange nest) {
  std::vector<std::size_t> leaving;
  bool sparse = false;
  for (std::size_t number = nest.first; number < nest.end(); ++number) {
    if (leaves_nest(schedule, number)) leaving.push_back(number);
    for (const ScheduledAccess& factor : schedule.statements[number].factors) {
      sparse = sparse || has_sparse_level(schedule.tensors[factor.tensor].format);
    }
  }
  if (leaving.size() < 2 || !sparse) return {};
  return illegal(leaving[1], fmt::format("{} and {} both leave this loop nest, whose loops visit only what the sparse factors of "
                                         "both have: give one of them a nest of its own",
                                         schedule.tensors[schedule.statements[leaving[0]].target.tensor].name,
                                         schedule.tensors[schedule.statements[leaving[1]].target.tensor].name));
}

}  // namespace

Expected<void> check_loops(const Schedule& schedule, const Network& network, const PlanOptions& options) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    if (auto done = check_coverage(schedule, network, number); !done) return done;
    if (auto done = check_fusion(schedule, network, number); !done) return done;
  }
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    if (auto done = check_vector(schedule, network, options, number); !done) return done;
    if (auto done = check_intersections(schedule, network, number); !done) return done;
  }
  return {};
}

Expected<void> check_roots(const Schedule& schedule, const Network& network, const PlanOptions& options) {
  std::size_t root = 0;
  for (const StatementRange nest : nests_of(schedule)) {
    const std::size_t first = nest.first;
    if (auto done = check_leaving(schedule, nest); !done) return done;
    if (root == schedule.roots.size()) return illegal(first, "no line 'parallel' says how its loop nest is run");
    const RootReduction reduction = schedule.roots[root++];
    if (reduction != RootReduction::serial && schedule.statements[first].loops.empty())
      return illegal(first, "without loops it can only run serially");
    if (reduction == RootReduction::private_copies && options.strict_fp)
      return illegal(first, "private copies add in another order, which strict floating point forbids");
    for (std::size_t number = first; number < nest.end() && reduction != RootReduction::serial; ++number) {
      const ScheduledAccess& target = schedule.statements[number].target;
      const bool leaves = leaves_nest(schedule, number);
      const ScheduledTensor& tensor = schedule.tensors[target.tensor];
      const bool appended = leaves && !tensor.like && !tensor.format.all_dense();
      if (appended && reduction == RootReduction::private_copies)
        return illegal(number, fmt::format("{} is appended to, which private copies of it cannot be", tensor.name));
      if (leaves && !appended && reduction == RootReduction::counted)
        return illegal(number, fmt::format("{} is not appended to, so that nothing is to be counted: run it owner", tensor.name));
      if (appended && append_order(target.indices, tensor.format, schedule.statements[number].loops).direct == 0) {
        return illegal(number, fmt::format("threads that share this loop would append to {} out of order, whose first level is "
                                           "another: run it serial", tensor.name));
      }
      if (reduction == RootReduction::private_copies) continue;
      const IndexId index = schedule.statements[first].loops.front();
      if (leaves && !contains(index_set(target.indices), index)) {
        return illegal(number, fmt::format("{} has no index {}, so threads that share this loop would write the same entries: "
                                           "run it private or serial", tensor.name, network.indices[index].name));
      }
    }
  }
  if (root != schedule.roots.size()) return illegal("more lines 'parallel' than loop nests");
  return {};
}

}  // namespace weft
