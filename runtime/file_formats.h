// The readers and writers of the file formats, which file.cpp chooses by name and content.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/byte_source.h"
#include "weft/file.h"

namespace weft {

/// What every reader is told. Readers return the tensor as the file suggests it; file.cpp converts to a requested
/// format that the reader has not produced already.
struct FileRequest {
  std::string path;    ///< for messages: standard input has a name, too
  std::string given;   ///< what the user wrote for it
  std::string member;  ///< of an archive; empty: the only one
  std::optional<Compression> again;  ///< how to open `path` a second time; nothing where the bytes come once
  const ReadOptions& options;
  const Resources& resources;
  std::string_view name;       ///< of the operand
  ReadTimes* times = nullptr;  ///< never null within a reader
  FileFacts* facts = nullptr;  ///< never null within a reader

  Scalar scalar() const { return options.format ? options.format->scalar : options.scalar; }
};

Expected<Tensor> read_tns(ByteSource source, const FileRequest& request);
Expected<Tensor> read_mtx(ByteSource source, const FileRequest& request);
Expected<Tensor> read_npy(ByteSource source, const FileRequest& request);
Expected<Tensor> read_npz(ByteSource source, const FileRequest& request);

Expected<void> write_tns(const Tensor& tensor, const std::string& path, Compression compression,
                         const Resources& resources, std::string_view name);
Expected<void> write_mtx(const Tensor& tensor, const std::string& path, Compression compression,
                         const Resources& resources, std::string_view name);
Expected<void> write_npy(const Tensor& tensor, const std::string& path, Compression compression,
                         const Resources& resources, std::string_view name);
Expected<void> write_npz(const Tensor& tensor, const std::string& path, Compression compression,
                         const Resources& resources, std::string_view name);

/// "path: reason (operand T)", for what concerns a file as a whole.
std::unexpected<Error> file_error(const FileRequest& request, std::string_view reason);

}  // namespace weft
