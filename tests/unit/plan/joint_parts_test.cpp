#include "engine/plan/joint_parts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "engine/network/inlining.h"
#include "engine/plan/binding.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/forest.h"
#include "engine/plan/lookups.h"
#include "engine/plan/shared_layouts.h"
#include "unit/plan/networks.h"

using namespace weft;
using namespace weft::plan_test;

namespace {

constexpr double accuracy = 1e-9;
constexpr unsigned seeds = 60;
constexpr std::size_t most_schedules = 200'000;  // of one assignment: more than these have

// Every choice, without any bound: which results are stored, their layouts, the copies of operands, and all schedules of
// every assignment. Of those with the same copies and the same layout of the result the cheapest stands for all, since
// nothing else of them concerns other assignments.
class Exhaustive {
 public:
  explicit Exhaustive(const Problem& problem) : problem_(problem) {}

  double least() {
    std::vector<TensorId> unwanted;
    for (const Assignment& assignment : problem_.network.assignments) {
      if (!is_wanted(name(assignment), problem_.network, problem_.options)) unwanted.push_back(assignment.result.tensor);
    }
    const std::vector<TensorId> dead = unneeded(problem_.network, problem_.options);
    for (std::size_t chosen = 0; chosen < std::size_t{1} << unwanted.size(); ++chosen) {
      std::vector<TensorId> dropped;
      for (std::size_t number = 0; number < unwanted.size(); ++number) {
        const bool is_dead = std::ranges::find(dead, unwanted[number]) != dead.end();
        if (is_dead || (chosen >> number & 1) != 0) dropped.push_back(unwanted[number]);
      }
      stored_ = inlined(problem_.network, dropped);
      extend({}, problem_.operands);
    }
    return least_;
  }

 private:
  using Copies = std::vector<std::pair<TensorId, std::string>>;
  struct Kept {
    double ns = 0;
    Schedule schedule;
    Format result;
    Copies copies;
  };

  const std::string& name(const Assignment& assignment) const {
    return problem_.network.tensors[assignment.result.tensor].name;
  }

  void extend(const std::vector<Schedule>& parts, const std::vector<OperandFacts>& known) {
    if (parts.size() == stored_.assignments.size()) {
      const Schedule whole = parts.size() == 1 ? parts.front() : joined(parts, stored_, problem_.options);
      if (!check(whole, problem_.network, problem_.operands, problem_.options)) return;
      least_ = std::min(least_, cost(whole, problem_.network, problem_.operands, problem_.options).ns);
      return;
    }
    const Assignment& assignment = stored_.assignments[parts.size()];
    for (const Kept& kept : all_of(parts.size(), known)) {
      std::vector<Schedule> more = parts;
      more.push_back(kept.schedule);
      std::vector<OperandFacts> then = known;
      then.push_back(stored_facts(stored_, assignment, kept.result, known));
      extend(more, then);
    }
  }

  std::vector<Kept> all_of(std::size_t part, const std::vector<OperandFacts>& known) const {
    const Network network = part_network(stored_, part);
    std::vector<PlanOptions> ways{problem_.options};
    const std::string& result = name(stored_.assignments[part]);
    if (part + 1 < stored_.assignments.size() && !is_wanted(result, stored_, problem_.options)) {
      for (const Format& format : result_layouts(network, known, problem_.options).formats) {
        ways.push_back(problem_.options);
        ways.back().result_formats[result] = format;
      }
    }
    std::vector<Kept> kept;
    for (const PlanOptions& options : ways) add(network, known, 0, options, kept);
    return kept;
  }

  // By several assignments: one that nobody else could use is what the assignment would convert for itself.
  bool is_shared(TensorId tensor) const {
    return std::ranges::count_if(stored_.assignments, [&](const Assignment& assignment) {
      const auto& factors = assignment.terms.front().factors;
      return std::ranges::find(factors, tensor, &TensorAccess::tensor) != factors.end();
    }) > 1;
  }

  void add(const Network& network, const std::vector<OperandFacts>& known, std::size_t operand, const PlanOptions& options,
           std::vector<Kept>& kept) const {
    if (operand < problem_.operands.size()) {
      add(network, known, operand + 1, options, kept);
      const TensorId tensor = problem_.operands[operand].tensor;
      const auto& factors = network.assignments.front().terms.front().factors;
      const bool read = std::ranges::find(factors, tensor, &TensorAccess::tensor) != factors.end();
      if (!read || !is_shared(tensor) || !may_be_converted(problem_.operands[operand])) return;
      for (const Format& format : operand_layouts(stored_, tensor, problem_.operands).formats) {
        std::vector<OperandFacts> copied = known;
        copied[operand].format = format;
        copied[operand].pinned = true;
        copied[operand].copied = true;
        add(network, copied, operand + 1, options, kept);
      }
      return;
    }
    for (Schedule& schedule : enumerate_schedules(network, known, options, most_schedules)) {
      const Cost judged = cost(schedule, network, known, options);
      Kept one{judged.ns - judged.conversion_ns / std::max(1.0, options.calls), {}, {}, {}};
      for (ScheduledTensor& tensor : schedule.tensors) {
        if (tensor.role == TensorRole::result) one.result = tensor.format;
        const auto given = std::ranges::find(problem_.operands, tensor.tensor, &OperandFacts::tensor);
        if (tensor.role != TensorRole::operand || given == problem_.operands.end()) continue;
        tensor.converted = !same_layout(tensor.format, given->format);
        if (tensor.converted) one.copies.emplace_back(tensor.tensor, tensor.format.text());
      }
      std::ranges::sort(one.copies);
      const auto same = std::ranges::find_if(kept, [&](const Kept& other) {
        return other.copies == one.copies && same_layout(other.result, one.result);
      });
      if (same != kept.end() && same->ns <= one.ns) continue;
      one.schedule = std::move(schedule);
      if (same == kept.end()) kept.push_back(std::move(one));
      else *same = std::move(one);
    }
  }

  const Problem& problem_;
  Network stored_;
  double least_ = std::numeric_limits<double>::infinity();
};

struct RandomForest {
  std::string text;
  std::map<char, std::uint64_t> extents;
  Problem made;
};

// Two or three assignments of one or two factors over three indices, with a sparse operand that most of them read.
RandomForest random_forest(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned count) { return static_cast<unsigned>(random() % count); };
  RandomForest drawn;
  const std::string letters = "ijk";
  const std::uint64_t extent = std::vector<std::uint64_t>{1, 9, 30, 60}[below(4)];
  for (const char letter : letters) drawn.extents[letter] = extent;
  const std::string entries = std::to_string(1 + below(static_cast<unsigned>(extent * extent)));
  const auto pair = [&] {
    std::string shuffled = letters;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    return shuffled.substr(0, 2);
  };
  const auto operand = [&](const std::string& modes) {
    switch (below(3)) {
      case 0: return "D:" + modes;
      default: return "A:" + modes + ":ss:" + entries;
    }
  };
  const auto result = [&](const std::string& used) {
    std::string modes;
    for (const char letter : letters) {
      if (used.find(letter) != std::string::npos && below(3) > 0) modes += letter;
    }
    if (modes.size() > 2) modes.pop_back();
    return modes.size() > 1 && below(2) == 0 ? std::string(modes.rbegin(), modes.rend()) : modes;
  };
  std::string earlier;       // a result and how it is indexed
  std::size_t earlier_order = 0;
  const unsigned assignments = 2 + (below(4) == 0 ? 1 : 0);
  for (unsigned number = 0; number < assignments; ++number) {
    std::string used;
    std::string factors;
    const auto read = [&](const std::string& modes, const std::string& factor) {
      used += modes;
      factors += factor + " ";
    };
    if (!earlier.empty()) {
      const std::string modes = pair().substr(0, earlier_order);
      read(modes, earlier + ":" + (modes.empty() ? "-" : modes));
    }
    const unsigned more = number == 0 ? 1 + below(2) : assignments == 2 ? 1 + below(2) : 1;
    for (unsigned factor = 0; factor < more; ++factor) {
      const std::string modes = pair();
      read(modes, operand(modes));
    }
    const std::string modes = result(used);
    earlier = std::string(1, static_cast<char>('S' + number));
    earlier_order = modes.size();
    drawn.text += (number == 0 ? "" : "; ") + earlier + " = " + factors + "-> " + modes;
  }
  drawn.made = forest_problem(drawn.text, drawn.extents);
  drawn.made.options.calls = std::vector<double>{1, 3, 1000}[below(3)];
  for (OperandFacts& facts : drawn.made.operands) facts.pinned = below(6) == 0;
  if (below(4) == 0) drawn.made.options.results.insert("S");
  return drawn;
}

// Of a product that everything nobody asked for is written into.
std::size_t most_factors(const Network& network) {
  std::vector<TensorId> all;
  for (const Assignment& assignment : network.assignments) all.push_back(assignment.result.tensor);
  return inlined(network, all).assignments.back().terms.front().factors.size();
}

bool has_lookups(const Schedule& schedule) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    if (is_lookup_copy(schedule, number)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("several assignments are planned as cheaply as the cheapest of all their joint schedules") {
  std::size_t proven = 0;
  std::size_t copied = 0;
  std::size_t reordered = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const RandomForest drawn = random_forest(seed);
    if (most_factors(drawn.made.network) > 3) continue;  // too many schedules to look at each
    const std::string text = "seed " + std::to_string(seed) + ": " + drawn.text;
    CAPTURE(text);
    const auto found = plan(drawn.made.network, drawn.made.operands, drawn.made.options);
    REQUIRE_MESSAGE(found, found.error().message);
    const std::string schedule = print(found->schedule, drawn.made.network);
    CAPTURE(schedule);
    CHECK(check(found->schedule, drawn.made.network, drawn.made.operands, drawn.made.options));
    const double least = Exhaustive(drawn.made).least();
    CHECK(found->cost.ns <= least * (1 + accuracy));
    if (!has_lookups(found->schedule)) CHECK(found->cost.ns >= least * (1 - accuracy));
    proven += found->optimal == "all" ? 1 : 0;
    for (const ScheduledTensor& tensor : found->schedule.tensors) {
      copied += tensor.role == TensorRole::operand && tensor.converted ? 1 : 0;
      reordered += stored_assignment(tensor, drawn.made.network) && !tensor.format.mode_order.empty() &&
                           tensor.format.mode_order.front() != 0
                       ? 1
                       : 0;
    }
  }
  CHECK(proven > 30);
  CHECK(copied > 5);
  CHECK(reordered > 0);
}

TEST_CASE("a copy pays for two assignments that would pay for neither alone") {
  const std::map<char, std::uint64_t> extents = {{'i', 1000}, {'j', 1000}};
  const auto converts = [](const Schedule& schedule) {
    return std::ranges::count_if(schedule.tensors, [](const ScheduledTensor& tensor) { return tensor.name == "A" && tensor.converted; });
  };
  const auto found = [&](const std::string& text, double calls) {
    Problem made = forest_problem(text, extents);
    made.options.calls = calls;
    made.options.results = {"P"};
    for (OperandFacts& facts : made.operands) facts.pinned = made.network.tensors[facts.tensor].name != "A";
    return planned(made);
  };
  std::size_t shared = 0;
  for (double calls = 1; calls < 1000; calls *= 1.3) {
    const Plan first = found("P = A:ij:ss:20000 E:ji:ss:20000 -> i", calls);
    const Plan second = found("O = A:ij:ss:20000 F:ji:ss:20000 -> i", calls);
    const Plan both = found("P = A:ij:ss:20000 E:ji:ss:20000 -> i; O = A:ij:ss:20000 F:ji:ss:20000 -> i", calls);
    CHECK(both.cost.ns <= (first.cost.ns + second.cost.ns) * (1 + accuracy));
    CHECK(both.optimal == "all");
    if (converts(first.schedule) > 0 || converts(both.schedule) == 0) continue;
    CHECK(converts(both.schedule) == 1);
    CHECK(both.cost.ns < (first.cost.ns + second.cost.ns) * (1 - accuracy));
    ++shared;
  }
  CHECK(shared > 0);
}

TEST_CASE("an intermediate is stored as its readers would like") {
  const std::map<char, std::uint64_t> extents = {{'i', 400}, {'j', 300}, {'k', 60}};
  // Dear to compute again for each of the two factors; read column by column.
  Problem made = forest_problem("S = X:ki Y:kj -> ij; O = A:ji:ss:80000 S:ij S:ij -> j", extents);
  for (OperandFacts& facts : made.operands) facts.pinned = true;
  const Plan free = planned(made);
  made.options.result_formats["S"] = dense_format(2);
  const Plan fixed = planned(made);
  const auto stored = [](const Plan& plan) {
    return std::ranges::find_if(plan.schedule.tensors, [](const ScheduledTensor& tensor) { return tensor.name == "S"; });
  };
  REQUIRE(stored(free) != free.schedule.tensors.end());
  CHECK(stored(free)->format.mode_order == std::vector<std::uint32_t>{1, 0});
  CHECK(free.cost.ns < fixed.cost.ns);
}
