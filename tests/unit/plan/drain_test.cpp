#include "engine/plan/cost/drain.h"

#include <doctest/doctest.h>

namespace weft::drain_test {

TEST_CASE("few of many keys are hashed, many of few are a bitmap, the rest an accumulator") {
  const Machine machine;
  const auto kind = [&](double keys, double entries, bool one_mode = true, bool ordered = true) {
    KeyedWorkspace workspace;
    workspace.keys = keys;
    workspace.entries = entries;
    workspace.inserts = 2 * entries;
    workspace.one_mode = one_mode;
    workspace.ordered = ordered;
    return cheapest_keyed(machine, workspace).kind;
  };
  CHECK(kind(1000, 500) == LevelKind::bitmap);
  CHECK(kind(1000, 500, false) == LevelKind::accumulator);
  CHECK(kind(1e5, 100, true, false) == LevelKind::accumulator);
  CHECK(kind(1e12, 1000, false) == LevelKind::hashed);
}

TEST_CASE("prices grow with what is touched, and a table is as large as its keys") {
  const Machine machine;
  KeyedWorkspace workspace;
  workspace.keys = 1000;
  for (const LevelKind each : {LevelKind::accumulator, LevelKind::bitmap, LevelKind::hashed}) {
    workspace.entries = workspace.inserts = 10;
    const KeyedPrice few = keyed_price(machine, workspace, each);
    workspace.entries = workspace.inserts = 100;
    const KeyedPrice many = keyed_price(machine, workspace, each);
    CHECK(few.ns < many.ns);
    CHECK(few.ns > 0);
    if (each != LevelKind::hashed) CHECK(few.bytes >= 8000);
    if (each == LevelKind::hashed) CHECK(few.bytes < many.bytes);
  }
}

}  // namespace weft::drain_test
