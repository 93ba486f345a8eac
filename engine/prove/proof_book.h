// ProofBook: what Z3 said to questions, by their text, in memory and on disk.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/cache/disk_cache.h"
#include "engine/prove/settled_claim.h"

namespace weft {

/// Each question is asked once. An answer holds for the version of Z3 that gave it, which is part of what it is found
/// by, as is the text as a whole. Thread safe; one question at a time.
class ProofBook {
 public:
  /// `disk`: null where nothing is kept on disk.
  explicit ProofBook(std::shared_ptr<const DiskCache> disk) : disk_(std::move(disk)) {}

  /// Unsupported error where libz3 cannot be loaded; others as of Smt.
  Expected<SettledClaim> settle(Claim claim);

 private:
  std::optional<SmtAnswer> known(const std::string& key, const Claim& claim);
  void remember(const std::string& key, const SmtAnswer& answer);

  std::shared_ptr<const DiskCache> disk_;
  std::mutex mutex_;
  std::optional<Smt> smt_;  // made for the first question that nothing is known of
  std::map<std::string, SmtAnswer> answers_;
};

/// "proven", or "refuted" and a line "CONSTANT VALUE" for each constant.
std::string print_answer(const SmtAnswer& answer);
/// Nothing where it is no such text.
std::optional<SmtAnswer> parse_answer(const std::string& text);

}  // namespace weft
