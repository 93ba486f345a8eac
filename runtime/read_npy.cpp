// NumPy .npy: dense tensors, read in parallel straight into the tensor's values.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/charge.h"
#include "runtime/file_formats.h"
#include "runtime/npy_array.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {

static_assert(std::endian::native == std::endian::little, "reading and writing .npy assumes a little-endian machine");

namespace {

// What a chunk is read into stays in the L2 cache of the thread that decodes it.
constexpr std::uint64_t chunk_elements = std::uint64_t{1} << 17;
constexpr std::string_view magic = "\x93NUMPY";

template <class U>
U load(const unsigned char* from, bool swap) {
  unsigned char bytes[sizeof(U)];
  std::memcpy(bytes, from, sizeof(U));
  if (swap) std::reverse(bytes, bytes + sizeof(U));
  U value;
  std::memcpy(&value, bytes, sizeof(U));
  return value;
}

/// IEEE 754 binary16.
struct Half {
  std::uint16_t bits;
  explicit operator double() const {
    const int exponent = (bits >> 10) & 31;
    const int fraction = bits & 1023;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 31) {
      return sign *
             (fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN());
    }
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(fraction + 1024, exponent - 25);
  }
  explicit operator float() const { return static_cast<float>(static_cast<double>(*this)); }
};

/// What numpy.longdouble writes on this machine: 80 bits of x87, the lowest of the 16 bytes.
using Extended = long double;
static_assert(std::numeric_limits<Extended>::digits == 64 && sizeof(Extended) == 16);

/// An element that T does not hold.
struct BadElement {
  std::uint64_t number = 0;
  std::string reason;  ///< "overflows f32"
};

template <class T>
constexpr Scalar scalar_of = std::is_same_v<T, double> ? Scalar::f64 : Scalar::f32;

/// Whether T has as many digits as the integer has between its first and its last set bit.
template <class T, class U>
bool holds_exactly(U integer) {
  auto magnitude = static_cast<std::uint64_t>(integer);
  if constexpr (std::is_signed_v<U>) {
    if (integer < 0) magnitude = 0 - magnitude;
  }
  if (magnitude == 0) return true;
  return std::bit_width(magnitude >> std::countr_zero(magnitude)) <= std::numeric_limits<T>::digits;
}

/// The first element that T does not hold, if there is one.
template <class U, class T>
std::optional<BadElement> decode_as(const unsigned char* from, std::uint64_t count, bool swap, T* to) {
  constexpr bool may_be_inexact =
      std::is_integral_v<U> && std::numeric_limits<U>::digits > std::numeric_limits<T>::digits;
  bool inexact = false;
  for (std::uint64_t n = 0; n != count; ++n) {
    const U value = load<U>(from + n * sizeof(U), swap);
    to[n] = static_cast<T>(value);
    if constexpr (std::is_floating_point_v<U> && sizeof(U) > sizeof(T)) {
      if (std::isinf(to[n]) && !std::isinf(value)) return BadElement{n, fmt::format("overflows {}", name(scalar_of<T>))};
    }
    // Cheaper than counting bits: all integers up to 2^53 (2^24 in f32) are exact.
    if constexpr (may_be_inexact)
      inexact |= std::abs(to[n]) >= static_cast<T>(std::uint64_t{1} << std::numeric_limits<T>::digits);
  }
  for (std::uint64_t n = 0; inexact && n != count; ++n) {
    if constexpr (may_be_inexact) {
      const U value = load<U>(from + n * sizeof(U), swap);
      if (holds_exactly<T>(value)) continue;
      return BadElement{
          n, fmt::format("is {}, an integer that {} cannot hold exactly; saved as real numbers it is rounded", value,
                         name(scalar_of<T>))};
    }
  }
  return std::nullopt;
}

template <class T>
std::optional<BadElement> decode(const NpyHeader& header, const unsigned char* from, std::uint64_t count, T* to) {
  const bool swap = header.big_endian;
  switch (header.kind) {
    case 'b':
      for (std::uint64_t n = 0; n != count; ++n) to[n] = from[n] != 0 ? T{1} : T{0};
      return std::nullopt;
    case 'f':
      if (header.bytes == 16) return decode_as<Extended>(from, count, swap, to);
      if (header.bytes == 8) return decode_as<double>(from, count, swap, to);
      if (header.bytes == 4) return decode_as<float>(from, count, swap, to);
      return decode_as<Half>(from, count, swap, to);
    case 'i':
      if (header.bytes == 8) return decode_as<std::int64_t>(from, count, swap, to);
      if (header.bytes == 4) return decode_as<std::int32_t>(from, count, swap, to);
      if (header.bytes == 2) return decode_as<std::int16_t>(from, count, swap, to);
      return decode_as<std::int8_t>(from, count, swap, to);
    default:
      if (header.bytes == 8) return decode_as<std::uint64_t>(from, count, swap, to);
      if (header.bytes == 4) return decode_as<std::uint32_t>(from, count, swap, to);
      if (header.bytes == 2) return decode_as<std::uint16_t>(from, count, swap, to);
      return decode_as<std::uint8_t>(from, count, swap, to);
  }
}

/// An integer element; those of signed types sign-extended.
std::uint64_t integer_at(const NpyHeader& header, const unsigned char* from) {
  const bool swap = header.big_endian;
  const auto extended = [](auto value) { return static_cast<std::uint64_t>(std::int64_t{value}); };
  if (header.kind == 'i') {
    if (header.bytes == 8) return load<std::uint64_t>(from, swap);
    if (header.bytes == 4) return extended(load<std::int32_t>(from, swap));
    if (header.bytes == 2) return extended(load<std::int16_t>(from, swap));
    return extended(load<std::int8_t>(from, swap));
  }
  if (header.bytes == 8) return load<std::uint64_t>(from, swap);
  if (header.bytes == 4) return load<std::uint32_t>(from, swap);
  if (header.bytes == 2) return load<std::uint16_t>(from, swap);
  return *from;
}

/// Elements of the tensor; an input error if their bytes exceed 64 bits.
Expected<std::uint64_t> element_count(const NpyHeader& header, const FileRequest& request) {
  if (std::find(header.shape.begin(), header.shape.end(), 0u) != header.shape.end()) return std::uint64_t{0};
  std::uint64_t count = 1;
  for (const std::uint64_t extent : header.shape) {
    if (extent > (std::numeric_limits<std::uint64_t>::max() / 1024) / count) {
      return file_error(request, "the shape in the header has more elements than any file");
    }
    count *= extent;
  }
  return count;
}

std::unexpected<Error> too_few_bytes(const NpyArray& array, const FileRequest& request) {
  return file_error(request, fmt::format("truncated: the shape in the header ({}) needs {} bytes of elements",
                                         fmt::join(array.header.shape, "x"), array.count * array.header.bytes));
}

/// Elements in chunks, by several threads: of a plain file every thread reads its own, of other bytes the next.
template <class T>
class ElementReader {
 public:
  ElementReader(const NpyArray& array, const NextBytes& next, const InputFile* plain, std::span<T> values,
                const FileRequest& request)
      : array_(array), next_(next), plain_(plain), values_(values), request_(request) {}

  Expected<void> run() {
    const Resources& resources = request_.resources;
    const unsigned threads = resources.threads.count();
    scratch_.resize(as_stored() ? 0 : threads);
    for (Buffer& buffer : scratch_) {
      const std::uint64_t bytes = std::min<std::uint64_t>(values_.size(), chunk_elements) * array_.header.bytes;
      Expected<Buffer> fresh = Buffer::allocate(bytes, resources.memory, "bytes of " + request_.path);
      if (!fresh) return std::unexpected(fresh.error());
      buffer = std::move(*fresh);
    }
    resources.threads.for_each(threads, [this](std::size_t, unsigned slot) { work(slot); });
    if (resources.cancellation.cancelled()) {
      return fail(ErrorKind::cancelled, "cancelled while reading " + request_.path);
    }
    if (failure_) return std::unexpected(*failure_);
    if (bad_) return file_error(request_, fmt::format("element {} (from 0, as stored) {}", bad_->number, bad_->reason));
    return {};
  }

 private:
  bool as_stored() const {
    return array_.header.kind == 'f' && array_.header.bytes == sizeof(T) && !array_.header.big_endian;
  }

  void work(unsigned slot) {
    for (;;) {
      std::uint64_t begin = 0;
      std::uint64_t size = 0;
      char* bytes = nullptr;
      {
        const std::lock_guard lock(mutex_);
        if (failure_ || taken_ == values_.size() || request_.resources.cancellation.cancelled()) return;
        begin = taken_;
        size = std::min<std::uint64_t>(chunk_elements, values_.size() - begin);
        taken_ += size;
        bytes =
            as_stored() ? reinterpret_cast<char*>(values_.data() + begin) : static_cast<char*>(scratch_[slot].data());
        if (plain_ == nullptr && !keep(next_(bytes, size * array_.header.bytes), size)) return;
        report();
      }
      if (plain_ != nullptr) {
        auto got = plain_->read_at(bytes, size * array_.header.bytes, array_.preamble + begin * array_.header.bytes);
        const std::lock_guard lock(mutex_);
        if (!keep(std::move(got), size)) return;
      }
      if (as_stored()) continue;
      auto bad = decode(array_.header, reinterpret_cast<const unsigned char*>(bytes), size, values_.data() + begin);
      if (!bad) continue;
      bad->number += begin;
      const std::lock_guard lock(mutex_);
      if (!bad_ || bad->number < bad_->number) bad_ = std::move(bad);
    }
  }

  /// Whether all bytes of a chunk came.
  bool keep(Expected<std::size_t> got, std::uint64_t size) {
    if (got && *got == size * array_.header.bytes) return true;
    failure_ = got ? too_few_bytes(array_, request_).error() : std::move(got.error());
    return false;
  }

  void report() {
    if (!request_.resources.progress) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_report_ < std::chrono::milliseconds(100)) return;
    last_report_ = now;
    request_.resources.progress("reading " + request_.path,
                                static_cast<double>(taken_) / static_cast<double>(values_.size()));
  }

  const NpyArray& array_;
  const NextBytes& next_;
  const InputFile* plain_;
  std::span<T> values_;
  const FileRequest& request_;
  std::vector<Buffer> scratch_;
  std::mutex mutex_;  // guards what follows, and next_
  std::uint64_t taken_ = 0;
  std::optional<Error> failure_;
  std::optional<BadElement> bad_;
  std::chrono::steady_clock::time_point last_report_ = std::chrono::steady_clock::now();
};

}  // namespace

Expected<NpyArray> read_npy_preamble(const NextBytes& next, NpyText text, const FileRequest& request) {
  char start[12];
  Expected<std::size_t> got = next(start, 10);
  if (!got) return std::unexpected(got.error());
  if (*got < 10 || std::string_view(start, magic.size()) != magic) {
    return file_error(request, "no .npy file: it does not begin with \\x93NUMPY and a version");
  }
  const auto byte = [&](std::size_t at) { return static_cast<std::uint64_t>(static_cast<unsigned char>(start[at])); };
  const std::uint64_t version = byte(6);
  if (version < 1 || version > 3) {
    return file_error(request, fmt::format("version {}.{} of .npy is unknown", version, byte(7)));
  }
  std::uint64_t length = byte(8) | byte(9) << 8;
  std::uint64_t preamble = 10;
  if (version > 1) {
    got = next(start + preamble, 2);
    if (!got) return std::unexpected(got.error());
    if (*got < 2) return file_error(request, "truncated within the header");
    length |= byte(10) << 16 | byte(11) << 24;
    preamble += 2;
  }
  const Expected<Charge> charge = request.resources.memory.charge(length, "header of " + request.path);
  if (!charge) return std::unexpected(charge.error());
  std::string dictionary;
  while (dictionary.size() < length) {
    // In pieces: a damaged length asks for gigabytes that are not there.
    const std::size_t known = dictionary.size();
    const std::size_t piece = std::min<std::uint64_t>(length - known, 1 << 16);
    dictionary.resize(known + piece);
    got = next(dictionary.data() + known, piece);
    if (!got) return std::unexpected(got.error());
    if (*got < piece) return file_error(request, "truncated within the header");
  }
  Expected<NpyHeader> header = parse_npy_header(dictionary, text);
  if (!header) {
    Error error = file_error(request, header.error().message).error();
    error.kind = header.error().kind;
    return std::unexpected(std::move(error));
  }
  const Expected<std::uint64_t> count = element_count(*header, request);
  if (!count) return std::unexpected(count.error());
  return NpyArray{std::move(*header), *count, preamble + length};
}

template <class T>
Expected<void> read_elements(const NpyArray& array, const NextBytes& next, std::span<T> values,
                             const FileRequest& request) {
  return ElementReader<T>(array, next, nullptr, values, request).run();
}
template Expected<void> read_elements(const NpyArray&, const NextBytes&, std::span<double>, const FileRequest&);
template Expected<void> read_elements(const NpyArray&, const NextBytes&, std::span<float>, const FileRequest&);

Expected<void> read_integers(const NpyArray& array, const NextBytes& next, std::uint64_t count,
                             const TakeIntegers& take, const FileRequest& request) {
  const NpyHeader& header = array.header;
  if (header.kind != 'i' && header.kind != 'u') return file_error(request, "the elements are no integers");
  const std::uint64_t most = std::min(count, chunk_elements);
  Expected<Buffer> bytes = Buffer::allocate(most * header.bytes, request.resources.memory, "bytes of " + request.path);
  if (!bytes) return std::unexpected(bytes.error());
  Expected<Buffer> numbers = Buffer::allocate(most * 8, request.resources.memory, "integers of " + request.path);
  if (!numbers) return std::unexpected(numbers.error());
  for (std::uint64_t begin = 0; begin < count; begin += chunk_elements) {
    if (request.resources.cancellation.cancelled()) {
      return fail(ErrorKind::cancelled, "cancelled while reading " + request.path);
    }
    const std::uint64_t size = std::min(chunk_elements, count - begin);
    Expected<std::size_t> got = next(static_cast<char*>(bytes->data()), size * header.bytes);
    if (!got) return std::unexpected(got.error());
    if (*got < size * header.bytes) return too_few_bytes(array, request);
    const std::span<std::uint64_t> piece = numbers->as<std::uint64_t>().first(size);
    const auto* from = static_cast<const unsigned char*>(bytes->data());
    for (std::uint64_t n = 0; n != size; ++n, from += header.bytes) {
      piece[n] = integer_at(header, from);
      if (header.kind == 'i' && piece[n] >> 63 != 0) {
        return file_error(request, fmt::format("element {} is {}, where no negative number can stand", begin + n,
                                               static_cast<std::int64_t>(piece[n])));
      }
    }
    if (Expected<void> taken = take(piece, begin); !taken) return taken;
  }
  return {};
}

Expected<Tensor> read_dense(const NpyArray& array, const NextBytes& next, const InputFile* plain,
                            const FileRequest& request) {
  const NpyHeader& header = array.header;
  if (request.options.shape && *request.options.shape != header.shape) {
    return file_error(request, fmt::format("the shape in the file ({}) contradicts the shape given for it",
                                           fmt::join(header.shape, "x")));
  }
  if (request.options.format && request.options.format->modes() != header.shape.size()) {
    return file_error(request, fmt::format("a tensor of order {}, but the format is for {} modes", header.shape.size(),
                                           request.options.format->modes()));
  }
  const std::uint64_t expected = array.count * header.bytes;
  const std::uint64_t present = plain != nullptr ? plain->size() - array.preamble : expected;
  if (present != expected) {
    return file_error(request, fmt::format("{}: {} bytes of elements, the shape in the header ({}) needs {}",
                                           present < expected ? "truncated" : "too long", present,
                                           fmt::join(header.shape, "x"), expected));
  }
  TensorArrays tensor;
  tensor.format = dense_format(header.shape.size(), request.scalar());
  if (header.fortran_order) std::reverse(tensor.format.mode_order.begin(), tensor.format.mode_order.end());
  tensor.extents = header.shape;
  tensor.levels.resize(header.shape.size());
  Expected<Buffer> values = Buffer::allocate(array.count * scalar_bytes(tensor.format.scalar), request.resources.memory,
                                             "operand " + std::string(request.name));
  if (!values) return std::unexpected(values.error());
  const Expected<void> done = with_element(
      tensor.format.scalar, [&]<class T>(T) { return ElementReader<T>(array, next, plain, values->as<T>(), request).run(); });
  if (!done) return std::unexpected(done.error());
  tensor.values = std::move(*values);
  if (plain != nullptr) return made(std::move(tensor));
  char more = 0;
  const Expected<std::size_t> got = next(&more, 1);
  if (!got) return std::unexpected(got.error());
  if (*got > 0) {
    return file_error(request,
                      fmt::format("too long: more than the {} bytes of elements that the shape in the header ({}) "
                                  "needs",
                                  expected, fmt::join(header.shape, "x")));
  }
  return made(std::move(tensor));
}

Expected<Tensor> read_npy(ByteSource source, const FileRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  const NextBytes next = [&](char* to, std::size_t bytes) -> Expected<std::size_t> {
    Expected<ByteSource::Piece> piece = source.read(to, bytes);
    if (!piece) return std::unexpected(piece.error());
    if (!piece->damage.empty()) return file_error(request, piece->damage);
    return piece->filled;
  };
  Expected<NpyArray> array = read_npy_preamble(next, NpyText::refused, request);
  if (!array) return std::unexpected(array.error());
  Expected<Tensor> tensor = read_dense(*array, next, source.plain_file(), request);
  request.times->parse = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return tensor;
}

}  // namespace weft
