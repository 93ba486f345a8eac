// A host application: evaluates an expression over its own data and checks it against plain loops. It includes nothing
// but public headers and the standard library, and expects weft neither to print nor to end the process.
#include <weft/file.h>
#include <weft/session.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

int wrong(const std::string& what) {
  std::fprintf(stderr, "host: %s\n", what.c_str());
  return 1;
}

// y = M x in plain loops over the coordinates that the host itself made.
int evaluate_product() {
  constexpr std::uint32_t rows = 7;
  constexpr std::uint32_t columns = 5;
  const weft::Resources resources;
  weft::Coordinates coordinates;
  coordinates.extents = {rows, columns};
  coordinates.count = 12;
  for (int mode = 0; mode < 2; ++mode) {
    auto crd = weft::Buffer::allocate(coordinates.count * 4, resources.memory, "coordinates");
    if (!crd) return wrong(crd.error().message);
    coordinates.crd.push_back(*crd);
  }
  auto values = weft::Buffer::allocate(coordinates.count * 8, resources.memory, "values");
  if (!values) return wrong(values.error().message);
  coordinates.values = *values;
  std::vector<double> expected(rows, 0.0);
  for (std::uint32_t n = 0; n < coordinates.count; ++n) {
    const std::uint32_t row = n * 5 % rows;
    const std::uint32_t column = n * 3 % columns;
    coordinates.crd[0].as<std::uint32_t>()[n] = row;
    coordinates.crd[1].as<std::uint32_t>()[n] = column;
    coordinates.values.as<double>()[n] = n + 1;
    expected[row] += (n + 1) * (column + 2.0);
  }
  auto matrix = weft::build(std::move(coordinates), weft::sparse_format(2), resources, "M");
  if (!matrix) return wrong(matrix.error().message);
  auto vector = weft::dense_zeros({columns}, weft::dense_format(1), resources, "x");
  if (!vector) return wrong(vector.error().message);
  for (std::uint32_t column = 0; column < columns; ++column) vector->writable_values<double>()[column] = column + 2.0;

  weft::EngineOptions options;
  options.resources = resources;
  auto session = weft::Session::create(options);
  if (!session) return wrong(session.error().message);
  session->set("M", *matrix);
  session->set("x", *vector);
  const auto evaluation = session->evaluate("y(i) = M(i,j) * x(j)", {"M", "x"});
  if (!evaluation) return wrong(evaluation.error().message);
  const weft::Tensor& result = evaluation->results.at("y");
  for (std::uint32_t row = 0; row < rows; ++row)
    if (result.values().as<const double>()[row] != expected[row]) return wrong("row " + std::to_string(row) + " is wrong");

  // A mistake is a value, not the end of the host.
  const auto mistaken = session->evaluate("y(i) = M(i,j) * x(k)", {"M"});
  if (mistaken || mistaken.error().kind != weft::ErrorKind::input) return wrong("a missing operand was not noticed");
  return 0;
}

}  // namespace

int main() {
  if (evaluate_product() != 0) return 1;
  // Sessions of several threads have nothing in common that they could spoil.
  int failed[2] = {};
  std::thread other([&] { failed[0] = evaluate_product(); });
  failed[1] = evaluate_product();
  other.join();
  return failed[0] + failed[1];
}
