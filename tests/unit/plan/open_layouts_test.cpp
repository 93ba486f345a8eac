#include "engine/plan/search/open_layouts.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/plan/schedule/check.h"
#include "unit/plan/networks.h"

namespace weft::plan_test::open_layouts_test {
namespace {

OwnedProblem product(std::uint64_t extent, std::uint64_t entries) {
  const std::string nnz = std::to_string(entries);
  OwnedProblem made = problem("B:ik:ss:" + nnz + " C:kj:ss:" + nnz + " -> ij", {{'i', extent}, {'j', extent}, {'k', extent}});
  made.options.result_formats["R"] = *parse_format("ss");
  return made;
}

const ScheduledTensor& layout_of_c(const Plan& plan) {
  for (const ScheduledTensor& tensor : plan.schedule.tensors) {
    if (tensor.name == "C") return tensor;
  }
  FAIL("C has no layout");
  return plan.schedule.tensors.front();
}

}  // namespace

TEST_CASE("an operand whose rows are looked up is opened in place") {
  const OwnedProblem given = product(100'000, 1'000'000);
  const Plan found = planned(given);
  CHECK(layout_of_c(found).opened);
  CHECK(layout_of_c(found).format.text() == "ds:0,1");
  CHECK(found.schedule.statements.front().intersections.empty());
  CHECK(print(found.schedule, given.network).find("layout C ds:0,1 f64 opened") != std::string::npos);
  // One end per row is written, where sorting and rebuilding would take every entry.
  CHECK(found.cost.conversion_ns > 0);
  CHECK(found.cost.conversion_ns < 1'000'000 * given.options.machine.convert_entry);
}

TEST_CASE("one that was converted to dense levels in its own order is opened instead where that is cheaper") {
  const OwnedProblem given = product(100'000, 1'000'000);
  const Plan found = planned(given);
  Candidate converted{found.schedule, {}};
  for (ScheduledTensor& tensor : converted.schedule.tensors) {
    if (tensor.name == "C") tensor.opened = false;
  }
  converted.cost = cost(converted.schedule, given);
  REQUIRE(converted.cost.conversion_ns > found.cost.conversion_ns);
  const Candidate opened = with_open_layouts(converted, given);
  CHECK(opened.schedule == found.schedule);
  CHECK(opened.cost.ns == doctest::Approx(found.cost.ns));
}

TEST_CASE("pinned operands, and those with few entries for their rows, stay") {
  OwnedProblem pinned = product(100'000, 1'000'000);
  for (OperandFacts& operand : pinned.operands) operand.pinned = true;
  CHECK(!layout_of_c(planned(pinned)).opened);
  CHECK(!layout_of_c(planned(product(std::uint64_t{1} << 30, 1000))).opened);
}

TEST_CASE("what opening takes at least is known before any schedule is") {
  OwnedProblem given = product(100'000, 1'000'000);
  const double once = least_opening_ns(given.operands, given.options);
  CHECK(once > 0);
  CHECK(once < 1'000'000 * given.options.machine.convert_entry);
  // It grows with the rows, of which hardly any is empty, and not with the entries.
  CHECK(least_opening_ns(product(100'000, 2'000'000).operands, given.options) == doctest::Approx(once).epsilon(0.001));
  CHECK(least_opening_ns(product(200'000, 1'000'000).operands, given.options) > once);
  given.options.calls = 10;
  CHECK(least_opening_ns(given.operands, given.options) == once / 10);
  for (OperandFacts& operand : given.operands) operand.pinned = true;
  CHECK(std::isinf(least_opening_ns(given.operands, given.options)));
}

TEST_CASE("what is no opening is refused by name") {
  const OwnedProblem given = product(1000, 10'000);
  Plan found = planned(given);
  for (ScheduledTensor& tensor : found.schedule.tensors) {
    if (tensor.name != "C") continue;
    tensor.opened = tensor.converted = true;
    tensor.format = *parse_format("ds:1,0");
  }
  const auto legal = check(found.schedule, given);
  REQUIRE(!legal);
  CHECK(legal.error().message.find("C cannot be opened from ss:0,1 to ds:1,0") != std::string::npos);
}

TEST_CASE("an operand that is searched for what another has is marked, if only for one call") {
  const auto searched = [](std::uint64_t extent, const std::string& entries) {
    return problem("B:ij:ss:400000 x:j:s:" + entries + " -> i", {{'i', 15'000}, {'j', extent}});
  };
  const auto layout_of_x = [](const OwnedProblem& given) {
    for (const ScheduledTensor& tensor : planned(given).schedule.tensors) {
      if (tensor.name == "x") return tensor.format.text();
    }
    return std::string();
  };
  CHECK(layout_of_x(searched(15'000, "770")) == "b:0");
  CHECK(layout_of_x(searched(15'000, "12")) == "b:0");
  // Clearing a place for every coordinate would take longer.
  CHECK(layout_of_x(searched(std::uint64_t{1} << 40, "770")) == "s:0");
  OwnedProblem pinned = searched(15'000, "770");
  for (OperandFacts& operand : pinned.operands) operand.pinned = true;
  CHECK(layout_of_x(pinned) == "s:0");
  const Plan found = planned(searched(15'000, "770"));
  CHECK(found.cost.conversion_ns > 770 * Machine{}.convert_entry);
  CHECK(found.proof.find("marked") != std::string::npos);
}

}  // namespace weft::plan_test::open_layouts_test
