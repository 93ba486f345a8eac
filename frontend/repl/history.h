// History: lines of earlier sessions, in a file that several sessions may share.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft {

/// $XDG_STATE_HOME/weft/history, else ~/.local/state/weft/history; none without both. A relative XDG_STATE_HOME is
/// ignored, as the XDG base directory specification asks.
std::optional<std::string> history_path();

/// A text file with an entry per line, mode 0600, its directory made with 0700. Entries are appended at once; beyond
/// twice the most that are kept the file is written anew. Without a path, or where the file cannot be read or written,
/// there is only what was added here: history is never worth an error.
class History {
 public:
  static constexpr std::size_t most = 1000;
  explicit History(std::optional<std::string> path);
  const std::vector<std::string>& entries() const { return entries_; }
  /// New lines become blanks. An entry equal to the one before is left out, and so is an empty one.
  void add(std::string entry);

 private:
  void shorten() const;

  std::optional<std::string> path_;
  std::vector<std::string> entries_;
};

}  // namespace weft
