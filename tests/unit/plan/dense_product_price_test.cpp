// Products of two dense matrices, which are tiles whatever the order of their loops: where the model sees them, and what they take.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "engine/plan/cost/batch_size.h"
#include "unit/plan/modelled.h"

namespace dense_product_price_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

struct Product : Modelled {
  Product(const std::string& text, std::map<char, std::uint64_t> extents) : Modelled(plan_test::problem(text, extents), flat_tree(2)) {}
  IndexId id(char name) const {
    IndexId found = 0;
    while (problem.network.indices[found].name != std::string(1, name)) ++found;
    return found;
  }
  /// The price of a nest of these loops on one thread.
  double ns(const std::string& loops) const {
    const CostModel model = this->model();
    Outside outside;
    double entered = 1;
    double all = 0;
    for (const char name : loops) {
      const LoopPrice price = model.price(outside, id(name), {0, 0}, 0);
      all += entered * price.ns;
      entered *= price.iterations;
      outside = model.inside(outside, id(name), {0, 0});
    }
    return all;
  }
  bool is_product(const std::string& loops) const {
    const CostModel model = this->model();
    Outside outside;
    for (const char name : loops) outside = model.inside(outside, id(name), {0, 0});
    return outside.batch_of(0) == Batch::product;
  }
};

const std::map<char, std::uint64_t> cube = {{'b', 5}, {'i', 240}, {'j', 240}, {'k', 240}};

}  // namespace

TEST_CASE("a product of dense matrices takes what its operations take, in every order that is cut over rows") {
  const Product made("A:ij B:jk -> ik", cube);
  const Machine machine;
  const double operations = 240.0 * 240 * 240 * 2 * machine.vector_flop;
  CHECK(made.ns("ijk") >= operations);
  CHECK(made.ns("ijk") < 1.1 * operations);
  CHECK(made.ns("ikj") > made.ns("ijk"));  // the same code, but kernels without tiles would rather have columns last
  CHECK(made.ns("ikj") < 1.1 * made.ns("ijk"));
  CHECK(made.ns("jik") > 1.3 * made.ns("ijk"));  // threads would share the sums
  CHECK(Product("A:ji B:kj -> ik", cube).ns("ijk") < 1.1 * operations);
  CHECK(Product("A:bij B:bjk -> bik", cube).ns("bijk") < 5 * 1.1 * operations);
}

TEST_CASE("columns are computed in whole vectors") {
  const auto narrow = [](std::uint64_t columns) { return Product("A:ij B:jk -> ik", {{'i', 240}, {'j', 240}, {'k', columns}}).ns("ijk"); };
  CHECK(narrow(9) > 0.95 * narrow(16));
  CHECK(narrow(9) < narrow(16));
}

TEST_CASE("few rows or terms, a sparse matrix and one that a nest makes itself are no product") {
  const auto is_product = [](const std::string& text, const std::string& loops, std::map<char, std::uint64_t> extents = cube) {
    return Product(text, std::move(extents)).is_product(loops);
  };
  CHECK(is_product("A:ij B:jk -> ik", "i"));
  CHECK(is_product("A:ij B:jk -> ik", "ijk"));
  CHECK_FALSE(is_product("A:ij B:jk -> ik", "j"));
  CHECK_FALSE(is_product("A:ij:ds:900 B:jk -> ik", "i"));
  CHECK(is_product("A:ij B:jk -> ik", "i", {{'i', 4}, {'j', 8}, {'k', 1}}));
  CHECK_FALSE(is_product("A:ij B:jk -> ik", "i", {{'i', 3}, {'j', 40}, {'k', 40}}));
  CHECK_FALSE(is_product("A:ij B:jk -> ik", "i", {{'i', 40}, {'j', 7}, {'k', 40}}));
  CHECK(is_product("A:ij B:kj -> ik", "i", {{'i', 8}, {'j', 40}, {'k', 40}}));
  // Transposed the other way round: B has rows enough, A columns that lie together.
  CHECK(is_product("A:bij B:bjk -> bik", "b"));
  CHECK(is_product("A:bij B:jk -> bik", "bi"));
  // x[i,j] is in registers while k goes on, row by row.
  const Modelled fused(problem("S:im:ds:900 X:mj W:jk -> ik", {{'i', 50}, {'m', 50}, {'j', 40}, {'k', 40}}),
                       *parse_tree("((S * X) * W)", {"S", "X", "W"}));
  const CostModel model = fused.model();
  Outside outside;
  for (const char* name : {"i", "j"}) {
    const auto index =
        static_cast<IndexId>(std::ranges::find(fused.problem.network.indices, name, &Index::name) - fused.problem.network.indices.begin());
    outside = model.inside(outside, index, {0, 1});
  }
  CHECK(outside.batch_of(1) == Batch::none);
}

TEST_CASE("three dense matrices are two products, each with its columns last") {
  const Plan found = planned(problem("A:ij B:jk C:kl -> il", {{'i', 200}, {'j', 300}, {'k', 100}, {'l', 70}}));
  REQUIRE(found.schedule.statements.size() == 2);
  for (const ScheduledStatement& statement : found.schedule.statements) {
    CHECK(statement.fused == 0);
    CHECK(statement.loops.back() == statement.target.indices.back());
  }
}

}  // namespace dense_product_price_test
