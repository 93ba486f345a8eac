#include "weft/session.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "unit/cache/cache_fixture.h"
#include "unit/sanitized.h"
#include "weft/file.h"

namespace weft::session_test {
namespace {

Session session_with(unsigned threads = 1, Memory memory = Memory()) {
  EngineOptions options;
  options.resources.threads = Threads(threads);
  options.resources.memory = std::move(memory);
  auto session = Session::create(options);
  REQUIRE(session);
  return *session;
}

Tensor generated(const std::string& text) { return *generate_tensor(text, std::nullopt, Resources(), "T"); }

/// n times the ones of an extent.
Tensor constant(std::uint64_t extent, double value) {
  Tensor tensor = *dense_zeros({extent}, dense_format(1), Resources(), "x");
  for (double& each : tensor.writable_values<double>()) each = value;
  return tensor;
}

double scalar(const Expected<Tensors>& results, const std::string& name) {
  if (!results) MESSAGE(results.error().message);
  REQUIRE(results);
  return results->at(name).values().as<const double>()[0];
}

std::uint64_t resident_kilobytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long long size = 0, resident = 0;
  const int read = std::fscanf(file, "%llu %llu", &size, &resident);
  std::fclose(file);
  REQUIRE(read == 2);
  return resident * 4;
}

}  // namespace

TEST_CASE("a text is evaluated over the tensors as they are") {
  const Session session = session_with();
  session.set("x", constant(10, 2));
  session.set("y", constant(10, 3));
  CHECK(scalar(session.evaluate("s = x(i) * y(i)"), "s") == 60);
  CHECK(scalar(session.evaluate("s = x(i) * y(i)"), "s") == 60);
  session.set("y", constant(10, 5));
  CHECK(scalar(session.evaluate("s = x(i) * y(i)"), "s") == 100);
  session.set("x", constant(4, 1));
  session.set("y", constant(4, 1));
  CHECK(scalar(session.evaluate("s = x(i) * y(i)"), "s") == 4);
  const Session copy = session;
  copy.set("T0", constant(3, 7));
  CHECK(scalar(session.evaluate("i->"), "out") == 21);
  session.drop("y");
  const auto missing = session.evaluate("s = x(i) * y(i)");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::input);
  CHECK(missing.error().message.find("y") != std::string::npos);
  CHECK(session.tensors()->size() == 2);
  CHECK(session.evaluate("s = ").error().kind == ErrorKind::input);
}

TEST_CASE("results that are held are not written over") {
  const Session session = session_with();
  session.set("x", constant(100, 2));
  std::vector<Tensor> held;
  for (int run = 0; run < 20; ++run) held.push_back(session.evaluate("y(i) = 2 * x(i)")->at("y"));
  session.set("x", constant(100, 3));
  held.push_back(session.evaluate("y(i) = 2 * x(i)")->at("y"));
  for (std::size_t run = 0; run < 20; ++run) CHECK(held[run].values().as<const double>()[99] == 4);
  CHECK(held[20].values().as<const double>()[99] == 6);
}

TEST_CASE("with a kernel for other tensors there the answer comes from it first, then from a better one") {
  const Session session = session_with();
  session.set("M", generated("sparse(50x60,nnz=200,seed=1)"));
  session.set("x", generated("ones(60)"));
  const std::string text = "s = M(i,j) * x(j)";
  const double first = scalar(session.evaluate(text, Answer::soonest), "s");
  CHECK(first == scalar(session.evaluate(text), "s"));
  session.set("M", generated("sparse(50x60,nnz=1500,seed=2)"));
  const double soon = scalar(session.evaluate(text, Answer::soonest), "s");
  for (int run = 0; run < 200; ++run) {
    CHECK(scalar(session.evaluate(text, Answer::soonest), "s") == doctest::Approx(soon));
    std::this_thread::yield();
  }
  const Session fresh = session_with();
  for (const auto& [name, tensor] : *session.tensors()) fresh.set(name, tensor);
  CHECK(scalar(fresh.evaluate(text), "s") == doctest::Approx(soon));
  // Other extents: a generic kernel takes the place of the one that is there.
  session.set("M", generated("sparse(20x60,nnz=300,seed=3)"));
  CHECK(session.evaluate(text, Answer::soonest));
}

TEST_CASE("without any kernel the soonest answer comes from a generic one, and a better one follows") {
  std::mutex mutex;
  std::vector<std::string> lines;
  EngineOptions options;
  options.resources.threads = Threads(1);
  options.trace = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  const auto compiled = [&] {
    const std::lock_guard lock(mutex);
    return std::ranges::count_if(lines, [](const std::string& line) { return line.find(" # compile ") != std::string::npos; });
  };
  {
    const auto session = Session::create(options);
    REQUIRE(session);
    session->set("M", generated("sparse(50x60,nnz=200,seed=1)"));
    session->set("x", generated("ones(60x7)"));
    const std::string text = "y(i,r) = M(i,j) * x(j,r)";
    REQUIRE(session->evaluate(text, Answer::soonest));
    for (int wait = 0; wait < 2000 && compiled() < 2; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(compiled() == 2);
    REQUIRE(session->evaluate(text, Answer::soonest));
    REQUIRE(session->evaluate(text));
    CHECK(compiled() == 2);
    const Cancellation token;
    token.cancel();
    CHECK(session->evaluate(text, Answer::best, &token).error().kind == ErrorKind::cancelled);
    CHECK(session->evaluate("s = 3 * M(i,j)", Answer::soonest, &token).error().kind == ErrorKind::cancelled);
    CHECK(session->evaluate("s = 3 * M(i,j)", {"M"}, {}, &token).error().kind == ErrorKind::cancelled);
    CHECK(session->evaluate("s = 3 * M(i,j)"));
  }
}

TEST_CASE("the soonest answer comes from the best kernel where the caches have it, in memory or on disk") {
  const TemporaryDirectory temporary;
  EngineOptions options;
  options.resources.threads = Threads(1);
  options.cache_directory = temporary.path().string();
  const std::string text = "y(i,r) = M(i,j) * x(j,r)";
  const auto set = [](const Session& session, const char* matrix, const char* x) {
    session.set("M", generated(matrix));
    session.set("x", generated(x));
  };
  {
    const auto engine = Engine::create(options);
    REQUIRE(engine);
    const Session session(*engine), other(*engine);
    set(session, "sparse(50x60,nnz=200,seed=1)", "ones(60x7)");
    REQUIRE(session.evaluate(text));
    set(other, "sparse(50x60,nnz=200,seed=1)", "ones(60x7)");
    REQUIRE(other.evaluate(text, Answer::soonest));
    CHECK(engine->counters().compiled == 1);
    CHECK(engine->counters().generic == 0);
    // Between two sizes that were both evaluated: each has its own kernel, and none is made.
    set(session, "sparse(40x30,nnz=100,seed=1)", "ones(30x9)");
    REQUIRE(session.evaluate(text));
    const std::uint64_t made = engine->counters().compiled;
    for (int round = 0; round < 2; ++round) {
      set(session, "sparse(50x60,nnz=200,seed=1)", "ones(60x7)");
      REQUIRE(session.evaluate(text, Answer::soonest));
      set(session, "sparse(40x30,nnz=100,seed=1)", "ones(30x9)");
      REQUIRE(session.evaluate(text, Answer::soonest));
    }
    CHECK(engine->counters().compiled == made);
    CHECK(engine->counters().fallbacks == 0);
    CHECK(engine->counters().generic == 0);
  }
  const auto later = Engine::create(options);
  REQUIRE(later);
  const Session session(*later);
  set(session, "sparse(50x60,nnz=200,seed=1)", "ones(60x7)");
  REQUIRE(session.evaluate(text, Answer::soonest));
  CHECK(later->counters().disk == 1);
  CHECK(later->counters().plans_disk == 1);
  CHECK(later->counters().compiled == 0);
  CHECK(later->counters().generic == 0);
  // Without a cache there is nothing to find.
  options.use_cache = false;
  const auto without = Session::create(options);
  REQUIRE(without);
  set(*without, "sparse(50x60,nnz=200,seed=1)", "ones(60x7)");
  REQUIRE(without->evaluate(text, Answer::soonest));
  CHECK(without->engine().counters().generic == 1);
}

TEST_CASE("one thread that sums tells how far it is, and sums the same when nobody listens") {
  std::vector<double> fractions;
  std::vector<double> sums;
  for (const bool listening : {true, false}) {
    EngineOptions options;
    options.resources.threads = Threads(1);
    options.use_cache = false;
    if (listening) {
      options.resources.progress = [&](std::string_view what, double fraction) {
        CHECK((what == "computing s" || what == "planning"));
        if (what == "computing s") fractions.push_back(fraction);
      };
    }
    const auto session = Session::create(options);
    REQUIRE(session);
    for (const char* name : {"A", "B", "C"}) session->set(name, generated("uniform(900x900)"));
    sums.push_back(scalar(session->evaluate("s = (A(i,j) * B(j,k) * C(k,i))"), "s"));
  }
  CHECK(sums[0] == sums[1]);
  REQUIRE_FALSE(fractions.empty());
  for (std::size_t number = 0; number < fractions.size(); ++number) {
    CHECK((fractions[number] > 0 && fractions[number] <= 1));
    if (number > 0) CHECK(fractions[number] > fractions[number - 1]);
  }
}

TEST_CASE("of runs that are repeated the warm-up is the first, and progress never goes back") {
  std::vector<double> shares;
  std::vector<std::string> runs;
  EngineOptions options;
  options.resources.threads = Threads(1);
  options.use_cache = false;
  options.resources.progress = [&](std::string_view what, double share) {
    const std::string run(what.substr(0, what.find(',')));
    if (!run.starts_with("run") && run != "warm-up") return;
    shares.push_back(share);
    if (runs.empty() || runs.back() != run) runs.push_back(run);
  };
  const auto session = Session::create(options);
  REQUIRE(session);
  for (const char* name : {"A", "B", "C"}) session->set(name, generated("uniform(900x900)"));
  EvaluateOptions evaluate;
  evaluate.repeat = 2;
  REQUIRE(session->evaluate("s = (A(i,j) * B(j,k) * C(k,i))", {"A", "B", "C"}, evaluate));
  CHECK(runs == std::vector<std::string>{"warm-up", "run 1 of 2", "run 2 of 2"});
  CHECK(std::ranges::is_sorted(shares));
}

TEST_CASE("under a memory limit, what is kept for other texts makes way") {
  const Memory memory(40 << 20);
  const Session session = session_with(1, memory);
  session.set("x", constant(1000, 1));
  for (int number = 0; number < 12; ++number) {
    const std::string factor = std::to_string(number + 1);
    const auto results = session.evaluate("A(i,j) = " + factor + " * x(i) * x(j)");  // 8 MB each
    if (!results) MESSAGE(results.error().message);
    REQUIRE(results);
    CHECK(results->at("A").values().as<const double>()[0] == number + 1);
  }
  CHECK(memory.peak() <= memory.limit());
}

// The number of evaluations in all is WEFT_EVALUATIONS, else few enough for every day.
TEST_CASE("many threads evaluate many texts while a tensor is replaced: no error, no stale binding, no growth") {
  const char* asked = std::getenv("WEFT_EVALUATIONS");
  const long evaluations = asked ? std::atol(asked) : test::scaled(8000);
  constexpr int threads = 8, texts = 100;
  const Session session = session_with(2);
  session.set("M", generated("sparse(12x9,nnz=30,seed=1)"));
  session.set("x", generated("ones(9)"));
  session.set("c", constant(4, 1));
  const double sum = scalar(session.evaluate("s = M(i,j) * x(j)"), "s");
  std::vector<std::string> sums, changing;
  for (int text = 0; text < texts / 2; ++text) {
    sums.push_back("s = " + std::to_string(1 << (text % 20)) + " * M(i,j) * x(j)" + std::string(static_cast<std::size_t>(text / 20), ' '));
    changing.push_back("s = " + std::to_string(text + 1) + " * c(i)");
  }
  std::atomic<double> latest{1};  // set before this is stored: no evaluation that begins later may see an earlier one
  std::atomic<long> begun{0}, errors{0}, stale{0}, wrong{0};
  const auto work = [&] {
    for (long number = begun++; number < evaluations; number = begun++) {
      const auto text = static_cast<std::size_t>(number % (texts / 2));
      const double before = latest;
      const bool fixed = number / (texts / 2) % 2 == 0;
      const auto results = session.evaluate(fixed ? sums[text] : changing[text]);
      if (!results) {
        ++errors;
        continue;
      }
      const double value = results->at("s").values().as<const double>()[0];
      if (fixed && value != sum * (1 << (text % 20))) ++wrong;
      if (!fixed && value < before * 4 * static_cast<double>(text + 1)) ++stale;
    }
  };
  const auto all = [&] {
    begun = 0;
    std::vector<std::thread> workers;
    for (int thread = 0; thread < threads; ++thread) workers.emplace_back(work);
    double value = latest;
    while (begun < evaluations) {
      value += 1;
      session.set("c", constant(4, value));
      latest = value;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    for (std::thread& worker : workers) worker.join();
  };
  all();
  const std::uint64_t before = resident_kilobytes();
  all();
  const std::uint64_t after = resident_kilobytes();
  CHECK(errors == 0);
  CHECK(stale == 0);
  CHECK(wrong == 0);
  CAPTURE(before);
  CAPTURE(after);
  // Sanitizers keep what was freed for a while.
  if (!test::is_sanitized()) CHECK(after < before + 20'000);
}

}  // namespace weft::session_test
