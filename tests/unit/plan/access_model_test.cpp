#include "engine/plan/cost/access_model.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "engine/plan/estimate/operand_facts.h"
#include "unit/plan/networks.h"

namespace access_model_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

struct Made {
  OwnedProblem problem;
  Contractions contractions;
};

Made one(const std::string& kinds) {
  Made made{problem("T:ijk:" + kinds + ":1000 -> ", {{'i', 10}, {'j', 20}, {'k', 50}}), {}};
  const Format format = made.problem.operands[0].format;
  made.problem.operands[0].statistics =
      Statistics({10, 20, 50}, format, 1000, {{1, 10}, {2, 20}, {4, 50}, {3, 150}, {5, 400}, {6, 600}, {7, 1000}});
  made.contractions =
      contractions_of(made.problem.network, flat_tree(1), {0}, made.problem.operands, made.problem.options);
  return made;
}

/// The model points into what it was made from.
AccessModel model(Made&& made, bool follows) = delete;
AccessModel model(const Made& made, bool follows) {
  return AccessModel(made.contractions.steps[0].factors[0], made.contractions.tensors[0],
                     follows ? AccessPath::of_loops(4) : AccessPath{}, made.problem.network,
                     made.problem.operands);
}

}  // namespace

TEST_CASE("threads share slices whose entries lie side by side") {
  for (const char* kinds : {"sss", "dss", "uqq", "duq", "dsd", "dds"}) {
    CAPTURE(kinds);
    const Made made = one(kinds);
    CHECK(model(made, false).shares_slices(0));
    CHECK_FALSE(model(made, false).shares_slices(1));
  }
  for (const char* kinds : {"ddd", "bbb"}) {
    CAPTURE(kinds);
    const Made made = one(kinds);
    CHECK_FALSE(model(made, false).shares_slices(0));
  }
}

// Below an i are 15 fibers over k of 1000 / 150 entries, and the fiber over j of these.
TEST_CASE("loop-exit mispredicts below a position: at most one for each of its fibers") {
  const Made made = one("sss");
  const AccessModel stored = model(made, false);
  CHECK(stored.unforeseen_ends(3) == 0);
  const double one_fiber = stored.unforeseen_ends(2);
  CHECK(one_fiber > 0);
  CHECK(one_fiber <= 1);
  CHECK(stored.unforeseen_ends(1) > 15 * one_fiber);
  CHECK(stored.unforeseen_ends(1) <= 15 * one_fiber + 1);
  // Longer fibers end no more often where they are expected to.
  for (const std::uint64_t pairs : {300, 600, 900}) {
    CAPTURE(pairs);
    Made shorter = one("sss");
    shorter.problem.operands[0].statistics = Statistics({10, 20, 50}, shorter.problem.operands[0].format, 1000,
                                                        {{1, 10}, {2, 20}, {4, 50}, {3, pairs}, {5, 400}, {6, 600}, {7, 1000}});
    CHECK(model(std::as_const(shorter), false).unforeseen_ends(2) < one_fiber);
  }
  // Of levels in any order the mode with fewer fibers is taken to come first: j, with 150 pairs, before k, with 400; as stored.
  const AccessModel free = model(made, true);
  CHECK(free.unforeseen_ends(0b111) == 0);
  CHECK(free.unforeseen_ends(0b001) == doctest::Approx(stored.unforeseen_ends(1)));
  // Levels of i and j would be dense: 50 of 200 fibers are empty.
  CHECK(free.unforeseen_ends(0b011) == doctest::Approx(one_fiber * 150 / 200));
  // Ten entries below a position of i are remembered, all of them are not.
  CHECK(stored.is_remembered(1));
  CHECK_FALSE(stored.is_remembered(0));
}

TEST_CASE("positions of a dense level without entries have no ends") {
  // Of 200 pairs (i, j), 150 have a fiber.
  const Made compressed = one("sss");
  const double of_pairs = model(compressed, false).unforeseen_ends(2) * 150 / 200;
  const Made given = one("dds");
  CHECK(model(given, false).unforeseen_ends(2) == doctest::Approx(of_pairs));
  Made converted = one("dds");
  converted.contractions.tensors[0].converted = true;
  CHECK(model(converted, false).unforeseen_ends(2) == doctest::Approx(of_pairs));
}

TEST_CASE("fibers of one entry end where they are expected to") {
  Made made = one("sss");
  made.problem.operands[0].statistics = Statistics({10, 20, 50}, made.problem.operands[0].format, 100,
                                                   {{1, 10}, {2, 20}, {4, 50}, {3, 100}, {5, 100}, {6, 100}, {7, 100}});
  CHECK(model(std::as_const(made), false).unforeseen_ends(2) == 0);
  // Of ten fibers over k and the one over j, only that.
  CHECK(model(std::as_const(made), false).unforeseen_ends(1) > 0);
  CHECK(model(std::as_const(made), false).unforeseen_ends(1) <= 1);
}

TEST_CASE("fibers that all have the same few entries end where they are expected to") {
  // A matrix with two entries in every row; then three in one of them.
  Made made{problem("T:ij:ss:200 -> ", {{'i', 100}, {'j', 100}}), {}};
  Pairs pairs;
  for (std::uint32_t row = 0; row < 100; ++row) pairs.insert({{row, row}, {row, (row + 7) % 100}});
  const auto ends = [&] {
    const Tensor tensor = matrix_of(pairs, 100, 100);
    made.problem.operands[0] = operand_facts(tensor, Resources());
    made.contractions = contractions_of(made.problem.network, flat_tree(1), {0}, made.problem.operands, made.problem.options);
    return std::pair{model(std::as_const(made), false).unforeseen_ends(1), model(std::as_const(made), true).unforeseen_ends(1)};
  };
  const auto [stored, in_any_order] = ends();
  CHECK(stored == 0);
  CHECK(in_any_order > 0);  // of columns nothing is known
  pairs.insert({50, 20});
  CHECK(ends().first > 0);
}

TEST_CASE("a given layout binds prefixes of its levels") {
  const Made made = one("sss");
  const AccessModel access = model(made, false);
  CHECK(access.bound(index_set({0, 2})) == 1);
  CHECK(access.bound(index_set({1, 2})) == 0);
  CHECK(access.bound(index_set({0, 1, 2})) == 3);
  CHECK(access.positions(2) == 150);
  CHECK(access.density(2) == doctest::Approx(150.0 / 200));
  const auto steps = access.steps(1, 3);  // k was bound before j
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].direct);
  CHECK(steps[0].length == 15);
  CHECK_FALSE(steps[1].direct);
  CHECK(steps[1].length == doctest::Approx(1000.0 / 150));
  CHECK(access.is_sparse_at(1));
  CHECK_FALSE(access.is_sparse_at(0));
}

TEST_CASE("a dense level has every coordinate and filters nothing") {
  const Made made = one("dss");
  const AccessModel access = model(made, false);
  CHECK(access.positions(1) == 10);
  CHECK(access.density(1) == 1);
  CHECK(access.positions(2) == 150);
  CHECK_FALSE(access.steps(0, 1)[0].sparse);
  CHECK_FALSE(access.is_sparse_at(1));
}

TEST_CASE("a free layout binds any set, dense where there is room for it") {
  const Made made = one("sss");
  const AccessModel access = model(made, true);
  const BoundState ki = access.bound(index_set({0, 2}));
  CHECK(ki == 5);
  CHECK(access.positions(ki) == 500);  // 10 * 50 is at most 4 * 400: a dense level
  CHECK(access.density(ki) == 1);
  const BoundState jk = access.bound(index_set({1, 2}));
  CHECK(access.positions(jk) == 1000);
  CHECK(access.density(access.bound(index_set({0, 1, 2}))) == doctest::Approx(0.1));
  CHECK(access.realized({2, 0, 1}, 0).text() == "dds:2,0,1");
  Made few = one("sss");
  few.problem.operands[0].statistics =
      Statistics({10, 20, 50}, *parse_format("sss"), 10, {{1, 2}, {2, 2}, {4, 2}, {3, 4}, {5, 4}, {6, 4}, {7, 10}});
  const AccessModel thin = model(std::as_const(few), true);
  CHECK(thin.positions(1) == 2);  // 10 > 4 * 2
}

TEST_CASE("both modes of a diagonal are bound together") {
  const OwnedProblem made = problem("T:ii:ss:20 -> ", {{'i', 10}});
  const Contractions contractions = contractions_of(made.network, flat_tree(1), {0}, made.operands, made.options);
  for (const AccessPath path : {AccessPath{}, AccessPath::of_loops(4)}) {
    const AccessModel access(contractions.steps[0].factors[0], contractions.tensors[0], path, made.network, made.operands);
    CHECK(access.density(access.bound(1)) == doctest::Approx(0.2));
    const auto steps = access.steps(access.bound(0), access.bound(1));
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].direct);
    CHECK_FALSE(steps[1].direct);
  }
}

TEST_CASE("empty tensors and extents of 0 give no positions and no division by zero") {
  const OwnedProblem made = problem("T:ij:ss:5 -> ", {{'i', 0}, {'j', 3}});
  const Contractions contractions = contractions_of(made.network, flat_tree(1), {0}, made.operands, made.options);
  for (const AccessPath path : {AccessPath{}, AccessPath::of_loops(4)}) {
    const AccessModel access(contractions.steps[0].factors[0], contractions.tensors[0], path, made.network, made.operands);
    CHECK(access.positions(access.bound(3)) == 0);
    CHECK(access.density(access.bound(1)) >= 0);
    CHECK(access.steps(0, access.bound(3))[0].length == 0);
  }
}

// The addresses of every element of the block, and the sets of a cache that their lines fall into.
double counted_share(std::array<std::uint64_t, 3> extents, IndexSet block, std::uint64_t way_bytes, std::uint64_t line_bytes) {
  std::set<std::uint64_t> sets;
  std::array<std::uint64_t, 3> at{};
  for (at[0] = 0; at[0] < (contains(block, 0) ? extents[0] : 1); ++at[0]) {
    for (at[1] = 0; at[1] < (contains(block, 1) ? extents[1] : 1); ++at[1]) {
      for (at[2] = 0; at[2] < (contains(block, 2) ? extents[2] : 1); ++at[2]) {
        const std::uint64_t address = 8 * ((at[0] * extents[1] + at[1]) * extents[2] + at[2]);
        sets.insert(address % way_bytes / line_bytes);
      }
    }
  }
  return static_cast<double>(sets.size()) / static_cast<double>(way_bytes / line_bytes);
}

TEST_CASE("rows of a dense array reach as many sets of a cache as their lines fall into") {
  for (const std::uint64_t last : {32, 33, 48, 64}) {
    for (const IndexSet block : {index_set({0, 1, 2}), index_set({1, 2}), index_set({0, 2}), index_set({0}), index_set({1})}) {
      CAPTURE(last);
      CAPTURE(block);
      // As many rows as it takes to come to every set that their distance reaches.
      const std::array<std::uint64_t, 3> extents = {block == index_set({1}) ? 2u : 512u, block == index_set({1}) ? 512u : 32u, last};
      const OwnedProblem made = problem("B:ijk -> ", {{'i', extents[0]}, {'j', extents[1]}, {'k', last}});
      const Contractions contractions = contractions_of(made.network, flat_tree(1), {0}, made.operands, made.options);
      const AccessModel access(contractions.steps[0].factors[0], contractions.tensors[0], AccessPath{}, made.network, made.operands);
      CHECK(access.reached_share(block, 4096, 64) == counted_share(extents, block, 4096, 64));
    }
  }
}

}  // namespace access_model_test
