#include "runtime/zip_archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/block.h"
#include "runtime/growing_buffer.h"
#include "runtime/text_entries.h"
#include "runtime/zip_records.h"

namespace weft {

namespace {

constexpr std::size_t archive_piece = std::size_t{1} << 18;
// Deflate makes of a byte at most 1032.
constexpr std::uint64_t most_inflated = 1032;

std::unexpected<Error> damaged_zip(const FileRequest& request, std::string_view reason) {
  return file_error(request, fmt::format("a damaged zip archive: {}", reason));
}

/// A number of `bytes` bytes at `at` of a record; the record is long enough.
std::uint64_t little_endian(std::string_view record, std::size_t at, unsigned bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, record.data() + at, bytes);  // both are little-endian
  return value;
}

/// Fills what stands as all ones from the zip64 field among the extra ones. False if it is not there.
bool fill_from_zip64(std::string_view extra, ZipEntry& entry) {
  std::uint64_t* const wanted[] = {&entry.size, &entry.compressed, &entry.local_header};
  while (extra.size() >= 4) {
    const std::uint64_t id = little_endian(extra, 0, 2);
    const std::uint64_t length = little_endian(extra, 2, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return false;
    std::string_view field = extra.substr(0, length);
    extra.remove_prefix(length);
    if (id != zip::zip64_extra) continue;
    for (std::uint64_t* const value : wanted) {
      if (*value != zip::all_ones32) continue;
      if (field.size() < 8) return false;
      *value = little_endian(field, 0, 8);
      field.remove_prefix(8);
    }
    return true;
  }
  return std::ranges::none_of(wanted, [](const std::uint64_t* value) { return *value == zip::all_ones32; });
}

}  // namespace

struct ZipMember::State {
  const ZipArchive* archive = nullptr;
  ZipEntry entry;
  std::uint64_t next = 0;  ///< offset of the next compressed byte
  std::uint64_t left = 0;  ///< compressed bytes from there on
  std::uint64_t done = 0;  ///< decompressed bytes
  uLong crc = crc32(0, nullptr, 0);
  bool inflates = false;
  z_stream stream{};
  Buffer input;
  Charge charge;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (inflates) inflateEnd(&stream);
  }
  std::unexpected<Error> damage(std::string_view what) const {
    return damaged_zip(*archive->request_, fmt::format("member {}: {}", quoted(entry.name), what));
  }
  Expected<std::size_t> inflated(char* to, std::size_t bytes);
};

ZipMember::ZipMember(std::unique_ptr<State> state) : state_(std::move(state)) {}
ZipMember::ZipMember(ZipMember&&) noexcept = default;
ZipMember& ZipMember::operator=(ZipMember&&) noexcept = default;
ZipMember::~ZipMember() = default;

Expected<std::size_t> ZipMember::State::inflated(char* to, std::size_t bytes) {
  std::size_t filled = 0;
  while (filled < bytes) {
    if (stream.avail_in == 0 && left > 0) {
      const std::size_t piece = std::min<std::uint64_t>(left, archive_piece);
      Expected<std::size_t> got = archive->read_at(static_cast<char*>(input.data()), piece, next);
      if (!got) return got;
      if (*got < piece) return damage("truncated");
      next += piece;
      left -= piece;
      stream.next_in = static_cast<unsigned char*>(input.data());
      stream.avail_in = static_cast<uInt>(piece);
    }
    const std::size_t room = std::min<std::size_t>(bytes - filled, std::size_t{1} << 30);
    stream.next_out = reinterpret_cast<unsigned char*>(to + filled);
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = room - stream.avail_out;
    filled += made;
    if (status == Z_MEM_ERROR) return resource_error("no memory to decompress " + archive->request_->path);
    if (status == Z_STREAM_END) return filled;
    if (status != Z_OK && status != Z_BUF_ERROR) return damage(stream.msg != nullptr ? stream.msg : "bad deflate data");
    if (made == 0 && stream.avail_in == 0 && left == 0) return filled;
  }
  return filled;
}

Expected<std::size_t> ZipMember::read(char* to, std::size_t bytes) {
  State& state = *state_;
  bytes = std::min<std::uint64_t>(bytes, state.entry.size - state.done);
  if (bytes == 0) return std::size_t{0};
  Expected<std::size_t> got = 0;
  if (state.inflates) {
    got = state.inflated(to, bytes);
  } else {
    got = state.archive->read_at(to, bytes, state.next);
    state.next += bytes;
  }
  if (!got) return got;
  if (*got < bytes) return state.damage("truncated");
  state.done += bytes;
  state.crc = crc32_z(state.crc, reinterpret_cast<const unsigned char*>(to), bytes);
  if (state.done == state.entry.size && state.crc != state.entry.crc) return state.damage("its checksum is wrong");
  return bytes;
}

Expected<ZipArchive> ZipArchive::open(ByteSource source, const FileRequest& request) {
  ZipArchive archive(std::move(source), request);
  if (const InputFile* plain = archive.source_.plain_file()) {
    archive.size_ = plain->size();
  } else if (Expected<void> held = archive.hold_in_memory(); !held) {
    return std::unexpected(held.error());
  }
  if (Expected<void> read = archive.read_directory(); !read) return std::unexpected(read.error());
  return archive;
}

Expected<void> ZipArchive::hold_in_memory() {
  GrowingBuffer held;
  const Resources& resources = request_->resources;
  for (;;) {
    if (resources.cancellation.cancelled())
      return fail(ErrorKind::cancelled, "cancelled while reading " + request_->path);
    if (Expected<void> room = held.reserve(size_ + archive_piece, resources.memory, "the archive " + request_->path);
        !room) {
      return room;
    }
    const std::size_t wanted = held.capacity() - size_;
    Expected<ByteSource::Piece> piece = source_.read(static_cast<char*>(held.data()) + size_, wanted);
    if (!piece) return std::unexpected(piece.error());
    if (!piece->damage.empty()) return file_error(*request_, piece->damage);
    size_ += piece->filled;
    if (piece->at_end || piece->filled < wanted) break;
  }
  held_ = held.finish(size_);
  return {};
}

Expected<std::size_t> ZipArchive::read_at(char* to, std::size_t bytes, std::uint64_t offset) const {
  if (const InputFile* plain = source_.plain_file()) return plain->read_at(to, bytes, offset);
  if (offset >= size_) return std::size_t{0};
  const std::size_t there = std::min<std::uint64_t>(bytes, size_ - offset);
  std::memcpy(to, static_cast<const char*>(held_.data()) + offset, there);
  return there;
}

Expected<std::string> ZipArchive::bytes_at(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > size_ || bytes > size_ - offset) return damaged_zip(*request_, "truncated");
  const Expected<Charge> charge = request_->resources.memory.charge(bytes, "directory of " + request_->path);
  if (!charge) return std::unexpected(charge.error());
  std::string text(bytes, '\0');
  Expected<std::size_t> got = read_at(text.data(), bytes, offset);
  if (!got) return std::unexpected(got.error());
  if (*got < bytes) return damaged_zip(*request_, "truncated");
  return text;
}

Expected<void> ZipArchive::read_directory() {
  // The last record may have a comment behind it.
  const std::uint64_t searched = std::min<std::uint64_t>(size_, zip::end_bytes + 65535);
  const Expected<std::string> tail = bytes_at(size_ - searched, searched);
  if (!tail) return std::unexpected(tail.error());
  std::size_t end = tail->rfind(zip::end_signature);
  while (end != std::string::npos && tail->size() - end < zip::end_bytes) {
    end = end == 0 ? std::string::npos : tail->rfind(zip::end_signature, end - 1);
  }
  if (end == std::string::npos) {
    if (searched < 4 || !bytes_at(0, 4)->starts_with("PK"))
      return file_error(*request_, "no .npz file: it is no zip archive");
    return damaged_zip(*request_, "truncated, or no directory at its end");
  }
  const std::string_view record = std::string_view(*tail).substr(end, zip::end_bytes);
  std::uint64_t bytes = little_endian(record, 12, 4);
  std::uint64_t offset = little_endian(record, 16, 4);
  const std::uint64_t end_offset = size_ - searched + end;
  if (end_offset >= zip::locator_bytes &&
      (bytes == zip::all_ones32 || offset == zip::all_ones32 || little_endian(record, 10, 2) == 0xFFFF)) {
    const Expected<std::string> locator = bytes_at(end_offset - zip::locator_bytes, zip::locator_bytes);
    if (!locator) return std::unexpected(locator.error());
    if (locator->starts_with(zip::locator_signature)) {
      const Expected<std::string> end64 = bytes_at(little_endian(*locator, 8, 8), zip::end64_bytes);
      if (!end64) return std::unexpected(end64.error());
      if (!end64->starts_with(zip::end64_signature))
        return damaged_zip(*request_, "no zip64 record where one should be");
      bytes = little_endian(*end64, 40, 8);
      offset = little_endian(*end64, 48, 8);
    }
  }
  const Expected<std::string> directory = bytes_at(offset, bytes);
  if (!directory) return std::unexpected(directory.error());
  std::string_view rest = *directory;
  while (!rest.empty()) {
    if (rest.size() < zip::central_bytes || !rest.starts_with(zip::central_signature)) {
      return damaged_zip(*request_, "an entry of its directory is none");
    }
    const std::uint64_t name_bytes = little_endian(rest, 28, 2);
    const std::uint64_t extra_bytes = little_endian(rest, 30, 2);
    const std::uint64_t whole = zip::central_bytes + name_bytes + extra_bytes + little_endian(rest, 32, 2);
    if (whole > rest.size()) return damaged_zip(*request_, "its directory ends within an entry");
    ZipEntry entry;
    entry.name = rest.substr(zip::central_bytes, name_bytes);
    entry.method = static_cast<std::uint16_t>(little_endian(rest, 10, 2));
    if ((little_endian(rest, 8, 2) & 1) != 0) entry.method = zip::encrypted;
    entry.crc = static_cast<std::uint32_t>(little_endian(rest, 16, 4));
    entry.compressed = little_endian(rest, 20, 4);
    entry.size = little_endian(rest, 24, 4);
    entry.local_header = little_endian(rest, 42, 4);
    if (!fill_from_zip64(rest.substr(zip::central_bytes + name_bytes, extra_bytes), entry)) {
      return damaged_zip(*request_, fmt::format("sizes of member {} are missing", quoted(entry.name)));
    }
    entries_.push_back(std::move(entry));
    rest.remove_prefix(whole);
  }
  return {};
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = std::ranges::find_if(entries_, [&](const ZipEntry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

Expected<ZipMember> ZipArchive::member(const ZipEntry& entry) const {
  auto state = std::make_unique<ZipMember::State>();
  state->archive = this;
  state->entry = entry;
  if (entry.method != zip::stored && entry.method != zip::deflated) {
    return unsupported(fmt::format("{}: member {} is {}; NumPy stores or deflates", request_->path, quoted(entry.name),
                                   entry.method == zip::encrypted ? "encrypted" : "compressed in another way"));
  }
  const Expected<std::string> local = bytes_at(entry.local_header, zip::local_bytes);
  if (!local) return std::unexpected(local.error());
  if (!local->starts_with(zip::local_signature)) return state->damage("it is not where the directory says");
  state->next = entry.local_header + zip::local_bytes + little_endian(*local, 26, 2) + little_endian(*local, 28, 2);
  state->left = entry.compressed;
  if (state->next > size_ || entry.compressed > size_ - state->next) return state->damage("truncated");
  if (entry.method == zip::stored) {
    if (entry.size != entry.compressed) return state->damage("its sizes contradict each other");
    return ZipMember(std::move(state));
  }
  if (entry.size / most_inflated > entry.compressed) return state->damage("its sizes contradict each other");
  const Memory& memory = request_->resources.memory;
  Expected<Charge> charge = memory.charge(inflate_bytes, "decompression of " + request_->path);
  if (!charge) return std::unexpected(charge.error());
  state->charge = std::move(*charge);
  Expected<Buffer> input = mapped_buffer(archive_piece, memory, "compressed bytes of " + request_->path);
  if (!input) return std::unexpected(input.error());
  state->input = std::move(*input);
  // Negative: neither a header of zlib nor one of gzip.
  if (inflateInit2(&state->stream, -15) != Z_OK) return resource_error("no memory to decompress " + request_->path);
  state->inflates = true;
  return ZipMember(std::move(state));
}

}  // namespace weft
