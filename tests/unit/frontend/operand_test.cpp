#include "frontend/operand.h"

#include <doctest/doctest.h>

namespace weft::operand_test {
namespace {

TEST_CASE("an operand is NAME=SPEC, or SPEC alone") {
  CHECK(parse_operand("T=x.tns") == OperandText{"T", "x.tns"});
  CHECK(parse_operand("x.tns") == OperandText{"", "x.tns"});
  CHECK(parse_operand("B=uniform(20x3,seed=1)") == OperandText{"B", "uniform(20x3,seed=1)"});
  CHECK(parse_operand("uniform(20x3,seed=1)") == OperandText{"", "uniform(20x3,seed=1)"});
  CHECK(parse_operand("dir/a=b.tns") == OperandText{"", "dir/a=b.tns"});
  CHECK(parse_operand("s=") == OperandText{"s", ""});
  CHECK(parse_operand(" T = a b.tns") == OperandText{"T", "a b.tns"});
}

TEST_CASE("shapes") {
  CHECK(parse_shape("100x200") == std::vector<std::uint64_t>{100, 200});
  CHECK(parse_shape("0") == std::vector<std::uint64_t>{0});
  CHECK(!parse_shape("100x"));
  CHECK(!parse_shape(""));
  CHECK(!parse_shape("x3"));
  CHECK(!parse_shape("99999999999999999999"));
}

TEST_CASE("sizes") {
  CHECK(*parse_size("1000") == 1000);
  CHECK(*parse_size("4G") == std::uint64_t{4} << 30);
  CHECK(*parse_size("4GiB") == std::uint64_t{4} << 30);
  CHECK(*parse_size("3kb") == 3072);
  CHECK(*parse_size("1.5G") == std::uint64_t{3} << 29);
  CHECK(*parse_size("0.001K") == 1);
  CHECK(*parse_size("16383.9999P") > std::uint64_t{16383} << 50);
  for (const char* wrong : {"", "G", "-1", "4X", "4GG", "99999999999P", "1.5", "1.G", ".5G", "1.5.5G", "1.5e3G", "16777216.5P",
                            "16383.99999999999999999P"}) {
    CAPTURE(wrong);
    REQUIRE(!parse_size(wrong));
    CHECK(parse_size(wrong).error().kind == ErrorKind::input);
  }
}

TEST_CASE("a number is a scalar, an empty value an error") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  const auto scalar = load_operand("-2.5e1", std::nullopt, resources, "s");
  REQUIRE(scalar);
  CHECK(scalar->order() == 0);
  CHECK(scalar->values().as<const double>()[0] == -25);
  CHECK(load_operand("", std::nullopt, resources, "s").error().kind == ErrorKind::input);
  CHECK(load_operand("1e300", parse_format(":f32") ? std::optional(*parse_format(":f32")) : dense_format(0, Scalar::f32),
                     resources, "s")
            .error()
            .kind == ErrorKind::input);
}

}  // namespace
}  // namespace weft::operand_test
