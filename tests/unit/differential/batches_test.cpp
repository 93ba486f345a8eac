// Products of two rows that are added to their block a batch at a time: TTMc of every mode, orders 3 and 4, matrices between two factors,
// f32 and f64, ranks with and without a rest of a vector: as native code on several threads, against brute force.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "drawn_networks.h"
#include "long_ranges.h"

namespace batches_test {

using namespace weft;
using namespace weft::test;

namespace {

struct Product {
  std::string expression;
  std::string format;  ///< of T
};

std::vector<Product> products() {
  return {{"R(i,r,s) = T(i,j,k) * A(j,r) * B(k,s)", "sss:0,1,2"},
          {"R(i,r,s) = T(i,j,k) * A(j,r) * B(k,s)", "dss:0,1,2"},
          {"R(i,s,r) = T(i,j,k) * A(j,r) * B(s,k)", "duq:0,1,2:f32"},
          {"R(j,r,s) = T(i,j,k) * A(i,r) * B(k,s)", "sss:1,0,2"},
          {"R(k,r,s) = T(i,j,k) * A(i,r) * B(j,s)", "sss:2,1,0"},
          {"R(r,s) = -2 * T(i,j) * A(i,r) * B(j,s)", "ss:0,1"},
          {"R(i,r,s) = T(i,j) * A(j,r) * B(j,s)", "ds:0,1"},
          {"R(i,r,s) = T(i,j) * A(j,r) * B(j,s) * A(j,r)", "ds:0,1"},
          {"R(i,r,s,t) = T(i,j,k,l) * A(j,r) * B(k,s) * C(l,t)", "ssss:0,1,2,3"}};
}

RandomNetwork drawn_network(Dice& dice) {
  const Product product = dice.pick(products());
  std::map<std::string, std::uint64_t> extents = {{"i", 2 + dice.below(4)}, {"j", 5 + dice.below(40)}, {"k", 4 + dice.below(9)}, {"l", 5}};
  const bool is_large = product.expression.starts_with("R(i,r,s,t)");
  for (const std::string rank : {"r", "s", "t"})
    extents[rank] = std::vector<std::uint64_t>{1, 2, 5, 8, 11, 16, 21}[dice.below(is_large ? 4 : 7)];
  const std::uint64_t share = 8 + dice.below(70);
  const Format format = *parse_format(product.format);
  return network_of(product.expression, [&](const std::string& name, const std::vector<std::string>& indices) {
    RandomOperand operand = empty_operand(name, indices, extents, name == "T" ? format : dense_format(indices.size(), format.scalar));
    draw_entries(operand, name == "T" ? share : 100, dice);
    return operand;
  });
}

bool has_batch(const loop::Block& block) {
  return std::ranges::any_of(block, [](const loop::Statement& statement) {
    if (const auto* each = std::get_if<loop::For>(&statement.node)) return each->marks.batch > 0 || has_batch(each->body);
    const auto* live = std::get_if<loop::With>(&statement.node);
    return live && has_batch(live->body);
  });
}

}  // namespace

TEST_CASE("products added a batch at a time are those added one by one") {
  const Pipeline pipeline = pipeline_with(false, false), strict = pipeline_with(false, true);
  const Runs drawn = runs(is_sanitized() ? 20 : 120);
  std::size_t batches = 0;
  for_each_drawn(drawn, drawn_network, [&](const DrawnNetwork& one) {
    const auto plan = pipeline.plan(one.built.network, one.built.facts, one.options);
    if (is_left_out(plan, one.built)) return;
    const Plan cut = cut_for_threads(*plan, one.built, one.options);
    CHECK(defect_of_runs(pipeline, cut, {{1}, {2}, {3, true}}, one.built, one.judge) == "");
    CHECK(defect_of_runs(strict, cut, {{2}}, one.built, one.judge) == "");
    const auto kernel = pipeline.compile(one.built.network, cut, one.built.facts);
    REQUIRE(kernel);
    for (const CompiledNest& nest : kernel->nests()) batches += has_batch(nest.nest.program.body) ? 1 : 0;
  });
  MESSAGE(batches << " nests with batches");
  if (drawn.count >= 30) CHECK(batches > drawn.count / 10);
}

}  // namespace batches_test
