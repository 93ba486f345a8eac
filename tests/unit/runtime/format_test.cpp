#include "weft/format.h"

#include <doctest/doctest.h>

namespace format_test {

using namespace weft;

TEST_CASE("formats parse and print") {
  auto csr = parse_format("ds");
  REQUIRE(csr);
  CHECK(csr->text() == "ds:0,1");
  CHECK(csr->scalar == Scalar::f64);
  CHECK(csr->levels[0].kind == LevelKind::dense);
  CHECK(csr->levels[1].kind == LevelKind::compressed);

  auto full = parse_format("sss:2,0,1:f32");
  REQUIRE(full);
  CHECK(full->text() == "sss:2,0,1");
  CHECK(full->scalar == Scalar::f32);
  CHECK(full->mode_order == std::vector<std::uint32_t>{2, 0, 1});
  CHECK(*full == *parse_format(full->text() + ":f32"));

  CHECK_FALSE(parse_format("bq"));
  CHECK_FALSE(parse_format("hdq"));
  CHECK(parse_format("huq"));
  auto kinds_and_scalar = parse_format("uq:f32");
  REQUIRE(kinds_and_scalar);
  CHECK(kinds_and_scalar->text() == "uq:0,1");
  CHECK(kinds_and_scalar->scalar == Scalar::f32);

  auto scalar = parse_format("");
  REQUIRE(scalar);
  CHECK(scalar->order() == 0);
  CHECK(scalar->text() == "");
  CHECK(parse_format("::f32")->scalar == Scalar::f32);
  CHECK(parse_format("hb")->text() == "hb:0,1");
}

TEST_CASE("uniform formats") {
  CHECK(dense_format(3).text() == "ddd:0,1,2");
  CHECK(sparse_format(2, Scalar::f32).text() == "ss:0,1");
  CHECK(sparse_format(2, Scalar::f32).scalar == Scalar::f32);
  CHECK(dense_format(2).all_dense());
  CHECK(dense_format(0).all_dense());
  CHECK_FALSE(parse_format("ds")->all_dense());
  CHECK(name(Scalar::f32) == "f32");
  CHECK(scalar_bytes(Scalar::f32) == 4);
}

TEST_CASE("wrong formats say which part is wrong") {
  auto message = [](std::string_view text) {
    auto format = parse_format(text);
    REQUIRE_FALSE(format);
    CHECK(format.error().kind == ErrorKind::input);
    return format.error().message;
  };
  CHECK(message("dxs").find("unknown level kind 'x'") != std::string::npos);
  CHECK(message("qs").find("cannot be the first level") != std::string::npos);
  CHECK(message("us").find("repeats coordinates") != std::string::npos);
  CHECK(message("ds:0").find("1 modes for 2 levels") != std::string::npos);
  CHECK(message("ds:0,0").find("lists mode 0 twice") != std::string::npos);
  CHECK(message("ds:0,2").find("not below the order 2") != std::string::npos);
  CHECK(message("ds:1,0,").find("not a list of modes") != std::string::npos);
  CHECK(message("ds:1;0").find("not a list of modes") != std::string::npos);
  CHECK(parse_format("ds::f32")->scalar == Scalar::f32);
  CHECK(message("ds::f16").find("unknown scalar type 'f16'") != std::string::npos);
  CHECK(message("ds:f16").find("unknown scalar type 'f16'") != std::string::npos);
  CHECK(message("ds:0,1:f64:x").find("three parts") != std::string::npos);
  CHECK(message("a").find("unknown level kind 'a'") != std::string::npos);
}

}  // namespace format_test
