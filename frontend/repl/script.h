// A script: statements read line by line and executed up to the first error.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "weft/error.h"

namespace weft {

/// The next line without its newline; nothing at the end.
using NextLine = std::function<std::optional<std::string>()>;
NextLine lines_of(std::string text);

/// `line` is where the last statement that was executed begins, from 1.
struct ScriptEnd {
  std::size_t line = 0;
  Expected<void> done;
};

/// Gives whole statements, lines that go on joined, to `execute` until it fails, `finished` says so, or no line is left.
ScriptEnd run_lines(const NextLine& next_line, const std::function<Expected<void>(const std::string&)>& execute,
                    const std::function<bool()>& finished);

}  // namespace weft
