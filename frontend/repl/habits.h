// Habits from other languages: what is typed at the prompt as in Python, numpy or MATLAB, and what to write here.
#pragma once

#include <optional>
#include <string_view>

#include "weft/engine.h"

namespace weft {

/// The error for a line that means nothing here but does elsewhere, such as "y = A * 2" for a matrix A: its message tells what to write,
/// "y(i,j) = A(i,j) * 2". None for other lines. Input error; unsupported for sums and functions, which weft does not compute.
std::optional<Error> habit(std::string_view text, const Tensors& tensors);

}  // namespace weft
