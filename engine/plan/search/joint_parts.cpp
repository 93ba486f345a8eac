#include "engine/plan/search/forest_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/estimate/product_estimate.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/search/baseline.h"
#include "engine/plan/search/interval_program.h"
#include "engine/plan/search/planned.h"
#include "engine/plan/search/search.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/space/alternatives.h"

namespace weft {
namespace {

constexpr std::uint64_t usual_candidates = 1'500;  // of all plans, and wholes put together of them
constexpr std::uint64_t candidates_for_proofs = 20'000;

// As requested, or by what its operands alone let through.
bool is_sparse(const Network& network, const Assignment& assignment, const std::vector<OperandFacts>& operands,
               const PlanOptions& options) {
  const std::string& name = network.tensors[assignment.result.tensor].name;
  if (const auto asked = options.result_formats.find(name); asked != options.result_formats.end()) {
    return !asked->second.all_dense();
  }
  if (options.result_patterns.contains(name)) return true;
  std::vector<TensorAccess> known = assignment.terms.front().factors;
  std::erase_if(known, [&](const TensorAccess& factor) { return !has_facts(operands, factor.tensor); });
  ProductEstimate estimate(network, operands, known);
  estimate.take_counted(network, assignment.result, options.entries);
  const IndexSet restricted = estimate.restricted() & index_set(assignment.result.indices);
  return restricted != 0 && estimate.fill(restricted) < sparse_fill;
}

// Bytes that the dense results of later assignments leave of the memory limit, of those that are handed over; results that are
// expected to be sparse are charged as they grow.
std::uint64_t assignment_memory(const Network& network, std::size_t assignment, const std::vector<OperandFacts>& operands,
                              const PlanOptions& options) {
  if (options.memory_limit == ~std::uint64_t{0}) return options.memory_limit;
  double left = static_cast<double>(options.memory_limit);
  for (std::size_t later = assignment + 1; later < network.assignments.size(); ++later) {
    const TensorDeclaration& declared = network.tensors[network.assignments[later].result.tensor];
    // A result that is not asked for is there from its own nests on, not from the beginning.
    if (!is_wanted(declared.name, network, options) || is_sparse(network, network.assignments[later], operands, options)) continue;
    double bytes = scalar_bytes(declared.scalar);
    for (const std::uint64_t extent : declared.extents) bytes *= static_cast<double>(extent);
    left -= bytes;
  }
  return static_cast<std::uint64_t>(std::max(0.0, left));
}

// A copy of an operand that several assignments may read.
struct Copy {
  TensorId tensor = 0;
  Format format;
  double ns = 0;  // to make it, per run
};
using Copies = std::vector<Copy>;

class JointPlanner {
 public:
  JointPlanner(const Problem& problem, const Planner& planner, bool layouts, const JointJudge& judge, bool known_entries)
      : stored_(problem.network),
        operands_(problem.operands),
        options_(problem.options),
        planner_(planner),
        layouts_(layouts),
        judge_(judge),
        known_entries_(known_entries) {
    for (std::size_t part = 0; part < parts(); ++part) networks_.push_back(part_network(problem.network, part));
    if (!layouts) return;
    for (const OperandFacts& facts : problem.operands) {
      const std::size_t readers = readers_of(stored_, facts.tensor);
      if (readers > 1 && may_be_converted(facts)) shared_.push_back({facts.tensor, 1 / static_cast<double>(readers), {}});
    }
  }

  Expected<JointParts> run() {
    if (auto done = plan_one_by_one(); !done) return std::unexpected(done.error());
    const bool any_ways = std::ranges::any_of(ways_, [](const Ways& ways) { return ways.size() > 1; });
    if (layouts_ && (!shared_.empty() || any_ways)) {
      bound_parts();
      if (!is_least()) extend({{}, operands_, {}, 0});
      if (!is_least() && more_layouts()) extend({{}, operands_, {}, 0});
      found_.all_layouts = is_least() || (!cut_off_ && !repeated());
    }
    for (const bool plain : {false, true}) {
      if (found_.parts.empty() && known_entries_) plan_with_known_entries(plain);
    }
    found_.candidates = candidates_;
    if (first_error_ && found_.parts.empty()) return std::unexpected(*first_error_);
    return std::move(found_);
  }

 private:
  struct Shared {
    TensorId tensor = 0;
    double share = 1;
    std::vector<Format> layouts;  // that copies may have: first those that parts would convert it to
  };
  using Ways = std::vector<std::optional<Format>>;  // to store a result: as planned (nothing), or in a given layout
  // What has been decided for the parts so far.
  struct Chosen {
    std::vector<const Plan*> parts;
    std::vector<OperandFacts> known;
    Copies paid;
    double ns = 0;
  };

  std::size_t parts() const { return stored_.assignments.size(); }
  const std::vector<TensorAccess>& factors(std::size_t part) const {
    return stored_.assignments[part].terms.front().factors;
  }
  TensorId result(std::size_t part) const { return stored_.assignments[part].result.tensor; }

  bool reads(std::size_t part, TensorId tensor) const { return weft::reads(stored_.assignments[part], tensor); }

  // An earlier result that is neither asked for nor read any more: it takes no memory beside `part`.
  bool is_dropped(TensorId tensor, std::size_t part) const {
    if (is_wanted(stored_.tensors[tensor].name, stored_, options_)) return false;
    for (std::size_t reader = part; reader < parts(); ++reader) {
      if (reads(reader, tensor)) return false;
    }
    return true;
  }

  // Whether there are copies that none of the parts would make for itself.
  bool more_layouts() {
    bool more = false;
    for (Shared& shared : shared_) {
      SharedLayouts layouts = operand_layouts(stored_, shared.tensor, operands_);
      if (!layouts.all) cut_off_ = true;
      if (layouts.formats.size() <= shared.layouts.size()) continue;
      more = true;
      shared.layouts = std::move(layouts.formats);
    }
    return more;
  }

  // An access beside another one of the same tensor might take another copy.
  bool repeated() const {
    return std::ranges::any_of(shared_, [&](const Shared& shared) {
      for (std::size_t part = 0; part < parts(); ++part) {
        if (std::ranges::count(factors(part), shared.tensor, &TensorAccess::tensor) > 1) return true;
      }
      return false;
    });
  }

  std::string key(std::size_t part, const std::vector<OperandFacts>& known, const std::optional<Format>& own, bool shares) const {
    std::string text = fmt::format("{} {} {}", part, own ? own->text() : "", shares);
    for (const OperandFacts& facts : known) {
      if (reads(part, facts.tensor)) text += fmt::format(" {}:{}{}", facts.tensor, facts.format.text(), facts.copied);
    }
    return text;
  }

  // Null where there is no plan in these layouts. `shares`: conversions are paid in parts, by all who might use them.
  const Plan* planned(std::size_t part, const std::vector<OperandFacts>& known, const std::optional<Format>& own, bool shares) {
    const std::string name = key(part, known, own, shares);
    if (const auto found = planned_.find(name); found != planned_.end()) return found->second ? &*found->second : nullptr;
    std::optional<Plan>& made = planned_[name];
    PlanOptions options = options_;
    options.memory_limit = assignment_memory(stored_, part, operands_, options_);
    options.reorders_results = false;
    if (own) options.result_formats[stored_.tensors[result(part)].name] = *own;
    std::vector<OperandFacts> seen = known;
    std::erase_if(seen, [&](const OperandFacts& facts) { return facts.computed && is_dropped(facts.tensor, part); });
    for (OperandFacts& facts : seen) {
      const auto shared = std::ranges::find(shared_, facts.tensor, &Shared::tensor);
      if (shares && shared != shared_.end()) facts.conversion_share = shared->share;
    }
    auto plan = planner_(Problem{networks_[part], seen, options});
    // Later parts read a result as it is computed: at positions of an operand as it is given, then.
    const bool reads_lender = plan && readers_of(stored_, result(part)) > 0 && keep_lender(plan->schedule, seen);
    if (reads_lender) plan = planner_(Problem{networks_[part], seen, options});
    if (!plan) {
      // Memory left over by other choices might have been enough.
      if (plan.error().kind == ErrorKind::resource) cut_off_ = true;
      if (!first_error_) {
        first_error_ = plan.error();
        // What the message calls available is the room of this assignment.
        if (plan.error().kind == ErrorKind::resource && options.memory_limit < options_.memory_limit) {
          first_error_->message += fmt::format(" (to compute {}; later results take {} bytes of the limit of {})",
                                               stored_.tensors[result(part)].name, options_.memory_limit - options.memory_limit,
                                               options_.memory_limit);
        }
      }
      return nullptr;
    }
    candidates_ += plan->candidates;
    found_.optimal = std::min(found_.optimal, plan->optimal);
    if (own && result_of(plan->schedule).delivered) return nullptr;
    // Nor is a runner-up that is converted when it is handed over a schedule of an intermediate.
    if (own && plan->runner_up && result_of(*plan->runner_up).delivered) {
      plan->runner_up.reset();
      plan->runner_up_cost.reset();
    }
    made = std::move(*plan);
    return &*made;
  }

  // Pins the operand whose positions the result has, where the schedule reads it through a copy.
  static bool keep_lender(const Schedule& schedule, std::vector<OperandFacts>& operands) {
    const ScheduledTensor& result = result_of(schedule);
    if (!result.like || !result.delivered) return false;
    const auto lender = std::ranges::find(operands, schedule.tensors[*result.like].tensor, &OperandFacts::tensor);
    lender->pinned = true;
    return true;
  }

  OperandFacts facts_of_result(std::size_t part, const Plan& plan, const std::vector<OperandFacts>& known) const {
    return stored_facts(stored_, stored_.assignments[part], result_of(plan.schedule).format, known);
  }

  // As each would be alone; remembers which formats every result may have.
  Expected<void> plan_one_by_one() {
    std::vector<OperandFacts> known = operands_;
    std::vector<const Plan*> chosen;
    for (std::size_t part = 0; part < parts(); ++part) {
      Ways& ways = ways_.emplace_back(Ways{std::nullopt});
      if (layouts_ && is_free(part)) {
        const SharedLayouts layouts = result_layouts(Problem{networks_[part], known, options_});
        ways.insert(ways.end(), layouts.formats.begin(), layouts.formats.end());
        if (!layouts.all) cut_off_ = true;
      }
      const Plan* one = planned(part, known, std::nullopt, false);
      if (one == nullptr) return std::unexpected(*first_error_);
      known.push_back(facts_of_result(part, *one, known));
      chosen.push_back(one);
    }
    judge(chosen, {});
    one_by_one_ = candidates_ + judged_;
    return {};
  }

  // What later assignments alone read may have to tell absent entries from zeros, beside NaN and Inf and on the way to a sparse
  // result: all of it has compressed levels. A part alone does not know that what it reads may be absent, so that its intermediates
  // may be dense where they must not be: `plain` is the baseline of every part, with compressed levels throughout.
  void plan_with_known_entries(bool plain) {
    std::vector<OperandFacts> known = operands_;
    std::deque<Plan> made;
    std::vector<const Plan*> chosen;
    for (std::size_t part = 0; part < parts(); ++part) {
      const Format plainest = plainest_result_format(Problem{networks_[part], known, options_}).format;
      const bool appended = is_free(part) && plainest.order() > 0;
      const Format own = appended ? sparse_format(plainest.order(), plainest.scalar) : plainest;
      // A tensor with appended levels knows its entries however it is planned.
      const bool alone = plain || (is_free(part) && !appended);
      const Plan* one = alone ? nullptr : planned(part, known, appended ? std::optional(own) : std::nullopt, false);
      if (one == nullptr && (alone || is_free(part))) {
        PlanOptions options = options_;
        options.memory_limit = assignment_memory(stored_, part, operands_, options_);
        if (appended) options.result_formats[stored_.tensors[result(part)].name] = own;
        const Problem problem{networks_[part], known, options};
        auto plan = plan_given(baseline_with_known_entries(problem), problem);
        if (plan) {
          plan->producer = Producer::baseline;
          one = &made.emplace_back(std::move(*plan));
        } else if (!is_free(part)) {
          one = planned(part, known, std::nullopt, false);
        }
      }
      if (one == nullptr) return;
      known.push_back(facts_of_result(part, *one, known));
      chosen.push_back(one);
    }
    judge(chosen, {});
    found_.optimal = Optimal::none;
  }

  // The layout of this result is not asked for, and a later assignment reads it.
  bool is_free(std::size_t part) const {
    const std::string& name = stored_.tensors[result(part)].name;
    return part + 1 < parts() && !is_wanted(name, stored_, options_) && readers_of(stored_, result(part)) > 0;
  }

  // The least of every part, over all layouts of results, with its share of conversions.
  void bound_parts() {
    for (std::size_t part = 0; part < parts(); ++part) {
      double least = infinity;
      std::vector<OperandFacts> next;
      for_each_known(stored_, part, stored_ways_, operands_, [&](const std::vector<OperandFacts>& known) {
        for (const std::optional<Format>& own : ways_[part]) {
          if (own && spent()) break;
          const Plan* one = planned(part, known, own, !shared_.empty());
          if (one == nullptr) continue;
          least = std::min(least, one->cost.ns);
          like_copies(*one);
          const Format& stored = result_of(one->schedule).format;
          const bool there = std::ranges::any_of(next, [&](const OperandFacts& facts) { return same_layout(facts.format, stored); });
          if (!there) next.push_back(facts_of_result(part, *one, known));
        }
        return !spent();
      });
      least_.push_back(std::isinf(least) ? 0 : least);
      stored_ways_.push_back(std::move(next));
    }
    least_after_.assign(parts() + 1, 0);
    // A minimum over some of the layouts is no bound.
    if (is_spent()) return;
    for (std::size_t part = parts(); part-- > 0;) least_after_[part] = least_after_[part + 1] + least_[part];
  }

  void like_copies(const Plan& one) {
    for (const ScheduledTensor& tensor : one.schedule.tensors) {
      const auto shared = std::ranges::find(shared_, tensor.tensor, &Shared::tensor);
      if (tensor.role != TensorRole::operand || !tensor.converted || shared == shared_.end()) continue;
      const auto there = [&](const Format& format) { return same_layout(format, tensor.format); };
      if (std::ranges::none_of(shared->layouts, there)) shared->layouts.push_back(tensor.format);
    }
  }

  // A whole that is put together of plans that are known already takes time too.
  bool is_spent() const {
    const std::uint64_t most = plans_in_budget(found_.ns, options_, options_.prove ? candidates_for_proofs : usual_candidates);
    return candidates_ + judged_ > one_by_one_ + most;
  }
  bool spent() {
    cut_off_ = cut_off_ || is_spent();
    return is_spent();
  }

  bool is_least() const { return found_.ns <= least_after_[0] * (1 + accuracy); }

  // The next part in every layout of what it stores and of the copies that it shares.
  void extend(const Chosen& chosen) {
    const std::size_t part = chosen.parts.size();
    if (part == parts()) {
      judge(chosen.parts, chosen.paid);
      return;
    }
    for (const std::optional<Format>& own : ways_[part]) extend_with(chosen, own, 0, chosen.known);
  }

  void extend_with(const Chosen& chosen, const std::optional<Format>& own, std::size_t shared, const std::vector<OperandFacts>& known) {
    const std::size_t part = chosen.parts.size();
    if (shared < shared_.size()) {
      extend_with(chosen, own, shared + 1, known);
      if (!reads(part, shared_[shared].tensor)) return;
      for (const Format& layout : shared_[shared].layouts) {
        std::vector<OperandFacts> copied = known;
        const auto facts = std::ranges::find(copied, shared_[shared].tensor, &OperandFacts::tensor);
        facts->format = layout;
        facts->pinned = true;
        facts->copied = true;
        extend_with(chosen, own, shared + 1, copied);
      }
      return;
    }
    if (spent()) return;
    const Plan* one = planned(part, known, own, false);
    if (one == nullptr) return;
    Chosen next = chosen;
    next.parts.push_back(one);
    next.ns += one->cost.ns - per_run(one->cost.conversion_ns);
    for (const Copy& copy : copies(*one, known)) {
      const auto same = [&](const Copy& paid) { return paid.tensor == copy.tensor && same_layout(paid.format, copy.format); };
      if (std::ranges::any_of(next.paid, same)) continue;
      next.paid.push_back(copy);
      next.ns += copy.ns;
    }
    if (next.ns + std::max(0.0, least_after_[part + 1] - unpaid_shares(next, part + 1)) >= found_.ns * (1 - accuracy)) return;
    next.known.push_back(facts_of_result(part, *one, chosen.known));
    extend(next);
  }

  // What later parts bear at most, in their bounds, of copies that are paid for already.
  double unpaid_shares(const Chosen& chosen, std::size_t from) const {
    double ns = 0;
    for (const Shared& shared : shared_) {
      const auto paid = static_cast<double>(std::ranges::count(chosen.paid, shared.tensor, &Copy::tensor));
      if (paid == 0) continue;
      const double price = per_run(conversion_ns(weft::facts_of(operands_, shared.tensor), options_.machine));
      for (std::size_t part = from; part < parts(); ++part) {
        if (reads(part, shared.tensor)) ns += paid * price * shared.share;
      }
    }
    return ns;
  }

  // Those that a plan makes itself, and those it was given.
  Copies copies(const Plan& one, const std::vector<OperandFacts>& known) const {
    Copies found;
    for (const ScheduledTensor& tensor : one.schedule.tensors) {
      if (tensor.role != TensorRole::operand) continue;
      const OperandFacts& facts = weft::facts_of(known, tensor.tensor);
      if (!tensor.converted && !facts.copied) continue;
      const double ns = tensor.converted ? layout_ns(tensor, facts, options_.machine) : conversion_ns(facts, options_.machine);
      found.push_back({tensor.tensor, tensor.format, per_run(ns)});
    }
    return found;
  }

  double per_run(double ns) const { return ns / std::max(1.0, options_.calls); }

  // The copies that the parts read are converted operands of the whole.
  Schedule with_copies(Schedule schedule) const {
    for (ScheduledTensor& tensor : schedule.tensors) {
      const auto facts = std::ranges::find(operands_, tensor.tensor, &OperandFacts::tensor);
      const bool given = tensor.role == TensorRole::operand && facts != operands_.end();
      if (given && !tensor.converted) tensor.converted = !same_layout(tensor.format, facts->format);
    }
    return schedule;
  }

  void judge(const std::vector<const Plan*>& chosen, const Copies& paid) {
    ++judged_;
    std::vector<Plan> made;
    for (const Plan* one : chosen) {
      made.push_back(*one);
      made.back().schedule = with_copies(std::move(made.back().schedule));
      if (made.back().runner_up) made.back().runner_up = with_copies(std::move(*made.back().runner_up));
    }
    const auto ns = judge_(made);
    if (!ns) {
      if (!first_error_) first_error_ = ns.error();
      if (!paid.empty()) cut_off_ = true;
      return;
    }
    if (!found_.parts.empty() && *ns >= found_.ns) return;
    found_.parts = std::move(made);
    found_.ns = *ns;
  }

  const Network& stored_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  const Planner& planner_;
  bool layouts_;
  const JointJudge& judge_;
  bool known_entries_;
  std::vector<Network> networks_;
  std::vector<Shared> shared_;
  std::vector<Ways> ways_;                              // per part
  std::vector<std::vector<OperandFacts>> stored_ways_;  // per part: those that its plans have
  std::vector<double> least_;
  std::vector<double> least_after_;  // of all parts from one on
  std::map<std::string, std::optional<Plan>> planned_;
  std::optional<Error> first_error_;
  std::uint64_t candidates_ = 0;
  std::uint64_t judged_ = 0;  // choices of layouts for all parts
  std::uint64_t one_by_one_ = 0;  // of both, without a choice
  bool cut_off_ = false;
  JointParts found_;
};

}  // namespace

Expected<JointParts> plan_jointly(const Problem& problem, const Planner& planner, bool layouts,
                                  const JointJudge& judge, bool known_entries) {
  return JointPlanner(problem, planner, layouts, judge, known_entries).run();
}

}  // namespace weft
