#include "frontend/terminal.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {

Progress terminal_progress(bool quiet) {
  if (quiet || isatty(STDERR_FILENO) == 0) return {};
  const auto start = std::chrono::steady_clock::now();
  return [start](std::string_view what, double fraction) {
    if (std::chrono::steady_clock::now() - start < std::chrono::seconds(1)) return;
    fmt::print(stderr, "\r\033[K{} {:3.0f} %", what, 100 * fraction);
    std::fflush(stderr);
  };
}

void clear_progress() {
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
}

Expected<void> write_text(const std::string& path, std::string_view text) {
  if (path.empty()) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
      return resource_error(fmt::format("standard output: {}", std::strerror(errno)));
    }
    return {};
  }
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return input_error(fmt::format("{}: {}", path, std::strerror(errno)));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    return resource_error(fmt::format("{}: {}", path, reason));
  }
  return {};
}

Expected<void> writable_place(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return input_error(fmt::format("cannot write {}: it is a directory", path));
  }
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    return input_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  return {};
}

std::string human_bytes(std::uint64_t bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit < 5) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace weft
