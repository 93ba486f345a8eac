#include "engine/plan/const/order_system.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/plan/networks.h"

namespace order_system_test {

using namespace weft;
using namespace weft::plan_test;

// What it finds is judged in workspace_order_test.cpp.
TEST_CASE("the variables are those of the paper") {
  // Its running example: one order of statements; lp and dp permutations; every input visited in the order of dp.
  OwnedProblem made = problem("A:ipq:sss:100 B:jpr:sss:100 C:kqr:sss:100 D:jkr:sss:100 -> ijk",
                         {{'i', 9}, {'j', 9}, {'k', 9}, {'p', 9}, {'q', 9}, {'r', 9}});
  made.options.tree = *parse_tree("(((A * B) * C) * D)", {"A", "B", "C", "D"});
  const ContractionTree& tree = *made.options.tree;
  const Contractions skeleton =
      contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options);
  auto system = OrderSystem::create(skeleton, made.network, made.operands, 2, OperandLayouts::any);
  REQUIRE(system.has_value());
  std::vector<OrderModel> models;
  for (int round = 0; round < 20; ++round) {
    REQUIRE(system->solve(100'000'000) == Satisfiable::yes);
    const OrderModel model = system->model();
    CHECK(model.statements == std::vector<std::uint32_t>{0, 1, 2});
    for (std::size_t number = 0; number < 3; ++number) {
      CHECK(index_set(model.loops[number]) == indices_of(skeleton.steps[number]));
      for (const ScheduledAccess& factor : skeleton.steps[number].factors) {
        const ContractedTensor& tensor = skeleton.tensors[factor.tensor];
        if (tensor.role != TensorRole::operand) continue;
        std::vector<IndexId> visited, stored;
        for (const IndexId index : model.loops[number]) {
          if (contains(index_set(factor.indices), index)) visited.push_back(index);
        }
        for (const std::uint32_t mode : model.layouts[tensor.tensor]) stored.push_back(factor.indices[mode]);
        CHECK(visited == stored);
      }
    }
    // X has four modes, Y too: two outermost loops over their modes, the same for producer and consumer.
    for (std::size_t producer = 0; producer < 2; ++producer) {
      for (std::size_t position = 0; position < 2; ++position) {
        CHECK(model.loops[producer][position] == model.loops[producer + 1][position]);
        CHECK(contains(index_set(skeleton.steps[producer].target.indices), model.loops[producer][position]));
      }
    }
    CHECK(std::find(models.begin(), models.end(), model) == models.end());
    models.push_back(model);
    system->exclude(model);
  }
}

TEST_CASE("a contradiction names its families, given layouts are kept, dense operands have none") {
  OwnedProblem made = problem("A:ij:ss:9 B:ij:ss:9 C:ji -> ", {{'i', 5}, {'j', 5}});
  made.operands[1].format = *parse_format("ss:1,0");
  const Contractions skeleton =
      contractions_of(made.network, flat_tree(3), step_orders(flat_tree(3), 1).front(), made.operands, made.options);
  auto any = OrderSystem::create(skeleton, made.network, made.operands, 1, OperandLayouts::any);
  REQUIRE(any.has_value());
  REQUIRE(any->solve(100'000'000) == Satisfiable::yes);
  const OrderModel model = any->model();
  CHECK(model.layouts[0] == model.layouts[1]);
  CHECK(model.layouts[2].empty());
  auto given = OrderSystem::create(skeleton, made.network, made.operands, 1, OperandLayouts::given);
  REQUIRE(given.has_value());
  REQUIRE(given->solve(100'000'000) == Satisfiable::no);
  const std::vector<std::string> core = given->contradiction();
  for (const char* family : {"the given layout ss:0,1 of A", "the given layout ss:1,0 of B"}) {
    CHECK(std::count(core.begin(), core.end(), family) == 1);
  }
  CHECK(std::count(core.begin(), core.end(), "the order of the statements") == 0);
}

}  // namespace order_system_test
