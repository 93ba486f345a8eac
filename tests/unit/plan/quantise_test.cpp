#include "engine/plan/estimate/operand_facts.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace quantise_test {

using namespace weft;

TEST_CASE("figures keep five binary digits") {
  for (std::uint64_t small = 0; small <= 32; ++small) CHECK(quantised(static_cast<double>(small)) == static_cast<double>(small));
  CHECK(quantised(33) == 34);
  CHECK(quantised(1000) == 992);
  CHECK(quantised(1009) == 1024);
  CHECK(quantised(0.1) == 0.1015625);
  CHECK(quantised(-1) == 0);
  std::mt19937_64 random(1);
  for (int n = 0; n < 1000; ++n) {
    const double figure = std::exp(std::uniform_real_distribution<double>(-5, 40)(random));
    const double rounded = quantised(figure);
    CHECK(std::abs(rounded / figure - 1) <= 1.0 / 32);
    CHECK(quantised(rounded) == rounded);
    CHECK(quantised(figure * 1.01) >= rounded);
  }
}

TEST_CASE("nearly equal patterns become equal, and exact meanings survive") {
  const Format format = sparse_format(2);
  const auto of = [&](double nnz, double rows) {
    return quantised(Statistics({1000, 500}, format, nnz, {{1, rows}, {2, 480}, {3, nnz}}));
  };
  CHECK(of(98400, 900).text() == of(99000, 905).text());
  CHECK(of(98400, 900).text() != of(130000, 900).text());
  CHECK(of(100100, 1000).distinct(1) == 1000);
  CHECK(of(100100, 999).distinct(1) < 1000);
  const Statistics empty = quantised(Statistics({1000, 500}, format, 0));
  CHECK(empty.nnz() == 0);
  CHECK(empty.distinct(3) == 0);
  const Statistics dense = quantised(Statistics({33, 7}, dense_format(2), 231));
  CHECK(dense.nnz() == 231);
  CHECK(dense.distinct(3) == 231);
  CHECK_FALSE(quantised(Statistics({3, 3}, format, 4, {}, false)).finite());
}

TEST_CASE("rounded counts stay consistent") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::size_t order = 1 + random() % 4;
    std::vector<std::uint64_t> extents;
    double room = 1;
    for (std::size_t mode = 0; mode < order; ++mode) {
      extents.push_back(1 + random() % 200);
      room *= static_cast<double>(extents.back());
    }
    const double nnz = std::max(1.0, std::floor(room * std::uniform_real_distribution<double>(0, 1)(random)));
    const Statistics counted(extents, sparse_format(order), nnz);
    const Statistics rounded = quantised(counted);
    CAPTURE(round);
    for (ModeSet set = 1; set < ModeSet{1} << order; ++set) {
      double tuples = 1;
      for (std::size_t mode = 0; mode < order; ++mode) {
        if (set >> mode & 1) tuples *= static_cast<double>(extents[mode]);
      }
      CHECK(rounded.distinct(set) <= tuples);
      CHECK((rounded.distinct(set) >= tuples) == (counted.distinct(set) >= tuples));
      CHECK(rounded.distinct(set) <= rounded.nnz());
      for (std::size_t mode = 0; mode < order; ++mode) {
        const ModeSet smaller = set & ~(ModeSet{1} << mode);
        if (smaller == set || smaller == 0) continue;
        CHECK(rounded.distinct(smaller) <= rounded.distinct(set));
        CHECK(rounded.distinct(set) <= rounded.distinct(smaller) * static_cast<double>(extents[mode]));
      }
    }
  }
}

TEST_CASE("what is rounded down bounds what is rounded up") {
  // 69 becomes 68 and 207 would become 208, but 68 rows have no more than 204 entries in 3 columns.
  const Statistics rounded = quantised(Statistics({100, 3}, sparse_format(2), 207, {{1, 69}, {2, 3}, {3, 207}}));
  CHECK(rounded.distinct(1) == 68);
  CHECK(rounded.distinct(3) == 204);
  CHECK(rounded.nnz() == 204);
}

TEST_CASE("of many modes only single ones and prefixes are asked for") {
  CHECK(quantised_sets(sparse_format(3)).size() == 7);
  CHECK(quantised_sets(sparse_format(8)).size() == 15);
  const Statistics rounded = quantised(Statistics(std::vector<std::uint64_t>(8, 20), sparse_format(8), 5000));
  CHECK(rounded.distinct(1) == 20);
  CHECK(rounded.distinct(0xff) == rounded.nnz());
}

TEST_CASE("facts keep what was counted, for memory") {
  const Statistics counted({1000, 500}, sparse_format(2), 100100);
  const OperandFacts facts = quantised(OperandFacts{3, sparse_format(2), counted, 1234567, true});
  CHECK(facts.tensor == 3);
  CHECK(facts.pinned);
  CHECK(facts.exact().nnz() == 100100);
  CHECK(facts.exact_bytes() == 1234567);
  CHECK(facts.statistics.nnz() == quantised(100100));
  CHECK(static_cast<double>(facts.bytes) == quantised(1234567));
}

}  // namespace quantise_test
