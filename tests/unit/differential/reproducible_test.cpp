// Sums whose value depends on the order of their terms come out the same, bit for bit, run after run.
#include <doctest/doctest.h>

#include <bit>
#include <vector>

#include "compiled_runs.h"
#include "engine/pipeline.h"
#include "frontend/resolve.h"
#include "weft/file.h"

namespace reproducible_test {

using namespace weft;

namespace {

constexpr int repetitions = 100;

/// Of one expression over generated operands; cut for threads however small it is.
class Problem {
 public:
  Problem(const std::string& expression, const std::map<std::string, std::string>& operands) {
    std::vector<OperandShape> shapes;
    for (const auto& [name, text] : operands) {
      auto tensor = generate_tensor(text, std::nullopt, resources_, name);
      REQUIRE_MESSAGE(tensor, tensor.error().message);
      shapes.push_back({name, tensor->extents(), tensor->format().scalar});
      tensors_.emplace(name, std::move(*tensor));
    }
    const auto parsed = parse_expression(expression);
    REQUIRE_MESSAGE(parsed, parsed.error().message);
    auto network = resolve(*parsed, shapes);
    REQUIRE_MESSAGE(network, network.error().message);
    const EngineOptions options;
    auto pipeline = Pipeline::create(options);
    REQUIRE_MESSAGE(pipeline, pipeline.error().message);
    const auto facts = pipeline->facts(*network, tensors_, {});
    auto plan = pipeline->plan(*network, facts, {});
    REQUIRE_MESSAGE(plan, plan.error().message);
    for (RootReduction& root : plan->schedule.roots) root = RootReduction::private_copies;
    test::make_worth_threads(*plan);
    auto kernel = pipeline->compile(*network, *plan, facts);
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    kernel_.emplace(std::move(*kernel));
  }

  /// The bits of the result A after each of `repetitions` runs.
  std::vector<std::vector<std::uint64_t>> results(unsigned threads, bool deterministic) const {
    Resources resources;
    resources.threads = Threads(threads);
    auto binding = kernel_->bind(tensors_, resources, deterministic);
    REQUIRE_MESSAGE(binding, binding.error().message);
    std::vector<std::vector<std::uint64_t>> all;
    for (int run = 0; run < repetitions; ++run) {
      const auto ran = binding->run();
      REQUIRE_MESSAGE(ran, ran.error().message);
      std::vector<std::uint64_t> bits;
      const auto results = binding->results();
      REQUIRE_MESSAGE(results, results.error().message);
      for (const double value : results->at("A").values().as<const double>()) {
        bits.push_back(std::bit_cast<std::uint64_t>(value));
      }
      all.push_back(std::move(bits));
    }
    return all;
  }

 private:
  Resources resources_;
  std::map<std::string, Tensor> tensors_;
  std::optional<CompiledNetwork> kernel_;
};

void check_reproducible(const Problem& problem) {
  for (const unsigned threads : {1u, 2u, 3u}) {
    CAPTURE(threads);
    const auto results = problem.results(threads, false);
    for (const auto& result : results) CHECK(result == results.front());
  }
  const auto alone = problem.results(1, true);
  for (const unsigned threads : {1u, 2u, 3u}) {
    CAPTURE(threads);
    for (const auto& result : problem.results(threads, true)) CHECK(result == alone.front());
  }
}

}  // namespace

TEST_CASE("private copies: reproducible for a number of threads, with deterministic for all numbers") {
  const Problem problem(
      "A(j,r) = T(i,j,k) * B(i,r) * C(k,r)",
      {{"T", "sparse(60x30x40,nnz=9000,seed=3)"}, {"B", "uniform(60x16,seed=4)"}, {"C", "uniform(40x16,seed=5)"}});
  check_reproducible(problem);
  // The sums do depend on their order: two threads add up in another order than one.
  CHECK(problem.results(1, false).front() != problem.results(2, false).front());
}

TEST_CASE("one number from many: a scalar result") {
  const Problem problem("A() = T(i,j,k) * B(j,k)",
                        {{"T", "sparse(500x30x40,nnz=20000,seed=6)"}, {"B", "uniform(30x40,seed=7)"}});
  check_reproducible(problem);
}

TEST_CASE("owned rows whose slices are cut: reproducible for a number of threads, with deterministic for all numbers") {
  const Problem problem(
      "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)",
      {{"T", "sparse(2x300x40,nnz=9000,seed=3)"}, {"B", "uniform(300x16,seed=4)"}, {"C", "uniform(40x16,seed=5)"}});
  check_reproducible(problem);
  CHECK(problem.results(1, false).front() != problem.results(2, false).front());
}

TEST_CASE("owned rows are the same for every number of threads") {
  const Problem problem(
      "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)",
      {{"T", "sparse(60x30x40,nnz=9000,seed=3)"}, {"B", "uniform(30x16,seed=4)"}, {"C", "uniform(40x16,seed=5)"}});
  check_reproducible(problem);
}

}  // namespace reproducible_test
