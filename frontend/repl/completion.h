// What may stand where the cursor is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Completion {
  std::size_t begin = 0;  ///< of the part of the line that is replaced; it ends at the cursor
  /// Sorted, without repetition; a path may begin with a quote where none was typed. A candidate that cannot be the end of its word,
  /// such as a directory, ends in '/', '(', '=' or ':'.
  std::vector<std::string> candidates;
  bool operator==(const Completion&) const = default;
};

/// Completes commands after ':', their arguments by kind, names of tensors, generators and files of tensors after
/// "NAME =" and in :write, and options of :set. `before` is the line up to the cursor. Reads directories.
Completion complete(std::string_view before, const std::vector<std::string>& tensors);

/// The longest start that all candidates share. Inline: line editors, which libweft does not hold, call it.
inline std::string common_start(const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "";
  std::string start = candidates.front();
  for (const std::string& candidate : candidates) {
    const auto [end, other] = std::ranges::mismatch(start, candidate);
    start.erase(end, start.end());
  }
  return start;
}

}  // namespace weft
