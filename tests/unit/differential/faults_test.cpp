// Deliberate faults: what lowering or code generation could get wrong is put into the programs by hand, and the
// comparison with the oracle has to notice it, interpreted and as native code.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "engine/plan/plan.h"
#include "oracle/built_network.h"
#include "oracle/interpreted.h"
#include "runs.h"
#include "tests/unit/codegen/jit_run.h"

namespace faults_test {

using namespace weft;
using namespace weft::test;

namespace {

/// Calls change(statement) on every statement, outermost first, until it returns true.
bool change_first(loop::Block& block, const std::function<bool(loop::Statement&)>& change) {
  for (loop::Statement& statement : block) {
    if (change(statement)) return true;
    if (auto* loop = std::get_if<loop::For>(&statement.node); loop && change_first(loop->body, change)) return true;
    if (auto* with = std::get_if<loop::With>(&statement.node); with && change_first(with->body, change)) return true;
    if (auto* bind = std::get_if<loop::Bind>(&statement.node); bind && change_first(bind->body, change)) return true;
  }
  return false;
}

bool turn_sign(LoweredNest& nest) {
  return change_first(nest.program.body, [](loop::Statement& statement) {
    auto* accumulate = std::get_if<loop::Accumulate>(&statement.node);
    if (accumulate) accumulate->negative = !accumulate->negative;
    return accumulate != nullptr;
  });
}

bool leave_out_factor(LoweredNest& nest) {
  return change_first(nest.program.body, [](loop::Statement& statement) {
    auto* accumulate = std::get_if<loop::Accumulate>(&statement.node);
    if (!accumulate || accumulate->factors.size() < 2) return false;
    accumulate->factors.pop_back();
    return true;
  });
}

bool leave_out_late_step(LoweredNest& nest) {
  return change_first(nest.program.body, [](loop::Statement& statement) {
    auto* loop = std::get_if<loop::For>(&statement.node);
    if (!loop) return false;
    for (auto step = loop->steps.begin(); step != loop->steps.end(); ++step) {
      const auto again =
          std::find_if(step + 1, loop->steps.end(), [&](const loop::Step& s) { return s.access == step->access; });
      if (again == loop->steps.end()) continue;
      loop->steps.erase(again);
      return true;
    }
    return false;
  });
}

/// `for x: with w: …` becomes `with w: for x: …`: what one iteration added is still there in the next.
bool skip_reset(LoweredNest& nest) {
  return change_first(nest.program.body, [](loop::Statement& statement) {
    auto* loop = std::get_if<loop::For>(&statement.node);
    if (!loop || loop->body.size() != 1 || !std::holds_alternative<loop::With>(loop->body[0].node)) return false;
    loop::With with = std::get<loop::With>(loop->body[0].node);
    loop::For inner = *loop;
    inner.marks.parallel.clear();
    inner.body = std::move(with.body);
    with.body = {loop::Statement{std::move(inner)}};
    statement.node = std::move(with);
    return true;
  });
}

bool shorten_extent_fact(LoweredNest& nest) {
  for (loop::Fact& fact : nest.program.facts) {
    auto* extent = std::get_if<loop::ExtentFact>(&fact);
    if (!extent || extent->extent < 2) continue;
    --extent->extent;
    return true;
  }
  return false;
}

bool change_coefficient(LoweredNest& nest) {
  if (nest.coefficients.empty()) return false;
  nest.coefficients.front() += 1;
  return true;
}

bool exchange_factor(LoweredNest& nest) {
  return change_first(nest.program.body, [](loop::Statement& statement) {
    auto* accumulate = std::get_if<loop::Accumulate>(&statement.node);
    if (!accumulate || accumulate->factors.size() < 2) return false;
    accumulate->factors[1] = accumulate->factors[0];
    return true;
  });
}

const std::map<std::string, bool (*)(LoweredNest&)> faults = {
    {"the sign of a product is turned", turn_sign},      {"a factor is left out", leave_out_factor},
    {"a late step is left out", leave_out_late_step},    {"a workspace is not emptied", skip_reset},
    {"an extent is one too small", shorten_extent_fact}, {"a coefficient is changed", change_coefficient},
    {"a factor stands in for another", exchange_factor},
};

}  // namespace

TEST_CASE("deliberate faults are noticed") {
  const auto jit = Jit::create();
  REQUIRE_MESSAGE(jit, jit.error().message);
  const ProgramRunner native = [&](const loop::Program& program, const loop::Interpretation& values) {
    return run_native(*jit, program, values, host_target(), {});
  };
  struct Count {
    int put = 0, noticed = 0, compiled = 0, noticed_native = 0;
  };
  std::map<std::string, Count> counts;
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  for (std::uint64_t seed = 1; seed <= (is_sanitized() ? 25u : 100u); ++seed) {
    const RandomNetwork random = random_network(seed);
    const std::string text = reproduction(random);
    CAPTURE(text);
    const Watchdog watchdog(text, 60);
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    const CoordinateMap expected = expected_result(random);
    const auto planned = plan(Problem{made->network, made->facts, {}});
    REQUIRE_MESSAGE(planned, planned.error().message);
    const Schedule& schedule = planned->schedule;
    const auto nests = lower(schedule, made->network, std::vector<bool>(schedule.tensors.size(), true));
    REQUIRE_MESSAGE(nests, nests.error().message);
    const auto sound = evaluated(schedule, made->network, *nests, made->entries, native);
    REQUIRE_MESSAGE(sound, sound.error().message);
    CHECK(differences(*sound, expected) == "");

    for (const auto& [name, put] : faults) {
      std::vector<LoweredNest> faulty = *nests;
      const auto place = std::ranges::find_if(faulty, put);
      if (place == faulty.end()) continue;
      Count& count = counts[name];
      ++count.put;
      const auto result = interpreted(schedule, made->network, faulty, made->entries);
      if (!result || !differences(*result, expected).empty()) ++count.noticed;
      // Code is generated from verified programs only.
      if (!loop::verify(place->program)) continue;
      ++count.compiled;
      const auto run = evaluated(schedule, made->network, faulty, made->entries, native);
      if (!run || !differences(*run, expected).empty()) ++count.noticed_native;
    }
  }
  for (const auto& fault : faults) {
    const std::string& name = fault.first;
    CAPTURE(name);
    const Count count = counts[name];
    MESSAGE(name << ": noticed " << count.noticed << " of " << count.put << " interpreted, " << count.noticed_native
                 << " of " << count.compiled << " compiled");
    CHECK(count.put > 0);
    CHECK(count.noticed > 0);
    if (count.compiled > 0) CHECK(count.noticed_native > 0);
  }
}

}  // namespace faults_test
