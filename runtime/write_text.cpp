// Writing .tns and .mtx: lines formatted in parallel, written in order.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/charge.h"
#include "runtime/file_formats.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/output_file.h"
#include "runtime/scalar_traits.h"
#include "runtime/written_layout.h"

namespace weft {

namespace {

constexpr std::uint64_t entries_per_block = std::uint64_t{1} << 14;
// Digits of 2^64 and a blank; sign, 17 digits, point, exponent and a line end.
constexpr std::size_t longest_coordinate = 21;
constexpr std::size_t longest_value = 26;

template <class T>
char* print_value(char* to, char* end, T value) {
  // The sign of a NaN, which is the processor's, means nothing.
  if (std::isnan(value)) return std::copy_n("nan", 3, to);
  // Up to as many digits as the type is printed with, integers are exact and need no rounding.
  constexpr int digits = std::is_same_v<T, double> ? 17 : 9;
  constexpr T most = std::is_same_v<T, double> ? T(1e15) : T(1e9);
  if (std::abs(value) < most && value == std::trunc(value) && !(value == 0 && std::signbit(value))) {
    return std::to_chars(to, end, static_cast<std::int64_t>(value)).ptr;
  }
  return std::to_chars(to, end, value, std::chars_format::general, digits).ptr;
}

/// What the lines are made of; coordinates are printed from 1 on.
struct Lines {
  const Coordinates& coordinates;
  bool with_one;  ///< a second coordinate 1 behind the first: a vector as a matrix of one column

  std::size_t longest() const { return (coordinates.crd.size() + 1) * longest_coordinate + longest_value; }
};

template <class T>
char* print_lines(char* to, const Lines& lines, std::uint64_t begin, std::uint64_t end) {
  const Coordinates& entries = lines.coordinates;
  const std::span<const T> values = std::as_const(entries.values).as<T>();
  for (std::uint64_t n = begin; n != end; ++n) {
    for (std::size_t mode = 0; mode != entries.crd.size(); ++mode) {
      const Buffer& crd = entries.crd[mode];
      const bool wide = coordinate_bits(entries.extents[mode]) == 64;
      const std::uint64_t coordinate = wide ? crd.as<std::uint64_t>()[n] : crd.as<std::uint32_t>()[n];
      to = std::to_chars(to, to + longest_coordinate, coordinate + 1).ptr;
      *to++ = ' ';
    }
    if (lines.with_one) {
      *to++ = '1';
      *to++ = ' ';
    }
    to = print_value(to, to + longest_value, values[n]);
    *to++ = '\n';
  }
  return to;
}

/// Writes the blocks in order while other threads format (and gzip) the next ones. Every thread takes the next block,
/// so the one whose turn it is never waits for a block that no thread works on.
class BlockWriter {
 public:
  BlockWriter(const Lines& lines, OutputFile& file, Compression compression, const Resources& resources)
      : lines_(lines),
        file_(file),
        compression_(compression),
        path_(file.path()),
        resources_(resources),
        blocks_((lines.coordinates.count + entries_per_block - 1) / entries_per_block) {}

  Expected<void> run() {
    resources_.threads.for_each(resources_.threads.count(), [this](std::size_t, unsigned) { work(); });
    if (failure_) return std::unexpected(*failure_);
    return {};
  }

 private:
  void work() {
    Expected<Buffer> text = Buffer::allocate(std::min(entries_per_block, lines_.coordinates.count) * lines_.longest(),
                                             resources_.memory, "text to write to " + path_);
    if (!text) return stop(text.error());
    Charge member_charge;
    if (compression_ == Compression::gzip) {
      // A member and what deflate works with; strings of all threads together would be many megabytes beside the limit.
      Expected<Charge> charge = resources_.memory.charge(text->size_bytes() + deflate_bytes, "compressed text of " + path_);
      if (!charge) return stop(charge.error());
      member_charge = std::move(*charge);
    }
    char* const begin = static_cast<char*>(text->data());
    for (;;) {
      std::uint64_t block = 0;
      {
        const std::lock_guard lock(mutex_);
        if (failure_ || next_ == blocks_) return;
        block = next_++;
      }
      if (resources_.cancellation.cancelled()) {
        return stop({ErrorKind::cancelled, "cancelled while writing " + path_});
      }
      const std::uint64_t first = block * entries_per_block;
      const std::uint64_t last = std::min(first + entries_per_block, lines_.coordinates.count);
      const char* const end = with_element(
          lines_.coordinates.scalar, [&]<class T>(T) -> const char* { return print_lines<T>(begin, lines_, first, last); });
      std::string_view bytes(begin, static_cast<std::size_t>(end - begin));
      std::string member;
      if (compression_ == Compression::gzip) {
        Expected<std::string> made = gzip_member(bytes);
        if (!made) return stop(made.error());
        member = std::move(*made);
        bytes = member;
      }
      std::unique_lock lock(mutex_);
      turn_changed_.wait(lock, [&] { return turn_ == block || failure_; });
      if (failure_) return;
      if (Expected<void> written = file_.write(bytes); !written) {
        failure_ = written.error();
      } else {
        ++turn_;
        report();
      }
      turn_changed_.notify_all();
    }
  }

  void stop(Error error) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(error);
    turn_changed_.notify_all();
  }

  void report() {
    if (!resources_.progress) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_report_ < std::chrono::milliseconds(100)) return;
    last_report_ = now;
    resources_.progress("writing " + path_, static_cast<double>(turn_) / static_cast<double>(blocks_));
  }

  const Lines& lines_;
  OutputFile& file_;
  Compression compression_;
  const std::string& path_;
  const Resources& resources_;
  std::uint64_t blocks_;
  std::mutex mutex_;  // guards what follows, and file_
  std::condition_variable turn_changed_;
  std::uint64_t next_ = 0;
  std::uint64_t turn_ = 0;
  std::optional<Error> failure_;
  std::chrono::steady_clock::time_point last_report_ = std::chrono::steady_clock::now();
};

std::uint64_t largest(const Coordinates& coordinates, std::size_t mode) {
  const auto largest_of = [](auto crd) { return std::uint64_t{*std::max_element(crd.begin(), crd.end())}; };
  const Buffer& crd = coordinates.crd[mode];
  return coordinate_bits(coordinates.extents[mode]) == 64 ? largest_of(crd.as<std::uint64_t>())
                                                          : largest_of(crd.as<std::uint32_t>());
}

/// True if the extents cannot be told from the entries.
bool has_trailing_empty_slices(const Coordinates& coordinates) {
  if (coordinates.count == 0) return !coordinates.extents.empty();
  for (std::size_t mode = 0; mode != coordinates.crd.size(); ++mode) {
    if (largest(coordinates, mode) + 1 < coordinates.extents[mode]) return true;
  }
  return false;
}

Expected<void> write_lines(const Lines& lines, const std::string& header, const std::string& path,
                           Compression compression, const Resources& resources) {
  Expected<OutputFile> file = OutputFile::create(path, compression, resources.memory);
  if (!file) return std::unexpected(file.error());
  if (Expected<void> written = write_member(*file, compression, header); !written) return written;
  if (Expected<void> written = BlockWriter(lines, *file, compression, resources).run(); !written) return written;
  if (resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, "cancelled while writing " + file->path());
  return file->finish();
}

std::string scalar_line(const Tensor& tensor) {
  char text[longest_value];
  char* end = text;
  if (tensor.values().size_bytes() == 0) return "0\n";  // nothing stored
  const std::size_t at = tensor.offset();
  with_element(tensor.format().scalar,
               [&]<class T>(T) { end = print_value(text, text + sizeof text, tensor.values().as<const T>()[at]); });
  return std::string(text, end) + '\n';
}

}  // namespace

Expected<Coordinates> sorted_entries(const Tensor& tensor, const Resources& resources, std::string_view name) {
  const bool drop_zeros = tensor.order() > 0 && is_dense(tensor.format().levels.back().kind);
  Expected<Coordinates> stored = entries(tensor, drop_zeros, resources);
  if (!stored) return stored;
  bool sorted = std::is_sorted(tensor.format().mode_order.begin(), tensor.format().mode_order.end());
  for (const Level& level : tensor.format().levels) {
    sorted = sorted && !may_be_key(level.kind);
  }
  if (sorted) return stored;
  Expected<Tensor> in_order =
      build(std::move(*stored), sparse_format(tensor.order(), tensor.format().scalar), resources, name);
  if (!in_order) return std::unexpected(in_order.error());
  return entries(*in_order, false, resources);
}

Expected<void> write_tns(const Tensor& tensor, const std::string& path, Compression compression,
                         const Resources& resources, std::string_view name) {
  Coordinates coordinates;
  if (tensor.order() == 0) {
    return write_lines({coordinates, false}, scalar_line(tensor), path, compression, resources);
  }
  Expected<Coordinates> sorted = sorted_entries(tensor, resources, name);
  if (!sorted) return std::unexpected(sorted.error());
  std::string header;
  if (has_trailing_empty_slices(*sorted)) header = fmt::format("# shape: {}\n", fmt::join(sorted->extents, " "));
  return write_lines({*sorted, false}, header, path, compression, resources);
}

Expected<void> write_mtx(const Tensor& tensor, const std::string& path, Compression compression,
                         const Resources& resources, std::string_view name) {
  if (tensor.order() == 0 || tensor.order() > 2) {
    return input_error(fmt::format("{}: {} has order {}, a Matrix Market file holds a matrix or a vector; write .tns",
                                   path, name, tensor.order()));
  }
  Expected<Coordinates> sorted = sorted_entries(tensor, resources, name);
  if (!sorted) return std::unexpected(sorted.error());
  const bool vector = tensor.order() == 1;
  const std::string header = fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n",
                                         sorted->extents[0], vector ? 1 : sorted->extents[1], sorted->count);
  return write_lines({*sorted, vector}, header, path, compression, resources);
}

}  // namespace weft
