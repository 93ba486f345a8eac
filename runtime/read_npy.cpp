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
#include "runtime/npy_header.h"

namespace weft {

static_assert(std::endian::native == std::endian::little, "reading and writing .npy assumes a little-endian machine");

namespace {

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

/// Index of the first element that overflows T, if there is one.
template <class U, class T>
std::optional<std::uint64_t> decode_as(const unsigned char* from, std::uint64_t count, bool swap, T* to) {
  for (std::uint64_t n = 0; n != count; ++n) {
    const U value = load<U>(from + n * sizeof(U), swap);
    to[n] = static_cast<T>(value);
    if constexpr (std::is_same_v<U, double> && std::is_same_v<T, float>) {
      if (std::isinf(to[n]) && !std::isinf(value)) return n;
    }
  }
  return std::nullopt;
}

template <class T>
std::optional<std::uint64_t> decode(const NpyHeader& header, const unsigned char* from, std::uint64_t count, T* to) {
  const bool swap = header.big_endian;
  switch (header.kind) {
    case 'b':
      for (std::uint64_t n = 0; n != count; ++n) to[n] = from[n] != 0 ? T{1} : T{0};
      return std::nullopt;
    case 'f':
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

struct Preamble {
  NpyHeader header;
  std::uint64_t data_begin = 0;
};

Expected<Preamble> read_preamble(InputFile& file, const FileRequest& request) {
  char start[12];
  Expected<std::size_t> got = file.read_at(start, sizeof start, 0);
  if (!got) return std::unexpected(got.error());
  if (*got < 10 || std::string_view(start, magic.size()) != magic) {
    return file_error(request, "no .npy file: it does not begin with \\x93NUMPY and a version");
  }
  const auto byte = [&](std::size_t at) { return static_cast<std::uint64_t>(static_cast<unsigned char>(start[at])); };
  const std::uint64_t version = byte(6);
  if (version < 1 || version > 3) {
    return file_error(request, fmt::format("version {}.{} of .npy is unknown", version, byte(7)));
  }
  const std::uint64_t begin = version == 1 ? 10 : 12;
  std::uint64_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (*got < begin || begin + length > file.size()) return file_error(request, "truncated within the header");
  const Expected<Charge> charge = request.resources.memory.charge(length, "header of " + request.path);
  if (!charge) return std::unexpected(charge.error());
  std::string dictionary(length, '\0');
  got = file.read_at(dictionary.data(), length, begin);
  if (!got) return std::unexpected(got.error());
  if (*got < length) return file_error(request, "truncated within the header");
  Expected<NpyHeader> header = parse_npy_header(dictionary);
  if (!header) {
    Error error = file_error(request, header.error().message).error();
    error.kind = header.error().kind;
    return std::unexpected(std::move(error));
  }
  return Preamble{std::move(*header), begin + length};
}

/// Elements of the tensor; an input error if their bytes exceed 64 bits.
Expected<std::uint64_t> element_count(const NpyHeader& header, const FileRequest& request) {
  if (std::find(header.shape.begin(), header.shape.end(), 0u) != header.shape.end()) return std::uint64_t{0};
  std::uint64_t count = 1;
  for (const std::uint64_t extent : header.shape) {
    if (extent > (std::numeric_limits<std::uint64_t>::max() / 16) / count) {
      return file_error(request, "the shape in the header has more elements than any file");
    }
    count *= extent;
  }
  return count;
}

/// Reads and decodes all chunks; the first overflowing element wins.
template <class T>
Expected<void> read_values(const InputFile& file, const Preamble& preamble, std::uint64_t count, std::span<T> values,
                           const FileRequest& request) {
  const Resources& resources = request.resources;
  const NpyHeader& header = preamble.header;
  const bool as_stored = header.kind == 'f' && header.bytes == sizeof(T) && !header.big_endian;
  std::vector<Buffer> scratch(as_stored ? 0 : resources.threads.count());
  for (Buffer& buffer : scratch) {
    Expected<Buffer> fresh =
        Buffer::allocate(std::min(count, chunk_elements) * header.bytes, resources.memory, "bytes of " + request.path);
    if (!fresh) return std::unexpected(fresh.error());
    buffer = std::move(*fresh);
  }
  std::mutex mutex;  // guards the next four
  std::optional<Error> failure;
  std::uint64_t overflow = count;
  std::uint64_t chunks_done = 0;
  auto last_report = std::chrono::steady_clock::now();
  const std::uint64_t chunks = (count + chunk_elements - 1) / chunk_elements;
  resources.threads.for_each(chunks, [&](std::size_t chunk, unsigned slot) {
    if (resources.cancellation.cancelled()) return;
    const std::uint64_t begin = chunk * chunk_elements;
    const std::uint64_t size = std::min(chunk_elements, count - begin);
    T* const target = values.data() + begin;
    char* const bytes = as_stored ? reinterpret_cast<char*>(target) : static_cast<char*>(scratch[slot].data());
    Expected<std::size_t> got = file.read_at(bytes, size * header.bytes, preamble.data_begin + begin * header.bytes);
    std::optional<std::uint64_t> bad;
    if (got && *got == size * header.bytes && !as_stored) {
      bad = decode(header, reinterpret_cast<const unsigned char*>(bytes), size, target);
    }
    const std::lock_guard lock(mutex);
    if (!got) failure = got.error();
    if (got && *got < size * header.bytes) failure = file_error(request, "the file was truncated while read").error();
    if (bad) overflow = std::min(overflow, begin + *bad);
    ++chunks_done;
    const auto now = std::chrono::steady_clock::now();
    if (resources.progress && now - last_report >= std::chrono::milliseconds(100)) {
      last_report = now;
      resources.progress("reading " + request.path, static_cast<double>(chunks_done) / static_cast<double>(chunks));
    }
  });
  if (resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, "cancelled while reading " + request.path);
  if (failure) return std::unexpected(*failure);
  if (overflow < count) {
    return file_error(request, fmt::format("element {} (from 0, as stored) overflows f32", overflow));
  }
  return {};
}

}  // namespace

Expected<Tensor> read_npy(const FileRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  Expected<InputFile> file = InputFile::open(request.path);
  if (!file) return std::unexpected(file.error());
  if (!file->regular()) return file_error(request, "a .npy file must be a regular file");
  Expected<Preamble> preamble = read_preamble(*file, request);
  if (!preamble) return std::unexpected(preamble.error());
  const NpyHeader& header = preamble->header;
  if (request.options.shape && *request.options.shape != header.shape) {
    return file_error(request, fmt::format("the shape in the file ({}) contradicts the shape given for it",
                                           fmt::join(header.shape, "x")));
  }
  if (request.options.format && request.options.format->order() != header.shape.size()) {
    return file_error(request, fmt::format("a tensor of order {}, but the format has {} levels", header.shape.size(),
                                           request.options.format->order()));
  }
  Expected<std::uint64_t> count = element_count(header, request);
  if (!count) return std::unexpected(count.error());
  const std::uint64_t expected = *count * header.bytes;
  const std::uint64_t present = file->size() - preamble->data_begin;
  if (present != expected) {
    return file_error(request, fmt::format("{}: {} bytes of elements, the shape in the header ({}) needs {}",
                                           present < expected ? "truncated" : "too long", present,
                                           fmt::join(header.shape, "x"), expected));
  }
  Tensor tensor;
  tensor.format = dense_format(header.shape.size(), request.scalar());
  if (header.fortran_order) std::reverse(tensor.format.mode_order.begin(), tensor.format.mode_order.end());
  tensor.extents = header.shape;
  tensor.levels.resize(header.shape.size());
  Expected<Buffer> values = Buffer::allocate(*count * scalar_bytes(tensor.format.scalar), request.resources.memory,
                                             "operand " + std::string(request.name));
  if (!values) return std::unexpected(values.error());
  const Expected<void> done = tensor.format.scalar == Scalar::f64
                                  ? read_values(*file, *preamble, *count, values->as<double>(), request)
                                  : read_values(*file, *preamble, *count, values->as<float>(), request);
  if (!done) return std::unexpected(done.error());
  tensor.values = std::move(*values);
  request.times->parse = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return tensor;
}

}  // namespace weft
