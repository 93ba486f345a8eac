#include "engine/plan/joins.h"

#include <algorithm>

#include "engine/plan/binding.h"

namespace weft {
namespace {

constexpr std::size_t most_bits = 63;

}  // namespace

std::vector<Occurrence> occurrences(const Network& network, const std::vector<OperandFacts>& operands) {
  std::vector<Occurrence> found;
  std::size_t bits = 0;
  for (const Assignment& assignment : network.assignments) {
    for (const Term& term : assignment.terms) {
      for (const TensorAccess& factor : term.factors) {
        const auto facts = std::ranges::find(operands, factor.tensor, &OperandFacts::tensor);
        if (facts == operands.end() || !has_sparse_level(facts->format)) continue;
        const bool known = std::ranges::any_of(found, [&](const Occurrence& other) {
          return other.tensor == factor.tensor && other.indices == factor.indices;
        });
        if (known) continue;
        found.push_back({factor.tensor, factor.indices, static_cast<std::uint32_t>(bits)});
        bits += factor.indices.size();
      }
    }
  }
  if (bits > most_bits) return {};
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
    Part merged{own, 0, 1};
    for (std::size_t mode = 0; mode < occurrence.indices.size(); ++mode) {
      if ((own >> (occurrence.first_bit + mode) & 1) != 0) merged.indices |= one_index(occurrence.indices[mode]);
    }
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

double least_joined(const PlanOptions& options) {
  double least = 1;
  for (const auto& [join, ratio] : options.joins) least *= ratio < 1 ? ratio : 1 / ratio;
  return least;
}

}  // namespace weft
