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

Expected<SettledClaim> settled(Claim claim, Smt& smt) {
  std::vector<std::string> wanted;
  for (const auto& row : claim.examples) wanted.insert(wanted.end(), row.begin(), row.end());
  const auto start = Clock::now();
  const auto answer = smt.ask(claim.query, wanted);
  if (!answer) return std::unexpected(answer.error());
  SettledClaim proof{std::move(claim), Verdict::unknown, {}, milliseconds_since(start)};
  if (answer->verdict == SmtVerdict::unsatisfiable) proof.verdict = Verdict::proven;
  if (answer->verdict != SmtVerdict::satisfiable) return proof;
  proof.verdict = Verdict::refuted;
  for (const auto& row : proof.claim.examples) {
    std::vector<std::string> values;
    for (const std::string& constant : row) {
      const auto value = answer->values.find(constant);
      values.push_back(value == answer->values.end() ? "?" : value->second);
    }
    proof.counterexample += fmt::format("{}({})", proof.counterexample.empty() ? "" : " and ", fmt::join(values, ","));
  }
  return proof;
}

}  // namespace weft
