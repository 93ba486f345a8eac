// The bytes of one file of the disk cache: header, key, contents. Machine code has a binary header; plans and verdicts
// stay text, so that a user can read a file and use it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// Raised whenever the layout below changes; files of another version are misses.
constexpr std::uint32_t entry_version = 1;

enum class EntryForm : std::uint8_t {
  binary,  ///< NAME.weft
  text,    ///< NAME.plan: header and key in lines that begin with "# ", then the contents as they are
  verdict  ///< NAME.proof: likewise
};

/// 32 hex digits of the key's XXH3-128, then the suffix. Different keys may share a name: the file says whose it is.
std::string entry_name(std::string_view key, EntryForm form = EntryForm::binary);
std::optional<EntryForm> entry_form(std::string_view name);
inline bool is_entry_name(std::string_view name) { return entry_form(name).has_value(); }

std::uint64_t entry_size(std::uint64_t key_bytes, std::uint64_t content_bytes);
std::string pack_entry(std::string_view key, std::string_view contents, EntryForm form = EntryForm::binary);
/// The contents, or what is wrong with the file. The checksum covers the sizes, the key and the contents.
std::expected<std::string, std::string> unpack_entry(std::string_view file, std::string_view key,
                                                     EntryForm form = EntryForm::binary);

/// What a binary entry holds, whatever its key.
struct OpenedEntry {
  std::string key;
  std::string contents;
};
std::expected<OpenedEntry, std::string> open_entry(std::string_view file);

}  // namespace weft
