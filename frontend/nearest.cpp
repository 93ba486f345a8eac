#include "frontend/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace weft {
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Letters that may follow a known word: "--output" for "--out".
constexpr std::size_t begins_a_longer = 4;

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t fewest = 0;
  for (const std::string& candidate : known) {
    if (equal_but_for_case(word, candidate)) return candidate;
    const bool longer = candidate.size() >= begins_a_longer && word.starts_with(candidate);
    const bool shorter = !word.empty() && candidate.starts_with(word);
    const std::size_t edits = longer || shorter ? 1 : distance(word, candidate);
    const std::size_t most = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (edits > most || edits >= std::max(word.size(), candidate.size())) continue;
    if (best && edits >= fewest) continue;
    best = candidate;
    fewest = edits;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const auto like = nearest(word, known);
  return like ? fmt::format("; did you mean {}?", *like) : "";
}

}  // namespace weft
