// What layouts claim: Z3's verdicts beside those of all small coordinates and places, and with a property left out.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "engine/prove/layout_claims.h"
#include "engine/prove/settled_claim.h"
#include "engine/prove/smt.h"
#include "weft/layout.h"

namespace weft::layout_claims_test {
namespace {

const std::vector<std::string> named = {"csr",     "csc",  "dcsr",  "coo",     "bcsr(2,3)", "bcsr(3,1)", "bcsr(2,3,unaligned)", "lower",
                                        "upper",   "band(1,2)", "dia", "dia(4)", "ell",      "ell(3)",    "sell(2)",             "nm(2,4)",
                                        "vbl",     "skyline",   "csb(2)",
                                        "(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)",
                                        "(i,j) -> (*:d, i/2:q, *:d, j:q, i%2:d)",
                                        "(i,j) -> (*:d, i:q, j:s)",
                                        "(i,j) -> (a:s, b:s, i-a:d(2), j-b:d(3))",
                                        "(i,j) -> (a:s, i-a:v, b:s, j-b:v)",
                                        "(i,j) -> (*:d, i:q, b:s, j-b:d(2))"};

Placement placed(const std::string& text, const std::vector<std::uint64_t>& extents) {
  const auto layout = parse_layout(text);
  REQUIRE_MESSAGE(layout, (layout ? "" : layout.error().message));
  auto placement = Placement::of(*layout, extents, "B");
  REQUIRE_MESSAGE(placement, (placement ? "" : placement.error().message));
  return std::move(*placement);
}

SettledClaim verdict_on(Claim claim) {
  static Smt smt = *Smt::create();
  auto proof = settled(std::move(claim), smt);
  REQUIRE_MESSAGE(proof, (proof ? "" : proof.error().message));
  return std::move(*proof);
}

const Claim* claim_of(const std::vector<Claim>& claims, std::string_view kind) {
  const auto found = std::ranges::find(claims, kind, &Claim::kind);
  return found == claims.end() ? nullptr : &*found;
}

/// By looking at each coordinate.
bool all_have_places(const Placement& placement) {
  std::vector<std::uint64_t> levels(placement.levels().size());
  for (std::uint64_t i = 0; i < placement.extents()[0]; ++i) {
    for (std::uint64_t j = 0; j < placement.extents()[1]; ++j)
      if (!placement.place(std::vector{i, j}, levels)) return false;
  }
  return true;
}

/// By looking at each place.
bool all_are_coordinates(const Placement& placement) {
  const std::size_t order = placement.levels().size();
  std::vector<std::int64_t> values(order);
  std::vector<std::uint64_t> levels(order), coordinates(2);
  const auto each = [&](const auto& next, std::size_t l) -> bool {
    if (l == order) return placement.coordinates(levels, coordinates);
    const ValueRange here = placement.levels()[l].at(values);
    for (values[l] = here.least; values[l] <= here.most; ++values[l]) {
      const std::int64_t first = placement.levels()[l].low ? here.least : placement.levels()[l].range.least;
      levels[l] = static_cast<std::uint64_t>(values[l] - first);
      if (!next(next, l + 1)) return false;
    }
    return true;
  };
  return each(each, 0);
}

}  // namespace

TEST_CASE("claims of layouts agree with all coordinates and places") {
  std::size_t refuted = 0;
  for (const std::string& text : named) {
    for (const std::vector<std::uint64_t>& extents : {std::vector<std::uint64_t>{1, 1}, {6, 6}, {7, 5}, {4, 9}, {9, 1}, {1, 9}}) {
      CAPTURE(text);
      CAPTURE(extents[0]);
      const Placement placement = placed(text, extents);
      const std::vector<Claim> claims = layout_claims(placement);
      CHECK(verdict_on(*claim_of(claims, "apart")).verdict == Verdict::proven);
      CHECK(verdict_on(*claim_of(claims, "once")).verdict == Verdict::proven);
      const Claim* const total = claim_of(claims, "total");
      CHECK((total == nullptr) == placement.depends_on_data());
      if (placement.depends_on_data()) continue;
      const SettledClaim every = verdict_on(*total);
      CHECK((every.verdict == Verdict::proven) == all_have_places(placement));
      CHECK((!placement.total() || all_have_places(placement)));
      const SettledClaim within = verdict_on(*claim_of(claims, "within"));
      CHECK((within.verdict == Verdict::proven) == all_are_coordinates(placement));
      for (const SettledClaim* const proof : {&every, &within}) {
        CHECK(proof->counterexample.empty() == (proof->verdict == Verdict::proven));
        refuted += proof->verdict == Verdict::refuted ? 1 : 0;
      }
    }
  }
  CHECK(refuted > 10);
}

TEST_CASE("without a property of its arrays a layout has coordinates with two places") {
  const auto once = [](const std::string& text, const AssumedOfPlaces& assumed) {
    const std::vector<Claim> claims = layout_claims(placed(text, {8, 8}), assumed);
    return verdict_on(*claim_of(claims, "once"));
  };
  const std::vector<std::pair<std::string, AssumedOfPlaces>> left_out = {
      {"bcsr(2,3,unaligned)", {.starts_lie_apart = false}}, {"vbl", {.starts_lie_apart = false}}, {"skyline", {.one_start = false}},
      {"ell", {.chains_rise = false}},                      {"sell(2)", {.chains_rise = false}},  {"nm(2,4)", {.chains_rise = false}},
      {"(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)", {.chains_rise = false}},
      {"(i,j) -> (*:d, i/2:q, *:d, j:q, i%2:d)", {.chains_rise = false}},
      {"(i,j) -> (a:s, b:s, i-a:d(2), j-b:d(3))", {.starts_lie_apart = false}}};
  for (const auto& [text, assumed] : left_out) {
    CAPTURE(text);
    CHECK(once(text, {}).verdict == Verdict::proven);
    const SettledClaim proof = once(text, assumed);
    CHECK(proof.verdict == Verdict::refuted);
    CHECK(proof.counterexample.find(" and ") != std::string::npos);
  }
}

TEST_CASE("two coordinates that share their levels are found however far apart they are") {
  const auto layout = parse_layout("(i,j) -> (i/1000:d, i%999:d, j:s)");
  REQUIRE(layout);
  const std::vector<std::uint64_t> extents = {2000, 3};
  const SettledClaim proof = verdict_on(apart_claim(*layout, extents));
  REQUIRE(proof.verdict == Verdict::refuted);
  unsigned long i = 0, k = 0, j = 0, l = 0;
  REQUIRE(std::sscanf(proof.counterexample.c_str(), "(%lu,%lu) and (%lu,%lu)", &i, &j, &k, &l) == 4);
  CHECK(i != k);
  CHECK(i / 1000 == k / 1000);
  CHECK(i % 999 == k % 999);
  CHECK(j == l);
  // Of fewer rows none do, though weft cannot invert it.
  CHECK(verdict_on(apart_claim(*layout, std::vector<std::uint64_t>{999, 3})).verdict == Verdict::proven);
}

TEST_CASE("coordinates without a place share none") {
  const auto apart = [](std::string_view text, std::uint64_t extent) {
    return verdict_on(apart_claim(*parse_layout(text), std::vector<std::uint64_t>{extent, 2}));
  };
  CHECK(apart("(i,j) -> (j:s, i%8:d(2..4))", 10).verdict == Verdict::proven);
  CHECK(apart("(i,j) -> (j:s, i%8:d(2..4))", 11).counterexample.find("2,") != std::string::npos);
  CHECK(apart("(i,j) -> (j:s, i%8:d(j..j+1))", 8).verdict == Verdict::proven);
  CHECK(apart("(i,j) -> (j:s, i%8:d(j..j+1))", 9).verdict == Verdict::refuted);
}

TEST_CASE("claims of layouts whose bounds tell coordinates apart") {
  for (const std::string text : {"(i,j) -> (j:d, i%8:d(2..4))", "(i,j) -> ((i+1)/2:d(1), j:d)", "(i,j) -> (i/2:d(2), i%8:d(6), j:d)"}) {
    CAPTURE(text);
    const Placement placement = placed(text, {text.find("/2:d(2)") == std::string::npos ? 9U : 4U, 2});
    const std::vector<Claim> claims = layout_claims(placement);
    for (const char* kind : {"apart", "once"}) CHECK(verdict_on(*claim_of(claims, kind)).verdict == Verdict::proven);
    CHECK((verdict_on(*claim_of(claims, "total")).verdict == Verdict::proven) == all_have_places(placement));
    CHECK((verdict_on(*claim_of(claims, "within")).verdict == Verdict::proven) == all_are_coordinates(placement));
  }
}

TEST_CASE("what Z3 does not understand is an internal error, and values have signs") {
  auto smt = Smt::create();
  REQUIRE(smt);
  const auto wrong = smt->ask("(assert (= x 1))\n", {"x"});
  REQUIRE(!wrong);
  CHECK(wrong.error().kind == ErrorKind::internal);
  const auto answer =
      smt->ask("(declare-const x Int)\n(declare-const y Int)\n(assert (= x (- 7)))\n(assert (= y 9223372036854775808))\n", {"x", "y"});
  REQUIRE(answer);
  CHECK(answer->verdict == SmtVerdict::satisfiable);
  CHECK(answer->values.at("x") == "-7");
  CHECK(answer->values.at("y") == "9223372036854775808");
}

}  // namespace weft::layout_claims_test
