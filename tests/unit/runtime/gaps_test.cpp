#include "runtime/gaps.h"

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

}  // namespace gaps_test
