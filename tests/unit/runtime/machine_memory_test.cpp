#include "runtime/machine_memory.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/charge.h"
#include "runtime/growing_buffer.h"
#include "unit/runtime/file_fixture.h"
#include "weft/memory.h"

namespace machine_memory_test {

using namespace weft;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("the narrowest control group around the process counts, in either version") {
  const test::TemporaryDirectory directory;
  const std::filesystem::path mounted = directory.path("groups");
  const auto least = [&](const std::string& groups) { return memory_of_groups(groups, mounted.string()); };
  write(mounted / "a/b/memory.max", "max\n");
  write(mounted / "a/memory.max", "1000000\n");
  write(mounted / "memory/c/memory.limit_in_bytes", "500000\n");
  write(mounted / "memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(least("") == Memory::unlimited);
  CHECK(least("0::/\n") == Memory::unlimited);
  CHECK(least("0::/a/b\n") == 1000000);
  CHECK(least("0::/a/b") == 1000000);
  CHECK(least("3:cpu,memory:/c/none\n0::/a/b\n") == 500000);
  CHECK(least("3:memory:/\n") == 9223372036854771712u);
  CHECK(least("3:cpu:/c\n") == Memory::unlimited);
  CHECK(least("no group\n0::relative\n") == Memory::unlimited);
  // A container sees its own group where the file system is mounted.
  write(mounted / "memory.max", "700000\n");
  CHECK(least("0::/machine/of/the/host\n") == 700000);
}

TEST_CASE("without a limit, or with one above it, no more is charged than there is") {
  const std::uint64_t all = machine_memory();
  CHECK(all > 0);
  REQUIRE(all < Memory::unlimited);
  for (const std::uint64_t limit : {Memory::unlimited, all + 1}) {
    const Memory memory(limit);
    CHECK(memory.limit() == limit);
    const auto most = memory.charge(all, "everything");
    CHECK(most);
    const auto more = memory.charge(1, "a byte more");
    REQUIRE_FALSE(more);
    CHECK(more.error().kind == ErrorKind::resource);
    CHECK(more.error().message.find("a byte more needs 1 bytes") != std::string::npos);
    CHECK(more.error().message.find("of the machine's") != std::string::npos);
    GrowingBuffer buffer;
    CHECK_FALSE(buffer.reserve(64, memory, "a byte more"));
  }
}

}  // namespace machine_memory_test
