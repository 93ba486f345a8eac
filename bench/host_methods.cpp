// Methods as hosts write them: an ALS sweep, the first compile of a decomposition's kernels, a breadth-first search.
#include <algorithm>

#include <fmt/format.h>

#include "bench/baseline.h"
#include "bench/baseline_loop.h"
#include "bench/csf.h"
#include "bench/data.h"
#include "bench/host_figures.h"
#include "weft/host.h"

namespace weft::bench {
namespace {

/// "A(i1,r) = T(i0,i1,i2) * F0(i0,r) * F2(i2,r)" for mode 1 of 3.
std::string product_of(std::size_t mode, std::size_t order) {
  std::string tensor = "T(";
  std::string factors;
  for (std::size_t m = 0; m < order; ++m) {
    tensor += fmt::format("{}i{}", m > 0 ? "," : "", m);
    if (m != mode) factors += fmt::format(" * F{0}(i{0},r)", m);
  }
  return fmt::format("A(i{},r) = {}){}", mode, tensor, factors);
}

Expected<Tensors> with_factors(const Tensor& T, std::uint64_t rank, const Resources& resources) {
  Tensors operands = {{"T", T}};
  for (std::size_t mode = 0; mode < T.order(); ++mode) {
    auto factor = random_dense({T.extents()[mode], rank}, mode, resources);
    if (!factor) return std::unexpected(factor.error());
    operands[fmt::format("F{}", mode)] = std::move(*factor);
  }
  return operands;
}

Tensors without_factor(Tensors operands, std::size_t mode) {
  operands.erase(fmt::format("F{}", mode));
  return operands;
}

/// The products of a sweep, with factors that change and with factors that do not.
Expected<void> sweep(unsigned threads, Errors& errors) {
  const Engine engine = engine_with(threads);
  const Resources& resources = engine.options().resources;
  const auto T = random_sparse({{2000, 3000, 4000}, 1'000'000, 1, 1}, resources);
  if (!errors.good(T)) return errors.first();
  const auto operands = with_factors(*T, 16, resources);
  if (!errors.good(operands)) return errors.first();
  std::vector<Kernel> kernels;
  std::vector<Bindings> steady(3), changing(3), set_anew(3);
  std::vector<BaselineKernel> by_hand;
  for (std::uint32_t mode = 0; mode < 3; ++mode) {
    const std::string text = product_of(mode, 3);
    const Tensors used = without_factor(*operands, mode);
    CompileOptions options;
    options.calls = 1000;
    const auto kernel = engine.compile(text, used, options);
    const Problem problem = {
        .name = "", .expression = text, .data = "", .baseline = Baseline::mttkrp, .mode = mode, .rank = 16};
    auto hand = make_baselines(problem, used, resources);
    if (!errors.good(kernel) || !errors.good(hand)) return errors.first();
    for (const auto& [name, tensor] : used) {
      steady[mode].set(name, tensor);
      set_anew[mode].set(name, tensor);
      changing[mode].set(name, tensor, {.changes = name != "T"});
    }
    BaselineKernel& splatt = hand->front();
    splatt.run(resources.threads);
    const auto right = splatt.result();
    for (const Bindings* bindings : {&steady[mode], &changing[mode], &set_anew[mode]}) {
      const auto results = kernel->run(*bindings);
      if (!errors.good(results) || !errors.good(right)) return errors.first();
      if (!same_values(results->at("A"), right->values().as<const double>())) errors.wrong(text);
    }
    kernels.push_back(*kernel);
    by_hand.push_back(std::move(splatt));
  }
  const auto run_all = [&](const std::vector<Bindings>& bindings) {
    for (std::size_t mode = 0; mode < 3; ++mode) errors.good(kernels[mode].run(bindings[mode]));
  };
  const auto us = microseconds({[&] { run_all(steady); }, [&] { run_all(changing); },
                                [&] {
                                  for (std::size_t mode = 0; mode < 3; ++mode)
                                    for (const auto& [name, tensor] : without_factor(*operands, mode))
                                      if (name != "T") set_anew[mode].set(name, tensor);
                                  run_all(set_anew);
                                },
                                [&] {
                                  for (BaselineKernel& kernel : by_hand) kernel.run(resources.threads);
                                }},
                               1, 6);
  print_line("ALS sweep, 1 M entries, R = 16, factors that stay", us[0], "SPLATT's structure, all rotations", us[3]);
  print_line("factors that change", us[1], "factors that stay", us[0]);
  print_line("factors set anew in each step", us[2], "factors that stay", us[0]);
  return errors.first();
}

/// All that the kernels of a CP decomposition need before their first run, of a tensor of which nothing is known.
Expected<void> first_compile(Data& data, unsigned threads, Errors& errors) {
  if (!data.has("debian_contents")) {
    fmt::print("  first compile of debian_contents: skipped, no such data (--data DIR)\n");
    return {};
  }
  const Engine reader = engine_with(threads);
  const auto T = data.tensor("debian_contents", reader.options().resources);
  if (!errors.good(T)) return errors.first();
  const auto operands = with_factors(*T, 16, reader.options().resources);
  if (!errors.good(operands)) return errors.first();
  Timing compiled;
  Timing rotated;
  for (int round = 0; round < 5; ++round) {
    const Engine engine = engine_with(threads);
    Tensors fresh = *operands;
    fresh["T"] = Tensor(T->arrays(), Validity::known);
    compiled.ms.push_back(time_ms([&] {
      for (std::size_t mode = 0; mode < T->order(); ++mode)
        errors.good(engine.compile(product_of(mode, T->order()), without_factor(fresh, mode)));
    }));
    if (round == 0)
      rotated.ms.push_back(time_ms([&] {
        for (std::uint32_t mode = 0; mode < T->order(); ++mode)
          errors.good(make_csf(fresh["T"], mode, engine.options().resources));
      }));
  }
  print_line("first compile of debian_contents' CP kernels, R = 16", figure_of(compiled, 1), "SPLATT's rotations",
             figure_of(rotated, 1));
  return errors.first();
}

/// Levels from vertex 0, one product of a sparse frontier a step.
std::vector<std::int32_t> levels_by_products(const Kernel& kernel, const Tensor& columns, Errors& errors) {
  const std::uint64_t vertices = columns.extents()[0];
  std::vector<std::int32_t> level(vertices, -1);
  level[0] = 0;
  std::vector<std::uint32_t> frontier = {0};
  std::vector<std::uint32_t> next;
  const std::vector<double> ones(vertices, 1);
  Bindings bindings;
  bindings.set("A", columns);
  for (std::int32_t step = 1; !frontier.empty(); ++step) {
    const std::vector<std::uint32_t> pos = {0, static_cast<std::uint32_t>(frontier.size())};
    bindings.set("x", *borrow(sparse_format(1), {vertices}, {{pos, frontier}}, std::span(ones).first(frontier.size())),
                 {.trusted = true});
    const auto results = kernel.run(bindings);
    if (!errors.good(results)) break;
    next.clear();
    for (const std::uint32_t vertex : results->at("y").levels()[0].crd.as<const std::uint32_t>()) {
      if (level[vertex] >= 0) continue;
      level[vertex] = step;
      next.push_back(vertex);
    }
    std::swap(frontier, next);
  }
  return level;
}

Expected<void> search(Data& data, unsigned threads, Errors& errors) {
  if (!data.has("notredame_www")) {
    fmt::print("  breadth-first search of notredame_www: skipped, no such data (--data DIR)\n");
    return {};
  }
  const Engine engine = engine_with(threads);
  const Resources& resources = engine.options().resources;
  const auto A = data.tensor("notredame_www", resources);
  if (!errors.good(A)) return errors.first();
  // The edges from j stand in column j.
  const auto columns = convert(*A, *parse_format("ds:1,0"), resources, "A");
  if (!errors.good(columns)) return errors.first();
  const std::vector<std::uint32_t> pos = {0, 4}, crd = {0, 1, 2, 3};
  const std::vector<double> ones(4, 1);
  CompileOptions options;
  options.formats["y"] = sparse_format(1);
  options.calls = 1000;
  const auto x = borrow(sparse_format(1), {columns->extents()[0]}, {{pos, crd}}, ones);
  const auto kernel = engine.compile("y(i) = A(i,j) * x(j)", {{"A", *columns}, {"x", *x}}, options);
  if (!errors.good(kernel)) return errors.first();
  const auto& below = columns->levels()[1];
  const Lists edges = {below.pos.as<const std::uint32_t>(), below.crd.as<const std::uint32_t>(), {}};
  const std::vector<std::int32_t> right = search_levels(edges);
  if (levels_by_products(*kernel, *columns, errors) != right) errors.wrong("breadth-first search");
  const auto us = microseconds({[&] { static_cast<void>(levels_by_products(*kernel, *columns, errors)); },
                                [&] { static_cast<void>(search_levels(edges)); }},
                               1, 3);
  const int levels = *std::ranges::max_element(right) + 1;
  print_line(fmt::format("breadth-first search of notredame_www, {} levels", levels), us[0], "a hand-written search",
             us[1]);
  return errors.first();
}

}  // namespace

Expected<void> host_methods(const std::string& directory, unsigned threads, Errors& errors) {
  if (auto done = sweep(threads, errors); !done) return done;
  Data data(directory, false);
  if (auto done = first_compile(data, threads, errors); !done) return done;
  return search(data, threads, errors);
}

}  // namespace weft::bench
