// Settled claims: what Z3 said to them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prove/layout_claims.h"
#include "engine/prove/smt.h"

namespace weft {

enum class Verdict : std::uint8_t { proven, refuted, unknown };
std::string_view word(Verdict verdict);

struct SettledClaim {
  Claim claim;
  Verdict verdict = Verdict::unknown;
  std::string counterexample;  ///< "(0,1) and (0,5)"; of what is refuted
  double ms = 0;               ///< that Z3 took
};

/// Errors as of Smt::ask().
Expected<SettledClaim> settled(Claim claim, Smt& smt);

}  // namespace weft
