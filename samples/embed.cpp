// embed: a host with memory, threads and mistakes of its own. A sparse matrix in CSR times a dense one, again and again.
#include <weft/engine.h>
#include <weft/host.h>

#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

int failed(const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main() {
  // 1. What the engine may use: 1 GB over everything it allocates, 2 threads, and a token that stops all its work.
  weft::EngineOptions options;
  options.resources.memory = weft::Memory(std::uint64_t{1} << 30);
  options.resources.threads = weft::Threads(2);
  const auto engine = weft::Engine::create(options);
  if (!engine) return failed(engine.error());

  // 2. The host's arrays: 4 x 5, rows 0 and 2 hold two entries each; 64-bit indices are as good as 32-bit ones.
  const std::vector<std::int64_t> pos = {0, 2, 2, 4, 4}, crd = {1, 4, 0, 3};
  std::vector<double> values = {1, 2, 3, 4};
  std::vector<double> dense = {1, 2, 3, 4, 5, 10, 20, 30, 40, 50};  // 5 x 2, column-major
  std::vector<double> product(8);
  const auto matrix = weft::borrow_csr(4, 5, pos, crd, values);
  const auto factor = weft::borrow_dense({5, 2}, dense, {1, 5});
  const auto memory = weft::borrow_dense({4, 2}, product);
  if (!matrix || !factor || !memory) return std::fputs("the arrays do not fit together\n", stderr), 1;

  // 3. Compiled once; the layouts of the operands are part of what is compiled.
  const auto kernel = engine->compile("A(i,r) = M(i,j) * B(j,r)", {{"M", *matrix}, {"B", *factor}});
  if (!kernel) return failed(kernel.error());

  // 4. The result goes to the host's memory, and the values may change between runs. Nothing is copied.
  weft::Bindings bindings;
  bindings.set("M", *matrix, {.changes = true});
  bindings.set("B", *factor);
  bindings.output("A", *memory);
  for (int run = 0; run < 2; ++run) {
    if (const auto ran = kernel->run(bindings); !ran) return failed(ran.error());
    std::printf("A(2,1) = %g\n", product[5]);
    values[2] = 100;  // M(2,0)
  }

  // 5. Mistakes are values that say what is wrong: here a column that the matrix does not have.
  const std::vector<std::int64_t> wrong = {1, 4, 0, 5};
  const auto mistaken = weft::borrow_csr(4, 5, pos, wrong, values);
  weft::Bindings broken;
  broken.set("M", *mistaken);
  broken.set("B", *factor);
  const auto refused = kernel->run(broken);
  if (refused || refused.error().kind != weft::ErrorKind::input) return 1;
  std::printf("refused: %s\n", refused.error().message.c_str());

  // 6. One kernel and one set of bindings serve any number of threads; each run has a result of its own.
  weft::Bindings shared;
  shared.set("M", *matrix);
  shared.set("B", *factor);
  std::vector<int> right(4);
  std::vector<std::thread> threads;
  for (int& mine : right) {
    threads.emplace_back([&] {
      for (int run = 0; run < 100; ++run) {
        const auto results = kernel->run(shared);
        mine += results && results->at("A").values().as<const double>()[5] == product[5];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d of 400 runs are right\n", right[0] + right[1] + right[2] + right[3]);
  return right == std::vector<int>(4, 100) ? 0 : 1;
}
