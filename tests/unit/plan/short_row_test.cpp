#include "engine/plan/cost/short_row.h"

#include <doctest/doctest.h>

#include <vector>

namespace short_row_test {

using namespace weft;

TEST_CASE("a row keeps its values when it outgrows the object") {
  ShortRow<int, 2> row;
  CHECK(row.empty());
  std::vector<int> expected;
  for (int value = 0; value < 9; ++value) {
    row.push_back(value);
    expected.push_back(value);
    CHECK(row.back() == value);
    CHECK(std::vector<int>(row.begin(), row.end()) == expected);
  }
  CHECK(row.size() == 9);
  row[4] = 70;
  CHECK(row[4] == 70);
}

}  // namespace short_row_test
