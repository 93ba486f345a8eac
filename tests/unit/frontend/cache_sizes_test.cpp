#include "frontend/cache_sizes.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "unit/runtime/file_fixture.h"

namespace weft::cache_sizes_test {
namespace {

/// A cache, described as Linux describes those of a CPU.
void describe(const test::TemporaryDirectory& directory, const std::string& index, const std::string& level, const std::string& type,
              const std::string& size) {
  std::filesystem::create_directory(directory.path(index));
  directory.write(index + "/level", level + "\n");
  directory.write(index + "/type", type + "\n");
  directory.write(index + "/size", size + "\n");
}

}  // namespace

TEST_CASE("caches are found by level and kind; what is unknown is 0") {
  const test::TemporaryDirectory directory;
  CHECK(cache_sizes(directory.path("")) == std::array<double, 3>{0, 0, 0});
  CHECK(cache_sizes(directory.path("absent")) == std::array<double, 3>{0, 0, 0});
  describe(directory, "index0", "1", "Data", "48K");
  describe(directory, "index1", "1", "Instruction", "32K");
  describe(directory, "index2", "2", "Unified", "2M");
  describe(directory, "index3", "3", "Unified", "12345");
  describe(directory, "index4", "4", "Unified", "64M");
  // Those behind a gap are not looked for.
  describe(directory, "index6", "1", "Data", "1K");
  CHECK(cache_sizes(directory.path("")) == std::array<double, 3>{48 * 1024, 2 * 1024 * 1024, 12345});
  describe(directory, "index2", "2", "Unified", "many");
  describe(directory, "index3", "3", "Unified", "3G");
  CHECK(cache_sizes(directory.path("")) == std::array<double, 3>{48 * 1024, 0, 0});
}

}  // namespace weft::cache_sizes_test
