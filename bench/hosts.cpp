// What a host pays around a kernel in a loop.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/data.h"
#include "bench/single_figures.h"
#include "bench/timing.h"
#include "weft/engine.h"
#include "weft/host.h"
#include "weft/session.h"

namespace weft::bench {
namespace {

constexpr const char* spmv = "y(i) = M(i,j) * x(j)";
constexpr const char* mttkrp = "y(i,r) = T(i,j,k) * B(j,r) * C(k,r)";

/// The first error of the calls that are timed.
class Errors {
 public:
  template <class T>
  bool good(const Expected<T>& result) {
    if (!result && first_.has_value()) first_ = std::unexpected(result.error());
    return result.has_value();
  }
  void wrong(const std::string& what) {
    if (first_) first_ = internal_error(what + " is wrong");
  }
  const Expected<void>& first() const { return first_; }

 private:
  Expected<void> first_;
};

/// Microseconds of a call: medians of rounds of `calls` each, all variants in turn.
std::vector<double> microseconds(const std::vector<std::function<void()>>& variants, int calls, double seconds = 1) {
  std::vector<std::function<void()>> rounds;
  for (const auto& variant : variants)
    rounds.emplace_back([&variant, calls] {
      for (int call = 0; call < calls; ++call) variant();
    });
  std::vector<double> medians;
  for (const Timing& timing : interleaved(rounds, seconds)) medians.push_back(timing.median() * 1000 / calls);
  return medians;
}

void line(const char* what, double us, const std::string& beside = "") { fmt::print("{:<64} {:>10.2f} us  {}\n", what, us, beside); }

Engine engine_with(unsigned threads) {
  EngineOptions options;
  options.resources.threads = Threads(threads);
  return *Engine::create(options);
}

bool all_are(const Tensor& tensor, double value) {
  return std::ranges::all_of(tensor.values().as<const double>(), [&](double one) { return one == value; });
}

/// A diagonal of four entries, and a vector: calls that compute next to nothing.
Expected<void> small_calls(Errors& errors) {
  const Engine engine = engine_with(1);
  const std::vector<std::int32_t> pos = {0, 1, 2, 3, 4}, crd = {0, 1, 2, 3};
  const std::vector<double> values(4, 2), others(4, 3), x(4, 1);
  const Tensor M = *borrow_csr(4, 4, pos, crd, values);
  const Tensor v = *borrow_dense({4}, x);
  const Tensors operands = {{"M", M}, {"x", v}};
  Tensors changed = operands;
  const Session session(engine);
  session.set("M", M);
  session.set("x", v);
  const auto evaluated = [&] {
    const auto results = session.evaluate(spmv);
    if (errors.good(results) && !all_are(results->at("y"), 2)) errors.wrong("a session's answer");
  };
  const std::vector<double> us = microseconds(
      {[&] { errors.good(engine.compile(spmv, operands)); },
       [&] {
         changed["M"] = *same_pattern(M, others);
         errors.good(engine.compile(spmv, changed));
       },
       evaluated,
       [&] {
         session.set("x", *borrow_dense({4}, x));
         evaluated();
       },
       [&] {
         session.set("M", *borrow_csr(4, 4, pos, crd, values));
         evaluated();
       }},
      500);
  line("compile a kernel of 4 entries that is known", us[0]);
  line("the same, other values over the pattern each time", us[1]);
  line("a session's evaluation that is known", us[2]);
  line("a vector of the session set, and evaluated", us[3]);
  line("a matrix of the session set, and evaluated", us[4]);
  return errors.first();
}

Expected<void> tiny_runs(Errors& errors) {
  const Engine engine = engine_with(1);
  auto M = random_sparse({{100, 100}, 1000, 1, 1}, engine.options().resources);
  if (!M) return std::unexpected(M.error());
  const std::vector<double> ones(100, 1), twos(100, 2);
  const Tensor x = *borrow_dense({100}, ones), z = *borrow_dense({100}, twos);
  const auto kernel = engine.compile(spmv, {{"M", *M}, {"x", x}});
  if (!errors.good(kernel)) return errors.first();
  Bindings steady;
  steady.set("M", *M);
  steady.set("x", x);
  Bindings rebound = steady;
  bool turn = false;
  const std::vector<double> us = microseconds({[&] { errors.good(kernel->run(steady)); },
                                               [&] {
                                                 rebound.set("x", (turn = !turn) ? z : x);
                                                 errors.good(kernel->run(rebound));
                                               }},
                                              500);
  line("a bound run of 100 x 100, 1000 entries", us[0]);
  line("one operand set, and run", us[1], fmt::format("{:+.2f} us", us[1] - us[0]));
  return errors.first();
}

/// A tensor of a million entries, given in another layout than the kernel reads.
Expected<void> large_runs(unsigned threads, Errors& errors) {
  const Engine engine = engine_with(threads);
  const Resources& resources = engine.options().resources;
  auto T = random_sparse({{2000, 3000, 4000}, 1'000'000, 1, 1}, resources);
  if (!T) return std::unexpected(T.error());
  const auto turned = convert(*T, *parse_format("sss:2,1,0"), resources, "T");
  if (!turned) return std::unexpected(turned.error());
  const std::vector<double> b(3000 * 16, 1), c(4000 * 16, 1);
  const Tensor B = *borrow_dense({3000, 16}, b), C = *borrow_dense({4000, 16}, c);
  const Tensors operands = {{"T", *turned}, {"B", B}, {"C", C}};
  const auto kernel = engine.compile(mttkrp, operands);
  if (!errors.good(kernel)) return errors.first();
  Bindings steady, replaced, changing, factor;
  for (Bindings* bindings : {&steady, &replaced, &changing, &factor}) {
    bindings->set("T", *T);
    bindings->set("B", B);
    bindings->set("C", C);
  }
  std::vector<double> ones(T->nnz(), 1), twos(T->nnz(), 2);
  std::vector<double> mine(T->nnz(), 1);
  changing.set("T", *same_pattern(*T, mine), {.changes = true});
  bool turn = false;
  double known = 0;
  const auto sum = [&](const Bindings& bindings) {
    const auto results = kernel->run(bindings);
    double total = 0;
    if (errors.good(results))
      for (const double value : results->at("y").values().as<const double>()) total += value;
    return total;
  };
  if (auto done = replaced.replace_values("T", ones); !done) return done;
  known = sum(replaced);
  if (auto done = replaced.replace_values("T", twos); !done) return done;
  if (known != 16.0 * static_cast<double>(T->nnz()) || sum(replaced) != 2 * known || sum(changing) != known) errors.wrong("MTTKRP");
  std::ranges::fill(mine, 3);
  if (sum(changing) != 3 * known) errors.wrong("MTTKRP of changed values");
  const std::vector<double> us = microseconds({[&] { errors.good(kernel->run(steady)); },
                                               [&] {
                                                 errors.good(replaced.replace_values("T", (turn = !turn) ? ones : twos));
                                                 errors.good(kernel->run(replaced));
                                               },
                                               [&] { errors.good(kernel->run(changing)); },
                                               [&] {
                                                 factor.set("B", *borrow_dense({3000, 16}, b));
                                                 errors.good(kernel->run(factor));
                                               },
                                               [&] { errors.good(engine.compile(mttkrp, operands)); }},
                                              1, 3);
  line("MTTKRP of 1 M entries over a layout that is kept", us[0], fmt::format("{} thread{}", threads, threads > 1 ? "s" : ""));
  line("values replaced, and run", us[1], fmt::format("{:.2f} x", us[1] / us[0]));
  line("values that change in place, and run", us[2], fmt::format("{:.2f} x", us[2] / us[0]));
  line("one factor set, and run", us[3], fmt::format("{:.2f} x", us[3] / us[0]));
  line("compile the kernel, which is known", us[4]);
  return errors.first();
}

/// Levels of a breadth-first search from vertex 0, one product y(i) = A(i,j) * x(j) of a sparse frontier a step.
std::vector<std::int32_t> levels_by_products(const Kernel& kernel, const Tensor& columns, std::uint64_t vertices, Errors& errors) {
  std::vector<std::int32_t> level(vertices, -1);
  level[0] = 0;
  std::vector<std::int32_t> frontier = {0};
  std::vector<double> ones(vertices, 1);
  Bindings bindings;
  bindings.set("A", columns);
  for (std::int32_t step = 1; !frontier.empty(); ++step) {
    const std::vector<std::int32_t> pos = {0, static_cast<std::int32_t>(frontier.size())};
    bindings.set("x", trusted(*borrow(sparse_format(1), {vertices}, {{pos, frontier}}, std::span(ones).first(frontier.size()))));
    const auto results = kernel.run(bindings);
    if (!errors.good(results)) break;
    std::vector<std::int32_t> next;
    for (const std::uint32_t vertex : results->at("y").levels()[0].crd.as<const std::uint32_t>()) {
      if (level[vertex] >= 0) continue;
      level[vertex] = step;
      next.push_back(static_cast<std::int32_t>(vertex));
    }
    frontier = std::move(next);
  }
  return level;
}

std::vector<std::int32_t> levels_by_hand(const Tensor& columns, std::uint64_t vertices) {
  const auto pos = columns.levels()[1].pos.as<const std::uint32_t>();
  const auto crd = columns.levels()[1].crd.as<const std::uint32_t>();
  std::vector<std::int32_t> level(vertices, -1);
  level[0] = 0;
  std::vector<std::uint32_t> frontier = {0}, next;
  for (std::int32_t step = 1; !frontier.empty(); ++step) {
    next.clear();
    for (const std::uint32_t vertex : frontier) {
      for (std::uint32_t p = pos[vertex]; p < pos[vertex + 1]; ++p) {
        if (level[crd[p]] >= 0) continue;
        level[crd[p]] = step;
        next.push_back(crd[p]);
      }
    }
    std::swap(frontier, next);
  }
  return level;
}

Expected<void> search(const std::string& directory, Errors& errors) {
  const Engine engine = engine_with(1);
  const Resources& resources = engine.options().resources;
  Data data(directory, false);
  if (!data.has("notredame_www")) {
    fmt::print("breadth-first search: skipped, no notredame_www (--data DIR)\n");
    return {};
  }
  auto A = data.tensor("notredame_www", resources);
  if (!A) return std::unexpected(A.error());
  // The edges from j stand in column j.
  const auto columns = convert(*A, *parse_format("ds:1,0"), resources, "A");
  if (!columns) return std::unexpected(columns.error());
  const std::uint64_t vertices = columns->extents()[0];
  const std::vector<std::int32_t> pos = {0, 4}, crd = {0, 1, 2, 3};
  const std::vector<double> ones(4, 1);
  CompileOptions options;
  options.formats["y"] = sparse_format(1);
  options.calls = 1000;
  const auto kernel = engine.compile(
      "y(i) = A(i,j) * x(j)", {{"A", *columns}, {"x", *borrow(sparse_format(1), {vertices}, {{pos, crd}}, ones)}}, options);
  if (!errors.good(kernel)) return errors.first();
  const std::vector<std::int32_t> right = levels_by_hand(*columns, vertices);
  if (levels_by_products(*kernel, *columns, vertices, errors) != right) errors.wrong("breadth-first search");
  const std::vector<double> us = microseconds({[&] { static_cast<void>(levels_by_products(*kernel, *columns, vertices, errors)); },
                                               [&] { static_cast<void>(levels_by_hand(*columns, vertices)); }},
                                              1, 2);
  line("breadth-first search, notredame_www", us[0],
       fmt::format("{} steps, {:.2f} x the hand-written", *std::ranges::max_element(right) + 1, us[0] / us[1]));
  return errors.first();
}

}  // namespace

int hosts(const std::string& data) {
  Errors errors;
  Expected<void> done = small_calls(errors);
  if (done) done = tiny_runs(errors);
  for (const unsigned threads : {1U, 2U})
    if (done) done = large_runs(threads, errors);
  if (done) done = search(data, errors);
  if (done) return 0;
  fmt::print(stderr, "error: {}\n", done.error().message);
  return 1;
}

}  // namespace weft::bench
