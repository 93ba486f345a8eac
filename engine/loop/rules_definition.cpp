#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/loop/print.h"
#include "engine/loop/rules.h"

namespace weft::loop {
namespace {

constexpr std::int64_t largest_factor = std::int64_t{1} << 31;
constexpr std::int64_t furthest_offset = std::int64_t{1} << 62;

/// The sum that an index is a part of.
Expected<void> check_sum(const Program& program, const IndexDefinition& each) {
  const std::string& name = program.indices[each.index];
  if (each.of.empty()) return input_error(fmt::format("definition: {} is a sum of no index", name));
  for (const Summand& summand : each.of) {
    const std::string& of = program.indices[summand.index];
    if (std::ranges::count(each.of, summand.index, &Summand::index) > 1)
      return input_error(fmt::format("definition: {} has {} twice in its sum", name, of));
    if (summand.factor == 0 || summand.factor > largest_factor || summand.factor < -largest_factor)
      return input_error(fmt::format("definition: {} has {} {} times: it is once or more, up to 2^31", name, of, summand.factor));
  }
  if (each.offset > furthest_offset || each.offset < -furthest_offset)
    return input_error(fmt::format("definition: {} is moved by {}: 2^62 is as far as it goes", name, each.offset));
  if (each.is_sum() && *each.extent > static_cast<std::uint64_t>(furthest_offset))
    return input_error(fmt::format("definition: {} is below {}: 2^62 is as far as it goes", name, *each.extent));
  if (!each.is_sum() && (each.of.size() > 1 || each.of.front().factor != 1 || each.offset != 0))
    return input_error(fmt::format("definition: {} is a sum, but has no extent", name));
  return {};
}

Expected<void> check_definition(const Program& program, const IndexDefinition& each) {
  std::vector<IndexId> named{each.index};
  for (const Summand& summand : each.of) named.push_back(summand.index);
  for (const IndexId index : named)
    if (index >= program.indices.size())
      return input_error(fmt::format("definition: index number {}, there are {}", index, program.indices.size()));
  const std::string& name = program.indices[each.index];
  if (std::ranges::count(program.definitions, each.index, &IndexDefinition::index) > 1)
    return input_error(fmt::format("definition: {} is given twice", name));
  for (const Summand& summand : each.of) {
    const std::string& of = program.indices[summand.index];
    if (summand.index >= each.index)
      return input_error(fmt::format("definition: {} is given by {}, which is not listed before it", name, of));
    if (definition_of(program, summand.index) != nullptr)
      return input_error(fmt::format("definition: {} is given by {}, which another index gives", name, of));
  }
  if (Expected<void> summed = check_sum(program, each); !summed) return summed;
  if (each.part.divisor == 0)
    return input_error(fmt::format("definition: {} is {} divided by 0", name, program.indices[each.of[0].index]));
  if (each.part.is_whole() && !each.is_sum())
    return input_error(fmt::format("definition: {} is {} itself", name, program.indices[each.of[0].index]));
  return {};
}

}  // namespace

Expected<void> check_definitions(const Program& program) {
  for (const IndexDefinition& each : program.definitions)
    if (Expected<void> checked = check_definition(program, each); !checked) return checked;
  for (const Access& access : program.accesses) {
    if (access.storage >= program.storages.size() || program.storages[access.storage].role == Role::input) continue;
    for (const IndexId index : access.indices)
      if (definition_of(program, index) != nullptr)
        return input_error(fmt::format("definition: {}: only inputs are located at {}, which another index gives", print(program, access),
                                       program.indices[index]));
  }
  return {};
}

}  // namespace weft::loop
