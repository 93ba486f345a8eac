#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/loop/print.h"
#include "engine/loop/rules.h"
#include "runtime/level_traits.h"

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
    if (summand.part.divisor == 0) return input_error(fmt::format("definition: {} has {} divided by 0 in its sum", name, of));
    if (!summand.part.is_whole() && !each.is_sum())
      return input_error(fmt::format("definition: {} has a part of {} in its sum, but no extent", name, of));
    if (!summand.part.is_whole() && definition_of(program, summand.index) != nullptr)
      return input_error(fmt::format("definition: {} has a part of the start {} in its sum", name, of));
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
    const IndexDefinition* const given = definition_of(program, summand.index);
    if (given != nullptr && !given->cover)
      return input_error(fmt::format("definition: {} is given by {}, which another index gives", name, of));
  }
  if (Expected<void> summed = check_sum(program, each); !summed) return summed;
  if (each.part.divisor == 0)
    return input_error(fmt::format("definition: {} is {} divided by 0", name, program.indices[each.of[0].index]));
  if (each.part.is_whole() && !each.is_sum())
    return input_error(fmt::format("definition: {} is {} itself", name, program.indices[each.of[0].index]));
  return {};
}

/// Starts of blocks are found where the indices of their sum are bound: cover(j - i, 4) of indices that loops have.
Expected<void> check_cover(const Program& program, const IndexDefinition& each) {
  const std::string& name = program.indices[each.index];
  if (!each.is_sum() || !each.part.is_whole())
    return input_error(fmt::format("definition: {} is a start of blocks, and so is no part of an index, and has an extent", name));
  if (*each.cover > static_cast<std::uint64_t>(furthest_offset))
    return input_error(fmt::format("definition: blocks at {} have {} places: 2^62 is as far as they go", name, *each.cover));
  std::size_t levels = 0;
  for (const Access& access : program.accesses) {
    for (std::size_t level = 0; level < access.indices.size(); ++level) {
      if (access.indices[level] != each.index || access.storage >= program.storages.size()) continue;
      const std::vector<Level>& kinds = program.storages[access.storage].levels;
      if (++levels > 1) return input_error(fmt::format("definition: {} is a start at two levels: each finds its own", name));
      if (level >= kinds.size()) continue;  // the rule "binding"
      if (!is_compressed(kinds[level].kind) && !(level > 0 && has_one_entry(kinds[level - 1].kind, kinds[level].kind)))
        return input_error(fmt::format("definition: {}: starts at {} stand in a compressed level, or a singleton of its own",
                                       print(program, access), name));
    }
  }
  return {};
}

/// What counts from a start, c = j - b, is known where that is found: at levels below its own.
Expected<void> check_counted(const Program& program, const IndexDefinition& each) {
  const IndexDefinition* const start = start_of(program, each);
  if (start == nullptr) return {};
  const std::string& name = program.indices[each.index];
  const std::string& from = program.indices[start->index];
  if (!each.is_sum()) return input_error(fmt::format("definition: {} counts from {}, but has no extent", name, from));
  std::size_t starts = 0;
  for (const Summand& summand : each.of) {
    const IndexDefinition* const given = definition_of(program, summand.index);
    if (given == nullptr || !given->cover) continue;
    ++starts;
    if (summand.factor != -1) return input_error(fmt::format("definition: {} counts from {} up: {} is taken away once", name, from, from));
  }
  const auto has = [&](const Summand& summand) { return each.is_given_by(summand.index); };
  if (starts > 1 || !std::ranges::all_of(start->of, has))
    return input_error(fmt::format("definition: {} counts from {}, and so from one start, and has the indices that this is found by", name,
                                   from));
  for (const Access& access : program.accesses) {
    const auto found = std::ranges::find(access.indices, start->index);
    if (std::find(access.indices.begin(), found, each.index) != found || (found == access.indices.end() &&
        std::ranges::find(access.indices, each.index) != found))
      return input_error(fmt::format("definition: {}: {} counts from {}, which no level above finds", print(program, access), name, from));
  }
  return {};
}

}  // namespace

Expected<void> check_definitions(const Program& program) {
  for (const IndexDefinition& each : program.definitions)
    if (Expected<void> checked = check_definition(program, each); !checked) return checked;
  for (const IndexDefinition& each : program.definitions) {
    const Expected<void> checked = each.cover ? check_cover(program, each) : check_counted(program, each);
    if (!checked) return checked;
  }
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
