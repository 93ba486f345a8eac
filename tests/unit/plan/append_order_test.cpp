#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/result_format.h"

#include <doctest/doctest.h>

namespace weft::append_order_test {
namespace {

// Indices 0 1 2 … of a target in a format, below loops.
AppendOrder order_of(const char* format, const std::vector<IndexId>& loops) {
  const Format parsed = *parse_format(format);
  std::vector<IndexId> indices;
  for (IndexId mode = 0; mode < parsed.order(); ++mode) indices.push_back(mode);
  return append_order(indices, parsed, loops);
}

}  // namespace

TEST_CASE("the outermost loops bind appended levels in order, or a workspace is drained from there on") {
  const IndexId summed = 9;
  CHECK(order_of("dd", {1, 0}) == AppendOrder{0, 0});
  CHECK(order_of("ss", {0, 1, summed}) == AppendOrder{2, 2});
  CHECK(order_of("ds", {0, summed, 1}) == AppendOrder{2, 1});
  CHECK(order_of("ds", {summed, 0, 1}) == AppendOrder{2, 0});
  CHECK(order_of("ss:1,0", {0, 1}) == AppendOrder{2, 0});
  CHECK(order_of("ss:1,0", {1, 0}) == AppendOrder{2, 2});
  // Dense levels below the last compressed one are blocks, written in any order.
  CHECK(order_of("sd", {0, summed, 1}) == AppendOrder{1, 1});
  CHECK(order_of("sdd", {0, 2, summed, 1}) == AppendOrder{1, 1});
  CHECK(order_of("sds", {0, 1, summed, 2}) == AppendOrder{3, 2});
  const AppendOrder drained = order_of("dssd", {0, 2, 1, 3});
  CHECK(drained == AppendOrder{3, 1});
  CHECK(drained_key({0, 1, 2, 3}, *parse_format("dssd"), drained) == std::vector<IndexId>{1, 2});
  CHECK(drained_block({0, 1, 2, 3}, *parse_format("dssd"), drained) == std::vector<IndexId>{3});
}

TEST_CASE("what is computed with a dense block is handed over with one") {
  const auto format = [](const char* text) { return *parse_format(text); };
  CHECK(may_be_delivered(format("ss"), format("uq:1,0")));
  CHECK(may_be_delivered(format("ss"), format("dd")));
  CHECK(may_be_delivered(format("sd"), format("bd")));
  CHECK(may_be_delivered(format("sd"), format("dd:1,0")));
  CHECK_FALSE(may_be_delivered(format("sd"), format("ss")));
  CHECK_FALSE(may_be_delivered(format("sd"), format("sd:1,0")));
  CHECK_FALSE(may_be_delivered(format("dd"), format("ds")));
  CHECK(computed_format(format("dbhs:3,2,1,0")).text() == "dsss:3,2,1,0");
  CHECK(may_be_computed(format("ds")));
  CHECK_FALSE(may_be_computed(format("uq")));
}

}  // namespace weft::append_order_test
