// The words of stages, and what making them takes.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "weft/stage.h"

namespace weft {

inline constexpr std::array<std::string_view, 9> stage_words = {"network",   "tree", "schedule", "loops", "proofs",
                                                                "signature", "llvm", "asm",      "object"};

/// Whether a stage is there once machine code is; others are before.
constexpr bool needs_code(Stage stage) { return stage >= Stage::signature; }

/// "no stage 'x'; stages are network, tree, …"
std::string no_stage(std::string_view text);

}  // namespace weft
