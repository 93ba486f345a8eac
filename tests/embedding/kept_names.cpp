// A host in the names and signatures that hosts were written against before tensors became handles, the members of Tensor
// as functions: it has to compile and to run with every later version.
#include <weft/engine.h>
#include <weft/host.h>
#include <weft/session.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

void expect(bool held, const char* what) {
  if (held) return;
  std::fprintf(stderr, "kept_names: %s\n", what);
  std::exit(1);
}

template <class T>
T right(weft::Expected<T> made) {
  expect(made.has_value(), made ? "" : made.error().message.c_str());
  return *std::move(made);
}

const std::vector<double> product = {2001, 0, 430};

bool is_product(const weft::Tensor& y) {
  const auto values = y.values().as<const double>();
  return std::vector<double>(values.begin(), values.end()) == product && y.extents() == std::vector<std::uint64_t>{3};
}

// Signatures as hosts store them.
weft::Expected<weft::Tensor> (*const lend)(std::uint64_t, std::uint64_t, weft::HostIndices, weft::HostIndices,
                                           weft::HostValues) = weft::borrow_csr;
weft::Expected<std::string> (weft::Kernel::*const explain)(const std::string&) const = &weft::Kernel::explain;

}  // namespace

int main() {
  std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2};
  std::vector<double> values = {1, 2, 3, 4}, x = {1, 10, 100, 1000}, y = {7, 7, 7};
  const weft::Tensor matrix = right(lend(3, 4, pos, crd, values));
  const weft::Tensor vector = weft::trusted(right(weft::borrow_dense({4}, x, {1}, 0)));
  expect(matrix.order() == 2 && matrix.nnz() == 4 && matrix.format().order() == 2, "a lent matrix");
  expect(matrix.levels()[1].crd.as<const std::int32_t>()[1] == 3 && vector.offset() == 0, "its arrays");

  weft::EngineOptions options;
  options.resources.threads = weft::Threads(1);
  const weft::Engine engine = right(weft::Engine::create(options));
  weft::CompileOptions how;
  how.formats["y"] = weft::dense_format(1);
  how.objective = "time";
  how.calls = 10;
  how.specialize = weft::Specialization::generic;
  const weft::Tensors operands = {{"M", matrix}, {"x", vector}};
  const weft::Kernel kernel = right(engine.compile("y(i) = M(i,j) * x(j)", operands, how));
  expect(right((kernel.*explain)("asm")).size() > 0 && right(kernel.explain("tree")).size() > 0, "stages by name");
  expect(!kernel.explain("nonsense"), "a stage that is none");
  expect(kernel.report().specialization == "generic" && !kernel.report().plan.producer.empty(), "words of the report");

  weft::Bindings bindings;
  bindings.set("M", matrix, {.trusted = true, .changes = true});
  bindings.set("x", vector);
  bindings.output("y", right(weft::borrow_dense({3}, y)));
  expect(!bindings.failure() && is_product(right(kernel.run(bindings)).at("y")) && y == product, "a run");
  const auto later = engine.compile_async("y(i) = M(i,j) * x(j)", operands, how, [](const weft::Expected<weft::Kernel>&) {});
  expect(later.get().has_value(), "a compilation beside the host");

  const weft::Error error{weft::ErrorKind::input, "of the host's own"};
  expect(weft::fail(error.kind, error.message).error() == error, "an error of the host's own");
  const auto refused = engine.compile("y(i) = M(i,j) * z(j)", operands);
  expect(!refused && refused.error().kind == weft::ErrorKind::input, "a missing operand");

  const weft::Session session = right(weft::Session::create(options));
  session.set("M", matrix);
  session.set("x", vector);
  expect(is_product(right(session.evaluate("y(i) = M(i,j) * x(j)")).at("y")), "a session");
  expect(is_product(right(session.evaluate("y(i) = M(i,j) * x(j)", {"M", "x"})).results.at("y")), "its single steps");
}
