#include "engine/plan/prove/encoding.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/plan/cost/memory_demand.h"
#include "unit/plan/networks.h"

namespace workspace_bytes_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

double demanded(const Schedule& schedule, const OwnedProblem& made, const std::string& name) {
  for (const MemoryDemand& demand : memory_plan(schedule, made).demands) {
    if (demand.name == name) return static_cast<double>(demand.bytes);
  }
  return 0;
}

// The contractions of a schedule, with operands as they are.
Alternative alternative_of(const Schedule& schedule) {
  return {contractions_of(schedule), AccessPaths(schedule.tensors.size())};
}

// Indices by their place in the text of the network.
IndexSet indices(const OwnedProblem& made, const std::string& names) {
  IndexSet set = 0;
  for (const char name : names) {
    const auto found = std::ranges::find(made.network.indices, std::string(1, name), &Index::name);
    set |= one_index(static_cast<IndexId>(found - made.network.indices.begin()));
  }
  return set;
}
IndexId index(const OwnedProblem& made, char name) { return members(indices(made, std::string(1, name))).front(); }

}  // namespace

TEST_CASE("the workspace of a sparse result is that of the loops which leave its order") {
  const OwnedProblem made = problem("B:ik:ds:2000 C:kj:ds:2000 -> ij", {{'i', 200}, {'j', 300}, {'k', 200}});
  const std::string head = "schedule\n tree (B * C)\n layout B ds f64\n layout C ds f64\n result R ds f64\n R[i,j] += B[i,k] * C[k,j] ";
  const Schedule by_rows = schedule_of(made, head + "loops i,k,j drained accumulator\n parallel i owner\n");
  const Schedule whole = schedule_of(made, head + "loops k,i,j drained accumulator\n parallel k serial\n");
  const Alternative alternative = alternative_of(by_rows);
  const WorkspaceBytes sizes(alternative, made);
  CHECK(sizes.of_result() == 0);
  const auto row = sizes.drained(0, indices(made, "i"), index(made, 'k'), {0, 0});
  const auto all = sizes.drained(0, 0, index(made, 'k'), {0, 0});
  REQUIRE(row.has_value());
  REQUIRE(all.has_value());
  CHECK(std::ceil(8 * *row) == demanded(by_rows, made, "workspace of R"));
  CHECK(std::ceil(8 * *all) == demanded(whole, made, "workspace of R"));
  CHECK_FALSE(sizes.drained(0, 0, index(made, 'i'), {0, 0}).has_value());
  CHECK_FALSE(sizes.drained(0, indices(made, "i"), index(made, 'j'), {0, 0}).has_value());
}

TEST_CASE("sparse intermediates are keyed inside a nest and grow between nests") {
  const OwnedProblem made = problem("B:ik:ss:2000 C:kl:ss:2000 D:lj:ss:2000 -> ij", {{'i', 200}, {'j', 300}, {'k', 200}, {'l', 150}});
  const std::string head =
      "schedule\n tree ((B * C) * D)\n layout B ss f64\n layout C ss f64\n layout D ss f64\n intermediate x[i,l] ";
  const Schedule fused = schedule_of(made, head +
                                               "da f64\n result R ss f64\n x[i,l] += B[i,k] * C[k,l] loops i,k,l\n"
                                               " R[i,j] += x[i,l] * D[l,j] loops i,l,j fused 1 drained accumulator\n parallel i counted\n");
  const Schedule apart = schedule_of(made, head + "ss f64\n result R ss f64\n x[i,l] += B[i,k] * C[k,l] loops i,k,l drained accumulator\n"
                                                  " R[i,j] += x[i,l] * D[l,j] loops i,l,j drained accumulator\n"
                                                  " parallel i owner\n parallel i counted\n");
  const Alternative alternative = alternative_of(fused);
  Alternative dense = alternative;
  for (ContractedTensor& tensor : dense.contractions.tensors) {
    if (tensor.role == TensorRole::intermediate) tensor.storage = Storage::workspace;
  }
  Alternative keyed = alternative_of(apart);
  keyed.contractions.tensors[3].storage = Storage::of_loops;
  keyed.contractions.tensors[3].layout = {};
  const WorkspaceBytes sizes(keyed, made);
  CHECK(std::ceil(8 * sizes.inside(0, indices(made, "i"))) == demanded(fused, made, "workspace x"));
  CHECK(sizes.between(0) == 0);
  CHECK(demanded(apart, made, "intermediate x") > 0);
  const auto gathered = sizes.drained(0, indices(made, "i"), index(made, 'k'), {0, 0});
  REQUIRE(gathered.has_value());
  CHECK(std::ceil(8 * *gathered) == demanded(apart, made, "workspace of x"));
  const WorkspaceBytes of_dense(dense, made);
  CHECK(of_dense.between(0) == 200 * 150 * 8);
  CHECK(of_dense.inside(0, indices(made, "i")) == 150 * 8);
  CHECK_FALSE(of_dense.drained(0, indices(made, "i"), index(made, 'k'), {0, 0}).has_value());
}

// x[i,r] has the key i and a dense block r, unless that may be left out: then both are the key.
TEST_CASE("the smaller of both is taken where the block of a key may have to be part of it") {
  const OwnedProblem made = problem("B:ik:ds:2000 C:kr D:ij:ss:300 -> jr", {{'i', 200}, {'j', 300}, {'k', 200}, {'r', 16}});
  Alternative alternative = alternative_of(schedule_of(
      made, "schedule\n tree ((B * C) * D)\n layout B ds f64\n layout C dd f64\n layout D ss f64\n intermediate x[i,r] ad f64\n"
            " result R ss f64\n x[i,r] += B[i,k] * C[k,r] loops i,k,r\n R[j,r] += x[i,r] * D[i,j] loops i,j,r drained accumulator\n"
            " parallel i owner\n parallel i serial\n"));
  const WorkspaceBytes sizes(alternative, made);
  // In the order k, i, r a row of r is appended below i, or each of its entries by itself.
  const auto first = sizes.drained(0, 0, index(made, 'k'), {0, 0});
  REQUIRE(first.has_value());
  CHECK(*first >= 200 * 16 * 8);
  CHECK(*first <= 200 * 16 * 8 + 200 + 200 * 4);
  // r before i: both are the key, of which r is appended to.
  const auto second = sizes.drained(0, indices(made, "r"), index(made, 'k'), {0, 0});
  REQUIRE(second.has_value());
  CHECK(*second >= 200 * 8);
  CHECK(*second <= 200 * 8 + 200 + 200 * 4);
  CHECK_FALSE(sizes.drained(0, indices(made, "i"), index(made, 'k'), {0, 0}).has_value());
}

}  // namespace workspace_bytes_test
