#include "runtime/adjacency.h"

#include "unit/runtime/reference.h"

namespace adjacency_test {

using namespace weft;
using namespace weft::reference;

namespace {

/// Row i has `entries` columns from `first + i` on, with `gap` left out before the last.
List rows(std::uint64_t count, std::uint64_t entries, std::uint64_t first, std::uint64_t gap) {
  List list{.extents = {count, first + count + entries + gap}, .tuples = {}, .values = {}};
  for (std::uint64_t i = 0; i < count; ++i)
    for (std::uint64_t j = 0; j < entries; ++j) {
      list.tuples.push_back({i, first + i + j + (j + 1 == entries ? gap : 0)});
      list.values.push_back(1);
    }
  return list;
}

}  // namespace

TEST_CASE("adjacency: rows without gaps, asked twice; short, holed, of other kinds: none") {
  const Tensor band = tensor_of(rows(5, 6, 3, 0), "ds");
  CHECK(adjacency(band) == Adjacency::from_first);
  CHECK(adjacency(band) == Adjacency::from_first);
  CHECK(adjacency(tensor_of(rows(5, 6, 3, 0), "ss")) == Adjacency::from_first);
  CHECK(adjacency(tensor_of(rows(5, 6, 3, 1), "ds")) == Adjacency::none);
  CHECK(adjacency(tensor_of(rows(5, 3, 3, 0), "ds")) == Adjacency::none);
  CHECK(adjacency(tensor_of(rows(5, 6, 3, 0), "uq")) == Adjacency::none);
  CHECK(adjacency(tensor_of(rows(5, 6, 3, 0), "dh")) == Adjacency::none);
  CHECK(adjacency(tensor_of(rows(5, 6, 3, 0), "dd")) == Adjacency::none);
  CHECK(adjacency(tensor_of(rows(0, 6, 3, 0), "ds")) == Adjacency::none);
  // Half of the rows are empty: eight entries in the others, four in the mean.
  List apart = rows(8, 8, 0, 0);
  for (auto& tuple : apart.tuples) tuple = {tuple[0] * 2, tuple[1] - tuple[0]};
  apart.extents = {16, 8};
  CHECK(adjacency(tensor_of(apart, "ds")) == Adjacency::from_first);
}

}  // namespace adjacency_test
