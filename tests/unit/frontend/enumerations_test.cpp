#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "weft/engine.h"
#include "weft/host.h"
#include "weft/objective.h"

namespace weft::enumerations_test {
namespace {

Report report_with(std::string producer, std::string optimal, std::string plan, std::string kernel, std::string specialised) {
  Report report;
  report.plan.producer = std::move(producer);
  report.plan.optimal = std::move(optimal);
  report.plan_cache = std::move(plan);
  report.kernel_cache = std::move(kernel);
  report.specialization = std::move(specialised);
  return report;
}

}  // namespace

TEST_CASE("each word of a report has an enumerator of its own, and other words none") {
  std::set<PlanProducer> producers;
  for (const char* word : {"dp", "z3", "baseline", "enumerated", "user"}) producers.insert(report_with(word, "", "", "", "").producer());
  CHECK(producers.size() == 5);
  CHECK_FALSE(producers.contains(PlanProducer::unknown));
  CHECK(report_with("", "false", "", "", "").optimal() == PlanOptimal::none);
  CHECK(report_with("", "tree", "", "", "").optimal() == PlanOptimal::tree);
  CHECK(report_with("", "all", "", "", "").optimal() == PlanOptimal::all);
  CHECK(report_with("dp", "", "miss", "", "").plan_source() == PlanSource::made);
  CHECK(report_with("dp", "", "hit", "", "").plan_source() == PlanSource::remembered);
  CHECK(report_with("", "", "", "memory", "").kernel_source() == KernelSource::memory);
  CHECK(report_with("", "", "", "disk", "").kernel_source() == KernelSource::disk);
  CHECK(report_with("", "", "", "compiled", "").kernel_source() == KernelSource::compiled);
  CHECK(report_with("", "", "", "", "generic").specialised() == Specialization::generic);
  CHECK(report_with("", "", "", "", "profiled").specialised() == Specialization::profiled);
  CHECK(report_with("", "", "", "", "baked").specialised() == Specialization::baked);
  const Report other = report_with("oracle", "perhaps", "lost", "lent", "bespoke");
  CHECK(other.producer() == PlanProducer::unknown);
  CHECK(other.optimal() == PlanOptimal::unknown);
  CHECK(other.plan_source() == PlanSource::unknown);
  CHECK(other.kernel_source() == KernelSource::unknown);
  CHECK_FALSE(other.specialised());
  CHECK(Report().plan_source() == PlanSource::unknown);
}

TEST_CASE("stages and objectives by enumerator are those by name, and reports of compilations have words that are known") {
  const std::vector<double> x = {1, 2, 3};
  const auto engine = Engine::create();
  REQUIRE(engine);
  for (const Objective objective : {Objective::time, Objective::workspace_order}) {
    CompileOptions options;
    options.objective = name(objective);
    const auto kernel = engine->compile("y(i) = x(i) * x(i)", {{"x", *borrow_dense({3}, x)}}, options);
    REQUIRE(kernel);
    const Report& report = kernel->report();
    CHECK(report.producer() != PlanProducer::unknown);
    CHECK(report.optimal() != PlanOptimal::unknown);
    CHECK(report.plan_source() == PlanSource::made);
    CHECK(report.kernel_source() != KernelSource::unknown);
    CHECK(report.specialised());
    for (const Stage stage : {Stage::network, Stage::tree, Stage::schedule, Stage::loops, Stage::signature, Stage::llvm,
                              Stage::assembly, Stage::object}) {
      const auto shown = kernel->explain(stage);
      const auto named = kernel->explain(std::string(name(stage)));
      REQUIRE(shown);
      REQUIRE(named);
      CHECK(*shown == *named);
      CHECK_FALSE(shown->empty());
    }
  }
}

}  // namespace weft::enumerations_test
