// Decimal digits in text: ASCII, whatever the host's locale says.
#pragma once

namespace weft {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace weft
