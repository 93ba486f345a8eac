#include "runtime/gaps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/extents.h"
#include "unit/runtime/reference.h"

namespace gaps_test {

using namespace weft;
using namespace weft::reference;

namespace {

std::string refusal(const Tensor& tensor) {
  const auto verified = verify(tensor, resources(), "T");
  REQUIRE_FALSE(verified);
  return verified.error().message;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const List sample{.extents = {3, 70}, .tuples = {{0, 1}, {0, 65}, {2, 69}}, .values = {1, 2, 3}};

}  // namespace

TEST_CASE("a bitmap level: words of bits, a value at every coordinate") {
  const Tensor tensor = tensor_of(sample, "db");
  const auto words = tensor.levels()[1].crd.as<std::uint64_t>();
  CHECK(std::vector<std::uint64_t>(words.begin(), words.end()) == std::vector<std::uint64_t>{2, 2, 0, 0, 0, 32});
  CHECK(tensor.values().size_bytes() == 210 * 8);
  CHECK(tensor.values().as<double>()[65] == 2);
  CHECK(tensor.positions(1) == 210);
  CHECK(tensor.nnz() == 3);
  CHECK(tensor.bytes() == 6 * 8 + 210 * 8);
}

TEST_CASE("a hashed level: a power of two of slots per fiber, never full") {
  const Tensor tensor = tensor_of(sample, "sh");
  CHECK(tensor.levels()[1].pos.as<std::uint32_t>()[1] == 4);
  CHECK(tensor.levels()[1].pos.as<std::uint32_t>()[2] == 6);
  CHECK(tensor.nnz() == 3);
  for (const std::uint64_t c : {1, 65}) {
    const std::uint64_t home = first_slot(c, 4);
    const auto crd = tensor.levels()[1].crd.as<std::uint32_t>();
    CHECK((crd[home] == c || crd[(home + 1) % 4] == c));
  }
}

TEST_CASE("hashing many coordinates of one fiber, and of the whole range of a mode") {
  List list{.extents = {largest_extent}, .tuples = {}, .values = {}};
  for (std::uint64_t n = 0; n < 3000; ++n) {
    list.tuples.push_back({n % 2 ? n << 40 : largest_extent - 1 - n});
    list.values.push_back(static_cast<double>(n));
  }
  const Tensor tensor = tensor_of(list, "h");
  CHECK(stored(tensor) == summed(list));
  CHECK(tensor.format().levels[0].crd_bits == 64);
  const List full{.extents = {std::uint64_t{1} << 32}, .tuples = {{(std::uint64_t{1} << 32) - 1}}, .values = {4}};
  const Tensor last = tensor_of(full, "h");
  CHECK(last.format().levels[0].crd_bits == 64);
  CHECK(stored(last) == summed(full));
}

TEST_CASE("entries below a dense level below a bitmap count the dense coordinates of what is there") {
  const Tensor tensor = tensor_of({.extents = {5, 2}, .tuples = {{1, 1}, {4, 0}}, .values = {1, 2}}, "bd");
  CHECK(tensor.nnz() == 4);
  CHECK(entries_of_level(tensor, 0) == 2);
  CHECK(stored(tensor) == Entries{{{1, 0}, 0.0}, {{1, 1}, 1.0}, {{4, 0}, 2.0}, {{4, 1}, 0.0}});
}

TEST_CASE("no entry at all") {
  for (const char* kinds : {"bb", "hh", "bs", "hd", "sb", "dh", "bd"}) {
    for (const std::uint64_t extent : {0, 3}) {
      CAPTURE(kinds);
      CAPTURE(extent);
      CHECK(tensor_of({.extents = {extent, 4}, .tuples = {}, .values = {}}, kinds).nnz() == 0);
    }
  }
}

TEST_CASE("verify refuses bitmaps and hash tables that are damaged") {
  {
    const Tensor t = tensor_of(sample, "db");
    Buffer words = t.levels()[1].crd;
    words.as<std::uint64_t>()[1] |= 64;
    CHECK(contains(refusal(t), "bit 70 of fiber 0"));
  }
  {
    const Tensor t = tensor_of(sample, "db");
    Buffer words = t.levels()[1].crd;
    words.as<std::uint64_t>()[0] = 0;
    CHECK(contains(refusal(t), "position 1 has a value, but no entry"));
  }
  {
    const Tensor t = tensor_of(sample, "bs");
    Buffer words = t.levels()[0].crd;
    words.as<std::uint64_t>()[0] = 1;
    CHECK(contains(refusal(t), "fiber 2 has entries, but no entry above"));
    words.as<std::uint64_t>()[0] = 7;
    CHECK(contains(refusal(t), "position 1 has no stored entry below it"));
  }
  {
    const Tensor t = tensor_of(sample, "sh");
    Buffer crd = t.levels()[1].crd;
    const std::span<std::uint32_t> slots = crd.as<std::uint32_t>().first(4);
    auto of_one = std::ranges::find(slots, 1u);
    auto of_other = std::ranges::find(slots, 65u);
    *of_one = 65;
    CHECK(contains(refusal(t), "coordinate 65 is not found in its slot"));
    *of_one = 70;
    CHECK(contains(refusal(t), "coordinate 70 in slot"));
    *of_one = *of_other = ~0u;
    CHECK(contains(refusal(t), "has slots but no entry"));
    std::ranges::fill(slots, 1u);
    CHECK(contains(refusal(t), "is not found in its slot"));
  }
  {
    TensorArrays t = tensor_of(sample, "sh").arrays();
    t.levels[1].pos = array({0, 3, 6}, 32);
    CHECK(contains(refusal(Tensor(t)), "no power of two"));
  }
}

TEST_CASE("coordinates of a hashed level are as wide as the empty slot asks") {
  TensorArrays t = tensor_of(sample, "sh").arrays();
  t.extents[1] = std::uint64_t{1} << 32;
  CHECK(contains(refusal(Tensor(t)), "as wide as its empty slots"));
}

namespace {

Resources limited_to(std::uint64_t bytes) { return {.memory = Memory(bytes), .threads = Threads{2}, .cancellation = {}, .progress = {}}; }

/// Coordinates that the account is charged for.
Coordinates charged(const List& list, const Resources& to) {
  Coordinates made = coordinates(list);
  const auto own = [&](Buffer& buffer) {
    auto copy = Buffer::allocate(buffer.size_bytes(), to.memory, "coordinates");
    REQUIRE(copy);
    std::ranges::copy(std::as_const(buffer).as<std::byte>(), copy->as<std::byte>().begin());
    buffer = std::move(*copy);
  };
  for (Buffer& crd : made.crd) own(crd);
  own(made.values);
  return made;
}

/// Built, and converted, where there is as much memory as that takes.
void fits_into_its_peak(const List& list, const std::string& format) {
  CAPTURE(format);
  const Format wanted = *parse_format(format);
  Resources free = limited_to(Memory::unlimited);
  REQUIRE(build(charged(list, free), wanted, free, "T"));
  Resources limited = limited_to(free.memory.peak());
  CHECK(build(charged(list, limited), wanted, limited, "T"));
  const Tensor listed = tensor_of(list, "sss");
  Resources as_free = limited_to(Memory::unlimited);
  REQUIRE(convert(listed, wanted, as_free, "T"));
  CHECK(convert(listed, wanted, limited_to(as_free.memory.peak()), "T"));
}

constexpr std::uint64_t long_extent = std::uint64_t{1} << 20;
const List few{.extents = {2, long_extent}, .tuples = {{0, 1}, {0, long_extent - 1}, {1, 2}}, .values = {1, 10, 5}};

}  // namespace

TEST_CASE("what memory has no room for beside or below bitmaps is refused before any of it is charged") {
  // By level and coordinate a word of 64 bits is an origin, an end of a fiber or a value.
  for (const char* format : {"bd:1,0", "bs:1,0", "bh:1,0", "bb:1,0", "db:1,0", "db", "sb", "hb", "bb", "bd",
                             "(i,j) -> (j:b, i:d)", "(i,j) -> (j:d, i:b)"}) {
    CAPTURE(format);
    Resources small = limited_to(std::uint64_t{15} << 20);
    const auto built = build(coordinates(few), *parse_format(format), small, "T");
    REQUIRE_FALSE(built);
    CHECK(built.error().kind == ErrorKind::resource);
    CHECK(built.error().code == ErrorCode::memory_limit);
    CHECK(contains(built.error().message, "memory limit: T needs "));
    CHECK(small.memory.peak() < 4096);
    const Tensor listed = tensor_of(few, "ss");
    Resources as_small = limited_to(std::uint64_t{15} << 20);
    const auto made = convert(listed, *parse_format(format), as_small, "T");
    REQUIRE_FALSE(made);
    CHECK(made.error().kind == ErrorKind::resource);
    CHECK(as_small.memory.peak() < 4096);
  }
}

TEST_CASE("a tensor with gaps over longer extents is refused before any of it is charged") {
  for (const char* format : {"bd:1,0", "db:1,0", "db", "sb"}) {
    CAPTURE(format);
    const Tensor tensor = tensor_of({.extents = {2, 5}, .tuples = {{0, 1}, {1, 2}}, .values = {1, 5}}, format);
    Resources small = limited_to(std::uint64_t{15} << 20);
    const auto longer = with_extents(tensor, few.extents, small, "T");
    REQUIRE_FALSE(longer);
    CHECK(longer.error().kind == ErrorKind::resource);
    CHECK(small.memory.peak() < 4096);
  }
}

TEST_CASE("the bits that verification keeps of levels with gaps are charged") {
  for (const char* format : {"db", "sb", "b"}) {
    CAPTURE(format);
    const List vector{.extents = {long_extent}, .tuples = {{1}, {5}}, .values = {1, 2}};
    const Tensor tensor = tensor_of(std::string_view(format) == "b" ? vector : few, format);
    const Resources small = limited_to(1 << 14);
    const auto refused = verify(Tensor(tensor.arrays()), small, "T");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::memory_limit);
    CHECK(contains(refused.error().message, "the verification of T needs "));
    CHECK(verify(Tensor(tensor.arrays()), limited_to(1 << 19), "T"));
    CHECK(small.memory.used() == 0);
  }
}

TEST_CASE("what fits beside bitmaps and hash tables is not refused: the bytes counted ahead are no more than are taken") {
  const std::vector<std::uint64_t> extents{40, 3, 70};
  const List few_entries{extents, {{0, 1, 5}, {0, 1, 69}, {0, 2, 5}, {7, 0, 0}, {39, 2, 64}}, {1, 2, 3, 4, 5}};
  const List none{extents, {}, {}};
  List repeated = few_entries;  // their coordinates take more than what is made of them
  for (int n = 0; n < 20000; ++n) {
    repeated.tuples.push_back({static_cast<std::uint64_t>(n % 2), 1, 5});
    repeated.values.push_back(1);
  }
  for (const List& list : {few_entries, none, repeated}) {
    for (const char* const order : {":0,1,2", ":2,0,1"}) {
      for (const char outer : {'d', 's', 'b', 'h'}) {
        for (const char middle : {'d', 's', 'b', 'h'}) {
          for (const char inner : {'d', 's', 'b', 'h'}) fits_into_its_peak(list, std::string{outer, middle, inner} + order);
        }
        fits_into_its_peak(list, std::string{outer, 'u', 'q'} + order);
      }
    }
    fits_into_its_peak(list, "(i,j,k) -> (i:d, j:b, k:d)");
    fits_into_its_peak(list, "(i,j,k) -> (k/4:d, i:b, j:s, k%4:b)");
    fits_into_its_peak(list, "(i,j,k) -> (k/8:h, k%8:b, i:s, j:d)");
  }
}

}  // namespace gaps_test
