// StatementRange: statements next to each other that share a loop or a nest.
#pragma once

#include <cstddef>

namespace weft {

/// Statements `first` to `last`, both included: never empty. By position in a schedule, or in a nest.
struct StatementRange {
  std::size_t first = 0;
  std::size_t last = 0;

  std::size_t end() const { return last + 1; }  ///< the statement behind it
  std::size_t size() const { return end() - first; }
  bool contains(std::size_t statement) const { return first <= statement && statement <= last; }
  bool operator==(const StatementRange&) const = default;
};

}  // namespace weft
