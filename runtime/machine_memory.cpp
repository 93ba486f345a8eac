#include "runtime/machine_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "runtime/block.h"
#include "runtime/guarded.h"
#include "weft/memory.h"

namespace weft {
namespace {

constexpr std::uint64_t beside_arrays = std::uint64_t{64} << 20;
constexpr std::uint64_t least_for_arrays = std::uint64_t{16} << 20;

/// What a short file holds; empty if there is none.
std::string content(const char* path) {
  std::string text(4096, '\0');
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = ::read(file, text.data(), text.size());
  ::close(file);
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

/// Of the group at `path` and of all around it; "max" is no number. A container sees its own group at the top, whatever the path.
std::uint64_t least_of(const std::string& mounted, std::string path, const char* file) {
  std::uint64_t least = Memory::unlimited;
  for (;;) {
    const std::string text = content((mounted + path + "/" + file).c_str());
    std::uint64_t bytes = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), bytes).ec == std::errc{}) least = std::min(least, bytes);
    if (path.empty()) return least;
    path.resize(path.rfind('/'));
  }
}

}  // namespace

std::uint64_t memory_of_groups(const std::string& groups, const std::string& mounted) {
  std::uint64_t least = Memory::unlimited;
  // Lines "0::/path" of version 2, "4:memory,cpu:/path" of version 1.
  for (std::size_t begin = 0; begin < groups.size();) {
    const std::size_t end = std::min(groups.find('\n', begin), groups.size());
    const std::string_view line = std::string_view(groups).substr(begin, end - begin);
    begin = end + 1;
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos || !line.substr(second + 1).starts_with('/')) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string path(line.substr(second + 1));
    if (path == "/") path.clear();
    if (controllers.empty()) {
      least = std::min(least, least_of(mounted, std::move(path), "memory.max"));
    } else if (("," + std::string(controllers) + ",").find(",memory,") != std::string::npos) {
      least = std::min(least, least_of(mounted + "/memory", std::move(path), "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::uint64_t machine_memory() {
  static const std::uint64_t known = [] {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const std::uint64_t all = pages > 0 ? static_cast<std::uint64_t>(pages) * page_bytes() : Memory::unlimited;
    std::uint64_t granted = Memory::unlimited;
    (void)had_memory_for([&] { granted = memory_of_groups(content("/proc/self/cgroup"), "/sys/fs/cgroup"); });
    if (granted >= all) return all;
    return std::max(granted - std::min(granted, beside_arrays), least_for_arrays);
  }();
  return known;
}

}  // namespace weft
