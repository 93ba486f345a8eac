#include "engine/plan/estimate/joins.h"

#include <algorithm>
#include <bit>

#include "engine/network/inlining.h"
#include "runtime/sparse_levels.h"

namespace weft {
namespace {

constexpr std::size_t most_bits = 63;
constexpr std::size_t most_inlined = 4;  // results: beyond that only the network as it is

void add_occurrences(const Network& network, const std::vector<OperandFacts>& operands, std::vector<Occurrence>& found) {
  for (const Assignment& assignment : network.assignments) {
    for (const Term& term : assignment.terms) {
      for (const TensorAccess& factor : term.factors) {
        const auto facts = std::ranges::find(operands, factor.tensor, &OperandFacts::tensor);
        if (facts == operands.end() || !has_sparse_level(facts->format)) continue;
        if (std::ranges::find(found, factor) != found.end()) continue;
        const std::uint32_t bits = found.empty() ? 0 : found.back().first_bit + static_cast<std::uint32_t>(found.back().indices.size());
        Occurrence& occurrence = found.emplace_back(factor, bits);
        for (const IndexId index : factor.indices) occurrence.extents.push_back(network.indices[index].extent);
      }
    }
  }
}

// Under skew the hubs of several operands coincide: the largest counted join within an uncounted one is nearer to it than
// independence is.
double nearest_ratio(JoinSet join, const std::map<JoinSet, double>& counted) {
  if (const auto found = counted.find(join); found != counted.end()) return found->second;
  int most = 0;
  double ratio = 1;
  for (const auto& [part, counted_ratio] : counted) {
    const int modes = std::popcount(part);
    if ((part & ~join) != 0 || modes < most) continue;
    ratio = modes > most ? counted_ratio : std::max(ratio, counted_ratio);
    most = modes;
  }
  return ratio;
}

}  // namespace

JoinSet Occurrence::modes_over(IndexSet these) const {
  JoinSet modes = 0;
  for (std::size_t mode = 0; mode < indices.size(); ++mode) {
    if (contains(these, indices[mode])) modes |= JoinSet{1} << (first_bit + mode);
  }
  return modes;
}

IndexSet Occurrence::indices_in(JoinSet set) const {
  IndexSet found = 0;
  for (std::size_t mode = 0; mode < indices.size(); ++mode) {
    if ((set >> (first_bit + mode) & 1) != 0) found |= one_index(indices[mode]);
  }
  return found;
}

std::vector<Occurrence> occurrences(const Network& network, const std::vector<OperandFacts>& operands) {
  std::vector<Occurrence> found;
  add_occurrences(network, operands, found);
  const std::size_t inner = network.assignments.empty() ? 0 : network.assignments.size() - 1;
  for (std::size_t chosen = 1; inner <= most_inlined && chosen < std::size_t{1} << inner; ++chosen) {
    std::vector<TensorId> dropped;
    for (std::size_t number = 0; number < inner; ++number) {
      if ((chosen >> number & 1) != 0) dropped.push_back(network.assignments[number].result.tensor);
    }
    add_occurrences(inlined(network, dropped), operands, found);
  }
  if (!found.empty() && found.back().first_bit + found.back().indices.size() > most_bits) return {};
  return found;
}

JoinSet join_of(const std::vector<TensorAccess>& factors, const std::vector<Occurrence>& all) {
  JoinSet joined = 0;
  for (const Occurrence& occurrence : all) {
    if (std::ranges::find(factors, occurrence) != factors.end()) joined |= occurrence.all();
  }
  return joined;
}

std::optional<JoinSet> renumbered(JoinSet join, const std::vector<Occurrence>& from, const std::vector<Occurrence>& to) {
  JoinSet set = 0;
  for (const Occurrence& occurrence : from) {
    const JoinSet own = join & occurrence.all();
    if (own == 0) continue;
    const auto same = std::ranges::find(to, occurrence);
    if (same == to.end()) return std::nullopt;
    set |= own >> occurrence.first_bit << same->first_bit;
  }
  return set;
}

std::map<JoinSet, double> renumbered(const std::map<JoinSet, double>& joins, const std::vector<Occurrence>& from,
                                     const std::vector<Occurrence>& to) {
  std::map<JoinSet, double> found;
  for (const auto& [join, ratio] : joins) {
    if (const auto set = renumbered(join, from, to)) found[*set] = ratio;
  }
  return found;
}

std::vector<JoinSet> joins_in(JoinSet set, const std::vector<Occurrence>& occurrences) {
  struct Part {
    JoinSet set = 0;
    IndexSet indices = 0;
    std::size_t members = 0;
  };
  std::vector<Part> parts;
  for (const Occurrence& occurrence : occurrences) {
    const JoinSet own = set & occurrence.all();
    if (own == 0) continue;
    Part merged{own, occurrence.indices_in(own), 1};
    std::erase_if(parts, [&](const Part& part) {
      if ((part.indices & merged.indices) == 0) return false;
      merged.set |= part.set;
      merged.indices |= part.indices;
      merged.members += part.members;
      return true;
    });
    parts.push_back(merged);
  }
  std::vector<JoinSet> found;
  for (const Part& part : parts) {
    if (part.members > 1) found.push_back(part.set);
  }
  std::ranges::sort(found);
  return found;
}

std::vector<JoinSet> joins_of_operands(JoinSet join, const std::vector<Occurrence>& occurrences, const std::vector<Occurrence>& counted) {
  JoinSet left = 0;
  for (const Occurrence& occurrence : occurrences) {
    if (std::ranges::find(counted, occurrence) != counted.end()) left |= join & occurrence.all();
  }
  return joins_in(left, occurrences);
}

double counted_ratio(JoinSet set, const std::vector<Occurrence>& occurrences, const std::map<JoinSet, double>& counted) {
  double ratio = 1;
  for (const JoinSet join : joins_in(set, occurrences)) ratio *= nearest_ratio(join, counted);
  return ratio;
}

double least_joined(const PlanOptions& options) {
  double least = 1;
  for (const auto& [join, ratio] : options.joins) least *= ratio < 1 ? ratio : 1 / ratio;
  return least;
}

}  // namespace weft
