// hello: the smallest host. A matrix times a vector, from text to a result.
#include <weft/engine.h>
#include <weft/host.h>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  // 1. An engine plans, compiles and remembers. It is cheap to copy; one per process is usual.
  const auto engine = weft::Engine::create();
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().message.c_str()), 1;

  // 2. Tensors are lent where they lie: a 3 x 4 matrix in CSR and a dense vector.
  //      1 . . 2
  //      . . . .
  //      . 3 4 .
  const std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2};
  const std::vector<double> values = {1, 2, 3, 4}, vector = {1, 10, 100, 1000};
  const auto matrix = weft::borrow_csr(3, 4, pos, crd, values);
  const auto x = weft::borrow_dense({4}, vector);
  if (!matrix || !x) return std::fprintf(stderr, "the arrays do not fit together\n"), 1;

  // 3. The expression is compiled for operands like these: their formats and sizes, not their values.
  const auto kernel = engine->compile("y(i) = M(i,j) * x(j)", {{"M", *matrix}, {"x", *x}});
  if (!kernel) return std::fprintf(stderr, "%s\n", kernel.error().message.c_str()), 1;

  // 4. Bindings say which tensors it runs over. Borrowed arrays are checked here once, before the first run.
  weft::Bindings bindings;
  bindings.set("M", *matrix);
  bindings.set("x", *x);
  const auto results = kernel->run(bindings);
  if (!results) return std::fprintf(stderr, "%s\n", results.error().message.c_str()), 1;

  // 5. Results are tensors by name.
  for (const double y : results->at("y").values().as<const double>()) std::printf("%g\n", y);
  return 0;
}
