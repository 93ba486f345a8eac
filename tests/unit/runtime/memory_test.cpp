#include "weft/memory.h"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/block.h"
#include "runtime/charge.h"
#include "unit/runtime/file_fixture.h"
#include "weft/file.h"
#include "weft/statistics.h"
#include "weft/tensor.h"

namespace memory_test {

using namespace weft;

TEST_CASE("charges count and end") {
  Memory memory(1000);
  CHECK(memory.limit() == 1000);
  {
    auto first = memory.charge(600, "first");
    REQUIRE(first);
    CHECK(memory.used() == 600);
    auto second = memory.charge(401, "the second");
    REQUIRE_FALSE(second);
    CHECK(second.error().kind == ErrorKind::resource);
    CHECK(second.error().message.find("the second needs 401 bytes") != std::string::npos);
    CHECK(second.error().message.find("600 of the limit of 1000") != std::string::npos);
    auto exactly = memory.charge(400, "exactly");
    REQUIRE(exactly);
    Charge moved = std::move(*exactly);
    CHECK(memory.used() == 1000);
    moved = Charge{};
    CHECK(memory.used() == 600);
  }
  CHECK(memory.used() == 0);
  CHECK(memory.peak() == 1000);
  CHECK_FALSE(memory.charge(~std::uint64_t{0}, "everything"));
}

TEST_CASE("copies share the account") {
  Memory memory(100);
  Memory copy = memory;
  auto charge = copy.charge(70, "x");
  REQUIRE(charge);
  CHECK(memory.used() == 70);
  CHECK_FALSE(memory.charge(31, "y"));
}

TEST_CASE("buffers are zeroed, aligned, charged and shared") {
  Memory memory;
  for (std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{3} << 20, std::uint64_t{9} << 20}) {
    {
      auto buffer = Buffer::allocate(bytes, memory, "x");
      REQUIRE(buffer);
      CHECK(buffer->size_bytes() == bytes);
      CHECK(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64 == 0);
      CHECK(memory.used() == bytes);
      auto span = buffer->as<unsigned char>();
      CHECK(std::all_of(span.begin(), span.end(), [](unsigned char c) { return c == 0; }));
      span.back() = 7;
      Buffer copy = *buffer;
      buffer = Buffer{};
      CHECK(memory.used() == bytes);
      CHECK(copy.as<unsigned char>().back() == 7);
    }
    CHECK(memory.used() == 0);
  }
}

TEST_CASE("empty, refused and borrowed buffers") {
  Memory memory(64);
  auto empty = Buffer::allocate(0, memory, "nothing");
  REQUIRE(empty);
  CHECK(empty->as<double>().empty());
  auto refused = Buffer::allocate(65, memory, "too much");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::resource);

  Memory unlimited;
  auto beyond = Buffer::allocate(std::uint64_t{1} << 60, unlimited, "an exabyte");
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().kind == ErrorKind::resource);
  CHECK(beyond.error().message.find("an exabyte") != std::string::npos);
  CHECK(unlimited.used() == 0);

  std::vector<double> host{1, 2, 3};
  Buffer borrowed = Buffer::borrow(host.data(), 24);
  host[1] = 5;
  CHECK(std::as_const(borrowed).as<double>()[1] == 5);
}

TEST_CASE("a mapped buffer is whole pages, charged as such and given back at once") {
  const std::uint64_t page = page_bytes();
  Memory memory(3 * page);
  void* where = nullptr;
  unsigned char resident = 0;
  {
    auto mapped = mapped_buffer(page + 1, memory, "two pages");
    REQUIRE(mapped);
    CHECK(mapped->size_bytes() == page + 1);
    CHECK(memory.used() == 2 * page);
    where = mapped->data();
    CHECK(reinterpret_cast<std::uintptr_t>(where) % page == 0);
    CHECK(std::ranges::all_of(mapped->as<std::uint8_t>(), [](std::uint8_t byte) { return byte == 0; }));
    mapped->as<std::uint8_t>()[page] = 1;
    CHECK(::mincore(where, page, &resident) == 0);
    auto refused = mapped_buffer(page + 1, memory, "two more");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("two more needs " + std::to_string(2 * page)) != std::string::npos);
  }
  CHECK(memory.used() == 0);
  CHECK(::mincore(where, page, &resident) != 0);  // nothing is mapped there any more, which a heap would keep
  auto empty = mapped_buffer(0, memory, "nothing");
  REQUIRE(empty);
  CHECK(empty->size_bytes() == 0);
  CHECK_FALSE(mapped_buffer(~std::uint64_t{0}, Memory(), "everything"));
}

TEST_CASE("what is read, built, converted, counted and written leaves nothing charged") {
  const test::TemporaryDirectory directory;
  const Resources resources{Memory(), Threads(3), {}, {}};
  {
    auto tensor = generate_tensor("sparse(60x70x80,nnz=3000,seed=1)", std::nullopt, resources, "T");
    REQUIRE(tensor);
    const std::uint64_t alone = resources.memory.used();
    CHECK(alone > 0);
    for (const char* format : {"sss:2,1,0", "uqq", "dss:1,0,2", "ddd", "ssh", "hss", "dbs", "ssd:0,2,1:f32"}) {
      CAPTURE(format);
      auto converted = convert(*tensor, *parse_format(format), resources, "T");
      REQUIRE(converted);
      CHECK(verify(*converted, resources, "T"));
      CHECK(statistics(*converted, resources).distinct(0b101) > 0);
      CHECK(statistics(*converted, resources).fibers(2).maximum > 0);
      auto larger = with_extents(*converted, {61, 70, 80}, resources, "T");
      CHECK(larger);
      for (const char* name : {"t.tns", "t.tns.gz", "t.tns.zst"}) {
        REQUIRE(write_tensor(*converted, directory.path(name), resources, "T"));
        CHECK(read_tensor(directory.path(name), {}, resources, "T"));
      }
    }
    CHECK_FALSE(read_tensor(directory.write("bad.tns", "1 1 1 1\n1 1 x 1\n"), {}, resources, "T"));
    CHECK(resources.memory.used() == alone);
  }
  CHECK(resources.memory.used() == 0);
}

}  // namespace memory_test
