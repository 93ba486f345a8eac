#include "runtime/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/charge.h"
#include "runtime/unfinished_files.h"

namespace weft {

struct OutputFile::State {
  std::string path;
  std::string final_path;  // of the renamed file
  std::string temporary;   // empty: written in place
  UnfinishedFile listed;   // under that name
  int descriptor = -1;
  ZSTD_CCtx* zstandard = nullptr;
  Charge charge;  // for it
  std::string compressed;
  bool standard = false;  // output, under whatever name: what cannot be printed is an input error

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    ZSTD_freeCCtx(zstandard);
    if (descriptor >= 0) ::close(descriptor);
    if (!temporary.empty()) ::unlink(temporary.c_str());
  }
  std::unexpected<Error> failure(int code) const {
    const bool exhausted = !standard && (code == ENOSPC || code == EDQUOT || code == EFBIG);
    return fail(exhausted ? ErrorKind::resource : ErrorKind::input, exhausted ? ErrorCode::other : ErrorCode::file, {},
                "cannot write " + path + ": " + std::generic_category().message(code));
  }
  Expected<void> write_all(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), std::size_t{1} << 26));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failure(errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }
  Expected<void> compress(std::string_view bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer output{compressed.data(), compressed.size(), 0};
      const std::size_t left = ZSTD_compressStream2(zstandard, &output, &input, directive);
      if (ZSTD_isError(left) != 0) {
        return resource_error("cannot compress " + path + ": " + ZSTD_getErrorName(left));
      }
      if (Expected<void> written = write_all({compressed.data(), output.pos}); !written) return written;
      if (directive == ZSTD_e_end ? left == 0 : input.pos == input.size) return {};
    }
  }
};

namespace {

/// The file, which only its owner may read yet, gets the mode of the one that it replaces, and its owner where that is allowed.
/// Under another group than before, that group gets no rights.
void take_rights(int descriptor, const struct stat& replaced) {
  mode_t mode = replaced.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  const bool owned = ::fchown(descriptor, replaced.st_uid, replaced.st_gid) == 0;
  if (!owned && ::fchown(descriptor, static_cast<uid_t>(-1), replaced.st_gid) != 0) mode &= ~static_cast<mode_t>(S_IRWXG);
  (void)::fchmod(descriptor, mode);  // where it fails, the file stays closed to others
}

/// What the process has open already under a name of the system's: /dev/stdout, /dev/fd/3. A file behind it is written where it stands,
/// as the shell that opened it wants (`>> log`), not replaced.
std::optional<int> opened_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view directory : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(directory)) continue;
    int number = -1;
    const char* const end = path.data() + path.size();
    const auto [behind, error] = std::from_chars(path.data() + directory.size(), end, number);
    if (error == std::errc() && behind == end && number >= 0) return number;
  }
  return std::nullopt;
}

}  // namespace

std::string written_path(std::string path) {
  constexpr int most_links = 40;  // as Linux follows
  std::string target(PATH_MAX, '\0');
  for (int link = 0; link < most_links; ++link) {
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length <= 0) break;
    const std::size_t directory = target.starts_with('/') ? 0 : path.rfind('/') + 1;
    path = path.substr(0, directory) + target.substr(0, static_cast<std::size_t>(length));
  }
  return path;
}

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Expected<OutputFile> OutputFile::create(const std::string& path) {
  auto state = std::make_unique<State>();
  const bool standard = path == "-";
  state->path = standard ? "standard output" : path;
  state->final_path = standard ? path : written_path(path);
  struct stat status {};
  const std::optional<int> opened = standard ? STDOUT_FILENO : opened_descriptor(path);
  state->standard = opened == STDOUT_FILENO;
  if (opened) {
    state->descriptor = ::fcntl(*opened, F_DUPFD_CLOEXEC, 0);
    if (state->descriptor < 0) return state->failure(errno);
  }
  // Told now and not after the work, when the rename would fail.
  const bool exists = !opened && ::stat(path.c_str(), &status) == 0;
  if (!opened && !exists && errno == ELOOP) return state->failure(ELOOP);
  if (exists && S_ISDIR(status.st_mode)) return state->failure(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    // A pipe or a device is written to: a renamed file would replace it.
    state->descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (state->descriptor < 0) return state->failure(errno);
  }
  const mode_t rights = exists ? status.st_mode & S_IRWXU : S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  for (int attempt = 0; state->descriptor < 0; ++attempt) {
    std::string temporary = state->final_path.substr(0, state->final_path.rfind('/') + 1) + ".weft-" + std::to_string(::getpid()) + "-" +
                            std::to_string(attempt) + ".tmp";
    state->listed.replace(temporary);
    state->descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, rights);
    if (state->descriptor >= 0) {
      state->temporary = std::move(temporary);
      if (exists) take_rights(state->descriptor, status);
    } else {
      const int code = errno;
      state->listed.replace({});  // another writer's
      if (code != EEXIST || attempt == 1000) return state->failure(code);
    }
  }
  return OutputFile(std::move(state));
}

Expected<OutputFile> OutputFile::create(const std::string& path, Compression compression, const Memory& memory) {
  Expected<OutputFile> file = create(path);
  if (!file || compression != Compression::zstandard) return file;
  State& state = *file->state_;
  Expected<Charge> charge = memory.charge(zstandard_bytes, "compression of " + state.path);
  if (!charge) return std::unexpected(charge.error());
  state.charge = std::move(*charge);
  state.zstandard = ZSTD_createCCtx();
  if (state.zstandard == nullptr) return resource_error("no memory to compress " + state.path);
  ZSTD_CCtx_setParameter(state.zstandard, ZSTD_c_checksumFlag, 1);
  state.compressed.resize(ZSTD_CStreamOutSize());
  return file;
}

const std::string& OutputFile::path() const { return state_->path; }

Expected<void> OutputFile::write(std::string_view bytes) {
  return state_->zstandard != nullptr ? state_->compress(bytes, ZSTD_e_continue) : state_->write_all(bytes);
}

Expected<void> OutputFile::finish() {
  if (state_->zstandard != nullptr) {
    if (Expected<void> done = state_->compress({}, ZSTD_e_end); !done) return done;
  }
  // A name that reaches the disk before the bytes would be a torn file after a power loss. What is no file on a disk cannot
  // be synchronised (EINVAL), nor need it.
  while (!state_->temporary.empty() && ::fdatasync(state_->descriptor) != 0) {
    if (errno == EINVAL || errno == ENOSYS) break;
    if (errno != EINTR) return state_->failure(errno);
  }
  // Some file systems report a full disk only here.
  if (::close(std::exchange(state_->descriptor, -1)) != 0) return state_->failure(errno);
  if (state_->temporary.empty()) return {};
  if (std::rename(state_->temporary.c_str(), state_->final_path.c_str()) != 0) return state_->failure(errno);
  state_->temporary.clear();
  state_->listed.replace({});
  return {};
}

Expected<void> write_member(OutputFile& file, Compression compression, std::string_view bytes) {
  if (bytes.empty() || compression != Compression::gzip) return file.write(bytes);
  Expected<std::string> member = gzip_member(bytes);
  if (!member) return std::unexpected(member.error());
  return file.write(*member);
}

Expected<std::string> gzip_member(std::string_view text) {
  z_stream stream{};
  // Ended also where there is no memory for the text.
  const std::unique_ptr<z_stream, decltype([](z_stream* each) { deflateEnd(each); })> ended(&stream);
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return resource_error("no memory to compress");
  }
  std::string member(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(member.data());
  stream.avail_out = static_cast<uInt>(member.size());
  const int status = deflate(&stream, Z_FINISH);
  member.resize(stream.total_out);
  if (status != Z_STREAM_END) return internal_error("deflate did not end within its own bound");
  return member;
}

}  // namespace weft
