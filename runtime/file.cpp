// Tensor files by extension.
#include "weft/file.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "runtime/file_formats.h"
#include "runtime/guarded.h"

namespace weft {

namespace {

enum class FileKind { tns, mtx, npy };

struct Extension {
  FileKind kind;
  Compression compression;
};

bool take_suffix(std::string& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.resize(text.size() - suffix.size());
  return true;
}

Expected<Extension> extension_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  Compression compression = Compression::none;
  if (take_suffix(name, ".gz")) {
    compression = Compression::gzip;
  } else if (take_suffix(name, ".zst")) {
    compression = Compression::zstandard;
  }
  if (take_suffix(name, ".tns")) return Extension{FileKind::tns, compression};
  if (take_suffix(name, ".mtx")) return Extension{FileKind::mtx, compression};
  if (take_suffix(name, ".npy") && compression == Compression::none) return Extension{FileKind::npy, compression};
  return input_error(path +
                     ": unknown extension; weft knows .tns and .mtx, both also with .gz or .zst behind, and .npy");
}

/// Equal but for index widths, which are the builder's choice: a request for 32 bits is one for at least 32.
bool same_layout(const Format& have, const Format& wanted) {
  return have.scalar == wanted.scalar && have.mode_order == wanted.mode_order &&
         std::equal(have.levels.begin(), have.levels.end(), wanted.levels.begin(), wanted.levels.end(),
                    [](const Level& a, const Level& b) {
                      return a.kind == b.kind && a.strided == b.strided && a.pos_bits >= b.pos_bits &&
                             a.crd_bits >= b.crd_bits;
                    });
}

/// Every message says which operand was read; one named like its file is named already.
Error of_operand(Error error, std::string_view path, std::string_view name) {
  if (name.empty() || name.starts_with(path) || error.kind == ErrorKind::cancelled) return error;
  const std::string operand = "operand " + std::string(name);
  if (error.message.find(operand) == std::string::npos) error.message += " (" + operand + ")";
  return error;
}

}  // namespace

std::unexpected<Error> file_error(const FileRequest& request, std::string_view reason) {
  return std::unexpected(of_operand({ErrorKind::input, request.path + ": " + std::string(reason)}, request.path, request.name));
}

static Expected<Tensor> read_by_extension(const std::string& path, const ReadOptions& options, const Resources& resources,
                             std::string_view name, ReadTimes* times) {
  const Expected<Extension> extension = extension_of(path);
  if (!extension) return std::unexpected(of_operand(extension.error(), path, name));
  ReadTimes unused;
  const FileRequest request{.path = path,
                            .compression = extension->compression,
                            .options = options,
                            .resources = resources,
                            .name = name,
                            .times = times != nullptr ? times : &unused};
  *request.times = ReadTimes();
  Expected<Tensor> tensor = extension->kind == FileKind::tns   ? read_tns(request)
                            : extension->kind == FileKind::mtx ? read_mtx(request)
                                                           : read_npy(request);
  if (!tensor) return std::unexpected(of_operand(tensor.error(), path, name));
  if (!options.format || same_layout(tensor->format, *options.format)) return tensor;
  return convert(*tensor, *options.format, resources, name);
}

static Expected<void> write_by_extension(const Tensor& tensor, const std::string& path, const Resources& resources,
                            std::string_view name) {
  const Expected<Extension> extension = extension_of(path);
  if (!extension) return std::unexpected(extension.error());
  if (auto valid = verify_once(tensor, resources, name); !valid) return valid;
  switch (extension->kind) {
    case FileKind::tns:
      return write_tns(tensor, path, extension->compression, resources, name);
    case FileKind::mtx:
      return write_mtx(tensor, path, extension->compression, resources, name);
    default:
      return write_npy(tensor, path, resources, name);
  }
}

Expected<void> writable_format(const std::string& path) {
  return guarded({"looking at the name ", path}, [&]() -> Expected<void> {
    const Expected<Extension> extension = extension_of(path);
    if (!extension) return std::unexpected(extension.error());
    return {};
  });
}

Expected<Tensor> read_tensor(const std::string& path, const ReadOptions& options, const Resources& resources,
                             std::string_view name, ReadTimes* times) {
  return guarded({"reading ", path}, [&] { return read_by_extension(path, options, resources, name, times); });
}

Expected<void> write_tensor(const Tensor& tensor, const std::string& path, const Resources& resources,
                            std::string_view name) {
  return guarded({"writing ", path}, [&] { return write_by_extension(tensor, path, resources, name); });
}

}  // namespace weft
