// Products of two rows that wait until several are added to their block together: where the model expects them, and what they save.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "engine/plan/cost/batch_size.h"
#include "unit/plan/modelled.h"

namespace batches_price_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

struct Made : Modelled {
  using Modelled::Modelled;
  IndexId id(char name) const {
    IndexId found = 0;
    while (problem.network.indices[found].name != std::string(1, name)) ++found;
    return found;
  }
  /// The state inside these loops, all shared by the same statements.
  Outside inside(const CostModel& model, const std::string& loops, StatementRange range) const {
    Outside outside;
    for (const char name : loops) outside = model.inside(outside, id(name), range);
    return outside;
  }
  Batch batch(const std::string& loops, StatementRange range) const {
    return inside(model(), loops, range).batch_of(range.last);
  }
};

/// x[i,s,j] += T[i,j,k] * C[k,s] and A[i,r,s] += x[i,s,j] * B[j,r].
Made ttmc(std::uint64_t entries, std::uint64_t rows, std::uint64_t columns) {
  const std::map<char, std::uint64_t> extents{{'i', 100}, {'j', 100}, {'k', 100}, {'r', rows}, {'s', columns}};
  return {problem("T:ijk:sss:" + std::to_string(entries) + " B:jr C:ks -> irs", extents), *parse_tree("((T * C) * B)", {"T", "B", "C"})};
}

}  // namespace

TEST_CASE("as many products wait as fill 8 KiB, between 8 and 32") {
  CHECK(batch_size(20, 16, 16) == 32);
  CHECK(batch_size(20, 16, 64) == 16);
  CHECK(batch_size(20, 16, 128) == 8);
  CHECK(batch_size(20, 16, 129) == 0);
  CHECK(batch_size(20, 1, 16) == 0);
  CHECK(batch_size(3, 16, 16) == 0);
}

TEST_CASE("products wait inside the loop that their block does not have") {
  const Made made = ttmc(50'000, 16, 16);
  CHECK(made.batch("ij", {0, 1}) == Batch::rows);
  CHECK(made.batch("i", {0, 1}) == Batch::none);
  // The last loop chooses the block.
  CHECK(made.batch("ji", {0, 1}) == Batch::none);
  // Fibers of two entries.
  CHECK(ttmc(150, 16, 16).batch("ij", {0, 1}) == Batch::none);
  // A[r,s,i] has its elements far from each other.
  const Made scattered(problem("T:ijk:sss:50000 B:jr C:ks -> rsi", {{'i', 100}, {'j', 100}, {'k', 100}, {'r', 16}, {'s', 16}}),
                       *parse_tree("((T * C) * B)", {"T", "B", "C"}));
  CHECK(scattered.batch("ij", {0, 1}) == Batch::none);
  Made strict = ttmc(50'000, 16, 16);
  strict.problem.options.strict_fp = true;
  CHECK(strict.batch("ij", {0, 1}) == Batch::none);
}

TEST_CASE("rows that wait are no loop of their own, and their block is not gone over for each of them") {
  const auto ns = [](std::uint64_t columns, bool waits) {
    const Made made = ttmc(50'000, 16, columns);
    const CostModel model = made.model();
    const Outside outside = waits ? made.inside(model, "ij", {0, 1}) : Outside(one_index(made.id('i')) | one_index(made.id('j')));
    return model.price(outside, made.id('r'), {1, 1}, 0).ns;
  };
  const Machine machine;
  CHECK(ns(16, true) <= ns(16, false) - machine.loop_entry - 16 * machine.range_step);
  // Rows that are too long add their product themselves.
  CHECK(ns(160, true) == ns(160, false));
}

TEST_CASE("the loop inside the rows is one over columns, and a row whose elements are taken one by one is not in registers") {
  const Made made = ttmc(50'000, 16, 16);
  const CostModel model = made.model();
  const Outside outside = made.inside(model, "ij", {0, 1});
  CHECK(model.inside(outside, made.id('r'), {1, 1}).batch_of(1) == Batch::columns);
  // Rows over r come from B, or from x[i,r,k] += T[i,j,k] * B[j,r].
  const Made other(made.problem, *parse_tree("((T * B) * C)", {"T", "B", "C"}));
  const CostModel taken = other.model();
  CHECK(taken.price(other.inside(taken, "ik", {0, 1}), other.id('r'), {1, 1}, 0).ns > model.price(outside, made.id('r'), {1, 1}, 0).ns);
}

TEST_CASE("columns over two indices are one row of memory") {
  // A[i,r,s,t] += y[i,s,t,j] * B[j,r] adds rows over s and t, A[i,r,s,t] += y[i,r,t,k] * C[k,s] pieces of t, a row of s apart.
  const std::map<char, std::uint64_t> extents{{'i', 30}, {'j', 30}, {'k', 30}, {'l', 30}, {'r', 10}, {'s', 10}, {'t', 10}};
  const OwnedProblem four = problem("T:ijkl:ssss:8000 B:jr C:ks D:lt -> irst", extents);
  const auto columns = [&](const char* tree, const std::string& loops, char rows) {
    const Made made(four, *parse_tree(tree, {"T", "B", "C", "D"}));
    const CostModel model = made.model();
    return model.inside(made.inside(model, loops, {0, 2}), made.id(rows), {2, 2}).batch_of(2);
  };
  CHECK(columns("(((T * D) * C) * B)", "ij", 'r') == Batch::columns);
  CHECK(columns("(((T * D) * B) * C)", "ik", 's') == Batch::none);
}

TEST_CASE("loops over small blocks of a sparse operand are written out, and their target stays in registers while blocks follow") {
  // Y[i,r,s] += B[i,j,r,c] * X[j,c,s] with blocks of 3 x 3, or 9 x 9.
  const auto blocks = [](std::uint64_t size) {
    const std::map<char, std::uint64_t> extents{{'i', 100}, {'j', 100}, {'r', size}, {'c', size}, {'s', 16}};
    return Made(problem("B:ijrc:dsdd:5000 X:jcs -> irs", extents), flat_tree(2));
  };
  const auto ns = [](const Made& made, const Outside& outside) { return made.model().price(outside, made.id('r'), {0, 0}, 0).ns; };
  const Made small = blocks(3);
  const Made large = blocks(9);
  const Outside in_small = small.inside(small.model(), "ij", {0, 0});
  CHECK(in_small.batch_of(0) == Batch::tile);
  CHECK(small.model().inside(in_small, small.id('r'), {0, 0}).batch_of(0) == Batch::tile);
  CHECK(large.batch("ij", {0, 0}) == Batch::none);
  // The last loop chooses the rows.
  CHECK(small.batch("ji", {0, 0}) == Batch::none);
  // Nothing moves while they are in registers; elsewhere no loop is entered either, but they are read and written.
  CHECK(ns(small, in_small) == 0);
  const Outside unordered = one_index(small.id('i')) | one_index(small.id('j'));
  CHECK(ns(small, unordered) > 0);
  const auto slower = [](Made made) {
    made.problem.options.machine.range_step *= 2;
    made.problem.options.machine.loop_entry *= 2;
    return made;
  };
  CHECK(ns(slower(small), unordered) == ns(small, unordered));
  CHECK(ns(slower(large), unordered) > ns(large, unordered));
}

TEST_CASE("columns of blocks stored by rows are picked from the vectors that hold them") {
  // y[i,r] += B[i,j,r,c] * x[j,c] against B[i,j,c,r], whose vectors over r lie together.
  const auto ns = [](const std::string& modes) {
    const Made made(problem("B:" + modes + ":dsdd:5000 x:jc -> ir", {{'i', 100}, {'j', 100}, {'r', 3}, {'c', 3}}), flat_tree(2));
    const Outside outside = made.inside(made.model(), "ijc", {0, 0});
    return made.model().price(outside, made.id('r'), {0, 0}, 0).ns;
  };
  CHECK(ns("ijrc") > ns("ijcr"));
}

TEST_CASE("a tile of vectors over what the target lacks is added up after the loops around it") {
  // y[i,r] += B[i,j,r,c] * x[j,c]: with one row more than are written out no tile is kept, and each vector is added up for itself.
  const auto ns = [](std::uint64_t rows) {
    const Made made(problem("B:ijrc:dsdd:5000 x:jc -> ir", {{'i', 100}, {'j', 100}, {'r', rows}, {'c', 8}}), flat_tree(2));
    const Outside outside = made.inside(made.model(), "ijr", {0, 0});
    return made.model().price(outside, made.id('c'), {0, 0}, 0).ns;
  };
  CHECK(ns(9) - ns(8) >= Machine{}.vector_sum / 2);
  CHECK(ns(8) < Machine{}.vector_sum);
}

TEST_CASE("a vector over the columns of a block is added up once the blocks of a row are through") {
  // y[i] += B[i,j,c] * x[j,c], not y[i] += B[i,j] * x[j,c], where c is summed apart from B.
  const auto ns = [](const std::string& operands, char last) {
    const Made made(problem(operands + " -> i", {{'i', 100}, {'j', 100}, {'c', 4}}), flat_tree(2));
    const Outside outside = made.inside(made.model(), "ij", {0, 0});
    return made.model().price(outside, made.id(last), {0, 0}, 0).ns;
  };
  CHECK(ns("B:ijc:dsd:5000 x:jc", 'c') < Machine{}.vector_sum / 2);
  CHECK(ns("B:ij:ds:5000 x:jc", 'c') > Machine{}.vector_sum);
}

TEST_CASE("where a position has one entry there is no loop, and lanes of a few coordinates around it are written out") {
  // y[i,r] += B[i,s,r,j] * x[j], as sell(8) has it, and with fibers of one entry each.
  const auto ns = [](const std::string& kinds, char index, const std::string& outside_of, std::uint64_t lanes) {
    const Made made(problem("B:isrj:" + kinds + ":5000 x:j -> ir", {{'i', 100}, {'s', 10}, {'r', lanes}, {'j', 1000}}), flat_tree(2));
    const Outside outside = made.inside(made.model(), outside_of, {0, 0});
    return made.model().price(outside, made.id(index), {0, 0}, 0).ns;
  };
  CHECK(ns("dsdq", 'j', "isr", 8) < ns("dsds", 'j', "isr", 8));
  CHECK(ns("dsdq", 'r', "is", 8) / 8 < ns("dsdq", 'r', "is", 9) / 9 - Machine{}.range_step / 2);
}

}  // namespace batches_price_test
