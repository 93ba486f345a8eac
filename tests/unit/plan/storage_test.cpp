#include "engine/plan/schedule/storage.h"

#include <doctest/doctest.h>

#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/statements.h"
#include "unit/plan/networks.h"

namespace storage_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("formats say how a tensor is stored before its loops are known") {
  const Scalar f64 = Scalar::f64;
  CHECK(storage_of(dense_format(2, f64)) == Storage::workspace);
  CHECK(storage_of(dense_format(0, f64)) == Storage::workspace);
  CHECK(storage_of(keyed_format(2, f64)) == Storage::keyed);
  CHECK(storage_of(format_of_loops(2, f64)) == Storage::of_loops);
  CHECK(storage_of(stored_format({1, 0}, {}, f64)) == Storage::stored);
  const Format blocks = stored_format({2}, {0, 1}, f64);
  CHECK(storage_of(blocks) == Storage::stored);
  CHECK(blocks.mode_order == std::vector<std::uint32_t>{2, 0, 1});
  CHECK(blocks.levels[0].kind == LevelKind::compressed);
  CHECK(blocks.levels[1].kind == LevelKind::dense);
}

TEST_CASE("a result in the order of its loops appends what is no dense block") {
  const Format format = format_of_loops({7, 3, 5}, index_set({3}), Scalar::f64);
  CHECK(storage_of(format) == Storage::of_loops);
  CHECK(appended_modes(format, {7, 3, 5}) == index_set({7, 5}));
}

TEST_CASE("statements are priced as they will be stored unless the loops have a say in it") {
  const OwnedProblem made = problem("A:ij:ss:50 B:jk:ss:50 C:kl:ss:50 -> il", {{'i', 20}, {'j', 20}, {'k', 20}, {'l', 20}});
  const ContractionTree tree = *parse_tree("((A * B) * C)", factor_names(made.network));
  Schedule statements = statements_of(made.network, tree, statement_orders(tree, 1).front(), made.operands, made.options);
  CHECK(stores_as_priced(statements));
  ScheduledTensor& intermediate = statements.tensors[statements.statements.front().target.tensor];
  intermediate.format = keyed_format(2, Scalar::f64);
  CHECK(stores_as_priced(statements));
  intermediate.format = format_of_loops(2, Scalar::f64);
  CHECK_FALSE(stores_as_priced(statements));
}

}  // namespace storage_test
