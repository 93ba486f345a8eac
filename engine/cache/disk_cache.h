// DiskCache: bytes that outlive the process, by key. Trusts nothing it reads: any defect is a miss.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "engine/cache/entry.h"

namespace weft {

struct DiskCacheStatus {
  std::string path = {};
  std::uint64_t entries = 0;
  std::uint64_t plans = 0;   ///< of the entries
  std::uint64_t proofs = 0;  ///< likewise
  std::uint64_t bytes = 0;  ///< of all entries, headers and keys included
  std::uint64_t cap = 0;    ///< bytes
  std::uint64_t unfinished = 0;  ///< temporaries: being written now, or left by a process that died
  std::string refused = {};      ///< why the directory is not used; empty: it is used, or not yet there
  bool operator==(const DiskCacheStatus&) const = default;
};

/// A directory of checksummed files shared by any number of processes and threads. An entry is written under a
/// temporary name and renamed, so a reader sees all of it or nothing; two writers of one key leave one of their
/// entries. The directory is made with mode 0700 at the first store, parents too; one that belongs to somebody else or
/// that others may write to is refused, because its contents become machine code; so is such a file in it. Errors never
/// reach the caller: what cannot be read is a miss, what cannot be written is not stored.
class DiskCache {
 public:
  /// Receives one line per defect or refusal, without newline; what is wrong with the directory as a whole is said once.
  /// May be empty; called from any thread that uses the cache.
  using Diagnose = std::function<void(std::string_view)>;
  static constexpr std::uint64_t default_cap = std::uint64_t{256} << 20;
  /// Bytes of a file: a larger one is neither written nor read, so that whatever lies there costs no more than a few
  /// milliseconds.
  static constexpr std::uint64_t largest_entry = std::uint64_t{16} << 20;

  /// `cap` bytes is a soft limit: the least recently used entries beyond it are removed by one process at a time, at
  /// most once a minute or after this process has stored an eighth of it.
  explicit DiskCache(std::string directory, std::uint64_t cap = default_cap, Diagnose diagnose = {});

  /// $WEFT_CACHE_DIR, else $XDG_CACHE_HOME/weft, else $HOME/.cache/weft, else none. Empty variables count as absent,
  /// and so does an XDG_CACHE_HOME that is not absolute (XDG Base Directory Specification).
  static std::optional<std::string> default_directory();

  const std::string& directory() const { return directory_; }

  /// The bytes last stored under exactly this key.
  std::optional<std::string> load(std::string_view key, EntryForm form = EntryForm::binary) const;
  void store(std::string_view key, std::string_view bytes, EntryForm form = EntryForm::binary) const;

  /// Counts what is there; an absent or refused directory has no entries.
  DiskCacheStatus status() const;
  /// Removes every entry and abandoned temporary (never a foreign file) and says how many entries went.
  std::uint64_t clear() const;
  /// Removes least recently used entries until nine tenths of the cap remain, and temporaries older than an hour.
  /// Returns at once if another process is sweeping.
  void sweep() const;

  /// The name of the file of a key: 32 hex digits of its XXH3-128, then ".weft", ".plan" or ".proof".
  static std::string file_name(std::string_view key, EntryForm form = EntryForm::binary);

 private:
  void say(std::string_view what, std::string_view why) const;
  void say_once(std::string_view what, std::string_view why) const;
  std::string directory_;
  std::uint64_t cap_;
  Diagnose diagnose_;
  mutable std::atomic<std::uint64_t> unswept_bytes_{0};  ///< stored by this process since its last sweep
  mutable std::mutex said_mutex_;
  mutable std::string said_;  ///< the last line about the whole directory
};

}  // namespace weft
