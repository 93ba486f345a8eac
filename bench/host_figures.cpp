#include "bench/host_figures.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::bench {

HostFigure figure_of(const Timing& timing, int calls) {
  return {timing.median() * 1000 / calls, timing.spread(), timing.quantile(0) * 1000 / calls};
}

std::vector<HostFigure> microseconds(const std::vector<std::function<void()>>& variants, int calls, double seconds) {
  std::vector<std::function<void()>> rounds;
  for (const auto& variant : variants)
    rounds.emplace_back([&variant, calls] {
      for (int call = 0; call < calls; ++call) variant();
    });
  std::vector<HostFigure> figures;
  for (const Timing& timing : interleaved(rounds, seconds)) figures.push_back(figure_of(timing, calls));
  return figures;
}

void print_line(const std::string& name, const HostFigure& figure, const std::string& what, const HostFigure& beside) {
  fmt::print("  {:<58} {:>10.2f} {:>4.0f} % {:>10.2f}", name, figure.us, figure.spread * 100, figure.best);
  if (beside.us > 0) fmt::print(" {:>7.2f} {:>7.2f} x {}", figure.us / beside.us, figure.best / beside.best, what);
  fmt::print("\n");
}

void print_head(const std::string& what) {
  fmt::print("\n{:<60} {:>10} {:>6} {:>10} {:>7} {:>7}\n", what, "median us", "spread", "fastest", "ratio", "best");
}

Engine engine_with(unsigned threads) {
  EngineOptions options;
  options.resources.threads = Threads(threads);
  return *Engine::create(options);
}

bool same_values(const Tensor& tensor, std::span<const double> values) {
  return std::ranges::equal(tensor.values().as<const double>(), values);
}

}  // namespace weft::bench
