#include "engine/plan/schedule/statements.h"

#include <doctest/doctest.h>

#include "unit/plan/networks.h"

namespace statements_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("index sets list their members ascending") {
  CHECK(std::vector<IndexId>(members(index_set({5, 1, 3, 1}))) == std::vector<IndexId>{1, 3, 5});
  CHECK(members(0).empty());
  CHECK(contains(one_index(63), 63));
}

TEST_CASE("an intermediate keeps what its outside needs") {
  const OwnedProblem made = problem("x:ij B:jkm y:kl D:l -> i", {{'i', 2}, {'j', 3}, {'k', 4}, {'l', 5}, {'m', 6}});
  const ContractionTree tree = *parse_tree("((x * B) * (y * D))", {"x", "B", "y", "D"});
  const auto orders = step_orders(tree, 10);
  REQUIRE(orders.size() == 2);
  const Contractions contractions = contractions_of(made.network, tree, orders[0], made.operands, made.options);
  REQUIRE(contractions.steps.size() == 3);
  REQUIRE(contractions.tensors.size() == 7);
  CHECK(contractions.tensors[4].modes == std::vector<IndexId>{0, 2});  // i and k: j and m are summed
  CHECK(contractions.tensors[5].modes == std::vector<IndexId>{2});
  CHECK(contractions.tensors[4].name == "z");  // x and y are taken
  CHECK(contractions.tensors[5].name == "w");
  CHECK(writer_of(contractions, 4) == 0);
  CHECK(reader_of(contractions, 4) == 2);
  CHECK(writer_of(contractions, 0) == 3);
  CHECK(reader_of(contractions, 6) == 3);
  CHECK(indices_of(contractions.steps[1]) == index_set({2, 3}));
}

TEST_CASE("subtrees stay in one piece in every order of steps") {
  const ContractionTree tree = *parse_tree("((A * B) * (C * D) * (E * (F * G)))", {"A", "B", "C", "D", "E", "F", "G"});
  const auto orders = step_orders(tree, 100);
  CHECK(orders.size() == 6);
  for (const auto& order : orders) {
    CHECK(order.size() == 5);
    CHECK(order.back() + 1 == tree.nodes.size());
  }
  CHECK(step_orders(tree, 4).size() == 4);
  CHECK(step_orders(*parse_tree("A", {"A"}), 4) == std::vector<std::vector<std::uint32_t>>{{0}});
}

TEST_CASE("shared loops are those of the whole run of statements") {
  Schedule schedule;
  schedule.statements.resize(3);
  schedule.statements[0].loops = {0, 1, 2};
  schedule.statements[1].fused = 2;
  schedule.statements[2].fused = 1;
  CHECK(shared_loops(schedule, 0, 0) == 3);
  CHECK(shared_loops(schedule, 0, 1) == 2);
  CHECK(shared_loops(schedule, 0, 2) == 1);
}

TEST_CASE("equal layouts of an operand become one tensor, different ones stay two") {
  const OwnedProblem made = problem("K:uv:ss:9 K:vw:ss:9 -> uw", {{'u', 4}, {'v', 4}, {'w', 4}});
  Schedule schedule = without_loops(contractions_of(made.network, flat_tree(2), {2}, made.operands, made.options));
  REQUIRE(schedule.tensors.size() == 3);
  const Schedule merged = merge_layouts(schedule);
  REQUIRE(merged.tensors.size() == 2);
  CHECK(merged.statements[0].factors[1].tensor == 0);
  CHECK(merged.statements[0].target.tensor == 1);
  schedule.tensors[1].format = *parse_format("ss:1,0");
  CHECK(merge_layouts(schedule).tensors.size() == 3);
}

TEST_CASE("what cannot be planned yet is named") {
  OwnedProblem made = problem("A:ij:ss:5 -> ij", {{'i', 4}, {'j', 4}});
  const auto message = [&] {
    const auto done = check_plannable(made);
    return done ? "" : done.error().message;
  };
  CHECK(std::string(message()).empty());
  made.options.result_formats["R"] = *parse_format("ds");
  CHECK(std::string(message()).empty());
  made.options.result_formats["R"].levels[1].kind = LevelKind::accumulator;
  CHECK(std::string(message()).find("that of a workspace") != std::string::npos);
  made.options.result_formats["R"] = *parse_format("d");
  CHECK(std::string(message()).find("2 modes") != std::string::npos);
  made.options.result_formats.clear();
  made.network.assignments[0].terms.push_back(made.network.assignments[0].terms[0]);
  CHECK(check_plannable(made).error().kind == ErrorKind::unsupported);
  made.network.assignments[0].terms.pop_back();
  made.operands.clear();
  CHECK(std::string(message()).find("operand A is missing") != std::string::npos);
}

TEST_CASE("intermediates are as exact as what flows into them") {
  OwnedProblem made = problem("A:ij B:jk C:kl -> il", {{'i', 4}, {'j', 4}, {'k', 4}, {'l', 4}});
  for (OperandFacts& operand : made.operands) operand.format.scalar = Scalar::f32;
  for (TensorDeclaration& tensor : made.network.tensors) tensor.scalar = Scalar::f32;
  const ContractionTree tree = *parse_tree("((A * B) * C)", {"A", "B", "C"});
  const auto scalar = [&] {
    return contractions_of(made.network, tree, step_orders(tree, 1)[0], made.operands, made.options).tensors[3].scalar;
  };
  CHECK(scalar() == Scalar::f32);
  made.operands[2].format.scalar = Scalar::f64;
  CHECK(scalar() == Scalar::f64);
}

TEST_CASE("contractions are priced as they will be stored unless the loops have a say in it") {
  const OwnedProblem made = problem("A:ij:ss:50 B:jk:ss:50 C:kl:ss:50 -> il", {{'i', 20}, {'j', 20}, {'k', 20}, {'l', 20}});
  const ContractionTree tree = *parse_tree("((A * B) * C)", {"A", "B", "C"});
  Contractions contractions = contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options);
  ContractedTensor& intermediate = contractions.tensors[contractions.steps.front().target.tensor];
  CHECK(intermediate.storage == Storage::workspace);
  CHECK(stores_as_priced(contractions));
  intermediate.storage = Storage::keyed;
  CHECK(stores_as_priced(contractions));
  intermediate.storage = Storage::of_loops;
  CHECK_FALSE(stores_as_priced(contractions));
}

TEST_CASE("the levels of a schedule say how its contractions are stored") {
  const OwnedProblem made = problem("A:ij:ss:50 B:jk:ss:50 C:kl:ss:50 -> il", {{'i', 20}, {'j', 20}, {'k', 20}, {'l', 20}});
  const ContractionTree tree = *parse_tree("((A * B) * C)", {"A", "B", "C"});
  const Contractions plain = contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options);
  Schedule schedule = without_loops(plain);
  const std::uint32_t intermediate = schedule.statements.front().target.tensor;
  const auto seen = [&](const char* format) {
    schedule.tensors[intermediate].format = *parse_format(format);
    const Contractions contractions = contractions_of(schedule);
    CHECK(contractions.steps == plain.steps);
    CHECK(contractions.tensors[0].layout == plain.tensors[0].layout);
    return contractions.tensors[intermediate].storage;
  };
  CHECK(seen("dd") == Storage::workspace);
  CHECK(seen("dh") == Storage::keyed);
  CHECK(seen("hh") == Storage::keyed);
  CHECK(seen("sd:1,0") == Storage::stored);
}

}  // namespace statements_test
