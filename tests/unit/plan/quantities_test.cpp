#include "engine/plan/explain/quantities.h"

#include <doctest/doctest.h>

namespace quantities_test {

using namespace weft;

TEST_CASE("figures have a unit and few digits") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(12345678) == "12.3 MB");
  CHECK(time_text(85.25) == "85.2 ns");
  CHECK(time_text(1.34e6) == "1.34 ms");
  CHECK(time_text(5e9) == "5 s");
  CHECK(count_text(9999) == "9999");
  CHECK(count_text(2607931) == "2.608M");
  CHECK(count_text(557056) == "557.1k");
  CHECK(count_text(1e30).ends_with("T"));
}

}  // namespace quantities_test
