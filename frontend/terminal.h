// What the command shows while it works, and how it writes text to a place.
#pragma once

#include <string>
#include <string_view>

#include "weft/error.h"
#include "weft/memory.h"

namespace weft {

/// A progress line on standard error, from the second second on; empty unless standard error is a terminal.
Progress terminal_progress(bool quiet);
/// Removes the progress line, if one stands.
void clear_progress();

/// Writes `text` to standard output, or to `path`, which has its final name only when it is whole.
Expected<void> write_text(const std::string& path, std::string_view text);

/// Can a file be made at `path`? Asked before the work, so that it is not lost. Input error naming the path.
Expected<void> writable_place(const std::string& path);

/// "1.2 GB".
std::string human_bytes(std::uint64_t bytes);

}  // namespace weft
