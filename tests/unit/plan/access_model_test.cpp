#include "engine/plan/cost/access_model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "unit/plan/networks.h"

namespace access_model_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

struct Made {
  OwnedProblem problem;
  Schedule schedule;
};

Made one(const std::string& kinds) {
  Made made{problem("T:ijk:" + kinds + ":1000 -> ", {{'i', 10}, {'j', 20}, {'k', 50}}), {}};
  const Format format = made.problem.operands[0].format;
  made.problem.operands[0].statistics =
      Statistics({10, 20, 50}, format, 1000, {{1, 10}, {2, 20}, {4, 50}, {3, 150}, {5, 400}, {6, 600}, {7, 1000}});
  made.schedule =
      statements_of(made.problem.network, flat_tree(1), {0}, made.problem.operands, made.problem.options);
  return made;
}

/// The model points into what it was made from.
AccessModel model(Made&& made, bool free) = delete;
AccessModel model(const Made& made, bool free) {
  return AccessModel(made.schedule.statements[0].factors[0], made.schedule.tensors[0], free, 4, made.problem.network,
                     made.problem.operands);
}

}  // namespace

// k fibers of 1000 / 150 entries, j fibers of 15, both above all that a guess gets right.
TEST_CASE("the ends of fibers below a position that nobody foresees") {
  const Made made = one("sss");
  const double j_end = 1 - std::exp(-2 * (15.0 - 1));
  const double k_end = 1 - std::exp(-2 * (1000.0 / 150 - 1));
  const AccessModel stored = model(made, false);
  CHECK(stored.unforeseen_ends(3) == 0);
  CHECK(stored.unforeseen_ends(2) == doctest::Approx(k_end));
  CHECK(stored.unforeseen_ends(1) == doctest::Approx(j_end + 15 * k_end));
  // Of levels in any order the mode with fewer fibers is taken to come first: j, with 150 pairs, before k, with 400.
  const AccessModel free = model(made, true);
  CHECK(free.unforeseen_ends(0b111) == 0);
  CHECK(free.unforeseen_ends(0b001) == doctest::Approx(j_end + 15 * k_end));
  // Levels of i and j would be dense: 50 of 200 fibers are empty.
  CHECK(free.unforeseen_ends(0b011) == doctest::Approx(k_end * 150 / 200));
  // Ten entries below a position of i are remembered, all of them are not.
  CHECK(stored.is_remembered(1));
  CHECK_FALSE(stored.is_remembered(0));
}

TEST_CASE("positions of a dense level without entries have no ends") {
  // Of 200 pairs (i, j), 150 have a fiber.
  const double k_end = 1 - std::exp(-2 * (1000.0 / 150 - 1));
  const Made given = one("dds");
  CHECK(model(given, false).unforeseen_ends(2) == doctest::Approx(150 * k_end / 200));
  Made converted = one("dds");
  converted.schedule.tensors[0].converted = true;
  CHECK(model(converted, false).unforeseen_ends(2) == doctest::Approx(150 * k_end / 200));
}

TEST_CASE("fibers of one entry end where everybody expects it") {
  Made made = one("sss");
  made.problem.operands[0].statistics = Statistics({10, 20, 50}, made.problem.operands[0].format, 100,
                                                   {{1, 10}, {2, 20}, {4, 50}, {3, 100}, {5, 100}, {6, 100}, {7, 100}});
  CHECK(model(made, false).unforeseen_ends(2) == 0);
  CHECK(model(made, false).unforeseen_ends(1) == doctest::Approx(1));
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
  CHECK(access.realized({2, 0, 1}).text() == "dds:2,0,1");
  Made few = one("sss");
  few.problem.operands[0].statistics =
      Statistics({10, 20, 50}, *parse_format("sss"), 10, {{1, 2}, {2, 2}, {4, 2}, {3, 4}, {5, 4}, {6, 4}, {7, 10}});
  const AccessModel thin = model(std::as_const(few), true);
  CHECK(thin.positions(1) == 2);  // 10 > 4 * 2
}

TEST_CASE("both modes of a diagonal are bound together") {
  const OwnedProblem made = problem("T:ii:ss:20 -> ", {{'i', 10}});
  const Schedule schedule = statements_of(made.network, flat_tree(1), {0}, made.operands, made.options);
  for (const bool free : {false, true}) {
    const AccessModel access(schedule.statements[0].factors[0], schedule.tensors[0], free, 4, made.network, made.operands);
    CHECK(access.density(access.bound(1)) == doctest::Approx(0.2));
    const auto steps = access.steps(access.bound(0), access.bound(1));
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].direct);
    CHECK_FALSE(steps[1].direct);
  }
}

TEST_CASE("empty tensors and extents of 0 give no positions and no division by zero") {
  const OwnedProblem made = problem("T:ij:ss:5 -> ", {{'i', 0}, {'j', 3}});
  const Schedule schedule = statements_of(made.network, flat_tree(1), {0}, made.operands, made.options);
  for (const bool free : {false, true}) {
    const AccessModel access(schedule.statements[0].factors[0], schedule.tensors[0], free, 4, made.network, made.operands);
    CHECK(access.positions(access.bound(3)) == 0);
    CHECK(access.density(access.bound(1)) >= 0);
    CHECK(access.steps(0, access.bound(3))[0].length == 0);
  }
}

TEST_CASE("rows of a dense array reach the share of a cache that their distance leaves") {
  const auto share = [](std::uint64_t last, IndexSet block) {
    const OwnedProblem made = problem("B:ijk -> ", {{'i', 40}, {'j', 32}, {'k', last}});
    const Schedule schedule = statements_of(made.network, flat_tree(1), {0}, made.operands, made.options);
    return AccessModel(schedule.statements[0].factors[0], schedule.tensors[0], false, 1, made.network, made.operands)
        .reached_share(block, 4096, 64);
  };
  CHECK(share(32, index_set({0, 1, 2})) == 1);
  CHECK(share(32, index_set({1, 2})) == 1);
  CHECK(share(32, index_set({0, 2})) == 1.0 / 16);  // rows of 256 bytes, 8 KiB apart
  CHECK(share(32, index_set({0})) == 1.0 / 64);     // a line of each
  CHECK(share(32, index_set({1})) == 1.0 / 4);
  CHECK(share(33, index_set({0, 2})) == 1);
  CHECK(share(48, index_set({0, 2})) == 384.0 / 4096);  // 12 KiB apart
}

}  // namespace access_model_test
