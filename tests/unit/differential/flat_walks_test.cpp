// Flat walks of operands in coordinate formats: MTTKRP, TTTP, TTMc, SDDMM and sums, orders 3 to 5, every mode, short and long runs:
// interpreted, and as native code on several threads, against brute force.
#include <doctest/doctest.h>

#include <algorithm>

#include "drawn_networks.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/search/planned.h"
#include "engine/specialize.h"
#include "long_ranges.h"
#include "oracle/interpreted.h"
#include "oracle/substituted.h"

namespace flat_walks_test {

using namespace weft;
using namespace weft::test;

namespace {

const std::string modes = "ijklm";

/// An operand over these indices with every n-th coordinate, or all of a dense one.
RandomOperand operand(const std::string& name, const std::string& indices, const std::map<char, std::uint64_t>& extents,
                      const std::string& format, std::uint64_t entries, Dice& dice) {
  RandomOperand made{name, {}, *parse_format(format), true, {}};
  std::uint64_t all = 1;
  for (const char index : indices) all *= made.extents.emplace_back(extents.at(index));
  std::map<std::vector<std::uint64_t>, double> chosen;
  for (std::uint64_t n = 0; n < (entries == 0 ? all : entries); ++n) {
    std::uint64_t rest = entries == 0 ? n : dice.below(all);
    std::vector<std::uint64_t> at(indices.size());
    for (std::size_t mode = indices.size(); mode-- > 0; rest /= made.extents[mode]) at[mode] = rest % made.extents[mode];
    chosen[at] = static_cast<double>(dice.below(7)) - 3;
  }
  made.entries.assign(chosen.begin(), chosen.end());
  return made;
}

/// The result's indices, and those of the dense factors A, B, … beside the tensor T.
struct Product {
  std::string result;
  std::vector<std::string> dense;
};

std::vector<Product> products(std::size_t order) {
  std::vector<Product> made;
  const std::string all = modes.substr(0, order);
  Product sampled{all, {}};  // TTTP
  for (const char index : all) sampled.dense.push_back(std::string(1, index) + "r");
  made.push_back(sampled);
  made.push_back({"", {}});  // the sum of all entries
  made.push_back({all.substr(0, 2), {all.substr(order - 1), all.substr(1, 1)}});
  made.push_back({all.substr(order - 2), {all.substr(0, 2) + "r", all.substr(order - 1) + "r"}});  // SDDMM of the last two modes
  for (std::size_t mode = 0; mode < order; ++mode) {
    Product mttkrp{std::string(1, all[mode]) + "r", {}};
    Product ttmc{std::string(1, all[mode]), {}};
    for (std::size_t other = 0; other < order; ++other) {
      if (other == mode) continue;
      mttkrp.dense.push_back(std::string(1, all[other]) + "r");
      const char rank = "rstu"[ttmc.dense.size()];
      ttmc.dense.push_back({all[other], rank});
      ttmc.result += rank;
    }
    made.push_back(mttkrp);
    if (order < 5) made.push_back(ttmc);
  }
  return made;
}

RandomNetwork network_of_product(const Product& product, std::size_t order, const std::string& format, std::uint64_t extent, Dice& dice) {
  std::map<char, std::uint64_t> extents;
  for (const char index : modes) extents[index] = extent + dice.below(3);
  const std::uint64_t rank = std::vector<std::uint64_t>{1, 3, 8, 16, 20}[dice.below(product.result.size() > 2 ? 2 : 5)];
  for (const char index : std::string("rstu")) extents[index] = rank;
  RandomNetwork made;
  const auto indices = [](const std::string& letters) {
    std::vector<std::string> names;
    for (const char letter : letters) names.emplace_back(1, letter);
    return names;
  };
  const auto access = [](const std::string& name, const std::string& letters) {
    std::string text = name + "(";
    for (std::size_t n = 0; n < letters.size(); ++n) text += (n > 0 ? "," : "") + std::string(1, letters[n]);
    return text + ")";
  };
  const std::string all = modes.substr(0, order);
  made.operands.push_back(operand("T", all, extents, format, 30 + dice.below(60), dice));
  made.factors.push_back({0, indices(all)});
  made.result = indices(product.result);
  made.expression = access("R", product.result) + " = " + access("T", all);
  for (const std::string& letters : product.dense) {
    const std::string name(1, static_cast<char>('A' + made.operands.size() - 1));
    made.expression += " * " + access(name, letters);
    made.factors.push_back({made.operands.size(), indices(letters)});
    made.operands.push_back(operand(name, letters, extents, std::string(letters.size(), 'd'), 0, dice));
  }
  return made;
}

std::vector<std::string> formats(std::size_t order) {
  if (order == 3) return {"duq:0,1,2", "suq:0,1,2", "uqq:0,1,2", "duq:1,2,0", "uqd:2,1,0", "uqq:2,0,1"};
  if (order == 4) return {"duqq:0,1,2,3", "ssuq:0,1,2,3", "uqqq:3,1,2,0", "duqd:2,0,1,3"};
  return {"duqqq:0,1,2,3,4", "dsuqq:4,3,2,1,0", "uqqqq:1,0,2,3,4"};
}

bool has_flat_walk(const loop::Block& block) {
  return std::ranges::any_of(block, [](const loop::Statement& statement) {
    if (const auto* each = std::get_if<loop::For>(&statement.node)) return each->marks.flat || has_flat_walk(each->body);
    if (const auto* live = std::get_if<loop::With>(&statement.node)) return has_flat_walk(live->body);
    const auto* late = std::get_if<loop::Bind>(&statement.node);
    return late && has_flat_walk(late->body);
  });
}

/// Whether there is a flat walk; checks what the programs mean.
bool interprets(const Plan& plan, const BuiltNetwork& made, const CoordinateMap& expected, const Resources& resources) {
  const auto known = specialized(made.network, plan, made.facts, made.tensors, Specialization::profiled, {}, resources);
  REQUIRE(known);
  const auto nests = lower(plan.schedule, made.network, std::vector<bool>(plan.schedule.tensors.size(), true), known->facts);
  REQUIRE_MESSAGE(nests, nests.error().message);
  CHECK(difference_from_network(plan.schedule, made.network, *nests) == "");
  const auto result = interpreted(plan.schedule, made.network, *nests, made.entries);
  REQUIRE(result);
  CHECK(differences(*result, expected) == "");
  for (const LoweredNest& nest : *nests) {
    const auto again = loop::parse(print(nest.program));
    REQUIRE(again);
    CHECK(*again == nest.program);
  }
  return std::ranges::any_of(*nests, [](const LoweredNest& nest) { return has_flat_walk(nest.program.body); });
}

/// "1,2,0": where the letters stand in `whole`.
std::string places(const std::string& letters, const std::string& whole) {
  std::string text;
  for (const char letter : letters) text += (text.empty() ? "" : ",") + std::to_string(whole.find(letter));
  return text;
}

/// TTTP over a copy of T in a chain, as a schedule says it; the result is handed over at the positions of T as it is given.
std::string lent_through_copy(const BuiltNetwork& built, bool dense_first, bool vector) {
  const Assignment& assignment = built.network.assignments.front();
  const std::vector<TensorAccess>& factors = assignment.terms.front().factors;
  const Format& given = built.facts.front().format;
  const auto letters = [&](const std::vector<IndexId>& indices) {
    std::string text;
    for (const IndexId index : indices) text += built.network.indices[index].name;
    return text;
  };
  const auto listed = [](const std::string& names) {
    std::string text;
    for (const char name : names) text += (text.empty() ? "" : ",") + std::string(1, name);
    return text;
  };
  const std::string all = letters(factors.front().indices), result = letters(assignment.result.indices);
  std::string order, kept;
  for (const std::uint32_t mode : given.mode_order) order += all[mode];
  const bool may_be_dense = !is_long(built.tensors.at("T").extents()[given.mode_order[0]]);
  std::string copy = (dense_first && may_be_dense) || given.text()[0] == 'd' ? "d" : "s";
  for (std::size_t level = 0; level < all.size(); ++level) kept += letter(given.levels[level].kind);
  for (std::size_t level = 1; level < all.size(); ++level) copy += level == 1 ? 'u' : 'q';
  std::string tree = "T", layouts, product = "T[" + listed(all) + "]";
  for (std::size_t factor = 1; factor < factors.size(); ++factor) {
    const TensorId id = factors[factor].tensor;
    const std::string& name = built.network.tensors[id].name;
    tree += " * " + name;
    layouts += "  layout " + name + " " + facts_of(built.facts, id).format.text() + " f64\n";
    product += " * " + name + "[" + listed(letters(factors[factor].indices)) + "]";
  }
  const std::string there = places(order, result);
  const std::uint64_t rank = built.tensors.at("A").extents()[1];
  return "schedule\n  tree (" + tree + ")\n  layout T " + copy + ":" + places(order, all) + " f64 converted\n" + layouts + "  result R " +
         copy + ":" + there + " f64 delivered " + kept + ":" + there + " f64 like T\n  R[" + listed(result) + "] += " + product +
         "   loops " + listed(order) + ",r" + (vector && !is_long(rank) ? "   vector r" : "") + "\n  parallel " + order[0] + " owner\n";
}

}  // namespace

TEST_CASE("no row is given to a statement inside a flat walk that another one begins") {
  // Drawn from seed 990097: x sums T * C over the dense level below the chain, and R takes x in the loops of the walk.
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  Dice dice(990097);
  const std::size_t order = 3 + dice.below(3);
  const Product product = dice.pick(products(order));
  const std::uint64_t extent = dice.percent(80) ? 4 + dice.below(12 / (order - 2)) : 2;
  const RandomNetwork random = network_of_product(product, order, dice.pick(formats(order)), extent, dice);
  REQUIRE(random.expression == "R(i,r) = T(i,j,k,l) * A(j,r) * B(k,r) * C(l,r)");
  const auto made = built(random, resources);
  REQUIRE_MESSAGE(made, made.error().message);
  auto plan = pipeline_with(false, false).plan(made->network, made->facts, {});
  REQUIRE_MESSAGE(plan, plan.error().message);
  const auto schedule = parse_schedule(
      "schedule\n  tree ((T * C) * A * B)\n  layout T duqd:2,0,1,3 f64\n  layout A dd:0,1 f64\n  layout B dd:0,1 f64\n"
      "  layout C dd:0,1 f64\n  intermediate x[i,r,j,k] dddd:3,0,2,1 f64\n  result R dd:0,1 f64\n"
      "  x[i,r,j,k] += T[i,j,k,l] * C[l,r]   loops k,i,j,l,r   vector r\n"
      "  R[i,r] += x[i,r,j,k] * A[j,r] * B[k,r]   loops k,i,j,r   fused 3   vector r\n  parallel k serial\n",
      made->network);
  REQUIRE_MESSAGE(schedule, schedule.error().message);
  plan->schedule = *schedule;
  CHECK(interprets(*plan, *made, expected_result(random), resources));
}

// Ends are looked for a vector at a time, sixteen times, then searched for.
TEST_CASE("runs of hundreds of entries end where they do") {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  const std::vector<std::uint64_t> lengths = {1, 15, 16, 17, 127, 128, 129, 255, 256, 257, 271, 272, 513, 1000, 2, 256, 700};
  Dice dice(7);
  for (const std::string format : {"uq:0,1", "uq:1,0"}) {
    RandomOperand runs{"T", {lengths.size(), 1000}, *parse_format(format), true, {}};
    if (format == "uq:1,0") std::swap(runs.extents[0], runs.extents[1]);
    for (std::uint64_t row = 0; row < lengths.size(); ++row) {
      for (std::uint64_t n = 0; n < lengths[row]; ++n) {
        const double value = static_cast<double>(dice.below(7)) - 3;
        runs.entries.push_back({format == "uq:0,1" ? std::vector{row, n} : std::vector{n, row}, value});
      }
    }
    for (const std::string result : {"i", "j", ""}) {
      RandomNetwork random;
      random.operands.push_back(runs);
      random.factors.push_back({0, {"i", "j"}});
      for (const std::size_t mode : {0, 1}) {
        const std::string index = mode == 0 ? "i" : "j";
        if (result == index) continue;
        random.factors.push_back({random.operands.size(), {index}});
        random.operands.push_back(operand(mode == 0 ? "a" : "b", index, {{index[0], runs.extents[mode]}}, "d", 0, dice));
      }
      if (!result.empty()) random.result = {result};
      random.expression = "R" + (result.empty() ? "" : "(" + result + ")") + " = T(i,j)" + (result == "i" ? "" : " * a(i)") +
                          (result == "j" ? "" : " * b(j)");
      CAPTURE(random.expression);
      CAPTURE(format);
      const auto made = built(random, resources);
      REQUIRE_MESSAGE(made, made.error().message);
      const CoordinateMap expected = expected_result(random);
      const Judge judge = [&](const Tensor& tensor, const Resources&) { return wrong_result(tensor, expected); };
      for (const bool checked : {false, true}) {
        const Pipeline pipeline = pipeline_with(checked, false);
        PlanOptions options;
        if (!result.empty()) options.result_formats["R"] = *parse_format("s");  // to which a coordinate is appended for each run
        const auto plan = pipeline.plan(made->network, made->facts, options);
        REQUIRE_MESSAGE(plan, plan.error().message);
        CHECK_FALSE(interprets(*plan, *made, expected, resources));
        CHECK(defect_of_runs(pipeline, cut_for_threads(*plan, *made, options), {{1}, {3}}, *made, judge) == "");
      }
    }
  }
}

TEST_CASE("copies that keep the order of entries lend their positions") {
  const Pipeline plain = pipeline_with(false, false);
  const Pipeline checked = pipeline_with(true, false);
  std::size_t flat = 0;
  const Runs drawn = runs(is_sanitized() ? 30 : 200);
  const auto draw = [](Dice& dice) {
    const std::size_t order = 3 + dice.below(3);
    std::string kinds = dice.percent(50) ? "d" : "s", all = modes.substr(0, order);
    kinds += std::string(order - 1, 's') + ":";
    std::vector<char> letters(all.begin(), all.end());
    dice.shuffle(letters);
    kinds += places(std::string(letters.begin(), letters.end()), all);
    Product product = products(order).front();
    if (dice.percent(50)) dice.shuffle(letters);
    product.result = dice.percent(50) ? all : std::string(letters.begin(), letters.end());
    return network_of_product(product, order, kinds, dice.percent(80) ? 4 + dice.below(12 / (order - 2)) : 2, dice);
  };
  for_each_drawn(drawn, draw, [&](const DrawnNetwork& one) {
    BuiltNetwork built = one.built;
    for (OperandFacts& facts : built.facts) facts.pinned = false;
    // Of a long one that drives its entries come in no order.
    const auto hashed = [](const OperandFacts& facts) {
      return std::ranges::count(facts.format.levels, LevelKind::hashed, &Level::kind) > 0;
    };
    if (std::ranges::any_of(built.facts, hashed)) return;
    const std::string text = lent_through_copy(built, one.seed % 2 == 0, one.seed % 3 != 0);
    CAPTURE(text);
    const auto schedule = parse_schedule(text, built.network);
    REQUIRE_MESSAGE(schedule, schedule.error().message);
    CHECK(print(*schedule, built.network) == text);
    PlanOptions options = one.options;
    options.result_patterns["R"] = "T";
    const auto plan = plan_given(*schedule, Problem{built.network, built.facts, options});
    if (is_left_out(plan, built)) return;
    flat += interprets(*plan, built, one.expected, plain.options().resources) ? 1 : 0;
    const Tensor& given = built.tensors.at("T");
    const Judge judge = [&](const Tensor& result, const Resources& resources) -> std::string {
      if (const auto good = verify(result, resources, "R"); !good) return good.error().message;
      if (result.levels().back().crd.data() != given.levels().back().crd.data()) return "coordinates of T are not shared";
      return one.judge(result, resources);
    };
    const Pipeline& pipeline = one.seed % 4 == 0 ? checked : plain;
    CHECK(defect_of_runs(pipeline, cut_for_threads(*plan, built, options), {{1}, {2}, {4}, {3, true}}, built, judge) == "");
  });
  if (drawn.count >= 30) CHECK(flat > drawn.count / 3);
}

TEST_CASE("flat walks change no result") {
  const Pipeline plain = pipeline_with(false, false);
  const Pipeline checked = pipeline_with(true, false);
  const Pipeline strict = pipeline_with(false, true);
  const Runs drawn = runs(is_sanitized() ? 40 : 300);
  std::size_t flat = 0, nested = 0;
  const auto draw = [](Dice& dice) {
    const std::size_t order = 3 + dice.below(3);
    const Product product = dice.pick(products(order));
    const std::uint64_t extent = dice.percent(80) ? 4 + dice.below(12 / (order - 2)) : 2;  // runs of one or two entries, or long ones
    return network_of_product(product, order, dice.pick(formats(order)), extent, dice);
  };
  for_each_drawn(drawn, draw, [&](const DrawnNetwork& one) {
    const Pipeline& pipeline = one.seed % 5 == 0 ? checked : one.seed % 5 == 1 ? strict : plain;
    const auto plan = pipeline.plan(one.built.network, one.built.facts, one.options);
    if (is_left_out(plan, one.built)) return;
    (interprets(*plan, one.built, one.expected, plain.options().resources) ? flat : nested)++;
    CHECK(defect_of_runs(pipeline, cut_for_threads(*plan, one.built, one.options), {{1}, {2}, {4}, {3, true}}, one.built, one.judge) == "");
  });
  MESSAGE(flat << " networks with flat walks, " << nested << " without");
  if (drawn.count >= 30) CHECK(flat > drawn.count / 3);
  if (drawn.count >= 30) CHECK(nested > 0);
}

}  // namespace flat_walks_test
