// Operands in blocks, diagonals, bands and triangles that are located through their layouts, wherever the planner would have
// them read otherwise: random products with other sparse factors, by sampled schedules, interpreted and compiled; and as the engine
// chooses.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "compiled_runs.h"
#include "engine/exposed.h"
#include "engine/loop/walk.h"
#include "engine/plan/estimate/operand_facts.h"
#include "engine/plan/schedule/check.h"
#include "engine/prove/kernel_proofs.h"
#include "long_ranges.h"
#include "oracle/built_network.h"
#include "oracle/random_layout.h"
#include "oracle/random_machine.h"
#include "oracle/sample_schedules.h"
#include "oracle/sparse_result.h"
#include "oracle/stretched.h"
#include "runs.h"
#include "weft/engine.h"

namespace located_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;

/// Indices by letter; operands of a capital letter that one in two is stored in blocks.
struct Form {
  std::string expression;
  std::vector<std::pair<std::string, std::string>> factors;
  std::string result;
};

const std::vector<Form> forms = {
    {"R() = A(i,j) * B(i,j)", {{"A", "ij"}, {"B", "ij"}}, ""},
    {"R(i) = A(i,j) * B(i,j) * x(j)", {{"A", "ij"}, {"B", "ij"}, {"x", "j"}}, "i"},
    {"R(i) = A(i,j) * B(j,i)", {{"A", "ij"}, {"B", "ji"}}, "i"},
    {"R(i,j) = A(i,j) * B(i,j)", {{"A", "ij"}, {"B", "ij"}}, "ij"},
    {"R(j,i) = 2 * A(i,j) * B(i,j)", {{"A", "ij"}, {"B", "ij"}}, "ji"},
    {"R(i,r) = A(i,j) * B(i,j) * X(j,r)", {{"A", "ij"}, {"B", "ij"}, {"X", "jr"}}, "ir"},
    {"R(i) = A(i,j) * B(i,j) * C(i,j)", {{"A", "ij"}, {"B", "ij"}, {"C", "ij"}}, "i"},
    {"R(i,k) = A(i,j) * B(j,k)", {{"A", "ij"}, {"B", "jk"}}, "ik"},
    {"R(i,k) = A(i,j) * B(j,k) * M(i,k)", {{"A", "ij"}, {"B", "jk"}, {"M", "ik"}}, "ik"},
    {"R(i,j) = M(i,j) * X(i,r) * B(j,r)", {{"M", "ij"}, {"X", "ir"}, {"B", "jr"}}, "ij"},
    {"R() = x(i) * B(i,j) * y(j)", {{"x", "i"}, {"B", "ij"}, {"y", "j"}}, ""},
    {"R(i) = T(i,j,k) * B(j,k)", {{"T", "ijk"}, {"B", "jk"}}, "i"},
    {"R(i,k) = T(i,j,k) * B(i,j,k) * x(j)", {{"T", "ijk"}, {"B", "ijk"}, {"x", "j"}}, "ik"},
    {"R() = v(i) * w(i)", {{"v", "i"}, {"w", "i"}}, ""},
    {"R(i) = B(i,i) * v(i)", {{"B", "ii"}, {"v", "i"}}, "i"}};

const std::vector<std::vector<std::string>> block_layouts = {
    {},
    {"(i) -> (i/2:d, i%2:d)", "(i) -> (i/3:s, i%3:d)", "(i) -> (i/4:s, i%4/2:s, i%2:d)", "(i) -> (i/2:h, i%2:d)"},
    {"bcsr(2,2)", "bcsr(3,1)", "bcsr(2,3)", "bcsr(4,4)", "bcsr(1,3)", "csb(2)", "hicoo(2)", "(i,j) -> (j/2:s, i:d, j%2:d)",
     "(i,j) -> (j/3:d, i/2:s, j%3:d, i%2:d)", "(i,j) -> (i/2:d, j/2:d, i%2:d, j%2:d)", "(i,j) -> (i:d, j/2:b, j%2:d)",
     "(i,j) -> (i:d, j/3:h, j%3:s)", "(i,j) -> (i/4:d, j/2:s, i%4/2:s, i%2:d, j%2:d)"},
    {"hicoo(2)", "(i,j,k) -> (i/2:s, j/2:s, k:s, i%2:d, j%2:d)", "(i,j,k) -> (k:d, i/3:s, j:s, i%3:d)"}};

/// Levels that are sums of indices, and the entries that they have places for: j - i from `least` to `most`.
struct SummedLayout {
  std::string text;
  std::int64_t least = -99;
  std::int64_t most = 99;
};

const std::vector<SummedLayout> summed_layouts = {
    {"dia"}, {"(i,j) -> (j-i:s, j:d)"}, {"(i,j) -> (i-j:s, i:d)"}, {"(i,j) -> (i+j:s, i:d)"}, {"(i,j) -> (i:d, j-i:s)"},
    {"(i,j) -> (j/2-i/2:s, i/2:d, i%2:d, j%2:d)"}, {"(i,j) -> (i/3:d, j/2-i/3:s unordered, i%3:d, j%2:d)"},
    {"(i,j) -> (j-i:s desc, j:d)"}, {"(i,j) -> (i:d, j-i:s desc)"}, {"(i,j) -> (i:d, j+i:s unordered)"},
    {"(i,j) -> (j:s, j-i:s)"}, {"(i,j) -> (j-i:d, i:s)"}, {"(i,j) -> (i+2*j:h, j:d)"}, {"(i,j) -> (i:d, j-i:b)"},
    {"(i,j) -> (j-i:u, j:q)"}, {"(i,j) -> (i/2:d, j-i:s, i%2:d)"}, {"band(2,1)", -2, 1}, {"band(0,0)", 0, 0}, {"band(1,3)", -1, 3},
    {"(i,j) -> (j:d, i-j:d(-1..3))", -2, 1}, {"lower", -99, 0}, {"upper", 0, 99}, {"(i,j) -> (i:s, j:d(..i+1))", -99, 0},
    {"(i,j) -> (j:d, i:d(j..))", -99, 0}, {"(i,j) -> (i:d, j:d(i..i+3))", 0, 2}};

/// Coordinates that fall in a fiber, or come in no order, and slots.
const std::vector<std::vector<std::string>> layouts_in_other_orders = {
    {},
    {"(i) -> (i:s desc)", "(i) -> (i/3:s desc, i%3:d)", "(i) -> (i:s unordered)"},
    {"(i,j) -> (i:d, j:s desc)", "(i,j) -> (i:s desc, j:s desc)", "(i,j) -> (j:d, i:s desc)", "(i,j) -> (i/2:d, j/2:s desc, i%2:d, j%2:d)",
     "(i,j) -> (i:s, j:s desc)", "(i,j) -> (j:s desc, i:s)", "(i,j) -> (i:d, j:s unordered)", "(i,j) -> (i:s unordered, j:s<64> unordered)",
     "(i,j) -> (j:s desc, i:s unordered)", "(i,j) -> (i:d, *:d, j:q unordered)", "(i,j) -> (i:d, j/4:d, *:d(4), j%4:q)",
     "(i,j) -> (i:d, j/3:s, *:v, j%3:q unordered)", "(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)",
     "sell(2)", "(i,j) -> (i/3:d, *:d, i%3:d, j:q)", "(i,j) -> (j/2:s, *:v, i/2:d, j%2:d, i%2:q)"},
    {"(i,j,k) -> (i:d, j:s desc, k:s desc)", "(i,j,k) -> (k:s desc, i:s, j:s)", "(i,j,k) -> (i:d, j:s unordered, k:s desc)",
     "(i,j,k) -> (i/2:s, *:d, j:q, i%2:d, k:s unordered)"}};

/// Blocks that begin anywhere: starts that cover a coordinate, and the places counted from them.
const std::vector<std::vector<std::string>> block_starts = {
    {},
    {"(i) -> (b:s, i-b:d(3))", "(i) -> (b:s, i-b:v)"},
    {"bcsr(2,2,unaligned)", "bcsr(3,4,unaligned)", "vbl", "skyline", "(i,j) -> (i:d, b:s, j-b:d(2))", "(i,j) -> (i:s, b:s, j-b:v)",
     "(i,j) -> (j/2:s, b:s, j%2:d, i-b:d(3))", "(i,j) -> (j:d, b:s, i-b:v)", "(i,j) -> (b:s, i:d, j-b:d(3))", "(i,j) -> (j:d, b:q, i-b:v)",
     "(i,j) -> (i/2:d, b:s desc, i%2:d, j-b:d(3))", "(i,j) -> (i:d, b:s unordered, j-b:v)", "(i,j) -> (i:s desc, b:s desc, j-b:v)",
     "(i,j) -> (i:d, b:s, j-i-b:d(2))", "(i,j) -> (j:s, b:s desc, i+2*j-b:v)", "(i,j) -> (i:d, b:s unordered, i-j-b:d(3))",
     "(i,j) -> (i:d, b:s, j/2-b:d(2), j%2:d)", "(i,j) -> (i/2:d, b:s desc, i%2:d, j/3-i/2-b:v, j%3:d)"},
    {"(i,j,k) -> (i:s, j:s, b:s, k-b:v)", "(i,j,k) -> (j:d, i:s, b:s, k-i-b:v)", "(i,j,k) -> (i:d, b:s, j-b:d(2), k:s)"}};

const std::vector<std::vector<std::string>> plain_formats = {
    {}, {"d", "s", "b", "h"}, {"dd", "ds", "ss", "ds:1,0", "uq", "sd", "dh", "db"}, {"ddd", "sss", "uqq", "dss:2,0,1", "suq", "ssd"}};

const std::vector<std::vector<std::string>> sparse_formats = {
    {}, {"d", "s", "s"}, {"ds", "ss", "ds:1,0", "sd", "ss:1,0"}, {"dss", "sss", "dss:2,0,1", "ssd", "sds"}};

/// With the layouts of some operands, whose entries have places there.
RandomNetwork drawn(Dice& dice, std::uint64_t seed, std::map<std::string, std::string>& layouts) {
  std::map<std::string, SummedLayout> sums;
  const Form& form = dice.pick(forms);
  RandomNetwork random;
  random.expression = form.expression;
  random.coefficient = form.expression.find("2 *") != std::string::npos ? 2 : 1;
  std::map<char, std::uint64_t> extents;
  for (const auto& [name, indices] : form.factors) {
    for (const char index : indices)
      if (!extents.contains(index)) extents[index] = dice.percent(8) ? dice.below(2) : 1 + dice.below(form.factors.size() > 2 ? 9 : 14);
  }
  for (const auto& [name, indices] : form.factors) {
    RandomOperand operand;
    operand.name = name;
    RandomFactor factor{random.operands.size(), {}};
    for (const char index : indices) {
      operand.extents.push_back(extents.at(index));
      factor.indices.push_back(std::string(1, index));
    }
    operand.format = *parse_format(dice.pick(plain_formats[indices.size()]));
    draw_entries(operand, operand.format.all_dense() ? 100 : 5 + dice.below(70), dice);
    if (operand.extents.size() == 2 && dice.percent(45)) {
      sums[name] = dice.pick(summed_layouts);
    }
    random.operands.push_back(std::move(operand));
    random.factors.push_back(std::move(factor));
  }
  for (const char index : form.result) random.result.push_back(std::string(1, index));
  random = stretched(std::move(random), seed);
  for (const auto& [name, summed] : sums) {
    layouts[name] = summed.text;
    std::erase_if(std::ranges::find(random.operands, name, &RandomOperand::name)->entries, [&](const auto& entry) {
      const std::int64_t diagonal = static_cast<std::int64_t>(entry.first[1]) - static_cast<std::int64_t>(entry.first[0]);
      return diagonal < summed.least || diagonal > summed.most;
    });
  }
  return random;
}

/// Nothing where the entries do not fit into the layout, or the memory has no room for it over a long extent.
std::optional<Tensor> in_layout(const Tensor& tensor, const std::map<std::string, std::string>& layouts, const std::string& name,
                                Dice& dice, const Resources& resources) {
  std::mt19937 random(static_cast<unsigned>(dice.below(1U << 30)));
  const std::size_t order = tensor.order();
  const auto drawn = layouts.find(name);
  const std::string blocks = dice.percent(75) ? dice.pick(block_layouts[order]) : random_layout(random, order);
  const std::string starts = dice.pick(block_starts[order]);
  const std::string other = dice.pick(layouts_in_other_orders[order]);
  const std::string text = drawn != layouts.end() ? drawn->second : dice.percent(30) ? starts : dice.percent(35) ? other : blocks;
  auto format = parse_format(text);
  if (!format) return std::nullopt;
  auto stored = convert(tensor, *format, resources, "B");
  return stored ? std::optional(std::move(*stored)) : std::nullopt;
}

Judge equals(const CoordinateMap& expected) {
  return [&expected](const Tensor& tensor, const Resources& resources) {
    const auto result = entries_of(tensor, resources);
    return result ? differences(*result, expected) : result.error().message;
  };
}

/// The network over whole indices, with the operands as it reads them; nothing where one is dense over a long extent there.
std::optional<BuiltNetwork> located(const Exposure& exposure, const std::map<std::string, Tensor>& tensors, const Resources& resources) {
  BuiltNetwork built;
  built.network = exposure.network;
  built.entries.resize(built.network.tensors.size());
  for (TensorId id = 0; id < built.network.tensors.size(); ++id) {
    const TensorDeclaration& declared = built.network.tensors[id];
    if (declared.is_result) continue;
    auto read = read_operand(exposure, id, tensors.at(declared.name), false, resources);
    if (!read && read.error().kind == ErrorKind::resource && has_long_extents(exposure.given)) return std::nullopt;
    REQUIRE_MESSAGE(read, (read ? "" : read.error().message));
    CHECK(read->tensor.extents() == declared.extents);
    const auto stored = built.tensors.emplace(declared.name, std::move(read->tensor)).first;
    built.facts.push_back(operand_facts(stored->second, resources));
    built.facts.back().tensor = id;
    built.facts.back().pinned = exposure.tensors[id].located;
    built.entries[id] = *entries_of(stored->second, resources);
  }
  return built;
}

/// The same network over every place that operands have which are not stored as they were drawn, zeros included.
RandomNetwork with_all_places(RandomNetwork random, const std::map<std::string, Tensor>& tensors, const Resources& resources) {
  for (RandomOperand& operand : random.operands) {
    const Tensor& tensor = tensors.at(operand.name);
    if (tensor.format().text() == operand.format.text()) continue;
    operand.format = sparse_format(operand.extents.size());
    const Tensor places = *build(*entries(tensor, false, resources), operand.format, resources, "B");
    const CoordinateMap entries = *entries_of(places, resources);
    operand.entries.assign(entries.begin(), entries.end());
  }
  return random;
}

/// Whether a level whose coordinates fall drives a loop.
bool drives_downwards(const loop::Program& program) {
  bool found = false;
  (void)loop::walk(program, [&](const loop::Statement& statement, const loop::Path& path) -> Expected<void> {
    for (const loop::Step& step : loop::steps_of(statement)) {
      const loop::Storage& storage = program.storages[program.accesses[step.access].storage];
      found = found || (step.use == loop::Use::drive && storage.falls(path.bound[step.access].size()));
    }
    return {};
  });
  return found;
}

Resources over_long_extents() {
  Resources resources;
  resources.memory = Memory(memory_over_long_extents);
  return resources;
}

Engine engine_with(const Resources& resources) {
  EngineOptions options;
  options.resources = resources;
  auto engine = Engine::create(options);
  REQUIRE(engine);
  return std::move(*engine);
}

/// Kernels of every fourth network are checked, of every fourth strict about the order of sums.
struct Pipelines {
  Pipeline usual = pipeline_with(false, false), checked = pipeline_with(true, false), strict = pipeline_with(false, true);

  const Pipeline& of(std::uint64_t seed) const { return seed % 4 == 1 ? checked : seed % 4 == 2 ? strict : usual; }
};

/// The plan of a network over levels, and samples of its schedules, give the expected entries; `see` is told their programs.
void check_schedules(const Pipelines& pipelines, const BuiltNetwork& over, const CoordinateMap& expected, std::uint64_t seed,
                     unsigned samples, const std::function<void(const loop::Program&)>& see) {
  REQUIRE(check(over.network));
  PlanOptions options = within_memory(over.network);
  options.machine = random_machine(seed);
  const Problem problem{over.network, over.facts, options};
  const auto plan = pipelines.usual.plan(over.network, over.facts, options);
  if (is_left_out(plan, over)) return;
  std::vector<Schedule> schedules = sample_schedules(problem, samples, seed);
  schedules.push_back(plan->schedule);
  for (const Schedule& schedule : schedules) {
    if (is_left_out(schedule, over)) continue;
    const auto meaning = interpreted(schedule, over);
    REQUIRE_MESSAGE(meaning, (meaning ? "" : meaning.error().message + "\nin\n" + print(schedule, over.network)));
    CHECK(differences(*meaning, expected) == "");
    Plan sampled = *plan;
    sampled.schedule = schedule;
    const Pipeline& pipeline = pipelines.of(seed);
    options.strict_fp = &pipeline == &pipelines.strict;
    if (options.strict_fp && !check(schedule, Problem{over.network, over.facts, options})) continue;
    CHECK(defect_of_runs(pipeline, cut_for_threads(sampled, over, options), {{1, false}, {3, false}}, over, equals(expected)) == "");
    const auto lowered = lower(schedule, over.network, {});
    for (std::size_t nest = 0; lowered && nest < lowered->size(); ++nest) see((*lowered)[nest].program);
  }
}

/// The explanation of the kernel that an engine makes, whose result is as expected; none where long extents ask for more memory or time
/// than a test has.
std::optional<std::string> explained_run(const Engine& engine, const RandomNetwork& random, const Network& network,
                                         const std::map<std::string, Tensor>& tensors, const CoordinateMap& expected) {
  const auto kernel = engine.compile(random.expression, tensors, {});
  const bool is_long = has_long_extents(network);
  if (is_long && !kernel && kernel.error().kind == ErrorKind::resource) return std::nullopt;
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
  Bindings bindings;
  for (const auto& [name, tensor] : tensors) bindings.set(name, tensor);
  const Patience patience;
  const auto results = kernel->run(bindings, patience.over());
  const bool is_refused = !results && (results.error().kind == ErrorKind::cancelled || results.error().kind == ErrorKind::resource);
  if (is_long && is_refused) return std::nullopt;
  REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
  CHECK(wrong_result(results->at("R"), expected) == "");
  return kernel->report().explanation;
}

}  // namespace

TEST_CASE("operands located through their layouts change no result") {
  const Runs all = runs(is_sanitized() ? 60 : 400);
  const Pipelines pipelines;
  const Resources resources = over_long_extents();
  const Engine engine = engine_with(resources);
  std::size_t forced = 0;
  std::size_t chosen = 0;
  std::size_t followed = 0;
  std::size_t summed = 0;
  std::size_t covered = 0;
  std::size_t falling = 0, driven = 0, scanned = 0;
  std::size_t structures = 0;
  for (std::uint64_t seed = all.first; seed < all.first + all.count; ++seed) {
    Dice dice(seed);
    std::map<std::string, std::string> layouts;
    const RandomNetwork random = drawn(dice, seed, layouts);
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    std::string said = fmt::format("seed {}: {}", seed, random.expression);
    std::map<std::string, Tensor> tensors = made->tensors;
    for (auto& [name, tensor] : tensors) {
      if (name != "B" && !dice.percent(25)) continue;
      if (auto stored = in_layout(tensor, layouts, name, dice, resources)) tensor = std::move(*stored);
    }
    for (const auto& [name, tensor] : tensors) said += fmt::format("; {} {}", name, tensor.format().text());
    CAPTURE(said);
    const Watchdog watchdog(said, seconds_per_network);
    const CoordinateMap expected = expected_result(random);

    std::map<std::string, const Tensor*> given;
    for (const auto& [name, tensor] : tensors) given[name] = &tensor;
    const std::vector<StoredAs> stored = stored_as(made->network, given, {});
    std::set<TensorId> blocked;
    for (TensorId id = 0; id < made->network.tensors.size(); ++id)
      if (stored[id].format && stored[id].format->layout && dice.percent(80)) blocked.insert(id);
    const auto exposure = exposed(made->network, stored, Exposing::all, blocked);
    // Where others cut an index of the result, that is another tensor.
    const TensorId result = made->network.assignments.front().result.tensor;
    const bool any = exposure && !exposure->is_exposed(result) && std::ranges::any_of(exposure->tensors, &ExposedTensor::located);
    const std::optional<BuiltNetwork> over = any ? located(*exposure, tensors, resources) : std::nullopt;
    if (over) {
      ++forced;
      summed += std::ranges::any_of(exposure->tensors, [](const ExposedTensor& one) {
        return std::ranges::any_of(one.sums, [](const ModeSum& sum) { return !sum.is_whole(); });
      });
      covered += std::ranges::any_of(exposure->tensors, [](const ExposedTensor& one) {
        return std::ranges::any_of(one.sums, [](const ModeSum& sum) { return sum.cover.has_value(); });
      });
      falling += std::ranges::any_of(exposure->tensors, [](const ExposedTensor& one) { return one.falling != 0; });
      scanned += std::ranges::any_of(exposure->tensors, [](const ExposedTensor& one) { return one.scanned != 0; });
      check_schedules(pipelines, *over, expected, seed, 3, [&](const loop::Program& program) {
        followed += print(program).find("(gallop)") != std::string::npos;
        driven += drives_downwards(program);
      });
      // Beyond a band, whose levels are dense, there is no entry either.
      PlanOptions options = within_memory(over->network);
      options.result_formats["R"] = sparse_format(random.result.size());
      const auto sparse = random.result.empty() ? std::unexpected(Error{}) : pipelines.usual.plan(over->network, over->facts, options);
      if (sparse && !is_left_out(sparse, *over) && !has_long_extents(made->network)) {
        ++structures;
        const CoordinateMap places = structural_product(with_all_places(random, tensors, resources));
        const Judge has_structure = [&](const Tensor& tensor, const Resources& with) {
          const auto entries = entries_of(tensor, with);
          return entries ? structural_differences(*entries, places) : entries.error().message;
        };
        const Plan cut = cut_for_threads(*sparse, *over, options);
        CHECK(defect_of_runs(pipelines.usual, cut, {{1, false}, {3, false}}, *over, has_structure) == "");
      }
    }

    const auto explained = explained_run(engine, random, made->network, tensors, expected);
    chosen += explained && explained->find(" located at (") != std::string::npos;
  }
  MESSAGE(forced << " networks with located operands, " << chosen << " chosen, " << summed << " at sums, " << covered
                 << " by covering searches, " << falling << " that fall, " << scanned << " in no order, " << driven
                 << " programs that these drive downwards, " << followed << " with cursors");
  if (all.count >= 60) CHECK(forced > all.count / 3);
  if (all.count >= 60) CHECK(summed > all.count / 20);
  if (all.count >= 60) CHECK(covered > all.count / 20);
  if (all.count >= 60) CHECK(falling > all.count / 60);
  if (all.count >= 60) CHECK(scanned > all.count / 60);
  if (all.count >= 60) CHECK(driven > all.count / 60);
  if (all.count >= 60) CHECK(structures > all.count / 10);
  if (all.count >= 60) CHECK(chosen > all.count / 20);
}

namespace {

/// Entries of a tensor by the digits that the planned network has of its modes.
CoordinateMap in_digits(const CoordinateMap& entries, const ExposedTensor& exposed) {
  if (exposed.parts.empty()) return entries;
  CoordinateMap found;
  for (const auto& [coordinates, value] : entries) {
    std::vector<std::uint64_t> digits;
    for (const ModePart& part : exposed.parts) digits.push_back(part.of_mode().coordinate(coordinates[part.mode]));
    found[digits] = value;
  }
  return found;
}

}  // namespace

TEST_CASE("plain operands looked up at sums of digits change no result") {
  const Runs all = runs(is_sanitized() ? 60 : 400);
  const Pipelines pipelines;
  const Resources resources = over_long_extents();
  const Engine engine = engine_with(resources);
  std::size_t forced = 0;
  std::size_t kept = 0;
  std::size_t chosen = 0;
  ProofBook book(nullptr);
  for (std::uint64_t seed = all.first; seed < all.first + all.count; ++seed) {
    Dice dice(seed + 1'000'000);
    std::map<std::string, std::string> layouts;
    const RandomNetwork random = drawn(dice, seed, layouts);
    if (random.result.empty() && dice.percent(50)) continue;
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    std::string said = fmt::format("seed {}: {}", seed, random.expression);
    std::map<std::string, Tensor> tensors = made->tensors;
    for (auto& [name, tensor] : tensors) {
      const bool cuts = name == "B" || dice.percent(20);
      const auto format = parse_format(cuts ? dice.pick(block_layouts[tensor.order()]) : dice.pick(sparse_formats[tensor.order()]));
      REQUIRE(format);
      if (auto stored = convert(tensor, *format, resources, name)) tensor = std::move(*stored);
      said += fmt::format("; {} {}", name, tensor.format().text());
    }
    CAPTURE(said);
    const Watchdog watchdog(said, seconds_per_network);
    const CoordinateMap expected = expected_result(random);
    std::map<std::string, const Tensor*> given;
    for (const auto& [name, tensor] : tensors) given[name] = &tensor;
    const std::vector<StoredAs> stored = stored_as(made->network, given, {});
    std::set<TensorId> looked_up = may_be_at_digits(made->network, stored);
    if (looked_up.size() > 1 && dice.percent(30)) looked_up.erase(looked_up.begin());
    const auto exposure = exposed(made->network, stored, Exposing::all, looked_up);
    const TensorId result = made->network.assignments.front().result.tensor;
    // The interpreter goes over all of a long range.
    const bool any = exposure && !has_long_extents(made->network) && std::ranges::any_of(exposure->tensors, &ExposedTensor::at_digits);
    const std::optional<BuiltNetwork> over = any ? located(*exposure, tensors, resources) : std::nullopt;
    if (over) {
      ++forced;
      const CoordinateMap digits = in_digits(expected, exposure->tensors[result]);
      check_schedules(pipelines, *over, digits, seed, 4, [&](const loop::Program& program) {
        if (print(program).find("(gallop ") == std::string::npos) return;
        ++kept;
        const auto proven = check_proofs(program, book);
        CHECK_MESSAGE(proven, (proven ? "" : proven.error().message + "\nin\n" + print(program)));
      });
    }
    const auto explained = explained_run(engine, random, made->network, tensors, expected);
    chosen += explained && explained->find("looked up at sums of digits") != std::string::npos;
  }
  MESSAGE(forced << " networks with operands at digits, " << chosen << " chosen, " << kept << " programs with kept fingers");
  if (all.count >= 60) CHECK(forced > all.count / 6);
  if (all.count >= 60) CHECK(kept > all.count / 20);
}

TEST_CASE("located operands: absent entries annihilate NaN and infinities, stored zeros do not") {
  const Runs all = runs(is_sanitized() ? 30 : 150);
  const auto engine = Engine::create({});
  REQUIRE(engine);
  std::size_t met = 0;
  for (std::uint64_t seed = all.first; seed < all.first + all.count; ++seed) {
    Dice dice(seed);
    const std::uint64_t rows = 1 + dice.below(9), columns = 1 + dice.below(12);
    const auto scattered = [&](const char* name, const char* format) {
      RandomOperand operand;
      operand.name = name;
      operand.extents = {rows, columns};
      operand.format = *parse_format(format);
      draw_entries(operand, 10 + dice.below(60), dice);
      return *tensor_of(operand, Resources());
    };
    std::map<std::string, Tensor> plain;
    plain["A"] = scattered("A", "ds");
    const Tensor given = scattered("B", "ds");
    const std::string text = dice.percent(50) ? dice.pick(layouts_in_other_orders[2]) : dice.pick(block_starts[2]);
    const auto laid_out = convert(given, *parse_format(text), Resources(), "B");
    if (!laid_out) continue;
    // The places of the layout, zeros of it among them, as entries of plain levels.
    plain["B"] = *build(*entries(*laid_out, false, Resources()), sparse_format(2), Resources(), "B");
    std::vector<double> x(columns);
    for (double& each : x) each = dice.pick(std::vector<double>{1, 2, -3, std::nan(""), std::numeric_limits<double>::infinity(), 0});
    plain["x"] = *borrow_dense({columns}, x);
    std::map<std::string, Tensor> tensors = plain;
    tensors["B"] = *laid_out;
    CAPTURE(seed);
    CAPTURE(text);
    const bool sums = dice.percent(50);
    const std::string expression = sums ? "R(i) = (A(i,j) * B(i,j) * x(j))" : "R(i,j) = (A(i,j) * B(i,j) * x(j))";
    CompileOptions options;
    options.formats["R"] = sums ? dense_format(1) : sparse_format(2);
    const auto result_of = [&](const std::map<std::string, Tensor>& operands) {
      const auto kernel = engine->compile(expression, operands, options);
      REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
      met += kernel->report().explanation.find(" at (") != std::string::npos;
      Bindings bindings;
      for (const auto& [name, tensor] : operands) bindings.set(name, tensor);
      const auto results = kernel->run(bindings);
      REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
      return *entries_of(results->at("R"), Resources());
    };
    const CoordinateMap found = result_of(tensors), expected = result_of(plain);
    CHECK(found.size() == expected.size());
    for (const auto& [coordinates, value] : expected) {
      const auto there = found.find(coordinates);
      REQUIRE(there != found.end());
      CHECK((there->second == value || (std::isnan(there->second) && std::isnan(value))));
    }
  }
  if (all.count >= 60) CHECK(met > all.count / 10);
}

}  // namespace located_test
