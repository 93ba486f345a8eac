// Random networks over operands whose values change between runs, pinned to layouts that they are not given in: kernels that read the
// values where they are mean what their networks mean, whichever way the values change.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "long_ranges.h"
#include "oracle/built_network.h"
#include "oracle/stretched.h"
#include "runs.h"
#include "runtime/tensor_facts.h"
#include "weft/engine.h"
#include "weft/host.h"

namespace placed_values_differential_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;

const std::vector<std::vector<std::string>> pinned_formats = {
    {"s", "u"},
    {"ss", "ss:1,0", "ds", "ds:1,0", "uq", "uq:1,0", "sd:1,0", "bs:1,0"},
    {"sss:2,1,0", "sss:1,0,2", "dss:2,0,1", "uqq:1,2,0", "uqq", "suq:2,0,1", "dds:1,0,2", "ssd:1,2,0"},
    {"ssss:3,2,1,0", "uqqq:2,3,0,1", "dsss:1,0,3,2"}};

std::optional<Format> pinned_format(const RandomOperand& operand, Dice& dice) {
  const std::size_t order = operand.extents.size();
  if (order == 0 || order > pinned_formats.size() || operand.format.layout) return std::nullopt;
  Format format = *parse_format(dice.pick(pinned_formats[order - 1]));
  format.scalar = operand.format.scalar;
  if (dice.percent(30)) widen(format, dice);
  store_sparsely(format, operand.extents, dice);
  return format;
}

/// Other values at the same coordinates.
void redraw_values(RandomNetwork& random, Dice& dice) {
  for (RandomOperand& operand : random.operands)
    for (auto& [coordinates, value] : operand.entries) value = static_cast<double>(dice.below(7)) - 3;
}

std::string defect(const Expected<Tensors>& results, const CoordinateMap& expected) {
  return results ? wrong_result(results->at("R"), expected) : results.error().message;
}

}  // namespace

TEST_CASE("values that are read through places, and change in every way, change results as they should") {
  const Runs drawn = runs(is_sanitized() ? 60 : 500);
  std::uint64_t read_through = 0;
  std::uint64_t explained = 0;
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    Dice dice(seed);
    RandomNetwork random = stretched(random_network(dice, {.factors = 3, .order = 3, .indices = 5, .extent = 7}), seed);
    const std::string text = reproduction(random);
    CAPTURE(seed);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    const auto made = built(random, Resources());
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    CompileOptions options;
    options.calls = dice.percent(50) ? 1 : 1000;
    options.specialize = dice.pick(std::vector<Specialization>{Specialization::automatic, Specialization::generic,
                                                               Specialization::profiled, Specialization::baked});
    Tensors tensors = made->tensors;
    std::string said;
    for (const RandomOperand& operand : random.operands) {
      if (dice.percent(70)) options.changing.push_back(operand.name);
      if (dice.percent(30)) continue;
      const auto format = pinned_format(operand, dice);
      if (!format || !convert(tensors.at(operand.name), *format, Resources(), "T")) continue;  // a singleton that entries do not fit into
      options.formats[operand.name] = *format;
      said += operand.name + " as " + format->text() + "; ";
    }
    CAPTURE(said);
    EngineOptions engine_options;
    engine_options.resources.threads = Threads(dice.percent(50) ? 1 : 2);
    engine_options.checked = dice.percent(20);
    const bool is_long = has_long_extents(made->network);
    if (is_long) engine_options.resources.memory = Memory(memory_over_long_extents);
    const auto engine = Engine::create(engine_options);
    REQUIRE(engine);
    const auto kernel = engine->compile(random.expression, tensors, options);
    if (is_long && !kernel && kernel.error().kind == ErrorKind::resource) continue;
    REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
    explained += kernel->report().explanation.find("read through their places") != std::string::npos;
    Bindings bindings;
    for (const auto& [name, tensor] : tensors) bindings.set(name, tensor);
    const Patience patience;
    const auto first = kernel->run(bindings, patience.over());
    if (is_long && !first && first.error().kind == ErrorKind::cancelled) continue;
    CHECK(defect(first, expected_result(random)) == "");
    for (unsigned round = 0; round < 4; ++round) {
      CAPTURE(round);
      redraw_values(random, dice);
      const auto other = built(random, Resources());
      REQUIRE(other);
      bool bound_otherwise = false;
      for (auto& [name, tensor] : tensors) {
        const Tensor& given = other->tensors.at(name);
        REQUIRE(given.values().size_bytes() == tensor.values().size_bytes());
        const bool silent = std::ranges::find(options.changing, name) != options.changing.end();
        if (dice.percent(50)) {
          std::ranges::copy(given.values().as<const std::byte>(), TensorParts::bytes_of_values(tensor).begin());
          if (!silent) tensor.values_changed();
        } else if (dice.percent(50)) {
          tensor = *same_pattern(tensor, given.values(), given.format().scalar);
          bindings.set(name, tensor);
        } else {  // in the layout that the kernel reads, or in another one
          const auto format = pinned_format(*std::ranges::find(random.operands, name, &RandomOperand::name), dice);
          const auto pinned = options.formats.find(name);
          const auto moved = convert(given, pinned != options.formats.end() && dice.percent(50) ? pinned->second
                                            : format                                           ? *format
                                                                                               : given.format(),
                                     Resources(), name);
          bindings.set(name, moved ? *moved : given);
          tensor = given;
          bound_otherwise = true;
        }
      }
      if (bound_otherwise) {
        CHECK(defect(kernel->run(bindings), expected_result(random)) == "");
        for (const auto& [name, tensor] : tensors) bindings.set(name, tensor);
      }
      CHECK(defect(kernel->run(bindings), expected_result(random)) == "");
      CHECK(defect(kernel->run(bindings), expected_result(random)) == "");
    }
    read_through += engine->counters().layouts_read_through;
  }
  MESSAGE(explained << " kernels read values through places, " << read_through << " times when these had changed");
  if (drawn.count >= 60) CHECK(explained > drawn.count / 8);
}

}  // namespace placed_values_differential_test
