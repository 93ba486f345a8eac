// Layouts as parts of formats: `LAYOUT[:SCALAR]`.
#pragma once

#include <string_view>

#include "weft/layout.h"

namespace weft {

/// Whether a text is meant for parse_layout_format: it has a parenthesis, or begins with the name of a layout.
bool is_layout_text(std::string_view text);

/// The format of `LAYOUT[:SCALAR]`. A layout that is KINDS:ORDER, as csr is ds, gives that format. Errors as of parse_layout.
Expected<Format> parse_layout_format(std::string_view text);

}  // namespace weft
