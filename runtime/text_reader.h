// TextReader: the lines of a text file, first one by one (headers), then in blocks for several threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/byte_source.h"
#include "weft/memory.h"

namespace weft {

/// A defect in a line. Lines count from 1, within the text at hand.
struct LineError {
  std::uint64_t line = 0;
  Error error;  ///< input errors have the bare reason, which the reader completes with path and line
};

/// What parsing one block found.
struct BlockOutcome {
  std::uint64_t lines = 0;  ///< number of lines up to the defect, or in the block
  std::optional<LineError> defect;
};

/// Parses a block: whole lines, the last ended by '\n' too. Called from several threads; must not throw.
using BlockParser = std::function<BlockOutcome(std::size_t block, std::string_view text, unsigned slot)>;

/// The text of a file, decompressed. Blocks are taken in order by whichever thread is free, which decompresses the
/// block itself while the others parse theirs: with several threads decompression and parsing overlap, with one they
/// alternate on cached text.
class TextReader {
 public:
  /// `subject` stands in messages behind the reason: the operand's name. May be empty.
  TextReader(ByteSource source, const Resources& resources, std::string_view subject);

  /// The next line without its line end, valid until the next call; nullopt at the end of the file. A byte order mark
  /// before the first line is left out.
  Expected<std::optional<std::string_view>> line();
  /// Makes the line that line() gave last come again.
  void unread();
  /// Lines given so far: the number of the line that line() gave last, after `for_each_block` of the file's last.
  std::uint64_t lines() const { return lines_; }

  /// Hands the rest of the file to `parser`, in parallel. The error is the first one in the file, whatever the threads
  /// did. `block` numbers count from 0 without gaps.
  Expected<void> for_each_block(const BlockParser& parser);

  /// "path:LINE: reason (operand T)".
  std::unexpected<Error> error_at(std::uint64_t line, std::string_view reason, ErrorCode code = ErrorCode::syntax) const;

  const std::string& path() const { return source_.path(); }
  std::chrono::nanoseconds source_time() const { return source_time_; }  ///< spent reading and decompressing
  std::uint64_t text_bytes() const { return text_bytes_; }               ///< decompressed so far

 private:
  /// A piece of text cut at a line end; defect (if not empty): what is wrong with the line behind it.
  struct Piece {
    std::string_view text;
    std::string defect;
  };
  /// Text of whole lines at the begin of `block` (which is allocated or grown as needed). Empty at the end.
  Expected<Piece> next(Buffer& block);
  void report_progress();

  ByteSource source_;
  Resources resources_;
  std::string subject_;
  Buffer header_;               ///< where line() takes its lines
  std::string_view rest_;       ///< of header_, not yet given
  std::string_view last_line_;  ///< with its line end
  std::string header_defect_;
  std::string carry_;  ///< begin of a line that the last piece did not end
  bool at_end_ = false;
  bool started_ = false;
  std::uint64_t lines_ = 0;
  std::chrono::nanoseconds source_time_{0};
  std::uint64_t text_bytes_ = 0;
  std::chrono::steady_clock::time_point last_report_;
};

}  // namespace weft
