// What is shared: an engine by the threads of a host, a tensor by many kernels.
#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "bench/data.h"
#include "bench/host_figures.h"

namespace weft::bench {
namespace {

/// Threads of the host that all run a tiny kernel: on one engine, over bindings of all or of each, and on one engine
/// each.
Expected<void> threads_on_engines(Errors& errors) {
  constexpr int calls = 20'000;
  constexpr unsigned most = 2;
  std::vector<Engine> engines;
  std::vector<Kernel> kernels;
  std::vector<Bindings> bindings;
  const auto M = random_sparse({{20, 20}, 50, 1, 1}, Resources());
  const auto x = random_dense({20}, 1, Resources());
  if (!errors.good(M) || !errors.good(x)) return errors.first();
  const Tensors operands = {{"M", *M}, {"x", *x}};
  for (unsigned n = 0; n < most; ++n) {
    engines.push_back(engine_with(1));
    const auto kernel = engines.back().compile("y(i) = M(i,j) * x(j)", operands);
    if (!errors.good(kernel)) return errors.first();
    kernels.push_back(*kernel);
    Bindings& own = bindings.emplace_back();
    for (const auto& [name, tensor] : operands) own.set(name, tensor);
  }
  const auto expected = kernels[0].run(bindings[0]);
  if (!errors.good(expected)) return errors.first();
  const auto right = expected->at("y").values().as<const double>();

  // Which kernel and which bindings thread n takes.
  const auto run = [&](unsigned threads, bool own_engine, bool own_bindings) {
    std::atomic<int> failed{0};
    std::vector<std::jthread> hosts;
    for (unsigned n = 0; n < threads; ++n)
      hosts.emplace_back([&, n] {
        for (int call = 0; call < calls; ++call) {
          const auto results = kernels[own_engine ? n : 0].run(bindings[own_bindings ? n : 0]);
          if (!results || !same_values(results->at("y"), right)) ++failed;
        }
      });
    hosts.clear();
    if (failed > 0) errors.wrong("a run beside others");
  };
  auto us = microseconds({[&] { run(1, false, false); }, [&] { run(2, true, true); }, [&] { run(2, false, true); },
                          [&] { run(2, false, false); }},
                         1, 4);
  for (HostFigure& figure : us) {
    figure.us /= calls;
    figure.best /= calls;
  }
  print_line("a run of 50 entries, 1 thread of the host", us[0]);
  print_line("2 threads, an engine each", us[1], "1 thread", us[0]);
  print_line("2 threads, one engine, bindings each", us[2], "an engine each", us[1]);
  print_line("2 threads, one engine, the same bindings", us[3], "an engine each", us[1]);
  return errors.first();
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

Expected<void> host_sharing(Errors& errors) {
  if (auto done = threads_on_engines(errors); !done) return done;
  return kernels_on_a_tensor(errors);
}

}  // namespace weft::bench
