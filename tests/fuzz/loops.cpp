// Loop programs: the parser and the verifier; what verifies is interpreted and run as checked native code, which must
// agree.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/loop/interpret.h"
#include "engine/loop/program.h"
#include "fuzz/target.h"
#include "oracle/dice.h"
#include "tests/files/loop_case.h"
#include "tests/unit/codegen/jit_run.h"

namespace weft::fuzz {
namespace loop_programs {
namespace {

using namespace weft::loop;

constexpr std::uint64_t most_iterations = 2000;
constexpr std::uint32_t usual_words = 16, most_words = 2000;  // of coefficients

/// How many levels are above the trailing dense ones.
std::size_t sparse_levels(const Storage& storage) {
  std::size_t count = storage.levels.size();
  while (count > 0 && storage.levels[count - 1].kind == LevelKind::dense) --count;
  return count;
}

/// Whether a singleton needs exactly one entry below every position above it: drawn tensors rarely have that.
bool wants_one_each(const Storage& storage) {
  bool repeats = false;
  for (const Level& level : storage.levels) {
    if (level.kind == LevelKind::singleton && !repeats) return true;
    if (level.kind != LevelKind::singleton) repeats = level.kind == LevelKind::compressed_nonunique;
  }
  return false;
}

/// Extents of 1 to 3, those that facts state, and tensors of a share of the entries: whatever follows from the
/// program's text; `words` of coefficients. Nothing where it is too large to try or has facts that such tensors do not
/// satisfy.
std::optional<Interpretation> values_for(const Program& program, std::uint32_t words, test::Dice& dice) {
  std::vector<std::uint64_t> extents(program.indices.size());
  for (std::uint64_t& extent : extents) extent = 1 + dice.below(3);
  std::vector<StorageId> full;
  for (const Fact& fact : program.facts) {
    if (std::holds_alternative<FiberFact>(fact) || std::holds_alternative<PatternFact>(fact)) return std::nullopt;
    if (const auto* stated = std::get_if<ExtentFact>(&fact)) extents[stated->index] = stated->extent;
    if (const auto* whole = std::get_if<FullFact>(&fact)) full.push_back(whole->storage);
  }
  for (const IndexDefinition& each : program.definitions) extents[each.index] = given_extent(each, extents[each.of.front().index]);
  // Of indices that share a level all have the extent of one.
  for (const Access& a : program.accesses)
    for (const Access& b : program.accesses)
      for (std::size_t level = 0; a.storage == b.storage && level < a.indices.size(); ++level)
        if (extents[a.indices[level]] != extents[b.indices[level]]) return std::nullopt;
  std::uint64_t volume = 1;
  for (const std::uint64_t extent : extents) {
    volume *= std::max<std::uint64_t>(extent, 1);
    if (extent > most_iterations || volume > most_iterations) return std::nullopt;
  }
  Interpretation values;
  for (IndexId id = 0; id < extents.size(); ++id) values.extents[program.indices[id]] = extents[id];
  if (words > most_words) return std::nullopt;
  for (std::uint32_t n = 0; n < words; ++n) values.coefficients.push_back(static_cast<double>(dice.below(5)) - 2);
  for (StorageId id = 0; id < program.storages.size(); ++id) {
    const Storage& storage = program.storages[id];
    if (storage.role != Role::input) continue;
    if (wants_one_each(storage)) return std::nullopt;
    Entries& entries = values.inputs[storage.name];
    const auto access = std::ranges::find(program.accesses, id, &Access::storage);
    if (access == program.accesses.end()) continue;
    const std::size_t sparse = sparse_levels(storage);
    std::vector<std::uint64_t> coordinates(access->indices.size());
    std::uint64_t space = 1;
    for (const IndexId index : access->indices) space *= extents[index];
    if (space > most_iterations) return std::nullopt;
    const bool whole = sparse == 0 || std::ranges::find(full, id) != full.end();
    std::map<std::vector<std::uint64_t>, bool> stored;
    for (std::uint64_t number = 0; number < space; ++number) {
      std::uint64_t rest = number;
      for (std::size_t level = 0; level < coordinates.size(); ++level) {
        const std::uint64_t extent = extents[access->indices[level]];
        coordinates[level] = rest % extent;
        rest /= extent;
      }
      const std::vector<std::uint64_t> prefix(coordinates.begin(),
                                              coordinates.begin() + static_cast<std::ptrdiff_t>(sparse));
      const bool drawn = dice.percent(60);
      if (!whole && !stored.try_emplace(prefix, drawn).first->second) continue;
      entries[coordinates] = static_cast<double>(dice.below(7)) - 3;
    }
  }
  return values;
}

void check_runs(const Program& program, const Canonical& canonical, const std::string& printed) {
  std::uint64_t seed = 0;
  for (const char c : printed) seed = seed * 31 + static_cast<unsigned char>(c);
  test::Dice dice(seed);
  std::uint32_t words = usual_words;
  for (const std::uint32_t word : canonical.coefficients) words = std::max(words, std::min(word, most_words) + 1);
  const auto values = values_for(program, words, dice);
  if (!values) return;
  auto wanted = interpret(program, *values);
  require(wanted.has_value(),
          [&] { return "a verified program is not interpreted: " + wanted.error().message + "\n" + printed; });
  static const Expected<Jit> jit = Jit::create();
  require(jit.has_value(), "no JIT");
  CodeOptions options;
  options.checked = dice.percent(70);
  options.strict_fp = dice.percent(30);
  const weft::Target target = test::host_with_bits(dice.percent(50) ? 512 : 128);
  const std::vector<std::uint64_t> cuts =
      dice.percent(50) ? std::vector<std::uint64_t>{1, 2} : std::vector<std::uint64_t>{};
  auto found = test::run_native(*jit, program, *values, target, options, cuts);
  require(found.has_value(),
          [&] { return "a verified program does not run: " + found.error().message + "\n" + printed; });
  test::add_patterns(program, *values, *wanted);
  test::add_patterns(program, *values, *found);
  const std::string difference = test::difference(program, *wanted, *found);
  require(difference.empty(), [&] { return "native code (" + options.text() + "): " + difference + "\n" + printed; });
}

}  // namespace
}  // namespace loop_programs

void loops(Bytes bytes) {
  const auto program = loop::parse(std::string(text_of(bytes)));
  if (!program) {
    return require((program.error().kind == ErrorKind::input || program.error().kind == ErrorKind::unsupported) &&
                       !program.error().message.empty(),
                   program.error().message);
  }
  const std::string printed = loop::print(*program);
  const auto again = loop::parse(printed);
  require(again.has_value(), [&] { return "a print is not parsed: " + again.error().message + "\n" + printed; });
  require(*again == *program, [&] { return "another program is read from\n" + printed; });
  const auto sound = loop::verify(*program);
  if (!sound) return require(!sound.error().message.empty(), "a rule without a message");
  const loop::Canonical canonical = loop::canonical(*program);
  const auto still = loop::verify(canonical.program);
  require(still.has_value(), [&] { return "the canonical form does not verify: " + still.error().message + "\n" + printed; });
  require(loop::canonical(canonical.program).program == canonical.program,
          [&] { return "the canonical form has another one:\n" + printed; });
  loop_programs::check_runs(*program, canonical, printed);
}

}  // namespace weft::fuzz
