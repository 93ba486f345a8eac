#include "engine/plan/prove/solver.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "unit/address_space.h"
#include "unit/refused_threads.h"
#include "unit/sanitized.h"

namespace solver_test {

using namespace weft;

namespace {

constexpr std::uint64_t effort = 50'000'000;

Solver made(Tracking tracking = Tracking::families) {
  auto solver = Solver::create(tracking);
  const std::string message = solver ? "" : solver.error().message;
  INFO(message);
  REQUIRE(solver.has_value());
  return std::move(*solver);
}

// A problem over a few booleans and integers, kept so that every assignment can be tried.
struct Random {
  struct Clause {
    std::vector<Literal> literals;
  };
  struct Sum {
    std::vector<Weighted> parts;
    std::int64_t bound = 0;
  };
  struct Comparison {  // left < right, or left == value
    int left = 0;
    int right = 0;
    bool with_value = false;
    int value = 0;
    Literal when;
  };
  std::size_t booleans = 0;
  std::vector<std::pair<int, int>> ranges;
  std::vector<Clause> clauses;
  std::vector<std::vector<Literal>> single;
  std::vector<Sum> sums;
  std::vector<Comparison> comparisons;
};

// Codes are positions in the problem's own lists; `add` translates them.
Random random_problem(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  Random problem;
  problem.booleans = static_cast<std::size_t>(3 + below(4));
  const auto literal = [&] { return Literal{below(static_cast<int>(2 * problem.booleans))}; };
  for (int number = below(3); number >= 0; --number) {
    const int least = below(5) - 2;
    problem.ranges.push_back({least, least + below(4)});
  }
  for (int number = below(5); number > 0; --number) {
    Random::Clause clause;
    for (int part = 1 + below(3); part > 0; --part) clause.literals.push_back(literal());
    problem.clauses.push_back(clause);
  }
  if (below(2) == 0) {
    std::vector<Literal> single;
    for (std::size_t part = 0; part < problem.booleans; ++part) single.push_back({static_cast<int>(2 * part) + below(2)});
    problem.single.push_back(single);
  }
  for (int number = below(3); number > 0; --number) {
    Random::Sum sum;
    for (std::size_t part = 0; part < problem.booleans; ++part) {
      sum.parts.push_back({{static_cast<int>(2 * part) + below(2)}, below(4) == 0 ? 0 : (std::int64_t{1} << below(40)) + below(9)});
    }
    sum.bound = (std::int64_t{1} << below(41)) - 2 + below(4);
    problem.sums.push_back(sum);
  }
  for (int number = below(4); number > 0; --number) {
    Random::Comparison comparison;
    comparison.left = below(static_cast<int>(problem.ranges.size()));
    comparison.right = below(static_cast<int>(problem.ranges.size()));
    comparison.with_value = below(2) == 0;
    comparison.value = below(8) - 3;
    comparison.when = literal();
    problem.comparisons.push_back(comparison);
  }
  return problem;
}

// Sums beyond what Z3 takes are rounded up: the tests stay below, or beyond by enough.
struct Values {
  std::vector<bool> booleans;
  std::vector<int> integers;
  bool of(Literal literal) const { return booleans[static_cast<std::size_t>(literal.code / 2)] != (literal.code % 2 == 1); }
};

bool holds(const Random& problem, const Values& values) {
  for (const auto& clause : problem.clauses) {
    if (std::none_of(clause.literals.begin(), clause.literals.end(), [&](Literal one) { return values.of(one); })) return false;
  }
  for (const auto& single : problem.single) {
    if (std::count_if(single.begin(), single.end(), [&](Literal one) { return values.of(one); }) > 1) return false;
  }
  for (const auto& sum : problem.sums) {
    std::int64_t total = 0;
    for (const Weighted& part : sum.parts) total += values.of(part.literal) ? part.weight : 0;
    if (total > sum.bound) return false;
  }
  const auto integer = [&](int number) { return values.integers[static_cast<std::size_t>(number)]; };
  for (const auto& [left, right, with_value, value, when] : problem.comparisons) {
    const bool meant = with_value ? integer(left) == value : integer(left) < integer(right);
    if (values.of(when) && !meant) return false;
  }
  return true;
}

bool satisfiable(const Random& problem) {
  Values values;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << problem.booleans; ++bits) {
    values.booleans.clear();
    for (std::size_t number = 0; number < problem.booleans; ++number) values.booleans.push_back((bits >> number & 1) != 0);
    values.integers.clear();
    for (const auto& [least, greatest] : problem.ranges) values.integers.push_back(least);
    for (;;) {
      if (holds(problem, values)) return true;
      std::size_t number = 0;
      while (number < problem.ranges.size() && values.integers[number] == problem.ranges[number].second) {
        values.integers[number] = problem.ranges[number].first;
        ++number;
      }
      if (number == problem.ranges.size()) break;
      ++values.integers[number];
    }
  }
  return false;
}

struct Stated {
  std::vector<Literal> booleans;
  std::vector<Integer> integers;
};

Stated state(const Random& problem, Solver& solver) {
  Stated stated;
  for (std::size_t number = 0; number < problem.booleans; ++number) stated.booleans.push_back(solver.boolean());
  for (const auto& [least, greatest] : problem.ranges) stated.integers.push_back(solver.integer(least, greatest));
  const auto here = [&](Literal literal) {
    const Literal made = stated.booleans[static_cast<std::size_t>(literal.code / 2)];
    return literal.code % 2 == 1 ? !made : made;
  };
  const auto all_here = [&](std::vector<Literal> literals) {
    for (Literal& literal : literals) literal = here(literal);
    return literals;
  };
  for (const auto& clause : problem.clauses) solver.clause(all_here(clause.literals), solver.family("clauses"));
  for (const auto& single : problem.single) solver.at_most_one(all_here(single), solver.family("single"));
  for (auto sum : problem.sums) {
    for (Weighted& part : sum.parts) part.literal = here(part.literal);
    solver.at_most(sum.parts, sum.bound, solver.family("sums"));
  }
  const auto integer = [&](int number) { return stated.integers[static_cast<std::size_t>(number)]; };
  for (const auto& [left, right, with_value, value, when] : problem.comparisons) {
    if (with_value) solver.equals(integer(left), value, here(when), solver.family("comparisons"));
    else solver.precedes(integer(left), integer(right), here(when), solver.family("comparisons"));
  }
  return stated;
}

// Seven pigeons, six holes: enough search for the answer's effort to show any influence from outside.
struct Answer {
  Satisfiable satisfiable = Satisfiable::unknown;
  std::uint64_t effort = 0;
  std::vector<bool> model;
  bool operator==(const Answer&) const = default;
};
Answer pigeons(int count, int holes) {
  Solver solver = made(Tracking::none);
  const Family each = solver.family("each pigeon has a hole");
  const Family once = solver.family("no hole is shared");
  std::vector<std::vector<Literal>> in(static_cast<std::size_t>(count));
  std::vector<Weighted> cost;
  for (auto& row : in) {
    for (int hole = 0; hole < holes; ++hole) row.push_back(solver.boolean());
    solver.clause(row, each);
  }
  for (std::size_t hole = 0; hole < static_cast<std::size_t>(holes); ++hole) {
    std::vector<Literal> column;
    for (const auto& row : in) column.push_back(row[hole]);
    solver.at_most_one(column, once);
    for (std::size_t row = 0; row < in.size(); ++row) {
      cost.push_back({in[row][hole], static_cast<std::int64_t>((row * 7 + hole * 5) % 11)});
    }
  }
  solver.at_most(cost, 3 * count, solver.family("cost"));
  Answer answer;
  answer.satisfiable = solver.check(effort);
  answer.effort = solver.effort_spent();
  for (const auto& row : in) {
    for (const Literal literal : row) answer.model.push_back(solver.value(literal));
  }
  return answer;
}

}  // namespace

TEST_CASE("answers are those of trying every assignment, and models satisfy") {
  std::size_t satisfied = 0;
  for (unsigned seed = 1; seed <= test::scaled(400); ++seed) {
    CAPTURE(seed);
    const Random problem = random_problem(seed);
    Solver solver = made(seed % 2 == 0 ? Tracking::families : Tracking::none);
    const Stated stated = state(problem, solver);
    const bool expected = satisfiable(problem);
    satisfied += expected ? 1 : 0;
    const Satisfiable found = solver.check(effort);
    REQUIRE(found == (expected ? Satisfiable::yes : Satisfiable::no));
    if (!expected) {
      CHECK(solver.core().empty() == (seed % 2 != 0));
      continue;
    }
    Values values;
    for (const Literal literal : stated.booleans) values.booleans.push_back(solver.value(literal));
    for (const Integer integer : stated.integers) values.integers.push_back(static_cast<int>(solver.value(integer)));
    CHECK(holds(problem, values));
  }
  CHECK(satisfied > test::scaled(60));
  CHECK(satisfied < test::scaled(360));
}

TEST_CASE("a core names the families that contradict each other and no others") {
  Solver solver = made();
  const Literal a = solver.boolean();
  const Literal b = solver.boolean();
  const Integer depth = solver.integer(0, 5);
  solver.clause(std::array{a, b}, solver.family("one of them"));
  solver.at_most(std::array{Weighted{a, 3}, Weighted{b, 4}}, 2, solver.family("budget"));
  solver.equals(depth, 3, a, solver.family("depth"));
  REQUIRE(solver.check(effort) == Satisfiable::no);
  CHECK(solver.core() == std::vector<std::string>{"one of them", "budget"});
}

TEST_CASE("constraints may be added between checks; spent effort is unknown") {
  Solver solver = made(Tracking::none);
  const Family family = solver.family("all");
  std::vector<Weighted> cost;
  std::vector<Literal> any;
  for (int number = 0; number < 6; ++number) {
    any.push_back(solver.boolean());
    cost.push_back({any.back(), 10 - number});
  }
  solver.clause(any, family);
  std::int64_t best = 100;
  int rounds = 0;
  while (solver.check(effort) == Satisfiable::yes) {
    best = 0;
    for (const Weighted& part : cost) best += solver.value(part.literal) ? part.weight : 0;
    solver.at_most(cost, best - 1, family);
    ++rounds;
  }
  CHECK(best == 5);
  CHECK(rounds <= 6);
  CHECK(solver.effort_spent() > 0);

  Solver hard = made(Tracking::none);
  std::vector<std::vector<Literal>> in(12);
  for (auto& row : in) {
    for (int hole = 0; hole < 11; ++hole) row.push_back(hard.boolean());
    hard.clause(row, hard.family("each"));
  }
  for (std::size_t hole = 0; hole < 11; ++hole) {
    for (std::size_t left = 0; left < 12; ++left) {
      for (std::size_t right = 0; right < left; ++right) {
        hard.clause(std::array{!in[left][hole], !in[right][hole]}, hard.family("once"));
      }
    }
  }
  CHECK(hard.check(20'000) == Satisfiable::unknown);
  CHECK_FALSE(hard.why_unknown().empty());
}

TEST_CASE("weights beyond Z3's range are scaled towards what is allowed") {
  Solver solver = made(Tracking::none);
  const std::int64_t large = std::int64_t{1} << 50;
  const Literal a = solver.boolean();
  const Literal b = solver.boolean();
  const Literal c = solver.boolean();
  const Family family = solver.family("all");
  solver.at_most(std::array{Weighted{a, large}, Weighted{b, large}, Weighted{c, 3}}, large + large / 2, family);
  solver.clause(std::array{a}, family);
  solver.clause(std::array{c}, family);
  REQUIRE(solver.check(effort) == Satisfiable::yes);
  CHECK_FALSE(solver.value(b));
  solver.clause(std::array{b}, family);
  CHECK(solver.check(effort) == Satisfiable::no);
}

TEST_CASE("the same problem has the same answer, effort and model, whatever ran before and beside it") {
  const std::array sizes{std::pair{5, 5}, std::pair{7, 6}, std::pair{6, 7}, std::pair{6, 6}};
  std::vector<Answer> first;
  for (const auto& [count, holes] : sizes) first.push_back(pigeons(count, holes));
  std::mt19937 random(7);
  for (int repetition = 0; repetition < 25; ++repetition) {
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t number : order) REQUIRE(pigeons(sizes[number].first, sizes[number].second) == first[number]);
  }
  for (const std::size_t threads : {2, 8}) {
    std::vector<std::array<Answer, 4>> answers(threads);
    std::vector<std::thread> running;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        for (std::size_t step = 0; step < sizes.size(); ++step) {
          const std::size_t number = (step + thread) % sizes.size();
          answers[thread][number] = pigeons(sizes[number].first, sizes[number].second);
        }
      });
    }
    for (std::thread& thread : running) thread.join();
    for (const auto& each : answers) {
      for (std::size_t number = 0; number < sizes.size(); ++number) CHECK(each[number] == first[number]);
    }
  }
}

// 13 pigeons in 12 holes: no resolution proof is short, so that Z3 would take minutes.
void add_long_question(Solver& solver) {
  constexpr int pigeons = 13, holes = 12;
  const Family family = solver.family("pigeons");
  std::array<std::array<Literal, holes>, pigeons> sits;
  for (auto& pigeon : sits) {
    for (Literal& hole : pigeon) hole = solver.boolean();
    solver.clause(pigeon, family);
  }
  for (std::size_t hole = 0; hole < holes; ++hole) {
    for (std::size_t one = 0; one < pigeons; ++one) {
      for (std::size_t other = 0; other < one; ++other) {
        const Literal not_both[] = {!sits[one][hole], !sits[other][hole]};
        solver.clause(not_both, family);
      }
    }
  }
}

TEST_CASE("a question to Z3 ends where it would keep more than it may, and others are answered afterwards") {
  constexpr std::uint64_t mega = 1 << 20;
  auto solver = Solver::create(Tracking::none, {}, mega);
  REQUIRE(solver.has_value());
  add_long_question(*solver);
  CHECK(solver->check(4'000'000'000) == Satisfiable::unknown);
  CHECK(solver->effort_spent() < 400'000'000);
  CHECK(solver->had_memory().has_value());  // the process had it
  auto other = Solver::create(Tracking::none, {}, mega);
  REQUIRE(other.has_value());
  const Literal one[] = {other->boolean()};
  other->clause(one, other->family("one"));
  CHECK(other->check(1'000'000) == Satisfiable::yes);
}

TEST_CASE("a question to Z3 ends soon after a token is set, and no other is asked then") {
  const Cancellation token;
  auto solver = Solver::create(Tracking::none, {Cancellation(), token});
  REQUIRE(solver.has_value());
  add_long_question(*solver);
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    token.cancel();
  });
  const auto start = std::chrono::steady_clock::now();
  CHECK(solver->check(4'000'000'000) == Satisfiable::unknown);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  CHECK(token.cancelled());
  CHECK(solver->check(4'000'000'000) == Satisfiable::unknown);
  CHECK(solver->why_unknown() == "cancelled");
}

TEST_CASE("where no thread starts Z3 answers as before, and a token is looked at between questions") {
  const refused_threads::Refusing refusing;
  const Cancellation token;
  auto solver = Solver::create(Tracking::none, {token});
  REQUIRE(solver.has_value());
  const Family family = solver->family("one");
  const Literal one[] = {solver->boolean()};
  solver->clause(one, family);
  CHECK(solver->check(1'000'000) == Satisfiable::yes);
  CHECK(solver->value(one[0]));
  CHECK(refusing.asked() == 1);
  token.cancel();
  CHECK(solver->check(1'000'000) == Satisfiable::unknown);
  CHECK(solver->why_unknown() == "cancelled");
}

TEST_CASE("Z3 answers or is done without, whatever address space there is" * doctest::skip(!address_space::can_be_limited())) {
  const auto outcomes = address_space::sweep(4 << 20, 160 << 20, [] {
    auto solver = Solver::create(Tracking::none);
    if (!solver) return solver.error().kind == ErrorKind::resource ? false : (::_exit(1), false);
    const Family family = solver->family("one");
    std::vector<Literal> any;
    for (int number = 0; number < 3000; ++number) any.push_back(solver->boolean());
    solver->clause(any, family);
    solver->at_most_one(any, family);
    const Satisfiable answer = solver->check(effort);
    if (!solver->had_memory()) return answer == Satisfiable::unknown ? false : (::_exit(2), false);
    if (answer != Satisfiable::yes) ::_exit(3);
    return true;
  });
  CHECK(outcomes.other == "");
  CHECK(outcomes.done > 0);
  CHECK(outcomes.refused > 0);
}

}  // namespace solver_test
