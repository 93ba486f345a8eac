#include "engine/prove/kernel_proofs.h"

#include <fmt/format.h>

#include <utility>

#include "engine/prove/kernel_claims.h"

namespace weft {

Expected<std::vector<SettledClaim>> kernel_proofs(const loop::Program& program, ProofBook& book) {
  std::vector<SettledClaim> proofs;
  for (Claim& claim : kernel_claims(program)) {
    auto proof = book.settle(std::move(claim));
    if (!proof) return std::unexpected(proof.error());
    proofs.push_back(std::move(*proof));
  }
  return proofs;
}

std::string proofs_text(const loop::Program& program, const std::vector<SettledClaim>& proofs) {
  std::string text =
      fmt::format("; program {}: {} {}\n", program.name, proofs.size(), proofs.size() == 1 ? "claim" : "claims");
  for (const SettledClaim& proof : proofs) {
    text += fmt::format("\n; {}: {}\n; {}", proof.claim.kind, proof.claim.says, word(proof.verdict));
    text += proof.verdict == Verdict::refuted
                ? fmt::format(": not {}\n", proof.counterexample)
                : fmt::format(", taken: {}\n", proof.verdict == Verdict::proven ? proof.claim.skeleton : "none");
    text += fmt::format("(push 1)\n{}(check-sat) ; unsat if it holds\n(pop 1)\n", proof.claim.query);
  }
  return text;
}

Expected<void> check_proofs(const loop::Program& program, ProofBook& book) {
  const auto proofs = kernel_proofs(program, book);
  if (!proofs && proofs.error().kind == ErrorKind::internal) return std::unexpected(proofs.error());
  if (!proofs) return {};
  for (const SettledClaim& proof : *proofs) {
    if (proof.verdict == Verdict::proven) continue;
    const std::string why =
        proof.verdict == Verdict::refuted ? fmt::format("does not hold for {}", proof.counterexample) : "is not proven";
    return input_error(
        fmt::format("the loops of {} are refused: {}: {} {}", program.name, proof.claim.kind, proof.claim.says, why));
  }
  return {};
}

}  // namespace weft
