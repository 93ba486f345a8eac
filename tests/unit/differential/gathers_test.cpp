// Sums of long fibers in gathered vectors: products of a matrix or tensor with vectors, on several threads, against brute force.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "drawn_networks.h"
#include "long_ranges.h"

namespace gathers_test {

using namespace weft;
using namespace weft::test;

namespace {

struct Product {
  std::string expression;
  std::string format;  ///< of T
};

std::vector<Product> products() {
  return {{"R(i) = T(i,j) * a(j)", "ds:0,1"},
          {"R(i) = T(i,j) * a(j)", "ss:0,1"},
          {"R() = T(i,j) * a(i) * b(j)", "ds:0,1"},
          {"R(j) = -2 * T(i,j) * a(i) * b(j)", "ds:1,0"},
          {"R(i) = T(i,j) * T(i,j) * a(j) * b(j)", "ss:0,1"},
          {"R(k,i) = T(k,i,j) * a(j) * b(i,j)", "dss:0,1,2"},
          {"R(i) = T(i,j) * a(j)", "ds:0,1:f32"}};
}

/// Coordinates of the long index lie so far apart that vectors over it do not stay in the second cache.
void spread_out(RandomNetwork& network, const std::string& index) {
  constexpr std::uint64_t distance = 8000;
  std::vector<bool> done(network.operands.size());
  for (const RandomFactor& factor : network.factors) {
    if (done[factor.operand]) continue;
    done[factor.operand] = true;
    RandomOperand& operand = network.operands[factor.operand];
    for (std::size_t mode = 0; mode < factor.indices.size(); ++mode) {
      if (factor.indices[mode] != index) continue;
      operand.extents[mode] *= distance;
      for (auto& [coordinates, value] : operand.entries) coordinates[mode] *= distance;
    }
  }
}

RandomNetwork drawn_network(Dice& dice) {
  const Product product = dice.pick(products());
  std::map<std::string, std::uint64_t> extents = {{"i", 3 + dice.below(9)}, {"j", 40 + dice.below(60)}, {"k", 2}};
  if (product.format == "ds:1,0") std::swap(extents["i"], extents["j"]);
  const std::uint64_t share = 15 + dice.below(60);
  const Format format = *parse_format(product.format);
  RandomNetwork made = network_of(product.expression, [&](const std::string& name, const std::vector<std::string>& indices) {
    RandomOperand operand = empty_operand(name, indices, extents, name == "T" ? format : dense_format(indices.size(), format.scalar));
    draw_entries(operand, name == "T" ? share : 100, dice);
    return operand;
  });
  spread_out(made, product.format == "ds:1,0" ? "i" : "j");
  return made;
}

bool has_gathered_sum(const loop::Block& block) {
  return std::ranges::any_of(block, [](const loop::Statement& statement) {
    const auto* each = std::get_if<loop::For>(&statement.node);
    if (!each) return false;
    const bool drives = std::ranges::find(each->steps, loop::Use::drive, &loop::Step::use) != each->steps.end();
    return (each->marks.vector && drives) || has_gathered_sum(each->body);
  });
}

}  // namespace

TEST_CASE("gathered sums are those of entries one by one") {
  const Pipeline pipeline = pipeline_with(false, false);
  const Runs drawn = runs(is_sanitized() ? 20 : 150);
  std::size_t gathered = 0;
  for_each_drawn(drawn, drawn_network, [&](const DrawnNetwork& one) {
    const auto plan = pipeline.plan(one.built.network, one.built.facts, one.options);
    if (is_left_out(plan, one.built)) return;
    const Plan cut = cut_for_threads(*plan, one.built, one.options);
    CHECK(defect_of_runs(pipeline, cut, {{1}, {2}, {4}, {3, true}}, one.built, one.judge) == "");
    const auto kernel = pipeline.compile(one.built.network, cut, one.built.facts);
    REQUIRE(kernel);
    for (const CompiledNest& nest : kernel->nests()) gathered += has_gathered_sum(nest.nest.program.body) ? 1 : 0;
  });
  MESSAGE(gathered << " nests with gathered sums");
  if (drawn.count >= 30) CHECK(gathered > drawn.count / 8);  // half of them, give or take
}

}  // namespace gathers_test
