#include "engine/plan/space/mark_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "engine/plan/schedule/statements.h"

namespace weft {
namespace {

// "M_row" of M[i,j]: a fiber of M is looked up.
std::string unused_name(const Contractions& contractions, const std::string& operand) {
  std::set<std::string> taken;
  for (const ContractedTensor& tensor : contractions.tensors) taken.insert(tensor.name);
  for (std::size_t number = 1;; ++number) {
    const std::string name = number == 1 ? operand + "_row" : fmt::format("{}_row{}", operand, number);
    if (!taken.contains(name)) return name;
  }
}

}  // namespace

std::optional<Contractions> with_mark_array(const Contractions& contractions, std::size_t step, std::size_t factor) {
  const Contraction& reading = contractions.steps[step];
  const ScheduledAccess& access = reading.factors[factor];
  const ContractedTensor& operand = contractions.tensors[access.tensor];
  const IndexSet indices = index_set(access.indices);
  if (operand.role != TensorRole::operand || !operand.sparse() || access.indices.size() < 2) return std::nullopt;
  if (members(indices).size() < access.indices.size() || is_mark_array_copy(contractions, step)) return std::nullopt;
  if (contractions.tensors.back().like == access.tensor) return std::nullopt;
  // Both factors of A(i,j) * A(i,j) are read by one walk.
  const bool repeats = std::ranges::any_of(reading.factors, [&](const ScheduledAccess& other) {
    const ContractedTensor& read = contractions.tensors[other.tensor];
    return &other != &access && read.role == TensorRole::operand && read.tensor == operand.tensor && other.indices == access.indices;
  });
  if (repeats) return std::nullopt;
  const bool meets = std::ranges::any_of(reading.factors, [&](const ScheduledAccess& other) {
    return &other != &access && contractions.tensors[other.tensor].sparse() && (index_set(other.indices) & indices) != 0;
  });
  if (!meets) return std::nullopt;
  ContractedTensor copy = ContractedTensor::workspace(unused_name(contractions, operand.name), access.indices, operand.scalar);
  copy.storage = Storage::of_loops;
  Contractions marked = contractions;
  insert_step(marked, step, step, factor, std::move(copy));
  return marked;
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
