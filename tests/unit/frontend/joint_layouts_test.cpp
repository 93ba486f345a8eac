// The joint choice of layouts, over prices that stand in a table: which candidates are planned, which is chosen, what a proof says.
#include "frontend/joint_layouts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

namespace joint_layouts_test {

using namespace weft;

namespace {

constexpr double us = 1e3;

/// "A=1 B=2": A in its first proposed layout, B in its second. Their formats are bcsr(2,2), bcsr(3,3), ….
std::string name_of(const Layouts& layouts) {
  std::string name;
  for (const auto& [operand, format] : layouts) {
    const std::string text = format.text();
    name += (name.empty() ? "" : " ") + operand + "=" + std::to_string(text[text.find('/') + 1] - '1');
  }
  return name;
}

/// By candidate; those that are not in the table take ten times as long as all as given.
struct Prices {
  std::map<std::string, double> us_of = {};     // least that any schedule takes
  std::map<std::string, double> found_us = {};  // what a search finds, where that is more
  std::map<std::string, double> bound_us = {};
  std::set<std::string> no_room = {}, unproven = {};
  std::set<std::string> sparse = {};  // over these a result is expected to be sparse, so that it would store places of blocks
  double given_us = 100;
};

struct Table : CandidatePlanner, Prices {
  explicit Table(Prices prices = {}) : Prices(std::move(prices)) {}

  std::vector<std::string> read = {}, planned_ones = {}, asked = {};
  std::vector<double> shares = {};

  double least_us(const std::string& name) const {
    const auto place = us_of.find(name);
    return place != us_of.end() ? place->second : name.empty() ? given_us : 10 * given_us;
  }
  Expected<std::vector<BoundedReading>> readings(const Layouts& layouts) override {
    const std::string name = name_of(layouts);
    read.push_back(name);
    if (no_room.contains(name)) return std::vector<BoundedReading>();
    const auto bound = bound_us.find(name);
    return std::vector<BoundedReading>{{{}, {}, bound == bound_us.end() ? 0 : bound->second * us}};
  }
  Expected<std::optional<PlannedReading>> priced(const std::string& name, double ns, double below_ns) {
    PlannedReading one;
    one.plan_ns = ns;
    one.at_least = ns >= below_ns;
    one.proven = !unproven.contains(name);
    one.changes_results = sparse.contains(name);
    return one;
  }
  Expected<std::optional<PlannedReading>> planned(const Layouts& layouts, const Reading&, double below_ns) override {
    const std::string name = name_of(layouts);
    planned_ones.push_back(name);
    const auto found = found_us.find(name);
    return priced(name, us * (found == found_us.end() ? least_us(name) : found->second), below_ns);
  }
  Expected<std::optional<PlannedReading>> proven(const Layouts& layouts, const Reading&, double below_ns, double share) override {
    asked.push_back(name_of(layouts));
    shares.push_back(share);
    return priced(asked.back(), us * least_us(asked.back()), below_ns);
  }
};

std::vector<ProposedLayouts> proposed(std::size_t of_a, std::size_t of_b, double conversion_us = 0, double worth = 0.95) {
  std::vector<ProposedLayouts> all;
  for (const auto& [operand, count] : {std::pair{"A", of_a}, std::pair{"B", of_b}}) {
    if (count == 0) continue;
    ProposedLayouts& one = all.emplace_back(ProposedLayouts{operand, {}});
    for (std::size_t number = 1; number <= count; ++number) {
      const std::string side = std::to_string(number + 1);
      one.layouts.push_back({*parse_format("bcsr(" + side + "," + side + ")"), "blocks of " + side, conversion_us * us, worth});
    }
  }
  return all;
}

PlannedReading given(const Table& table) {
  PlannedReading one;
  one.plan_ns = us * (table.found_us.contains("") ? table.found_us.at("") : table.given_us);
  return one;
}

struct Chosen {
  std::string layouts;
  JointChoice choice;
};
Chosen chosen(Table& table, std::vector<ProposedLayouts> layouts, double calls = 1e6, bool proves = false, std::size_t most_planned = 64) {
  JointLayouts joint(table, std::move(layouts), given(table), calls, proves, most_planned);
  REQUIRE(joint.choose());
  if (proves) REQUIRE(joint.prove());
  JointChoice choice = std::move(joint).chosen();
  const std::string name = name_of(choice.layouts);
  return {name, std::move(choice)};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a pair of layouts is chosen where neither pays alone") {
  Table table({.us_of = {{"A=1", 105}, {"B=1", 104}, {"A=1 B=1", 50}}});
  const Chosen pair = chosen(table, proposed(1, 1));
  CHECK(pair.layouts == "A=1 B=1");
  CHECK(pair.choice.reason == "A is stored in blocks of 2 and B is stored in blocks of 2, 50 us a call, conversion included, "
                              "instead of 100 us; not A in blocks of 2, 100 us a call or more; "
                              "not B in blocks of 2, 100 us a call or more");
}

TEST_CASE("layouts over which a result would be sparse are not chosen, however cheap, and nothing is claimed of them") {
  Table table({.us_of = {{"A=1", 20}, {"A=2", 60}}, .sparse = {"A=1"}});
  for (const bool proves : {false, true}) {
    CAPTURE(proves);
    const Chosen one = chosen(table, proposed(2, 0), 1e6, proves);
    CHECK(one.layouts == "A=2");
    CHECK(contains(one.choice.reason, "; not blocks of 2, over which no plan gives the same results"));
    if (proves) CHECK(contains(one.choice.claim, "any of 1 other choice of layouts"));
  }
  Table both({.us_of = {{"A=1", 20}, {"B=1", 30}, {"A=1 B=1", 10}}, .sparse = {"A=1", "A=1 B=1"}});
  CHECK(chosen(both, proposed(1, 1)).layouts == "B=1");
}

TEST_CASE("what is best for one operand alone does not keep another from what is best together") {
  Table table({.us_of = {{"A=1", 70}, {"A=2", 80}, {"B=1", 90}, {"A=1 B=1", 68}, {"A=2 B=1", 40}}});
  CHECK(chosen(table, proposed(2, 1)).layouts == "A=2 B=1");
}

TEST_CASE("conversions are paid, and what they alone take too long for is not even read") {
  Table table({.us_of = {{"A=1", 60}, {"B=1", 60}, {"A=1 B=1", 8}}});
  CHECK(chosen(table, proposed(1, 1, 45)).layouts.empty());
  CHECK(table.read == std::vector<std::string>{"A=1", "B=1", "A=1 B=1"});
  table.read.clear();
  CHECK(chosen(table, proposed(1, 1, 60)).layouts.empty());
  CHECK(table.read == std::vector<std::string>{"A=1", "B=1"});
  CHECK(chosen(table, proposed(1, 1, 40)).layouts == "A=1 B=1");
}

TEST_CASE("candidates are planned in the order of their bounds, and not where a bound is above the best") {
  Table table({.us_of = {{"A=1", 60}, {"A=2", 50}, {"A=3", 55}}, .bound_us = {{"A=1", 40}, {"A=2", 20}, {"A=3", 54}}});
  const Chosen one = chosen(table, proposed(3, 0));
  CHECK(one.layouts == "A=2");
  CHECK(table.planned_ones == std::vector<std::string>{"A=2", "A=1"});
  CHECK(contains(one.choice.reason, "; not blocks of 4, 54 us a call or more"));
  CHECK(contains(one.choice.reason, "; not blocks of 2, 52.6 us a call or more"));
}

TEST_CASE("prices that are nearer to each other than they may be off leave operands as they are, and as is preferred") {
  Table table({.us_of = {{"A=1", 96}}});
  const Chosen as_given = chosen(table, proposed(1, 0));
  CHECK(as_given.layouts.empty());
  CHECK(as_given.choice.reason == "A stays as given, 100 us a call; not blocks of 2, 96 us a call, within 5 % of what was found before");
  table.us_of = {{"A=1", 80}, {"A=2", 77}};
  const Chosen first = chosen(table, proposed(2, 0));
  CHECK(first.layouts == "A=1");
  CHECK(contains(first.choice.reason, "not blocks of 3, 77 us a call, within 5 % of what was found before"));
  // The least price decides where it is to be proven that there is none below it.
  CHECK(chosen(table, proposed(2, 0), 1e6, true).layouts == "A=2");
}

TEST_CASE("pairs are planned as far as that may save what it takes, and memory has to have room") {
  Table table({.us_of = {{"A=1", 80}, {"A=1 B=1", 50}}});
  const Chosen few = chosen(table, proposed(1, 1), 10);
  CHECK(few.layouts == "A=1");
  CHECK(contains(few.choice.reason, "; 1 more was not planned, which could take longer than it saves"));
  table.no_room = {"A=1 B=1"};
  const Chosen no_room = chosen(table, proposed(1, 1));
  CHECK(no_room.layouts == "A=1");
  CHECK(contains(no_room.choice.reason, "not A in blocks of 2 and B in blocks of 2, which memory has no room for"));
}

TEST_CASE("a proof finds the layout that the search did not") {
  Table table({.us_of = {{"A=1", 80}, {"A=2", 60}, {"B=1", 70}, {"A=2 B=1", 40}}});
  // A search that may plan nothing takes what is given.
  const Chosen unplanned = chosen(table, proposed(2, 1), 1e6, false, 0);
  CHECK(unplanned.layouts.empty());
  const Chosen proven = chosen(table, proposed(2, 1), 1e6, true, 0);
  CHECK(proven.layouts == "A=2 B=1");
  CHECK(proven.choice.settled);
  CHECK(proven.choice.claim == "Nor does a schedule over any of 5 other choices of layouts and ways to read them, conversions included: "
                               "0 by their bounds, 5 by a proof");
  // One that prices a layout wrongly is put right, too: by what is cheaper below it, or elsewhere.
  table.found_us = {{"A=2 B=1", 90}, {"B=1", 65}};
  CHECK(chosen(table, proposed(2, 1)).layouts == "A=2");
  CHECK(chosen(table, proposed(2, 1), 1e6, true).layouts == "A=2 B=1");
}

TEST_CASE("a proof rules out by bounds, shares its effort, and says what is open") {
  Table table({.us_of = {{"A=1", 50}, {"A=2", 60}, {"A=3", 60}, {"A=4", 70}}, .bound_us = {{"A=4", 51}}});
  const Chosen proven = chosen(table, proposed(4, 0), 1e6, true);
  CHECK(proven.layouts == "A=1");
  CHECK(table.asked == std::vector<std::string>{"A=1", "", "A=2", "A=3"});
  CHECK(table.shares == std::vector<double>{1, 1.0 / 3, 1.0 / 3, 1.0 / 3});
  CHECK(proven.choice.claim == "Nor does a schedule over any of 4 other choices of layouts and ways to read them, conversions included: "
                               "1 by their bounds, 3 by a proof");
  table.unproven = {"A=2", "A=3"};
  const Chosen open = chosen(table, proposed(4, 0), 1e6, true);
  CHECK(!open.choice.settled);
  CHECK(open.choice.claim == "2 of 4 other choices of layouts and ways to read them were not proven to take longer");
  // Nothing is proposed: nothing is said.
  const Chosen alone = chosen(table, {}, 1e6, true);
  CHECK(alone.choice.settled);
  CHECK(alone.choice.claim.empty());
  CHECK(alone.choice.reason.empty());
}

TEST_CASE("more choices than are looked at leave a proof open") {
  Table table;
  const Chosen many = chosen(table, proposed(9, 9), 1e6, true);  // 99 others, of which 18 lay out one operand
  CHECK(many.choice.settled);
  const Chosen few = chosen(table, proposed(9, 9), 10, true);
  CHECK(!few.choice.settled);
  CHECK(contains(few.choice.claim, "17 of 99 other choices of layouts"));
  CHECK(contains(few.choice.reason, "; 17 more were not planned"));
}

TEST_CASE("whatever the prices and bounds are, a proof ends with the least, and a search near it") {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](unsigned most) { return static_cast<double>(random() % most); };
    Table table;
    double least = table.given_us;
    const std::size_t of_a = 1 + random() % 3, of_b = random() % 4;
    const double conversion = below(30);
    for (std::size_t a = 0; a <= of_a; ++a) {
      for (std::size_t b = 0; b <= of_b; ++b) {
        if (a + b == 0) continue;
        std::string name = a == 0 ? "" : "A=" + std::to_string(a);
        if (b != 0) name += (name.empty() ? "B=" : " B=") + std::to_string(b);
        table.us_of[name] = 1 + below(150);
        table.bound_us[name] = table.us_of[name] * below(101) / 100;
        if (random() % 3 == 0) table.found_us[name] = table.us_of[name] * (1 + below(4));
        least = std::min(least, table.us_of[name] + conversion * ((a > 0 ? 1 : 0) + (b > 0 ? 1 : 0)));
      }
    }
    const auto price = [&](const Chosen& one) {
      return table.least_us(one.layouts) + conversion * static_cast<double>(one.choice.layouts.size());
    };
    const Chosen proven = chosen(table, proposed(of_a, of_b, conversion), 1e6, true, random() % 8);
    CHECK(price(proven) == doctest::Approx(least));
    CHECK(proven.choice.settled);
    table.found_us.clear();
    const Chosen searched = chosen(table, proposed(of_a, of_b, conversion));
    CHECK(price(searched) <= least / 0.95 + 1e-9);
  }
}

}  // namespace joint_layouts_test
