// What loops move: blocks that come ahead of the loops inside, what pushes rows out of a cache, ends of rows.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "runtime/build.h"
#include "unit/plan/modelled.h"

namespace movement_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

struct Made : Modelled {
  using Modelled::Modelled;
  /// The loop over `index` below the loops over `bound`, shared by statements `first` to `last`.
  LoopEstimate loop(StatementRange range, const std::string& bound, char index) const {
    IndexSet outside = 0;
    for (const char name : bound) outside |= one_index(id(name));
    return model().loop(outside, id(index), range);
  }
  /// Its price per iteration; nothing else shares it.
  double ns(std::size_t statement, const std::string& bound, char index) const { return ns({statement, statement}, bound, index); }
  double ns(StatementRange range, const std::string& bound, char index) const {
    const LoopEstimate found = loop(range, bound, index);
    return found.ns / found.iterations;
  }
  /// Loop-exit mispredicts per iteration: what a nanosecond more for each adds to the price.
  double mispredicts(StatementRange range, const std::string& bound, char index) const {
    const double miss = problem.options.machine.branch_miss;
    return with(&Machine::branch_miss, miss + 1).ns(range, bound, index) - ns(range, bound, index);
  }
  double mispredicts(std::size_t statement, const std::string& bound, char index) const {
    return mispredicts({statement, statement}, bound, index);
  }
  /// On a machine with another constant.
  template <class Value>
  Made with(Value Machine::* constant, const Value& value) const {
    Made other = *this;
    other.problem.options.machine.*constant = value;
    return other;
  }
  Made with(double Machine::* constant, double value) const { return with<double>(constant, value); }
  IndexId id(char name) const {
    IndexId found = 0;
    while (problem.network.indices[found].name != std::string(1, name)) ++found;
    return found;
  }
};

/// Its last statement is A[i,r,s,t] += y[i,j,s,t] * B[j,r].
Made ttmc(std::uint64_t rank, const std::string& result = "irst") {
  const std::map<char, std::uint64_t> extents{{'i', 200}, {'j', 200}, {'k', 200}, {'l', 200}, {'r', rank}, {'s', rank}, {'t', rank}};
  return {problem("T:ijkl:ssss:100000 B:jr C:ks D:lt -> " + result, extents), *parse_tree("(((T * D) * C) * B)", {"T", "B", "C", "D"})};
}

}  // namespace

TEST_CASE("blocks of a result one behind the other come from the second cache while the loops inside run") {
  // For an i and a j, A[i] of 256 KiB is gone over in blocks of 8 KiB: how fast they come does not show unless that is very slow.
  const Made made = ttmc(32);
  const double speed = Machine().stream_ahead;
  const auto block = [&](double share) { return made.with(&Machine::stream_ahead, share * speed).ns(2, "ij", 'r'); };
  CHECK(block(0.9) == block(1));
  CHECK(block(0.1) > block(1));
  // With s outside they are rows of 256 bytes, 8 KiB apart.
  CHECK(made.ns(2, "ijs", 'r') > made.ns(2, "ijr", 's'));
  // What i has at one place of A[r,i,s,t] is not where the one before was: the block is waited for.
  CHECK(ttmc(32, "rist").ns(2, "jr", 'i') > made.ns(2, "ij", 'r'));
}

TEST_CASE("what rows of the first cache take goes beside the arithmetic, and what is stored beside what is loaded") {
  // A row of eight of A[i,r,s,t] += y[i,j,s,t] * B[j,r], with the loop that goes over it.
  const auto row = [](const Made& made) { return made.ns(2, "ijr", 's') + 8 * made.ns(2, "ijrs", 't'); };
  const Made made = ttmc(8);
  const Machine machine;
  CHECK(row(made.with(&Machine::vector_flop, 0.5 * machine.vector_flop)) == doctest::Approx(row(made)));
  CHECK(row(made.with(&Machine::vector_flop, 4 * machine.vector_flop)) > row(made));
  // A row of A and one of y pass the first cache, each of them once.
  Made slow = made;
  slow.problem.options.machine.stream[0] = machine.stream[0] / 2;
  CHECK((row(slow) - row(made)) * machine.stream[0] == doctest::Approx(2 * 8 * 8));
}

TEST_CASE("a row that each entry chooses is added to in memory, unless loops inside sum into it") {
  // A[k,r] += T[i,j,k] * x[i,j,r] has a row of A per entry below i and j; below i and k a row takes the entries of j.
  const Made made(problem("T:ijk:sss:100000 B:ir C:jr -> kr", {{'i', 100}, {'j', 100}, {'k', 100}, {'r', 16}}),
                  *parse_tree("(T * (B * C))", {"T", "B", "C"}));
  const auto more = [&](const std::string& bound, char index) {
    return made.with(&Machine::row_update, 3).ns(1, bound, index) - made.ns(1, bound, index);
  };
  CHECK(more("ij", 'k') > 0);
  CHECK(more("i", 'k') == 0);
  CHECK(more("ijk", 'r') == 0);
  CHECK(made.with(&Machine::row_update, 1).ns(1, "ij", 'k') < made.ns(1, "ij", 'k'));
  // What each row of a block gets in turn is no choice: A[i,r,s,t] += y[i,j,s,t] * B[j,r].
  CHECK(ttmc(8).with(&Machine::row_update, 3).ns(2, "ijr", 's') == ttmc(8).ns(2, "ijr", 's'));
}

TEST_CASE("of a row that is shorter than a line the line comes, unless the next rows stand in it") {
  // A[i,k,r] of rows of two columns, 1 KiB below each i: below k they are rows of all i, one in each line; below i they follow each other.
  const auto row = [](const std::string& modes, std::uint64_t rank) {
    const std::map<char, std::uint64_t> extents{{'i', 4096}, {'j', 64}, {'k', 64}, {'r', rank}};
    return Made(problem("T:" + modes + ":sss:8000000 B:jr -> ikr", extents), *parse_tree("(T * B)", {"T", "B"}));
  };
  CHECK(row("jki", 2).ns(0, "jk", 'i') > 0.9 * row("jki", 8).ns(0, "jk", 'i'));
  // Twice the line, twice what it takes to fetch one.
  const auto growth = [&](const std::string& modes, const std::string& bound, char index) {
    const Made made = row(modes, 2);
    return made.with(&Machine::line_bytes, 2 * Machine().line_bytes).ns(0, bound, index) - made.ns(0, bound, index);
  };
  CHECK(growth("jki", "jk", 'i') > 5 * growth("jik", "ij", 'k'));
}

TEST_CASE("the entries of one fiber that is summed do not wait for each other") {
  const std::map<char, std::uint64_t> extents{{'i', 100}, {'j', 100}, {'r', 16}};
  const auto share = [](const Made& made, const std::string& bound, char index) {
    return made.with(&Machine::fiber_sum, 0.5).ns(0, bound, index) - made.with(&Machine::fiber_sum, 0.25).ns(0, bound, index);
  };
  const Made rows(problem("A:ij:ds:2000 x:j -> i", extents), flat_tree(2));
  CHECK(share(rows, "i", 'j') > 0);
  CHECK(rows.with(&Machine::fiber_sum, 0.5).ns(0, "i", 'j') < rows.with(&Machine::fiber_sum, 1).ns(0, "i", 'j'));
  // Not where each entry adds to an element of its own, a row of vectors, or what two fibers have in common.
  CHECK(share(Made(problem("A:ij:ds:2000 x:i -> j", extents), flat_tree(2)), "i", 'j') == 0);
  CHECK(share(Made(problem("A:ij:ds:2000 X:jr -> ir", extents), flat_tree(2)), "ij", 'r') == 0);
  // Groups of rows: a short row of y in registers, to which each coordinate adds one vector.
  CHECK(share(Made(problem("A:ijr:dsd:2000 x:j -> ir", {{'i', 100}, {'j', 100}, {'r', 4}}), flat_tree(2)), "i", 'j') > 0);
  CHECK(share(Made(problem("A:ijr:dsd:2000 x:j -> ir", extents), flat_tree(2)), "i", 'j') == 0);
  CHECK(share(Made(problem("A:ij:ds:2000 x:j:s:50 -> i", extents), flat_tree(2)), "i", 'j') == 0);
}

TEST_CASE("entries that each add to an element of their own wait for memory, and for nothing nearer") {
  const auto last = [](const std::string& vectors, const std::string& result, std::uint64_t columns, const std::string& kinds) {
    const std::map<char, std::uint64_t> extents{{'i', 1000}, {'j', 1000}, {'k', columns}};
    const OwnedProblem given = problem("T:ijk:" + kinds + ":200000000 " + vectors + " -> " + result, extents);
    return Made(given, flat_tree(vectors.size() > 3 ? 3 : 2)).ns(0, "ij", 'k');
  };
  CHECK(last("B:j C:k", "i", 1000, "duq") < last("B:j C:k", "k", 1000, "duq"));
  CHECK(last("B:j C:k", "k", 1000, "duq") < 2.5 * last("B:j C:k", "i", 1000, "duq"));
  for (const char* kinds : {"duq", "dss"}) {
    CAPTURE(kinds);
    const auto waits = [&](std::uint64_t columns) { return last("B:j", "k", columns, kinds) - last("B:j", "i", columns, kinds); };
    CHECK(waits(1'000'000'000) > 5 * waits(1'000'000));
  }
}

TEST_CASE("entries of a walk that add to one element after the other wait for each other") {
  const std::map<char, std::uint64_t> extents{{'i', 100}, {'j', 1000}, {'k', 10000}};
  const auto last = [&](const std::string& result, std::uint64_t entries) {
    return Made(problem("T:ijk:duq:" + std::to_string(entries) + " B:k -> " + result, extents), flat_tree(2)).ns(0, "ij", 'k');
  };
  // Four in a row, or hardly two; each to its own; all to one in a register.
  CHECK(last("j", 400'000) > 1.2 * last("j", 50'000));
  CHECK(last("j", 400'000) > 1.2 * last("k", 400'000));
  CHECK(last("j", 400'000) > 1.2 * last("i", 400'000));
}

TEST_CASE("a range whose coordinates nothing asks for ends as vectors do, and these are not read") {
  const std::map<char, std::uint64_t> extents{{'i', 100'000}, {'j', 100'000}};
  const auto misses = [&](const std::string& vector, std::uint64_t entries) {
    const Made made(problem("A:ij:ds:" + std::to_string(entries) + vector + " -> i", extents), flat_tree(vector.empty() ? 1 : 2));
    return made.mispredicts(0, "", 'i');
  };
  CHECK(misses("", 250'000) < misses(" x:j", 250'000) / 5);
  CHECK(misses("", 1'000'000) < misses(" x:j", 1'000'000));
  const auto streams = [&](const std::string& vector) {
    const Made made(problem("A:ij:ds:20000000" + vector + " -> i", extents), flat_tree(vector.empty() ? 1 : 2));
    return made.loop({0, 0}, "", 'i').bytes;
  };
  CHECK(streams("") < 0.8 * streams(" x:j"));
}

TEST_CASE("elements that coordinates choose in their order come line by line where most are chosen") {
  const auto gathered = [](std::uint64_t entries) {
    const Made made(problem("A:ij:ss:" + std::to_string(entries) + " x:i -> j", {{'i', 10'000'000}, {'j', 100}}), flat_tree(2));
    return made.with(&Machine::gather, std::array<double, 4>{Machine().gather[0], 100, 100, 100}).ns(0, "", 'i') - made.ns(0, "", 'i');
  };
  CHECK(gathered(50'000'000) == 0);
  CHECK(gathered(1'200'000) > 0);  // one of nine, and a line has eight
}

TEST_CASE("entries whose coordinates follow each other are gone over as vectors") {
  OwnedProblem diagonals = problem("B:di:ss:20000 x:di -> i", {{'d', 30}, {'i', 1000}});
  const Made apart(diagonals, flat_tree(2));
  diagonals.operands[0].adjacent = Adjacency::from_first;
  const Made adjacent(diagonals, flat_tree(2));
  CHECK(adjacent.ns(0, "d", 'i') * 2 < apart.ns(0, "d", 'i'));
  CHECK(adjacent.ns(0, "", 'd') == apart.ns(0, "", 'd'));
  // Not where neighbours lie in rows of their own.
  OwnedProblem columns = problem("B:di:ss:20000 X:dik -> ik", {{'d', 30}, {'i', 1000}, {'k', 32}});
  const Made one_by_one(columns, flat_tree(2));
  columns.operands[0].adjacent = Adjacency::from_first;
  CHECK(Made(columns, flat_tree(2)).ns(0, "dk", 'i') == one_by_one.ns(0, "dk", 'i'));
}

TEST_CASE("a walk over a coordinate list enters one loop, and steps through its entries once") {
  const auto made = [](const std::string& kinds) {
    return Made(problem("T:ijkl:" + kinds + ":30000 B:jr C:kr D:lr -> ir", {{'i', 100}, {'j', 100}, {'k', 100}, {'l', 100}, {'r', 16}}),
                flat_tree(4));
  };
  const Made walked = made("duqq");
  const Made nested = made("dsss");
  for (double Machine::* const constant : {&Machine::loop_entry, &Machine::drive_step, &Machine::fiber_entry}) {
    const auto more = [&](const Made& of, const std::string& bound, char index) {
      return of.with(constant, 3).ns(0, bound, index) - of.ns(0, bound, index);
    };
    CHECK(more(walked, "i", 'j') > 0);
    CHECK(more(walked, "ij", 'k') == 0);
    CHECK((more(walked, "ijk", 'l') > 0) == (constant == &Machine::drive_step));
    CHECK(more(nested, "ij", 'k') > 0);
    CHECK(more(nested, "ijk", 'l') > 0);
  }
}

TEST_CASE("rows come from the cache that holds all that is gone over before they are needed again") {
  // Most rows are there, and come ahead of the loop over k: how fast shows where that is slow.
  const auto row = [](std::uint64_t others) {
    const Made made(problem("T:ijk:sss:100000 B:jr C:kr -> ir", {{'i', 100}, {'j', others}, {'k', 100}, {'r', 32}}), flat_tree(3));
    return made.with(&Machine::stream_ahead, 0.1).ns(0, "i", 'j');
  };
  // B of 15 KiB fits into the first cache with C of 25 KiB no more than B of 25 KiB does, but B of 5 KiB does.
  CHECK(row(60) > row(20));
  CHECK(row(100) > row(20));
}

TEST_CASE("of rows that a fiber chooses those come ahead whose neighbours it chooses too") {
  // B of 512 rows comes from the second cache, as fast as it is asked for where most of its rows are.
  const auto row = [](double entries) {
    OwnedProblem given = problem("T:ij:ds:1000 B:jr -> ir", {{'i', 100}, {'j', 512}, {'r', 32}});
    given.operands[0].statistics = Statistics({100, 512}, given.operands[0].format, entries);
    const Made made(std::move(given), flat_tree(2));
    return made.ns(0, "i", 'j') - made.with(&Machine::stream, {260, 1e9, 70, 18}).ns(0, "i", 'j');
  };
  CHECK(row(100 * 512) < 1e-9);
  double before = row(100 * 500);
  CHECK(before > 0);
  for (const double entries : {100 * 250.0, 100 * 50.0, 100 * 5.0}) {
    CHECK(row(entries) > before);
    before = row(entries);
  }
}

TEST_CASE("rows that a loop comes back to are fetched once where those that occur below it stay in a nearer cache") {
  // A[i,r] += T[i,k,j] * C[k,r] * B[j,r], eight of 400 j for each of 20,000 pairs of i and k: the same for all k of an i, or others.
  const auto made = [](double pairs) {
    OwnedProblem given = problem("T:ikj:sss:160000 C:kr B:jr -> ir", {{'i', 200}, {'k', 100}, {'j', 400}, {'r', 32}});
    given.operands[0].statistics = Statistics({200, 100, 400}, given.operands[0].format, 160'000,
                                              {{1, 200}, {2, 100}, {4, 400}, {3, 20'000}, {5, pairs}, {6, 40'000}, {7, 160'000}});
    return Made(std::move(given), flat_tree(3));
  };
  // Ten rows of B below an i, or all: those are fetched again for every k, and so are all where k is outside.
  CHECK(made(2000).ns(0, "i", 'k') < made(80'000).ns(0, "i", 'k'));
  CHECK(made(60'000).ns(0, "i", 'k') == made(80'000).ns(0, "i", 'k'));
  CHECK(made(2000).ns(0, "k", 'i') == made(80'000).ns(0, "k", 'i'));
  CHECK(made(2000).ns(0, "ik", 'j') == made(80'000).ns(0, "ik", 'j'));
}

TEST_CASE("rows that an entry's slice comes back to count, not those of a slice in the mean") {
  // A[i,r] += T[i,k,j] * C[k,r] * B[j,r] of 80,000 j at two k each: all of them in one slice of i, or 400 in each of 200. B takes 41 MB.
  constexpr std::uint64_t columns = 80'000;
  const auto made = [&](bool heavy) {
    Coordinates entries;
    entries.extents = {200, 2, columns};
    entries.count = 2 * columns;
    entries.values = std::move(*Buffer::allocate(entries.count * 8, Memory{}, "values"));
    for (double& value : entries.values.as<double>()) value = 1;
    for (std::uint64_t mode = 0; mode < 3; ++mode) {
      entries.crd.push_back(std::move(*Buffer::allocate(entries.count * 4, Memory{}, "coordinates")));
      for (std::uint64_t n = 0; n < entries.count; ++n) {
        const std::uint64_t tuple[] = {heavy ? 0 : n / 800, n % 2, n / 2};
        entries.crd.back().as<std::uint32_t>()[n] = static_cast<std::uint32_t>(tuple[mode]);
      }
    }
    OwnedProblem given = problem("T:ikj:sss:160000 C:kr B:jr -> ir", {{'i', 200}, {'k', 2}, {'j', columns}, {'r', 64}});
    given.operands[0].statistics = Statistics(*build(std::move(entries), sparse_format(3), Resources(), "T"), Threads(1));
    return Made(std::move(given), flat_tree(3));
  };
  // Fetched once for an i into a near cache, or from memory for every entry.
  CHECK(2 * made(false).ns(0, "ik", 'j') < made(true).ns(0, "ik", 'j'));
}

TEST_CASE("a walk reads the rows of its runs for every entry, as far as these do not hide") {
  // What a walk over T takes more than nested loops, per run of some four entries or of one.
  const auto more = [](std::uint64_t rank, const std::string& entries) {
    const std::map<char, std::uint64_t> extents{{'i', 100}, {'j', 100}, {'k', 100}, {'r', rank}};
    const auto ns = [&](const std::string& kinds) {
      return Made(problem("T:ijk:" + kinds + ":" + entries + " B:jr C:kr -> ir", extents), flat_tree(3)).ns(0, "i", 'j');
    };
    return ns("duq") - ns("dss");
  };
  CHECK(more(64, "40000") > more(32, "40000"));
  CHECK(more(32, "40000") > more(16, "40000"));
  CHECK(more(64, "40000") - more(16, "40000") > 10 * (more(64, "1000") - more(16, "1000")));
}

TEST_CASE("a walk adds to the row of the target further out for every entry of a run") {
  // x[k,r,l] += T[k,l,i,j] * F[i,r] * G[j,r]: loops over i and j below one over l keep the row of l.
  const auto more = [](std::uint64_t rank, const std::string& entries) {
    const std::map<char, std::uint64_t> extents{{'i', 50}, {'j', 50}, {'k', 50}, {'l', 50}, {'r', rank}};
    const auto ns = [&](const std::string& kinds) {
      const std::string text = "T:klij:" + kinds + ":" + entries + " F:ir G:jr H:lr -> kr";
      return Made(problem(text, extents), *parse_tree("((T * F * G) * H)", {"T", "F", "G", "H"})).ns(0, "k", 'l');
    };
    return ns("duqq") - ns("ddss");
  };
  CHECK(more(64, "10000") > more(32, "10000"));
  CHECK(more(64, "10000") - more(16, "10000") > 10 * (more(64, "250") - more(16, "250")));
}

TEST_CASE("fibers end unforeseen where they have company, which their mean length does not tell") {
  // As many entries and pairs of i and j: one in sixteen pairs has seventeen entries, or each has two.
  const auto made = [](bool few) {
    constexpr std::uint64_t pairs = 40'000;
    Coordinates entries{.extents = {200, 200, 2000}, .crd = {}, .values = {}, .count = 2 * pairs};
    for (int mode = 0; mode < 3; ++mode) entries.crd.push_back(*Buffer::allocate(entries.count * 4, Memory(), "crd"));
    entries.values = *Buffer::allocate(entries.count * 8, Memory(), "values");
    std::uint64_t at = 0;
    for (std::uint64_t pair = 0; pair < pairs; ++pair) {
      const std::uint64_t company = !few ? 1 : pair % 16 == 0 ? 16 : 0;
      for (std::uint64_t entry = 0; entry <= company; ++entry, ++at) {
        entries.crd[0].as<std::uint32_t>()[at] = static_cast<std::uint32_t>(pair / 200);
        entries.crd[1].as<std::uint32_t>()[at] = static_cast<std::uint32_t>(pair % 200);
        entries.crd[2].as<std::uint32_t>()[at] = static_cast<std::uint32_t>((pair * 7 + entry * 31) % 2000);
      }
    }
    OwnedProblem given = problem("T:ijk:dds:80000 B:jr C:kr -> ir", {{'i', 200}, {'j', 200}, {'k', 2000}, {'r', 16}});
    given.operands[0].statistics = Statistics(*build(std::move(entries), *parse_format("dds"), Resources(), "T"), Threads(1));
    return Made(std::move(given), flat_tree(3));
  };
  CHECK(made(true).mispredicts(0, "i", 'j') == doctest::Approx(2.0 / 16).epsilon(0.1));
  CHECK(made(false).mispredicts(0, "i", 'j') > 0.8);
}

TEST_CASE("columns of an intermediate cost a line an element, as far as the loops inside do not take longer") {
  // y[l,r,s] of 1.6 MB is read by A[j,r,s,t] += y[l,r,s] * D[l,t]; s is adjacent, so r after s has other lines each time.
  const std::map<char, std::uint64_t> extents{{'j', 200}, {'k', 200}, {'l', 200}, {'r', 32}, {'s', 32}, {'t', 32}};
  const Made made(problem("T:jkl:sss:100000 C:kr E:ks D:lt -> jrst", extents), *parse_tree("((T * C * E) * D)", {"T", "C", "E", "D"}));
  CHECK(made.ns(1, "j", 's') > made.ns(1, "j", 'r'));
  // The same elements of 8 bytes, from lines of their own or side by side.
  const auto bytes = [&](char index) {
    const LoopEstimate loop = made.loop({1, 1}, "j", index);
    return loop.bytes / loop.iterations;
  };
  const double elements = 200 * 32;
  CHECK(bytes('s') - bytes('r') == elements * (Machine().line_bytes - 8));
}

TEST_CASE("the end of a row is paid where rows do not go on") {
  const auto a_row = [](std::uint64_t rank) { return ttmc(rank).ns(2, "ijr", 's'); };
  const auto y_row = [](std::uint64_t rank) { return ttmc(rank).ns(1, "ijk", 's'); };
  // A and y have s and t side by side, so that loops over both are one; x has only t.
  CHECK(a_row(15) < a_row(16));
  CHECK(y_row(15) > y_row(16));
}

/// R[i,j,k] += y * x with y = A * D and x = B * C, all of A to D sparse and in the order of loops j, k, r, p, q, i.
Made four() {
  const std::map<char, std::uint64_t> extents{{'i', 60}, {'j', 60}, {'k', 60}, {'p', 60}, {'q', 60}, {'r', 60}};
  OwnedProblem problem = plan_test::problem("A:pqi:sss:2160 B:jrp:sss:2160 C:krq:sss:2160 D:jkr:sss:2160 -> ijk", extents);
  problem.options.result_formats["R"] = *parse_format("ddd");
  return {std::move(problem), *parse_tree("((A * D) * (B * C))", {"A", "B", "C", "D"})};
}

TEST_CASE("a statement without sparse factors touches what its intermediates' writers reach, where it shares their loops") {
  const Made made = four();
  // For a k and j, R[i,j,k] += y * x alone reads and writes a column of 60 lines; beside its writers, what of it these reach.
  const auto bytes = [&](std::size_t first) {
    const LoopEstimate loop = made.loop({first, 2}, "k", 'j');
    return loop.bytes / loop.iterations;
  };
  const double column = 2 * 60 * Machine().line_bytes;
  CHECK(bytes(2) >= column);
  CHECK(bytes(0) < column);
}

TEST_CASE("what another statement of the same loops meets is not entered whole") {
  const Made made = four();
  // y += A * D alone goes over all that A has at a p, a fiber for each of at most 36 q; beside x += B * C, over what C has too.
  const double alone = made.mispredicts({0, 0}, "jkr", 'p');
  CHECK(alone > 0);
  CHECK(alone <= 1 + 2160.0 / 60);
  CHECK(made.mispredicts({0, 2}, "jkr", 'p') < alone);
}

TEST_CASE("statements that filter a loop alike may go over it apart") {
  const std::map<char, std::uint64_t> extents{{'v', 100}, {'b', 50}, {'u', 60}, {'w', 60}};
  OwnedProblem given = problem("P:vbu:sss:1200 c:u W:vbw:sss:1200 d:w -> b", extents);
  for (const std::size_t operand : {0, 2}) {
    given.operands[operand].statistics = Statistics({100, 50, 60}, given.operands[operand].format, 1200,
                                                    {{1, 100}, {2, 50}, {4, 60}, {3, 400}, {5, 1100}, {6, 1000}, {7, 1200}});
  }
  const Made made(std::move(given), *parse_tree("((P * c) * (W * d))", {"P", "c", "W", "d"}));
  // Each has four fibers of three below a v, and the fiber of these: those of one, and those of the other.
  const double first = made.mispredicts({0, 0}, "", 'v'), second = made.mispredicts({1, 1}, "", 'v');
  CHECK(first > 0);
  CHECK(first <= 5);
  CHECK(made.mispredicts({0, 1}, "", 'v') == doctest::Approx(first + second));
}

// Eight fibers of three below each j (measured: bench/measured/lookups.md).
TEST_CASE("fibers that are gone over again and again end where the processor remembers it") {
  const auto made = [](const std::string& pairs) {
    const std::map<char, std::uint64_t> extents{{'a', 237}, {'j', 400}, {'b', 237}, {'k', 2000}};
    OwnedProblem given = problem("P:" + pairs + ":ss:4740 W:jbk:sss:9600 -> ab", extents);
    given.operands[1].statistics = Statistics({400, 237, 2000}, given.operands[1].format, 9600,
                                              {{1, 400}, {2, 237}, {4, 2000}, {3, 3200}, {5, 9000}, {6, 9500}, {7, 9600}});
    return Made(std::move(given), flat_tree(2));
  };
  const Made others = made("aj");
  const Made again = made("ja");
  // Entering the entries of another j costs the ends of its fibers, at most nine, and no loop inside costs any.
  CHECK(others.mispredicts(0, "a", 'j') > 0);
  CHECK(others.mispredicts(0, "a", 'j') <= 9);
  CHECK(others.mispredicts(0, "ja", 'b') == 0);
  CHECK(again.mispredicts(0, "ja", 'b') == 0);
  // With a inside, the entries of W at a j are entered once.
  CHECK(again.mispredicts(0, "", 'j') * 400 > 0);
  CHECK(again.mispredicts(0, "", 'j') * 400 + again.mispredicts(0, "j", 'a') * 4740 < others.mispredicts(0, "a", 'j') * 4740);
}

TEST_CASE("fibers inside a range that nothing asks for end as others do") {
  const std::map<char, std::uint64_t> extents{{'i', 10000}, {'j', 20}, {'k', 1000}};
  const double entered = 10000, pairs = 10000 * 20 * (1 - std::exp(-2));
  // Nothing but T has i: one loop goes over all pairs of i and j, below each of which a fiber of two or three entries ends.
  const Made range(problem("T:ijk:sss:400000 B:j C:k ->", extents), flat_tree(3));
  CHECK(range.mispredicts(0, "", 'i') * entered > 0.8 * pairs);
  CHECK(range.mispredicts(0, "i", 'j') == 0);
  // Nothing but T has j either: one loop over all entries.
  const Made all(problem("T:ijk:sss:400000 C:k ->", extents), flat_tree(2));
  CHECK(all.mispredicts(0, "", 'i') * entered + all.mispredicts(0, "i", 'j') * pairs < 2);
}

TEST_CASE("what meets other fibers ends differently each time") {
  const Made alone(problem("P:aj:ss:4740 W:jbk:sss:9600 -> ab", {{'a', 237}, {'j', 400}, {'b', 237}, {'k', 2000}}), flat_tree(2));
  const Made met(problem("P:ab:ss:4740 W:jbk:sss:9600 -> aj", {{'a', 237}, {'j', 400}, {'b', 237}, {'k', 2000}}), flat_tree(2));
  // The same fibers over k below j and b: only where P has a say in b are they entered without being remembered.
  CHECK(alone.mispredicts(0, "ja", 'b') == 0);
  CHECK(met.mispredicts(0, "ja", 'b') > 0);
  // Without loops inside, whose fibers end too: the fiber over b itself.
  const Made same(problem("P:aj:ss:4740 W:jb:ss:9600 -> ab", {{'a', 237}, {'j', 400}, {'b', 237}}), flat_tree(2));
  const Made other(problem("P:ab:ss:4740 W:jb:ss:9600 -> aj", {{'a', 237}, {'j', 400}, {'b', 237}}), flat_tree(2));
  CHECK(same.mispredicts(0, "ja", 'b') == 0);
  CHECK(other.mispredicts(0, "ja", 'b') > 0);
}

}  // namespace movement_test
