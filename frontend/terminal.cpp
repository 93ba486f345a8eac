#include "frontend/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "runtime/file_name.h"
#include "runtime/output_file.h"
#include "weft/file.h"

namespace weft {
namespace {

std::atomic<bool> progress_stands = false;  // on the line of standard error

void put(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

std::string directory_of_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// The end of the text with "..." before it where it has too many characters: the end of a path says more than its begin.
std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view dots = "...";
  // In UTF-8 a byte of the form 10xxxxxx goes on with a character.
  const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
  if (static_cast<std::size_t>(std::ranges::count_if(text, begins)) <= most) return std::string(text);
  std::size_t at = text.size();
  for (std::size_t kept = most > dots.size() ? most - dots.size() : 0; kept > 0 && at > 0;) {
    if (begins(text[--at])) --kept;
  }
  return std::string(dots) + std::string(text.substr(at));
}

}  // namespace

std::size_t terminal_columns(int descriptor) {
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : std::numeric_limits<std::size_t>::max();
}

Progress terminal_progress(bool quiet) {
  if (quiet || !moves_cursor(STDERR_FILENO)) return {};
  const auto start = std::chrono::steady_clock::now();
  return [start](std::string_view what, double fraction) {
    if (std::chrono::steady_clock::now() - start < std::chrono::seconds(1)) return;
    progress_stands = true;
    const std::string done = fmt::format(" {:3.0f} %", 100 * fraction);
    // A line that is wrapped could not be taken away again.
    const std::size_t columns = terminal_columns(STDERR_FILENO);
    const std::size_t most = columns > done.size() ? columns - done.size() - 1 : 0;
    put(fmt::format("\r\033[K{}{}", shortened(what, most), done));
  };
}

Resources writing_resources(const Resources& resources, const std::string& path) {
  Resources writing = resources;
  struct stat status {};
  const bool to_file = fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  if (writes_standard_output(path) && !to_file) writing.progress = {};
  return writing;
}

void clear_progress() {
  if (progress_stands.exchange(false)) std::fputs("\r\033[K", stderr);
}

void write_note(std::string_view text) {
  clear_progress();
  put(text);
}

void keep_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    (void)open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest that is free: this one
  }
}

Expected<void> write_text(const std::string& path, std::string_view text) {
  if (path.empty()) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
      return input_error(fmt::format("cannot write standard output: {}", std::strerror(errno)));
    }
    return {};
  }
  auto file = OutputFile::create(path);
  if (!file) return std::unexpected(file.error());
  if (auto written = file->write(text); !written) return written;
  return file->finish();
}

Expected<void> writable_place(const std::string& text) {
  const FileName file = parse_file_name(text);
  const std::string& path = file.path;
  if (file.standard_stream()) return {};
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return input_error(fmt::format("cannot write {}: it is a directory", path));
  }
  // A pipe or a device is opened when there is something to write.
  if (exists && !S_ISREG(status.st_mode)) return {};
  if (access(directory_of_file(written_path(path)).c_str(), W_OK | X_OK) != 0) {
    return input_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  return {};
}

Expected<void> different_files(std::span<const Destination> destinations) {
  std::map<std::string, std::string> writers;  // by directory and name
  for (const auto& [what, path] : destinations) {
    struct stat status {};
    if (path == "-" || (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))) continue;
    const std::string written = written_path(path);
    const std::string directory = directory_of_file(written);
    const std::unique_ptr<char, decltype([](char* text) { std::free(text); })> real(realpath(directory.c_str(), nullptr));
    const std::string place = fmt::format("{}/{}", real ? real.get() : directory, written.substr(written.rfind('/') + 1));
    const auto [other, is_first] = writers.emplace(place, what);
    if (is_first) continue;
    return input_error(fmt::format("{} and {} would both be written to {}; give one another path", other->second, what, path));
  }
  return {};
}

std::string human_bytes(std::uint64_t bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit < 5) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace weft
