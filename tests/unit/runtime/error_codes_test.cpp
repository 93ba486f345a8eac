// What verify() and the readers of files say for programs: code, operand, and the line of a text.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "unit/runtime/file_fixture.h"
#include "weft/file.h"
#include "weft/host.h"
#include "weft/tensor.h"

namespace error_codes_test {

using namespace weft;

TEST_CASE("error codes: verify() tells arrays of the wrong size, coordinates out of range and what is no tensor apart") {
  struct Case {
    std::vector<std::int32_t> pos, crd;
    std::size_t values;
    ErrorCode code;
  };
  const Case cases[] = {
      {{0, 2, 2, 4}, {0, 3, 1, 2}, 4, ErrorCode::other},          {{0, 2, 2, 4}, {0, 4, 1, 2}, 4, ErrorCode::out_of_range},
      {{0, 2, 2, 4}, {0, 3, 2, 1}, 4, ErrorCode::invalid_tensor}, {{0, 2, 2, 4}, {0, 3, 1, 1}, 4, ErrorCode::invalid_tensor},
      {{0, 3, 2, 4}, {0, 3, 1, 2}, 4, ErrorCode::invalid_tensor}, {{1, 2, 2, 4}, {0, 3, 1, 2}, 4, ErrorCode::invalid_tensor},
      {{0, 2, 2, 5}, {0, 3, 1, 2}, 4, ErrorCode::sizes},          {{0, 2, 4}, {0, 3, 1, 2}, 4, ErrorCode::sizes},
      {{0, 2, 2, 4}, {0, 3, 1, 2}, 3, ErrorCode::sizes}};
  for (const Case& one : cases) {
    CAPTURE(static_cast<int>(one.code));
    std::vector<double> values(one.values, 1);
    TensorArrays arrays;
    arrays.format = *parse_format("ds");
    arrays.extents = {3, 4};
    arrays.levels.resize(2);
    arrays.levels[1].pos = Buffer::borrow(one.pos.data(), one.pos.size() * sizeof(std::int32_t));
    arrays.levels[1].crd = Buffer::borrow(one.crd.data(), one.crd.size() * sizeof(std::int32_t));
    arrays.values = Buffer::borrow(values.data(), values.size() * sizeof(double));
    const auto verified = verify(Tensor(arrays), Resources(), "M");
    CHECK(verified.has_value() == (one.code == ErrorCode::other));
    if (verified) continue;
    CHECK(verified.error().code == one.code);
    CHECK(verified.error().kind == ErrorKind::input);
    CHECK(verified.error().operand == "M");
  }
  TensorArrays arrays;
  arrays.format = *parse_format("ds");
  arrays.extents = {3};
  const auto verified = verify(Tensor(arrays), Resources(), "M");
  REQUIRE_FALSE(verified);
  CHECK(verified.error().code == ErrorCode::invalid_tensor);
  CHECK(verified.error().operand == "M");
}

TEST_CASE("error codes: readers tell what is wrong with a file, with a line of it, and for which operand it was") {
  struct Case {
    std::string file, text;
    ErrorCode code;
    std::uint64_t line;  ///< 0: of the file as a whole
  };
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  const Case cases[] = {{"a.tns", "1 1 1\n1 x 2\n", ErrorCode::syntax, 2},
                        {"a.tns", "1 1 1\n0 1 2\n", ErrorCode::out_of_range, 2},
                        {"a.mtx", banner + "2 2 2\n1 1 1\n3 1 1\n", ErrorCode::out_of_range, 4},
                        {"a.mtx", banner + "2 2 2\n1 1 1\n", ErrorCode::syntax, 3},
                        {"a.mtx", "%%MatrixMarket vector\n", ErrorCode::syntax, 1},
                        {"a.npy", "no array", ErrorCode::file, 0},
                        {"a.npz", "no archive", ErrorCode::file, 0},
                        {"a.tns.gz", "no archive", ErrorCode::syntax, 1}};
  const test::TemporaryDirectory directory;
  for (const Case& one : cases) {
    CAPTURE(one.file);
    CAPTURE(one.text);
    const std::string path = directory.write(one.file, one.text);
    const auto read = read_tensor(path, {}, Resources(), "T");
    REQUIRE_FALSE(read);
    CAPTURE(read.error().message);
    CHECK(read.error().kind == ErrorKind::input);
    CHECK(read.error().code == one.code);
    CHECK(read.error().operand == "T");
    CHECK((read.error().position ? read.error().position->line : 0) == one.line);
  }
  const auto missing = read_tensor(directory.path("none.tns"), {}, Resources(), "T");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::file);
  CHECK(missing.error().operand == "T");
}

}  // namespace error_codes_test
