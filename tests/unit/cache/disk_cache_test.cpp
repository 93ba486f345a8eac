#include "engine/cache/disk_cache.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/cache/entry.h"
#include "unit/cache/cache_fixture.h"

namespace disk_cache_test {

namespace fs = std::filesystem;
using weft::DiskCache;

namespace {

fs::path file_of(const fs::path& directory, const std::string& key) { return directory / DiskCache::file_name(key); }

std::size_t files_in(const fs::path& directory) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(directory)) ++count;
  return count;
}

void make_older(const fs::path& file, std::chrono::hours hours) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - hours);
}

// Restores the variables it changes.
class Environment {
 public:
  Environment() {
    for (const char* name : names) {
      const char* value = std::getenv(name);
      saved_.push_back(value == nullptr ? std::nullopt : std::optional<std::string>(value));
      unsetenv(name);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (std::size_t n = 0; n < saved_.size(); ++n) {
      if (saved_[n])
        setenv(names[n], saved_[n]->c_str(), 1);
      else
        unsetenv(names[n]);
    }
  }

 private:
  static constexpr const char* names[] = {"WEFT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::optional<std::string>> saved_;
};

}  // namespace

TEST_CASE("disk cache: what was stored is loaded, by exactly its key") {
  const TemporaryDirectory temporary;
  const DiskCache cache((temporary.path() / "a" / "b").string());
  CHECK_FALSE(cache.load("key").has_value());
  CHECK_FALSE(fs::exists(temporary.path() / "a"));  // loading makes nothing

  const std::string bytes("\0\1\2zero\0", 8);
  cache.store("key", bytes);
  CHECK(cache.load("key") == bytes);
  CHECK_FALSE(cache.load("kez").has_value());
  cache.store("key", "newer");
  CHECK(cache.load("key") == "newer");
  cache.store("", "the empty key");
  CHECK(cache.load("") == "the empty key");
  cache.store("nothing", "");
  CHECK(cache.load("nothing") == "");

  // Another instance, as another process would make it.
  CHECK(DiskCache(cache.directory()).load("key") == "newer");
  for (const char* directory : {"a", "a/b"}) {
    struct stat facts {};
    REQUIRE(stat((temporary.path() / directory).c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0700);
  }
  struct stat facts {};
  REQUIRE(stat(file_of(temporary.path() / "a" / "b", "key").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
}

TEST_CASE("disk cache: status and clear count entries and leave foreign files alone") {
  const TemporaryDirectory temporary;
  const DiskCache cache(temporary.path().string(), 1 << 20);
  CHECK(cache.status() == weft::DiskCacheStatus{.path = temporary.path().string(), .cap = 1 << 20});
  cache.store("one", "1");
  cache.store("two", "22");
  overwrite(temporary.path() / "notes.txt", "mine");
  CHECK(cache.status() == weft::DiskCacheStatus{.path = temporary.path().string(),
                                                .entries = 2,
                                                .bytes = weft::entry_size(3, 1) + weft::entry_size(3, 2),
                                                .cap = 1 << 20});
  CHECK(cache.clear() == 2);
  CHECK(cache.status().entries == 0);
  CHECK_FALSE(cache.load("one").has_value());
  CHECK(contents_of(temporary.path() / "notes.txt") == "mine");
  CHECK(files_in(temporary.path()) == 1);
  CHECK(cache.clear() == 0);
}

TEST_CASE("disk cache: every truncation, every flipped bit and zeroed pages are misses that say why") {
  const TemporaryDirectory temporary;
  std::string said;
  const DiskCache cache(temporary.path().string(), DiskCache::default_cap, [&](std::string_view line) { said = line; });
  cache.store("the key", "some object bytes");
  const fs::path file = file_of(temporary.path(), "the key");
  const std::string good = contents_of(file);
  REQUIRE(good.size() == weft::entry_size(7, 17));

  const auto expect_miss = [&](const std::string& bad) {
    overwrite(file, bad);
    said.clear();
    CHECK_FALSE(cache.load("the key").has_value());
    CHECK(said.find(DiskCache::file_name("the key")) != std::string::npos);
  };
  for (std::size_t size = 0; size < good.size(); ++size) expect_miss(good.substr(0, size));
  for (std::size_t byte = 0; byte < good.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[byte] = static_cast<char>(bad[byte] ^ (1 << bit));
      expect_miss(bad);
    }
  expect_miss(std::string(good.size(), '\0'));
  expect_miss(good + "x");
  expect_miss(good + good);
  std::string tail_zeroed = good;
  std::fill(tail_zeroed.end() - 10, tail_zeroed.end(), '\0');
  expect_miss(tail_zeroed);

  // A damaged entry is replaced by the next store.
  cache.store("the key", "repaired");
  CHECK(cache.load("the key") == "repaired");
}

TEST_CASE("disk cache: an entry of another version is a miss") {
  const TemporaryDirectory temporary;
  std::string said;
  const DiskCache cache(temporary.path().string(), DiskCache::default_cap, [&](std::string_view line) { said = line; });
  cache.store("key", "bytes");
  std::string file = contents_of(file_of(temporary.path(), "key"));
  file[8] = static_cast<char>(file[8] + 1);  // the version follows the eight bytes of magic
  overwrite(file_of(temporary.path(), "key"), file);
  CHECK_FALSE(cache.load("key").has_value());
  CHECK(said.find("another version") != std::string::npos);
}

TEST_CASE("disk cache: another key's entry under this key's name is a miss") {
  const TemporaryDirectory temporary;
  std::string said;
  const DiskCache cache(temporary.path().string(), DiskCache::default_cap, [&](std::string_view line) { said = line; });
  cache.store("theirs", "their bytes");
  fs::rename(file_of(temporary.path(), "theirs"), file_of(temporary.path(), "mine"));
  CHECK_FALSE(cache.load("mine").has_value());
  CHECK(said.find("another key") != std::string::npos);
}

TEST_CASE("disk cache: directories that cannot be used are silent misses for the caller") {
  const TemporaryDirectory temporary;
  std::string said;
  const auto listen = [&](std::string_view line) { said = line; };

  SUBCASE("a file in place of the directory") {
    const fs::path path = temporary.path() / "file";
    overwrite(path, "not a directory");
    const DiskCache cache(path.string(), DiskCache::default_cap, listen);
    cache.store("key", "bytes");
    CHECK(said.find("Not a directory") != std::string::npos);
    CHECK_FALSE(cache.load("key").has_value());
    CHECK(cache.status().entries == 0);
    CHECK(cache.clear() == 0);
    CHECK(contents_of(path) == "not a directory");
    // And in place of a parent.
    const DiskCache below((path / "cache").string(), DiskCache::default_cap, listen);
    said.clear();
    below.store("key", "bytes");
    CHECK(said.find("Not a directory") != std::string::npos);
  }
  SUBCASE("others may write to it") {
    for (const mode_t mode : {0770U, 0707U, 0777U}) {
      chmod(temporary.path().c_str(), 0700);
      const DiskCache cache(temporary.path().string(), DiskCache::default_cap, listen);
      cache.store("key", "bytes");
      REQUIRE(cache.load("key") == "bytes");
      chmod(temporary.path().c_str(), mode);
      CHECK_FALSE(cache.load("key").has_value());
      CHECK(said.find("others may write") != std::string::npos);
      cache.store("key", "newer");
      CHECK(cache.status().entries == 0);
      chmod(temporary.path().c_str(), 0700);
      CHECK(cache.load("key") == "bytes");
    }
  }
  SUBCASE("it belongs to somebody else") {
    // As root by giving the directory away, else by looking at root's.
    const bool root = geteuid() == 0;
    const std::string path = root ? temporary.path().string() : "/root";
    if (root) REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
    const DiskCache cache(path, DiskCache::default_cap, listen);
    cache.store("key", "bytes");
    CHECK_FALSE(said.empty());
    CHECK_FALSE(cache.load("key").has_value());
    if (root) {
      CHECK(said.find("another user") != std::string::npos);
      CHECK(files_in(temporary.path()) == 0);
    }
  }
  SUBCASE("it is read-only: hits remain, stores do nothing") {
    const DiskCache cache(temporary.path().string(), DiskCache::default_cap, listen);
    cache.store("key", "bytes");
    // Permissions do not stop root, so a child process gives its rights up first, with the directory made its own.
    const pid_t child = fork();
    if (child == 0) {
      if (geteuid() == 0 && (chown(temporary.path().c_str(), 65534, 65534) != 0 ||
                             chown(file_of(temporary.path(), "key").c_str(), 65534, 65534) != 0 ||
                             setgid(65534) != 0 || setuid(65534) != 0))
        _exit(10);
      if (chmod(temporary.path().c_str(), 0500) != 0) _exit(11);
      if (cache.load("key") != "bytes") _exit(1);
      cache.store("other", "bytes");
      if (cache.load("other").has_value()) _exit(2);
      if (cache.load("key") != "bytes") _exit(3);
      _exit(said.find("Permission denied") == std::string::npos ? 4 : 0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    chmod(temporary.path().c_str(), 0700);
  }
  SUBCASE("the empty path and a pipe in place of an entry") {
    const DiskCache nowhere("", DiskCache::default_cap, listen);
    nowhere.store("key", "bytes");
    CHECK_FALSE(nowhere.load("key").has_value());
    const DiskCache cache(temporary.path().string(), DiskCache::default_cap, listen);
    REQUIRE(mkfifo(file_of(temporary.path(), "key").c_str(), 0600) == 0);
    CHECK_FALSE(cache.load("key").has_value());
    cache.store("key", "bytes");
    CHECK(cache.load("key") == "bytes");
    // A symbolic link is not followed, but replaced.
    overwrite(temporary.path() / "elsewhere", contents_of(file_of(temporary.path(), "key")));
    fs::remove(file_of(temporary.path(), "key"));
    fs::create_symlink(temporary.path() / "elsewhere", file_of(temporary.path(), "key"));
    CHECK_FALSE(cache.load("key").has_value());
    cache.store("key", "again");
    CHECK(cache.load("key") == "again");
    CHECK_FALSE(contents_of(temporary.path() / "elsewhere").empty());
  }
}

TEST_CASE("disk cache: nothing temporary is left, and abandoned temporaries go") {
  const TemporaryDirectory temporary;
  const DiskCache cache(temporary.path().string());
  cache.store("key", std::string(100000, 'x'));
  for (const auto& entry : fs::directory_iterator(temporary.path()))
    CHECK_FALSE(entry.path().filename().string().starts_with("writing-"));
  overwrite(temporary.path() / "writing-old", "abandoned");
  overwrite(temporary.path() / "writing-young", "being written");
  make_older(temporary.path() / "writing-old", std::chrono::hours(2));
  cache.sweep();
  CHECK_FALSE(fs::exists(temporary.path() / "writing-old"));
  CHECK(fs::exists(temporary.path() / "writing-young"));
  CHECK(cache.load("key").has_value());
  CHECK(cache.clear() == 1);
  CHECK_FALSE(fs::exists(temporary.path() / "writing-young"));
}

TEST_CASE("disk cache: beyond the cap the least recently used entries go") {
  const TemporaryDirectory temporary;
  const std::uint64_t each = weft::entry_size(1, 1000);
  const DiskCache roomy(temporary.path().string());
  for (const std::string key : {"a", "b", "c", "d", "e"}) roomy.store(key, std::string(1000, 'x'));
  const char* keys[] = {"a", "b", "c", "d", "e"};
  for (int n = 0; n < 5; ++n) make_older(file_of(temporary.path(), keys[n]), std::chrono::hours(10 - n));
  REQUIRE(roomy.load("a").has_value());  // now the most recently used
  const DiskCache tight(temporary.path().string(), 4 * each);
  tight.sweep();  // five entries; nine tenths of the room of four hold three
  CHECK(roomy.load("a").has_value());
  CHECK_FALSE(roomy.load("b").has_value());
  CHECK_FALSE(roomy.load("c").has_value());
  CHECK(roomy.load("d").has_value());
  CHECK(roomy.load("e").has_value());

  // Storing keeps the directory near the cap without being asked to sweep.
  const DiskCache small(temporary.path().string(), 20 * each);
  for (int n = 0; n < 100; ++n) small.store(std::string(1, static_cast<char>(n)), std::string(1000, 'y'));
  CHECK(small.status().bytes <= 23 * each);
  CHECK(small.load(std::string(1, 99)).has_value());
  // What cannot fit is not stored at all.
  small.store("giant", std::string(30 * 1000, 'z'));
  CHECK_FALSE(small.load("giant").has_value());
}

TEST_CASE("disk cache: writers and readers of one key in two processes and several threads see whole entries") {
  const TemporaryDirectory temporary;
  const DiskCache cache(temporary.path().string());
  const auto whole = [](const std::string& bytes) {
    return !bytes.empty() && bytes.find_first_not_of(bytes.front()) == std::string::npos &&
           bytes.size() == 20000 + static_cast<std::size_t>(bytes.front());
  };
  const auto write = [&](int seed) {
    for (int n = 0; n < 100; ++n) {
      const int letter = 'a' + (n * seed) % 20;
      cache.store("key", std::string(20000 + static_cast<std::size_t>(letter), static_cast<char>(letter)));
    }
  };
  cache.store("key", std::string(20000 + 'a', 'a'));
  const pid_t child = fork();
  if (child == 0) {
    write(3);
    _exit(0);
  }
  std::atomic<int> torn{0};
  std::atomic<int> missing{0};
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { write(7); });
    for (int reader = 0; reader < 2; ++reader)
      threads.emplace_back([&] {
        for (int n = 0; n < 200; ++n) {
          const auto bytes = cache.load("key");
          if (!bytes)
            ++missing;
          else if (!whole(*bytes))
            ++torn;
        }
      });
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(torn == 0);
  CHECK(missing == 0);
  CHECK(cache.status().entries == 1);
}

TEST_CASE("disk cache: only one process sweeps at a time") {
  const TemporaryDirectory temporary;
  const DiskCache cache(temporary.path().string(), 1000);
  const DiskCache roomy(temporary.path().string());
  for (int n = 0; n < 10; ++n) roomy.store(std::to_string(n), std::string(500, 'x'));
  // A child holds the lock until told; while it does, a sweep removes nothing.
  int ready[2];
  int done[2];
  REQUIRE(pipe(ready) == 0);
  REQUIRE(pipe(done) == 0);
  const std::string lock = (temporary.path() / "sweep.lock").string();
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(lock.c_str(), O_RDWR | O_CREAT, 0600);
    char byte = flock(file, LOCK_EX) == 0 ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    _exit(read(done[0], &byte, 1) == 1 ? 0 : 2);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  REQUIRE(byte == 'y');
  cache.sweep();
  CHECK(cache.status().entries == 10);
  REQUIRE(write(done[1], &byte, 1) == 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  cache.sweep();
  CHECK(cache.status().entries == 1);
}

TEST_CASE("disk cache: the default directory follows the environment") {
  const Environment environment;
  CHECK_FALSE(DiskCache::default_directory().has_value());
  setenv("HOME", "/home/somebody", 1);
  CHECK(DiskCache::default_directory() == "/home/somebody/.cache/weft");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(DiskCache::default_directory() == "/home/somebody/.cache/weft");
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  CHECK(DiskCache::default_directory() == "/xdg/weft");
  setenv("WEFT_CACHE_DIR", "/given", 1);
  CHECK(DiskCache::default_directory() == "/given");
  setenv("WEFT_CACHE_DIR", "", 1);
  CHECK(DiskCache::default_directory() == "/xdg/weft");
}

}  // namespace disk_cache_test
