// Kernel claims: what the code of a loop program rests on, as questions in SMT-LIB 2.
#pragma once

#include <vector>

#include "engine/loop/program.h"
#include "engine/prove/claim.h"
#include "engine/prove/iteration.h"

namespace weft {

/// Of every lookup, append and parallel root, in the order of the text, each question once. All have to hold. The
/// program satisfies the verifier's rules up to "completeness".
std::vector<Claim> kernel_claims(const loop::Program& program, const AssumedOfArrays& assumed = {});

}  // namespace weft
