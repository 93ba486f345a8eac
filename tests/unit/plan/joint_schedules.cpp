#include "unit/plan/joint_schedules.h"

#include <algorithm>
#include <limits>
#include <random>

#include "engine/network/inlining.h"
#include "engine/plan/cost/cost.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/space/alternatives.h"
#include "tests/oracle/enumerate.h"
#include "unit/plan/stretched.h"

namespace weft::plan_test {
namespace {

constexpr std::size_t most_schedules = 200'000;  // of one assignment: more than these have

class Exhaustive {
 public:
  explicit Exhaustive(const OwnedProblem& problem) : problem_(problem) {}

  double least(bool all_stored) {
    std::vector<TensorId> unwanted;
    for (const Assignment& assignment : problem_.network.assignments) {
      if (!is_wanted(name(assignment), problem_.network, problem_.options)) unwanted.push_back(assignment.result.tensor);
    }
    const std::vector<TensorId> dead = unneeded(problem_.network, problem_.options);
    for (std::size_t chosen = 0; chosen < (all_stored ? 1 : std::size_t{1} << unwanted.size()); ++chosen) {
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
    std::uint64_t bytes = 0;
  };

  const std::string& name(const Assignment& assignment) const {
    return problem_.network.tensors[assignment.result.tensor].name;
  }

  void extend(const std::vector<Schedule>& parts, const std::vector<OperandFacts>& known) {
    if (parts.size() == stored_.assignments.size()) {
      const Schedule whole = parts.size() == 1 ? parts.front() : joined(parts, stored_, problem_.options);
      if (!check(whole, problem_)) return;
      const Cost judged = cost(whole, problem_);
      if (judged.announced_bytes <= problem_.options.memory_limit) least_ = std::min(least_, judged.ns);
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
    ways.front().reorders_results = stored_.assignments.size() == 1;
    const std::string& result = name(stored_.assignments[part]);
    if (part + 1 < stored_.assignments.size() && !is_wanted(result, stored_, problem_.options)) {
      for (const Format& format : result_layouts(Problem{network, known, problem_.options}).formats) {
        ways.push_back(ways.front());
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
    const bool limited = problem_.options.memory_limit != ~std::uint64_t{0};
    std::vector<Schedule> all = enumerate_schedules(Problem{network, known, options}, most_schedules);
    for (std::size_t number = 0, parallel = all.size(); limited && number < parallel; ++number) {
      all.push_back(all[number]);
      all.back().roots.assign(all.back().roots.size(), RootReduction::serial);
    }
    for (Schedule& schedule : all) {
      const Cost judged = cost(schedule, Problem{network, known, options});
      Kept one{judged.ns - judged.conversion_ns / std::max(1.0, options.calls), {}, {}, {},
               limited ? judged.announced_bytes : 0};
      for (ScheduledTensor& tensor : schedule.tensors) {
        if (tensor.role == TensorRole::result) one.result = tensor.format;
        const auto given = std::ranges::find(problem_.operands, tensor.tensor, &OperandFacts::tensor);
        if (tensor.role != TensorRole::operand || given == problem_.operands.end()) continue;
        tensor.converted = !same_layout(tensor.format, given->format);
        if (tensor.converted) one.copies.emplace_back(tensor.tensor, tensor.format.text());
      }
      std::ranges::sort(one.copies);
      const auto same = std::ranges::find_if(kept, [&](const Kept& other) {
        return other.copies == one.copies && same_layout(other.result, one.result) && other.bytes == one.bytes;
      });
      if (same != kept.end() && same->ns <= one.ns) continue;
      one.schedule = std::move(schedule);
      if (same == kept.end()) kept.push_back(std::move(one));
      else *same = std::move(one);
    }
  }

  const OwnedProblem& problem_;
  Network stored_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

double least_of_all(const OwnedProblem& problem, bool all_stored) { return Exhaustive(problem).least(all_stored); }

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
  if (is_stretched(seed)) drawn.made = stretched(std::move(drawn.made), random);
  return drawn;
}

std::size_t most_factors(const Network& network) {
  std::vector<TensorId> all;
  for (const Assignment& assignment : network.assignments) all.push_back(assignment.result.tensor);
  return inlined(network, all).assignments.back().terms.front().factors.size();
}

bool is_beyond(const Schedule& schedule) {
  return std::ranges::any_of(schedule.tensors, [](const ScheduledTensor& tensor) {
    const bool marked = std::ranges::any_of(tensor.format.levels, has_gaps, &Level::kind);
    return tensor.role == TensorRole::operand && tensor.converted && (marked || tensor.opened || tensor.format.all_dense());
  });
}

}  // namespace weft::plan_test
