#include "runtime/file_name.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace weft {

namespace {

constexpr std::array<std::string_view, 4> kind_names = {"tns", "mtx", "npy", "npz"};

bool take_suffix(std::string& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.resize(text.size() - suffix.size());
  return true;
}

/// The kind by the word in front of a path, which is taken off.
std::optional<FileKind> take_word(std::string& path) {
  for (std::size_t kind = 0; kind != kind_names.size(); ++kind) {
    const std::string_view word = kind_names[kind];
    if (!path.starts_with(word) || path.size() == word.size() || path[word.size()] != ':') continue;
    path.erase(0, word.size() + 1);
    return static_cast<FileKind>(kind);
  }
  return std::nullopt;
}

/// Where the ':' before the member of an archive stands: behind ".npz", or anywhere if the archive is forced.
std::size_t member_colon(const std::string& path, bool forced) {
  const std::string lower = lower_case(path);  // all of it: a member may have a slash in its name
  for (const std::string_view end : {".npz:", ".npz.gz:", ".npz.zst:"}) {
    const std::size_t at = lower.find(end);
    if (at != std::string::npos) return at + end.size() - 1;
  }
  return forced ? path.rfind(':') : std::string::npos;
}

}  // namespace

std::string_view name(FileKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string lower_case_name(std::string_view path) { return lower_case(path.substr(path.rfind('/') + 1)); }

FileName parse_file_name(const std::string& text) {
  FileName file;
  file.path = text;
  file.kind = take_word(file.path);
  file.forced = file.kind.has_value();
  if (!file.forced || *file.kind == FileKind::npz) {
    if (const std::size_t colon = member_colon(file.path, file.forced); colon != std::string::npos) {
      file.member = file.path.substr(colon + 1);
      file.path.resize(colon);
    }
  }
  std::string lower = lower_case_name(file.path);
  if (take_suffix(lower, ".gz")) {
    file.compression = Compression::gzip;
  } else if (take_suffix(lower, ".zst")) {
    file.compression = Compression::zstandard;
  }
  for (std::size_t kind = 0; kind != kind_names.size(); ++kind) {
    if (!take_suffix(lower, "." + std::string(kind_names[kind]))) continue;
    if (file.forced) break;
    file.kind = static_cast<FileKind>(kind);
    if (!file.compression) file.compression = Compression::none;
    break;
  }
  return file;
}

}  // namespace weft
