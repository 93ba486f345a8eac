// Which loops over a chain are one, by how long its runs are and by what else stands in them.
#include "engine/lower/flat_walks.h"

#include <doctest/doctest.h>

#include "lowered_case.h"

namespace flat_walks_test {

using namespace weft;
using namespace weft::test;

namespace {

/// MTTKRP of mode `mode`, unfactored; T is tensor 0 of the schedule.
Case mttkrp(char mode, const std::string& format) {
  Case given;
  given.extents = {{'i', 3}, {'j', 4}, {'k', 5}, {'r', 8}};
  given.factors = {"T ijk"};
  std::string product = "T[i,j,k]";
  std::string layouts = "  layout T " + format + ":0,1,2 f64\n";
  for (const char other : std::string("ijk")) {
    if (other == mode) continue;
    const std::string name(1, static_cast<char>(other - 'a' + 'A'));
    given.factors.push_back(name + " " + other + "r");
    product += " * " + name + "[" + other + ",r]";
    layouts += "  layout " + name + " dd:0,1 f64\n";
  }
  given.result = std::string("A ") + mode + "r";
  given.schedule = layouts + "  result A dd:0,1 f64\n  A[" + mode + ",r] += " + product + "   loops i,j,k,r   vector r\n";
  return given;
}

/// The programs' text where runs of T have these lengths, once they are found to mean what they should.
std::string with_runs(const Case& given, const std::vector<double>& runs) {
  const auto schedule = schedule_of(given);
  REQUIRE_MESSAGE(schedule, schedule.error().message);
  LoweringFacts facts;
  facts.runs.resize(schedule->tensors.size());
  facts.runs[0] = runs;
  const auto nests = lower(*schedule, network_of(given), std::vector<bool>(schedule->tensors.size(), true), facts);
  REQUIRE_MESSAGE(nests, nests.error().message);
  std::string text;
  for (const LoweredNest& nest : *nests) text += print(nest.program);
  return text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The loop over an index is marked @flat.
bool is_flat(const std::string& text, const std::string& index) {
  const std::size_t begin = text.find("for " + index + ":");
  REQUIRE(begin != std::string::npos);
  return has(text.substr(begin, text.find('\n', begin) - begin), "@flat");
}

}  // namespace

TEST_CASE("short runs are walked entry by entry, long ones and unknown ones loop by loop") {
  const Case given = mttkrp('i', "duq");
  CHECK(is_flat(with_runs(given, {0, 1.3, 1}), "j"));
  CHECK_FALSE(has(with_runs(given, {0, 40, 1}), "@flat"));
  CHECK_FALSE(has(with_runs(given, {}), "@flat"));
  CHECK_FALSE(has(with_runs(mttkrp('i', "dss"), {0, 1.3, 1}), "@flat"));
}

TEST_CASE("a walk begins at the first level with short runs, and at the root where nothing stands in between") {
  const std::string below = with_runs(mttkrp('k', "uqq"), {300, 2, 1});
  CHECK(is_flat(below, "j"));
  CHECK_FALSE(is_flat(below, "i"));
  const std::string all = with_runs(mttkrp('k', "uqq"), {3, 2, 1});
  CHECK(is_flat(all, "i"));
  CHECK_FALSE(is_flat(all, "j"));
}

TEST_CASE("no row is kept in registers between the loops of a walk") {
  const Case given = mttkrp('j', "duq");
  CHECK(has(with_runs(given, {0, 40, 1}), "with A_row[r]"));
  const std::string walked = with_runs(given, {0, 1.3, 1});
  CHECK_FALSE(has(walked, "with A_row[r]"));
  CHECK(has(walked, "@flat"));
}

TEST_CASE("what stands between the loops of a chain keeps them apart") {
  Case given = mttkrp('i', "duq");
  given.schedule =
      "  layout T duq:0,1,2 f64\n  layout J dd:0,1 f64\n  layout K dd:0,1 f64\n  intermediate x[i,j,r] ddd:0,1,2 f64\n"
      "  result A dd:0,1 f64\n"
      "  x[i,j,r] += T[i,j,k] * K[k,r]   loops i,j,k,r   vector r\n  A[i,r] += x[i,j,r] * J[j,r]   loops i,j,r   fused 2   vector r\n";
  CHECK_FALSE(has(with_runs(given, {0, 1.3, 1}), "@flat"));
}

}  // namespace flat_walks_test
