// Operands with one slice that holds nearly all entries, cut into parts down to single entries: products of orders 2 to 5 in layouts
// with and without chains, owned rows, private copies and results at the operand's positions, f32 and f64, as native code on several
// threads, deterministic and not, against brute force.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "drawn_networks.h"
#include "long_ranges.h"

namespace skewed_slices_test {

using namespace weft;
using namespace weft::test;

namespace {

struct Product {
  std::string expression;
  std::vector<std::string> formats;  ///< of T, one of them
};

std::vector<Product> products() {
  const std::vector<std::string> matrices = {"ds:0,1", "ss:0,1", "uq:0,1", "ds:0,1:f32", "ss:1,0", "uq:1,0"};
  const std::vector<std::string> thirds = {"sss:0,1,2", "dss:0,1,2", "uqq:0,1,2", "duq:0,1,2:f32", "sss:1,0,2", "suq:0,1,2", "dds:0,1,2"};
  const std::vector<std::string> fourths = {"ssss:0,1,2,3", "dsss:0,1,2,3:f32", "uqqq:0,1,2,3", "dsuq:0,1,2,3"};
  const std::vector<std::string> fifths = {"sssss:0,1,2,3,4", "dssuq:0,1,2,3,4", "uqqqq:0,1,2,3,4:f32"};
  return {{"R(i) = T(i,j) * A(j)", matrices},
          {"R(i) = -2 * T(i,j) * A(j)", matrices},
          {"R(j) = T(i,j) * A(i)", matrices},
          {"R() = T(i,j) * A(i) * B(j)", matrices},
          {"R(i,r) = T(i,j) * A(j,r)", matrices},
          {"R(r,i) = T(i,j) * A(j,r)", matrices},
          {"R(i,r) = T(i,j,k) * A(j,r) * B(k,r)", thirds},
          {"R(j,r) = T(i,j,k) * A(i,r) * B(k,r)", thirds},
          {"R(k,r) = T(i,j,k) * A(i,r) * B(j,r)", thirds},
          {"R(i,r,s) = T(i,j,k) * A(j,r) * B(k,s)", thirds},
          {"R(i) = T(i,j,k) * T(i,j,k) * A(j)", thirds},
          {"R(i,j) = T(i,j,k) * A(k)", thirds},
          {"R(i,j,r) = T(i,j,k) * A(k,r)", {"sss:0,1,2", "dss:0,1,2"}},
          {"R(i,j,r) = T(i,j) * A(j,r)", {"ss:0,1", "ds:0,1"}},
          {"R(i,r) = T(i,j,k,l) * A(j,r) * B(k,r) * C(l,r)", fourths},
          {"R(l,r) = T(i,j,k,l) * A(i,r) * B(j,r) * C(k,r)", fourths},
          {"R(i,r) = T(i,j,k,l,m) * A(j,r) * B(k,r) * C(l,r) * D(m,r)", fifths},
          {"R(i) = T(i,j,k,l,m) * A(k,m)", fifths}};
}

/// Values that cancel: sums of ±1 and ±2 are often 0.
double cancelling(Dice& dice) { return std::vector<double>{-2, -1, -1, 1, 1, 2}[dice.below(6)]; }

/// Nine of ten entries of one slice, few of the others; at times nearly all of that in one fiber.
void draw_skewed(RandomOperand& operand, Dice& dice) {
  const std::uint64_t heavy = dice.below(operand.extents[0]);
  const std::uint64_t fiber = dice.below(operand.extents[1]);
  const bool giant_fiber = dice.percent(30);
  RandomOperand all{{}, operand.extents, {}, true, {}};
  draw_entries(all, 100, dice);
  for (const auto& [at, value] : all.entries) {
    const bool light = at[0] != heavy || (giant_fiber && at[1] != fiber);
    if (dice.percent(light ? 6 : 90)) operand.entries.push_back({at, cancelling(dice)});
  }
}

RandomNetwork drawn_network(Dice& dice) {
  const Product product = dice.pick(products());
  std::map<std::string, std::uint64_t> extents = {{"i", 1 + dice.below(9)}, {"j", 1 + dice.below(12)}, {"k", 1 + dice.below(9)},
                                                  {"l", 1 + dice.below(5)}, {"m", 1 + dice.below(4)},  {"r", 1 + dice.below(19)},
                                                  {"s", 1 + dice.below(5)}};
  const Format format = *parse_format(dice.pick(product.formats));
  return network_of(product.expression, [&](const std::string& name, const std::vector<std::string>& indices) {
    RandomOperand operand = empty_operand(name, indices, extents, name == "T" ? format : dense_format(indices.size(), format.scalar));
    if (name == "T") draw_skewed(operand, dice);
    else draw_entries(operand, 100, dice);
    return operand;
  });
}

/// The result with a row for each position of T's first two levels; others as weft chooses.
PlanOptions options_for(const BuiltNetwork& built) {
  PlanOptions options = within_memory(built.network);
  const Assignment& product = built.network.assignments.front();
  if (product.result.indices.size() != 3 || product.terms.front().factors.size() != 2) return options;
  if (is_long(built.network.indices[product.result.indices[2]].extent)) return options;
  const OperandFacts& walked = facts_of(built.facts, product.terms.front().factors.front().tensor);
  Format rows = dense_format(3, walked.format.scalar);
  std::copy_n(walked.format.levels.begin(), 2, rows.levels.begin());
  options.result_formats["R"] = rows;
  return options;
}

/// Parts that the nests of a kernel are cut into.
std::uint64_t parts_of(const Pipeline& pipeline, const Plan& plan, const BuiltNetwork& built, const Way& way) {
  const auto kernel = pipeline.compile(built.network, plan, built.facts);
  if (!kernel) return 0;
  Resources resources = pipeline.options().resources;
  resources.threads = threads_of(way.threads);
  const auto binding = kernel->bind(built.tensors, resources, way.deterministic);
  if (!binding) return 0;
  std::uint64_t parts = 0;
  for (const NestBalance& nest : binding->balance()) parts += nest.parts;
  return parts;
}

}  // namespace

TEST_CASE("slices cut into parts, single entries among them, add up to what they are as a whole") {
  const Pipeline pipeline = pipeline_with(false, false), checked = pipeline_with(true, false), strict = pipeline_with(false, true);
  const Runs drawn = runs(is_sanitized() ? 20 : 150);
  std::uint64_t cut = 0;
  std::uint64_t rows_in_parts = 0;
  for_each_drawn(drawn, drawn_network, [&](const DrawnNetwork& one) {
    const PlanOptions options = options_for(one.built);
    const auto plan = pipeline.plan(one.built.network, one.built.facts, options);
    if (is_left_out(plan, one.built)) return;
    const Plan with_threads = cut_for_threads(*plan, one.built, options);
    const bool like = std::ranges::any_of(plan->schedule.tensors, [](const ScheduledTensor& tensor) { return tensor.like.has_value(); });
    const std::vector<Way> ways = {{1}, {2}, {4}, {1, true}, {3, true}};
    CHECK(defect_of_runs(one.seed % 4 == 0 ? checked : pipeline, with_threads, ways, one.built, one.judge) == "");
    const bool in_parts = parts_of(pipeline, with_threads, one.built, {4}) > 0;
    cut += in_parts ? 1 : 0;
    rows_in_parts += in_parts && like && !options.result_formats.empty() ? 1 : 0;
    CHECK(parts_of(pipeline, with_threads, one.built, {1}) == 0);
    CHECK(parts_of(pipeline, with_threads, one.built, {1, true}) == parts_of(pipeline, with_threads, one.built, {4, true}));
    if (one.seed % 5 != 0) return;
    PlanOptions in_order = options;
    in_order.strict_fp = true;
    const auto ordered = strict.plan(one.built.network, one.built.facts, in_order);
    if (is_left_out(ordered, one.built)) return;
    const Plan whole = cut_for_threads(*ordered, one.built, in_order);
    CHECK(defect_of_runs(strict, whole, {{1}, {4}}, one.built, one.judge) == "");
    CHECK(parts_of(strict, whole, one.built, {4}) == 0);
  });
  MESSAGE(cut << " networks with slices in parts, " << rows_in_parts << " of them with rows at leading levels");
  if (drawn.count >= 30) CHECK(cut > drawn.count / 6);  // twelve draws of 30 had 10 to 21
}

}  // namespace skewed_slices_test
