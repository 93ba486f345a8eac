// ZipArchive: the members of a zip file (PKWARE's APPNOTE 6.3.10, with zip64), stored or deflated.
//
// On zlib alone: libzip would bring a TLS library into every process that embeds weft, and minizip cannot write to a
// pipe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/file_formats.h"

namespace weft {

/// One member, as the directory at the archive's end describes it.
struct ZipEntry {
  std::string name;
  std::uint64_t local_header = 0;  ///< where in the archive it begins
  std::uint64_t compressed = 0;    ///< bytes in the archive
  std::uint64_t size = 0;          ///< bytes when decompressed
  std::uint32_t crc = 0;
  std::uint16_t method = 0;  ///< 0 stored, 8 deflated
};

/// The decompressed bytes of a member, in order. Belongs to one thread at a time; the archive must outlive it.
class ZipMember {
 public:
  ZipMember(ZipMember&&) noexcept;
  ZipMember& operator=(ZipMember&&) noexcept;
  ~ZipMember();
  /// Up to `bytes` bytes, fewer only at the end, where the checksum is compared. Input error for damage.
  Expected<std::size_t> read(char* to, std::size_t bytes);

 private:
  friend class ZipArchive;
  struct State;
  explicit ZipMember(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// An archive whose directory has been read. Bytes that cannot be read at any offset are held in memory, and charged.
class ZipArchive {
 public:
  /// The request must outlive the archive. Input error if this is no archive, or a damaged one.
  static Expected<ZipArchive> open(ByteSource source, const FileRequest& request);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  /// Input error if the entry points nowhere; unsupported for encryption and other methods.
  Expected<ZipMember> member(const ZipEntry& entry) const;

 private:
  ZipArchive(ByteSource source, const FileRequest& request) : source_(std::move(source)), request_(&request) {}
  Expected<void> hold_in_memory();
  Expected<void> read_directory();
  Expected<std::string> bytes_at(std::uint64_t offset, std::uint64_t bytes) const;
  Expected<std::size_t> read_at(char* to, std::size_t bytes, std::uint64_t offset) const;

  friend class ZipMember;
  ByteSource source_;
  const FileRequest* request_;
  Buffer held_;             ///< the archive, if `source_` is no plain file
  std::uint64_t size_ = 0;  ///< of the archive
  std::vector<ZipEntry> entries_;
};

}  // namespace weft
