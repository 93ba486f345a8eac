#include "engine/lower/drains.h"

#include <doctest/doctest.h>

#include "lowered_case.h"
#include "runtime/dense_levels.h"

namespace drains_test {

using namespace weft;
using namespace weft::test;

namespace {

Case product(const std::string& result, const std::string& statement) {
  return {{{'i', 3}, {'j', 4}, {'k', 5}, {'r', 6}},
          "A ijr",
          {"B ik", "C kjr"},
          "  layout B ss:0,1 f64\n  layout C ssd:0,1,2 f64\n  result A " + result + " f64\n  A[i,j,r] += B[i,k] * C[k,j,r]   " +
              statement + "\n"};
}

Nest drained(const Case& given, LevelKind kind) {
  auto schedule = schedule_of(given);
  REQUIRE_MESSAGE(schedule, schedule.error().message);
  schedule->statements.back().drained = kind;
  const auto read = nests(*schedule, network_of(given));
  REQUIRE_MESSAGE(read, read.error().message);
  return with_drains(read->back());
}

std::vector<LevelKind> kinds(const NestStorage& storage) {
  std::vector<LevelKind> result;
  for (const Level& level : storage.storage.levels) result.push_back(level.kind);
  return result;
}

constexpr IndexId i = 0;
constexpr IndexId j = 1;
constexpr IndexId k = 2;
constexpr IndexId r = 3;

}  // namespace

TEST_CASE("modes out of order are summed inside the loops that are in order, with dense modes as a block") {
  const Nest nest = drained(product("dsd:0,1,2", "loops i,k,j,r"), LevelKind::accumulator);
  REQUIRE(nest.statements.size() == 2);
  const NestStatement& drain = nest.statements[1];
  const NestStorage& sums = nest.storages[nest.statements[0].target.storage];
  CHECK(sums.storage.name == "A_sum");
  CHECK(sums.indices == std::vector<IndexId>{j, r});
  CHECK(kinds(sums) == std::vector<LevelKind>{LevelKind::accumulator, LevelKind::dense});
  CHECK(drain.loops == std::vector<IndexId>{i, j, r});
  CHECK(drain.fused == 1);
  CHECK(drain.vector == r);
  CHECK(drain.factors == std::vector<NestAccess>{nest.statements[0].target});
  CHECK(!nest.statements[0].drained);
}

TEST_CASE("several modes out of order are one key") {
  const Nest nest = drained(product("sss:0,1,2", "loops k,i,j,r"), LevelKind::hashed);
  const NestStorage& sums = nest.storages[nest.statements[0].target.storage];
  CHECK(kinds(sums) == std::vector<LevelKind>(3, LevelKind::hashed));
  CHECK(!sums.storage.levels[0].joined);
  CHECK(sums.storage.levels[1].joined);
  CHECK(sums.storage.levels[2].joined);
  CHECK(nest.statements[1].fused == 0);
  CHECK(nest.statements[1].loops == std::vector<IndexId>{i, j, r});
  CHECK(!nest.statements[1].vector);
}

TEST_CASE("a result in another order than the loops") {
  const Nest nest = drained(product("ssd:1,0,2", "loops i,k,j,r"), LevelKind::hashed);
  const NestStorage& sums = nest.storages[nest.statements[0].target.storage];
  CHECK(sums.indices == std::vector<IndexId>{j, i, r});
  CHECK(nest.statements[1].loops == std::vector<IndexId>{j, i, r});
}

TEST_CASE("levels are counted as far as the loops follow them") {
  NestStatement statement;
  statement.target.indices = {i, j, r};
  statement.loops = {i, j, k, r};
  CHECK(levels_in_order(statement) == 2);
  statement.loops = {k, i, j, r};
  CHECK(levels_in_order(statement) == 0);
  statement.loops = {i, j, r, k};
  CHECK(levels_in_order(statement) == 3);
  loop::Storage storage;
  storage.levels.resize(3);
  CHECK(appended_levels(storage.levels) == 0);
  storage.levels[1].kind = LevelKind::compressed;
  CHECK(appended_levels(storage.levels) == 2);
}

}  // namespace drains_test
