#include "engine/plan/search/planned.h"

#include <fmt/format.h>

namespace weft {

Plan::Plan() = default;
Plan::Plan(const Plan&) = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(const Plan&) = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

std::string proof_of(const std::string& optimal, bool beyond, const std::string& why_not) {
  if (optimal == "false") return "Whether there is anything cheaper is open: " + why_not;
  const char* dearer = optimal == "all" ? "tree, order of loops, fusion or conversion of sparse operands takes less"
                                        : "order of loops, fusion or conversion of sparse operands takes less with this tree";
  return beyond ? fmt::format("Without copies for lookups, levels opened in place and dense operands transposed, which were tried one after the other, no {}", dearer)
                : fmt::format("No {}, as long as no fiber is copied for lookups", dearer);
}

}  // namespace weft
