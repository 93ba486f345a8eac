#include "engine/prove/settled_claim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/elapsed.h"

namespace weft {

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::proven: return "proven";
    case Verdict::refuted: return "refuted";
    case Verdict::unknown: break;
  }
  return "unknown";
}

std::vector<std::string> told_constants(const Claim& claim) {
  std::vector<std::string> constants;
  for (const auto& row : claim.examples)
    for (const ClaimValue& value : row) constants.push_back(value.constant);
  return constants;
}

SettledClaim settled(Claim claim, const SmtAnswer& answer) {
  SettledClaim proof{.claim = std::move(claim), .verdict = Verdict::unknown, .counterexample = {}};
  if (answer.verdict == SmtVerdict::unsatisfiable) proof.verdict = Verdict::proven;
  if (answer.verdict != SmtVerdict::satisfiable) return proof;
  proof.verdict = Verdict::refuted;
  for (const auto& row : proof.claim.examples) {
    std::vector<std::string> values;
    for (const ClaimValue& told : row) {
      const auto found = answer.values.find(told.constant);
      const std::string value = found == answer.values.end() ? "?" : found->second;
      values.push_back(told.name.empty() ? value : fmt::format("{}={}", told.name, value));
    }
    proof.counterexample += fmt::format("{}({})", proof.counterexample.empty() ? "" : " and ", fmt::join(values, ","));
  }
  return proof;
}

Expected<SettledClaim> settled(Claim claim, Smt& smt) {
  const auto start = Clock::now();
  const auto answer = smt.ask(claim.query, told_constants(claim));
  if (!answer) return std::unexpected(answer.error());
  SettledClaim proof = settled(std::move(claim), *answer);
  proof.ms = milliseconds_since(start);
  return proof;
}

}  // namespace weft
