#include "engine/text/error_at.h"

#include <doctest/doctest.h>

#include "engine/text/trimmed.h"

namespace weft::error_at_test {

TEST_CASE("an error has the picture of its text, and the position of its first place") {
  const Error error = error_at(ErrorKind::input, "a = b\nc = ~", "what is that?", {{10, 11}, {0, 1}}).error();
  CHECK(error.message == "what is that?\n  a = b\n  ^\n  c = ~\n      ^");
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.code == ErrorCode::syntax);
  REQUIRE(error.position);
  CHECK(error.position->offset == 10);
  CHECK(error.position->line == 2);
  CHECK(error.position->column == 5);
  CHECK(error_at(ErrorKind::unsupported, "a", "not yet", {{0, 1}}).error().code == ErrorCode::other);
}

TEST_CASE("without a place there is neither picture nor position") {
  const Error error = error_at(ErrorKind::input, "a = b", "no", {}).error();
  CHECK(error.message == "no");
  CHECK(!error.position);
  CHECK(with_picture("no", "a", {}) == "no");
}

TEST_CASE("blanks around and behind") {
  CHECK(trimmed(" \ta b\n") == "a b");
  CHECK(trimmed(" \n").empty());
  CHECK(without_end("a b \t", " \t") == "a b");
  CHECK(without_end(" \t", " \t").empty());
}

}  // namespace weft::error_at_test
