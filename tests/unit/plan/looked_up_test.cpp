// Operands in which entries are looked up: opened in place, or marked (space/alternatives.h).
#include <doctest/doctest.h>

#include "engine/plan/cost/alternative_models.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/space/alternatives.h"
#include "unit/plan/networks.h"

namespace weft::plan_test::looked_up_test {
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

TEST_CASE("what no cache holds is not marked, however often it is read, nor one of two factors that one walk reads") {
  const auto is_marked = [](std::uint64_t extent, const std::string& text) {
    OwnedProblem made = problem(text, {{'i', extent}, {'j', extent}, {'k', extent}});
    made.options.calls = 1e9;
    const Plan found = planned(made);
    return std::ranges::any_of(found.schedule.tensors, [](const ScheduledTensor& tensor) {
      return !tensor.format.levels.empty() && tensor.format.levels.back().kind == LevelKind::bitmap;
    });
  };
  CHECK(is_marked(1'000, "A:ij:ss:40000 B:ij:ss:40000 -> i"));
  CHECK_FALSE(is_marked(50'000, "A:ij:ss:700000 B:ij:ss:700000 -> i"));
  CHECK_FALSE(is_marked(1'000, "A:ij:ss:40000 A:ij:ss:40000 -> i"));
  // Beside a third access of the tensor all three are opened alike.
  OwnedProblem thrice = problem("A:ij:ss:700000 A:ij:ss:700000 A:ik:ss:700000 -> j", {{'i', 50'000}, {'j', 50'000}, {'k', 50'000}});
  thrice.options.calls = 1e6;
  CHECK(check(planned(thrice).schedule, thrice));
}

TEST_CASE("the model prices an opened operand as cost() does once the schedule has it so") {
  const OwnedProblem given = product(100'000, 1'000'000);
  const Contractions contractions = contractions_of(planned(given).schedule);
  AlternativeModels models(given);
  const ResultFormat& format = models.formats().front();
  const PricedOrder order = models.order_of(contractions_of(given.network, contractions.tree, {2}, given.operands, format));
  AccessPaths paths(order.contractions.tensors.size());
  const LoopNests nests{{{0, 2, 1}}, {0}};
  const auto completed = [&] {
    const CostModel model = models.model(order, models.numbers(order, paths));
    const Schedule schedule = complete(order.contractions, nests, given.network, model, paths, given.operands);
    return std::pair{schedule, time_cost(schedule, given, model).ns};
  };
  const auto [kept, kept_ns] = completed();
  paths[1] = AccessPath::opened(1);
  const auto [opened, opened_ns] = completed();
  CHECK(opened.tensors[1].opened);
  CHECK(opened.tensors[1].format.text() == "ds:0,1");
  CHECK(opened_ns < kept_ns);
  CHECK(kept_ns == doctest::Approx(cost(kept, given).ns));
  CHECK(opened_ns == doctest::Approx(cost(opened, given).ns));
}

TEST_CASE("pinned operands, and those with few entries for their rows, stay") {
  OwnedProblem pinned = product(100'000, 1'000'000);
  for (OperandFacts& operand : pinned.operands) operand.pinned = true;
  CHECK(!layout_of_c(planned(pinned)).opened);
  CHECK(!layout_of_c(planned(product(std::uint64_t{1} << 30, 1000))).opened);
}

TEST_CASE("leading levels are opened one more each, where the last of them meets others and few positions have no entry") {
  const OperandFacts dense = problem("T:ijk:sss:8000 -> i", {{'i', 30}, {'j', 30}, {'k', 30}}).operands.front();
  const auto found = [](const OperandFacts& operand, ModeSet met) {
    std::vector<std::string> layouts;
    for (const Opening& opening : openings_of(operand, met, {})) layouts.push_back(layout_of(opening.path, operand).text());
    return layouts;
  };
  using Layouts = std::vector<std::string>;
  CHECK(found(dense, 0b111) == Layouts{"dss:0,1,2", "dds:0,1,2", "ssb:0,1,2"});
  CHECK(found(dense, 0b010) == Layouts{"dds:0,1,2"});
  CHECK(found(dense, 0b100) == Layouts{"ssb:0,1,2"});
  CHECK(found(dense, 0).empty());
  const OperandFacts few = problem("T:ijk:sss:50 -> i", {{'i', 30}, {'j', 1000}, {'k', 30}}).operands.front();
  CHECK(found(few, 0b011) == Layouts{"dss:0,1,2"});
}

TEST_CASE("opening takes as much as rows are written, and all occurrences of an operand pay for it once") {
  const auto once = [](const OwnedProblem& given) { return openings_of(given.operands[1], 1, given.options.machine).front().ns; };
  const double ns = once(product(100'000, 1'000'000));
  CHECK(ns > 0);
  CHECK(ns < 1'000'000 * Machine{}.convert_entry);
  CHECK(once(product(100'000, 2'000'000)) == doctest::Approx(ns).epsilon(0.001));
  CHECK(once(product(200'000, 1'000'000)) > ns);

  OwnedProblem squared = problem("M:ik:ss:1000 M:kj:ss:1000 -> ij", {{'i', 100}, {'j', 100}, {'k', 100}});
  squared.options.calls = 10;
  const PathSpace space(squared);
  const Opening opening = openings_of(squared.operands.front(), 0b11, squared.options.machine).front();
  // Both, or one of them in place of its conversion.
  const std::vector<PathChoice> both = space.openings({}, 0);
  REQUIRE(both.size() == 2);
  CHECK(space.openings({}, 1).empty());
  Contractions contractions;
  contractions.tensors.resize(3);
  CHECK(space.paths(contractions, both[0]) == AccessPaths{AccessPath::opened(1), AccessPath::opened(1), {}});
  CHECK(space.paths(contractions, both[1]) == AccessPaths{AccessPath::marked(), AccessPath::marked(), {}});
  CHECK(space.least_ns(both[0]) == opening.ns / 10);
  const std::vector<PathChoice> second = space.openings({0b10}, 1);
  REQUIRE(second.size() == 2);
  CHECK(second[0].converted == 0);
  CHECK(space.least_ns(second[0]) == opening.ns / 10);
  CHECK(second[0].is_beyond());
}

TEST_CASE("a result at the positions of an operand has no marks of it") {
  const OwnedProblem made = problem("B:jr M:ij:ss:50 N:jk:ss:50 -> irk", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 4}});
  const PathSpace space(made);
  Contractions contractions;
  contractions.tensors.resize(4);
  const std::vector<PathChoice> marked = space.openings({}, 0);
  REQUIRE(marked.size() == 1);
  CHECK(space.paths(contractions, marked[0])[1] == AccessPath::marked());
  contractions.tensors.back().like = 1;
  CHECK(space.paths(contractions, marked[0])[1] == AccessPath{});
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

}  // namespace weft::plan_test::looked_up_test
