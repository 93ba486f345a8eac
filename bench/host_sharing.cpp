// What is shared: an engine by the threads of a host, a tensor by many kernels.
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/data.h"
#include "bench/host_figures.h"
#include "weft/session.h"

namespace weft::bench {
namespace {

/// A host's thread: its engine, and what it calls on it.
struct HostThread {
  Engine engine;
  Kernel kernel;
  Session session;
  Bindings bindings;
  Tensors operands;
};

constexpr const char* tiny_text = "y(i) = M(i,j) * x(j)";

Expected<HostThread> host_thread(const Engine& engine, const Tensors& operands) {
  const auto kernel = engine.compile(tiny_text, operands);
  if (!kernel) return std::unexpected(kernel.error());
  HostThread made{engine, *kernel, Session(engine), {}, operands};
  for (const auto& [name, tensor] : operands) {
    made.bindings.set(name, tensor);
    made.session.set(name, tensor);
  }
  if (auto first = made.session.evaluate(tiny_text); !first) return std::unexpected(first.error());
  return made;
}

/// The processor time of the calls of one round, other processes left out, and how often a thread waited.
struct Spent {
  double cpu_ms = 0;
  long waits = 0;
};

/// Of the calling thread since it began.
Spent spent_by_thread() {
  timespec now = {};
  rusage usage = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  getrusage(RUSAGE_THREAD, &usage);
  return {static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6, usage.ru_nvcsw};
}

/// Kernels that read a tensor in a layout it is not stored in, all alive: the layout and the arrays are there once.
Expected<void> kernels_on_a_tensor(Errors& errors) {
  constexpr int count = 300;
  const Engine engine = engine_with(1);
  const Resources& resources = engine.options().resources;
  const auto T = random_sparse({{2000, 3000, 4000}, 1'000'000, 1, 1}, resources);
  const auto B = random_dense({2000, 16}, 1, resources);
  const auto C = random_dense({4000, 16}, 2, resources);
  if (!errors.good(T) || !errors.good(B) || !errors.good(C)) return errors.first();
  const auto turned = convert(*T, *parse_format("sss:1,0,2"), Resources(), "T");
  if (!errors.good(turned)) return errors.first();
  const Tensors operands = {{"T", *T}, {"B", *B}, {"C", *C}};
  const Tensors compiled_for = {{"T", *turned}, {"B", *B}, {"C", *C}};
  CompileOptions options;
  options.formats["T"] = turned->format();
  std::vector<Kernel> kernels;
  std::vector<Bindings> bindings;
  const auto mb = [](double bytes) { return bytes / (1 << 20); };
  const auto used = [&] { return mb(static_cast<double>(resources.memory.used())); };
  const double before = used();
  double after_one = 0;
  const double ms = time_ms([&] {
    for (int n = 0; n < count; ++n) {
      const std::string text = fmt::format("A(j,r) = {} * T(i,j,k) * B(i,r) * C(k,r)", n + 1);
      const auto kernel = engine.compile(text, compiled_for, options);
      if (!errors.good(kernel)) return;
      kernels.push_back(*kernel);
      Bindings& own = bindings.emplace_back();
      for (const auto& [name, tensor] : operands) own.set(name, tensor);
      errors.good(kernels.back().run(own));
      if (n == 0) after_one = used();
    }
  });
  fmt::print("  {} kernels on a tensor of 1 M entries, each run once: {:.1f} s\n", count, ms / 1000);
  const double arrays = mb(static_cast<double>(T->bytes()));
  const double layout = mb(static_cast<double>(turned->bytes()));
  fmt::print("  MB charged: operands {:.1f} (the tensor {:.1f}), with one kernel {:.1f}, with {} {:.1f}\n", before,
             arrays, after_one, count, used());
  fmt::print("  a layout is {:.1f} MB, a result {:.2f}\n", layout, mb(3000.0 * 16 * 8));
  const CacheCounters counters = engine.counters();
  fmt::print("  layouts made {}, known {}, refilled {}\n", counters.layouts_made, counters.layouts_known,
             counters.layouts_refilled);
  return errors.first();
}

}  // namespace

/// Where there are as many processors, threads on others: one after the other they would share nothing.
void on_processor(unsigned number) {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0) return;
  number %= static_cast<unsigned>(CPU_COUNT(&allowed));
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed) || number-- > 0) continue;
    CPU_SET(processor, &one);
    (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

/// Threads of the host that all make tiny calls: on an engine each, and on one. 1, 2 and 4 threads, and as many as there
/// are processors, up to 64.
Expected<void> threads_on_engines(Errors& errors) {
  constexpr int calls = 20'000;
  constexpr int rounds = 15;
  std::vector<unsigned> numbers = {1, 2, 4};
  const unsigned processors = std::min(std::thread::hardware_concurrency(), 64U);
  if (processors > numbers.back()) numbers.push_back(processors);
  const unsigned most = numbers.back();
  const auto M = random_sparse({{20, 20}, 50, 1, 1}, Resources());
  const auto x = random_dense({20}, 1, Resources());
  if (!errors.good(M) || !errors.good(x)) return errors.first();
  const Tensors operands = {{"M", *M}, {"x", *x}};
  const Engine shared = engine_with(1);
  std::vector<HostThread> own, sharing;
  for (unsigned n = 0; n < most; ++n) {
    // Tensors of their own too: what is known of one is shared by all engines.
    const Tensors copies = {{"M", Tensor(M->arrays(), Validity::known)}, {"x", Tensor(x->arrays(), Validity::known)}};
    const auto alone = host_thread(engine_with(1), copies);
    const auto together = host_thread(shared, operands);
    if (!errors.good(alone) || !errors.good(together)) return errors.first();
    own.push_back(*alone);
    sharing.push_back(*together);
  }
  const auto expected = own[0].kernel.run(own[0].bindings);
  if (!errors.good(expected)) return errors.first();
  const auto right = expected->at("y").values().as<const double>();
  const auto is_right = [&](const Expected<Tensors>& results) { return results && same_values(results->at("y"), right); };

  const auto compiles = [&](const HostThread& host) { return host.engine.compile(tiny_text, host.operands).has_value(); };
  const auto runs = [&](const HostThread& host) { return is_right(host.kernel.run(host.bindings)); };
  const auto evaluates = [&](const HostThread& host) { return is_right(host.session.evaluate(tiny_text)); };
  const auto line = [&](const char* what, const std::function<bool(const HostThread&)>& call) {
    // Which host thread n is: of its own, one that shares the engine, or the first of those for all.
    const auto run = [&](unsigned threads, const std::vector<HostThread>& hosts, bool all_the_first) {
      std::atomic<int> failed{0};
      std::vector<Spent> spent(threads);
      std::vector<std::jthread> running;
      std::barrier all_there(threads);
      for (unsigned n = 0; n < threads; ++n)
        running.emplace_back([&, n] {
          on_processor(n);
          all_there.arrive_and_wait();
          for (int made = 0; made < calls; ++made)
            if (!call(hosts[all_the_first ? 0 : n])) ++failed;
          spent[n] = spent_by_thread();
        });
      running.clear();
      if (failed > 0) errors.wrong("a call beside others");
      Spent all;
      for (const Spent& one : spent) all = {all.cpu_ms + one.cpu_ms, all.waits + one.waits};
      return Spent{all.cpu_ms / threads, all.waits};
    };
    using Ways = std::array<Timing, 3>;  // an engine each, one engine, one handle
    std::vector<Ways> cpu(numbers.size());
    std::vector<std::array<long, 3>> waits(numbers.size());
    for (int round = 0; round < rounds; ++round)
      for (std::size_t number = 0; number < numbers.size(); ++number)
        for (std::size_t way = 0; way < 3; ++way) {
          const Spent once = run(numbers[number], way == 0 ? own : sharing, way == 2);
          cpu[number][way].ms.push_back(once.cpu_ms);
          waits[number][way] += once.waits;
        }
    for (std::size_t number = 0; number < numbers.size(); ++number) {
      const unsigned threads = numbers[number];
      const HostFigure each = figure_of(cpu[number][0], calls);
      print_line(fmt::format("{}, {} thread{}, an engine each", what, threads, threads > 1 ? "s" : ""), each, "1 thread",
                 figure_of(cpu[0][0], calls));
      print_line("  one engine", figure_of(cpu[number][1], calls), "an engine each", each);
      print_line("  one engine, one handle", figure_of(cpu[number][2], calls), "an engine each", each);
      fmt::print("  waits in {} calls: {}, {}, {}\n", rounds * calls * static_cast<int>(threads), waits[number][0],
                 waits[number][1], waits[number][2]);
    }
  };
  fmt::print("  processor time of a call, by threads that all call at once\n");
  line("compile a known kernel", compiles);
  line("a run of 50 entries", runs);
  line("a session's evaluation", evaluates);
  return errors.first();
}

Expected<void> host_sharing(Errors& errors) {
  if (auto done = threads_on_engines(errors); !done) return done;
  return kernels_on_a_tensor(errors);
}

}  // namespace weft::bench
