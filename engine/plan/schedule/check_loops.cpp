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
    if (index >= network.indices.size()) return input_error(place(number) + "a loop has an index the expression lacks");
    if (contains(seen, index)) {
      return input_error(fmt::format("{}two loops over {}", place(number), network.indices[index].name));
    }
    seen |= one_index(index);
  }
  const IndexSet needed = indices_of(statement);
  for (const IndexId index : members(needed & ~seen)) {
    return input_error(fmt::format("{}no loop over {}", place(number), network.indices[index].name));
  }
  for (const IndexId index : members(seen & ~needed)) {
    return input_error(fmt::format("{}a loop over {}, which is in no factor", place(number), network.indices[index].name));
  }
  return {};
}

Expected<void> check_fusion(const Schedule& schedule, const Network& network, std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  if (number == 0) {
    if (statement.fused > 0) return input_error(place(number) + "the first statement has no predecessor to share loops with");
    return {};
  }
  const std::vector<IndexId>& before = schedule.statements[number - 1].loops;
  if (statement.fused > statement.loops.size() || statement.fused > before.size()) {
    return input_error(fmt::format("{}{} loops cannot be shared: it has {}, its predecessor {}", place(number),
                                   statement.fused, statement.loops.size(), before.size()));
  }
  for (std::size_t loop = 0; loop < statement.fused; ++loop) {
    if (statement.loops[loop] != before[loop]) {
      return input_error(fmt::format("{}shared loop {} is {} here but {} in its predecessor", place(number), loop + 1,
                                     network.indices[statement.loops[loop]].name, network.indices[before[loop]].name));
    }
  }
  return {};
}

Expected<void> check_vector(const Schedule& schedule, const Network& network, const PlanOptions& options,
                            std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  if (!statement.vector) return {};
  if (statement.loops.empty() || statement.loops.back() != *statement.vector) {
    return input_error(place(number) + "only the innermost loop can become vector code");
  }
  if (may_be_vector(schedule, number, options)) return {};
  return input_error(fmt::format("{}loop {} cannot become vector code: it is shared, visits stored coordinates only, or "
                                 "its sum would be reassociated under strict floating point",
                                 place(number), network.indices[*statement.vector].name));
}

// Accesses that can drive a loop, as (statement, factor).
std::vector<std::pair<std::size_t, std::size_t>> drivers(const Schedule& schedule, std::size_t first, std::size_t last,
                                                         std::size_t loop) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t number = first; number <= last; ++number) {
    for (const SparseLevel& met : sparse_levels(schedule, schedule.statements[number], loop)) {
      if (met.direct) found.emplace_back(number, met.factor);
    }
  }
  return found;
}

Expected<void> check_intersections(const Schedule& schedule, const Network& network, std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  IndexSet described = 0;
  for (const Intersection& intersection : statement.intersections) {
    if (intersection.index >= network.indices.size()) return input_error(place(number) + "'meet' over an unknown index");
    const std::string& index = network.indices[intersection.index].name;
    const auto loop = static_cast<std::size_t>(
        std::find(statement.loops.begin(), statement.loops.end(), intersection.index) - statement.loops.begin());
    if (loop == statement.loops.size() || loop < statement.fused) {
      return input_error(fmt::format("{}'meet {}' belongs to the first statement that runs the loop", place(number), index));
    }
    if (contains(described, intersection.index)) {
      return input_error(fmt::format("{}two lines 'meet {}'", place(number), index));
    }
    described |= one_index(intersection.index);
    const std::size_t last = last_sharer(schedule, number, loop);
    std::vector<std::pair<std::size_t, std::size_t>> expected = drivers(schedule, number, last, loop);
    std::vector<std::pair<std::size_t, std::size_t>> given;
    bool driven = false;
    for (const Intersection::Part& part : intersection.parts) {
      given.emplace_back(part.statement, part.factor);
      driven = driven || part.drive;
      if (part.drive && part.gallop) {
        return input_error(fmt::format("{}'meet {}': what drives the loop does not gallop", place(number), index));
      }
    }
    std::sort(expected.begin(), expected.end());
    std::sort(given.begin(), given.end());
    if (given != expected) {
      return input_error(fmt::format("{}'meet {}' must list every factor with a sparse level over {} once, and no other",
                                     place(number), index, index));
    }
    if (!driven) return input_error(fmt::format("{}nothing drives the loop in 'meet {}'", place(number), index));
  }
  return {};
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

}  // namespace weft
