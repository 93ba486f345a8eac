#include "engine/lower/facts.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lowered_case.h"

namespace facts_test {

using namespace weft;
using namespace weft::test;

namespace {

Case product(std::uint64_t dense, const std::string& statement) {
  return {{{'i', 3}, {'k', 4}, {'r', dense}},
          "C ir",
          {"A ik", "B kr"},
          "  layout A ss:0,1 f64\n  layout B dd:0,1 f64\n  result C dd:0,1 f64\n  C[i,r] += A[i,k] * B[k,r]   " +
              statement + "\n"};
}

/// A(i,r) = T(i,j,k) * B(j,r) * C(k,r), T in that format, summed over k first.
Case two_products(const std::string& format) {
  return {{{'i', 3}, {'j', 4}, {'k', 5}, {'r', 8}},
          "A ir",
          {"T ijk", "C kr", "B jr"},
          "  layout T " + format + " f64\n  layout C dd:0,1 f64\n  layout B dd:0,1 f64\n"
          "  intermediate x[i,j,r] ddd:0,1,2 f64\n  result A dd:0,1 f64\n" +
              "  x[i,j,r] += T[i,j,k] * C[k,r]   loops i,j,k,r   vector r\n"
              "  A[i,r] += x[i,j,r] * B[j,r]   loops i,j,r   fused 2   vector r\n"};
}

std::string facts_of(const Case& given) {
  const std::string text = programs(given);
  std::string lines;
  for (std::size_t at = text.find("fact"); at != std::string::npos; at = text.find("fact", at + 1)) {
    lines += text.substr(at, text.find('\n', at) - at) + "\n";
  }
  return lines;
}

}  // namespace

TEST_CASE("extents of vector loops and of short dense loops inside others are facts") {
  CHECK(facts_of(product(1000, "loops i,k,r   vector r")) == "fact   extent(r) = 1000\n");
  CHECK(facts_of(product(256, "loops i,k,r")) == "fact   extent(r) = 256\n");
  CHECK(facts_of(product(257, "loops i,k,r")).empty());
  CHECK(facts_of(product(8, "loops r,i,k")).empty());  // the root loop is cut for threads
}

TEST_CASE("extents of all loops that may have the rows of a dense product are facts where columns are transposed for them") {
  // C(i,j,k) = A(i,j,l) * B(k,l): of 1000 i and 3 j the i are the rows that transposing B pays for.
  const auto product_of = [](const std::string& right, const std::string& access) {
    return Case{{{'i', 1000}, {'j', 3}, {'k', 25}, {'l', 32}},
                "C ijk",
                {"A ijl", "B " + right},
                "  layout A ddd:0,1,2 f64\n  layout B dd:0,1 f64\n  result C ddd:0,1,2 f64\n"
                "  C[i,j,k] += A[i,j,l] * B[" + access + "]   loops i,j,l,k   vector k\n"};
  };
  const std::string of_all = facts_of(product_of("kl", "k,l"));
  for (const char* fact : {"extent(i) = 1000", "extent(j) = 3", "extent(k) = 25"}) CHECK(of_all.find(fact) != std::string::npos);
  CHECK(facts_of(product_of("lk", "l,k")).find("extent(i)") == std::string::npos);
}

TEST_CASE("a product of dense matrices is looked for below loops of others too") {
  // x(i,j) = sum of B(j,k) * C(i,k) for each m, whose columns i are adjacent in x and lie apart in C: 2.35 -> 0.39 ms where 10,500 rows
  // were not known to be many.
  const Case given{{{'i', 25}, {'j', 1000}, {'k', 32}, {'m', 4}},
                   "R i",
                   {"T imj", "B jmk", "C ik"},
                   "  layout T dss:1,0,2 f64\n  layout B ddd:0,1,2 f64\n  layout C dd:0,1 f64\n  intermediate x[i,j,m] ddd:2,1,0 f64\n"
                   "  result R d:0 f64\n"
                   "  x[i,j,m] += B[j,m,k] * C[i,k]   loops m,j,k,i   vector i\n"
                   "  R[i] += T[i,m,j] * x[i,j,m]   loops m,i,j   fused 1\n"};
  const std::string found = facts_of(given);
  for (const char* fact : {"extent(i) = 25", "extent(j) = 1000"}) CHECK_MESSAGE(found.find(fact) != std::string::npos, found);
}

TEST_CASE("a row in registers is added to its target whatever the values are, so that none has to be finite") {
  CHECK(facts_of(product(8, "loops i,k,r   vector r")) == "fact   extent(r) = 8\n");
}

TEST_CASE("what is fully written before it is read, under the same filter, needs no finite operand") {
  CHECK(facts_of(two_products("sss:0,1,2")) == "fact   extent(r) = 8\n");
}

// Below a dense level a fiber may be empty: then x is absent, and zero in its place would make NaN of an infinite B. T and C are
// summed into x, and may hold what they like.
TEST_CASE("where a workspace may be absent, what it is multiplied with has to be finite, and nothing else") {
  const Case given = two_products("dds:0,1,2");
  CHECK(facts_of(given) == "fact   extent(j) = 4\nfact   extent(r) = 8\nfact   finite(B)\n");
  const auto schedule = schedule_of(given);
  REQUIRE(schedule);
  for (const bool finite : {true, false}) {
    // T, C, B, x, A as the schedule lists them.
    const auto others_hold_nan = lower(*schedule, network_of(given), {false, false, finite, false, false});
    CHECK(others_hold_nan.has_value() == finite);
  }
}

}  // namespace facts_test
