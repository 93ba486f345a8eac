// Arithmetic at the prompt: "2*3", "s*2", "T[0,0]/4 + 1".
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "weft/error.h"
#include "weft/tensor.h"

namespace weft {

/// Are there only numbers, names, elements, brackets and + - * /? Einsum and accesses with indices are not arithmetic.
bool is_arithmetic(std::string_view text);

/// By name; null if there is none. Valid while the answer is made.
using FindTensor = std::function<const Tensor*(const std::string& name)>;

/// In f64. Input errors with a picture: a name that is no tensor or no number, an operator or bracket that is missing.
Expected<double> arithmetic(std::string_view text, const FindTensor& find);

}  // namespace weft
