#include "engine/cache/entry.h"

#include <array>
#include <bit>
#include <cstring>

#include <xxhash.h>

namespace weft {
namespace {

// Entries hold machine code of this machine, so the header is in its byte order; the magic read in another byte order
// does not match.
struct Header {
  std::array<char, 8> magic = {'w', 'e', 'f', 't', '-', 'o', 'b', 'j'};
  std::uint32_t version = entry_version;
  std::uint32_t byte_order = 0x01020304;
  std::uint64_t key_bytes = 0;
  std::uint64_t content_bytes = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) == 40);

constexpr std::string_view suffixes[] = {".weft", ".plan", ".proof"};
constexpr std::string_view magics[] = {"", "# weft plan, entry ", "# weft proof, entry "};  // of texts
constexpr std::string_view digits = "0123456789abcdef";

std::uint64_t checksum(const Header& header, std::string_view key_and_contents) {
  const std::array<std::uint64_t, 2> sizes = {header.key_bytes, header.content_bytes};
  const XXH64_hash_t seed = XXH3_64bits(sizes.data(), sizeof(sizes));
  return XXH3_64bits_withSeed(key_and_contents.data(), key_and_contents.size(), seed);
}

std::string hex(std::uint64_t word) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += digits[(word >> shift) & 15];
  return text;
}

std::string commented(std::string_view key) {
  std::string text = "# ";
  for (const char letter : key) {
    text += letter;
    if (letter == '\n') text += "# ";
  }
  return text + "\n";
}

// The whole line is compared, so a change of any byte of it is noticed.
std::string text_header(std::uint64_t key_bytes, std::string_view rest, EntryForm form) {
  Header header;
  header.key_bytes = key_bytes;
  header.content_bytes = rest.size() - key_bytes;
  return std::string(magics[static_cast<std::size_t>(form)]) + std::to_string(entry_version) + ", key " + std::to_string(header.key_bytes) +
         " bytes, contents " + std::to_string(header.content_bytes) + " bytes, checksum " +
         hex(checksum(header, rest)) + "\n";
}

std::expected<std::string, std::string> unpack_text(std::string_view file, std::string_view key, EntryForm form) {
  const std::string_view magic = magics[static_cast<std::size_t>(form)];
  const std::size_t end = file.find('\n');
  if (end == std::string_view::npos) return std::unexpected("truncated header");
  const std::string_view line = file.substr(0, end + 1);
  const std::string_view rest = file.substr(end + 1);
  if (!line.starts_with(magic)) return std::unexpected("not a weft entry");
  if (!line.substr(magic.size()).starts_with(std::to_string(entry_version) + ",")) {
    return std::unexpected("written by another version");
  }
  const std::string ours = commented(key);
  if (rest.size() < ours.size()) return std::unexpected("truncated or extended");
  if (!rest.starts_with(ours)) return std::unexpected("holds another key of the same hash, or is damaged");
  if (line != text_header(ours.size(), rest, form)) return std::unexpected("checksum differs");
  return std::string(rest.substr(ours.size()));
}

}  // namespace

std::string entry_name(std::string_view key, EntryForm form) {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  std::string name = hex(hash.high64) + hex(hash.low64);
  name += suffixes[static_cast<std::size_t>(form)];
  return name;
}

std::optional<EntryForm> entry_form(std::string_view name) {
  if (name.size() < 32 || name.substr(0, 32).find_first_not_of(digits) != std::string_view::npos) return std::nullopt;
  for (const EntryForm form : {EntryForm::binary, EntryForm::text, EntryForm::verdict}) {
    if (name.substr(32) == suffixes[static_cast<std::size_t>(form)]) return form;
  }
  return std::nullopt;
}

std::uint64_t entry_size(std::uint64_t key_bytes, std::uint64_t content_bytes) {
  return sizeof(Header) + key_bytes + content_bytes;
}

std::string pack_entry(std::string_view key, std::string_view contents, EntryForm form) {
  if (form != EntryForm::binary) {
    const std::string ours = commented(key);
    const std::string rest = ours + std::string(contents);
    return text_header(ours.size(), rest, form) + rest;
  }
  Header header;
  header.key_bytes = key.size();
  header.content_bytes = contents.size();
  std::string file(sizeof(Header), '\0');
  file.reserve(entry_size(key.size(), contents.size()));
  file += key;
  file += contents;
  header.checksum = checksum(header, std::string_view(file).substr(sizeof(Header)));
  std::memcpy(file.data(), &header, sizeof(Header));
  return file;
}

std::expected<std::string, std::string> unpack_entry(std::string_view file, std::string_view key, EntryForm form) {
  if (form != EntryForm::binary) return unpack_text(file, key, form);
  auto opened = open_entry(file);
  if (!opened) return std::unexpected(opened.error());
  if (opened->key != key) return std::unexpected("holds another key of the same hash");
  return std::move(opened->contents);
}

std::expected<OpenedEntry, std::string> open_entry(std::string_view file) {
  if (file.size() < sizeof(Header)) return std::unexpected("truncated header");
  Header header;
  std::memcpy(&header, file.data(), sizeof(Header));
  const Header ours;
  if (header.magic != ours.magic || header.byte_order != ours.byte_order) return std::unexpected("not a weft entry");
  if (header.version != ours.version) return std::unexpected("written by another version");
  const std::string_view rest = file.substr(sizeof(Header));
  // Compared one by one: their sum could wrap around.
  if (header.key_bytes > rest.size() || header.content_bytes != rest.size() - header.key_bytes)
    return std::unexpected("truncated or extended");
  if (header.checksum != checksum(header, rest)) return std::unexpected("checksum differs");
  return OpenedEntry{std::string(rest.substr(0, header.key_bytes)), std::string(rest.substr(header.key_bytes))};
}

}  // namespace weft
