// Runs inputs through their targets without libFuzzer: `test_fuzz` replays every file of corpus/ and regressions/,
// `test_fuzz TARGET FILE…` those files. Whatever is wrong ends the process; the file is named then.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "unit/sanitized.h"

/// What AddressSanitizer finds ends in abort, so that the file is named.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }

namespace {

namespace fs = std::filesystem;

// A signal handler may not allocate: the name lies ready.
std::array<char, 4096> current_file;
std::size_t current_bytes = 0;

void name_file(int signal) {
  constexpr std::string_view words = "\nfailed in ";
  const bool written = ::write(2, words.data(), words.size()) > 0 && ::write(2, current_file.data(), current_bytes) > 0;
  std::signal(signal, SIG_DFL);
  if (written) ::raise(signal);
}

std::size_t replay(const weft::fuzz::Target& target, const fs::path& file) {
  const std::string name = std::string(target.name) + " " + file.string() + "\n";
  current_bytes = name.copy(current_file.data(), current_file.size());
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    std::fprintf(stderr, "cannot read %s", name.c_str());
    std::exit(2);
  }
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
  // An input that neither computes nor ends is a finding too.
  ::alarm(300);
  target.run(bytes);
  ::alarm(0);
  return 1;
}

std::size_t replay_folder(const weft::fuzz::Target& target, const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::exists(folder))
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  std::size_t count = 0;
  for (const fs::path& file : files) count += replay(target, file);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGABRT, SIGALRM}) std::signal(signal, name_file);
  if (!weft::test::is_sanitized())
    for (const int signal : {SIGSEGV, SIGFPE, SIGILL, SIGBUS}) std::signal(signal, name_file);
  if (argc > 1) {
    const weft::fuzz::Target* const target = weft::fuzz::find_target(argv[1]);
    if (target == nullptr) {
      std::fprintf(stderr, "no target %s\n", argv[1]);
      return 2;
    }
    // Absolute, because a target may change the directory.
    std::vector<fs::path> files;
    for (int n = 2; n < argc; ++n) files.push_back(fs::absolute(argv[n]));
    for (const fs::path& file : files) replay(*target, file);
    return 0;
  }
  const fs::path root = WEFT_SOURCE_DIR "/tests/fuzz";
  for (const weft::fuzz::Target& target : weft::fuzz::targets()) {
    const std::size_t corpus = replay_folder(target, root / "corpus" / target.name);
    const std::size_t regressions = replay_folder(target, root / "regressions" / target.name);
    std::printf("%.*s: %zu of the corpus, %zu regressions\n", static_cast<int>(target.name.size()), target.name.data(),
                corpus, regressions);
    // A target without inputs tests nothing.
    if (corpus == 0) return 1;
  }
  return 0;
}
