// Kernel proofs: the claims of loop programs, settled.
#pragma once

#include <string>
#include <vector>

#include "engine/loop/program.h"
#include "engine/prove/proof_book.h"

namespace weft {

/// In the order of kernel_claims(). Errors as of ProofBook::settle().
Expected<std::vector<SettledClaim>> kernel_proofs(const loop::Program& program, ProofBook& book);

/// A script in SMT-LIB 2 for any solver: each claim with its verdict in comments, its query, and what the answer is if
/// it holds.
std::string proofs_text(const loop::Program& program, const std::vector<SettledClaim>& proofs);

/// Input error with the counterexample where a claim is refuted, and where one is not decided. Where Z3 cannot be
/// asked, for want of the library or of memory, the rules of the verifier stand alone.
Expected<void> check_proofs(const loop::Program& program, ProofBook& book);

}  // namespace weft
