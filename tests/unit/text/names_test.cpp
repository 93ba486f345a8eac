#include "engine/text/names.h"

#include <doctest/doctest.h>

namespace names_test {

using namespace weft;

TEST_CASE("names are letters, digits and '_', not starting with a digit") {
  for (const char* good : {"A", "a1", "_", "_1", "Row_2", "zZ"}) CHECK_MESSAGE(is_name(good), good);
  for (const char* bad : {"", "1", "1a", "a b", "a-b", "a.1", "\xc3\xa9", "a\xff", " a"}) {
    CHECK_MESSAGE(!is_name(bad), bad);
  }
  static_assert(is_name("k") && !is_name("2k"));
}

}  // namespace names_test
