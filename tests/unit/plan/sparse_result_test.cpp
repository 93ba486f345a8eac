// Plans whose result has compressed levels: formats, orders, workspaces, shared patterns.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/plan/cost/cost.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/statements.h"
#include "engine/plan/search/baseline.h"
#include "unit/plan/networks.h"
#include "unit/plan/random_networks.h"
#include "unit/plan/stretched.h"

namespace weft::plan_test::sparse_result_test {
namespace {

const ScheduledTensor& result_of(const Plan& plan) { return plan.schedule.tensors.back(); }

OwnedProblem spgemm() {
  return problem("B:ik:ds:1000000 C:kj:ds:1000000 -> ij", {{'i', 100'000}, {'j', 100'000}, {'k', 100'000}});
}

OwnedProblem requested(OwnedProblem made, const char* format) {
  made.options.result_formats["R"] = *parse_format(format);
  return made;
}

}  // namespace

TEST_CASE("SpGEMM is Gustavson's: rows of the result are gathered in a workspace and drained") {
  const Plan found = planned(spgemm());
  CHECK(result_of(found).format.text() == "ds:0,1");
  const ScheduledStatement& statement = found.schedule.statements.front();
  CHECK(print_indices(statement.loops, spgemm().network) == "i,k,j");
  CHECK(statement.drained.has_value());
  CHECK(found.schedule.roots.front() != RootReduction::serial);
}

TEST_CASE("entries are counted first where copying the blocks below them takes longer, or where memory is scarce") {
  const auto root = [](const OwnedProblem& made) { return planned(made).schedule.roots.front(); };
  const std::map<char, std::uint64_t> extents{{'i', 2000}, {'j', 2000}, {'k', 2000}, {'r', 64}};
  CHECK(root(requested(problem("T:ijk:sss:2000000 v:j:s:1000 C:kr -> ijr", extents), "ssd")) == RootReduction::counted);
  CHECK(root(spgemm()) == RootReduction::counted);
  // Many products for every entry of the result.
  OwnedProblem scarce = problem("B:ik:ds:200000 C:kj:ds:200000 -> ij", {{'i', 500}, {'j', 3000}, {'k', 500}});
  scarce = requested(scarce, "ds");
  CHECK(root(scarce) == RootReduction::owner);
  const Plan plenty = planned(scarce);
  const auto result = std::ranges::find(plenty.cost.memory, "result R", &MemoryDemand::name);
  REQUIRE(result != plenty.cost.memory.end());
  scarce.options.memory_limit = plenty.cost.peak_bytes + result->bytes / 8;
  CHECK(root(scarce) == RootReduction::counted);
  // What is counted first passes through its text.
  const Plan counted = planned(scarce);
  const std::string text = print(counted.schedule, scarce.network);
  CHECK(text.find("parallel i counted") != std::string::npos);
  const auto read = parse_schedule(text, scarce.network);
  REQUIRE(read.has_value());
  CHECK(*read == counted.schedule);
}

TEST_CASE("columns of a product cost conversions of the operands or of the result, not a workspace over everything") {
  const Plan found = planned(requested(spgemm(), "ss:1,0"));
  const AppendOrder order = append_order(found.schedule.statements.front().target.indices, result_of(found).format,
                                         found.schedule.statements.front().loops);
  CHECK(order.direct == 1);
  CHECK(found.schedule.roots.front() != RootReduction::serial);
}

TEST_CASE("other level kinds are converted after the run") {
  for (const char* format : {"uq", "bb", "db", "hh:1,0", "dh", "sb"}) {
    CAPTURE(format);
    const Plan found = planned(requested(spgemm(), format));
    REQUIRE(result_of(found).delivered.has_value());
    CHECK(result_of(found).delivered->text() == parse_format(format)->text());
    CHECK(may_be_computed(result_of(found).format));
  }
}

TEST_CASE("a dense result lies along what no sparse factor restricts while it is computed") {
  const std::map<char, std::uint64_t> extents{{'i', 20000}, {'j', 20000}, {'k', 32}, {'h', 16}};
  const Plan found = planned(problem("X:ik M:ij:ds:200000 -> kj", extents));
  CHECK(result_of(found).format.text() == "dd:1,0");
  REQUIRE(result_of(found).delivered.has_value());
  CHECK(result_of(found).delivered->text() == "dd:0,1");
  // Both are there at the end, and count.
  const auto memory = std::ranges::find(found.cost.memory, "result R", &MemoryDemand::name);
  REQUIRE(memory != found.cost.memory.end());
  CHECK(memory->bytes == 2 * 32 * 20000 * 8);
  // As asked for; where it lies so already; where nothing is restricted; of several modes, the rest in their order.
  CHECK(result_of(planned(requested(problem("X:ik M:ij:ds:200000 -> kj", extents), "dd"))).delivered.has_value());
  CHECK_FALSE(result_of(planned(requested(problem("X:ik M:ij:ds:200000 -> kj", extents), "dd:1,0"))).delivered.has_value());
  CHECK_FALSE(result_of(planned(problem("X:ik M:ij:ds:200000 -> jk", extents))).delivered.has_value());
  CHECK_FALSE(result_of(planned(problem("X:ik Y:ih -> kh", extents))).delivered.has_value());
  CHECK(result_of(planned(problem("X:ik Y:ih M:ij:ds:200000 -> khj", extents))).format.text() == "ddd:2,0,1");
  // Parts of a network hand over what they compute.
  OwnedProblem parts = forest_problem("S = X:ik M:ij:ds:200000 -> kj; R = S:kj w:j -> k", extents);
  parts.options.results = {"S"};
  const Plan stored = planned(parts);
  for (const ScheduledTensor& tensor : stored.schedule.tensors) CHECK_FALSE(tensor.delivered.has_value());
}

TEST_CASE("a sum inside stored entries of one operand shares its positions") {
  const std::map<char, std::uint64_t> extents{{'i', 2000}, {'j', 3000}, {'k', 400}, {'r', 16}};
  for (const char* text : {"M:ij:ds:50000 A:ir B:jr -> ij", "T:ijk:sss:90000 A:ir B:jr C:kr -> ijk", "M:ij:ss:50000 A:ir B:jr -> ji"}) {
    CAPTURE(text);
    const Plan found = planned(problem(text, extents));
    CHECK(result_of(found).like.has_value());
  }
  // Another sparse factor may leave entries out.
  CHECK_FALSE(result_of(planned(problem("M:ij:ds:50000 N:ij:ds:50000 -> ij", extents))).like.has_value());
  OwnedProblem asked = problem("M:ij:ds:50000 A:ir:ss:900 B:jr -> ij", extents);
  CHECK_FALSE(result_of(planned(asked)).like.has_value());
  asked.options.result_patterns["R"] = "M";
  CHECK(result_of(planned(asked)).like.has_value());
  asked.options.result_patterns["R"] = "A";
  CHECK_FALSE(plan(asked).has_value());
}

TEST_CASE("sums below the leading levels of the one sparse operand share the positions of these") {
  const std::map<char, std::uint64_t> extents{{'i', 2000}, {'j', 2000}, {'k', 2000}, {'r', 16}};
  const auto like = [&](const char* expression, const char* format) {
    const OwnedProblem made = format == nullptr ? problem(expression, extents) : requested(problem(expression, extents), format);
    const Plan found = planned(made);
    const std::string text = print(found.schedule, made.network);
    const auto read = parse_schedule(text, made.network);
    REQUIRE_MESSAGE(read.has_value(), text);
    CHECK(*read == found.schedule);
    CHECK(check(found.schedule, made).has_value());
    return result_of(found).like.has_value();
  };
  CHECK(like("T:ijk:sss:2000000 C:kr -> ijr", "ssd"));           // a row for each fiber
  CHECK(like("T:ijk:sss:200000 C:kr -> ijr", nullptr));
  CHECK(like("T:ijk:dss:200000 v:k -> ij", nullptr));              // a sum for each fiber
  CHECK(like("T:ijk:sss:2000 B:jr C:kr -> ir", "sd"));             // a row for each slice
  CHECK(like("T:ij:ss:20000 B:jr -> ijr", "ssd"));                 // a row for each entry
  CHECK_FALSE(like("T:ijk:sss:2000000 C:kr -> ijr", "dsd"));       // other levels
  CHECK_FALSE(like("T:ijk:sss:2000000 B:jr -> ikr", "ssd"));       // k lies below j
  CHECK_FALSE(like("T:ijk:sss:200000 w:k:s:100 -> ij", nullptr)); // fibers may have no sum
  CHECK_FALSE(like("T:ijk:uqq:200000 v:k -> ij", nullptr));       // a chain has no positions for its parts
}

TEST_CASE("what is requested like an operand of an inner product knows the operand's positions before its dense levels") {
  // T1 has n, l and i as dsd: loops j, i, n, l would bind the levels of l and i at once.
  OwnedProblem made = problem("T0:inj:uqq:21 T1:nli:dsd:51 T2:k T3:lij T4:klnj -> lin",
                              {{'i', 6}, {'j', 3}, {'k', 3}, {'l', 4}, {'n', 5}});
  made.operands[0].format.mode_order = {2, 0, 1};
  for (OperandFacts& facts : made.operands) facts.pinned = true;
  made.options.tree = parse_tree("(((T0 * T1) * T2 * T3) * T4)", {"T0", "T1", "T2", "T3", "T4"}).value();
  made.options.result_patterns["R"] = "T1";
  const Plan found = planned(made);
  CHECK(result_of(found).like.has_value());
  CHECK(print_indices(found.schedule.statements.front().loops, made.network) == "j,n,l,i");
}

TEST_CASE("a result is sparse below a fill of a tenth, its modes that nothing restricts a block") {
  const std::map<char, std::uint64_t> extents{{'i', 1000}, {'j', 1000}, {'r', 16}};
  CHECK(result_of(planned(problem("A:ij:ss:200000 -> ij", extents))).format.all_dense());
  CHECK(has_sparse_level(result_of(planned(problem("A:ij:ss:5000 B:ij -> ji", extents))).format));
  const Plan rows = planned(problem("A:ij:ss:20 B:jr -> ir", extents));
  CHECK(result_of(rows).format.text() == "sd:0,1");
  CHECK_FALSE(rows.schedule.statements.back().drained.has_value());
}

TEST_CASE("between three sparse matrices the intermediate is a workspace that knows its entries") {
  OwnedProblem made = problem("A:ij:ds:1000000 B:jk:ds:1000000 C:kl:ds:1000000 -> il",
                         {{'i', 100'000}, {'j', 100'000}, {'k', 100'000}, {'l', 100'000}});
  made.options.tree = parse_tree("((A * B) * C)", {"A", "B", "C"}).value();
  const Plan found = planned(made);
  const auto intermediate = std::ranges::find(found.schedule.tensors, TensorRole::intermediate, &ScheduledTensor::role);
  REQUIRE(intermediate != found.schedule.tensors.end());
  CHECK(has_sparse_level(intermediate->format));
  CHECK(found.schedule.statements.back().fused >= 1);
}

TEST_CASE("whatever is asked for has a plan, and what needs no workspace is always there to fall back on") {
  const char kinds[] = {'d', 's', 'b', 'h', 's', 'd'};
  std::size_t drained = 0, delivered = 0, keyed = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    OwnedProblem made = random_network(seed, seed % 5 == 0);
    const std::size_t order = made.network.assignments[0].result.indices.size();
    if (order == 0) continue;
    std::mt19937 random(seed);
    std::string text;
    for (std::size_t level = 0; level < order; ++level) text += kinds[random() % 6];
    Format format = *parse_format(text);
    std::ranges::shuffle(format.mode_order, random);
    const TensorId result = made.network.assignments[0].result.tensor;
    format = sparse_where_long(std::move(format), made.network.tensors[result].extents);
    made.options.result_formats["R"] = format;
    if (seed % 4 == 0 && made.operands.size() > 2) made.options.tree = parse_tree("((A * B) * C)", {"A", "B", "C"}).value();
    CAPTURE(seed);
    CAPTURE(format.text());
    CAPTURE(print(made.network));
    const Schedule plain = baseline(made);
    const auto legal = check(plain, made);
    const std::string why = legal ? "" : legal.error().message;
    CAPTURE(print(plain, made.network));
    CAPTURE(why);
    CHECK(legal.has_value());
    const Plan found = planned(made);
    drained += found.schedule.statements.back().drained.has_value() ? 1 : 0;
    delivered += result_of(found).delivered.has_value() ? 1 : 0;
    for (const ScheduledTensor& tensor : found.schedule.tensors) {
      keyed += tensor.role == TensorRole::intermediate && has_sparse_level(tensor.format) ? 1 : 0;
    }
  }
  MESSAGE(drained << " drained, " << delivered << " delivered, " << keyed << " sparse intermediates");
  CHECK(drained > 0);
  CHECK(delivered > 0);
}

}  // namespace weft::plan_test::sparse_result_test
