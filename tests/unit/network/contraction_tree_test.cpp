#include "engine/network/contraction_tree.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

namespace contraction_tree_test {

using namespace weft;

namespace {

using Names = std::vector<std::string>;

std::string error_of(const std::string& text, const Names& names) {
  const auto tree = parse_tree(text, names);
  REQUIRE(!tree);
  CHECK(tree.error().kind == ErrorKind::input);
  return tree.error().message;
}

std::string error_of(const ContractionTree& tree, std::size_t factors) {
  const auto good = check(tree, factors);
  REQUIRE(!good);
  CHECK(good.error().kind == ErrorKind::input);
  return good.error().message;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A random tree over these factors in post-order; returns the number of its root.
std::uint32_t grow(ContractionTree& tree, const std::vector<std::uint32_t>& factors, std::mt19937& random) {
  if (factors.size() == 1) {
    tree.nodes.push_back({{}, factors.front()});
  } else {
    const std::size_t parts = 2 + random() % (factors.size() - 1);
    std::vector<std::vector<std::uint32_t>> split(parts);
    for (std::size_t factor = 0; factor < factors.size(); ++factor) {
      split[factor < parts ? factor : random() % parts].push_back(factors[factor]);
    }
    ContractionTree::Node node;
    for (const auto& part : split) node.children.push_back(grow(tree, part, random));
    tree.nodes.push_back(node);
  }
  return static_cast<std::uint32_t>(tree.nodes.size() - 1);
}

}  // namespace

TEST_CASE("flat trees") {
  CHECK(flat_tree(0).nodes.empty());
  CHECK(flat_tree(1) == ContractionTree{{{{}, 0}}});
  CHECK(flat_tree(3) == ContractionTree{{{{}, 0}, {{}, 1}, {{}, 2}, {{0, 1, 2}, 0}}});
  for (std::size_t factors = 0; factors < 20; ++factors) CHECK(check(flat_tree(factors), factors));
}

TEST_CASE("print and parse") {
  const Names names{"T", "C", "B"};
  const ContractionTree nested{{{{}, 0}, {{}, 1}, {{0, 1}, 0}, {{}, 2}, {{2, 3}, 0}}};
  CHECK(print(nested, names) == "((T * C) * B)");
  CHECK(print(flat_tree(3), names) == "(T * C * B)");
  CHECK(print(flat_tree(1), {"T"}) == "T");
  CHECK(print(flat_tree(0), {}) == "");
  for (const char* text : {"((T * C) * B)", "(T*C)*B", " ( ( (T) *(C) ) * ((B)) ) ", "\t(T * C)\n* B"}) {
    const auto tree = parse_tree(text, names);
    REQUIRE(tree);
    CHECK(*tree == nested);
  }
  CHECK(parse_tree("T * C * B", names) == flat_tree(3));
  CHECK(parse_tree("(((T)))", {"T"}) == flat_tree(1));
  CHECK(parse_tree(" ", {}) == flat_tree(0));
}

TEST_CASE("a repeated name stands for its occurrences in order, numbered where the order differs") {
  const Names names{"K", "K", "W"};
  const ContractionTree in_order{{{{}, 0}, {{}, 2}, {{0, 1}, 0}, {{}, 1}, {{2, 3}, 0}}};
  CHECK(parse_tree("(K * W) * K", names) == in_order);
  CHECK(print(in_order, names) == "((K * W) * K)");
  const ContractionTree swapped{{{{}, 1}, {{}, 2}, {{0, 1}, 0}, {{}, 0}, {{2, 3}, 0}}};
  CHECK(print(swapped, names) == "((K.2 * W) * K.1)");
  CHECK(parse_tree("((K.2 * W) * K.1)", names) == swapped);
  CHECK(parse_tree("(K.2 * W) * K", names) == swapped);
}

TEST_CASE("errors of a tree's text") {
  const Names names{"T", "C", "C"};
  CHECK(error_of("T * C", names) ==
        "the contraction tree lacks C.2: every factor stands in it once\n  T * C\n       ^");
  CHECK(error_of("", names) == "the contraction tree ends where a factor or '(' should stand\n  \n  ^");
  CHECK(error_of("(T * C) * X", names) ==
        "X in the contraction tree is not a factor of the expression\n  (T * C) * X\n            ^");
  CHECK(error_of("T * T * C * C", names) ==
        "T is used too often in the contraction tree: it occurs once in the expression\n  T * T * C * C\n      ^");
  CHECK(contains(error_of("T * C * C * C", names), "C is used too often in the contraction tree: it occurs 2 times"));
  CHECK(contains(error_of("T * C.3 * C", names), "there is no C.3: C occurs 2 times"));
  CHECK(contains(error_of("T * C.1 * C.1", names), "C.1 is used twice"));
  CHECK(contains(error_of("T * C.0 * C", names), "from 1"));
  CHECK(contains(error_of("T * C.99999999999999999999999 * C", names), "from 1"));
  CHECK(error_of("(T * C * C", names) == "'(' is not closed\n  (T * C * C\n  ^         ^");
  CHECK(contains(error_of("T * C * C)", names), "unexpected ')'"));
  CHECK(contains(error_of("T C C", names), "unexpected 'C'"));
  CHECK(contains(error_of("T * * C", names), "unexpected '*' where a factor or '(' should stand"));
  CHECK(contains(error_of("T * ()", names), "unexpected ')'"));
  CHECK(contains(error_of("T * C *", names), "ends where"));
  CHECK(contains(error_of("T \xc3\xa9", names), "(U+00E9)"));
  CHECK(contains(error_of("T", {}), "T in the contraction tree is not a factor"));
}

TEST_CASE("nesting is limited, not the stack") {
  const std::string open(100000, '(');
  CHECK(contains(error_of(open + "T" + std::string(100000, ')'), {"T"}), "nested deeper than 256"));
  CHECK(parse_tree(std::string(256, '(') + "T" + std::string(256, ')'), {"T"}) == flat_tree(1));
}

TEST_CASE("check names what is wrong") {
  CHECK(contains(error_of(ContractionTree{}, 1), "factor 0 is missing"));
  CHECK(contains(error_of(flat_tree(2), 3), "factor 2 is missing"));
  CHECK(contains(error_of(flat_tree(3), 2), "leaf 2 is factor 2 of 2"));
  CHECK(contains(error_of(ContractionTree{{{{}, 0}, {{}, 0}, {{0, 1}, 0}}}, 2), "factor 0 is in two leaves"));
  CHECK(contains(error_of(ContractionTree{{{{}, 0}, {{0}, 0}}}, 1), "node 1 contracts a single child"));
  CHECK(
      contains(error_of(ContractionTree{{{{}, 0}, {{0, 2}, 0}, {{}, 1}}}, 2), "child 2 does not stand before node 1"));
  CHECK(contains(error_of(ContractionTree{{{{}, 0}, {{}, 1}, {{0, 0}, 0}}}, 2), "node 0 has two parents"));
  CHECK(contains(error_of(ContractionTree{{{{}, 0}, {{}, 1}}}, 2), "node 0 has no parent"));
}

TEST_CASE("canonical forms") {
  const ContractionTree swapped{{{{}, 2}, {{}, 1}, {{}, 0}, {{1, 2}, 0}, {{0, 3}, 0}}};
  REQUIRE(check(swapped, 3));
  CHECK(print(canonical(swapped), {"A", "B", "C"}) == "((A * B) * C)");
  CHECK(canonical(flat_tree(0)) == flat_tree(0));
  // The factor of an inner node means nothing.
  ContractionTree noisy = flat_tree(2);
  noisy.nodes.back().factor = 1;
  CHECK(canonical(noisy) == flat_tree(2));
}

TEST_CASE("random trees: check, print and parse, canonical") {
  const char* chosen = std::getenv("WEFT_SEED");
  const unsigned first = chosen ? static_cast<unsigned>(std::strtoul(chosen, nullptr, 10)) : 1;
  for (unsigned seed = first; seed < first + (chosen ? 1 : 2000); ++seed) {
    INFO("to repeat: WEFT_SEED=", seed, " test_network -tc='random trees*'");
    std::mt19937 random(seed);
    const std::size_t factors = 1 + random() % 16;
    Names names;
    for (std::size_t factor = 0; factor < factors; ++factor)
      names.push_back(std::string(1, static_cast<char>('A' + random() % 5)));
    std::vector<std::uint32_t> leaves(factors);
    std::iota(leaves.begin(), leaves.end(), 0U);
    std::shuffle(leaves.begin(), leaves.end(), random);
    ContractionTree tree;
    grow(tree, leaves, random);
    REQUIRE(check(tree, factors));
    const auto parsed = parse_tree(print(tree, names), names);
    REQUIRE(parsed);
    CHECK(*parsed == tree);

    // Shuffling children keeps the canonical form.
    ContractionTree shuffled = tree;
    for (ContractionTree::Node& node : shuffled.nodes) std::shuffle(node.children.begin(), node.children.end(), random);
    const ContractionTree form = canonical(tree);
    REQUIRE(check(form, factors));
    CHECK(canonical(shuffled) == form);
    CHECK(canonical(form) == form);
  }
}

}  // namespace contraction_tree_test
