#include "runtime/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/block.h"

namespace weft {

namespace {

// Small enough that the text and what is parsed from it stay in the L2 cache of the core that decompressed it.
constexpr std::size_t block_bytes = std::size_t{1} << 18;
// No sensible line is that long; a file without line ends is not a text file.
constexpr std::size_t longest_line = std::size_t{1} << 26;
constexpr std::chrono::milliseconds report_interval{100};

}  // namespace

TextReader::TextReader(ByteSource source, const Resources& resources, std::string_view subject)
    : source_(std::move(source)),
      resources_(resources),
      // An operand that is named like its file is named already.
      subject_(subject.find(path()) != std::string_view::npos ? std::string_view() : subject),
      last_report_(std::chrono::steady_clock::now()) {}

std::unexpected<Error> TextReader::error_at(std::uint64_t line, std::string_view reason, ErrorCode code) const {
  std::string message = fmt::format("{}:{}: {}", path(), line, reason);
  if (!subject_.empty()) message += fmt::format(" (operand {})", subject_);
  return std::unexpected(Error{.kind = ErrorKind::input, .message = std::move(message), .code = code,
                               .position = TextPosition{.line = line}});
}

Expected<TextReader::Piece> TextReader::next(Buffer& block) {
  const auto begin = std::chrono::steady_clock::now();
  // One byte more, for the line end that the last line may lack.
  const std::size_t wanted = std::max(block_bytes, carry_.size()) + 1;
  if (block.size_bytes() < wanted) {
    Expected<Buffer> fresh = mapped_buffer(wanted, resources_.memory, "text of " + path());
    if (!fresh) return std::unexpected(fresh.error());
    block = std::move(*fresh);
  }
  char* text = static_cast<char*>(block.data());
  std::size_t capacity = block.size_bytes() - 1;
  std::size_t size = carry_.size();
  std::memcpy(text, carry_.data(), size);
  carry_.clear();
  Piece piece;
  std::size_t cut = 0;  // behind the last line end
  std::size_t searched = 0;
  for (;;) {
    if (!at_end_ && size < capacity) {
      Expected<ByteSource::Piece> got = source_.read(text + size, capacity - size);
      if (!got) return std::unexpected(got.error());
      size += got->filled;
      text_bytes_ += got->filled;
      at_end_ = got->at_end || !got->damage.empty();
      piece.defect = got->damage;
    }
    if (at_end_ && piece.defect.empty() && size > 0 && text[size - 1] != '\n') text[size++] = '\n';
    const void* found = memrchr(text + searched, '\n', size - searched);
    if (found != nullptr) {
      cut = static_cast<std::size_t>(static_cast<const char*>(found) - text) + 1;
      break;
    }
    if (at_end_) break;
    searched = size;
    if (capacity >= longest_line) {
      piece.defect = "a line of more than 64 MiB: this is not a text file";
      at_end_ = true;
      break;
    }
    Expected<Buffer> larger = mapped_buffer(2 * capacity + 1, resources_.memory, "a long line of " + path());
    if (!larger) return std::unexpected(larger.error());
    std::memcpy(larger->data(), text, size);
    block = std::move(*larger);
    text = static_cast<char*>(block.data());
    capacity = block.size_bytes() - 1;
  }
  if (piece.defect.empty()) carry_.assign(text + cut, size - cut);
  piece.text = {text, cut};
  source_time_ += std::chrono::steady_clock::now() - begin;
  report_progress();
  return piece;
}

void TextReader::report_progress() {
  if (!resources_.progress) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_report_ < report_interval) return;
  last_report_ = now;
  resources_.progress("reading " + path(), source_.fraction());
}

Expected<std::optional<std::string_view>> TextReader::line() {
  if (rest_.empty()) {
    if (!header_defect_.empty()) return error_at(lines_ + 1, header_defect_);
    if (resources_.cancellation.cancelled()) return fail(ErrorKind::cancelled, "cancelled while reading " + path());
    Expected<Piece> piece = next(header_);
    if (!piece) return std::unexpected(piece.error());
    rest_ = piece->text;
    header_defect_ = std::move(piece->defect);
    if (!started_ && rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    started_ = true;
    if (rest_.empty()) {
      if (!header_defect_.empty()) return error_at(lines_ + 1, header_defect_);
      return std::nullopt;
    }
  }
  const std::size_t length = rest_.find('\n');
  last_line_ = rest_.substr(0, length + 1);
  rest_.remove_prefix(length + 1);
  ++lines_;
  std::string_view line = last_line_.substr(0, length);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void TextReader::unread() {
  rest_ = {last_line_.data(), last_line_.size() + rest_.size()};
  --lines_;
}

Expected<void> TextReader::for_each_block(const BlockParser& parser) {
  // What line() has not given becomes the first block.
  struct Parsed {
    std::uint64_t lines = 0;
    std::optional<LineError> defect;
  };
  std::mutex source_mutex;
  std::mutex blocks_mutex;
  std::vector<Parsed> blocks;
  bool finished = false;  // guarded by source_mutex, as are the members of this reader
  std::optional<Error> failure;
  bool header_pending = !rest_.empty() || !header_defect_.empty();

  const auto work = [&](std::size_t, unsigned slot) {
    Buffer own;
    for (;;) {
      Piece piece;
      std::size_t number = 0;
      {
        const std::lock_guard source_lock(source_mutex);
        if (finished) return;
        if (resources_.cancellation.cancelled()) {
          failure = Error{ErrorKind::cancelled, "cancelled while reading " + path()};
          finished = true;
          return;
        }
        if (header_pending) {
          piece = {rest_, std::move(header_defect_)};
          rest_ = {};
          header_pending = false;
        } else {
          Expected<Piece> got = next(own);
          if (!got) {
            failure = got.error();
            finished = true;
            return;
          }
          piece = std::move(*got);
        }
        finished = !piece.defect.empty() || piece.text.empty();
        if (piece.text.empty() && piece.defect.empty()) return;
        const std::lock_guard blocks_lock(blocks_mutex);
        number = blocks.size();
        blocks.emplace_back();
      }
      Parsed block;
      if (!piece.text.empty()) {
        BlockOutcome outcome = parser(number, piece.text, slot);
        block.lines = outcome.lines;
        block.defect = std::move(outcome.defect);
      }
      if (!block.defect && !piece.defect.empty()) {
        block.defect = LineError{block.lines + 1, Error{ErrorKind::input, std::move(piece.defect)}};
      }
      const bool stop = block.defect.has_value();
      {
        const std::lock_guard blocks_lock(blocks_mutex);
        blocks[number] = std::move(block);
      }
      if (stop) {
        // Blocks are taken in order, so those before this one are finished or in work: the first defect of the file
        // is found whichever thread meets one first.
        const std::lock_guard source_lock(source_mutex);
        finished = true;
      }
    }
  };
  resources_.threads.for_each(resources_.threads.count(), work);

  if (failure) return std::unexpected(*failure);
  for (const Parsed& block : blocks) {
    if (block.defect) {
      if (block.defect->error.kind != ErrorKind::input) return std::unexpected(block.defect->error);
      const Error& error = block.defect->error;
      return error_at(lines_ + block.defect->line, error.message, error.code == ErrorCode::other ? ErrorCode::syntax : error.code);
    }
    lines_ += block.lines;
  }
  return {};
}

}  // namespace weft
