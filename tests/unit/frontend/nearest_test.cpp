#include "frontend/nearest.h"

#include <doctest/doctest.h>

namespace weft::nearest_test {
namespace {

TEST_CASE("the nearest word") {
  const std::vector<std::string> known{"help", "list", "load", "loops", "plan", "profile", "schedule", "time"};
  CHECK(nearest("plna", known) == "plan");
  CHECK(nearest("paln", known) == "plan");
  CHECK(nearest("schedul", known) == "schedule");
  CHECK(nearest("shedule", known) == "schedule");
  CHECK(nearest("lis", known) == "list");
  CHECK(nearest("prof", known) == "profile");
  CHECK(nearest("tmie", known) == "time");
  CHECK(!nearest("xyzzy", known));
  CHECK(!nearest("", known));
  CHECK(!nearest("a", {"b"}));
  CHECK(!nearest("a", {}));
  CHECK(nearest("flihgts", {"flights", "T"}) == "flights");
  CHECK(nearest("x", {"A", "X"}) == "X");
  CHECK(nearest("LOOPS", known) == "loops");
  CHECK(nearest("--output", {"--out", "--quiet"}) == "--out");
  CHECK(did_you_mean("lops", known) == "; did you mean loops?");
  CHECK(did_you_mean("xyzzy", known).empty());
}

}  // namespace
}  // namespace weft::nearest_test
