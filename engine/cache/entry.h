// The bytes of one file of the disk cache: header, key, contents.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace weft {

/// Raised whenever the layout below changes; files of another version are misses.
constexpr std::uint32_t entry_version = 1;

/// 32 hex digits of the key's XXH3-128, then ".weft". Different keys may share a name: the file says whose it is.
std::string entry_name(std::string_view key);
bool is_entry_name(std::string_view name);

std::uint64_t entry_size(std::uint64_t key_bytes, std::uint64_t content_bytes);
std::string pack_entry(std::string_view key, std::string_view contents);
/// The contents, or what is wrong with the file. The checksum covers the sizes, the key and the contents.
std::expected<std::string, std::string> unpack_entry(std::string_view file, std::string_view key);

}  // namespace weft
