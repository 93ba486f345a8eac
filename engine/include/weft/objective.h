// What plans are chosen by.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// Predicted time, or the fewest dimensions of the largest workspace.
enum class Objective : std::uint8_t { time, workspace_order };

/// "time", "workspace-order": what CompileOptions::objective takes.
constexpr std::string_view name(Objective objective) {
  return objective == Objective::time ? "time" : "workspace-order";
}

}  // namespace weft
