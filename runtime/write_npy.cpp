// Writing .npy: the whole tensor, dense, in C order.
#include <algorithm>
#include <chrono>

#include "runtime/file_formats.h"
#include "runtime/npy_header.h"
#include "runtime/output_file.h"

namespace weft {

namespace {

constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 24;

bool stored_in_c_order(const Tensor& tensor) {
  bool plain = tensor.format.all_dense() && tensor.offset == 0 &&
               std::is_sorted(tensor.format.mode_order.begin(), tensor.format.mode_order.end());
  for (const Level& level : tensor.format.levels) plain = plain && !level.strided;
  return plain;
}

}  // namespace

Expected<void> write_npy(const Tensor& tensor, const std::string& path, const Resources& resources,
                         std::string_view name) {
  // The file is opened first: a wrong path is told before a large tensor is made dense.
  Expected<OutputFile> file = OutputFile::create(path, Compression::none);
  if (!file) return std::unexpected(file.error());
  Tensor dense = tensor;
  if (!stored_in_c_order(tensor)) {
    Expected<Tensor> converted = convert(tensor, dense_format(tensor.order(), tensor.format.scalar), resources, name);
    if (!converted) return std::unexpected(converted.error());
    dense = std::move(*converted);
  }
  const NpyHeader header{.kind = 'f',
                         .bytes = scalar_bytes(tensor.format.scalar),
                         .big_endian = false,
                         .fortran_order = false,
                         .shape = tensor.extents};
  if (Expected<void> written = file->write(npy_preamble(header)); !written) return written;
  const std::uint64_t bytes = dense.nnz() * header.bytes;
  auto last_report = std::chrono::steady_clock::now();
  for (std::uint64_t begin = 0; begin < bytes; begin += piece_bytes) {
    if (resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, "cancelled while writing " + path);
    const char* const data = static_cast<const char*>(std::as_const(dense.values).data());
    if (Expected<void> written = file->write({data + begin, std::min(piece_bytes, bytes - begin)}); !written) {
      return written;
    }
    const auto now = std::chrono::steady_clock::now();
    if (resources.progress && now - last_report >= std::chrono::milliseconds(100)) {
      last_report = now;
      resources.progress("writing " + path, static_cast<double>(begin) / static_cast<double>(bytes));
    }
  }
  if (resources.cancellation.cancelled()) return fail(ErrorKind::cancelled, "cancelled while writing " + path);
  return file->finish();
}

}  // namespace weft
