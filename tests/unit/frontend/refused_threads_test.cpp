// What becomes of evaluations where the system starts no threads, or not as many as asked for.
#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "frontend/background.h"
#include "runtime/affinity.h"
#include "unit/refused_threads.h"
#include "weft/file.h"
#include "weft/session.h"

namespace weft::refused_threads_test {
namespace {

Tensor ones(const std::string& shape) { return *generate_tensor("ones(" + shape + ")", std::nullopt, Resources(), "A"); }

}  // namespace

TEST_CASE("an evaluation is right with the threads that there are, and its report says how many that were") {
  std::vector<std::string> lines;
  std::mutex mutex;
  EngineOptions options;
  options.resources.threads = Threads(2);
  options.trace = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  const auto session = Session::create(options);
  REQUIRE(session);
  session->set("A", ones("2000x1000"));
  session->set("x", ones("1000"));
  const std::string text = "y(i) = A(i,j) * x(j)";
  const auto evaluated = [&] {
    EvaluateOptions evaluate;
    evaluate.run = true;
    const auto evaluation = session->evaluate(text, {"A", "x"}, evaluate);
    REQUIRE(evaluation);
    for (const double value : evaluation->results.at("y").values().as<const double>()) CHECK(value == 1000);
    return evaluation->report.threads;
  };
  {
    const refused_threads::Refusing refusing;
    CHECK(evaluated() == 1);
    CHECK(refusing.asked() > 0);
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.back().find("# run threads 1 ") != std::string::npos);
    CHECK(session->engine().options().resources.threads.count() == 2);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
  const unsigned there = allowed_cpus().size() > 1 ? 2 : 1;
  CHECK(evaluated() == there);
  CHECK(lines.back().find(there == 2 ? "# run threads 2 " : "# run threads 1 ") != std::string::npos);
}

TEST_CASE("where no thread starts, work for the background is done by who brings it") {
  const refused_threads::Refusing refusing;
  {
    Background background(2);
    std::thread::id worked;
    background.post([&](bool dropped) {
      CHECK_FALSE(dropped);
      worked = std::this_thread::get_id();
    });
    CHECK(worked == std::this_thread::get_id());
  }
  const auto session = Session::create();
  REQUIRE(session);
  const auto compiled = session->engine().compile_async("y(i) = A(i,j) * x(j)", {{"A", ones("20x10")}, {"x", ones("10")}});
  REQUIRE(compiled.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  CHECK(compiled.get());
  CHECK(refusing.asked() >= 2);
}

}  // namespace weft::refused_threads_test
