#include "engine/plan/search/planned.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weft {

namespace {

constexpr std::array<std::string_view, 4> producers = {"dp", "z3", "baseline", "user"};
constexpr std::array<std::string_view, 3> claims = {"false", "tree", "all"};

template <typename Enumeration, std::size_t count>
std::optional<Enumeration> meant(std::string_view from, const std::array<std::string_view, count>& words) {
  const auto place = std::ranges::find(words, from);
  if (place == words.end()) return std::nullopt;
  return static_cast<Enumeration>(place - words.begin());
}

}  // namespace

std::string_view word(Producer producer) { return producers[static_cast<std::size_t>(producer)]; }
std::string_view word(Optimal optimal) { return claims[static_cast<std::size_t>(optimal)]; }
std::optional<Producer> parse_producer(std::string_view from) { return meant<Producer>(from, producers); }
std::optional<Optimal> parse_optimal(std::string_view from) { return meant<Optimal>(from, claims); }

Plan::Plan() = default;
Plan::Plan(const Plan&) = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(const Plan&) = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

std::string proof_of(Optimal optimal, bool beyond, const std::string& why_not) {
  if (optimal == Optimal::none) return "Whether there is anything cheaper is open: " + why_not;
  const char* dearer = optimal == Optimal::all ? "tree, order of loops, fusion or conversion of sparse operands takes less"
                                        : "order of loops, fusion or conversion of sparse operands takes less with this tree";
  constexpr const char* tried =
      "Without copies for lookups, levels opened in place or marked, dense operands transposed and chains of levels, which were tried "
      "one after the other";
  return beyond ? fmt::format("{}, no {}", tried, dearer)
                : fmt::format("No {}, as long as no fiber is copied for lookups and no levels are marked or chained", dearer);
}

std::string proof_of(Optimal optimal, bool beyond, std::optional<Why> why_not) {
  const auto sentence = [&] {
    switch (why_not.value_or(Why::layouts_untried)) {
      case Why::solver_missing: return "Z3 could not be asked";
      case Why::effort_spent: return "Z3's effort was spent";
      case Why::priced_before_known: return "layouts on the way to the result are priced before they are known";
      case Why::too_many_nests: return "there were too many nests for Z3";
      case Why::search_budget: return "looking further would take longer than it could save";
      case Why::layouts_untried: break;
    }
    return "not every choice of layouts for this tree was tried";
  };
  return proof_of(optimal, beyond, std::string(sentence()));
}

}  // namespace weft
