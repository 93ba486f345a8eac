// Products of dense matrices by weft, and by a BLAS where one can be loaded: the same values, compared before they are timed in turn.
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "bench/data.h"
#include "bench/prepared.h"
#include "bench/single_figures.h"
#include "bench/timing.h"
#include "engine/plan/cost/cost.h"
#include "frontend/parse.h"

namespace weft::bench {
namespace {

/// cblas_dgemm and how many threads it may have, of a library that is loaded by name.
class Blas {
 public:
  explicit Blas(const std::string& library) : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    multiply_ = reinterpret_cast<Multiply*>(dlsym(library_, "cblas_dgemm"));
    threads_ = reinterpret_cast<SetThreads*>(dlsym(library_, "openblas_set_num_threads"));
  }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  ~Blas() {
    if (library_ != nullptr) dlclose(library_);
  }

  bool is_there() const { return multiply_ != nullptr; }
  void use(unsigned threads) const {
    if (threads_ != nullptr) threads_(static_cast<int>(threads));
  }
  /// c = a * b, where these are m by n and n by p or lie transposed.
  void multiply(bool a_transposed, bool b_transposed, const std::array<int, 3>& extents, const double* a, const double* b,
                double* c) const {
    constexpr int row_major = 101;
    constexpr int as_it_is = 111;
    constexpr int transposed = 112;
    const auto [m, n, p] = extents;
    multiply_(row_major, a_transposed ? transposed : as_it_is, b_transposed ? transposed : as_it_is, m, p, n, 1, a, a_transposed ? m : n, b,
              b_transposed ? n : p, 0, c, p);
  }

 private:
  using Multiply = void(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
  using SetThreads = void(int);
  void* library_;
  Multiply* multiply_ = nullptr;
  SetThreads* threads_ = nullptr;
};

struct DenseProblem {
  std::string expression;
  std::array<int, 3> extents;  ///< of i, j, k
  int batch = 1;               ///< extent of b

  bool a_transposed() const { return expression.find("A(j,i)") != std::string::npos; }
  bool b_transposed() const { return expression.find("B(k,j)") != std::string::npos; }
};

std::vector<DenseProblem> dense_problems() {
  std::vector<DenseProblem> all;
  const std::string plain = "C(i,k) = A(i,j) * B(j,k)";
  for (const int n : {64, 128, 200, 256, 512, 1024}) all.push_back({plain, {n, n, n}});
  all.push_back({plain, {1000, 300, 77}});
  all.push_back({plain, {100, 1000, 33}});
  all.push_back({plain, {10'000, 64, 64}});
  for (const int n : {256, 1000}) {
    all.push_back({"C(i,k) = A(j,i) * B(j,k)", {n, n, n}});
    all.push_back({"C(i,k) = A(i,j) * B(k,j)", {n, n, n}});
    all.push_back({"C(i,k) = A(j,i) * B(k,j)", {n, n, n}});
  }
  all.push_back({"C(b,i,k) = A(b,i,j) * B(b,j,k)", {64, 64, 64}, 16});
  return all;
}

Expected<std::map<std::string, Tensor>> matrices_of(const DenseProblem& problem, const Resources& resources) {
  const auto parsed = parse_expression(problem.expression);
  if (!parsed) return std::unexpected(parsed.error());
  std::map<std::string, Tensor> named;
  for (const ParsedAccess& factor : parsed->assignments.front().terms.front().factors) {
    std::vector<std::uint64_t> shape;
    for (const ParsedIndex& index : factor.indices)
      shape.push_back(
          static_cast<std::uint64_t>(index.name == "b" ? problem.batch : problem.extents[static_cast<std::size_t>(index.name[0] - 'i')]));
    auto matrix = random_dense(shape, static_cast<std::uint64_t>(factor.name[0]), resources);
    if (!matrix) return std::unexpected(matrix.error());
    named[factor.name] = std::move(*matrix);
  }
  return named;
}

Expected<void> measure_product(const DenseProblem& problem, const Blas& blas, unsigned threads) {
  Resources resources;
  resources.threads = Threads(threads);
  blas.use(threads);
  const auto named = matrices_of(problem, resources);
  if (!named) return std::unexpected(named.error());
  const auto prepared = prepare({.name = "dense", .expression = problem.expression, .data = {}}, *named, resources);
  if (!prepared) return std::unexpected(prepared.error());
  auto binding = prepared->kernel.bind(*named, resources, false);
  if (!binding) return std::unexpected(binding.error());
  if (auto ran = binding->run(); !ran) return ran;
  const auto results = binding->results();
  if (!results) return std::unexpected(results.error());

  const auto [m, n, p] = problem.extents;
  const auto elements = [&](int rows, int columns) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); };
  std::vector<double> c(elements(problem.batch * m, p));
  const double* const a = named->at("A").values().as<const double>().data();
  const double* const b = named->at("B").values().as<const double>().data();
  Expected<void> failure;
  std::vector<std::function<void()>> runs = {[&] {
    if (auto ran = binding->run(); !ran) failure = ran;
  }};
  if (blas.is_there())
    runs.emplace_back([&] {
      for (int each = 0; each < problem.batch; ++each) {
        const auto number = static_cast<std::size_t>(each);
        blas.multiply(problem.a_transposed(), problem.b_transposed(), problem.extents, a + number * elements(m, n),
                      b + number * elements(n, p), c.data() + number * elements(m, p));
      }
    });
  const std::vector<Timing> timings = interleaved(runs, 1);
  if (!failure) return failure;
  const auto computed = results->at("C").values().as<const double>();
  if (blas.is_there() && !std::ranges::equal(computed, c)) return internal_error("the library has another result");
  PlanOptions options;
  options.calls = 1000;
  const Cost predicted = predicted_cost(prepared->kernel.plan().schedule, {prepared->kernel.network(), prepared->facts, options}, threads);
  const double products = static_cast<double>(problem.batch) * m * n * p;
  const auto column = [&](const Timing& timing) {
    return fmt::format("{:>10.3f} {:>6.1f}", timing.quantile(0), products / timing.quantile(0) * 1e-6);
  };
  const std::string size = fmt::format("{}{} x {} x {}", problem.batch > 1 ? fmt::format("{} x ", problem.batch) : "", m, n, p);
  fmt::print("{:<32} {:<20} {} {} {:>10.3f} {:>8.2f}\n", problem.expression, size, column(timings[0]),
             blas.is_there() ? column(timings[1]) : fmt::format("{:>17}", "-"), predicted.ns * 1e-6,
             blas.is_there() ? timings[1].quantile(0) / timings[0].quantile(0) : 0);
  return {};
}

}  // namespace

int dense_products(const std::string& library, unsigned threads) {
  const Blas blas(library);
  if (!blas.is_there()) fmt::print("no {} beside weft\n", library);
  fmt::print("{:<32} {:<20} {:>10} {:>6} {:>10} {:>6} {:>10} {:>8}\n", "", "i x j x k", "weft ms", "GFMA/s", "BLAS ms", "GFMA/s",
             "predicted", "ratio");
  for (const DenseProblem& problem : dense_problems()) {
    if (const auto measured = measure_product(problem, blas, threads); !measured) {
      fmt::print(stderr, "error: {}\n", measured.error().message);
      return 1;
    }
  }
  return 0;
}

}  // namespace weft::bench
