// Products of dense matrices in tiles over rows: matrices transposed or not, batches, chains of three, scaled and summed with sparse ones,
// f32 and f64, extents with every rest: as native code on several threads, against brute force.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "drawn_networks.h"
#include "engine/loop/dense_product.h"

namespace dense_products_test {

using namespace weft;
using namespace weft::test;

namespace {

struct Product {
  std::string expression;
  std::string sparse;  ///< format of A; empty: dense
};

std::vector<Product> products() {
  return {{"R(i,k) = A(i,j) * B(j,k)", ""},
          {"R(i,k) = A(j,i) * B(j,k)", ""},
          {"R(i,k) = A(i,j) * B(k,j)", ""},
          {"R(k,i) = A(i,j) * B(j,k)", ""},
          {"R(i,k) = A(i,j) * B(j,k) * A(i,j)", ""},
          {"R(b,i,k) = -2 * A(b,i,j) * B(b,j,k)", ""},
          {"R(i,b,k) = A(i,b,j) * B(j,k)", ""},
          {"R(i,b,k) = A(i,j) * B(j,b,k)", ""},
          {"R(i,k) = A(i,b,j) * B(b,j,k)", ""},
          {"R(i,l) = A(i,j) * B(j,k) * C(k,l)", ""},
          {"R(i,k) = A(i,b) * B(b,j) * C(j,k)", "ds:0,1"},
          {"R(b,i,k) = A(b) * B(b,i,j) * C(j,k)", "s:0"}};
}

RandomNetwork drawn_network(Dice& dice) {
  const Product product = dice.pick(products());
  const bool several = product.expression.find(" C(") != std::string::npos;
  const auto extent = [&](std::uint64_t most) { return 1 + dice.below(dice.below(3) == 0 ? 4 * most : most); };
  std::map<std::string, std::uint64_t> extents;
  for (const std::string index : {"i", "j", "k"}) extents[index] = extent(several ? 9 : 17);
  for (const std::string index : {"b", "l"}) extents[index] = 1 + dice.below(several ? 20 : 4);
  const Scalar scalar = dice.below(3) == 0 ? Scalar::f32 : Scalar::f64;
  return network_of(product.expression, [&](const std::string& name, const std::vector<std::string>& indices) {
    const bool sparse = name == "A" && !product.sparse.empty();
    Format format = sparse ? *parse_format(product.sparse) : dense_format(indices.size());
    format.scalar = scalar;
    RandomOperand operand = empty_operand(name, indices, extents, format);
    draw_entries(operand, sparse ? 40 : 100, dice);
    return operand;
  });
}

/// Nests that are such a product, or hold one.
bool has_product(const loop::Program& program, const loop::Block& block, std::vector<std::uint32_t> bound) {
  return std::ranges::any_of(block, [&](const loop::Statement& statement) {
    if (const auto* live = std::get_if<loop::With>(&statement.node)) return has_product(program, live->body, bound);
    const auto* each = std::get_if<loop::For>(&statement.node);
    if (each == nullptr) return false;
    if (loop::dense_product(program, *each, bound)) return true;
    std::vector<std::uint32_t> inside = bound;
    for (const loop::Step& step : each->steps) ++inside[step.access];
    return has_product(program, each->body, inside);
  });
}

}  // namespace

TEST_CASE("products of dense matrices are those of their elements") {
  const Pipeline pipeline = pipeline_with(false, false), checked = pipeline_with(true, false);
  const Runs drawn = runs(is_sanitized() ? 20 : 150);
  std::size_t tiled = 0;
  for_each_drawn(drawn, drawn_network, [&](const DrawnNetwork& one) {
    const auto plan = pipeline.plan(one.built.network, one.built.facts, {});
    REQUIRE_MESSAGE(plan, plan.error().message);
    const Plan cut = cut_for_threads(*plan, one.built, {});
    CHECK(defect_of_runs(pipeline, cut, {{1}, {2}, {3, true}}, one.built, one.judge) == "");
    if (one.seed % 5 == 0) CHECK(defect_of_runs(checked, cut, {{2}}, one.built, one.judge) == "");
    const auto kernel = pipeline.compile(one.built.network, cut, one.built.facts);
    REQUIRE(kernel);
    for (const CompiledNest& nest : kernel->nests()) {
      const loop::Program& program = nest.nest.program;
      tiled += has_product(program, program.body, std::vector<std::uint32_t>(program.accesses.size(), 0)) ? 1 : 0;
    }
  }, Extents::short_ones);
  MESSAGE(tiled << " nests with products of dense matrices");
  if (drawn.count >= 30) CHECK(tiled > drawn.count / 3);
}

}  // namespace dense_products_test
