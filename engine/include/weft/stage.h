// The stages of a kernel that can be shown as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// What Kernel::explain shows, in the order in which it is made.
enum class Stage : std::uint8_t { network, tree, schedule, loops, proofs, signature, llvm, assembly, object };
/// As Kernel::explain and EvaluateOptions::stages call it: "network", "asm".
std::string_view name(Stage stage);
/// The stage of that name; nothing where there is none.
std::optional<Stage> parse_stage(std::string_view text);

}  // namespace weft
