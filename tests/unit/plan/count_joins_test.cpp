#include "engine/plan/estimate/count_joins.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <set>

#include "engine/network/inlining.h"
#include "engine/plan/cost/cost.h"
#include "engine/plan/estimate/product_estimate.h"
#include "engine/plan/plan.h"
#include "engine/plan/search/baseline.h"
#include "engine/plan/search/plan_by_need.h"
#include "unit/plan/networks.h"

namespace count_joins_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

// Hubs on both sides: the square of a uniform number crowds small coordinates.
Pairs skewed(std::size_t count, std::uint32_t extent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&] {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<std::uint32_t>(unit * unit * extent);
  };
  Pairs pairs;
  while (pairs.size() < count) {
    const std::uint32_t row = draw();
    pairs.emplace(row, draw());
  }
  return pairs;
}

// A(i/2,j,i%2) of so many rows, an entry in every other one, and A(i,j) with the same entries.
struct BlocksAndRows {
  Pairs pairs;
  Tensor blocks;
  Tensor rows;
};
BlocksAndRows blocks_and_rows(std::uint32_t extent) {
  BlocksAndRows made;
  Coordinates places{{extent / 2, extent, 2}, {}, {}, Scalar::f64, 0};
  for (std::uint32_t i = 0; i < extent - 1; i += 2) made.pairs.emplace(i, i * 7 % extent);
  places.count = made.pairs.size();
  places.values = std::move(*Buffer::allocate(places.count * 8, Memory{}, "values"));
  for (double& value : places.values.as<double>()) value = 1;
  for (std::size_t mode = 0; mode < 3; ++mode) {
    places.crd.push_back(std::move(*Buffer::allocate(places.count * 4, Memory{}, "coordinates")));
    auto next = places.crd.back().as<std::uint32_t>().begin();
    for (const auto& [i, j] : made.pairs) *next++ = mode == 0 ? i / 2 : mode == 1 ? j : i % 2;
  }
  made.blocks = std::move(*build(std::move(places), *parse_format("dsd"), Resources(), "A"));
  made.rows = matrix_of(made.pairs, extent, extent);
  return made;
}

// Says that the first operand, A:iji, holds digits of i.
void in_blocks(OwnedProblem& made, std::uint64_t extent) {
  TensorDeclaration& declared = made.network.tensors[made.operands[0].tensor];
  declared.parts = {{2, 0}, {}, {1, 2}};
  declared.extents = {extent / 2, extent, 2};
}

struct Wedge {
  OwnedProblem made;
  Tensor first;
  Tensor second;
  double paths = 0;  // K[i,j] * L[j,k] with all combinations

  JoinCounter counter(JoinBudget effort) {
    std::map<TensorId, const Tensor*> tensors{{made.operands[0].tensor, &first}, {made.operands[1].tensor, &second}};
    return JoinCounter(made.network, made.operands, tensors, effort, Resources());
  }
  double independent() const { return first_distinct() * second_distinct() / 300.0; }
  double first_distinct() const { return made.operands[0].statistics.nnz(); }
  double second_distinct() const { return made.operands[1].statistics.nnz(); }
};

Wedge wedge(std::size_t count) {
  Wedge found;
  const Pairs left = skewed(count, 300, 1);
  const Pairs right = skewed(count, 300, 2);
  found.first = matrix_of(left, 300, 300);
  found.second = matrix_of(right, 300, 300);
  for (const auto& [i, j] : left) {
    found.paths += static_cast<double>(
        std::distance(right.lower_bound({j, 0}), right.upper_bound({j, ~std::uint32_t{0}})));
  }
  found.made = problem("K:ij:ss:1 L:jk:ss:1 -> ik", {{'i', 300}, {'j', 300}, {'k', 300}});
  found.made.operands[0].statistics = statistics(found.first, Threads(1));
  found.made.operands[1].statistics = statistics(found.second, Threads(1));
  return found;
}

}  // namespace

TEST_CASE("a sample of few coordinates that meets nothing is widened") {
  // One coordinate of a hundred has what meets, so that most samples of some coordinates miss it.
  Wedge found;
  Pairs left, right;
  for (std::uint32_t i = 0; i < 100; ++i) left.emplace(i, i == 57 ? 1 : 0);
  for (std::uint32_t k = 0; k < 100; ++k) right.emplace(1, k);
  found.first = matrix_of(left, 100, 300);
  found.second = matrix_of(right, 300, 100);
  found.made = problem("K:ij:ss:1 L:jk:ss:1 -> ik", {{'i', 100}, {'j', 300}, {'k', 100}});
  found.made.operands[0].statistics = statistics(found.first, Threads(1));
  found.made.operands[1].statistics = statistics(found.second, Threads(1));
  JoinCounter counter = found.counter({4, 1e9, 1e6});
  const auto entries = counter.entries(0b1111, index_set(found.made.network.assignments[0].result.indices));
  REQUIRE(entries.value());
  CHECK(*entries.value() >= 100);
  CHECK(*entries.value() <= 100 / 0.04);
  const auto ratio = counter.ratio(0b1111);
  REQUIRE(ratio);
  CHECK(*ratio * found.independent() >= 50);
}

TEST_CASE("a join that is counted whole has its exact size") {
  Wedge made = wedge(3000);
  JoinCounter counter = made.counter(JoinBudget::exact());
  const auto ratio = counter.ratio(0b1111);
  REQUIRE(ratio);
  CHECK(*ratio * made.independent() == doctest::Approx(made.paths));
  CHECK(*ratio > 1.3);  // hubs meet hubs
  // Without k every row of L that is not empty counts once.
  const auto semijoin = counter.ratio(0b0111);
  REQUIRE(semijoin);
  const double rows = made.made.operands[1].statistics.distinct(0b01);
  CHECK(*semijoin * made.first_distinct() * rows / 300 <= made.first_distinct() + 1e-6);
}

TEST_CASE("a matrix in blocks, located at the digits of an index, joins as its entries do") {
  // Each is there, where independence expects one in sixty.
  constexpr std::uint32_t extent = 60;
  const auto [pairs, blocks, rows] = blocks_and_rows(extent);
  OwnedProblem made = problem("A:iji:dsd:1 B:ij:ss:1 -> i", {{'i', extent}, {'j', extent}});
  in_blocks(made, extent);
  made.operands[0].statistics = statistics(blocks, Threads(1));
  made.operands[1].statistics = statistics(rows, Threads(1));
  JoinCounter counter(made.network, made.operands, {{made.operands[0].tensor, &blocks}, {made.operands[1].tensor, &rows}},
                      JoinBudget::exact(), Resources());
  const double entries = static_cast<double>(pairs.size());
  const double independent = 2 * entries * entries / (extent * extent);  // places of blocks, of which half are padding
  for (const JoinSet join : {JoinSet{0b11011}, JoinSet{0b11111}}) {
    const auto ratio = counter.ratio(join);
    REQUIRE(ratio);
    CHECK(*ratio * independent == doctest::Approx(entries));
  }
  // Neither a block's row without its number, nor rows of blocks alone, say more than independence where all are there.
  CHECK(counter.ratio(0b11110).value() == 1);
}

TEST_CASE("a matrix in blocks joins as its entries do under indices that only an inlined product has") {
  constexpr std::uint32_t extent = 60;
  const auto [pairs, blocks, rows] = blocks_and_rows(extent);
  // In R = v(i) * w(j) * (A(p,q,p) * B(p,q)) p and q are numbers that the network does not have.
  OwnedProblem made = forest_problem("X = A:iji:dsd:1 B:ij:ss:1 -> ; R = v:i w:j X: -> ij", {{'i', extent}, {'j', extent}});
  in_blocks(made, extent);
  made.operands[0].statistics = statistics(blocks, Threads(1));
  made.operands[1].statistics = statistics(rows, Threads(1));
  const auto known = occurrences(made.network, made.operands);
  REQUIRE(known.size() == 4);
  CHECK(known[2].indices[0] >= made.network.indices.size());
  CHECK(known[2].extents == std::vector<std::uint64_t>{extent, extent, extent});
  JoinCounter counter(made.network, made.operands, {{made.operands[0].tensor, &blocks}, {made.operands[1].tensor, &rows}},
                      JoinBudget::exact(), Resources());
  const auto stored = counter.ratio(known[0].all() | known[1].all());
  const auto inlined = counter.ratio(known[2].all() | known[3].all());
  REQUIRE(stored);
  REQUIRE(inlined);
  CHECK(*stored > 1);
  CHECK(*inlined == *stored);
}

TEST_CASE("a sampled join comes near the exact one, the same at every time") {
  Wedge made = wedge(12000);
  JoinCounter sampled = made.counter({3000, 1e9, 1e6});
  const auto ratio = sampled.ratio(0b1111);
  REQUIRE(ratio);
  const double off = *ratio * made.independent() / made.paths;
  CHECK(off > 0.6);
  CHECK(off < 1.6);
  CHECK(off != doctest::Approx(1).epsilon(1e-9));
  JoinCounter again = made.counter({3000, 1e9, 1e6});
  CHECK(*again.ratio(0b0110) > 0);
  CHECK(*again.ratio(0b1111) == *ratio);
}

// Sampling the coordinates of j would keep one or none of them.
TEST_CASE("an index of few coordinates is not what is sampled") {
  Pairs left;
  Pairs right;
  std::mt19937_64 random(3);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    for (std::uint32_t j = 0; j < 6; ++j) {
      if (random() % (std::uint32_t{1} << j) == 0) left.emplace(i, j);
      if (random() % (std::uint32_t{1} << j) == 0) right.emplace(j, i);
    }
  }
  Wedge made;
  made.first = matrix_of(left, 3000, 6);
  made.second = matrix_of(right, 6, 3000);
  for (const auto& [i, j] : left) {
    made.paths += static_cast<double>(std::distance(right.lower_bound({j, 0}), right.upper_bound({j, ~std::uint32_t{0}})));
  }
  made.made = problem("K:ij:ss:1 L:jk:ss:1 -> ik", {{'i', 3000}, {'j', 6}, {'k', 3000}});
  made.made.operands[0].statistics = statistics(made.first, Threads(1));
  made.made.operands[1].statistics = statistics(made.second, Threads(1));
  const double exact = made.paths / (made.first_distinct() * made.second_distinct() / 6);
  CHECK(made.counter(JoinBudget{600, 1e9, 1e9}).ratio(0b1111).value() == doctest::Approx(exact).epsilon(0.2));
}

TEST_CASE("joins of one form are one, whatever their indices and the order of their accesses") {
  // A cycle of one matrix: the three chains of three are A(a,b) * A(b,c) * A(c,d), sampled alike.
  const Tensor matrix = matrix_of(skewed(6000, 300, 1), 300, 300);
  OwnedProblem made = problem("A:ij:ss:1 A:jk:ss:1 A:kl:ss:1 A:li:ss:1 -> ", {{'i', 300}, {'j', 300}, {'k', 300}, {'l', 300}});
  REQUIRE(made.operands.size() == 1);
  made.operands[0].statistics = statistics(matrix, Threads(1));
  const auto ratio_of = [&](JoinSet join) {
    JoinCounter counter(made.network, made.operands, {{made.operands[0].tensor, &matrix}}, {600, 1e9, 1e9}, Resources());
    return counter.ratio(join).value();
  };
  const double chain = ratio_of(0b00111111);
  CHECK(chain > 1.5);
  CHECK(ratio_of(0b11111100) == chain);
  CHECK(ratio_of(0b11001111) == chain);
  CHECK(ratio_of(0b11110011) == chain);
  CHECK(ratio_of(0b00001111) == ratio_of(0b11000011));
  CHECK(ratio_of(0b11111111) != chain);
}

TEST_CASE("a join that is too much work is left to independence") {
  Wedge made = wedge(3000);
  JoinCounter counter = made.counter({1e9, 10, 1e9});
  CHECK(*counter.ratio(0b1111) == 1);
  JoinCounter hasty = made.counter({1e9, 1e9, 1});
  CHECK(*hasty.ratio(0b1111) == 1);
}

TEST_CASE("entries of a product are counted where indices are summed, whole and on a sample") {
  Wedge made = wedge(3000);
  const Pairs left = skewed(3000, 300, 1), right = skewed(3000, 300, 2);
  std::set<std::pair<std::uint32_t, std::uint32_t>> product;
  std::set<std::uint32_t> rows;
  for (const auto& [i, j] : left) {
    for (auto other = right.lower_bound({j, 0}); other != right.end() && other->first == j; ++other) {
      product.emplace(i, other->second);
      rows.insert(i);
    }
  }
  const std::vector<IndexId>& result = made.made.network.assignments[0].result.indices;
  JoinCounter exact = made.counter(JoinBudget::exact());
  CHECK(exact.entries(0b1111, index_set(result)).value() == static_cast<double>(product.size()));
  CHECK(exact.entries(0b1111, one_index(result[0])).value() == static_cast<double>(rows.size()));
  const auto sampled = made.counter({1e9, 1e9, 20'000}).entries(0b1111, index_set(result));
  REQUIRE(*sampled);
  CHECK(**sampled == doctest::Approx(static_cast<double>(product.size())).epsilon(0.3));
  CHECK_FALSE(made.counter({1e9, 1e9, 10}).entries(0b1111, index_set(result)).value());  // too much work
}

TEST_CASE("entries of chains, where many ways lead to one, of diagonals and of what is summed in one access") {
  // Neighbours on a ring: three steps reach seven vertices on 27 ways.
  constexpr std::uint32_t extent = 5000;
  Pairs ring;
  for (std::uint32_t i = 0; i < extent; ++i) {
    for (const std::uint32_t step : {extent - 1, 0U, 1U}) ring.emplace(i, (i + step) % extent);
  }
  const Tensor matrix = matrix_of(ring, extent, extent);
  for (const auto& [text, expected] : std::vector<std::pair<std::string, double>>{
           {"A:ij:ss:1 A:jk:ss:1 A:kl:ss:1 -> il", 7.0 * extent}, {"A:ij:ss:1 A:jk:ss:1 -> ki", 5.0 * extent},
           {"A:ii:ss:1 -> i", extent}, {"A:ij:ss:1 A:jk:ss:1 -> i", extent}, {"A:ij:ss:1 A:jk:ss:1 A:ki:ss:1 -> i", extent}}) {
    CAPTURE(text);
    OwnedProblem made = problem(text, {{'i', extent}, {'j', extent}, {'k', extent}, {'l', extent}});
    made.operands.front().statistics = statistics(matrix, Threads(1));
    JoinCounter counter(made.network, made.operands, {{made.operands.front().tensor, &matrix}}, {}, Resources());
    PlanOptions options = made.options;
    const auto planned = plan_counted(made.network, made.operands, options, counter, [&](const PlanOptions& with) {
      return plan(Problem{made.network, made.operands, with});
    });
    REQUIRE(planned);
    if (options.entries.empty()) {  // independence is sure enough of that
      const IndexSet modes = index_set(made.network.assignments[0].result.indices);
      CHECK(result_estimate(Problem{made.network, made.operands, options}).fill(modes) < 0.01);
      JoinSet all = 0;
      for (const Occurrence& one : occurrences(made.network, made.operands)) all |= one.all();
      options.entries["R"] = counter.entries(all, index_set(made.network.assignments[0].result.indices)).value().value();
    }
    CHECK(options.entries["R"] == doctest::Approx(expected).epsilon(0.1));
  }
}

TEST_CASE("the format of a result follows what was counted, and nothing is counted for one that is asked for") {
  // Blocks of 200: independence expects 18 % of the square of a matrix that is within its blocks, 5 %.
  constexpr std::uint32_t extent = 4000, block = 200;
  Pairs blocks;
  std::mt19937_64 random(5);
  while (blocks.size() < extent * 30) {
    const auto row = static_cast<std::uint32_t>(random() % extent);
    blocks.emplace(row, row / block * block + static_cast<std::uint32_t>(random() % block));
  }
  const Tensor matrix = matrix_of(blocks, extent, extent);
  OwnedProblem made = problem("A:ij:ss:1 A:jk:ss:1 -> ik", {{'i', extent}, {'j', extent}, {'k', extent}});
  made.operands.front().statistics = statistics(matrix, Threads(1));
  const auto dense_result = [&](PlanOptions& options) {
    JoinCounter counter(made.network, made.operands, {{made.operands.front().tensor, &matrix}}, {}, Resources());
    const auto found = plan_counted(made.network, made.operands, options, counter, [&](const PlanOptions& with) {
      return plan(Problem{made.network, made.operands, with});
    });
    REQUIRE(found);
    return found->schedule.tensors[found->schedule.statements.back().target.tensor].format.all_dense();
  };
  PlanOptions options = made.options;
  CHECK(result_estimate(made).fill(index_set(made.network.assignments[0].result.indices)) > 0.15);
  CHECK_FALSE(dense_result(options));
  CHECK(options.entries.at("R") == doctest::Approx(extent * block).epsilon(0.1));
  PlanOptions asked = made.options;
  asked.result_formats["R"] = dense_format(2);
  CHECK(dense_result(asked));
  CHECK(asked.entries.empty());
}

TEST_CASE("a plan with counts depends on nothing that was not counted, and its cost is that of its schedule") {
  Wedge made = wedge(6000);
  JoinCounter counter = made.counter({});
  PlanOptions options = made.made.options;
  int planned = 0;
  const auto plan_once = [&](const PlanOptions& with) {
    ++planned;
    return plan(Problem{made.made.network, made.made.operands, with});
  };
  const auto found = plan_counted(made.made.network, made.made.operands, options, counter, plan_once);
  REQUIRE(found);
  CHECK(planned > 1);
  CHECK(uncounted_joins(found->schedule, Problem{made.made.network, made.made.operands, options}).empty());
  CHECK(cost(found->schedule, Problem{made.made.network, made.made.operands, options}).ns == doctest::Approx(found->cost.ns));
  PlanOptions alone = made.made.options;
  REQUIRE(count_joins_of(found->schedule, made.made.network, made.made.operands, alone, counter));
  CHECK(cost(found->schedule, Problem{made.made.network, made.made.operands, alone}).ns == doctest::Approx(found->cost.ns));
}

TEST_CASE("joins are counted before anything is proven") {
  Wedge made = wedge(6000);
  JoinCounter counter = made.counter({});
  PlanOptions options = made.made.options;
  options.prove = true;
  std::vector<std::pair<bool, std::size_t>> asked;  // for a proof, and with so many counts
  const auto found = plan_counted(made.made.network, made.made.operands, options, counter, [&](const PlanOptions& with) {
    asked.emplace_back(with.prove, with.joins.size());
    return plan(Problem{made.made.network, made.made.operands, with});
  });
  REQUIRE(found);
  REQUIRE(asked.size() > 2);
  CHECK(asked.front() == std::pair<bool, std::size_t>{false, 0});
  CHECK(asked.back() == std::pair<bool, std::size_t>{true, options.joins.size()});
  CHECK(std::ranges::count(asked, true, &std::pair<bool, std::size_t>::first) == 1);
  CHECK(found->solver.asked);
}

TEST_CASE("joins across assignments count for the memory of a result as for its time, where what nobody asked for is not stored") {
  const std::map<char, std::uint64_t> extents = {{'i', 2000}, {'j', 2000}, {'k', 2000}, {'l', 2000}};
  // In Q * (N * M) M and N are numbered as Q and M are in X = N * M; Y = Q * X, and stored between two nests.
  OwnedProblem made = forest_problem("X = N:jk:ss:3000 M:ij:ss:3000 -> ik; Y = Q:li:ss:3000 X:ik -> lk", extents);
  made.options.results = {"Y"};
  made.options.result_formats["Y"] = sparse_format(2);
  const auto counted = occurrences(made.network, made.operands);
  JoinSet met = 0;
  for (const Occurrence& occurrence : counted) {
    if (made.network.tensors[occurrence.tensor].name != "N") met |= occurrence.all();
  }
  made.options.joins = {{met, 4.0}};
  Network whole = inlined(made.network, {made.network.assignments.front().result.tensor});
  whole.assignments[0].terms[0].pinned = *parse_tree("(Q * (N * M))", {"Q", "N", "M"});
  whole.assignments[0].terms[0].open = false;
  PlanOptions own = made.options;
  own.joins = renumbered(made.options.joins, counted, occurrences(whole, made.operands));
  CHECK(own.joins.size() == 1);
  CHECK(own.joins != made.options.joins);
  const Schedule schedule = baseline(Problem{whole, made.operands, own});
  CHECK(cost(schedule, made) == cost(schedule, Problem{whole, made.operands, own}));
}

TEST_CASE("joins are counted across assignments, in whatever products they end up") {
  const std::map<char, std::uint64_t> extents = {{'i', 300}, {'j', 300}, {'k', 300}, {'l', 300}};
  const Pairs left = skewed(6000, 300, 1);
  const Pairs right = skewed(6000, 300, 2);
  const Tensor first = matrix_of(left, 300, 300);
  const Tensor second = matrix_of(right, 300, 300);
  // K and L meet where S is written into O; beside a result of their own; and twice, under indices that inlining names.
  const std::vector<std::string> texts = {
      "S = K:ij:ss:1 x:j -> ij; O = S:ij L:jk:ss:1 -> ik",
      "P = K:ij:ss:1 -> i; O = K:ij:ss:1 L:jk:ss:1 -> ik",
      "S = K:ij:ss:1 L:jk:ss:1 -> ik; O = S:kl K:ij:ss:1 L:jk:ss:1 -> il",
  };
  std::size_t dearer = 0;
  for (const std::string& text : texts) {
    CAPTURE(text);
    OwnedProblem made = forest_problem(text, extents);
    std::map<TensorId, const Tensor*> tensors;
    for (OperandFacts& facts : made.operands) {
      const std::string& name = made.network.tensors[facts.tensor].name;
      if (name == "x") continue;
      tensors[facts.tensor] = name == "K" ? &first : &second;
      facts.statistics = statistics(*tensors[facts.tensor], Threads(1));
    }
    if (text.starts_with("P")) made.options.results = {"P"};
    JoinCounter counter(made.network, made.operands, tensors, JoinBudget{}, Resources());
    PlanOptions options = made.options;
    const auto found = plan_counted(made.network, made.operands, options, counter, [&](const PlanOptions& with) {
      return plan(Problem{made.network, made.operands, with});
    });
    REQUIRE_MESSAGE(found, found.error().message);
    CHECK_FALSE(options.joins.empty());
    CHECK(uncounted_joins(found->schedule, Problem{made.network, made.operands, options}).empty());
    CHECK(cost(found->schedule, Problem{made.network, made.operands, options}).ns == doctest::Approx(found->cost.ns));
    PlanOptions alone = made.options;
    REQUIRE(count_joins_of(found->schedule, made.network, made.operands, alone, counter));
    CHECK(cost(found->schedule, Problem{made.network, made.operands, alone}) == found->cost);
    if (found->cost.ns > 1.05 * cost(found->schedule, made).ns) ++dearer;
  }
  CHECK(dearer > 1);
}

}  // namespace count_joins_test
