// FileName: the parts of a text that says where a tensor lies and in which format.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/byte_source.h"

namespace weft {

enum class FileKind { tns, mtx, npy, npz };

std::string_view name(FileKind kind);  ///< "tns": the extension, and the word in front of a path

/// "x.tns.zst", "mtx:x.dat", "x.npz:weights", "-", "npy:-". A file whose own name begins like a format is "./mtx:x".
struct FileName {
  std::string path;                        ///< without the word in front and without the member
  std::string member;                      ///< of an archive; empty: the only one
  std::optional<FileKind> kind;            ///< nothing: the content says it
  std::optional<Compression> compression;  ///< nothing: the content says it
  bool forced = false;                     ///< `kind` is that of the word in front

  bool standard_stream() const { return path == "-"; }
};

FileName parse_file_name(const std::string& text);

/// Letters of ASCII in lower case.
std::string lower_case(std::string_view text);

/// The last part of a path, in lower case, by whose end its format is told.
std::string lower_case_name(std::string_view path);

}  // namespace weft
