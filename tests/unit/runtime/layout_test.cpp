#include "weft/layout.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace weft::layout_test {
namespace {

std::string text_of(std::string_view text) {
  const auto layout = parse_layout(text);
  return layout ? layout->text() : layout.error().message;
}

/// The message, and the column of the caret from 1 on.
std::pair<std::string, std::uint64_t> refusal(std::string_view text, ErrorKind kind = ErrorKind::input) {
  CAPTURE(text);
  const auto layout = parse_layout(text);
  REQUIRE_FALSE(layout);
  CHECK(layout.error().kind == kind);
  CHECK(layout.error().code == ErrorCode::syntax);
  REQUIRE(layout.error().position);
  const std::string& message = layout.error().message;
  const std::size_t caret = message.rfind('^');
  const std::size_t line = message.rfind('\n');
  REQUIRE(caret != std::string::npos);
  CHECK(caret - line - 2 == layout.error().position->column);
  return {message.substr(0, message.find('\n')), layout.error().position->column};
}

using Refusal = std::pair<std::string, std::uint64_t>;

}  // namespace

TEST_CASE("layouts are printed in one way, and read back") {
  CHECK(text_of("(i,j)->(i/4:d,j/4:s,i%4:d,j%4:d)") == "(i,j) -> (i/4:d, j/4:s, i%4:d, j%4:d)");
  CHECK(text_of("( row , column ) -> ( row / 2 / 2 : dense , column : compressed unordered , row % 4 : d )") ==
        "(row,column) -> (row/4:d, column:s unordered, row%4:d)");
  CHECK(text_of("(i,j) -> (i:d, j:d(..i + 1))") == "(i,j) -> (i:d, j:d(..i+1))");
  CHECK(text_of("(i,j) -> (i:d, -i+j:d(-1..2))") == "(i,j) -> (i:d, j-i:d(-1..2))");
  CHECK(text_of("(i,j) -> (i:d, b:s, j-b:d(0..4))") == "(i,j) -> (i:d, b:s, j-b:d(4))");
  CHECK(text_of("(i,j) -> (i:d, *:d, j:q<8>)") == "(i,j) -> (i:d, *:d, j:q<8>)");
  CHECK(text_of("(i,j) -> (2*i:s desc, (i + j)/4:d, (i+j)%4:d)") == "(i,j) -> (2*i:s desc, (i+j)/4:d, (i+j)%4:d)");
  for (const std::string_view name : {"csr", "csc", "dcsr", "coo", "bcsr(4,4)", "bcsr(3,1)", "bcsr(1,1)", "bcsr(4,4,unaligned)", "lower",
                                      "upper", "band(1,2)", "dia", "ell", "ell(7)", "sell(8)", "nm(2,4)", "vbl", "skyline", "csb(256)",
                                      "hicoo(128)"}) {
    CAPTURE(name);
    const auto layout = parse_layout(name);
    REQUIRE(layout);
    const auto again = parse_layout(layout->text());
    REQUIRE(again);
    CHECK(*again == *layout);
    CHECK(again->text() == layout->text());
  }
}

TEST_CASE("levels below slots, other slots, and several free names are read back") {
  for (const std::string text :
       {"(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)", "(i,j,k) -> (i:d, *:d(4), j:q, k:d)", "(i,j,k) -> (i:d, *:v, j:q, *:d(2), k:q)",
        "(i,j,k) -> (i:d, *:d, j:q unordered, *:d, k:q)", "(i,j) -> (a:s, b:s, i-a:d(4), j-b:d(4))",
        "(i,j,k) -> (i:d, a:q, j-a:v, b:s, k-b:v)",
        "(i,j,k) -> (i:d, b:s, *:d(2), j-b:d(4), k:q)", "(i,j,k) -> (i:d, *:d, j:q, b:q, k-b:v)",
        "(i,j,k) -> (i:d, *:d, j:q, k:d(..j))", "(i,j,k) -> (i:d, *:v, j:d(..i+1), k:q)"})
    CHECK(text_of(text) == text);
}

TEST_CASE("names stand for texts") {
  CHECK(text_of("bcsr(3,1)") == "(i,j) -> (i/3:d, j:s, i%3:d)");
  CHECK(text_of("bcsr(4,4,unaligned)") == "(i,j) -> (i/4:d, b:s, i%4:d, j-b:d(4))");
  CHECK(text_of("band(1,1)") == "(i,j) -> (i:d, j-i:d(-1..2))");
  CHECK(text_of("dia") == "(i,j) -> (j-i:s, i:d)");
  CHECK(text_of("sell(8)") == "(i,j) -> (i/8:d, *:v, i%8:d, j:q)");
  CHECK(text_of("nm( 2, 4 )") == "(i,j) -> (i:d, j/4:d, *:d(2), j%4:q<8>)");
  CHECK(text_of("csb(256)") == "(i,j) -> (i/256:d, j/256:s, i%256:u<8>, j%256:q<8>)");
  CHECK(layout_names().size() == 16);
}

TEST_CASE("formats have layouts, and plain ones are as before") {
  const auto blocked = parse_format("bcsr(2,2):f32");
  REQUIRE(blocked);
  CHECK(blocked->scalar == Scalar::f32);
  REQUIRE(blocked->layout);
  CHECK(blocked->order() == 4);
  CHECK(blocked->mode_order.empty());
  CHECK(blocked->text() == "(i,j) -> (i/2:d, j/2:s, i%2:d, j%2:d)");
  CHECK(*blocked == *parse_format(blocked->text() + ":f32"));
  CHECK_FALSE(*blocked == *parse_format("bcsr(2,2)"));
  CHECK_FALSE(*blocked == *parse_format("bcsr(2,4):f32"));
  for (const auto& [layout, plain] : {std::pair("csr", "ds:0,1"), std::pair("csc", "ds:1,0"), std::pair("coo", "uq:0,1"),
                                      std::pair("(i,j,k) -> (k:s, i:h, j:b)", "shb:2,0,1")}) {
    const auto format = parse_format(layout);
    REQUIRE(format);
    CHECK_FALSE(format->layout);
    CHECK(*format == *parse_format(plain));
    CHECK(format->text() == plain);
  }
  CHECK(layout_of(*parse_format("ds:1,0")).text() == "(i,j) -> (j:d, i:s)");
  CHECK(layout_of(*blocked).text() == blocked->text());
  CHECK(parse_format("(i,j) -> (i:d, j:s unordered)")->layout != nullptr);
}

TEST_CASE("wrong layouts show where they are wrong") {
  CHECK(refusal("(i,j) -> (i:d, j:x)") == Refusal{"layout: unknown level kind 'x'; one of d, s, u, q, h, b, v", 18});
  CHECK(refusal("(i,j) -> (i:d, j:)").second == 18);
  CHECK(refusal("(i,j) -> (i:d, j:r)", ErrorKind::unsupported).second == 18);
  CHECK(refusal("(i,j) -> (i/4:d, j:s, k:d)").first.find("k is no mode of (i,j)") != std::string::npos);
  CHECK(refusal("(i,j) -> (i/4:d, j:s, k:d)").second == 23);
  CHECK(refusal("(i,j) -> (i:d)") == Refusal{"layout: no level determines the mode j", 4});
  CHECK(refusal("(i,j) -> (i/0:d, j:d)") == Refusal{"layout: division by 0", 13});
  CHECK(refusal("(i,j) -> (i%0:d, j:d)").second == 13);
  CHECK(refusal("(i,j) -> (j:d(..i), i:d)") == Refusal{"layout: the bound uses i, which no level above determines", 14});
  CHECK(refusal("(i,j) -> (i:d, j:q)") ==
        Refusal{"layout: a singleton holds one entry per position: it needs u, q or a slot (*) above", 18});
  CHECK(refusal("(i,j) -> (i:q, j:d)").second == 13);
  CHECK(refusal("(i,j) -> (i:u, j:s)").second == 13);
  CHECK(refusal("(i,j) -> (i:h, j:q)").second == 18);
  CHECK(refusal("(i,j) -> (i:d, b:s, j:d)").second == 16);
  CHECK(refusal("(i,j) -> (i:d, b:s, j-b:d(4), i+b:d)").second == 16);
  CHECK(refusal("(i,j) -> (i:d, j-b:d(4), b:s)").second == 18);
  CHECK(refusal("(i,j) -> (i:d, *:d, j:s)").second == 16);
  CHECK(refusal("(i,j) -> (i:d, *:s, j:q)").second == 18);
  CHECK(refusal("(i,j) -> (i:d, *:d").first.find("the text ends early") != std::string::npos);
  CHECK(refusal("(i,j) -> (i:d, *:d").second == 19);
  CHECK(refusal("(i,j)").first.find("the text ends early") != std::string::npos);
  CHECK(refusal("(i,").second == 4);
  CHECK(refusal("(i,i) -> (i:d)").second == 4);
  CHECK(refusal("(i,j) -> (i:d, j:s) x").second == 21);
  CHECK(refusal("(i,j) -> (i:d, j:s<7>)").second == 19);
  CHECK(refusal("(i,j) -> (i:d<8>, j:s)").second == 14);
  CHECK(refusal("(i,j) -> (i:d desc, j:s)").second == 15);
  CHECK(refusal("(i,j) -> (i:u, j:q unordered)").second == 20);
  CHECK(refusal("(i,j) -> (*:d, i:q, j:q unordered)").second == 23);
  CHECK(refusal("(i,j) -> (*:d, i:q desc, j:q)").second == 20);
  CHECK(refusal("(i,j) -> (i:d, j:s upwards)").second == 20);
  CHECK(refusal("(i,j) -> (i:d, j:s(4))").second == 19);
  CHECK(refusal("(i,j) -> (i:d, 3:d, j:s)").second == 16);
  CHECK(refusal("(i,j) -> (9223372036854775808*i:d, j:s)").second == 11);
  CHECK(refusal("(i,j) -> (4*(4611686018427387904*i):d, j:s)").second == 11);
  CHECK(refusal("(i,j) -> (i*j:d)").second == 12);
  CHECK(refusal("(i,j) -> (i:h, j:v)", ErrorKind::unsupported).second == 18);
  CHECK(refusal("(i,j,k) -> (i:d, *:d, b:q, j-b:d(4), k:d)") ==
        Refusal{"layout: a start does not say what stands in a slot (*), as blocks of unused slots would lie over others: write b:s in "
                "place of the slot and b:q",
                23});
  CHECK(refusal("(i,j,k) -> (*:d, i:d, *:d, j:q, k:d)") ==
        Refusal{"layout: a slot (*) needs a singleton (q) below, which says what stands in it", 13});
  CHECK(refusal("(i,j,k,l) -> (i:d, *:d, j:q, k:u, l:q unordered)").second == 39);
  CHECK(refusal("(i,j) -> (a:s, b:s, i-a-b:d(4), j-b:d(4))").second == 16);
  CHECK(refusal("(i,j) -> (" + std::string(100, '(') + "i:d, j:d)").first.find("nested too deeply") != std::string::npos);
  std::string long_sum = "i";
  for (int n = 2; n < 20; ++n) long_sum += "+i/" + std::to_string(n);
  CHECK(refusal("(i,j) -> (" + long_sum + ":d, j:d)", ErrorKind::unsupported).second == 11);
  CHECK(refusal("bcsr(4)").first.find("bcsr is written bcsr(R,C[,unaligned])") != std::string::npos);
  CHECK(refusal("bcsr(0,4)").second == 1);
  CHECK(refusal("bcsr(4,4").second == 9);
  CHECK(refusal("cssr").first.find("'cssr' is no layout; csr csc dcsr coo[(unordered)] bcsr(R,C[,unaligned])") != std::string::npos);
  CHECK(parse_format("bcsr(4,4):f16").error().message.find("unknown scalar type 'f16'") != std::string::npos);
  CHECK(parse_format("bcsr(4,4):f16").error().position->column == 11);
}

}  // namespace weft::layout_test
