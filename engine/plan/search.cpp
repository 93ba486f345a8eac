#include "engine/plan/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "engine/plan/binding.h"
#include "engine/plan/complete.h"
#include "engine/plan/trees.h"

namespace weft {
namespace {

constexpr std::uint64_t most_work = 150'000;     // loops priced: some tens of milliseconds
constexpr std::size_t most_orders = 8;           // of the statements of one tree
constexpr std::size_t refined_trees = 4;         // have all their layouts tried, unless there is only one to choose
constexpr std::size_t most_free_sets = 64;       // up to six convertible occurrences are tried in every combination,
constexpr std::size_t most_room_sets = 8;        // up to three with every choice of dense levels
constexpr std::size_t most_free_modes = 12;
constexpr std::size_t kept_candidates = 64;

class Search {
 public:
  Search(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options, bool fused)
      : network_(network), operands_(operands), options_(options), fused_(fused) {
    const Term& term = network.assignments[0].terms[0];
    for (std::uint32_t factor = 0; factor < term.factors.size(); ++factor) {
      const OperandFacts& facts = facts_of(operands, term.factors[factor].tensor);
      if (may_be_converted(facts) && facts.format.order() <= most_free_modes) convertible_.push_back(factor);
    }
  }

  SearchResult run() {
    const TreeChoice choice = choose_trees(network_, operands_, options_);
    result_.all_trees = choice.complete;
    const std::uint64_t everything = (std::uint64_t{1} << convertible_.size()) - 1;
    std::vector<std::pair<double, std::size_t>> ranked;
    for (std::size_t number = 0; number < choice.trees.size(); ++number) {
      if (work_ > most_work) {
        result_.all_trees = false;
        break;
      }
      // Not before there is something to beat: the bound may ask for statistics that a large tensor is slow to give.
      if (std::isfinite(best_ns_) && least_ns(choice.trees[number]) >= best_ns_) continue;
      double ns = solve(choice.trees[number], 0);
      if (everything != 0 && pays(everything)) ns = std::min(ns, solve(choice.trees[number], everything));
      ranked.emplace_back(ns, number);
    }
    std::sort(ranked.begin(), ranked.end());
    const std::size_t refined = convertible_.size() < 2 ? ranked.size() : std::min(refined_trees, ranked.size());
    if (refined < ranked.size()) result_.all_layouts = false;
    for (std::size_t number = 0; number < refined; ++number) {
      refine(choice.trees[ranked[number].second]);
    }
    std::sort(result_.candidates.begin(), result_.candidates.end(), [&](const Candidate& left, const Candidate& right) {
      if (left.cost.ns != right.cost.ns) return left.cost.ns < right.cost.ns;
      return print(left.schedule, network_) < print(right.schedule, network_);
    });
    return std::move(result_);
  }

 private:
  // All choices of free layouts where they are few, else one change at a time as long as it helps.
  void refine(const ContractionTree& tree) {
    if (convertible_.empty()) return;
    const std::uint64_t sets = std::uint64_t{1} << std::min<std::size_t>(convertible_.size(), 63);
    std::uint64_t best_free = 0;
    double best = std::numeric_limits<double>::infinity();
    const auto attempt = [&](std::uint64_t free, double room) {
      if (work_ > 2 * most_work) {
        result_.all_layouts = false;
        return false;
      }
      if (!pays(free)) return false;
      const double ns = solve(tree, free, room);
      if (ns >= best) return false;
      best = ns;
      best_free = free;
      return true;
    };
    if (sets <= most_free_sets) {
      for (std::uint64_t free = 1; free < sets; ++free) {
        for (std::size_t room = 0; room < std::size(dense_rooms); ++room) {
          if (room == 0 || (sets <= most_room_sets && differs(free, room))) attempt(free, dense_rooms[room]);
        }
      }
    } else {
      for (bool better = true; better;) {
        better = false;
        const std::uint64_t from = best_free;
        for (std::size_t factor = 0; factor < convertible_.size(); ++factor) {
          better = attempt(from ^ std::uint64_t{1} << factor, dense_rooms[0]) || better;
        }
      }
    }
    if (sets <= most_room_sets) return;
    result_.all_layouts = false;
    for (std::size_t room = 1; room < std::size(dense_rooms); ++room) {
      if (differs(best_free, room)) attempt(best_free, dense_rooms[room]);
      if (differs(sets - 1, room)) attempt(sets - 1, dense_rooms[room]);
    }
  }

  // Whether a free layout may have other dense levels with this room than with the first.
  bool differs(std::uint64_t free, std::size_t room) const {
    const auto [low, high] = std::minmax(dense_rooms[0], dense_rooms[room]);
    for (std::size_t number = 0; number < convertible_.size(); ++number) {
      if ((free >> number & 1) == 0) continue;
      const TensorAccess& access = network_.assignments[0].terms[0].factors[convertible_[number]];
      const Statistics& statistics = facts_of(operands_, access.tensor).statistics;
      const ModeSet all = (ModeSet{1} << access.indices.size()) - 1;
      for (ModeSet modes = 1; modes < all; ++modes) {
        double combinations = 1;
        for (const IndexId mode : members(modes)) {
          combinations *= static_cast<double>(network_.indices[access.indices[mode]].extent);
        }
        const double distinct = statistics.distinct(modes);
        if (combinations > low * distinct && combinations <= high * distinct) return true;
      }
    }
    return false;
  }

  // No schedule of the tree takes less: every statement runs once per combination of its indices that all sparse
  // factors of the term let through, at the vector rate, on all threads.
  double least_ns(const ContractionTree& tree) const {
    const Assignment& assignment = network_.assignments[0];
    const std::vector<TensorAccess>& factors = assignment.terms[0].factors;
    const IndexSet result = index_set(assignment.result.indices);
    std::vector<std::uint32_t> leaves(tree.nodes.size());
    std::vector<IndexSet> modes(tree.nodes.size());
    double ns = 0;
    for (std::size_t number = 0; number < tree.nodes.size(); ++number) {
      const ContractionTree::Node& node = tree.nodes[number];
      if (node.children.empty()) {
        leaves[number] = std::uint32_t{1} << node.factor;
        modes[number] = index_set(factors[node.factor].indices);
        continue;
      }
      IndexSet indices = 0;
      for (const std::uint32_t child : node.children) {
        leaves[number] |= leaves[child];
        indices |= modes[child];
      }
      IndexSet outside = result;
      for (std::size_t factor = 0; factor < factors.size(); ++factor) {
        if ((leaves[number] >> factor & 1) == 0) outside |= index_set(factors[factor].indices);
      }
      modes[number] = indices & outside;
      ns += least_iterations(indices) * static_cast<double>(node.children.size());
    }
    return ns * options_.machine.vector_flop / options_.machine.threads;
  }

  double least_iterations(IndexSet indices) const {
    const auto extent = [&](IndexId index) { return static_cast<double>(network_.indices[index].extent); };
    double count = 1;
    for (const IndexId index : members(indices)) count *= extent(index);
    for (const TensorAccess& factor : network_.assignments[0].terms[0].factors) {
      const OperandFacts& facts = facts_of(operands_, factor.tensor);
      if (!has_sparse_level(facts.format)) continue;
      const bool free = may_be_converted(facts) && conversion_ns(facts, options_.machine) / std::max(1.0, options_.calls) < best_ns_;
      double least = 1;
      double room = 1;
      ModeSet modes = 0;
      for (const std::uint32_t mode : facts.format.mode_order) {
        if (!contains(indices, factor.indices[mode])) {
          if (free) continue;  // converted, its modes may be bound in any order
          break;
        }
        room *= extent(factor.indices[mode]);
        modes |= ModeSet{1} << mode;
        least = std::min(least, room > 0 ? facts.statistics.distinct(modes) / room : 0);
      }
      count *= least;
    }
    return count;
  }

  // A choice of conversions that costs more than the whole of the best schedule cannot pay.
  bool pays(std::uint64_t free) const {
    std::set<TensorId> converted;
    double ns = 0;
    for (std::size_t number = 0; number < convertible_.size(); ++number) {
      const TensorId tensor = network_.assignments[0].terms[0].factors[convertible_[number]].tensor;
      if ((free >> number & 1) == 0 || !converted.insert(tensor).second) continue;
      ns += conversion_ns(facts_of(operands_, tensor), options_.machine) / std::max(1.0, options_.calls);
    }
    return ns < best_ns_;
  }

  double solve(const ContractionTree& tree, std::uint64_t free_factors, double room = dense_rooms[0]) {
    const std::vector<std::vector<std::uint32_t>> orders = statement_orders(tree, most_orders + 1);
    if (orders.size() > most_orders) result_.all_layouts = false;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t order = 0; order < std::min(orders.size(), most_orders); ++order) {
      best = std::min(best, solve(tree, orders[order], free_factors, room));
    }
    return best;
  }

  double solve(const ContractionTree& tree, const std::vector<std::uint32_t>& order, std::uint64_t free_factors,
               double room) {
    ++result_.tried;
    Schedule schedule = statements_of(network_, tree, order, operands_, options_);
    std::vector<bool> free(schedule.tensors.size(), false);
    for (std::size_t number = 0; number < convertible_.size(); ++number) {
      free[convertible_[number]] = (free_factors >> number & 1) != 0;
    }
    const CostModel model(schedule, network_, operands_, options_, free, room);
    IntervalProgram program(model, fused_);
    const auto nests = program.solve();
    work_ += program.work();
    if (!nests) return std::numeric_limits<double>::infinity();
    if (!nests->exact) result_.all_layouts = false;
    for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
      schedule.statements[number].loops = nests->loops[number];
      schedule.statements[number].fused = nests->fused[number];
    }
    return keep(complete(std::move(schedule), model, free, operands_));
  }

  double keep(Schedule schedule) {
    Cost judged = cost(schedule, network_, operands_, options_);
    const double ns = judged.ns;
    best_ns_ = std::min(best_ns_, ns);
    if (result_.candidates.size() >= kept_candidates) {
      auto worst = std::max_element(result_.candidates.begin(), result_.candidates.end(),
                                    [](const Candidate& a, const Candidate& b) { return a.cost.ns < b.cost.ns; });
      if (worst->cost.ns > ns && check(schedule, network_, operands_, options_)) {
        *worst = {std::move(schedule), std::move(judged)};
      }
    } else if (check(schedule, network_, operands_, options_)) {
      result_.candidates.push_back({std::move(schedule), std::move(judged)});
    }
    return ns;
  }

  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  bool fused_;
  std::vector<std::uint32_t> convertible_;  // factors of the term
  SearchResult result_;
  double best_ns_ = std::numeric_limits<double>::infinity();
  std::uint64_t work_ = 0;
};

}  // namespace

SearchResult search_schedules(const Network& network, const std::vector<OperandFacts>& operands,
                              const PlanOptions& options, bool fused) {
  return Search(network, operands, options, fused).run();
}

}  // namespace weft
