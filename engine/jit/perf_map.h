// The file in which perf looks up names of generated code: /tmp/perf-PID.map, a line "ADDRESS BYTES NAME" in hexadecimal
// for each function (tools/perf/Documentation/jit-interface.txt of Linux).
#pragma once

#include <span>

#include "engine/jit/symbols.h"

namespace weft {

/// Appends the lines of the symbols, in one write. A file of another user, or a link, is left alone; what cannot be
/// written is not: profiling must not change what a program does. Thread safe, also between processes.
void append_to_perf_map(std::span<const CodeSymbol> symbols);

}  // namespace weft
