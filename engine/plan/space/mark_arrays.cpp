#include "engine/plan/space/mark_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "engine/plan/index_set.h"
#include "engine/plan/schedule/storage.h"
#include "runtime/sparse_levels.h"

namespace weft {
namespace {

bool is_sparse_operand(const Schedule& schedule, const ScheduledAccess& access) {
  const ScheduledTensor& tensor = schedule.tensors[access.tensor];
  return tensor.role == TensorRole::operand && has_sparse_level(tensor.format);
}

// "M_row" of M[i,j]: a fiber of M is looked up.
std::string unused_name(const Schedule& schedule, const std::string& operand) {
  std::set<std::string> taken;
  for (const ScheduledTensor& tensor : schedule.tensors) taken.insert(tensor.name);
  for (std::size_t number = 1;; ++number) {
    const std::string name = number == 1 ? operand + "_row" : fmt::format("{}_row{}", operand, number);
    if (!taken.contains(name)) return name;
  }
}

}  // namespace

std::optional<Schedule> with_mark_array(const Schedule& statements, std::size_t statement, std::size_t factor) {
  const ScheduledStatement& reading = statements.statements[statement];
  const ScheduledAccess access = reading.factors[factor];
  const IndexSet indices = index_set(access.indices);
  if (!is_sparse_operand(statements, access) || access.indices.size() < 2) return std::nullopt;
  if (members(indices).size() < access.indices.size() || is_mark_array_copy(statements, statement)) return std::nullopt;
  if (statements.tensors.back().like == access.tensor) return std::nullopt;
  const bool meets = std::ranges::any_of(reading.factors, [&](const ScheduledAccess& other) {
    const ScheduledTensor& tensor = statements.tensors[other.tensor];
    return &other != &reading.factors[factor] && has_sparse_level(tensor.format) && (index_set(other.indices) & indices) != 0;
  });
  if (!meets) return std::nullopt;

  // The result stays the last tensor.
  Schedule schedule = statements;
  const auto copy = static_cast<std::uint32_t>(schedule.tensors.size() - 1);
  const ScheduledTensor& operand = statements.tensors[access.tensor];
  ScheduledTensor made{unused_name(statements, operand.name), TensorRole::intermediate, 0, access.indices,
                       format_of_loops(access.indices.size(), operand.format.scalar)};
  schedule.tensors.insert(schedule.tensors.begin() + copy, std::move(made));
  for (ScheduledStatement& one : schedule.statements) {
    if (one.target.tensor >= copy) ++one.target.tensor;
  }
  schedule.statements[statement].factors[factor] = {copy, access.indices};
  ScheduledStatement filling;
  filling.target = {copy, access.indices};
  filling.factors = {access};
  schedule.statements.insert(schedule.statements.begin() + static_cast<std::ptrdiff_t>(statement), std::move(filling));
  return schedule;
}

bool marks_are_looked_up(const Schedule& schedule) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    if (!is_mark_array_copy(schedule, number)) continue;
    const std::uint32_t copy = schedule.statements[number].target.tensor;
    const std::size_t reader = reader_of(schedule, copy);
    if (shared_loops(schedule, number, reader) == 0) return false;
    bool found = false;
    for (const ScheduledStatement& statement : schedule.statements) {
      for (const Intersection& intersection : statement.intersections) {
        for (const Intersection::Part& part : intersection.parts) {
          found = found || (!part.drive && schedule.statements[part.statement].factors[part.factor].tensor == copy);
        }
      }
    }
    if (!found) return false;
  }
  return true;
}

}  // namespace weft
