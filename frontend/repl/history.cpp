#include "frontend/repl/history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "runtime/output_file.h"

namespace weft {
namespace {

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

void make_directories(const std::string& directory) {
  for (std::size_t slash = directory.find('/', 1); slash != std::string::npos; slash = directory.find('/', slash + 1)) {
    mkdir(directory.substr(0, slash).c_str(), 0700);
  }
  mkdir(directory.c_str(), 0700);
}

}  // namespace

std::optional<std::string> history_path() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/weft/history";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] != '\0') return std::string(home) + "/.local/state/weft/history";
  return std::nullopt;
}

History::History(std::optional<std::string> path) : path_(std::move(path)) {
  if (!path_) return;
  std::ifstream file(*path_);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) entries_.push_back(std::move(line));
  }
  const std::size_t lines = entries_.size();
  if (lines > most) entries_.erase(entries_.begin(), entries_.end() - most);
  if (lines > 2 * most) shorten();
}

/// Under another name first: what a crash leaves is the old file or the new one.
void History::shorten() const {
  std::string text;
  for (const std::string& entry : entries_) text += entry + '\n';
  auto file = OutputFile::create(*path_);
  if (file && file->write(text) && file->finish()) chmod(path_->c_str(), 0600);
}

void History::add(std::string entry) {
  std::ranges::replace_if(entry, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  const std::size_t begin = entry.find_first_not_of(" \t");
  if (begin == std::string::npos) return;
  entry = entry.substr(begin, entry.find_last_not_of(" \t") - begin + 1);
  if (!entries_.empty() && entries_.back() == entry) return;
  entries_.push_back(entry);
  if (!path_) return;
  make_directories(directory_of(*path_));
  const int file = open(path_->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  fchmod(file, 0600);
  entry += '\n';
  // One call appends the whole line, so that lines of two sessions do not mix. A full disk loses this entry only.
  [[maybe_unused]] const ssize_t written = write(file, entry.data(), entry.size());
  close(file);
}

}  // namespace weft
