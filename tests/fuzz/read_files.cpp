// The readers of .tns, .mtx, .npy and .npz, of .gz and .zst around them, and of names that leave it to the content:
// what is read passes verify(), any number of threads reads the same tensor or the same error, and what is written
// again reads back equal.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "fuzz/scratch.h"
#include "fuzz/target.h"
#include "weft/file.h"

namespace weft::fuzz {
namespace read_files {
namespace {

/// Bit by bit, because NaN is read too.
bool same_bytes(const Buffer& left, const Buffer& right) {
  const auto a = left.as<unsigned char>(), b = right.as<unsigned char>();
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool same_tensor(const Tensor& left, const Tensor& right) {
  if (left.format() != right.format() || left.extents() != right.extents() || !same_bytes(left.values(), right.values()))
    return false;
  for (std::size_t level = 0; level < left.levels().size(); ++level) {
    if (!same_bytes(left.levels()[level].pos, right.levels()[level].pos)) return false;
    if (!same_bytes(left.levels()[level].crd, right.levels()[level].crd)) return false;
  }
  return true;
}

bool has_nan(const Tensor& tensor) {
  if (tensor.format().scalar == Scalar::f64)
    return std::ranges::any_of(tensor.values().as<double>(), [](double x) { return std::isnan(x); });
  return std::ranges::any_of(tensor.values().as<float>(), [](float x) { return std::isnan(x); });
}

void require_sound(const Tensor& tensor) {
  const Expected<void> sound = verify(tensor, small_resources(), "T");
  require(sound.has_value(), [&] { return "what was read does not verify: " + sound.error().message; });
}

/// Input, unsupported and resource errors are answers; an internal one says that weft is wrong.
void require_answer(const Error& error) {
  const bool answers =
      error.kind == ErrorKind::input || error.kind == ErrorKind::unsupported || error.kind == ErrorKind::resource;
  require(answers && !error.message.empty(), [&] { return "the error is no answer: " + error.message; });
}

/// What is written reads back as the same tensor. Of a sparse tensor a zero stays an entry; NaN may have another
/// payload.
void check_written(const Tensor& tensor, std::string_view extension) {
  const Resources resources = small_resources(1, 256);
  // A dense file of a sparse tensor, or a matrix market file of more than two modes, need not be possible.
  if (extension != ".npy" && extension != ".npz" && tensor.format().all_dense() && tensor.order() > 0) return;
  if (has_nan(tensor)) return;
  const std::string path = scratch_directory() + "/written" + std::string(extension);
  const Expected<void> written = write_tensor(tensor, path, resources, "T");
  if (!written) return require_answer(written.error());
  ReadOptions options;
  options.format = tensor.format();
  const Expected<Tensor> again = read_tensor(path, options, resources, "T");
  require(again.has_value(), [&] { return "what was written is not read: " + again.error().message; });
  require(same_tensor(tensor, *again),
          [&] { return "what was written is read as " + again->summary() + ", not " + tensor.summary(); });
}

void check(Bytes bytes, std::string_view extension, std::string_view written_extension) {
  const std::string path = scratch_file("read" + std::string(extension), text_of(bytes));
  std::array<std::optional<Expected<Tensor>>, 2> read;
  for (const unsigned threads : {1U, 2U}) read[threads - 1] = read_tensor(path, {}, small_resources(threads), "T");
  const Expected<Tensor>&one = *read[0], &two = *read[1];
  // How much is charged at once depends on the number of threads.
  const auto exhausted = [](const Expected<Tensor>& tensor) {
    return !tensor && tensor.error().kind == ErrorKind::resource;
  };
  if (!exhausted(one) && !exhausted(two)) {
    require(one.has_value() == two.has_value(), "one thread reads what two do not, or the other way round");
    if (one) require(same_tensor(*one, *two), "two threads read another tensor than one");
    if (!one)
      require(one.error() == two.error(),
              [&] { return "two threads say '" + two.error().message + "', one '" + one.error().message + "'"; });
  }
  if (!one) return require_answer(one.error());
  require_sound(*one);
  check_written(*one, written_extension);
  // Other layouts and scalars, and a shape that may be too small.
  ReadOptions options;
  options.format = dense_format(one->order(), Scalar::f32);
  if (const auto dense = read_tensor(path, options, small_resources(), "T"))
    require_sound(*dense);
  else
    require_answer(dense.error());
  options.format.reset();
  options.shape = std::vector<std::uint64_t>(one->order(), 3);
  if (const auto shaped = read_tensor(path, options, small_resources(), "T"))
    require_sound(*shaped);
  else
    require_answer(shaped.error());
}

/// The archive with the checksums that its stored members have.
std::vector<std::uint8_t> with_checksums(Bytes bytes) {
  std::vector<std::uint8_t> archive(bytes.begin(), bytes.end());
  const auto number = [&](std::size_t at, unsigned width) {
    std::size_t value = 0;
    for (unsigned byte = 0; byte != width; ++byte) value |= std::size_t{archive[at + byte]} << (8 * byte);
    return value;
  };
  constexpr std::string_view entry = "PK\x01\x02";
  constexpr std::size_t entry_bytes = 46, local_bytes = 30;
  for (std::size_t at = 0; at + entry_bytes <= archive.size(); ++at) {
    if (!std::equal(entry.begin(), entry.end(), archive.begin() + static_cast<std::ptrdiff_t>(at))) continue;
    const std::size_t size = number(at + 20, 4), local = number(at + 42, 4);
    if (local + local_bytes > archive.size()) continue;
    const std::size_t data = local + local_bytes + number(local + 26, 2) + number(local + 28, 2);
    if (data > archive.size() || size > archive.size() - data) continue;
    const auto sum = crc32(0, archive.data() + data, static_cast<uInt>(size));
    for (unsigned byte = 0; byte != 4; ++byte) archive[at + 16 + byte] = static_cast<std::uint8_t>(sum >> (8 * byte));
  }
  return archive;
}

}  // namespace
}  // namespace read_files

void read_tns(Bytes bytes) { read_files::check(bytes, ".tns", ".tns"); }
void read_mtx(Bytes bytes) { read_files::check(bytes, ".mtx", ".mtx"); }
void read_npy(Bytes bytes) { read_files::check(bytes, ".npy", ".npy"); }
void read_npz(Bytes bytes) {
  read_files::check(bytes, ".npz", ".npz");
  // What was changed within a member ends at its checksum: here it does not.
  const std::vector<std::uint8_t> repaired = read_files::with_checksums(bytes);
  read_files::check(repaired, ".npz", ".npz");
}
void read_any(Bytes bytes) { read_files::check(bytes, "", ".tns"); }
void read_gzip(Bytes bytes) { read_files::check(bytes, ".tns.gz", ".tns.gz"); }
void read_zstandard(Bytes bytes) { read_files::check(bytes, ".mtx.zst", ".mtx.zst"); }

}  // namespace weft::fuzz
