#include <random>

#include "unit/runtime/file_fixture.h"
#include "unit/share.h"

namespace mtx_test {

using namespace weft;
using namespace weft::test;
using Extents = std::vector<std::uint64_t>;

namespace {

std::string banner(std::string_view rest) { return "%%MatrixMarket matrix " + std::string(rest) + "\n"; }

}  // namespace

TEST_CASE("mtx: every header of coordinate files") {
  const TemporaryDirectory directory;
  const struct {
    std::string text;
    Entries expected;
  } cases[] = {
      {banner("coordinate real general") + "% comment\n%\n\n3 4 3\n1 1 2.5\n3 4 -1e1\n2 1 0\n",
       {{{0, 0}, 2.5}, {{1, 0}, 0}, {{2, 3}, -10}}},
      {banner("coordinate double general") + "3 4 1\n3 1 7\n", {{{2, 0}, 7}}},
      {"%%matrixmarket MATRIX Coordinate REAL General\r\n3 4 1\r\n3 1 7\r\n", {{{2, 0}, 7}}},
      {banner("coordinate integer general") + "3 4 2\n1 2 -3\n1 3 +4\n", {{{0, 1}, -3}, {{0, 2}, 4}}},
      {banner("coordinate unsigned-integer general") + "3 4 1\n1 2 18446744073709549568\n",
       {{{0, 1}, 18446744073709549568.0}}},
      {banner("coordinate pattern general") + "3 4 2\n1 2\n\n3 4\n", {{{0, 1}, 1}, {{2, 3}, 1}}},
      {banner("coordinate real symmetric") + "3 3 3\n1 1 5\n3 1 2\n3 2 -4\n",
       {{{0, 0}, 5}, {{2, 0}, 2}, {{0, 2}, 2}, {{2, 1}, -4}, {{1, 2}, -4}}},
      {banner("coordinate integer symmetric") + "2 2 1\n2 1 5\n", {{{1, 0}, 5}, {{0, 1}, 5}}},
      {banner("coordinate pattern symmetric") + "2 2 2\n2 1\n2 2\n", {{{1, 0}, 1}, {{0, 1}, 1}, {{1, 1}, 1}}},
      {banner("coordinate real skew-symmetric") + "3 3 2\n2 1 5\n3 2 -1\n",
       {{{1, 0}, 5}, {{0, 1}, -5}, {{2, 1}, -1}, {{1, 2}, 1}}},
      {banner("coordinate integer skew-symmetric") + "2 2 1\n2 1 5\n", {{{1, 0}, 5}, {{0, 1}, -5}}},
      {banner("coordinate real general") + "3 4 2\n1 1 2\n1 1 3\n", {{{0, 0}, 5}}},
      {banner("coordinate real symmetric") + "3 3 2\n2 1 2\n2 1 3\n", {{{0, 1}, 5}, {{1, 0}, 5}}},
      {banner("coordinate real general") + "3 4 0\n", {}},
      {banner("coordinate real general") + "0 0 0\n", {}},
      {banner("coordinate real general") + "% no line end\n5000000000 4 1\n4999999999 4 2", {{{4999999998, 3}, 2}}},
      {banner("coordinate real symmetric") + "5000000000 5000000000 1\n4999999999 4 2",
       {{{4999999998, 3}, 2}, {{3, 4999999998}, 2}}},
  };
  for (const auto& good : cases) {
    CAPTURE(good.text);
    const Tensor tensor = read(directory.write("a.mtx", good.text));
    CHECK(tensor.format().text() == "ss:0,1");
    CHECK(stored(tensor) == good.expected);
    CHECK(stored(read(directory.write("a.mtx.gz", gzip(good.text)))) == good.expected);
    CHECK(stored(read(directory.write("a.mtx.zst", zstandard(good.text)))) == good.expected);
  }
  CHECK(read(directory.write("a.mtx", cases[0].text)).extents() == Extents{3, 4});
  CHECK(read(directory.write("a.mtx", cases[0].text), with_shape({5, 4})).extents() == Extents{5, 4});
  CHECK(read(directory.write("a.mtx", cases[0].text), with_format("ds:1,0")).format().text() == "ds:1,0");
}

TEST_CASE("mtx: every header of arrays, which are dense and column-major") {
  const TemporaryDirectory directory;
  const auto values = [](const Tensor& tensor) {
    const std::span<const double> all = std::as_const(tensor.values()).as<double>();
    return std::vector<double>(all.begin(), all.end());
  };
  const struct {
    std::string text;
    Extents extents;
    std::vector<double> column_major;
  } cases[] = {
      {banner("array real general") + "%\n2 3\n1\n2\n3\n\n4\n5.5\n6\n", {2, 3}, {1, 2, 3, 4, 5.5, 6}},
      {banner("array integer general") + "2 1\n-1\n2\n", {2, 1}, {-1, 2}},
      {"%%MatrixMarket MATRIX ARRAY DOUBLE GENERAL\r\n1 2\r\n1\r\n2\r\n", {1, 2}, {1, 2}},
      {banner("array real symmetric") + "3 3\n1\n2\n3\n4\n5\n6\n", {3, 3}, {1, 2, 3, 2, 4, 5, 3, 5, 6}},
      {banner("array real skew-symmetric") + "3 3\n1\n2\n3\n", {3, 3}, {0, 1, 2, -1, 0, 3, -2, -3, 0}},
      {banner("array integer symmetric") + "1 1\n7\n", {1, 1}, {7}},
      {banner("array real skew-symmetric") + "1 1\n", {1, 1}, {0}},
      {banner("array real symmetric") + "0 0\n", {0, 0}, {}},
      {banner("array real skew-symmetric") + "0 0\n", {0, 0}, {}},
      {banner("array real general") + "0 9223372036854775807\n", {0, 9223372036854775807u}, {}},
  };
  for (const auto& good : cases) {
    CAPTURE(good.text);
    const Tensor tensor = read(directory.write("a.mtx", good.text));
    CHECK(tensor.format().text() == "dd:1,0");
    CHECK(tensor.extents() == good.extents);
    CHECK(values(tensor) == good.column_major);
  }
  const std::string path = directory.write("a.mtx", banner("array real general") + "2 2\n1\n0\n3\n4\n");
  CHECK(values(read(path, with_format("dd"))) == std::vector<double>{1, 3, 0, 4});
  CHECK(stored(read(path, with_format("ss"))) == Entries{{{0, 0}, 1}, {{0, 1}, 3}, {{1, 1}, 4}});
}

TEST_CASE("mtx: complex and hermitian matrices are not supported yet") {
  const TemporaryDirectory directory;
  for (const char* header : {"coordinate complex general", "coordinate complex hermitian", "array complex symmetric",
                             "Array COMPLEX General", "coordinate real hermitian"}) {
    const Error error = read_failure(directory.write("a.mtx", banner(header) + "1 1 1\n1 1 1 0\n"));
    CHECK(error.kind == ErrorKind::unsupported);
    CHECK(error.message.find("a.mtx:1: ") != std::string::npos);
  }
}

TEST_CASE("mtx: every malformed file is told with its line and reason") {
  const TemporaryDirectory directory;
  const std::string real = banner("coordinate real general");
  const struct {
    std::string text;
    std::uint64_t line;
    std::string reason;
  } cases[] = {
      {"", 1, "the file is empty"},
      {"1 1 1\n", 1, "begins with '%%MatrixMarket"},
      {"%MatrixMarket matrix coordinate real general\n1 1 0\n", 1, "begins with '%%MatrixMarket"},
      {"%%MatrixMarket matrix coordinate real\n1 1 0\n", 1, "the banner has 4 words, expected 5"},
      {"%%MatrixMarket matrix coordinate real general x\n1 1 0\n", 1, "the banner has 6 words"},
      {"%%MatrixMarket vector coordinate real general\n1 1 0\n", 1, "the object is 'vector'"},
      {banner("list real general") + "1 1 0\n", 1, "the layout is 'list'"},
      {banner("coordinate float general") + "1 1 0\n", 1, "the field is 'float'"},
      {banner("coordinate real diagonal") + "1 1 0\n", 1, "the symmetry is 'diagonal'"},
      {banner("array pattern general") + "1 1\n", 1, "a pattern has no values and cannot be an array"},
      {banner("coordinate pattern skew-symmetric") + "1 1 0\n", 1, "cannot be skew-symmetric"},
      {real, 1, "the file ends before the size line"},
      {real + "% x\n\n", 3, "the file ends before the size line"},
      {real + "2 2\n", 2, "the size line has 2 numbers, expected 3"},
      {real + "%\n2 2 1 1\n1 1 1\n", 3, "the size line has 4 numbers, expected 3"},
      {real + "2 -2 1\n", 2, "'-2' in the size line is not a whole number"},
      {real + "2 2.0 1\n", 2, "'2.0' in the size line"},
      {real + "2 9223372036854775808 0\n", 2, "the extent 9223372036854775808 is above 2^63 - 1"},
      {real + "2 99999999999999999999 1\n", 2, "in the size line is not a whole number below 2^64"},
      {banner("array real general") + "2 2 4\n", 2, "the size line has 3 numbers, expected 2"},
      {banner("array real general") + "4294967296 4294967296\n1\n", 2, "more than 2^64 values"},
      {banner("array real symmetric") + "18446744073709551615 18446744073709551615\n1\n", 2, "more than 2^64"},
      {banner("array real skew-symmetric") + "18446744073709551615 18446744073709551615\n1\n", 2, "more than 2^64"},
      {banner("array real general") + "4294967296 4294967295\n1\n", 3, "ends after 1 values, line 2 promises"},
      {banner("coordinate real symmetric") + "2 3 1\n1 1 1\n", 2, "a symmetric matrix is square, not 2 x 3"},
      {banner("array real skew-symmetric") + "2 3\n1\n", 2, "is square"},
      {real + "2 2 2\n1 1 1\n", 3, "the file ends after 1 entries, line 2 promises 2"},
      {real + "2 2 1\n%\n1 1 1\n\n2 2 1\n2 1 1\n", 6, "3 entries, but line 2 promises 1: this one is too many"},
      {real + "2 2 0\n1 1 1\n", 3, "1 entries, but line 2 promises 0"},
      {banner("array real general") + "2 2\n1\n2\n3\n", 5, "the file ends after 3 values, line 2 promises 4"},
      {banner("array real general") + "2 2\n1\n2\n3\n4\n5\n", 7, "5 values, but line 2 promises 4"},
      {banner("array real general") + "2 2\n1 2\n3\n4\n", 3, "2 fields, expected 1 (0 coordinates and a value)"},
      {real + "2 2 1\n3 1 1\n", 3, "coordinate 3 in mode 0 exceeds the size line, whose extent there is 2"},
      {real + "2 2 2\n1 1 1\n1 3 1\n", 4, "coordinate 3 in mode 1"},
      {real + "2 2 1\n0 1 1\n", 3, "coordinate 0 in mode 0: coordinates count from 1"},
      {real + "2 2 1\n1 1\n", 3, "2 fields, expected 3"},
      {real + "2 2 1\n1 1 1 1\n", 3, "4 fields, expected 3"},
      {real + "2 2 1\n1 1 1e999\n", 3, "the value '1e999' overflows f64"},
      {real + "2 2 1\n1 1 one\n", 3, "'one' is not a number"},
      {banner("coordinate pattern general") + "2 2 1\n1 1 1\n", 3, "3 fields, expected 2 (2 coordinates)"},
      {banner("coordinate integer general") + "2 2 1\n1 1 1.5\n", 3, "'1.5' is not an integer"},
      {banner("coordinate integer general") + "2 2 1\n1 1 1e2\n", 3, "'1e2' is not an integer"},
      {banner("coordinate integer general") + "2 2 1\n1 1 inf\n", 3, "'inf' is not an integer"},
      {banner("coordinate real symmetric") + "2 2 2\n1 1 1\n1 2 1\n", 4, "entry (1, 2) above the diagonal"},
      {banner("coordinate real skew-symmetric") + "2 2 1\n1 2 1\n", 3, "above the diagonal: a skew-symmetric file"},
      {banner("coordinate real skew-symmetric") + "2 2 1\n2 2 0\n", 3, "entry (2, 2) on the diagonal"},
      {real + "2 2 1\n1 1 1\ntrailing garbage\n", 4, "2 fields, expected 3"},
  };
  for (const auto& bad : cases) {
    CAPTURE(bad.text);
    check_input_error(directory.write("bad.mtx", bad.text), bad.line, bad.reason);
    check_input_error(directory.write("bad.mtx.zst", zstandard(bad.text)), bad.line, bad.reason);
  }
  const std::string good = directory.write("a.mtx", real + "2 3 1\n1 1 1\n");
  check_input_error(good, 2, "the format is for 3 modes", with_format("sss"));
  check_input_error(good, 2, "a matrix of 2 x 3, which the shape given for it contradicts", with_shape({2, 2}));
  check_input_error(good, 2, "a matrix of 2 x 3", with_shape({2, 3, 1}));
}

TEST_CASE("mtx: random symmetric matrices over several blocks") {
  const TemporaryDirectory directory;
  for (unsigned seed = 0; seed < 4; ++seed) {
    if (!test::is_drawn_sanitized(seed, 2)) continue;
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const bool skew = seed % 2 == 1;
    const std::uint64_t n = 3000;
    Entries expected;
    std::string lines;
    std::size_t count = 0;
    for (; count < 50000; ++count) {
      const std::uint64_t row = 1 + random() % (n - 1);
      const std::uint64_t column = skew ? random() % row : random() % (row + 1);
      const double value = static_cast<double>(random() % 1000);
      expected[{row, column}] += value;
      if (row != column) expected[{column, row}] += skew ? -value : value;
      lines += std::to_string(row + 1) + " " + std::to_string(column + 1) + " " + std::to_string(value) + "\n";
    }
    const std::string size = std::to_string(n) + " " + std::to_string(n) + " " + std::to_string(count) + "\n";
    const std::string header = banner(skew ? "coordinate real skew-symmetric" : "coordinate real symmetric");
    for (const unsigned threads : {1u, 2u}) {
      CHECK(stored(read(directory.write("a.mtx", header + size + lines), {}, threads)) == expected);
    }
  }
}

}  // namespace mtx_test
