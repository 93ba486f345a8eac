#include "engine/plan/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include "engine/text/trimmed.h"
#include "runtime/text_entries.h"

namespace weft {
namespace {

constexpr MachineConstant constants[] = {
    {"cache_bytes_l1", [](Machine& machine) -> double& { return machine.cache_bytes[0]; }},
    {"cache_bytes_l2", [](Machine& machine) -> double& { return machine.cache_bytes[1]; }},
    {"cache_bytes_l3", [](Machine& machine) -> double& { return machine.cache_bytes[2]; }},
    {"stream_l1", [](Machine& machine) -> double& { return machine.stream[0]; }},
    {"stream_l2", [](Machine& machine) -> double& { return machine.stream[1]; }},
    {"stream_l3", [](Machine& machine) -> double& { return machine.stream[2]; }},
    {"stream_memory", [](Machine& machine) -> double& { return machine.stream[3]; }},
    {"stream_ahead_l2", [](Machine& machine) -> double& { return machine.stream_ahead; }},
    {"gather_l1", [](Machine& machine) -> double& { return machine.gather[0]; }},
    {"gather_l2", [](Machine& machine) -> double& { return machine.gather[1]; }},
    {"gather_l3", [](Machine& machine) -> double& { return machine.gather[2]; }},
    {"gather_memory", [](Machine& machine) -> double& { return machine.gather[3]; }},
    {"line_bytes", [](Machine& machine) -> double& { return machine.line_bytes; }},
    {"register_bytes", [](Machine& machine) -> double& { return machine.register_bytes; }},
    {"range_step", [](Machine& machine) -> double& { return machine.range_step; }},
    {"drive_step", [](Machine& machine) -> double& { return machine.drive_step; }},
    {"merge_step", [](Machine& machine) -> double& { return machine.merge_step; }},
    {"search_base", [](Machine& machine) -> double& { return machine.search_base; }},
    {"search_halving", [](Machine& machine) -> double& { return machine.search_halving; }},
    {"gallop_base", [](Machine& machine) -> double& { return machine.gallop_base; }},
    {"gallop_doubling", [](Machine& machine) -> double& { return machine.gallop_doubling; }},
    {"table_lookup", [](Machine& machine) -> double& { return machine.table_lookup; }},
    {"loop_entry", [](Machine& machine) -> double& { return machine.loop_entry; }},
    {"fiber_entry", [](Machine& machine) -> double& { return machine.fiber_entry; }},
    {"branch_miss", [](Machine& machine) -> double& { return machine.branch_miss; }},
    {"scalar_body", [](Machine& machine) -> double& { return machine.scalar_body; }},
    {"scalar_factor", [](Machine& machine) -> double& { return machine.scalar_factor; }},
    {"fiber_sum", [](Machine& machine) -> double& { return machine.fiber_sum; }},
    {"vector_flop", [](Machine& machine) -> double& { return machine.vector_flop; }},
    {"row_update", [](Machine& machine) -> double& { return machine.row_update; }},
    {"vector_sum", [](Machine& machine) -> double& { return machine.vector_sum; }},
    {"part_stored", [](Machine& machine) -> double& { return machine.part_stored; }},
    {"reset_entry", [](Machine& machine) -> double& { return machine.reset_entry; }},
    {"convert_entry", [](Machine& machine) -> double& { return machine.convert_entry; }},
    {"threads", [](Machine& machine) -> double& { return machine.threads; }},
    {"start_serial", [](Machine& machine) -> double& { return machine.start_serial; }},
    {"start_parallel", [](Machine& machine) -> double& { return machine.start_parallel; }},
};

// A constant that is added to Machine and forgotten here would silently keep its default.
static_assert(std::size(constants) * sizeof(double) == sizeof(Machine));

std::optional<double> positive_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Beyond these bounds prices are no numbers any more.
  constexpr double least = 1e-12, most = 1e15;
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) return std::nullopt;
  return value;
}

}  // namespace

std::span<const MachineConstant> machine_constants() { return constants; }

std::string print(const Machine& machine) {
  Machine copy = machine;
  std::string text;
  for (const MachineConstant& constant : constants) text += fmt::format("{} {}\n", constant.name, constant.of(copy));
  return text;
}

Expected<Machine> parse_machine(std::string_view text, const std::string& name) {
  Machine machine;
  std::array<bool, std::size(constants)> given{};
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const auto error = [&](const std::string& what) {
      return input_error(fmt::format("{}:{}: {}; weft calibrate writes a new file", name, number, what));
    };
    const std::size_t space = line.find_first_of(" \t");
    const std::string_view key = line.substr(0, space);
    const auto constant = std::ranges::find(constants, key, &MachineConstant::name);
    if (constant == std::end(constants)) return error(fmt::format("{} is no constant of the cost model", quoted(key)));
    bool& known = given[static_cast<std::size_t>(constant - std::begin(constants))];
    if (known) return error(fmt::format("{} is given twice", key));
    const std::string_view value = space == std::string_view::npos ? "" : trimmed(line.substr(space));
    const auto parsed = positive_number(value);
    if (!parsed) return error(fmt::format("{} wants a number above 0, from 1e-12 to 1e15, not {}", key, quoted(value)));
    if (key == "threads" && *parsed < 1) return error(fmt::format("threads wants a number from 1 on, not {}", quoted(value)));
    constant->of(machine) = *parsed;
    known = true;
  }
  const auto missing = static_cast<std::size_t>(std::ranges::find(given, false) - given.begin());
  if (missing == given.size()) return machine;
  return input_error(fmt::format("{}:{}: {} is missing; weft calibrate writes a new file", name, number + 1, constants[missing].name));
}

}  // namespace weft
