#include "frontend/array_text.h"

#include <doctest/doctest.h>

#include "frontend/operand.h"
#include "frontend/stored.h"

namespace weft::array_text_test {
namespace {

const Resources resources{Memory(), Threads(1), {}, {}};

/// 0, 1, 2, … row by row.
Tensor counted(const std::vector<std::uint64_t>& extents, const std::string& kinds = "") {
  auto tensor = dense_zeros(extents, dense_format(extents.size()), resources, "A");
  REQUIRE(tensor);
  for (std::size_t n = 0; n < tensor->nnz(); ++n) tensor->writable_values<double>()[n] = static_cast<double>(n);
  if (kinds.empty()) return *tensor;
  auto converted = convert(*tensor, *parse_format(kinds), resources, "A");
  REQUIRE(converted);
  return *converted;
}

std::string text(const Tensor& tensor, const char* slice = "...") {
  return array_text(dense_view(tensor, *select(*parse_slice(slice), tensor.extents(), "A")));
}

// What numpy 1.26 prints for np.arange(n, dtype=float).reshape(extents).
TEST_CASE("dense tensors print like numpy's arrays") {
  CHECK(text(counted({3})) == "[0. 1. 2.]");
  CHECK(text(counted({2, 3})) == "[[0. 1. 2.]\n [3. 4. 5.]]");
  CHECK(text(counted({2, 1, 2})) == "[[[0. 1.]]\n\n [[2. 3.]]]");
  CHECK(text(counted({1, 1, 1, 1})) == "[[[[0.]]]]");
  CHECK(text(counted({2, 3}), "1,2") == "5.0");
  CHECK(text(counted({0})) == "[]");
  CHECK(text(counted({3, 0})) == "[]");
  CHECK(text(counted({})) == "0.0");
}

TEST_CASE("long rows are wrapped, long modes abbreviated") {
  CHECK(text(counted({30})) ==
        "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
        " 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]");
  CHECK(text(counted({1001})) == "[   0.    1.    2. ...  998.  999. 1000.]");
  CHECK(text(counted({1000})).find("...") == std::string::npos);
  CHECK(text(counted({501, 2})) ==
        "[[0.000e+00 1.000e+00]\n [2.000e+00 3.000e+00]\n [4.000e+00 5.000e+00]\n ...\n"
        " [9.960e+02 9.970e+02]\n [9.980e+02 9.990e+02]\n [1.000e+03 1.001e+03]]");
  auto ones = load_operand("ones(20x8x60)", {}, resources, "A");
  REQUIRE(ones);
  const std::string row = "[1. 1. 1. ... 1. 1. 1.]";
  const std::string rows = row + "\n  " + row + "\n  " + row;
  const std::string block = "[" + rows + "\n  ...\n  " + rows + "]";
  const std::string blocks = block + "\n\n " + block + "\n\n " + block;
  CHECK(text(*ones) == "[" + blocks + "\n\n ...\n\n " + blocks + "]");
}

TEST_CASE("a print is never long") {
  CHECK(text(counted({3, 3, 3, 3, 3, 3, 3, 3, 3})).size() < 100'000);
  CHECK(text(counted({2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2})) == "[... 16 modes are too many to print: take a slice]");
  CHECK(tensor_text(*load_operand("sparse(1000x1000x1000,nnz=5000)", {}, resources, "T"), "T").size() < 2000);
}

TEST_CASE("slices of dense tensors are views, whatever the order of modes") {
  for (const char* format : {"dd", "dd:1,0"}) {
    CAPTURE(format);
    const Tensor tensor = counted({3, 4}, format);
    CHECK(text(tensor) == "[[ 0.  1.  2.  3.]\n [ 4.  5.  6.  7.]\n [ 8.  9. 10. 11.]]");
    CHECK(text(tensor, "::-1, 1") == "[9. 5. 1.]");
    CHECK(text(tensor, "1:, ::2") == "[[ 4.  6.]\n [ 8. 10.]]");
    CHECK(text(tensor, "5:") == "[]");
    const auto copied = materialised(dense_view(tensor, *select(*parse_slice("::-2, ::-3"), tensor.extents(), "A")), resources, "B");
    REQUIRE(copied);
    REQUIRE(verify(*copied, resources, "B"));
    CHECK(text(*copied) == "[[11.  8.]\n [ 3.  0.]]");
  }
}

TEST_CASE("other tensors are listed entry by entry") {
  const Tensor tensor = counted({2, 3}, "ds");
  CHECK(tensor_text(tensor, "A") == "A: " + tensor.summary() +
                                     "\n  (0, 1)  1.0\n  (0, 2)  2.0\n  (1, 0)  3.0\n  (1, 1)  4.0\n  (1, 2)  5.0\n");
  CHECK(entries_text(counted({2, 2}, "ss:1,0")) == "  (1, 0)  2.0\n  (0, 1)  1.0\n  (1, 1)  3.0\n");
  CHECK(entries_text(counted({22}, "s")) ==
        "  (1)  1.0\n  (2)  2.0\n  (3)  3.0\n  (4)  4.0\n  (5)  5.0\n  (6)  6.0\n  (7)  7.0\n  (8)  8.0\n  (9)  9.0\n  (10)  10.0\n"
        "  ... 1 more\n"
        "  (12)  12.0\n  (13)  13.0\n  (14)  14.0\n  (15)  15.0\n  (16)  16.0\n  (17)  17.0\n  (18)  18.0\n  (19)  19.0\n  (20)  20.0\n"
        "  (21)  21.0\n");
  CHECK(entries_text(*load_operand("sparse(3x3,nnz=0)", {}, resources, "Z")) == "");
}

}  // namespace
}  // namespace weft::array_text_test
