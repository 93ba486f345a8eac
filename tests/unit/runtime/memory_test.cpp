#include "weft/memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/charge.h"

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

}  // namespace memory_test
