// The oracle of sparse results and the walk through all pairs, tried by themselves.
#include <doctest/doctest.h>

#include <set>

#include "oracle/pairs.h"

namespace oracle_test {

using namespace weft;
using namespace weft::test;

namespace {

Format format_of(const std::string& text) { return parse_format(text).value(); }

RandomNetwork product_of_rows() {
  RandomNetwork random;
  random.operands = {{"T0", {2, 3}, format_of("ss"), false, {{{0, 0}, 1}, {{0, 1}, 2}, {{1, 2}, 5}}},
                     {"T1", {3, 2}, format_of("ss"), false, {{{0, 1}, 2}, {{1, 1}, -1}}}};
  random.factors = {{0, {"i", "k"}}, {1, {"k", "j"}}};
  random.result = {"i", "j"};
  return random;
}

}  // namespace

TEST_CASE("the structural product keeps what cancels and nothing else") {
  CHECK(structural_product(product_of_rows()) == CoordinateMap{{{0, 1}, 0}});
  // The zeros of a dense level count as stored.
  RandomNetwork blocks = product_of_rows();
  blocks.operands[1].format = format_of("sd");
  CHECK(structural_product(blocks) == CoordinateMap{{{0, 0}, 0}, {{0, 1}, 0}});
  blocks.operands[1].format = format_of("dd");
  CHECK(structural_product(blocks) == CoordinateMap{{{0, 0}, 0}, {{0, 1}, 0}, {{1, 0}, 0}, {{1, 1}, 0}});
  blocks.operands[1].format = format_of("ds");
  CHECK(structural_product(blocks) == CoordinateMap{{{0, 1}, 0}});
}

TEST_CASE("dense levels below an entry are whole, and nothing else is") {
  const CoordinateMap entries{{{1, 2, 0}, 4}};
  const std::vector<std::uint64_t> extents{2, 3, 2};
  CHECK(stored(entries, format_of("dss"), extents) == entries);
  CHECK(stored(entries, format_of("dsd"), extents) == CoordinateMap{{{1, 2, 0}, 4}, {{1, 2, 1}, 0}});
  CHECK(stored(entries, format_of("ssd:2,0,1"), extents) ==
        CoordinateMap{{{1, 0, 0}, 0}, {{1, 1, 0}, 0}, {{1, 2, 0}, 4}});
  CHECK(stored(entries, format_of("ddd"), extents).size() == 12);
  CHECK(stored({}, format_of("sdd"), extents).empty());
  CHECK(stored({}, format_of("ddd"), extents).size() == 12);
  CHECK(stored({{{}, 3}}, format_of(""), {}) == CoordinateMap{{{}, 3}});
  CHECK(stored({}, format_of(""), {}) == CoordinateMap{{{}, 0}});
}

TEST_CASE("a result like an operand has all its entries") {
  RequestedNetwork requested{product_of_rows(), std::nullopt, "T1"};
  requested.random.operands[0].extents = {3, 3};
  requested.random.operands.push_back({"T2", {2, 3}, format_of("ss"), false, {{{1, 0}, 7}}});
  requested.random.factors = {{2, {"j", "i"}}, {1, {"i", "j"}}};
  requested.random.result = {"j", "i"};
  CHECK(expected_entries(requested, format_of("ss")) == CoordinateMap{{{1, 0}, 14}, {{1, 1}, 0}});
  CHECK(lends_pattern(requested.random) == "T2");
}

TEST_CASE("differences are in structure and in values") {
  const CoordinateMap one{{{0}, 1}, {{2}, 0}};
  CHECK(structural_differences(one, one) == "");
  CHECK(structural_differences({{{0}, 1}}, one) == "R(2) is absent instead of 0");
  CHECK(structural_differences(one, {{{0}, 3}, {{2}, 0}}) == "R(0) is 1 instead of 3");
  CHECK(structural_differences(one, {{{0}, 1}}) == "R(2) is 0 instead of absent");
}

TEST_CASE("a few hundred pairs have every contraction") {
  CHECK(operand_formats(0).size() == 1);
  CHECK(operand_formats(1).size() == 3);
  CHECK(operand_formats(2).size() == 7);
  std::set<std::string> texts;
  for (const Format& format : operand_formats(4)) {
    CHECK(parse_format(format.text()).has_value());
    texts.insert(format.text());
  }
  CHECK(texts.size() == operand_formats(4).size());

  std::set<std::vector<std::size_t>> shapes;
  std::set<std::string> kinds;
  std::size_t with_pattern = 0;
  for (std::uint64_t number = 1; number <= 600; ++number) {
    const RequestedNetwork requested = pair(number);
    const RandomNetwork& random = requested.random;
    shapes.insert({random.operands[0].extents.size(), random.operands[1].extents.size(), random.result.size()});
    if (requested.format)
      for (const Level& level : requested.format->levels) kinds.insert(std::string(1, letter(level.kind)));
    with_pattern += requested.pattern ? 1 : 0;
    CHECK(network_of(random).has_value());
  }
  std::set<std::vector<std::size_t>> all;
  for (const ContractedPair& c : contracted_pairs())
    all.insert({c.kept + c.left + c.summed, c.kept + c.right + c.summed, c.kept + c.left + c.right});
  CHECK(shapes == all);
  CHECK(kinds == std::set<std::string>{"d", "s", "u", "q", "h", "b"});
  CHECK(with_pattern > 5);
}

}  // namespace oracle_test
