#include "runtime/growing_buffer.h"

#include <doctest/doctest.h>
#include <malloc.h>

namespace growing_buffer_test {

using namespace weft;

namespace {

void fill(GrowingBuffer& buffer, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t at = begin; at < end; ++at) static_cast<std::uint64_t*>(buffer.data())[at] = at * 7;
}

bool filled(const void* data, std::uint64_t end) {
  for (std::uint64_t at = 0; at < end; ++at)
    if (static_cast<const std::uint64_t*>(data)[at] != at * 7) return false;
  return true;
}

}  // namespace

TEST_CASE("growing keeps the contents, from the heap to huge pages") {
  const Memory memory;
  GrowingBuffer buffer;
  std::uint64_t written = 0;
  for (const std::uint64_t count : {1, 8, 1000, 8191, 8192, 8193, 300'000, 2'000'000}) {
    CAPTURE(count);
    REQUIRE(buffer.reserve(count * 8, memory, "R"));
    CHECK(buffer.capacity() >= count * 8);
    CHECK(memory.used() == buffer.capacity());
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
    CHECK(filled(buffer.data(), written));
    fill(buffer, written, count);
    written = count;
  }
  const Buffer whole = buffer.finish(written * 8);
  CHECK(buffer.capacity() == 0);
  CHECK(whole.size_bytes() == written * 8);
  CHECK(filled(whole.data(), written));
  CHECK(memory.used() == written * 8);
}

TEST_CASE("growing by one asks for a logarithmic number of blocks") {
  const Memory memory;
  GrowingBuffer buffer;
  std::size_t grown = 0;
  for (std::uint64_t count = 1; count < 600'000; ++count) {
    const std::uint64_t before = buffer.capacity();
    REQUIRE(buffer.reserve(count * 8, memory, "R"));
    grown += buffer.capacity() != before;
  }
  CHECK(grown < 40);
}

TEST_CASE("near the limit there is what is needed and no more") {
  const Memory memory(10'000);
  GrowingBuffer buffer;
  REQUIRE(buffer.reserve(6'000, memory, "R"));
  REQUIRE(buffer.reserve(9'000, memory, "R"));
  fill(buffer, 0, 1'100);
  const auto refused = buffer.reserve(11'000, memory, "result R");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::resource);
  CHECK(refused.error().message.find("result R needs") != std::string::npos);
  CHECK(filled(buffer.data(), 1'100));
  buffer = GrowingBuffer();
  CHECK(memory.used() == 0);
}

TEST_CASE("more than the machine has is refused before it is touched") {
  const Memory memory;
  GrowingBuffer buffer;
  const auto refused = buffer.reserve(std::uint64_t{1} << 60, memory, "result R");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::resource);
  CHECK(memory.used() == 0);
  CHECK_FALSE(buffer.reserve(Memory::unlimited, memory, "result R"));
}

TEST_CASE("a result keeps no room that it does not fill") {
  const Memory memory;
  GrowingBuffer buffer;
  REQUIRE(buffer.reserve(600'000, memory, "R"));
  fill(buffer, 0, 1'000);
  const Buffer whole = buffer.finish(8'000);
  CHECK(memory.used() == 8'000);
  CHECK(filled(whole.data(), 1'000));
  CHECK(reinterpret_cast<std::uintptr_t>(whole.data()) % 64 == 0);
  CHECK(::malloc_usable_size(const_cast<void*>(whole.data())) < 16'000);
}

TEST_CASE("what is not needed is given back") {
  const Memory memory;
  GrowingBuffer buffer;
  REQUIRE(buffer.reserve(8 << 20, memory, "R"));
  fill(buffer, 0, 1 << 20);
  buffer.trim(1'000'000);
  CHECK(memory.used() == buffer.capacity());
  CHECK(buffer.capacity() < 1'010'000);
  CHECK(filled(buffer.data(), 125'000));
  buffer.discard(500'000, 64 << 20);
  CHECK(filled(buffer.data(), 60'000));
  REQUIRE(buffer.reserve(3 << 20, memory, "R"));
  CHECK(filled(buffer.data(), 60'000));
  {
    const Charge charge = buffer.take_charge();
    CHECK(charge.bytes() == buffer.capacity());
  }
  CHECK(memory.used() == 0);
  CHECK(buffer.finish(0).size_bytes() == 0);
}

}  // namespace growing_buffer_test
