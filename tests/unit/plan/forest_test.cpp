#include "engine/plan/schedule/forest.h"

#include <doctest/doctest.h>

#include "engine/network/inlining.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/baseline.h"
#include "unit/plan/networks.h"

namespace forest_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

const std::map<char, std::uint64_t> extents = {{'h', 3}, {'i', 10}, {'j', 12}, {'k', 4}};

OwnedProblem sampled() {
  OwnedProblem made = forest_problem("S = M:ij:ss:30 A:ik B:jk -> ij; O = S:ij D:jh -> ih", extents);
  made.options.results = {"S"};
  return made;
}

const std::string stored_text =
    "schedule\n"
    "  tree S = (M * A * B)\n"
    "  tree O = (S * D)\n"
    "  layout M ss:0,1 f64\n"
    "  layout A dd:0,1 f64\n"
    "  layout B dd:0,1 f64\n"
    "  result S dd:0,1 f64\n"
    "  layout D dd:0,1 f64\n"
    "  result O dd:0,1 f64\n"
    "  S[i,j] += M[i,j] * A[i,k] * B[j,k]   loops i,j,k   vector k\n"
    "  O[i,h] += S[i,j] * D[j,h]   loops i,j,h   vector h\n"
    "  parallel i owner\n"
    "  parallel i serial\n";

std::string message_of(const OwnedProblem& made, const Schedule& schedule) {
  const auto parts = forest_parts(schedule, scheduled_network(schedule, made.network), made.operands);
  return parts ? "" : parts.error().message;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a schedule comes apart into its assignments and together again") {
  const OwnedProblem made = sampled();
  const Schedule schedule = schedule_of(made, stored_text);
  const auto parts = forest_parts(schedule, made.network, made.operands);
  REQUIRE_MESSAGE(parts, parts.error().message);
  REQUIRE(parts->size() == 2);
  const ForestPart& first = (*parts)[0];
  const ForestPart& second = (*parts)[1];
  CHECK(first.first_statement == 0);
  CHECK(second.first_statement == 1);
  CHECK(first.schedule.tensors.size() == 4);
  CHECK(second.schedule.tensors.size() == 3);
  CHECK(second.schedule.tensors[0].name == "S");
  CHECK(second.schedule.tensors[0].role == TensorRole::operand);
  CHECK(second.schedule.roots == std::vector<RootReduction>{RootReduction::serial});
  CHECK(second.operands.size() == made.operands.size() + 1);
  CHECK(second.operands.back().statistics.nnz() == 120);
  CHECK(second.operands.back().bytes == 960);
  for (const ForestPart& part : *parts) {
    const auto legal = check(part.schedule, Problem{part.network, part.operands, {}});
    CHECK_MESSAGE(legal, legal.error().message);
  }
  CHECK(joined({first.schedule, second.schedule}, made.network, made.options) == schedule);
}

TEST_CASE("what nobody asked for is stored as an intermediate of its name") {
  OwnedProblem made = sampled();
  const auto parts = forest_parts(schedule_of(made, stored_text), made.network, made.operands);
  REQUIRE(parts);
  made.options.results.clear();
  const Schedule schedule = joined({(*parts)[0].schedule, (*parts)[1].schedule}, made.network, made.options);
  std::string text = stored_text;
  text.replace(text.find("result S"), 8, "intermediate S[i,j]");
  CHECK(print(schedule, made.network) == text);
  CHECK(schedule_of(made, text) == schedule);
  CHECK(stored_assignment(schedule.tensors[3], made.network) == 0);
  CHECK(!stored_assignment(schedule.tensors[0], made.network));
  CHECK(is_wanted("O", made.network, made.options));
  CHECK(!is_wanted("S", made.network, made.options));
  made.options.result_formats["S"] = dense_format(2);
  CHECK(is_wanted("S", made.network, made.options));
}

TEST_CASE("operands in one layout and intermediates of one name are joined apart") {
  const OwnedProblem made = forest_problem("P = M:ij:ss:30 A:jk B:ik -> i; O = M:ij A:jk P:i B:ik -> j", extents);
  std::vector<Schedule> parts;
  std::vector<OperandFacts> known = made.operands;
  for (std::size_t assignment = 0; assignment < 2; ++assignment) {
    Network alone = part_network(made.network, assignment);
    Term& term = alone.assignments[0].terms[0];
    term.pinned = assignment == 0 ? *parse_tree("((M * A) * B)", {"M", "A", "B"}) : *parse_tree("((M * A) * P * B)", {"M", "A", "P", "B"});
    term.open = false;
    parts.push_back(baseline(Problem{alone, known, {}}));
    known.push_back(stored_facts(made.network, made.network.assignments[0], dense_format(1), known));
  }
  const Schedule schedule = joined(parts, made.network, {});
  std::vector<std::string> names;
  for (const ScheduledTensor& tensor : schedule.tensors) names.push_back(tensor.name);
  CHECK(names == std::vector<std::string>{"M", "A", "B", "x", "P", "x2", "O"});
  CHECK(schedule_of(made, print(schedule, made.network)) == schedule);
}

TEST_CASE("what does not come apart is named") {
  const OwnedProblem made = sampled();
  const Schedule good = schedule_of(made, stored_text);
  Schedule bad = good;
  std::swap(bad.statements[0], bad.statements[1]);
  CHECK(contains(message_of(made, bad), "O is written before S"));
  bad = good;
  bad.statements[1].fused = 1;
  CHECK(contains(message_of(made, bad), "nests of its own"));
  bad = good;
  bad.statements[0].fused = 1;  // left to the rules of one assignment
  CHECK(message_of(made, bad) == "");
  CHECK(contains(check(bad, made).error().message, "no predecessor"));
  bad = good;
  bad.tensors[3].role = TensorRole::intermediate;
  bad.tensors[3].modes = {made.network.assignments[0].result.indices[1], made.network.assignments[0].result.indices[0]};
  CHECK(contains(message_of(made, bad), "not declared with the indices"));
  bad = good;
  bad.statements.push_back(bad.statements[1]);
  CHECK(contains(message_of(made, bad), "after the one that writes O"));
  bad = good;
  bad.earlier_trees.clear();
  CHECK(contains(message_of(made, bad), "1 trees for 2"));
  bad = good;
  bad.statements[0].factors[0].tensor = 99;
  CHECK(contains(message_of(made, bad), "not declared"));
  bad = good;
  bad.tensors.push_back(bad.tensors[0]);
  CHECK(contains(message_of(made, bad), "in no statement"));
  bad = good;
  bad.statements.pop_back();
  bad.tensors.erase(bad.tensors.begin() + 4);
  bad.tensors[4].role = TensorRole::result;
  CHECK(message_of(made, bad) != "");
}

TEST_CASE("an assignment is needed if it is wanted or read by one that is") {
  OwnedProblem made = forest_problem("P = M:ij:ss:30 -> i; Q = P:i -> i; R = M:ij -> j; O = R:j -> j", extents);
  const auto names = [&] {
    std::string text;
    for (const TensorId tensor : unneeded(made.network, made.options)) text += made.network.tensors[tensor].name;
    return text;
  };
  CHECK(names() == "PQ");
  made.options.results = {"Q"};
  CHECK(names() == "");
  made.options.results = {"P"};
  CHECK(names() == "Q");
}

TEST_CASE("a stored result is as finite as what it is made from") {
  OwnedProblem made = sampled();
  const Assignment& assignment = made.network.assignments[0];
  CHECK(stored_facts(made.network, assignment, dense_format(2), made.operands).statistics.finite());
  made.operands[1].statistics = Statistics({10, 4}, dense_format(2), 40, {}, false);
  CHECK(!stored_facts(made.network, assignment, dense_format(2), made.operands).statistics.finite());
}

}  // namespace forest_test
