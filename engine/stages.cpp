#include "engine/stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weft {

std::string_view name(Stage stage) {
  const auto number = static_cast<std::size_t>(stage);
  return number < stage_words.size() ? stage_words[number] : std::string_view();
}

std::optional<Stage> parse_stage(std::string_view text) {
  const auto found = std::ranges::find(stage_words, text);
  if (found == stage_words.end()) return std::nullopt;
  return static_cast<Stage>(found - stage_words.begin());
}

std::string no_stage(std::string_view text) { return fmt::format("no stage '{}'; stages are {}", text, fmt::join(stage_words, ", ")); }

}  // namespace weft
