// Habits from other languages: what is typed at the prompt as in Python, numpy or MATLAB, and what to write here.
#pragma once

#include <optional>
#include <string_view>

#include "weft/engine.h"

namespace weft {

/// An error with the sentence that helps, for "A.shape", "print A", "y = A * 2", "A @ B", "A(i,2:4)", "exp(A(i,j))" and the like, of
/// tensors that are there; nothing for what may mean something. Input errors, or unsupported for what weft does not compute yet.
std::optional<Error> habit(std::string_view text, const Tensors& tensors);

}  // namespace weft
