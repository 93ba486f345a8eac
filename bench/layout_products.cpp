#include "bench/layout_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "bench/again.h"
#include "bench/layout_matrices.h"
#include "bench/timing.h"
#include "bench/wanted.h"

namespace weft::bench {
namespace {

constexpr double calls = 1000;

const std::vector<std::string> matrix_layouts = {"csr", "csc", "dcsr", "coo", "bcsr(2,2)", "bcsr(4,4)", "bcsr(2,3)", "bcsr(4,4,unaligned)"};
/// Of T, and of Y: blocks of T make blocks of Y.
const std::vector<std::pair<std::string, std::string>> tensor_layouts = {
    {"sss", "ssd"},
    {"uqq", "ssd"},
    {"suq", "ssd"},
    {"hicoo(4)", "(i,j,r) -> (i/4:s, j/4:s, i%4:d, j%4:d, r:d)"},
    {"hicoo(16)", "(i,j,r) -> (i/16:s, j/16:s, i%16:d, j%16:d, r:d)"},
    {"(i,j,k) -> (i/2:s, j:s, k:s, i%2:d)", "(i,j,r) -> (i/2:s, j:s, i%2:d, r:d)"},
    {"(i,j,k) -> (i:s, j:s, k/4:s, k%4:d)", "ssd"}};

CompileOptions in_layouts(const std::vector<std::pair<std::string, Format>>& formats) {
  CompileOptions options;
  options.calls = calls;
  for (const auto& [name, format] : formats) options.formats[name] = format;
  return options;
}

/// In the order of coordinates; blocks that are not full add zeros. `format` has levels of one mode each.
Expected<std::vector<double>> nonzeros(const Tensor& tensor, const std::string& format, const Resources& resources) {
  const auto sorted = convert(tensor, *parse_format(format), resources, "Y");
  if (!sorted) return std::unexpected(sorted.error());
  std::vector<double> values;
  std::ranges::copy_if(sorted->values().as<const double>(), std::back_inserter(values), [](double value) { return value != 0; });
  return values;
}

}  // namespace

namespace {

/// Every pair of layouts of two matrices in a product, which all mean the same.
Expected<void> measure_pairs(const Engine& engine, const std::string& expression, const std::string& result,
                             const std::string& result_format) {
  const Resources& resources = engine.options().resources;
  constexpr std::uint64_t extent = 512;
  constexpr std::uint64_t entries = extent * extent / 10;
  const auto a = random_sparse({{extent, extent}, entries, 1, 11}, resources);
  const auto b = random_sparse({{extent, extent}, entries, 1, 12}, resources);
  if (!a) return std::unexpected(a.error());
  if (!b) return std::unexpected(b.error());
  const auto x = random_dense({extent}, 13, resources);
  if (!x) return std::unexpected(x.error());
  std::string line = fmt::format("\n{:<24}", expression);
  for (const std::string& layout : matrix_layouts) line += fmt::format(" {:>10.10}", layout);
  fmt::print("{}\n", line);
  std::vector<double> expected;
  for (const std::string& rows : matrix_layouts) {
    std::vector<std::unique_ptr<Again>> kernels;
    for (const std::string& columns : matrix_layouts) {
      Tensors operands;
      for (const auto& [name, matrix, layout] : {std::tuple("A", &*a, &rows), std::tuple("B", &*b, &columns)}) {
        auto stored = convert(*matrix, *parse_format(*layout), resources, name);
        if (!stored) return std::unexpected(stored.error());
        operands[name] = std::move(*stored);
      }
      const CompileOptions options =
          in_layouts({{"A", operands.at("A").format()}, {"B", operands.at("B").format()}, {result, *parse_format(result_format)}});
      if (expression.find("x(") != std::string::npos) operands["x"] = *x;
      auto made = again(engine, expression, operands, options);
      if (!made) return std::unexpected(made.error());
      if (expected.empty()) expected = (*made)->values();
      if ((*made)->values() != expected) return internal_error(fmt::format("A as {} times B as {} is wrong", rows, columns));
      kernels.push_back(std::move(*made));
    }
    const auto timings = in_turn(kernels, 1);
    if (!timings) return std::unexpected(timings.error());
    line = fmt::format("{:<24}", rows);
    for (const double ms : *timings) line += fmt::format(" {:>10.3f}", ms);
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace

Expected<void> measure_products(const Engine& engine, const std::vector<std::string>& filters) {
  if (!wanted("products", filters)) return {};
  if (auto done = measure_pairs(engine, "C(i,k) = A(i,j) * B(j,k)", "C", "dd"); !done) return done;
  return measure_pairs(engine, "y(i) = A(i,j) * B(i,j) * x(j)", "y", "d");
}

Expected<void> measure_diagonals(const Engine& engine, const std::vector<std::string>& filters) {
  if (!wanted("diagonals", filters)) return {};
  constexpr std::uint64_t extent = 100'000;
  constexpr std::uint64_t rank = 16;
  const Resources& resources = engine.options().resources;
  const auto diagonals = drawn_matrix("diagonals", resources);
  if (!diagonals) return std::unexpected(diagonals.error());
  Tensors operands;
  const auto draw = [&](const std::string& name, Expected<Tensor> tensor) -> Expected<void> {
    if (!tensor) return std::unexpected(tensor.error());
    operands[name] = std::move(*tensor);
    return {};
  };
  if (auto done = draw("A", random_sparse({{extent, extent}, 12 * extent, 1, 11}, resources)); !done) return done;
  if (auto done = draw("P", random_dense({extent, rank}, 12, resources)); !done) return done;
  if (auto done = draw("Q", random_dense({extent, rank}, 13, resources)); !done) return done;
  if (auto done = draw("x", random_dense({extent}, 14, resources)); !done) return done;
  fmt::print("\n{:<44} {:<10} {:>9} {:>9} {:>9}\n", "A by rows, B in nine diagonals", "B", "1 call", "1000", "a copy");
  const std::vector<std::pair<const char*, const char*>> products = {{"y(i) = A(i,j) * B(i,j) * x(j)", "d"},
                                                                     {"C(i,j) = A(i,j) * B(i,j)", "ds"},
                                                                     {"s = A(i,j) * B(i,j)", ""},
                                                                     {"C(i,j) = A(i,j) * B(i,j) * P(i,r) * Q(j,r)", "ds"}};
  for (const auto& [expression, result_format] : products) {
    std::vector<double> expected;
    for (const std::string layout : {"csr", "dia", "band(4,4)"}) {
      auto stored = convert(*diagonals, *parse_format(layout), resources, "B");
      if (!stored) return std::unexpected(stored.error());
      Tensors used = {{"A", operands.at("A")}, {"B", std::move(*stored)}};
      for (const char* const name : {"P", "Q", "x"})
        if (std::string_view(expression).find(std::string(name) + "(") != std::string_view::npos) used[name] = operands.at(name);
      std::vector<std::unique_ptr<Again>> kernels;
      for (const double each : {1.0, calls}) {
        CompileOptions options;
        options.calls = each;
        auto made = again(engine, expression, used, options);
        if (!made) return std::unexpected(made.error());
        auto values = nonzeros((*made)->y, result_format, resources);
        if (!values) return std::unexpected(values.error());
        if (expected.empty()) expected = std::move(*values);
        else if (*values != expected) return internal_error(fmt::format("{} with B as {} is wrong", expression, layout));
        kernels.push_back(std::move(*made));
      }
      const auto timings = in_turn(kernels, 1);
      if (!timings) return std::unexpected(timings.error());
      Expected<Tensor> rows;
      const double copy_ms = time_ms([&] { rows = convert(used.at("B"), *parse_format("csr"), resources, "B"); });
      if (!rows) return std::unexpected(rows.error());
      fmt::print("{:<44} {:<10} {:9.3f} {:9.3f} {:9.3f}\n", expression, layout, timings->front(), timings->back(), copy_ms);
      std::fflush(stdout);
    }
  }
  return {};
}

Expected<void> measure_tensors(const Engine& engine, Data& data, const std::vector<std::string>& filters) {
  const Resources& resources = engine.options().resources;
  fmt::print("\n{:<18} {:<38} {:>9} {:>6} {:>8} {:>8} {:>8}\n", "TTM, rank 16", "T", "ms", "gain", "plan", "generate", "emit");
  for (const std::string name : {"flights2001_delay", "kjv_trigram", "octane_pari", "cube200"}) {
    if (!wanted(name, filters) || !data.has(name)) continue;
    const auto tensor = data.tensor(name, resources);
    if (!tensor) return std::unexpected(tensor.error());
    const auto matrix = random_dense({tensor->extents()[2], 16}, 5, resources);
    if (!matrix) return std::unexpected(matrix.error());
    std::vector<std::unique_ptr<Again>> kernels;
    std::vector<std::string> before;
    std::vector<double> expected;
    for (const auto& [layout, result] : tensor_layouts) {
      auto stored = convert(*tensor, *parse_format(layout), resources, "T");
      if (!stored) return std::unexpected(stored.error());
      auto made = again(engine, "Y(i,j,r) = T(i,j,k) * M(k,r)", {{"T", *stored}, {"M", *matrix}},
                        in_layouts({{"T", stored->format()}, {"Y", *parse_format(result)}}));
      if (!made) return std::unexpected(made.error());
      auto values = nonzeros((*made)->y, "ssd", resources);
      if (!values) return std::unexpected(values.error());
      if (expected.empty()) expected = std::move(*values);
      else if (*values != expected)
        return internal_error(fmt::format("{} as {} is wrong", name, layout));
      const auto& phases = (*made)->kernel.report().phases;
      before.push_back(fmt::format("{:8.3f} {:8.3f} {:8.3f}", phases.plan, phases.generate, phases.emit));
      kernels.push_back(std::move(*made));
    }
    const auto timings = in_turn(kernels, 2);
    if (!timings) return std::unexpected(timings.error());
    for (std::size_t n = 0; n < kernels.size(); ++n)
      fmt::print("{:<18} {:<38} {:9.3f} {:6.2f} {}\n", name, tensor_layouts[n].first, (*timings)[n], timings->front() / (*timings)[n],
                 before[n]);
    std::fflush(stdout);
    data.drop_all();
  }
  return {};
}

}  // namespace weft::bench
