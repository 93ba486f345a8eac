// The power goes between any two system calls of a writer: a file has its old bytes, its new ones, or is absent where
// it was; the cache gives the old entry, the new one or none.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "engine/cache/disk_cache.h"
#include "runtime/output_file.h"
#include "unit/cache/cache_fixture.h"
#include "unit/durability/recorded_calls.h"

namespace power_loss_test {

namespace fs = std::filesystem;
using namespace weft;

namespace {

std::size_t calls_of(const std::vector<durability::Call>& calls, durability::Call::Kind kind) {
  return static_cast<std::size_t>(std::ranges::count(calls, kind, &durability::Call::kind));
}

void write_file(const fs::path& path, Compression compression, const std::string& bytes) {
  auto file = OutputFile::create(path.string(), compression, Memory());
  REQUIRE_MESSAGE(file.has_value(), file.error().message);
  // Two writes, so that there is a point between them.
  for (const std::string& part : {bytes.substr(0, bytes.size() / 2), bytes.substr(bytes.size() / 2)}) {
    const auto written = file->write(part);
    REQUIRE_MESSAGE(written.has_value(), written.error().message);
  }
  const auto finished = file->finish();
  REQUIRE_MESSAGE(finished.has_value(), finished.error().message);
}

}  // namespace

TEST_CASE("power loss: a file that is written is old, new or absent, never torn") {
  for (const bool exists : {false, true})
    for (const Compression compression : {Compression::none, Compression::zstandard}) {
      const TemporaryDirectory temporary;
      const fs::path place = temporary.path() / "place", before = temporary.path() / "before",
                     after = temporary.path() / "after";
      fs::create_directories(place);
      fs::create_directories(before);
      const std::string old_bytes = "old\n";
      std::string text;
      for (int line = 0; line < 2000; ++line) text += std::to_string(line * 7919) + " 1\n";
      if (exists) {
        overwrite(place / "a.tns", old_bytes);
        overwrite(before / "a.tns", old_bytes);
      }
      const auto calls = durability::recorded(place, [&] { write_file(place / "a.tns", compression, text); });
      const std::string new_bytes = contents_of(place / "a.tns");
      REQUIRE(calls_of(calls, durability::Call::Kind::rename) == 1);
      REQUIRE(calls_of(calls, durability::Call::Kind::create) == 1);
      std::size_t news = 0, olds = 0;
      const std::size_t states = durability::for_each_loss(calls, before, after, [&](std::size_t) {
        if (!fs::exists(after / "a.tns")) {
          CHECK_FALSE(exists);
          return;
        }
        const std::string found = contents_of(after / "a.tns");
        news += found == new_bytes ? 1 : 0;
        olds += exists && found == old_bytes ? 1 : 0;
        CHECK((found == new_bytes || (exists && found == old_bytes)));
      });
      MESSAGE(states << " states, " << news << " new, " << olds << " old");
      CHECK(news > 0);
      CHECK((olds > 0) == exists);
    }
}

TEST_CASE("power loss: an entry of the disk cache is old, new or a miss, and the next store works") {
  const std::string old_bytes(3000, 'o'), new_bytes(5000, 'n');
  for (const EntryForm form : {EntryForm::binary, EntryForm::text, EntryForm::verdict})
    for (const bool exists : {false, true}) {
      const TemporaryDirectory temporary;
      const fs::path place = temporary.path() / "place", before = temporary.path() / "before",
                     after = temporary.path() / "after";
      fs::create_directories(place);
      fs::permissions(place, fs::perms::owner_all);
      const DiskCache cache(place.string());
      cache.store("other", old_bytes, form);
      if (exists) cache.store("key", old_bytes, form);
      fs::copy(place, before);
      const auto calls = durability::recorded(place, [&] { cache.store("key", new_bytes, form); });
      REQUIRE(calls_of(calls, durability::Call::Kind::rename) == 1);
      std::size_t news = 0, olds = 0, misses = 0;
      const DiskCache opened(after.string());
      durability::for_each_loss(calls, before, after, [&](std::size_t) {
        const auto found = opened.load("key", form);
        news += found == new_bytes ? 1 : 0;
        olds += found == old_bytes ? 1 : 0;
        misses += found ? 0 : 1;
        CHECK((!found || *found == new_bytes || (exists && *found == old_bytes)));
        CHECK(opened.load("other", form) == old_bytes);
        opened.store("key", new_bytes, form);
        CHECK(opened.load("key", form) == new_bytes);
      });
      MESSAGE(news << " new, " << olds << " old, " << misses << " misses");
      CHECK(news > 0);
      CHECK(misses > 0);
      CHECK((olds > 0) == exists);
    }
}

}  // namespace power_loss_test
