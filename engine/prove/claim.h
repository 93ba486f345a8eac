// Claim: a sentence that weft rests on, and the question whether anything contradicts it.
#pragma once

#include <string>
#include <vector>

namespace weft {

/// A constant of a query, as counterexamples tell its value: "j=3"; the value alone where it has no name.
struct ClaimValue {
  std::string name;
  std::string constant;
};

struct Claim {
  std::string kind;   ///< "once", "cursor"
  std::string says;   ///< "no coordinate has two places", "x at j never moves back, loops i j, state i"
  std::string query;  ///< declarations and assertions in SMT-LIB 2 that nothing satisfies if the claim holds
  /// The rows of a counterexample: two coordinates, two iterations.
  std::vector<std::vector<ClaimValue>> examples;
  bool has_to_hold = false;
  std::string skeleton = {};  ///< of kernels: the way to look up, write or cut that rests on it, "cursor", "owner"
};

}  // namespace weft
