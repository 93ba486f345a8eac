#include "engine/plan/estimate/product_estimate.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "unit/plan/networks.h"

namespace weft::plan_test::product_estimate_test {

TEST_CASE("the estimate of a product of uniform matrices is near what such products have") {
  std::mt19937 random(1);
  for (const unsigned entries : {50U, 400U, 3000U}) {
    constexpr unsigned extent = 100;
    std::set<std::pair<unsigned, unsigned>> left, right, product;
    while (left.size() < entries) left.insert({random() % extent, random() % extent});
    while (right.size() < entries) right.insert({random() % extent, random() % extent});
    for (const auto& [i, k] : left) {
      for (const auto& [l, j] : right) {
        if (k == l) product.insert({i, j});
      }
    }
    const std::string count = std::to_string(entries);
    const OwnedProblem made = problem("A:ik:ss:" + count + " B:kj:ss:" + count + " -> ij", {{'i', extent}, {'j', extent}, {'k', extent}});
    const ProductEstimate estimate = result_estimate(made);
    const IndexSet all = index_set(made.network.assignments[0].result.indices);
    CAPTURE(entries);
    CHECK(estimate.distinct(all) == doctest::Approx(static_cast<double>(product.size())).epsilon(0.15));
    CHECK(estimate.fill(all) == estimate.distinct(all) / (extent * extent));
  }
}

TEST_CASE("products without sums, dense factors, empty operands and extents") {
  const auto entries = [](const char* text, std::uint64_t extent) {
    const OwnedProblem made = problem(text, {{'i', extent}, {'j', extent}, {'k', 7}, {'z', 0}});
    return result_estimate(made).distinct(index_set(made.network.assignments[0].result.indices));
  };
  CHECK(entries("A:ij:ss:30 -> ij", 10) == doctest::Approx(30));
  CHECK(entries("A:ij:ss:30 B:jk -> ijk", 10) == doctest::Approx(210));
  CHECK(entries("A:ij:ss:30 B:jk -> ij", 10) == doctest::Approx(30));
  CHECK(entries("A:ij B:jk -> ik", 10) == doctest::Approx(70));
  CHECK(entries("A:ij:ss:30 A:ij:ss:30 -> ij", 10) == doctest::Approx(30));  // a tensor is within itself
  CHECK(entries("A:ij:ss:0 B:jk -> ik", 10) == 0);
  CHECK(entries("A:ij:ss:5 b:z -> ij", 10) == 0);
}

TEST_CASE("what was counted of a result holds for its indices, and bounds what is known of some of them") {
  OwnedProblem made = problem("A:ik:ss:900 B:kj:ss:900 C:jr -> ijr", {{'i', 90}, {'j', 70}, {'k', 40}, {'r', 5}});
  const std::vector<IndexId>& indices = made.network.assignments[0].result.indices;
  const IndexSet i = one_index(indices[0]), j = one_index(indices[1]), r = one_index(indices[2]);
  const IndexSet k = index_set(made.network.assignments[0].terms[0].factors[0].indices) & ~i;
  const ProductEstimate expected = result_estimate(made);
  made.options.entries["R"] = 60;
  const ProductEstimate counted = result_estimate(made);
  CHECK(expected.distinct(i | j) > 1000);
  CHECK(counted.distinct(i | j) == 60);
  CHECK(counted.distinct(i | j | r) == 300);
  CHECK(counted.fill(i | j | r) == doctest::Approx(60.0 / (90 * 70)));
  CHECK(counted.distinct(i) == 60);
  CHECK(counted.distinct(k) == expected.distinct(k));
  CHECK(counted.distinct(i | j | k) == expected.distinct(i | j | k));
}

TEST_CASE("estimated statistics hold together") {
  const OwnedProblem made = problem("A:ik:ss:500 B:kj:ss:900 -> ij", {{'i', 90}, {'j', 70}, {'k', 40}});
  const ProductEstimate estimate = result_estimate(made);
  const std::vector<IndexId>& indices = made.network.assignments[0].result.indices;
  const Statistics statistics = estimated_statistics(estimate, made.network, indices, sparse_format(2), true);
  CHECK(statistics.nnz() == doctest::Approx(estimate.distinct(index_set(indices))));
  CHECK(statistics.distinct(1) <= 90);
  CHECK(statistics.distinct(1) <= statistics.nnz());
  CHECK(statistics.distinct(1) * 70 >= statistics.nnz());
}

}  // namespace weft::plan_test::product_estimate_test
