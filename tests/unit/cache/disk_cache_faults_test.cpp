// The disk cache when the system fails: every call of a store, load, sweep or clear, one after the other; processes
// killed at every step and at any time; full and read-only disks; clocks that are wrong.
#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/cache/disk_cache.h"
#include "unit/cache/cache_fixture.h"
#include "unit/cache/faults.h"

namespace disk_cache_faults_test {

namespace fs = std::filesystem;
using faults::Fault;
using weft::DiskCache;

namespace {

const std::string old_bytes(3000, 'o');
const std::string new_bytes(5000, 'n');

std::size_t temporaries_in(const fs::path& directory) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(directory))
    count += entry.path().filename().string().starts_with("writing-") ? 1 : 0;
  return count;
}

/// Runs in a process of its own; its exit status, or minus the signal that ended it.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1000;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/// How many system calls the work makes: what the cache does, however long this machine takes for it.
template <class Work>
int system_calls(Work work) {
  constexpr int never = -1;
  faults::inject(never, Fault::fails);
  work();
  return faults::stop();
}

/// A store or load makes fewer system calls than this, whatever goes wrong: nothing is tried over and over.
constexpr int calls_at_most = 100;

/// Where the store that fails finds the cache.
enum class Before { no_directory, nothing, older_entry };

/// After a store of new_bytes that went wrong: the key has its old or its new bytes, or none where there were none; the
/// other entry is as it was; and the next store works.
void check_after(const DiskCache& cache, Before before) {
  const auto found = cache.load("key");
  if (before == Before::older_entry)
    CHECK((found == old_bytes || found == new_bytes));
  else
    CHECK((!found || found == new_bytes));
  if (before != Before::no_directory) CHECK(cache.load("other") == old_bytes);
  cache.store("key", new_bytes);
  CHECK(cache.load("key") == new_bytes);
}

void prepare(const DiskCache& cache, Before before) {
  fs::remove_all(cache.directory());
  if (before == Before::no_directory) return;
  cache.store("other", old_bytes);
  if (before == Before::older_entry) cache.store("key", old_bytes);
}

bool is_error(const std::string& line) { return line.find("cache ") == 0; }

}  // namespace

TEST_CASE("disk cache: every system call of a store fails in turn") {
  const TemporaryDirectory temporary;
  std::vector<std::string> said;
  for (const Before before : {Before::no_directory, Before::nothing, Before::older_entry}) {
    for (const int error : {EIO, ENOSPC, EACCES, EROFS, EDQUOT, EMFILE}) {
      for (int call = 0;; ++call) {
        const DiskCache cache((temporary.path() / "cache").string(), DiskCache::default_cap,
                              [&](std::string_view line) { said.emplace_back(line); });
        prepare(cache, before);
        said.clear();
        faults::inject(call, Fault::fails, error);
        cache.store("key", new_bytes);
        const int calls = faults::stop();
        if (call >= calls) break;
        CAPTURE(call);
        CAPTURE(error);
        CHECK(calls < calls_at_most);
        if (cache.load("key") != new_bytes) {
          REQUIRE(said.size() == 1);
          CHECK(is_error(said.front()));
          CHECK(said.front().find(std::strerror(error)) != std::string::npos);
        }
        if (fs::exists(cache.directory())) CHECK(temporaries_in(cache.directory()) == 0);
        check_after(cache, before);
        REQUIRE(call < calls_at_most);
      }
    }
  }
}

TEST_CASE("disk cache: short writes are continued, and one that then fails is not stored") {
  const TemporaryDirectory temporary;
  const DiskCache cache((temporary.path() / "cache").string());
  for (const Before before : {Before::nothing, Before::older_entry}) {
    for (int call = 0;; ++call) {
      prepare(cache, before);
      faults::inject(call, Fault::half);
      cache.store("key", new_bytes);
      if (call >= faults::stop()) break;
      CHECK(cache.load("key") == new_bytes);
    }
    for (int call = 0;; ++call) {
      prepare(cache, before);
      faults::inject(call, Fault::half_fails, ENOSPC);
      cache.store("key", new_bytes);
      if (call >= faults::stop()) break;
      check_after(cache, before);
      CHECK(temporaries_in(cache.directory()) == 0);
    }
    for (int call = 0;; ++call) {
      prepare(cache, before);
      faults::inject(call, Fault::fails, EINTR);
      cache.store("key", new_bytes);
      if (call >= faults::stop()) break;
      check_after(cache, before);
    }
  }
}

TEST_CASE("disk cache: a process dies before, in and after every system call of a store") {
  const TemporaryDirectory temporary;
  const DiskCache cache((temporary.path() / "cache").string());
  for (const Before before : {Before::no_directory, Before::nothing, Before::older_entry}) {
    for (const Fault fault : {Fault::dies_before, Fault::dies_halfway, Fault::dies_after}) {
      int call = 0;
      for (;; ++call) {
        prepare(cache, before);
        const int status = in_child([&] {
          faults::inject(call, fault);
          cache.store("key", new_bytes);
        });
        if (status == 0) break;
        CAPTURE(call);
        REQUIRE(status == -SIGKILL);
        check_after(cache, before);
        CHECK(temporaries_in(cache.directory()) <= 1);
        REQUIRE(call < calls_at_most);
      }
      CHECK(call >= 5);
    }
  }
}

TEST_CASE("disk cache: every system call of a load fails in turn: a miss, or the right bytes") {
  const TemporaryDirectory temporary;
  std::vector<std::string> said;
  DiskCache(temporary.path().string()).store("key", new_bytes);
  int misses = 0;
  for (const int error : {EIO, EACCES, EMFILE, ESTALE}) {
    for (int call = 0;; ++call) {
      const DiskCache cache(temporary.path().string(), DiskCache::default_cap,
                            [&](std::string_view line) { said.emplace_back(line); });
      said.clear();
      faults::inject(call, Fault::fails, error);
      const std::optional<std::string> found = cache.load("key");
      const int calls = faults::stop();
      if (call >= calls) break;
      CAPTURE(call);
      CHECK(calls < calls_at_most);
      CHECK((!found || found == new_bytes));
      CHECK(said.size() == (found ? 0 : 1));
      if (!found) ++misses;
      CHECK(cache.load("key") == new_bytes);
    }
  }
  CHECK(misses >= 12);
  const DiskCache cache(temporary.path().string());
  for (int call = 0;; ++call) {
    faults::inject(call, Fault::half);
    const auto found = cache.load("key");
    if (call >= faults::stop()) break;
    CHECK(found == new_bytes);
  }
}

TEST_CASE("disk cache: sweep, status and clear survive every failing call") {
  const TemporaryDirectory temporary;
  const DiskCache roomy(temporary.path().string());
  const DiskCache tight(temporary.path().string(), 10000);
  enum class What { sweep, status, clear };
  for (const What what : {What::sweep, What::status, What::clear}) {
    for (int call = 0;; ++call) {
      for (int key = 0; key < 5; ++key) roomy.store(std::to_string(key), old_bytes);
      overwrite(temporary.path() / "writing-left", "left");
      faults::inject(call, Fault::fails, EIO);
      if (what == What::sweep) tight.sweep();
      if (what == What::status) (void)tight.status();
      if (what == What::clear) (void)tight.clear();
      if (call >= faults::stop()) break;
      for (int key = 0; key < 5; ++key) {
        const auto found = roomy.load(std::to_string(key));
        CHECK((!found || found == old_bytes));
        if (what == What::status) CHECK(found == old_bytes);
      }
      REQUIRE(call < 200);
    }
  }
}

TEST_CASE("disk cache: processes killed at any time leave whole entries or none") {
  const TemporaryDirectory temporary;
  const DiskCache cache(temporary.path().string());
  const auto bytes_of = [](int key, int version) {
    return std::string(40000 + static_cast<std::size_t>(key), static_cast<char>('a' + version % 26));
  };
  const auto is_whole = [](int key, const std::string& bytes) {
    return bytes.size() == 40000 + static_cast<std::size_t>(key) &&
           bytes.find_first_not_of(bytes.front()) == std::string::npos;
  };
  for (int key = 0; key < 4; ++key) cache.store(std::to_string(key), bytes_of(key, 0));
  std::mt19937 random(20260101);
  for (int round = 0; round < 40; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (int n = 0;; ++n) cache.store(std::to_string(n % 4), bytes_of(n % 4, n));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200 + random() % 3000));
    REQUIRE(kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    for (int key = 0; key < 4; ++key) {
      const auto found = cache.load(std::to_string(key));
      REQUIRE(found.has_value());  // there was one before, and a rename replaces it whole
      CHECK(is_whole(key, *found));
    }
  }
  CHECK(temporaries_in(temporary.path()) <= 40);
  CHECK(cache.status().unfinished == temporaries_in(temporary.path()));
}

TEST_CASE("disk cache: many processes store, load and sweep at once, and the cap holds") {
  const TemporaryDirectory temporary;
  constexpr std::uint64_t cap = 400000;
  const auto bytes_of = [](int key) {
    return std::string(5000 + static_cast<std::size_t>(key) * 37, static_cast<char>('A' + key % 26));
  };
  std::vector<pid_t> children;
  for (int process = 0; process < 8; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      const DiskCache cache(temporary.path().string(), cap);
      std::mt19937 random(static_cast<unsigned>(process) + 1);
      int wrong = 0;
      for (int n = 0; n < 150; ++n) {
        const int key = static_cast<int>(random() % 120);
        if (const auto found = cache.load(std::to_string(key))) {
          if (*found != bytes_of(key)) ++wrong;
        } else {
          cache.store(std::to_string(key), bytes_of(key));
        }
      }
      _exit(wrong == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  const DiskCache cache(temporary.path().string(), cap);
  // Each process sweeps after an eighth of the cap of its own, unless another one is sweeping just then; without any
  // sweep there would be millions.
  CHECK(cache.status().bytes <= 2 * cap + 8 * cap / 8);
  CHECK(temporaries_in(temporary.path()) == 0);
  cache.sweep();
  CHECK(cache.status().bytes <= cap);
  CHECK(cache.status().bytes > cap / 2);
}

TEST_CASE("disk cache: files that may not grow are not written, and the process lives") {
  const TemporaryDirectory temporary;
  const int status = in_child([&] {
    std::string said;
    const DiskCache cache(temporary.path().string(), DiskCache::default_cap, [&](std::string_view line) { said = line; });
    const rlimit limit{2000, 2000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(10);
    cache.store("key", new_bytes);
    if (cache.load("key")) _exit(1);
    if (said.find("RLIMIT_FSIZE") == std::string::npos) _exit(2);
    cache.store("small", "small");
    if (cache.load("small") != "small") _exit(3);
  });
  CHECK(status == 0);
  CHECK(temporaries_in(temporary.path()) == 0);
}

TEST_CASE("disk cache: a disk that is full, then read-only") {
  const TemporaryDirectory temporary;
  constexpr int may_not_mount = 77;
  const int status = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", temporary.path().c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
      _exit(may_not_mount);
    std::vector<std::string> said;
    const DiskCache cache(temporary.path().string(), DiskCache::default_cap,
                          [&](std::string_view line) { said.emplace_back(line); });
    for (int key = 0; key < 40; ++key) cache.store(std::to_string(key), std::string(4000, static_cast<char>('A' + key)));
    int found = 0;
    for (int key = 0; key < 40; ++key) {
      const auto bytes = cache.load(std::to_string(key));
      if (bytes && *bytes != std::string(4000, static_cast<char>('A' + key))) _exit(1);
      found += bytes ? 1 : 0;
    }
    if (found < 3 || found > 16) _exit(2);
    if (said.size() != 1 || said[0].find("No space left") == std::string::npos) _exit(3);
    if (temporaries_in(temporary.path()) != 0) _exit(4);
    if (mount("tmpfs", temporary.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, "size=64k") != 0) _exit(may_not_mount);
    if (!cache.load("0")) _exit(5);
    cache.store("0", "other");
    if (said.size() != 2 || said[1].find("Read-only") == std::string::npos) _exit(6);
    if (cache.load("0") != std::string(4000, 'A')) _exit(7);
    cache.sweep();
    if (cache.clear() != 0 || !cache.load("0")) _exit(8);
  });
  if (status == may_not_mount) {
    MESSAGE("skipped: this user may not mount a small disk");
    return;
  }
  CHECK(status == 0);
}

TEST_CASE("disk cache: times in the future keep nothing alive and stop no sweep") {
  const TemporaryDirectory temporary;
  const auto ahead = [&](const std::string& name, std::chrono::hours hours) {
    fs::last_write_time(temporary.path() / name, fs::file_time_type::clock::now() + hours);
  };
  const DiskCache roomy(temporary.path().string());
  for (const char* key : {"future", "a", "b", "c"}) roomy.store(key, old_bytes);
  ahead(DiskCache::file_name("future"), std::chrono::hours(1000));
  overwrite(temporary.path() / "writing-future", "abandoned under another clock");
  ahead("writing-future", std::chrono::hours(1000));
  ahead("sweep.lock", std::chrono::hours(1000));
  const DiskCache tight(temporary.path().string(), 14000);
  tight.store("d", old_bytes);  // the lock looks as if somebody had just swept
  CHECK_FALSE(fs::exists(temporary.path() / "writing-future"));
  CHECK_FALSE(tight.load("future").has_value());
  CHECK(tight.load("d") == old_bytes);
  CHECK(tight.status().bytes <= 14000);
  // A hit repairs the time.
  ahead(DiskCache::file_name("d"), std::chrono::hours(1000));
  CHECK(tight.load("d").has_value());
  CHECK(fs::last_write_time(temporary.path() / DiskCache::file_name("d")) <
        fs::file_time_type::clock::now() + std::chrono::hours(1));
}

TEST_CASE("disk cache: files of others, files others may write to, and giant files are misses at once") {
  const TemporaryDirectory temporary;
  std::string said;
  const DiskCache cache(temporary.path().string(), DiskCache::default_cap, [&](std::string_view line) { said = line; });
  cache.store("key", new_bytes);
  const fs::path file = temporary.path() / DiskCache::file_name("key");
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    REQUIRE(chmod(file.c_str(), mode) == 0);
    said.clear();
    CHECK_FALSE(cache.load("key").has_value());
    CHECK(said.find("others may write to the file") != std::string::npos);
  }
  REQUIRE(chmod(file.c_str(), 0600) == 0);
  CHECK(cache.load("key") == new_bytes);
  if (geteuid() == 0) {
    REQUIRE(chown(file.c_str(), 65534, 65534) == 0);
    CHECK_FALSE(cache.load("key").has_value());
    CHECK(said.find("belongs to another user") != std::string::npos);
    cache.store("key", new_bytes);
    CHECK(cache.load("key") == new_bytes);
  } else {
    MESSAGE("skipped: only root can give a file away");
  }
  // A file that is too large is refused by its size: the calls are those of one that others may write to.
  const auto misses = [&] { CHECK_FALSE(cache.load("key").has_value()); };
  REQUIRE(chmod(file.c_str(), 0666) == 0);
  const int unread = system_calls(misses);
  REQUIRE(chmod(file.c_str(), 0600) == 0);
  fs::resize_file(file, std::uint64_t{200} << 20);  // a hole, which reads as zeros
  CHECK(system_calls(misses) == unread);
  CHECK(said.find("larger than an entry may be") != std::string::npos);
  fs::resize_file(file, DiskCache::largest_entry);
  CHECK(system_calls(misses) > unread);
  cache.store("key", std::string(DiskCache::largest_entry, 'x'));
  CHECK(said.find("larger than an entry may be") != std::string::npos);
}

TEST_CASE("disk cache: what is wrong with the whole directory is said once") {
  const TemporaryDirectory temporary;
  overwrite(temporary.path() / "file", "");
  std::vector<std::string> said;
  const DiskCache cache((temporary.path() / "file").string(), DiskCache::default_cap,
                        [&](std::string_view line) { said.emplace_back(line); });
  for (int time = 0; time < 3; ++time) {
    CHECK_FALSE(cache.load("key").has_value());
    cache.store("key", "bytes");
  }
  CHECK(said.size() == 1);
  CHECK(cache.status().refused.find("Not a directory") != std::string::npos);
}

}  // namespace disk_cache_faults_test
