// Names of layouts, in one table: what they stand for is a text like any other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// The numbers and the word in the parentheses behind a name: "bcsr(4,4,unaligned)".
struct LayoutArguments {
  std::span<const std::int64_t> numbers;
  std::string_view word;  ///< empty: none
};

/// The signature of a name, "bcsr(R,C[,unaligned])"; nothing if there is no such name.
std::optional<std::string_view> layout_signature(std::string_view name);

/// The text of a name that there is; nothing where the arguments are not those of its signature.
std::optional<std::string> expanded_layout(std::string_view name, const LayoutArguments& arguments);

}  // namespace weft
