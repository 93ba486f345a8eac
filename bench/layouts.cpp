// Layouts of matrices side by side, what weft chooses among them, and how a sparse vector is looked up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/data.h"
#include "bench/again.h"
#include "bench/layout_kernels.h"
#include "bench/layout_matrices.h"
#include "bench/layout_products.h"
#include "bench/single_figures.h"
#include "bench/timing.h"
#include "bench/wanted.h"
#include "runtime/block_fill.h"
#include "weft/engine.h"
#include "weft/file.h"

namespace weft::bench {
namespace {

constexpr std::uint64_t wide = 32;        // columns of X
constexpr double most_places = 8;         // per entry: layouts that take more are not made
constexpr double usual_calls = 1000;

const std::vector<std::string> layouts = {"csr",       "bcsr(2,1)", "bcsr(2,2)", "bcsr(3,1)", "bcsr(3,3)", "bcsr(4,1)",
                                          "bcsr(4,4)", "bcsr(8,8)", "dia(8)",    "dia(16)",   "dia(64)",   "ell",
                                          "sell(8)",   "nm(2,4)",   "vbl"};

/// Of a layout that is not made yet; 1 where that is not known before.
double fill_of(const std::vector<BlockFill>& fills, const std::string& layout) {
  const auto found = std::ranges::find(fills, layout, &BlockFill::layout);
  return found == fills.end() ? 1 : found->fill;
}

/// Entries a row has in the mean, and the most: as ell has them in all.
double fill_of_slots(const Tensor& csr) {
  const auto pos = csr.levels()[1].pos.as<const std::uint32_t>();
  std::uint32_t most = 0;
  for (std::size_t row = 0; row + 1 < pos.size(); ++row) most = std::max(most, pos[row + 1] - pos[row]);
  return static_cast<double>(pos.back()) / (static_cast<double>(pos.size() - 1) * std::max(1U, most));
}

/// One matrix times x or X in all layouts that are not too empty, by weft and by hand; then as weft chooses for 1000 calls.
Expected<void> measure(const Engine& engine, const std::string& name, const Tensor& matrix, std::uint64_t columns) {
  const Resources& resources = engine.options().resources;
  const std::uint64_t rows = matrix.extents()[0];
  const bool one = columns == 1;
  const std::string text = one ? "y(i) = B(i,j) * x(j)" : "y(i,h) = B(i,j) * x(j,h)";
  auto x = random_dense(one ? std::vector{matrix.extents()[1]} : std::vector{matrix.extents()[1], columns}, 5, resources);
  if (!x) return std::unexpected(x.error());
  std::vector<double> padded(x->values().as<const double>().size() + 2 * padding(rows) * columns);
  std::ranges::copy(x->values().as<const double>(), padded.begin() + static_cast<std::ptrdiff_t>(padding(rows) * columns));
  const auto fills = block_fills(matrix, resources);
  if (!fills) return std::unexpected(fills.error());
  std::vector<std::string> names;
  std::vector<double> fill;
  std::vector<std::unique_ptr<Again>> kernels;
  std::vector<std::function<void()>> runs;
  std::vector<std::size_t> hand_runs;  // by layout; 0: none
  std::vector<double> y(rows * columns);
  std::vector<Tensor> kept;
  std::vector<std::function<void()>> hands;
  for (const std::string& layout : layouts) {
    if (1 / fill_of(*fills, layout) > most_places || (layout == "ell" && 1 / fill_of_slots(matrix) > most_places)) continue;
    const auto format = parse_format(layout);
    if (!format) return std::unexpected(format.error());
    auto stored = convert(matrix, *format, resources, "B");
    if (!stored && layout == "nm(2,4)") continue;  // more than two in a group
    if (!stored) return std::unexpected(stored.error());
    fill.push_back(static_cast<double>(matrix.values().size_bytes()) / static_cast<double>(stored->values().size_bytes()));
    CompileOptions options;
    options.calls = usual_calls;
    options.formats["B"] = *format;
    auto made = again(engine, text, {{"B", *stored}, {"x", *x}}, options);
    if (!made) return std::unexpected(made.error());
    if (!kernels.empty() && (*made)->values() != kernels.front()->values())
      return internal_error(fmt::format("{} of {} is wrong", layout, name));
    if (const auto hand = by_hand(*stored, layout, columns)) {
      (*hand)(padded, y);
      if (y != (*made)->values()) return internal_error(fmt::format("{} of {} by hand is another", layout, name));
      hands.push_back([hand = *hand, &padded, &y] { hand(padded, y); });
      hand_runs.push_back(hands.size());
    } else {
      hand_runs.push_back(0);
    }
    names.push_back(layout);
    kernels.push_back(std::move(*made));
    kept.push_back(std::move(*stored));
  }
  CompileOptions free;
  free.calls = usual_calls;
  free.choose_layouts = true;
  auto chosen = again(engine, text, {{"B", matrix}, {"x", *x}}, free);
  if (!chosen) return std::unexpected(chosen.error());
  if ((*chosen)->values() != kernels.front()->values()) return internal_error(fmt::format("the chosen layout of {} is wrong", name));
  kernels.push_back(std::move(*chosen));
  Expected<void> ran;
  for (const auto& kernel : kernels) {
    runs.push_back([&ran, each = kernel.get()] {
      if (auto one_run = each->run(); !one_run) ran = one_run;
    });
  }
  runs.insert(runs.end(), hands.begin(), hands.end());
  const std::vector<double> timings = in_turn(runs, 2);
  if (!ran) return ran;
  const double csr = timings.front();
  double best = csr;
  for (std::size_t n = 0; n < names.size(); ++n) {
    const double ms = timings[n];
    best = std::min(best, ms);
    const std::string hand = hand_runs[n] == 0 ? "" : fmt::format("{:9.4f} {:6.2f}", timings[kernels.size() + hand_runs[n] - 1],
                                                                  timings[kernels.size() + hand_runs[n] - 1] / ms);
    fmt::print("{:<22} {:<5} {:<10} {:5.2f} {:9.4f} {:6.2f} {}\n", name, one ? "SpMV" : "SpMM", names[n], fill[n], ms,
               csr / ms, hand);
  }
  const double ms = timings[names.size()];
  fmt::print("{:<22} {:<5} {:<10} {:5} {:9.4f} {:6.2f} {:16} regret {:.2f}; {}\n", name, one ? "SpMV" : "SpMM", "chosen", "", ms, csr / ms,
             "", ms / best, kernels.back()->told.empty() ? "csr" : kernels.back()->told);
  std::fflush(stdout);
  return {};
}

/// A matrix by rows and by columns times a sparse vector of many densities: as planned for one call, and x pinned.
Expected<void> measure_lookups(const Engine& engine, const std::string& name, const Tensor& matrix) {
  const Resources& resources = engine.options().resources;
  const std::uint64_t columns = matrix.extents()[1];
  for (const double density : {1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.5}) {
    const auto entries = static_cast<std::uint64_t>(std::max(1.0, density * static_cast<double>(columns)));
    const auto x = random_sparse({{columns}, entries, 1, 7}, resources);
    if (!x) return std::unexpected(x.error());
    for (const std::string order : {"ds", "ds:1,0"}) {
      const auto stored = convert(matrix, *parse_format(order), resources, "B");
      if (!stored) return std::unexpected(stored.error());
      std::string line = fmt::format("{:<22} {:<7} {:>8g}", name, order, density);
      std::vector<std::unique_ptr<Again>> kernels;
      for (const std::string pinned : {"", "s", "b", "h", "d"}) {
        CompileOptions options;
        options.calls = usual_calls;
        options.formats["B"] = *parse_format(order);
        options.formats["y"] = *parse_format("d");
        if (pinned.empty()) options.choose_layouts = true;
        else
          options.formats["x"] = *parse_format(pinned);
        auto made = again(engine, "y(i) = B(i,j) * x(j)", {{"B", *stored}, {"x", *x}}, options);
        if (!made) return std::unexpected(made.error());
        if (!kernels.empty() && (*made)->values() != kernels.front()->values())
          return internal_error(fmt::format("x as {} is wrong", pinned));
        kernels.push_back(std::move(*made));
      }
      const auto timings = in_turn(kernels, 0.5);
      if (!timings) return std::unexpected(timings.error());
      const double best = *std::min_element(timings->begin() + 1, timings->end());
      for (const double ms : *timings) line += fmt::format(" {:9.4f}", ms);
      fmt::print("{} {:8.2f}\n", line, timings->front() / best);
      std::fflush(stdout);
    }
  }
  return {};
}

Expected<void> measure_all(const std::string& directory, const std::vector<std::string>& filters, unsigned threads) {
  EngineOptions options;
  options.resources.threads = Threads(threads);
  const auto engine = Engine::create(options);
  if (!engine) return std::unexpected(engine.error());
  Data data(directory, false);
  std::vector<std::string> matrices = drawn_matrices();
  for (const char* const name : {"matrix10k", "matrix100k", "nsjac", "bcsstk16", "lp_maros_r7", "szdmat", "copter2", "brack2", "mdual",
                                 "cage10", "notredame_www", "kjv_verse_word", "maxwell_curl", "maxwell_grad", "lp_dfl001", "lp_80bau3b",
                                 "lp_fit2d", "groebner_f855_aug", "basker1"})
    matrices.emplace_back(name);
  const auto is_drawn = [](const std::string& name) { return std::ranges::find(drawn_matrices(), name) != drawn_matrices().end(); };
  fmt::print("{:<22} {:<5} {:<10} {:>5} {:>9} {:>6} {:>9} {:>6}\n", "matrix", "", "layout", "fill", "weft ms", "gain", "hand ms",
             "hand/weft");
  for (const bool lookups : {false, true}) {
    if (lookups) {
      fmt::print("\n{:<22} {:<7} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}\n", "sparse x", "B", "density", "planned", "x s", "x b", "x h",
                 "x d", "to best");
    }
    for (const std::string& name : matrices) {
      if (!wanted(name, filters) || (!data.has(name) && !is_drawn(name))) continue;
      if (lookups && name != "nsjac" && name != "matrix10k" && name != "cage10") continue;
      auto matrix = is_drawn(name) ? drawn_matrix(name, engine->options().resources) : data.tensor(name, engine->options().resources);
      if (!matrix) return std::unexpected(matrix.error());
      const auto csr = convert(*matrix, *parse_format("ds"), engine->options().resources, name);
      if (!csr) return std::unexpected(csr.error());
      if (lookups) {
        if (auto done = measure_lookups(*engine, name, *csr); !done) return done;
      } else {
        for (const std::uint64_t columns : {std::uint64_t{1}, wide})
          if (auto done = measure(*engine, name, *csr, columns); !done) return done;
      }
      data.drop_all();
    }
  }
  if (auto done = measure_products(*engine, filters); !done) return done;
  if (auto done = measure_diagonals(*engine, filters); !done) return done;
  return measure_tensors(*engine, data, filters);
}

}  // namespace

int compare_layouts(const std::string& data, const std::vector<std::string>& filters, unsigned threads) {
  if (data.empty()) fmt::print("no --data DIR: drawn matrices only\n");
  const auto measured = measure_all(data, filters, threads);
  if (!measured) fmt::print(stderr, "error: {}\n", measured.error().message);
  return measured ? 0 : 1;
}

}  // namespace weft::bench
