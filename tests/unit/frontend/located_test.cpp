// Operands in blocks, diagonals, bands and triangles beside others: how they are read, what is said of it, and that NaN and Inf mean what
// they did.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/layout_entries.h"
#include "weft/engine.h"

namespace weft::located_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor dense(std::vector<std::uint64_t> extents, const std::vector<double>& values) {
  const Format format = dense_format(extents.size());
  Tensor tensor = *dense_zeros(std::move(extents), format, Resources(), "T");
  std::ranges::copy(values, tensor.writable_values<double>().begin());
  return tensor;
}

/// Values of which zeros are no entries.
Tensor sparse(const std::vector<std::uint64_t>& extents, const std::vector<double>& values, const std::string& format) {
  const Tensor all = dense(extents, values);
  auto listed = *entries(all, false, Resources());
  Coordinates some{extents, std::vector<Buffer>(extents.size()), {}, Scalar::f64, 0};
  std::vector<std::vector<std::uint32_t>> crd(extents.size());
  std::vector<double> kept;
  for (std::uint64_t n = 0; n < listed.count; ++n) {
    if (listed.values.as<double>()[n] == 0) continue;
    kept.push_back(listed.values.as<double>()[n]);
    for (std::size_t mode = 0; mode < extents.size(); ++mode) crd[mode].push_back(listed.crd[mode].as<std::uint32_t>()[n]);
  }
  some.count = kept.size();
  some.values = *Buffer::allocate(kept.size() * sizeof(double), Memory(), "values");
  std::ranges::copy(kept, some.values.as<double>().begin());
  for (std::size_t mode = 0; mode < extents.size(); ++mode) {
    some.crd[mode] = *Buffer::allocate(kept.size() * sizeof(std::uint32_t), Memory(), "crd");
    std::ranges::copy(crd[mode], some.crd[mode].as<std::uint32_t>().begin());
  }
  const Tensor rows = *build(std::move(some), sparse_format(extents.size()), Resources(), "T");
  const auto stored = convert(rows, *parse_format(format), Resources(), "T");
  REQUIRE_MESSAGE(stored, (stored ? "" : stored.error().message));
  return *stored;
}

struct Ran {
  std::vector<double> values;
  std::string explanation;
  std::string loops;
};

std::vector<double> values_of(const Expected<Tensors>& results, const std::string& name) {
  REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
  const Tensor& result = results->at(name);
  const auto all = *convert(result, dense_format(result.order()), Resources(), name);
  const auto values = all.values().as<const double>();
  return {values.begin(), values.end()};
}

Ran ran(const std::string& expression, const Tensors& tensors, const std::string& result, const CompileOptions& options = {}) {
  const auto engine = Engine::create({});
  REQUIRE(engine);
  const auto kernel = engine->compile(expression, tensors, options);
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
  Bindings bindings;
  for (const auto& [name, tensor] : tensors) bindings.set(name, tensor);
  return {values_of(kernel->run(bindings), result), kernel->report().explanation, kernel->report().plan.loops};
}

bool says(const Ran& one, const std::string& text) { return one.explanation.find(text) != std::string::npos; }

const std::vector<double> a = {1, 0, 0, 2, 0,  //
                               0, 3, 0, 0, 0,  //
                               0, 0, 0, 0, 4,  //
                               5, 0, 6, 0, 7};
const std::vector<double> b = {2, 0, 0, 1, 0,  //
                               0, 0, 0, 0, 0,  //
                               0, 0, 0, 0, 3,  //
                               1, 0, 0, 0, 2};

}  // namespace

TEST_CASE("blocks beside rows are located through their layout") {
  for (const std::string layout : {"bcsr(2,2)", "bcsr(4,4)", "bcsr(2,3)", "bcsr(3,1)", "csb(2)"}) {
    CAPTURE(layout);
    const Tensors tensors{{"A", sparse({4, 5}, a, "ds")}, {"B", sparse({4, 5}, b, layout)}, {"x", dense({5}, {1, 2, 3, 4, 5})}};
    const Ran sum = ran("s = A(i,j) * B(i,j)", tensors, "s");
    CHECK(sum.values == std::vector<double>{2 + 2 + 12 + 5 + 14});
    const Ran rows = ran("y(i) = A(i,j) * B(i,j) * x(j)", tensors, "y");
    CHECK(rows.values == std::vector<double>{2 + 8, 0, 60, 5 + 70});
    if (layout == "csb(2)") continue;  // of so few entries A may be cheaper to locate
    CHECK(says(rows, "B is located through its layout, "));
    CHECK(says(rows, "with B located at (i"));
  }
}

TEST_CASE("diagonals, bands and triangles beside rows are located through their layout") {
  const std::vector<double> below = {2, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 4, 0, 0, 1, 0, 5, 2, 0};
  const std::vector<double> above = {2, 0, 0, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 2};
  const std::vector<std::pair<std::string, std::vector<double>>> all = {
      {"dia", b},           {"(i,j) -> (j-i:s, j:d)", b}, {"(i,j) -> (i:d, j-i:s)", b}, {"band(3,3)", b},
      {"band(3,0)", below}, {"lower", below},             {"upper", above}};
  for (const auto& [layout, values] : all) {
    CAPTURE(layout);
    const Tensors tensors{{"A", sparse({4, 5}, a, "ds")}, {"B", sparse({4, 5}, values, layout)}, {"x", dense({5}, {1, 2, 3, 4, 5})}};
    std::vector<double> expected(4);
    for (std::size_t place = 0; place < 20; ++place) expected[place / 5] += a[place] * values[place] * static_cast<double>(place % 5 + 1);
    const Ran rows = ran("y(i) = A(i,j) * B(i,j) * x(j)", tensors, "y");
    CHECK(rows.values == expected);
    CHECK(says(rows, "B is located through its layout, "));
    CHECK(says(rows, "with B located at ("));
    // Places without a value are entries that meet infinity, located or in a plain copy.
    std::vector<double> stored(20);
    const auto places = entries_with_layout(tensors.at("B"), Zeros::kept, Resources());
    REQUIRE(places);
    const auto rows_of = places->crd[0].as<std::uint32_t>(), columns_of = places->crd[1].as<std::uint32_t>();
    for (std::uint64_t n = 0; n < places->count; ++n) stored[rows_of[n] * 5 + columns_of[n]] = 1;
    Tensors infinite = tensors;
    infinite["x"] = dense({5}, {infinity, infinity, infinity, infinity, infinity});
    for (const double calls : {1.0, 1e6}) {
      CompileOptions options;
      options.calls = calls;
      const Ran met = ran("y(i) = A(i,j) * B(i,j) * x(j)", infinite, "y", options);
      for (std::size_t row = 0; row < 4; ++row) {
        bool zero = false;
        for (std::size_t place = 5 * row; place < 5 * row + 5; ++place)
          zero = zero || (a[place] != 0 && stored[place] != 0 && values[place] == 0);
        if (zero) CHECK(std::isnan(met.values[row]));
        else CHECK(met.values[row] == (expected[row] == 0 ? 0 : infinity));
      }
    }
  }
}

TEST_CASE("a dense matrix that is pinned to a band is laid out in it, and located there") {
  CompileOptions options;
  options.formats["B"] = *parse_format("band(3,3)");
  const Tensors tensors{{"A", sparse({4, 5}, a, "ds")}, {"B", dense({4, 5}, b)}, {"x", dense({5}, {1, 2, 3, 4, 5})}};
  const Ran rows = ran("y(i) = A(i,j) * B(i,j) * x(j)", tensors, "y", options);
  CHECK(rows.values == std::vector<double>{2 + 8, 0, 60, 5 + 70});
  CHECK(says(rows, "with B located at ("));
}

TEST_CASE("rows that meet a narrow band are few, or those of neighbours: they are not fetched ahead") {
  constexpr std::uint64_t extent = 20000;
  // Entries (i, step * i + offset modulo the extent) for some offsets.
  const auto entries_at = [](std::uint32_t step, std::uint32_t offsets, const std::string& format) {
    Coordinates list{{extent, extent}, std::vector<Buffer>(2), {}, Scalar::f64, extent * offsets};
    for (Buffer& crd : list.crd) crd = *Buffer::allocate(list.count * sizeof(std::uint32_t), Memory(), "crd");
    list.values = *Buffer::allocate(list.count * sizeof(double), Memory(), "values");
    for (std::uint32_t n = 0; n < list.count; ++n) {
      list.crd[0].as<std::uint32_t>()[n] = n / offsets;
      list.crd[1].as<std::uint32_t>()[n] = (n / offsets * step + n % offsets) % extent;
      list.values.as<double>()[n] = 1;
    }
    const auto stored = build(std::move(list), *parse_format(format), Resources(), "T");
    REQUIRE_MESSAGE(stored, (stored ? "" : stored.error().message));
    return *stored;
  };
  Tensors tensors{{"A", entries_at(7, 3, "ds")},
                  {"P", dense({extent, 16}, std::vector<double>(extent * 16, 1))},
                  {"Q", dense({extent, 16}, std::vector<double>(extent * 16, 1))}};
  for (const bool band : {true, false}) {
    tensors["B"] = entries_at(1, 1, band ? "band(4,4)" : "ds");
    const Ran sum = ran("s = A(i,j) * B(i,j) * P(i,r) * Q(j,r)", tensors, "s");
    CHECK(sum.values == std::vector<double>{4 * 16});  // where 6 i or 6 i + 2 is a multiple of 20000
    CHECK(says(sum, "with B located at (") == band);
    CHECK((sum.loops.find("@prefetch") != std::string::npos) == !band);
  }
}

TEST_CASE("a product of blocks that no cut fits is one of plain copies where the calls pay for them") {
  const std::vector<double> c = {1, 0, 2, 0, 0, 3, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 5, 0, 6};
  const Tensors tensors{{"A", sparse({4, 5}, a, "csb(3)")}, {"B", sparse({5, 4}, c, "bcsr(4,4)")}};
  CompileOptions often;
  often.calls = 1e6;
  const Ran product = ran("C(i,k) = A(i,j) * B(j,k)", tensors, "C", often);
  CHECK(product.values == std::vector<double>{9, 0, 2, 0, 0, 9, 0, 0, 0, 20, 0, 24, 5, 35, 10, 48});
  CHECK(says(product, "A and B are read through plain copies, "));
}

TEST_CASE("places of a block are entries that meet infinity, and blocks that are not there are none") {
  const Tensor matrix = sparse({4, 5}, b, "bcsr(2,2)");
  // B has no block at (3,2), and a place without a value at (0,2).
  const Tensors tensors{{"A", sparse({4, 5}, {1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1}, "ds")},
                        {"B", matrix},
                        {"x", dense({5}, {1, 1, infinity, 1, 1})}};
  const Ran absent = ran("y(i) = A(i,j) * B(i,j) * x(j)", tensors, "y");
  CHECK(says(absent, "B is located"));
  CHECK(absent.values == std::vector<double>{3, 0, 3, 3});
  Tensors met = tensors;
  met["A"] = sparse({4, 5}, {1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1}, "ds");
  const Ran nan = ran("y(i) = A(i,j) * B(i,j) * x(j)", met, "y");
  CHECK(says(nan, "B is located"));
  CHECK(std::isnan(nan.values[0]));
  CHECK(nan.values[2] == 3);
}

TEST_CASE("places of a block are entries that meet infinity in a plain copy, too") {
  const auto engine = Engine::create({});
  REQUIRE(engine);
  const Tensor blocks = sparse({4, 4}, {2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0}, "bcsr(2,2)");
  const auto rows = [](double last) { return sparse({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, last, 0, 0, 0, 1}, "csb(3)"); };
  CompileOptions often;
  often.calls = 1e6;
  const auto kernel = engine->compile("C(i,k) = A(i,j) * B(j,k)", {{"A", rows(1)}, {"B", blocks}}, often);
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
  CHECK(kernel->report().explanation.find("A and B are read through plain copies") != std::string::npos);
  Bindings bindings;
  bindings.set("A", rows(1));
  bindings.set("B", blocks);
  CHECK(values_of(kernel->run(bindings), "C")[0] == 2);
  bindings.set("A", rows(infinity));
  const std::vector<double> later = values_of(kernel->run(bindings), "C");
  CHECK(std::isnan(later[10]));  // 3 + Inf * 0 of the place (3,2)
  const Ran fresh = ran("C(i,k) = A(i,j) * B(j,k)", {{"A", rows(infinity)}, {"B", blocks}}, "C", often);
  CHECK(says(fresh, "A and B are read through plain copies"));
  CHECK(std::isnan(fresh.values[10]));
}

}  // namespace weft::located_test
