#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/print.h"
#include "engine/loop/rules.h"

namespace weft::loop {
namespace {

Expected<void> check_definition(const Program& program, const IndexDefinition& each) {
  for (const IndexId index : {each.index, each.of})
    if (index >= program.indices.size())
      return input_error(fmt::format("definition: index number {}, there are {}", index, program.indices.size()));
  const std::string& name = program.indices[each.index];
  const std::string& of = program.indices[each.of];
  if (std::ranges::count(program.definitions, each.index, &IndexDefinition::index) > 1)
    return input_error(fmt::format("definition: {} is given twice", name));
  if (each.of >= each.index) return input_error(fmt::format("definition: {} is given by {}, which is not listed before it", name, of));
  if (definition_of(program, each.of) != nullptr)
    return input_error(fmt::format("definition: {} is given by {}, which another index gives", name, of));
  if (each.part.divisor == 0) return input_error(fmt::format("definition: {} is {} divided by 0", name, of));
  if (each.part.is_whole()) return input_error(fmt::format("definition: {} is {} itself", name, of));
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
