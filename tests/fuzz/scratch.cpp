#include "fuzz/scratch.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>

namespace weft::fuzz {
namespace {

namespace fs = std::filesystem;

class ScratchDirectory {
 public:
  ScratchDirectory() {
    const bool in_memory = ::access("/dev/shm", W_OK) == 0;
    path_ = in_memory ? "/dev/shm/weft-fuzz-XXXXXX" : (fs::temp_directory_path() / "weft-fuzz-XXXXXX").string();
    require(::mkdtemp(path_.data()) != nullptr, "no directory for the files of the targets");
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

const std::string& scratch_directory() {
  static const ScratchDirectory directory;
  return directory.path();
}

std::string scratch_file(std::string_view name, std::string_view bytes) {
  std::string path = scratch_directory() + "/" + std::string(name);
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  require(file != nullptr, "a file of the target cannot be written");
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  require(written && closed, "a file of the target cannot be written");
  return path;
}

Resources small_resources(unsigned threads, unsigned megabytes) {
  static std::map<unsigned, Threads> arenas;
  return {
      Memory(std::uint64_t{megabytes} << 20), arenas.try_emplace(threads, threads).first->second, Cancellation(), {}};
}

}  // namespace weft::fuzz
