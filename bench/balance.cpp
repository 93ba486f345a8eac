// How even nests are cut for threads: kernels of real tensors bound for 2 to 32 threads, and what the chunks have to do counted.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/data.h"
#include "bench/prepared.h"
#include "bench/single_figures.h"
#include "bench/timing.h"

namespace weft::bench {
namespace {

const std::vector<std::string> balanced_tensors = {
    "kddcup99",   "kddcup99_win", "debian_contents", "debian_deps",     "flights2001_count", "fb15k237",   "yago_temporal",
    "jf17k_3ary", "jf17k_4ary",   "wikipeople_3ary", "wikipeople_4ary", "wordnet30",         "octane_pari"};
const std::vector<std::string> balanced_matrices = {"notredame_www", "lp_fit2d", "kjv_verse_word", "groebner_f855_aug"};
const std::vector<unsigned> balanced_threads = {2, 4, 8, 16, 32};

/// A(i,r) = T(i,j,k) * B(j,r) * C(k,r) for mode 0, and so on.
std::string mttkrp(std::size_t order, std::size_t mode) {
  std::string indices = "i", factors;
  for (std::size_t n = 1; n < order; ++n) indices += fmt::format(",{}", static_cast<char>('i' + n));
  for (std::size_t n = 0; n < order; ++n) {
    if (n != mode) factors += fmt::format(" * {}({},r)", static_cast<char>('B' + n), static_cast<char>('i' + n));
  }
  return fmt::format("A({},r) = T({}){}", static_cast<char>('i' + mode), indices, factors);
}

double millisecond_median(BoundNetwork& binding) {
  Timing timing;
  for (int round = 0; round < 15; ++round) timing.ms.push_back(time_ms([&] { static_cast<void>(binding.run()); }));
  return timing.median();
}

Expected<void> print_line(const std::string& name, const std::string& expression, const std::map<std::string, Tensor>& operands) {
  const Resources resources;
  const auto prepared = prepare({.name = name, .expression = expression, .data = {}}, operands, resources);
  if (!prepared) return std::unexpected(prepared.error());
  std::string line = fmt::format("{:<28}", name);
  std::vector<double> times;
  for (const unsigned threads : balanced_threads) {
    Resources own = resources;
    own.threads = Threads(threads);
    auto binding = prepared->kernel.bind(operands, own, false);
    if (!binding) return std::unexpected(binding.error());
    double worst = 0;
    NestBalance of_worst;
    for (const NestBalance& nest : binding->balance()) {
      const double even = static_cast<double>(nest.entries) / threads;
      const double ratio = nest.chunks > 1 ? static_cast<double>(nest.heaviest) / even : 0;
      if (ratio >= worst) of_worst = nest;
      worst = std::max(worst, ratio);
    }
    line += fmt::format(" {:>6.2f}{}", worst, worst > 1.15 ? '!' : ' ');
    if (threads == balanced_threads.back()) line += fmt::format(" {:>6} {:>6}", of_worst.chunks, of_worst.parts);
  }
  for (const unsigned threads : {1U, 2U}) {
    Resources own = resources;
    own.threads = Threads(threads);
    auto binding = prepared->kernel.bind(operands, own, false);
    if (!binding) return std::unexpected(binding.error());
    times.push_back(millisecond_median(*binding));
  }
  fmt::print("{} {:>9.3f} {:>9.3f} {:>6.2f}\n", line, times[0], times[1], times[0] / times[1]);
  return {};
}

Expected<void> measure_balance(const std::string& directory, const std::vector<std::string>& filters) {
  fmt::print("{:<28} {:>6}  {:>6}  {:>6}  {:>6}  {:>6}  {:>6} {:>6} {:>9} {:>9} {:>6}\n", "heaviest chunk / even share", "2", "4", "8",
             "16", "32", "chunks", "parts", "ms on 1", "ms on 2", "ratio");
  Data data(directory, false);
  const Resources resources;
  const auto wanted = [&](const std::string& name) {
    return data.has(name) &&
           (filters.empty() || std::ranges::any_of(filters, [&](const std::string& each) { return name.contains(each); }));
  };
  for (const std::string& name : balanced_tensors) {
    if (!wanted(name)) continue;
    auto tensor = data.tensor(name, resources);
    if (!tensor) return std::unexpected(tensor.error());
    std::map<std::string, Tensor> factors;
    for (std::size_t mode = 0; mode < tensor->order(); ++mode) {
      auto factor = random_dense({tensor->extents()[mode], 16}, mode, resources);
      if (!factor) return std::unexpected(factor.error());
      factors.emplace(std::string(1, static_cast<char>('B' + mode)), *factor);
    }
    for (std::size_t mode = 0; mode < tensor->order(); ++mode) {
      std::map<std::string, Tensor> operands = factors;
      operands.erase(std::string(1, static_cast<char>('B' + mode)));
      operands.emplace("T", *tensor);
      if (auto done = print_line(fmt::format("mttkrp {} {}", name, mode), mttkrp(tensor->order(), mode), operands); !done) return done;
    }
    data.drop_all();
  }
  for (const std::string& name : balanced_matrices) {
    if (!wanted(name)) continue;
    auto matrix = data.tensor(name, resources);
    if (!matrix) return std::unexpected(matrix.error());
    for (const std::size_t mode : {0U, 1U}) {
      auto x = random_dense({matrix->extents()[1 - mode]}, 1, resources);
      if (!x) return std::unexpected(x.error());
      auto rows = random_dense({matrix->extents()[1 - mode], 16}, 2, resources);
      if (!rows) return std::unexpected(rows.error());
      const std::string spmv = mode == 0 ? "y(i) = T(i,j) * x(j)" : "y(j) = T(i,j) * x(i)";
      const std::string spmm = mode == 0 ? "Y(i,r) = T(i,j) * X(j,r)" : "Y(j,r) = T(i,j) * X(i,r)";
      if (auto done = print_line(fmt::format("spmv {} {}", name, mode), spmv, {{"T", *matrix}, {"x", *x}}); !done) return done;
      if (auto done = print_line(fmt::format("spmm {} {}", name, mode), spmm, {{"T", *matrix}, {"X", *rows}}); !done) return done;
    }
    data.drop_all();
  }
  return {};
}

}  // namespace

int balance(const std::string& data, const std::vector<std::string>& filters) {
  const auto measured = measure_balance(data, filters);
  if (!measured) fmt::print(stderr, "error: {}\n", measured.error().message);
  return measured ? 0 : 1;
}

}  // namespace weft::bench
