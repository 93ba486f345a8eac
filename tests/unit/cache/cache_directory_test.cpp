#include "engine/cache/cache_directory.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <cmath>

#include "engine/cache/entry.h"
#include "unit/cache/cache_fixture.h"

namespace cache_directory_test {

namespace fs = std::filesystem;

TEST_CASE("cache directory: made with its parents, opened only if it is there") {
  const TemporaryDirectory temporary;
  const std::string path = (temporary.path() / "a" / "b" / "c").string();
  const auto absent = weft::CacheDirectory::open(path);
  REQUIRE_FALSE(absent.has_value());
  CHECK(absent.error().code == ENOENT);
  CHECK(weft::make_directories(path + "//").has_value());
  CHECK(weft::make_directories(path).has_value());
  CHECK(weft::CacheDirectory::open(path).has_value());
  CHECK_FALSE(weft::make_directories("").has_value());
}

TEST_CASE("cache directory: lists its own files only, as often as asked") {
  const TemporaryDirectory temporary;
  const auto directory = weft::CacheDirectory::open(temporary.path().string());
  REQUIRE(directory.has_value());
  const std::string entry = weft::entry_name("key");
  overwrite(temporary.path() / entry, "12345");
  overwrite(temporary.path() / "writing-1", "12");
  overwrite(temporary.path() / "foreign", "1");
  fs::create_directory(temporary.path() / weft::entry_name("a directory"));
  for (int time = 0; time < 2; ++time) {
    std::uint64_t entries = 0;
    std::uint64_t temporaries = 0;
    for (const weft::CacheFile& file : directory->files()) {
      (file.temporary ? temporaries : entries) += file.bytes;
      CHECK(std::abs(file.seconds_old) < 100);
    }
    CHECK(entries == 5);
    CHECK(temporaries == 2);
  }
  CHECK(directory->seconds_since_change(entry) < 100);
  CHECK(std::isinf(directory->seconds_since_change("absent")));
  CHECK(directory->remove(entry));
  CHECK_FALSE(directory->remove(entry));
}

}  // namespace cache_directory_test
