// Options that :set knows, by the names they have on the command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "frontend/command.h"

namespace weft {

struct ReplOption {
  std::string_view name;
  std::string_view summary;
  std::variant<bool CommandOptions::*, unsigned CommandOptions::*, std::string CommandOptions::*,
               std::optional<double> CommandOptions::*>
      place;
};

std::span<const ReplOption> repl_options();

}  // namespace weft
