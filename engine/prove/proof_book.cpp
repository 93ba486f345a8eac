#include "engine/prove/proof_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "engine/prove/z3_library.h"
#include "runtime/elapsed.h"

namespace weft {
namespace {

constexpr std::size_t most_answers = 4096;  // in memory, some kilobytes each

constexpr std::array<std::string_view, 3> words = {"proven", "refuted", "unknown"};  // by SmtVerdict

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Whether the answer has the values that a counterexample tells.
bool answers(const SmtAnswer& answer, const Claim& claim) {
  return answer.verdict != SmtVerdict::satisfiable ||
         std::ranges::all_of(told_constants(claim),
                             [&](const std::string& constant) { return answer.values.contains(constant); });
}

}  // namespace

std::string print_answer(const SmtAnswer& answer) {
  std::string text = fmt::format("{}\n", words[static_cast<std::size_t>(answer.verdict)]);
  for (const auto& [constant, value] : answer.values) text += fmt::format("{} {}\n", constant, value);
  return text;
}

std::optional<SmtAnswer> parse_answer(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line)) return std::nullopt;
  const auto verdict = std::ranges::find(words, line);
  if (verdict == words.end()) return std::nullopt;
  SmtAnswer answer;
  answer.verdict = static_cast<SmtVerdict>(verdict - words.begin());
  while (std::getline(lines, line)) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || answer.verdict != SmtVerdict::satisfiable || !is_number(line.substr(space + 1)))
      return std::nullopt;
    answer.values[line.substr(0, space)] = line.substr(space + 1);
  }
  return answer;
}

Expected<SettledClaim> ProofBook::settle(Claim claim) {
  const std::lock_guard lock(mutex_);
  const std::string key = fmt::format("Z3 {}\n{}", z3_version(), claim.query);  // which loads it
  const auto start = Clock::now();
  if (const auto answer = known(key, claim)) {
    SettledClaim proof = settled(std::move(claim), *answer);
    proof.cached = true;
    proof.ms = milliseconds_since(start);
    return proof;
  }
  if (!smt_) {
    auto smt = Smt::create();
    if (!smt) return std::unexpected(smt.error());
    smt_.emplace(std::move(*smt));
  }
  const auto asking = Clock::now();  // without the time that a context takes
  const auto answer = smt_->ask(claim.query, told_constants(claim));
  if (!answer) return std::unexpected(answer.error());
  SettledClaim proof = settled(std::move(claim), *answer);
  proof.ms = milliseconds_since(asking);
  remember(key, *answer);
  return proof;
}

std::optional<SmtAnswer> ProofBook::known(const std::string& key, const Claim& claim) {
  if (const auto found = answers_.find(key); found != answers_.end() && answers(found->second, claim))
    return found->second;
  const auto text = disk_ ? disk_->load(key, EntryForm::verdict) : std::nullopt;
  auto answer = text ? parse_answer(*text) : std::nullopt;
  if (!answer || !answers(*answer, claim)) return std::nullopt;
  answers_.insert_or_assign(key, *answer);
  return answer;
}

void ProofBook::remember(const std::string& key, const SmtAnswer& answer) {
  if (answers_.size() >= most_answers) answers_.clear();
  answers_.insert_or_assign(key, answer);
  if (disk_) disk_->store(key, print_answer(answer), EntryForm::verdict);
}

}  // namespace weft
