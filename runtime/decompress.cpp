#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <utility>

#include "runtime/block.h"
#include "runtime/byte_source.h"
#include "runtime/charge.h"

namespace weft {

namespace {
constexpr std::size_t input_bytes = std::size_t{1} << 18;
}  // namespace

struct ByteSource::Gzip {
  z_stream stream{};
  Charge charge;
  bool between_members = true;  ///< the file may end here
  bool any_member = false;
  Gzip() = default;
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() { inflateEnd(&stream); }
};

struct ByteSource::Zstandard {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  Charge charge;
  std::uint64_t charged_bytes = 0;
  bool between_frames = true;
  bool any_frame = false;
  Zstandard() = default;
  Zstandard(const Zstandard&) = delete;
  Zstandard& operator=(const Zstandard&) = delete;
  ~Zstandard() { ZSTD_freeDCtx(context); }
};

ByteSource::ByteSource(InputFile file, const Memory& memory) : file_(std::move(file)), memory_(memory) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Expected<ByteSource> ByteSource::open(InputFile file, Compression compression, const Memory& memory) {
  ByteSource source(std::move(file), memory);
  const std::string path = source.path();
  if (compression == Compression::none) return source;
  Expected<Buffer> input = mapped_buffer(input_bytes, memory, "compressed bytes of " + path);
  if (!input) return std::unexpected(input.error());
  source.input_ = std::move(*input);
  if (compression == Compression::gzip) {
    auto gzip = std::make_unique<Gzip>();
    Expected<Charge> charge = memory.charge(inflate_bytes, "decompression of " + path);
    if (!charge) return std::unexpected(charge.error());
    gzip->charge = std::move(*charge);
    // 16: a gzip header, not a zlib one.
    if (inflateInit2(&gzip->stream, 15 + 16) != Z_OK) return resource_error("no memory to decompress " + path);
    source.decoder_ = std::move(gzip);
  } else {
    auto zstandard = std::make_unique<Zstandard>();
    if (zstandard->context == nullptr) return resource_error("no memory to decompress " + path);
    source.decoder_ = std::move(zstandard);
  }
  return source;
}

double ByteSource::fraction() const {
  if (file_.size() == 0) return 0;
  const std::uint64_t decoded = file_.consumed() - (input_end_ - input_begin_);
  return std::min(1.0, static_cast<double>(decoded) / static_cast<double>(file_.size()));
}

Expected<bool> ByteSource::refill() {
  if (input_begin_ < input_end_) return true;
  Expected<std::size_t> got = file_.read(static_cast<char*>(input_.data()), input_bytes);
  if (!got) return std::unexpected(got.error());
  input_begin_ = 0;
  input_end_ = *got;
  return *got > 0;
}

const InputFile* ByteSource::plain_file() const {
  return std::holds_alternative<std::monostate>(decoder_) && file_.regular() ? &file_ : nullptr;
}

Expected<std::string_view> ByteSource::peek(std::size_t bytes) {
  std::string begin(bytes, '\0');
  Expected<Piece> piece = decode(begin.data(), bytes);
  if (!piece) return std::unexpected(piece.error());
  begin.resize(piece->filled);
  ahead_ = std::move(begin);
  behind_ahead_ = std::move(*piece);
  return std::string_view(ahead_);
}

Expected<ByteSource::Piece> ByteSource::read(char* to, std::size_t bytes) {
  const std::size_t known = ahead_.copy(to, bytes);
  ahead_.erase(0, known);
  if (known == bytes) return Piece{.filled = known, .at_end = false, .damage = {}};
  // A decoder that has met damage is not to be called again.
  if (behind_ahead_.at_end || !behind_ahead_.damage.empty()) {
    return Piece{.filled = known, .at_end = behind_ahead_.at_end, .damage = behind_ahead_.damage};
  }
  Expected<Piece> piece = decode(to + known, bytes - known);
  if (piece) piece->filled += known;
  return piece;
}

Expected<ByteSource::Piece> ByteSource::decode(char* to, std::size_t bytes) {
  if (std::holds_alternative<std::unique_ptr<Gzip>>(decoder_)) return read_gzip(to, bytes);
  if (std::holds_alternative<std::unique_ptr<Zstandard>>(decoder_)) return read_zstandard(to, bytes);
  return read_plain(to, bytes);
}

Expected<ByteSource::Piece> ByteSource::read_plain(char* to, std::size_t bytes) {
  Expected<std::size_t> got = file_.read(to, bytes);
  if (!got) return std::unexpected(got.error());
  return Piece{.filled = *got, .at_end = *got < bytes, .damage = {}};
}

Expected<ByteSource::Piece> ByteSource::read_gzip(char* to, std::size_t bytes) {
  Gzip& gzip = *std::get<std::unique_ptr<Gzip>>(decoder_);
  Piece piece;
  while (piece.filled < bytes) {
    Expected<bool> more = refill();
    if (!more) return std::unexpected(more.error());
    if (!*more) {
      piece.at_end = true;
      if (!gzip.any_member) piece.damage = "the file is empty, where gzip data are expected";
      if (!gzip.between_members) piece.damage = "truncated gzip data";
      return piece;
    }
    gzip.between_members = false;
    gzip.any_member = true;
    z_stream& stream = gzip.stream;
    unsigned char* const begin = static_cast<unsigned char*>(input_.data());
    const std::size_t room = std::min<std::size_t>(bytes - piece.filled, std::size_t{1} << 30);
    stream.next_in = begin + input_begin_;
    stream.avail_in = static_cast<uInt>(input_end_ - input_begin_);
    stream.next_out = reinterpret_cast<unsigned char*>(to + piece.filled);
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    input_begin_ = input_end_ - stream.avail_in;
    piece.filled += room - stream.avail_out;
    if (status == Z_MEM_ERROR) return resource_error("no memory to decompress " + path());
    if (status == Z_STREAM_END) {
      gzip.between_members = true;
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      piece.damage = std::string("damaged gzip data: ") + (stream.msg != nullptr ? stream.msg : "unknown defect");
      return piece;
    }
  }
  return piece;
}

Expected<ByteSource::Piece> ByteSource::read_zstandard(char* to, std::size_t bytes) {
  Zstandard& zstandard = *std::get<std::unique_ptr<Zstandard>>(decoder_);
  Piece piece;
  ZSTD_outBuffer output{to, bytes, 0};
  while (output.pos < bytes) {
    Expected<bool> more = refill();
    if (!more) return std::unexpected(more.error());
    if (!*more) {
      // The decoder keeps the last byte of a frame until all decoded bytes are fetched, so nothing waits inside it.
      piece.at_end = true;
      if (!zstandard.any_frame) piece.damage = "the file is empty, where zstd data are expected";
      if (!zstandard.between_frames) piece.damage = "truncated zstd data";
      return piece;
    }
    ZSTD_inBuffer input{input_.data(), input_end_, input_begin_};
    const std::size_t hint = ZSTD_decompressStream(zstandard.context, &output, &input);
    input_begin_ = input.pos;
    piece.filled = output.pos;
    // With the window of a frame, which is allocated when that begins.
    if (ZSTD_getErrorCode(hint) == ZSTD_error_memory_allocation) {
      return resource_error("no memory to decompress " + path());
    }
    if (ZSTD_isError(hint) != 0) {
      piece.damage = std::string("damaged zstd data: ") + ZSTD_getErrorName(hint);
      return piece;
    }
    zstandard.any_frame = true;
    zstandard.between_frames = hint == 0;
    // The window's size is known only once a frame has begun.
    const std::uint64_t held = ZSTD_sizeof_DCtx(zstandard.context);
    if (held > zstandard.charged_bytes) {
      zstandard.charge = Charge();
      Expected<Charge> charge = memory_.charge(held, "decompression of " + path());
      if (!charge) return std::unexpected(charge.error());
      zstandard.charge = std::move(*charge);
      zstandard.charged_bytes = held;
    }
  }
  return piece;
}

}  // namespace weft
