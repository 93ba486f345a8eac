// What the verifier's rules promise, tried on every text case and on damaged ones that still verify, with random
// tensors: the definitions are what is computed (coverage), and a dense workspace may as well hold zeros everywhere
// (presence).
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <random>

#include "engine/loop/equivalence.h"
#include "engine/loop/interpret.h"
#include "engine/loop/presence.h"
#include "engine/loop/program.h"
#include "tests/files/loop_case.h"
#include "tests/unit/loop/damage.h"
#include "unit/sanitized.h"

namespace soundness_test {

using namespace weft;
using namespace weft::loop;

namespace {

bool is_dense(const Level& level) { return level.kind == LevelKind::dense; }

/// Calls `visit` with every tuple of coordinates below `extents`.
void for_each_tuple(const std::vector<std::uint64_t>& extents,
                    const std::function<void(const std::vector<std::uint64_t>&)>& visit) {
  if (std::ranges::find(extents, 0u) != extents.end()) return;
  std::vector<std::uint64_t> tuple(extents.size());
  while (true) {
    visit(tuple);
    std::size_t n = tuple.size();
    while (n > 0 && ++tuple[n - 1] == extents[n - 1]) tuple[--n] = 0;
    if (n == 0) return;
  }
}

/// Random extents (those of facts kept, indices that share a level equal) and tensors. `special`: NaN and infinity in
/// inputs not known finite. Nothing where the program is too large to try, or has facts about patterns.
std::optional<Interpretation> random_values(const Program& program, bool special, std::mt19937_64& random) {
  std::vector<std::uint64_t> extents(program.indices.size());
  for (std::uint64_t& extent : extents) extent = random() % 8 == 0 ? 0 : 1 + random() % 3;
  for (const Fact& fact : program.facts) {
    if (std::holds_alternative<FullFact>(fact)) return std::nullopt;
    if (const ExtentFact* stated = std::get_if<ExtentFact>(&fact)) extents[stated->index] = stated->extent;
  }
  for (const IndexDefinition& each : program.definitions) extents[each.index] = given_extent(each, extents[each.of.front().index]);
  std::uint64_t volume = 1;
  for (std::uint64_t extent : extents) volume *= std::max<std::uint64_t>(extent, 1);
  if (volume > 3000) return std::nullopt;
  for (const Access& a : program.accesses)
    for (const Access& b : program.accesses)
      for (std::size_t level = 0; a.storage == b.storage && level < a.indices.size(); ++level)
        if (extents[a.indices[level]] != extents[b.indices[level]]) return std::nullopt;

  Interpretation values;
  for (IndexId id = 0; id < extents.size(); ++id) values.extents[program.indices[id]] = extents[id];
  for (int n = 0; n < 10; ++n) values.coefficients.push_back(static_cast<double>(random() % 5) - 2);
  for (StorageId id = 0; id < program.storages.size(); ++id) {
    const Storage& storage = program.storages[id];
    if (storage.role != Role::input) continue;
    const bool finite = std::ranges::find(program.facts, Fact(FiniteFact{id})) != program.facts.end();
    Entries& entries = values.inputs[storage.name];
    const auto access = std::ranges::find(program.accesses, id, &Access::storage);
    if (access == program.accesses.end()) continue;
    std::vector<std::uint64_t> shape;
    for (IndexId index : access->indices) shape.push_back(extents[index]);
    std::size_t sparse = shape.size();  // the levels above the trailing dense ones
    while (sparse > 0 && is_dense(storage.levels[sparse - 1])) --sparse;
    const std::uint64_t density = 1 + random() % 4;
    std::map<std::vector<std::uint64_t>, bool> stored;
    for_each_tuple(shape, [&](const std::vector<std::uint64_t>& tuple) {
      const std::vector<std::uint64_t> prefix(tuple.begin(), tuple.begin() + static_cast<std::ptrdiff_t>(sparse));
      if (sparse > 0 && !stored.try_emplace(prefix, random() % 4 < density).first->second) return;
      double value = static_cast<double>(random() % 7) - 3;
      if (special && !finite && random() % 4 == 0)
        value = random() % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
      entries[tuple] = value;
    });
  }
  return values;
}

/// What is done to loops of "j'", "j'/4%2", "j-i+3", "j/2-i/2", "(3*J+c)/4".
struct GivenName {
  struct Times {
    std::int64_t factor = 1;
    IndexPart part;
  };
  std::map<std::string, Times> loops;
  std::int64_t offset = 0;
  IndexPart part;
};

/// Takes "/4%2" from the end of a text.
IndexPart part_behind(std::string& text) {
  IndexPart part;
  if (const std::size_t modulus = text.find('%'); modulus != text.npos) part.modulus = std::stoull(text.substr(modulus + 1));
  text = text.substr(0, text.find('%'));
  if (const std::size_t divisor = text.find('/'); divisor != text.npos) part.divisor = std::stoull(text.substr(divisor + 1));
  text = text.substr(0, text.find('/'));
  return part;
}

GivenName given_name(std::string name) {
  GivenName read;
  if (name.starts_with('(')) {
    std::string behind = name.substr(name.find(')') + 1);
    read.part = part_behind(behind);
    name = name.substr(1, name.find(')') - 1);
  }
  for (std::size_t begin = 0; begin < name.size();) {
    std::size_t end = std::min(name.find_first_of("+-", begin + 1), name.size());
    std::string summand = name.substr(begin, end - begin);
    begin = end;
    const std::int64_t sign = summand.front() == '-' ? -1 : 1;
    if (summand.front() == '-' || summand.front() == '+') summand.erase(0, 1);
    const IndexPart part = part_behind(summand);
    const std::size_t times = summand.find('*');
    if (times == summand.npos && std::isdigit(static_cast<unsigned char>(summand.front())) != 0)
      read.offset = sign * std::stoll(summand);
    else
      read.loops[times == summand.npos ? summand : summand.substr(times + 1)] = {sign * (times == summand.npos ? 1 : std::stoll(summand)),
                                                                                 part};
  }
  return read;
}

/// Of "cover(j+1,4)" the sum that is covered, of "j-cover(j,4)" what has the loops.
std::string without_start(std::string name) {
  if (const std::size_t inside = name.find("-cover("); inside != name.npos) return name.erase(inside, name.find(')', inside) + 1 - inside);
  return name.starts_with("cover(") ? name.substr(6, std::min(name.find(','), name.size() - 1) - 6) : name;
}

/// The sum of the products, by trying every value of every index.
std::map<std::string, Entries> evaluated(const std::vector<Definition>& definitions, const Interpretation& values) {
  std::map<std::string, Entries> outputs;
  for (const Definition& definition : definitions) {
    Entries& output = outputs[definition.output];
    for (const Product& product : definition.products) {
      std::vector<std::string> names = definition.indices;
      for (const auto& [name, indices] : product.factors)
        for (const std::string& index : indices)
          for (const auto& [loop, times] : given_name(without_start(index)).loops) names.push_back(loop);
      std::ranges::sort(names);
      names.erase(std::unique(names.begin(), names.end()), names.end());
      std::vector<std::uint64_t> extents;
      for (const std::string& name : names) extents.push_back(values.extents.at(name.substr(0, name.find('\''))));
      for_each_tuple(extents, [&](const std::vector<std::uint64_t>& tuple) {
        // `entries`: of the factor that has the indices, where starts of blocks are found.
        const auto at = [&](const std::vector<std::string>& indices, const Entries* entries = nullptr) {
          std::vector<std::uint64_t> coordinates;
          std::map<std::string, std::uint64_t> starts;
          for (std::string name : indices) {
            std::int64_t start = 0;
            if (const std::size_t inside = name.find("-cover("); inside != name.npos) {
              const std::size_t end = name.find(')', inside) + 1;
              start = static_cast<std::int64_t>(starts.at(name.substr(inside + 1, end - inside - 1)));
              name.erase(inside, end - inside);
            }
            const std::string whole = name;
            std::uint64_t width = 0;
            if (name.starts_with("cover(")) {
              const std::size_t comma = name.find(',');
              if (comma != name.npos) width = std::stoull(name.substr(comma + 1));
              name = name.substr(6, std::min(comma, name.size() - 1) - 6);
            }
            auto [loops, offset, part] = given_name(name);
            offset -= start;
            std::int64_t sum = offset;
            for (const auto& [loop, times] : loops) {
              const std::uint64_t of = tuple[static_cast<std::size_t>(std::ranges::find(names, loop) - names.begin())];
              sum += times.factor * static_cast<std::int64_t>(times.part.coordinate(of));
            }
            coordinates.push_back(sum < 0 ? ~std::uint64_t{0} : part.coordinate(static_cast<std::uint64_t>(sum)));
            if (!whole.starts_with("cover(")) continue;
            // By looking at all: the greatest that is stored below these coordinates and not above.
            std::uint64_t found = ~std::uint64_t{0};
            for (const auto& [stored, value] : *entries) {
              const std::size_t level = coordinates.size() - 1;
              const bool here = std::equal(coordinates.begin(), coordinates.end() - 1, stored.begin());
              if (here && sum >= 0 && stored[level] <= coordinates[level] && (found == ~std::uint64_t{0} || stored[level] > found))
                found = stored[level];
            }
            if (width != 0 && found != ~std::uint64_t{0} && coordinates.back() - found >= width) found = ~std::uint64_t{0};
            coordinates.back() = starts[whole] = found;
          }
          return coordinates;
        };
        double value = product.negative ? -1 : 1;
        for (std::uint32_t word : product.coefficients) value *= values.coefficients.at(word);
        for (const auto& [name, indices] : product.factors) {
          const Entries& entries = values.inputs.at(name);
          const auto entry = entries.find(at(indices, &entries));
          if (entry == entries.end()) return;
          value *= entry->second;
        }
        output[at(definition.indices)] += value;
      });
    }
  }
  return outputs;
}

/// The same program, but every entry of every dense workspace is accumulated into, with 0, at the start of its With,
/// and so is one of order 0 that code need not tell from zero. Coefficient word 9 is the 0.
Program with_zeros(const Program& program) {
  Program result = program;
  const std::function<void(Block&, std::vector<IndexId>)> fill = [&](Block& block, const std::vector<IndexId>& loops) {
    for (Statement& statement : block) {
      std::vector<IndexId> inside = loops;
      if (For* loop = std::get_if<For>(&statement.node)) {
        inside.push_back(loop->index);
        fill(loop->body, inside);
      } else if (Bind* bind = std::get_if<Bind>(&statement.node)) {
        fill(bind->body, inside);
      } else if (With* with = std::get_if<With>(&statement.node)) {
        fill(with->body, inside);
        if (!std::ranges::all_of(program.storages[with->workspace].levels, is_dense)) continue;
        if (may_be_absent(program, with->workspace)) continue;
        // An access of its own, over indices of its own, as a nest of loops around `x += 0 `.
        const Access like = *std::ranges::find(program.accesses, with->workspace, &Access::storage);
        const auto id = static_cast<AccessId>(result.accesses.size());
        Access all{like.name + ".all", with->workspace, {}};
        Block nest{{Accumulate{id, {}, false, 9}}};
        for (std::size_t level = like.indices.size(); level-- > 0;) {
          const auto index = static_cast<IndexId>(result.indices.size());
          result.indices.push_back(result.indices[like.indices[level]] + "_" + program.storages[with->workspace].name +
                                   std::to_string(level));
          all.indices.insert(all.indices.begin(), index);
          For around;
          around.index = index;
          around.steps = {{Use::insert, id}};
          around.body = std::move(nest);
          nest.clear();
          nest.push_back({std::move(around)});
        }
        result.accesses.push_back(std::move(all));
        with->body.insert(with->body.begin(), nest.begin(), nest.end());
      }
    }
  };
  fill(result.body, {});
  return result;
}

struct Tried {
  unsigned definitions = 0;
  unsigned zeros = 0;
};

void try_on_random_values(const Program& program, std::mt19937_64& random, Tried& tried) {
  const auto defined = definitions(program);
  if (!defined) return;
  if (const auto values = random_values(program, false, random)) {
    const auto found = interpret(program, *values);
    REQUIRE_MESSAGE(found.has_value(), found.error().message);
    std::map<std::string, Entries> wanted = evaluated(*defined, *values);
    test::add_patterns(program, *values, wanted);
    CHECK(test::difference(program, wanted, *found) == "");
    ++tried.definitions;
  }
  const Program filled = with_zeros(program);
  if (filled == program) return;
  if (auto values = random_values(program, true, random)) {
    const auto found = interpret(program, *values);
    REQUIRE_MESSAGE(found.has_value(), found.error().message);
    for (std::size_t n = program.indices.size(); n < filled.indices.size(); ++n) {
      const std::string& name = filled.indices[n];
      values->extents[name] = values->extents.at(name.substr(0, name.find('_')));
    }
    values->coefficients.at(9) = 0;
    const auto with_zero = interpret(filled, *values);
    REQUIRE_MESSAGE(with_zero.has_value(), with_zero.error().message);
    CHECK(test::difference(program, *found, *with_zero) == "");
    ++tried.zeros;
  }
}

}  // namespace

TEST_CASE("verified programs compute their definitions, and zeros in dense workspaces change nothing") {
  std::mt19937_64 random(7);
  Tried tried;
  for (const char* folder : {"", "/sparse_results", "/errors"}) {
    const auto cases = test::read_loop_cases(std::string(WEFT_SOURCE_DIR "/tests/files/loop") + folder);
    REQUIRE(cases.has_value());
    for (const test::LoopCase& each : *cases)
      for (unsigned round = 0; round < test::scaled(40); ++round) {
        const std::string text = round < test::scaled(10) ? each.program_text : test::damaged(each.program_text, random);
        const Expected<Program> program = parse(text);
        if (!program || !verify(*program)) continue;
        CAPTURE(each.name);
        CAPTURE(text);
        try_on_random_values(*program, random, tried);
      }
  }
  CHECK(tried.definitions > test::scaled(300));
  CHECK(tried.zeros > test::scaled(50));
  MESSAGE("definitions tried ", tried.definitions, ", zeros tried ", tried.zeros);
}

}  // namespace soundness_test
