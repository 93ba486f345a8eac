// ComputedPattern: which expression over which patterns gave the pattern of a result.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/chunks.h"

namespace weft {

/// Belongs to what is known of a pattern (PatternFacts::computed). While an operand has the pattern that it had then, the
/// result has this one: its values can be written where the host wants them, and nothing is counted again.
struct ComputedPattern {
  std::string network;  ///< as print() writes it
  std::string result;
  /// By name numbers of their patterns (PatternFacts::number) as the host gave them; 0 of one that has all elements.
  std::map<std::string, std::uint64_t> operands;
  /// Likewise of layouts that were made of them, where values decide which coordinates these have.
  std::map<std::string, std::uint64_t> layouts = {};
  /// As it was appended: the chunks, and by chunk and level how many entries each made. Empty where it was not.
  std::vector<Chunk> chunks = {};
  std::vector<std::vector<std::uint64_t>> entries = {};
  /// It was put together from the levels of layouts: which places of blocks are entries, values said. Kernels over other layouts may store
  /// zeros that it has no place for, or leave out some that it has.
  bool over_levels = false;
};

}  // namespace weft
