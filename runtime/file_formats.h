// The readers and writers of the file formats, which file.cpp chooses by extension.
#pragma once

#include <string>
#include <string_view>

#include "runtime/byte_source.h"
#include "weft/file.h"

namespace weft {

/// What every reader is told. Readers return the tensor as the file suggests it; file.cpp converts to a requested
/// format that the reader has not produced already.
struct FileRequest {
  std::string path;
  Compression compression = Compression::none;
  const ReadOptions& options;
  const Resources& resources;
  std::string_view name;       ///< of the operand
  ReadTimes* times = nullptr;  ///< never null within a reader

  Scalar scalar() const { return options.format ? options.format->scalar : options.scalar; }
};

Expected<Tensor> read_tns(const FileRequest& request);
Expected<Tensor> read_mtx(const FileRequest& request);
Expected<Tensor> read_npy(const FileRequest& request);

Expected<void> write_tns(const Tensor& tensor, const std::string& path, Compression compression,
                         const Resources& resources, std::string_view name);
Expected<void> write_mtx(const Tensor& tensor, const std::string& path, Compression compression,
                         const Resources& resources, std::string_view name);
Expected<void> write_npy(const Tensor& tensor, const std::string& path, const Resources& resources,
                         std::string_view name);

/// "path: reason (operand T)", for what concerns a file as a whole.
std::unexpected<Error> file_error(const FileRequest& request, std::string_view reason);

}  // namespace weft
