#include "tests/unit/prove/proofs.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace weft::test {

loop::Program program_of(const std::string& text) {
  auto program = loop::parse(text);
  if (!program) throw std::runtime_error(program.error().message);
  return std::move(*program);
}

std::vector<SettledClaim> proofs_of(const loop::Program& program, const AssumedOfArrays& assumed) {
  static ProofBook book(nullptr);
  std::vector<SettledClaim> proofs;
  for (Claim& claim : kernel_claims(program, assumed)) {
    auto proof = book.settle(std::move(claim));
    if (!proof) throw std::runtime_error(proof.error().message);
    proofs.push_back(std::move(*proof));
  }
  return proofs;
}

std::string unproven(const loop::Program& program) {
  std::string text;
  for (const SettledClaim& proof : proofs_of(program)) {
    if (proof.verdict == Verdict::proven) continue;
    text += fmt::format("{}: {}: {}: {}\n{}", proof.claim.kind, proof.claim.says, word(proof.verdict),
                        proof.counterexample, proof.claim.query);
  }
  return text.empty() ? text : text + "\nin\n" + print(program);
}

}  // namespace weft::test
