// What the command shows while it works, and how it writes text to a place.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/error.h"
#include "weft/memory.h"

namespace weft {

/// Of the terminal behind the descriptor; where there is none, more than any text has.
std::size_t terminal_columns(int descriptor);

/// A terminal whose cursor goes back to the begin of a line, which is then cleared. Inline: line editors, which libweft does not
/// hold, call it.
inline bool moves_cursor(int descriptor) {
  const char* const terminal = std::getenv("TERM");
  return isatty(descriptor) != 0 && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

/// A progress line on standard error, from the second second on; empty unless standard error is a terminal.
Progress terminal_progress(bool quiet);
/// The resources with which a tensor is written to a path. Without progress where that is standard output and leads to no file: what
/// comes there may stand on the same terminal, however many other commands are between.
Resources writing_resources(const Resources& resources, const std::string& path);
/// Removes the progress line, if one stands.
void clear_progress();

/// Writes `text` to standard output, or to `path`, which has its final name only when it is whole.
Expected<void> write_text(const std::string& path, std::string_view text);

/// Writes text to standard error. Where that cannot be written, nothing else could be told either.
void write_note(std::string_view text);

/// Takes the numbers of standard streams that the caller has closed, so that no file that is opened later gets one and is
/// written to in its place. Using such a stream still fails.
void keep_standard_streams();

/// Can a file be made at the path of "PATH" or "FORMAT:PATH", or is it "-"? Asked before the work, so that it is not lost.
/// Input error naming the path.
Expected<void> writable_place(const std::string& text);

/// The name that messages have for an output, "result A", and its path; "-" is standard output.
using Destination = std::pair<std::string, std::string>;

/// Input error naming two that go to the same file, of which the later would replace the earlier. Pipes, devices and standard
/// output take several.
Expected<void> different_files(std::span<const Destination> destinations);

/// "1.2 GB".
std::string human_bytes(std::uint64_t bytes);

}  // namespace weft
