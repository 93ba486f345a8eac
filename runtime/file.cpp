// Tensor files by name and content.
#include "weft/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/convert.h"
#include "runtime/file_content.h"
#include "runtime/file_formats.h"
#include "runtime/guarded.h"
#include "runtime/shell_word.h"
#include "runtime/text_entries.h"

namespace weft {

namespace {

Expected<FileName> writable_name(const std::string& path) {
  FileName file = parse_file_name(path);
  if (!file.kind && file.standard_stream()) file.kind = FileKind::tns;
  if (!file.kind || !file.member.empty()) {
    return input_error(path +
                       ": unknown extension; weft writes .tns, .mtx, .npy and .npz, each also with .gz or .zst behind, "
                       "and to other names with the format in front, such as tns:" +
                       file.path);
  }
  if (!file.compression) file.compression = Compression::none;
  return file;
}

/// Equal but for index widths, which are the builder's choice: a request for 32 bits is one for at least 32.
bool satisfies(const Format& have, const Format& wanted) {
  if (have.layout || wanted.layout) return have == wanted;
  return have.scalar == wanted.scalar && have.mode_order == wanted.mode_order &&
         std::equal(have.levels.begin(), have.levels.end(), wanted.levels.begin(), wanted.levels.end(),
                    [](const Level& a, const Level& b) {
                      return a.kind == b.kind && a.strided == b.strided && a.pos_bits >= b.pos_bits &&
                             a.crd_bits >= b.crd_bits;
                    });
}

/// Every message says which operand was read; one named like its file is named already.
Error of_operand(Error error, std::string_view path, std::string_view name) {
  const bool named_already = name == "standard input" || name.find(path) != std::string_view::npos ||
                             path.starts_with(std::string(name) + ":");
  if (name.empty() || named_already || error.kind == ErrorKind::cancelled) return error;
  const std::string operand = "operand " + std::string(name);
  if (error.message.find(operand) == std::string::npos) error.message += " (" + operand + ")";
  return error;
}

/// What stands in a line of a shell for the file: what came through a pipe has no name there.
std::string named_in_shell(const FileName& file) { return file.standard_stream() ? "FILE" : file.path; }

/// "x.mtx: begins like a NumPy array, not like a Matrix Market file; npy:x.mtx reads it as what it is".
std::unexpected<Error> contradiction(const FileRequest& request, const FileName& file, Content content) {
  constexpr std::string_view expected[] = {"the text of a .tns", "a Matrix Market file", "a NumPy array",
                                           "a zip archive (.npz)"};
  std::string reason =
      fmt::format("begins like {}, not like {}", description(content), expected[static_cast<std::size_t>(*file.kind)]);
  if (const auto kind = kind_of(content))
    reason += fmt::format("; {}:{} reads it as what it is", name(*kind), file.path);
  if (const auto line = conversion(content, named_in_shell(file))) reason += "; " + *line;
  return file_error(request, reason);
}

/// The kind of the file by its name, or else by what it begins with. Input error where the two contradict each other,
/// or where weft does not read such a file.
Expected<FileKind> decide_kind(const FileRequest& request, const FileName& file, Content content) {
  if (!file.kind) {
    // A text says little: the name knows better.
    const bool tells_little = content == Content::text || content == Content::empty || content == Content::binary;
    const Content by_name = foreign_by_name(file.path);
    const Content known = tells_little && by_name != Content::text ? by_name : content;
    if (const auto line = conversion(known, named_in_shell(file))) return file_error(request, *line);
    const auto kind = kind_of(content);
    if (kind) return *kind;
    return file_error(request,
                      fmt::format("{}, and in no format that weft knows by its first bytes; weft reads .tns, .mtx, "
                                  ".npy and .npz, each also with .gz or .zst behind",
                                  description(content)));
  }
  switch (content) {
    case Content::gzip:
    case Content::zstandard: {
      // A name that says what is inside should say this, too.
      const bool gzip = content == Content::gzip;
      return file_error(request, fmt::format("these are {} data: the name should end in .{}", gzip ? "gzip" : "zstd",
                                             gzip ? "gz" : "zst"));
    }
    case Content::matrix_market:
      if (*file.kind != FileKind::mtx) return contradiction(request, file, content);
      break;
    case Content::npy:
      if (*file.kind != FileKind::npy) return contradiction(request, file, content);
      break;
    case Content::zip:
      if (*file.kind != FileKind::npz) return contradiction(request, file, content);
      break;
    case Content::empty:
    case Content::text:
    case Content::binary:
      break;  // whose reader says in which line
    default:
      return contradiction(request, file, content);
  }
  return *file.kind;
}

Expected<Tensor> read_named(const std::string& text, const ReadOptions& options, const Resources& resources,
                            std::string_view name, ReadTimes* times, FileFacts* facts) {
  const FileName file = parse_file_name(text);
  Expected<InputFile> opened = InputFile::open(file.path, resources.cancellation);
  if (!opened) {
    Error error = opened.error();
    if (file.path.find("://") != std::string::npos) {
      error.message += fmt::format("; an address is read by curl -L {} | weft info -", shell_word(file.path));
    }
    return std::unexpected(of_operand(std::move(error), text, name));
  }
  ReadTimes unused_times;
  FileFacts unused_facts;
  FileRequest request{.path = opened->path(),
                      .given = text,
                      .member = file.member,
                      .again = {},
                      .options = options,
                      .resources = resources,
                      .name = name,
                      .times = times != nullptr ? times : &unused_times,
                      .facts = facts != nullptr ? facts : &unused_facts};
  *request.times = ReadTimes();
  *request.facts = FileFacts();
  Expected<std::string_view> begin = opened->peek(content_bytes);
  if (!begin) return std::unexpected(of_operand(begin.error(), text, name));
  Content content = content_of(*begin);
  const Compression compression = file.compression                ? *file.compression
                                  : content == Content::gzip      ? Compression::gzip
                                  : content == Content::zstandard ? Compression::zstandard
                                                                  : Compression::none;
  if (opened->regular() && !file.standard_stream()) request.again = compression;
  Expected<ByteSource> source = ByteSource::open(std::move(*opened), compression, resources.memory);
  if (!source) return std::unexpected(of_operand(source.error(), text, name));
  if (compression != Compression::none) {
    begin = source->peek(content_bytes);
    if (!begin) return std::unexpected(of_operand(begin.error(), text, name));
    content = content_of(*begin);
  }
  const Expected<FileKind> kind = decide_kind(request, file, content);
  if (!kind) return std::unexpected(kind.error());
  if (!file.member.empty() && *kind != FileKind::npz) {
    return file_error(request, fmt::format("no archive, so that it has no member {}", quoted(file.member)));
  }
  Expected<Tensor> tensor = *kind == FileKind::tns   ? read_tns(std::move(*source), request)
                            : *kind == FileKind::mtx ? read_mtx(std::move(*source), request)
                            : *kind == FileKind::npy ? read_npy(std::move(*source), request)
                                                     : read_npz(std::move(*source), request);
  if (!tensor) return std::unexpected(of_operand(tensor.error(), request.path, name));
  if (!options.format || satisfies(tensor->format(), *options.format)) return tensor;
  return convert(*tensor, *options.format, resources, name);
}

Expected<void> write_named(const Tensor& tensor, const std::string& path, const Resources& resources,
                           std::string_view name) {
  const Expected<FileName> file = writable_name(path);
  if (!file) return std::unexpected(file.error());
  if (auto valid = verify_once(tensor, resources, name); !valid) return valid;
  if (tensor.format().layout) {
    const auto plain = in_plain_format(tensor, resources, name);
    return plain ? write_named(*plain, path, resources, name) : Expected<void>(std::unexpected(plain.error()));
  }
  switch (*file->kind) {
    case FileKind::tns:
      return write_tns(tensor, file->path, *file->compression, resources, name);
    case FileKind::mtx:
      return write_mtx(tensor, file->path, *file->compression, resources, name);
    case FileKind::npy:
      return write_npy(tensor, file->path, *file->compression, resources, name);
    default:
      return write_npz(tensor, file->path, *file->compression, resources, name);
  }
}

/// What a reader says, for programs: which operand it was to be, and, where it says no more, that it is about a file.
Error told(Error error, std::string_view name) {
  if (error.code == ErrorCode::other) error.code = ErrorCode::file;
  if (error.operand.empty() && !had_memory_for([&] { error.operand = name; })) error.operand.clear();
  return error;
}

}  // namespace

std::unexpected<Error> file_error(const FileRequest& request, std::string_view reason) {
  return std::unexpected(
      of_operand({ErrorKind::input, request.path + ": " + std::string(reason)}, request.path, request.name));
}

Expected<void> writable_format(const std::string& path) {
  return guarded({"looking at the name ", path}, [&]() -> Expected<void> {
    const Expected<FileName> file = writable_name(path);
    if (!file) return std::unexpected(file.error());
    const bool binary = *file->kind == FileKind::npy || *file->kind == FileKind::npz;
    if (file->standard_stream() && binary && ::isatty(STDOUT_FILENO) != 0) {
      return input_error(
          fmt::format("{} is no text, and standard output is a terminal: write to a file, or into a pipe",
                      weft::name(*file->kind)));
    }
    return {};
  });
}

bool writes_standard_output(const std::string& path) {
  return guarded_value([&] { return parse_file_name(path).standard_stream(); }, [] { return false; });
}

Expected<Tensor> read_tensor(const std::string& path, const ReadOptions& options, const Resources& resources,
                             std::string_view name, ReadTimes* times, FileFacts* facts) {
  auto tensor = guarded({"reading ", path}, [&] { return read_named(path, options, resources, name, times, facts); });
  if (!tensor && tensor.error().kind == ErrorKind::input) return std::unexpected(told(std::move(tensor.error()), name));
  return tensor;
}

Expected<void> write_tensor(const Tensor& tensor, const std::string& path, const Resources& resources,
                            std::string_view name) {
  return guarded({"writing ", path}, [&] { return write_named(tensor, path, resources, name); });
}

}  // namespace weft
