// Programs and their claims, settled in one book for all tests.
#pragma once

#include <string>
#include <vector>

#include "engine/loop/program.h"
#include "engine/prove/kernel_claims.h"
#include "engine/prove/proof_book.h"

namespace weft::test {

/// Read and not verified; throws where it is no program.
loop::Program program_of(const std::string& text);

/// Throws where they cannot be settled.
std::vector<SettledClaim> proofs_of(const loop::Program& program, const AssumedOfArrays& assumed = {});

/// The claims that are not proven, and the program; empty where all are.
std::string unproven(const loop::Program& program);

}  // namespace weft::test
