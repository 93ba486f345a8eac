// Writing .npy: the whole tensor, dense, in C order.
#include <algorithm>

#include "runtime/array_output.h"
#include "runtime/file_formats.h"
#include "runtime/npy_header.h"
#include "runtime/written_layout.h"

namespace weft {

namespace {

bool stored_in_c_order(const Tensor& tensor) {
  bool plain = tensor.format().all_dense() && tensor.offset() == 0 &&
               std::is_sorted(tensor.format().mode_order.begin(), tensor.format().mode_order.end());
  for (const Level& level : tensor.format().levels) plain = plain && !level.strided;
  return plain;
}

}  // namespace

Expected<Tensor> in_c_order(const Tensor& tensor, const Resources& resources, std::string_view name) {
  if (stored_in_c_order(tensor)) return tensor;
  return convert(tensor, dense_format(tensor.order(), tensor.format().scalar), resources, name);
}

NpyHeader header_of(const Tensor& tensor) {
  return {.kind = 'f',
          .bytes = scalar_bytes(tensor.format().scalar),
          .big_endian = false,
          .fortran_order = false,
          .shape = tensor.extents()};
}

Expected<void> write_npy(const Tensor& tensor, const std::string& path, Compression compression,
                         const Resources& resources, std::string_view name) {
  // The file is opened first: a wrong path is told before a large tensor is made dense.
  Expected<ArrayOutput> file = ArrayOutput::create(path, compression, resources);
  if (!file) return std::unexpected(file.error());
  const Expected<Tensor> dense = in_c_order(tensor, resources, name);
  if (!dense) return std::unexpected(dense.error());
  const NpyHeader header = header_of(*dense);
  const std::string_view elements(static_cast<const char*>(dense->values().data()), dense->nnz() * header.bytes);
  file->expect(elements.size());
  if (Expected<void> written = file->write(npy_preamble(header)); !written) return written;
  if (Expected<void> written = file->write(elements); !written) return written;
  return file->finish();
}

}  // namespace weft
