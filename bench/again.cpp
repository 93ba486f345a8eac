#include "bench/again.h"

#include <algorithm>

#include "bench/timing.h"

namespace weft::bench {

std::vector<double> in_turn(const std::vector<std::function<void()>>& runs, double seconds) {
  constexpr int in_a_row = 8;
  std::vector<std::function<void()>> rows;
  std::vector<std::vector<double>> times(runs.size());
  for (std::size_t n = 0; n < runs.size(); ++n) {
    rows.push_back([&, n] {
      runs[n]();
      times[n].push_back(time_ms([&] {
                           for (int run = 0; run < in_a_row; ++run) runs[n]();
                         }) /
                         in_a_row);
    });
  }
  (void)interleaved(rows, seconds);
  std::vector<double> medians;
  for (std::vector<double>& each : times) {
    std::ranges::sort(each);
    medians.push_back(each[each.size() / 2]);
  }
  return medians;
}

Expected<void> Again::run() {
  y = Tensor();  // its memory is the next one's
  const auto results = kernel.run(bindings);
  if (!results) return std::unexpected(results.error());
  y = results->begin()->second;
  return {};
}

std::vector<double> Again::values() const {
  const Tensor plain = *convert(y, dense_format(y.order()), Resources(), "y");
  const auto stored = plain.values().as<const double>();
  return {stored.begin(), stored.end()};
}

Expected<std::unique_ptr<Again>> again(const Engine& engine, const std::string& text, const Tensors& operands,
                                       const CompileOptions& options) {
  auto kernel = engine.compile(text, operands, options);
  if (!kernel) return std::unexpected(kernel.error());
  auto made = std::make_unique<Again>();
  made->kernel = std::move(*kernel);
  for (const auto& [name, tensor] : operands) made->bindings.set(name, tensor);
  const std::string& explanation = made->kernel.report().explanation;
  if (const auto at = explanation.find("B is stored in "); at != std::string::npos)
    made->told = explanation.substr(at, explanation.find_first_of(",;\n", at) - at);
  if (auto ran = made->run(); !ran) return std::unexpected(ran.error());
  return made;
}

Expected<std::vector<double>> in_turn(const std::vector<std::unique_ptr<Again>>& kernels, double seconds) {
  Expected<void> ran;
  std::vector<std::function<void()>> runs;
  for (const auto& kernel : kernels) {
    runs.push_back([&ran, each = kernel.get()] {
      if (auto one_run = each->run(); !one_run) ran = one_run;
    });
  }
  std::vector<double> timings = in_turn(runs, seconds);
  if (!ran) return std::unexpected(ran.error());
  return timings;
}

}  // namespace weft::bench
