// A host without exceptions and without run-time type information: errors are values, and nothing is thrown at it.
#include <weft/engine.h>
#include <weft/host.h>
#include <weft/session.h>

#include <cstdint>
#include <vector>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "to be compiled with -fno-exceptions -fno-rtti"
#endif

int main() {
  const auto engine = weft::Engine::create();
  if (!engine) return 1;
  const std::vector<std::int32_t> pos = {0, 2, 3}, crd = {0, 2, 2};
  const std::vector<double> values = {1, 2, 3}, vector = {1, 10, 100};
  const auto matrix = weft::borrow_csr(2, 3, pos, crd, values);
  const auto x = weft::borrow_dense({3}, vector);
  if (!matrix || !x) return 2;
  const auto kernel = engine->compile("y(i) = M(i,j) * x(j)", {{"M", *matrix}, {"x", *x}});
  if (!kernel) return 3;
  weft::Bindings bindings;
  bindings.set("M", *matrix);
  const auto missing = kernel->run(bindings);
  if (missing || missing.error().kind != weft::ErrorKind::input) return 4;
  bindings.set("x", *x);
  const auto results = kernel->run(bindings);
  if (!results || results->at("y").values().as<const double>()[0] != 201) return 5;

  const auto wrong = engine->compile("y(i) = M(i,j", {{"M", *matrix}});
  if (wrong || wrong.error().kind != weft::ErrorKind::input) return 6;
  weft::EngineOptions limited;
  limited.resources.memory = weft::Memory(100);
  auto session = weft::Session::create(limited);
  if (!session) return 7;
  session->set("M", *matrix);
  const auto too_large = session->evaluate("A(i,j,k,l) = M(i,j) * M(k,l)", {"M"}, {});
  if (too_large || too_large.error().kind != weft::ErrorKind::resource) return 8;
  return 0;
}
