// Every pair of operand formats times every contraction of two operands up to order 4, each a network of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/sparse_result.h"

namespace weft::test {

/// How many indices stand in both operands and the result, in one operand and the result, in both but not the result.
struct ContractedPair {
  std::size_t kept = 0;
  std::size_t left = 0;
  std::size_t right = 0;
  std::size_t summed = 0;
  bool operator==(const ContractedPair&) const = default;
};

/// Those whose operands and result have at most 4 modes.
std::vector<ContractedPair> contracted_pairs();

/// Dense and compressed levels in every order, and coordinates (u, q …) below and above such levels.
std::vector<Format> operand_formats(std::size_t order);

/// Contractions take turns, and each goes through all pairs of formats, one after the other in a scattered order.
/// Everything else is drawn from the number: orders of modes, extents (0 and 1 among them), how full the operands are,
/// patterns of ones, zeros, values that cancel, duplicates, and the format that is asked for the result R.
RequestedNetwork pair(std::uint64_t number);

}  // namespace weft::test
