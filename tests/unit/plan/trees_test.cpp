#include "engine/plan/space/trees.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "engine/plan/schedule/check.h"
#include "unit/plan/networks.h"

namespace trees_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("all trees with nodes of two and more children are there, each once") {
  const std::size_t expected[] = {1, 1, 4, 26, 236, 2752};
  for (std::size_t leaves = 1; leaves <= 6; ++leaves) {
    const std::vector<ContractionTree> trees = all_trees(leaves);
    CHECK(trees.size() == expected[leaves - 1]);
    std::vector<std::string> names;
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) names.push_back(std::string(1, static_cast<char>('A' + leaf)));
    std::set<std::string> texts;
    for (const ContractionTree& tree : trees) {
      REQUIRE(check(tree, leaves).has_value());
      texts.insert(print(canonical(tree), names));
    }
    CHECK(texts.size() == trees.size());
  }
}

TEST_CASE("of the trees of six factors the likeliest are looked at, and all of them for a proof") {
  OwnedProblem made = problem("A:ij B:jk C:kl D:lm E:mn F:no -> io",
                         {{'i', 9}, {'j', 9}, {'k', 9}, {'l', 9}, {'m', 9}, {'n', 9}, {'o', 9}});
  const TreeChoice some = choose_trees(made);
  CHECK_FALSE(some.complete);
  CHECK(some.trees.size() < 2752);
  made.options.prove = true;
  const TreeChoice all = choose_trees(made);
  CHECK(all.complete);
  CHECK(all.trees.size() == 2752);
  CHECK(std::equal(some.trees.begin(), some.trees.end(), all.trees.begin()));
  const Plan proven = planned(made);
  CHECK(proven.optimal == Optimal::all);
  CHECK(proven.trees == 2752);
  CHECK(proven.trees_bounded > 2000);
}

TEST_CASE("pinned trees are the only ones; an open root is refined around its groups") {
  OwnedProblem made = problem("A:ij B:jk C:kl D:lm -> im", {{'i', 9}, {'j', 9}, {'k', 9}, {'l', 9}, {'m', 9}});
  const std::vector<std::string> names{"A", "B", "C", "D"};
  CHECK(choose_trees(made).trees.size() == 26);
  Term& term = made.network.assignments[0].terms[0];
  term.pinned = *parse_tree("((A * B) * C * D)", names);
  const TreeChoice around = choose_trees(made);
  CHECK(around.trees.size() == 4);
  CHECK(around.complete);
  for (const ContractionTree& tree : around.trees) CHECK(print(tree, names).find("(A * B)") != std::string::npos);
  term.open = false;
  CHECK(choose_trees(made).trees == std::vector<ContractionTree>{term.pinned});
  made.options.tree = *parse_tree("(A * B * C * D)", names);
  CHECK(choose_trees(made).trees ==
        std::vector<ContractionTree>{*made.options.tree});
}

TEST_CASE("a long chain is contracted in the order of its smallest intermediates") {
  // Matrices 2 x 50 x 50 x … x 50: from the left every intermediate has a row of 2.
  std::map<char, std::uint64_t> extents{{'a', 2}};
  std::string text;
  for (char letter = 'a'; letter < 'i'; ++letter) {
    extents[static_cast<char>(letter + 1)] = 50;
    text += std::string("M") + letter + ":" + letter + static_cast<char>(letter + 1) + " ";
  }
  const OwnedProblem made = problem(text + "-> ai", extents);
  const TreeChoice choice = choose_trees(made);
  CHECK_FALSE(choice.complete);
  REQUIRE_FALSE(choice.trees.empty());
  CHECK(print(choice.trees.front(), {"Ma", "Mb", "Mc", "Md", "Me", "Mf", "Mg", "Mh"}) ==
        "(((((((Ma * Mb) * Mc) * Md) * Me) * Mf) * Mg) * Mh)");
  for (const ContractionTree& tree : choice.trees) CHECK(check(tree, 8).has_value());
}

TEST_CASE("sixteen factors, connected or not, have trees") {
  std::string text;
  std::map<char, std::uint64_t> extents;
  for (char letter = 'a'; letter < 'q'; ++letter) {
    extents[letter] = 3;
    text += std::string("V") + letter + ":" + letter + " ";
  }
  const OwnedProblem apart = problem(text + "-> ", extents);
  const TreeChoice choice = choose_trees(apart);
  REQUIRE_FALSE(choice.trees.empty());
  for (const ContractionTree& tree : choice.trees) CHECK(check(tree, 16).has_value());
}

}  // namespace trees_test
