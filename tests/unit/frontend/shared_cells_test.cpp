// What threads of a host share without knowing it: what is known of tensors, layouts, kernels, workspaces. All of it comes, is replaced
// and goes while others run, and every result is that of the operands of its run. For ThreadSanitizer above all.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "frontend/operand.h"
#include "unit/sanitized.h"
#include "weft/engine.h"
#include "weft/file.h"
#include "weft/host.h"
#include "weft/session.h"
#include "weft/statistics.h"

namespace shared_cells_test {

using namespace weft;

namespace {

constexpr const char* product = "A(k,r) = T(i,j,k) * B(i,r) * C(j,r)";
constexpr const char* model = "E(i,j,k) = T(i,j,k) * B(i,r) * C(j,r)";

EngineOptions options(const Memory& memory, unsigned threads = 1) {
  EngineOptions made;
  made.resources.memory = memory;
  made.resources.threads = Threads(threads);
  return made;
}

/// One tensor for all: its entries are 1, and what others make of it are its pattern with other entries.
struct Shared {
  explicit Shared(Memory account) : memory(std::move(account)), engine(*Engine::create(options(memory))) {
    T = *generate_tensor("sparse(30x40x50,nnz=2000,seed=1)", {}, Resources(), "T");
    B = *generate_tensor("ones(30x4)", {}, Resources(), "B");
    C = *generate_tensor("ones(40x4)", {}, Resources(), "C");
    std::ranges::fill(T.writable_values<double>(), 1);
    const auto exact = Engine::create(options(Memory()))->compile(product, operands(T));
    Bindings bindings;
    for (const auto& [name, tensor] : operands(T)) bindings.set(name, tensor);
    const auto results = exact->run(bindings);
    right.assign(results->at("A").values().as<const double>().begin(), results->at("A").values().as<const double>().end());
  }
  Tensors operands(const Tensor& tensor) const { return {{"T", tensor}, {"B", B}, {"C", C}}; }
  Bindings bound(const Tensor& tensor) const {
    Bindings bindings;
    for (const auto& [name, operand] : operands(tensor)) bindings.set(name, operand);
    return bindings;
  }
  /// A result over entries that are all `entry`. Short of memory is no mistake where there is a limit.
  void check(const Expected<Tensors>& results, double entry) {
    if (!results) {
      if (results.error().kind != ErrorKind::resource || memory.limit() == Memory::unlimited) ++wrong;
      return;
    }
    ++answered;
    const auto values = results->at("A").values().as<const double>();
    for (std::size_t n = 0; n < right.size(); ++n) wrong += values[n] != right[n] * entry;
  }
  template <class T>
  bool there(const Expected<T>& made) {
    if (!made && (made.error().kind != ErrorKind::resource || memory.limit() == Memory::unlimited)) ++wrong;
    return made.has_value();
  }

  Memory memory;
  Engine engine;
  Tensor T, B, C;
  std::vector<double> right;
  std::atomic<long> wrong{0};
  std::atomic<long> answered{0};
};

using Random = std::mt19937;
unsigned below(Random& random, unsigned bound) { return static_cast<unsigned>(random() % bound); }
/// The n-th round of a thread.
using Round = std::function<void(Shared&, Random&)>;

CompileOptions in_some_layout(Random& random) {
  static const char* const layouts[] = {"sss:0,1,2", "sss:2,1,0", "sss:1,0,2", "dss:2,0,1"};
  CompileOptions how;
  how.formats["T"] = *parse_format(layouts[below(random, 4)]);
  if (below(random, 2) == 0) how.changing = {"T"};
  return how;
}

/// Kernels and bindings that live for a run.
void compile_and_run(Shared& shared, Random& random) {
  const double times = 1 + below(random, 3);
  const std::string text = "A(k,r) = " + std::to_string(static_cast<int>(times)) + " * T(i,j,k) * B(i,r) * C(j,r)";
  const auto kernel = shared.engine.compile(text, shared.operands(shared.T), in_some_layout(random));
  if (shared.there(kernel)) shared.check(kernel->run(shared.bound(shared.T)), times);
}

/// Other values over the pattern, in memory of this thread.
void replace_values(Shared& shared, Random& random) {
  const auto kernel = shared.engine.compile(product, shared.operands(shared.T), in_some_layout(random));
  if (!shared.there(kernel)) return;
  Bindings bindings = shared.bound(shared.T);
  std::vector<double> values(shared.T.nnz());
  for (int n = 0; n < 3; ++n) {
    const double entry = 1 + below(random, 5);
    std::vector<double> next(values.size(), entry);
    std::swap(values, next);
    if (shared.there(bindings.replace_values("T", values))) shared.check(kernel->run(bindings), entry);
  }
}

/// Values that change in place, announced.
void change_in_place(Shared& shared, Random& random) {
  std::vector<double> values(shared.T.nnz(), 1);
  const auto mine = same_pattern(shared.T, values);
  const auto kernel = shared.engine.compile(product, shared.operands(*mine), in_some_layout(random));
  if (!shared.there(kernel)) return;
  const Bindings bindings = shared.bound(*mine);
  for (int n = 0; n < 3; ++n) {
    const double entry = 1 + below(random, 5);
    std::ranges::fill(values, entry);
    mine->values_changed();
    shared.check(kernel->run(bindings), entry);
  }
}

/// A result over the pattern, read by the next kernel, when kernel, engine and bindings that made it are gone.
void result_as_operand(Shared& shared, Random& random) {
  std::optional<Engine> own;
  if (below(random, 2) == 0) own = *Engine::create(options(shared.memory));
  const Engine& engine = own ? *own : shared.engine;
  std::optional<Tensor> result;
  {
    CompileOptions like;
    like.patterns["E"] = "T";
    const auto first = engine.compile(model, shared.operands(shared.T), like);
    if (!shared.there(first)) return;
    const auto results = first->run(shared.bound(shared.T));
    if (!shared.there(results)) return;
    result = results->at("E");
  }
  own.reset();
  const auto kernel = shared.engine.compile(product, shared.operands(*result), in_some_layout(random));
  if (shared.there(kernel)) shared.check(kernel->run(shared.bound(*result)), 4);  // ones, summed over r
}

void give_back(Shared& shared, Random& random) {
  shared.engine.give_back();
  const CacheCounters counters = shared.engine.counters();
  if (counters.layouts_known > 0 && counters.known + counters.missed_text + counters.missed_options == 0) ++shared.wrong;
  const Tensor copy = shared.T;
  const Statistics counted = statistics(copy, Threads(1));
  if (counted.distinct(1 + below(random, 7)) < 1 || !counted.finite()) ++shared.wrong;
  std::this_thread::yield();
}

/// Several threads, each with rounds of its own kinds; a seed repeats what is drawn, not how they meet.
void all_at_once(Shared& shared, const std::vector<Round>& kinds, unsigned seed, int rounds) {
  std::vector<std::thread> threads;
  for (unsigned n = 0; n < 4; ++n)
    threads.emplace_back([&, n] {
      Random random(seed * 4 + n);
      for (int round = 0; round < rounds; ++round) kinds[below(random, static_cast<unsigned>(kinds.size()))](shared, random);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("shared cells: kernels, layouts and values come and go while others run over the same tensor") {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    Shared shared{Memory()};
    all_at_once(shared, {compile_and_run, replace_values, change_in_place, result_as_operand, give_back}, seed,
                static_cast<int>(test::scaled(40)));
    CHECK(shared.wrong == 0);
    CHECK(shared.answered > test::scaled(100));
  }
}

TEST_CASE("shared cells: the same where memory runs short, so that layouts and workspaces are taken away under way") {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    Shared shared{Memory(400'000)};  // of a layout and a run some 60 KB
    all_at_once(shared, {compile_and_run, replace_values, change_in_place, result_as_operand}, seed, static_cast<int>(test::scaled(40)));
    CHECK(shared.wrong == 0);
    CHECK(shared.answered > test::scaled(20));
  }
}

TEST_CASE("shared cells: bindings that several threads copy and run while their first owner drops them, and a kernel that ends first") {
  Shared shared{Memory()};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    auto kernel = std::make_optional(*shared.engine.compile(product, shared.operands(shared.T), in_some_layout(random)));
    auto bindings = std::make_optional(shared.bound(shared.T));
    std::vector<std::thread> threads;
    std::atomic<int> begun{0};
    for (int n = 0; n < 3; ++n)
      threads.emplace_back([&shared, &begun, one = *kernel, lent = *bindings, n]() mutable {
        ++begun;
        std::optional<Tensors> held;
        for (int round = 0; round < 10; ++round) {
          Bindings copy = lent;
          std::vector<double> values(shared.T.nnz(), round + 1);
          if (n > 0 && !copy.replace_values("T", values)) ++shared.wrong;
          auto results = one.run(copy);
          shared.check(results, n > 0 ? round + 1 : 1);
          if (results) held = *results;  // outlives the copy, and at the end the kernel
        }
      });
    while (begun < 3) std::this_thread::yield();
    bindings.reset();
    kernel.reset();
    if (seed % 2 == 0) shared.engine.give_back();
    for (std::thread& thread : threads) thread.join();
    CHECK(shared.wrong == 0);
  }
}

TEST_CASE("shared cells: a session's tensors are replaced while others evaluate over them") {
  Shared shared{Memory()};
  const Session session(shared.engine);
  // All tensors of a session have the same entries at any time but T, so that each answer is a whole multiple.
  session.set("T", shared.T);
  session.set("B", shared.B);
  session.set("C", shared.C);
  std::vector<std::vector<double>> entries;
  std::vector<Tensor> tensors;
  for (int entry = 1; entry <= 3; ++entry) {
    entries.emplace_back(shared.T.nnz(), entry);
    tensors.push_back(*same_pattern(shared.T, entries.back()));
  }
  std::atomic<bool> done{false};
  std::thread setter([&] {
    for (int n = 0; n < 200; ++n) session.set("T", tensors[n % 3]);
    done = true;
  });
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n)
    threads.emplace_back([&, n] {
      Random random(n);
      do {
        const auto results = session.evaluate(product, below(random, 2) == 0 ? Answer::soonest : Answer::best);
        if (!results) {
          ++shared.wrong;
          continue;
        }
        const auto values = results->at("A").values().as<const double>();
        const auto place = static_cast<std::size_t>(std::ranges::max_element(shared.right) - shared.right.begin());
        const double entry = values[place] / shared.right[place];
        if (entry != 1 && entry != 2 && entry != 3) ++shared.wrong;
        for (std::size_t i = 0; i < shared.right.size(); ++i) shared.wrong += values[i] != entry * shared.right[i];
      } while (!done);
    });
  setter.join();
  for (std::thread& thread : threads) thread.join();
  CHECK(shared.wrong == 0);
}

}  // namespace shared_cells_test
