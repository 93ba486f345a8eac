#include "engine/plan/cost/alternative_models.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/search/interval_program.h"
#include "engine/plan/space/alternatives.h"
#include "engine/plan/space/contraction_variants.h"
#include "engine/plan/space/trees.h"
#include "unit/plan/networks.h"

namespace weft::plan_test::alternative_models_test {
namespace {

/// Two to four factors over up to five indices, some of them of one factor alone, so that sums over these may come first.
OwnedProblem drawn(std::mt19937& random) {
  const auto below = [&](unsigned count) { return static_cast<unsigned>(random() % count); };
  const std::string letters = "ijklm";
  const std::uint64_t choices[] = {1, 30, 200, 1000, 5000};
  std::map<char, std::uint64_t> extents;
  for (const char letter : letters) extents[letter] = choices[below(5)];
  std::string text;
  std::string used;
  for (unsigned factor = 0, factors = 2 + below(3); factor < factors; ++factor) {
    std::string modes;
    for (const char letter : letters)
      if (below(2) == 0) modes += letter;
    if (modes.empty()) modes = "i";
    std::ranges::shuffle(modes, random);
    used += modes;
    text += std::string(1, static_cast<char>('A' + factor)) + ":" + modes;
    if (below(4) > 0) text += ":" + std::string(modes.size(), 's') + ":" + std::to_string(1 + below(2000));
    text += " ";
  }
  std::string result;
  for (const char letter : letters)
    if (used.find(letter) != std::string::npos && below(2) == 0) result += letter;
  OwnedProblem made = problem(text + "-> " + result, extents);
  if (!result.empty() && below(2) == 0) made.options.result_formats["R"] = *parse_format(std::string(result.size(), 's'));
  made.options.calls = below(2) == 0 ? 1 : 1000;
  return made;
}

/// What a search looks at of a problem, with no, one or two copies for lookups, in random order.
std::vector<Contractions> looked_at(const OwnedProblem& given, std::mt19937& random) {
  constexpr std::size_t most_trees = 6;
  constexpr std::size_t most = 40;
  std::vector<Contractions> all;
  std::vector<ContractionTree> trees = choose_trees(given).trees;
  std::ranges::shuffle(trees, random);
  trees.resize(std::min(trees.size(), most_trees));
  for (const ContractionTree& tree : trees)
    for (const ResultFormat& format : result_formats(given))
      for (const std::vector<std::uint32_t>& order : step_orders(tree, 2))
        for (Contractions& one : contraction_variants(contractions_of(given.network, tree, order, given.operands, format), given, false))
          all.push_back(std::move(one));
  for (std::size_t number = 0; number < all.size() && all.size() < 4 * most; ++number) {
    const Contractions from = all[number];
    for (std::size_t step = 0; step < from.steps.size(); ++step)
      for (std::size_t factor = 0; factor < from.steps[step].factors.size(); ++factor)
        if (auto copied = with_mark_array(from, step, factor)) all.push_back(std::move(*copied));
  }
  std::ranges::shuffle(all, random);
  all.resize(std::min(all.size(), most));
  return all;
}

std::string text_of(const Contractions& contractions, const Network& network) {
  return print(without_loops(contractions), network);
}

}  // namespace

TEST_CASE("the models of an alternative are what they are without all others that a search has looked at before") {
  std::size_t compared = 0;
  std::size_t copies = 0;
  for (const unsigned seed : seeds(40)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const OwnedProblem given = drawn(random);
    CAPTURE(print(given.network));
    const PathSpace space(given);
    AlternativeModels shared(given);
    for (const Contractions& contractions : looked_at(given, random)) {
      PathChoice choice;
      if (random() % 2 == 0) choice.converted = space.converted_in(contractions) & random();
      const AccessPaths paths = space.paths(contractions, choice);
      const auto nests = [&](AlternativeModels& models) {
        const PricedOrder order = models.order_of(contractions);
        const std::vector<std::uint32_t> numbers = models.numbers(order, paths);
        const CostModel model = models.model(order, numbers);
        return IntervalProgram(model, true, &models.table(), numbers).solve();
      };
      AlternativeModels alone(given);
      const auto expected = nests(alone);
      const auto found = nests(shared);
      CAPTURE(text_of(contractions, given.network));
      REQUIRE(expected.has_value() == found.has_value());
      if (!expected) continue;
      CHECK(found->ns == doctest::Approx(expected->ns).epsilon(1e-12));
      ++compared;
      for (std::size_t step = 0; step < contractions.steps.size(); ++step) copies += is_mark_array_copy(contractions, step);
    }
  }
  CHECK(compared >= networks(400));
  CHECK(copies >= networks(100));
}

}  // namespace weft::plan_test::alternative_models_test
