#include "runtime/array_output.h"

#include <algorithm>
#include <utility>

namespace weft {

namespace {
constexpr std::size_t written_piece = std::size_t{1} << 20;
}  // namespace

Expected<ArrayOutput> ArrayOutput::create(const std::string& path, Compression compression,
                                          const Resources& resources) {
  Expected<OutputFile> file = OutputFile::create(path, compression, resources.memory);
  if (!file) return std::unexpected(file.error());
  Charge charge;
  if (compression == Compression::gzip) {
    Expected<Charge> made =
        resources.memory.charge(written_piece + deflate_bytes, "compressed bytes of " + file->path());
    if (!made) return std::unexpected(made.error());
    charge = std::move(*made);
  }
  return ArrayOutput(std::move(*file), compression, std::move(charge), resources);
}

Expected<void> ArrayOutput::write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (resources_->cancellation.cancelled())
      return fail(ErrorKind::cancelled, "cancelled while writing " + file_.path());
    const std::string_view piece = bytes.substr(0, written_piece);
    if (Expected<void> written = write_member(file_, compression_, piece); !written) return written;
    bytes.remove_prefix(piece.size());
    written_ += piece.size();
    const auto now = std::chrono::steady_clock::now();
    if (resources_->progress && now - last_report_ >= std::chrono::milliseconds(100)) {
      last_report_ = now;
      const double share = static_cast<double>(written_) / static_cast<double>(std::max(expected_, written_));
      resources_->progress("writing " + file_.path(), share);
    }
  }
  return {};
}

Expected<void> ArrayOutput::finish() {
  if (resources_->cancellation.cancelled())
    return fail(ErrorKind::cancelled, "cancelled while writing " + file_.path());
  return file_.finish();
}

}  // namespace weft
