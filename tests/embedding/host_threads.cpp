// host_threads HOW: kernels called inside the threads that a host has already: "thread" (std::thread), "tbb" (tasks of an arena),
// "openmp" (a parallel region). Engines with one thread, with workers of their own and with the caller's arena; all callers share
// kernels, each has bindings of its own that it changes, and some share theirs. Fails unless every result is that of a plain loop.
#include <weft/arrays.h>
#include <weft/engine.h>
#include <weft/file.h>
#include <weft/host.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#ifdef HOST_WITH_TBB
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace {

constexpr unsigned calls = 40;
constexpr std::size_t rank = 8;
constexpr const char* text = "A(i,r) = M(i,j) * B(j,r)";

/// All calls at once, as far as the threads of the host go.
using Region = std::function<void(const std::function<void(unsigned)>&)>;

Region region(const std::string& how) {
  if (how == "thread")
    return [](const std::function<void(unsigned)>& call) {
      std::vector<std::thread> threads;
      for (unsigned first = 0; first < 4; ++first)
        threads.emplace_back([&call, first] {
          for (unsigned n = first; n < calls; n += 4) call(n);
        });
      for (std::thread& thread : threads) thread.join();
    };
#ifdef HOST_WITH_TBB
  if (how == "tbb")
    return [](const std::function<void(unsigned)>& call) {
      const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 4);  // than there are processors
      tbb::task_arena arena(4);
      arena.execute([&] { tbb::parallel_for(0U, calls, call); });
    };
#endif
#ifdef _OPENMP
  if (how == "openmp")
    return [](const std::function<void(unsigned)>& call) {
#pragma omp parallel for num_threads(4) schedule(dynamic)
      for (unsigned n = 0; n < calls; ++n) call(n);
    };
#endif
  return {};
}

struct Data {
  weft::Tensor M, B;
  std::vector<double> right;  // of B as it is
};

bool same(const weft::Tensor& result, const std::vector<double>& right, double factor) {
  const auto values = result.values().as<const double>();
  if (values.size() != right.size()) return false;
  for (std::size_t n = 0; n < right.size(); ++n)
    if (values[n] != factor * right[n]) return false;
  return true;
}

/// Entries enough for the root loop to be cut, small integers.
bool make(Data& data) {
  auto M = weft::generate_tensor("sparse(3000x2000,nnz=60000,seed=1)", {}, {}, "M");
  auto B = weft::generate_tensor("uniform(2000x8)", {}, {}, "B");
  if (!M || !B) return false;
  double next = 0;
  for (double& value : M->writable_values<double>()) value = next = next == 7 ? 1 : next + 1;
  for (double& value : B->writable_values<double>()) value = next = next == 5 ? 1 : next + 1;
  const auto entries = weft::to_coo(*M, {});
  if (!entries) return false;
  data.right.assign(3000 * rank, 0);
  const auto b = B->values().as<const double>();
  for (std::size_t n = 0; n < entries->values.size(); ++n)
    for (std::size_t r = 0; r < rank; ++r)
      data.right[entries->crd[0][n] * rank + r] += entries->values[n] * b[entries->crd[1][n] * rank + r];
  data.M = *M;
  data.B = *B;
  return true;
}

int calls_inside(const std::string& how, const Region& all, const Data& data, const weft::Threads& threads, const char* whose) {
  weft::EngineOptions options;
  options.resources.threads = threads;
  const auto engine = weft::Engine::create(options);
  if (!engine) return 1;
  weft::Bindings shared;
  shared.set("M", data.M);
  shared.set("B", data.B);
  std::atomic<int> failed{0};
  all([&](unsigned n) {
    // Compiled by one of them, known to the others.
    const auto kernel = engine->compile(text, {{"M", data.M}, {"B", data.B}});
    if (!kernel) {
      ++failed;
      return;
    }
    const auto together = kernel->run(shared);
    if (!together || !same(together->at("A"), data.right, 1)) ++failed;
    std::vector<double> times(data.B.values().as<const double>().begin(), data.B.values().as<const double>().end());
    const double factor = 1 + n % 3;
    for (double& value : times) value *= factor;
    weft::Bindings own = shared;
    const auto B = weft::borrow_dense({2000, rank}, times);
    if (!B) {
      ++failed;
      return;
    }
    own.set("B", *B);
    const auto alone = kernel->run(own);
    if (!alone || !same(alone->at("A"), data.right, factor)) ++failed;
  });
  if (failed > 0) std::fprintf(stderr, "host_threads %s, %s: %d calls went wrong\n", how.c_str(), whose, failed.load());
  return failed > 0 ? 1 : 0;
}

}  // namespace

int main(int arguments, char** argument) {
  const std::string how = arguments > 1 ? argument[1] : "thread";
  const Region all = region(how);
  Data data;
  if (!all || !make(data)) return std::fprintf(stderr, "host_threads %s: not built for that\n", how.c_str()), 1;
  return calls_inside(how, all, data, weft::Threads(1), "one thread") +
         calls_inside(how, all, data, weft::Threads(3), "workers of its own") +
         calls_inside(how, all, data, weft::Threads::of_caller(3), "the caller's arena");
}
