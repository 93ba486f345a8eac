// Settled claims: what Z3 said to them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prove/claim.h"
#include "engine/prove/smt.h"

namespace weft {

enum class Verdict : std::uint8_t { proven, refuted, unknown };
std::string_view word(Verdict verdict);

struct SettledClaim {
  Claim claim;
  Verdict verdict = Verdict::unknown;
  std::string counterexample;  ///< "(0,1) and (0,5)"; of what is refuted
  double ms = 0;               ///< that Z3 took, or finding what it said before
  bool cached = false;         ///< it was found
};

/// By what Z3 answered to the query. A value that it does not tell is "?".
SettledClaim settled(Claim claim, const SmtAnswer& answer);
/// Asks. Errors as of Smt::ask().
Expected<SettledClaim> settled(Claim claim, Smt& smt);

/// The constants whose values a counterexample tells.
std::vector<std::string> told_constants(const Claim& claim);

}  // namespace weft
