#include "engine/plan/cost/sparse_target.h"

#include <doctest/doctest.h>

#include <map>

namespace weft::drain_test {

TEST_CASE("the kind of a workspace is the cheapest that its key allows, and its price that of the kind") {
  const Machine machine;
  std::map<LevelKind, int> chosen;
  for (const double keys : {10.0, 1e3, 1e5, 1e7, 1e12}) {
    for (const double share : {1e-6, 1e-3, 0.1, 1.0}) {
      for (const bool one_mode : {false, true}) {
        for (const bool ordered : {false, true}) {
          KeyedWorkspace workspace;
          workspace.keys = keys;
          workspace.entries = share * keys;
          workspace.inserts = 2 * workspace.entries;
          workspace.one_mode = one_mode;
          workspace.ordered = ordered;
          CAPTURE(keys);
          CAPTURE(share);
          const KeyedPrice found = cheapest_keyed(machine, workspace);
          ++chosen[found.kind];
          CHECK(found.ns == keyed_price(machine, workspace, found.kind).ns);
          CHECK(found.bytes == keyed_price(machine, workspace, found.kind).bytes);
          if (!one_mode) CHECK(found.kind != LevelKind::bitmap);
          for (const LevelKind each : {LevelKind::accumulator, LevelKind::bitmap}) {
            if (keys == 1e12 || (each == LevelKind::bitmap && !one_mode)) continue;
            CHECK(found.ns <= keyed_price(machine, workspace, each).ns);
          }
          // No table of all keys is that large, and one that is full has no gaps.
          CHECK((keys < 1e12 || found.kind == LevelKind::hashed));
          if (share == 1 && keys < 1e12) CHECK(found.kind != LevelKind::hashed);
        }
      }
    }
  }
  CHECK(chosen.size() == 3);
}

TEST_CASE("once a workspace is hashed it stays hashed with more keys") {
  const Machine machine;
  for (const bool ordered : {false, true}) {
    bool hashed = false;
    for (double keys = 1e3; keys <= 1e12; keys *= 10) {
      KeyedWorkspace workspace;
      workspace.keys = keys;
      workspace.entries = 100;
      workspace.inserts = 200;
      workspace.one_mode = false;
      workspace.ordered = ordered;
      CAPTURE(keys);
      const bool now = cheapest_keyed(machine, workspace).kind == LevelKind::hashed;
      CHECK((now || !hashed));
      hashed = now;
    }
    CHECK(hashed);
  }
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

TEST_CASE("a large table that is touched here and there costs its marks and new pages, once for each thread") {
  const Machine machine;
  KeyedWorkspace workspace;
  workspace.keys = 5000.0 * 4900;
  workspace.one_mode = false;
  workspace.entries = 5;
  workspace.inserts = 8;
  workspace.fillings = 4000;
  CHECK(cheapest_keyed(machine, workspace).kind == LevelKind::hashed);
  const double once = keyed_price(machine, workspace, LevelKind::accumulator).ns;
  workspace.fillings = 1e7;
  CHECK(keyed_price(machine, workspace, LevelKind::accumulator).ns < once / 10);
  workspace.fillings = 4000;
  workspace.runs = 1000;
  CHECK(keyed_price(machine, workspace, LevelKind::accumulator).ns < once);
}

}  // namespace weft::drain_test
