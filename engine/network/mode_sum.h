// ModeSum: what stands at a mode of an operand that is located at an affine sum of indices, j - i + 3 of B(j-i+3,i), or at the
// start that covers one, cover(j,4) of B(i,cover(j,4),j-cover(j,4)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/network/index_part.h"

namespace weft {

/// "j - i + 3" of {{"j", 1}, {"i", -1}} and 3; without spaces "j-i+3".
inline std::string sum_text(const std::vector<std::pair<std::string, std::int64_t>>& summands, std::int64_t offset, bool spaces) {
  std::string text;
  const auto add = [&](bool negative, const std::string& what) {
    const std::string_view sign = negative ? "-" : "+";
    if (text.empty()) text = negative ? "-" : "";
    else text.append(spaces ? " " : "").append(sign).append(spaces ? " " : "");
    text += what;
  };
  const auto size = [](std::int64_t number) {
    const auto bits = static_cast<std::uint64_t>(number);
    return std::to_string(number < 0 ? 0 - bits : bits);
  };
  for (const auto& [name, factor] : summands) add(factor < 0, factor == 1 || factor == -1 ? name : size(factor) + "*" + name);
  if (offset != 0) add(offset < 0, size(offset));
  return text;
}

/// "cover(j, 4)"; "cover(j)" where lengths say how far a block goes.
inline std::string cover_text(const std::string& sum, std::uint64_t width, bool spaces) {
  return "cover(" + sum + (width == 0 ? "" : (spaces ? ", " : ",") + std::to_string(width)) + ")";
}

/// factor times the index of the mode itself, or a part of it, and others times those of other modes of the access, and an offset:
/// j/2-i/2+3. Of another mode that holds starts it is the start that is found: j - cover(j,4).
struct ModeSum {
  struct Other {
    std::uint32_t mode = 0;
    std::int64_t factor = 1;
    IndexPart part = {};
    bool operator==(const Other&) const = default;
  };
  std::int64_t factor = 1;
  IndexPart part = {};
  std::vector<Other> others = {};
  std::int64_t offset = 0;
  bool within = false;  ///< the mode has another extent than its index, where there is nothing beyond
  /// The mode holds starts of blocks, cover(j,4) of (i,j) -> (i:d, b:s, j-b:d(4)): what stands there is the greatest start that is not
  /// above the sum, from which on the block has so many places; 0: as many as its length says.
  std::optional<std::uint64_t> cover = {};
  bool operator==(const ModeSum&) const = default;

  bool is_whole() const { return factor == 1 && part.is_whole() && others.empty() && offset == 0 && !within && !cover; }
};

}  // namespace weft
