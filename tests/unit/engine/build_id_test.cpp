#include "engine/build_id.h"

#include <doctest/doctest.h>

namespace build_id_test {

TEST_CASE("the build has an identifier, always the same within a process") {
  const std::string id = weft::build_id();
  CHECK(id == weft::build_id());
  CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(id.size() % 2 == 0);
}

}  // namespace build_id_test
