#include "engine/chunks.h"

#include <doctest/doctest.h>

namespace weft::chunks_test {
namespace {

Tensor csr(const std::vector<std::uint32_t>& rows, std::uint64_t extent, const std::string& kinds) {
  const Resources resources{Memory(), Threads(1), {}, {}};
  Coordinates coordinates;
  coordinates.extents = {extent, 1000};
  for (int mode = 0; mode < 2; ++mode) coordinates.crd.push_back(*Buffer::allocate(rows.size() * 4, resources.memory, "crd"));
  coordinates.values = *Buffer::allocate(rows.size() * 8, resources.memory, "values");
  coordinates.count = rows.size();
  for (std::size_t entry = 0; entry < rows.size(); ++entry) {
    coordinates.crd[0].as<std::uint32_t>()[entry] = rows[entry];
    coordinates.crd[1].as<std::uint32_t>()[entry] = static_cast<std::uint32_t>(entry);
    coordinates.values.as<double>()[entry] = 1;
  }
  return *build(std::move(coordinates), *parse_format(kinds), resources, "T");
}

void covers(const std::vector<Chunk>& chunks, std::uint64_t extent) {
  std::uint64_t expected = 0;
  for (const Chunk& chunk : chunks) {
    CHECK(chunk.begin == expected);
    CHECK(chunk.end > chunk.begin);
    expected = chunk.end;
  }
  CHECK(expected == extent);
}

TEST_CASE("chunks without a tensor are equal ranges") {
  const auto chunks = cut_root(10, 4, nullptr);
  covers(chunks, 10);
  CHECK(chunks.size() == 4);
  CHECK(cut_root(0, 4, nullptr).empty());
  CHECK(cut_root(3, 8, nullptr).size() == 3);
  covers(cut_root(~std::uint64_t{0}, 64, nullptr), ~std::uint64_t{0});
}

TEST_CASE("a heavy slice gets a chunk of its own") {
  std::vector<std::uint32_t> rows(900, 7);
  for (std::uint32_t row = 0; row < 100; ++row) rows.push_back(row == 7 ? 8 : row);
  for (const char* kinds : {"ss", "ds", "uq"}) {
    CAPTURE(kinds);
    const Tensor tensor = csr(rows, 200, kinds);
    const auto chunks = cut_root(200, 10, &tensor);
    covers(chunks, 200);
    bool alone = false;
    for (const Chunk& chunk : chunks) alone = alone || (chunk.begin <= 7 && chunk.end == 8);
    CHECK(alone);
  }
}

TEST_CASE("private copies are made where threads save more than they take") {
  const std::uint64_t walked = 1 << 24;
  CHECK(private_chunks(1 << 10, walked, 2, false, 1e6) == 8);  // small: more than threads
  CHECK(private_chunks(1 << 22, walked, 2, false, 1e7) == 2);
  CHECK(private_chunks(1 << 22, walked, 2, false, 1e6) == 1);  // 4 MB cleared, read and added take longer than half a millisecond
  CHECK(private_chunks(1 << 22, walked, 1, false, 1e7) == 1);
  CHECK(private_chunks(1 << 22, walked, 32, false, 1e6) == 32);
  CHECK(private_chunks(1 << 22, walked, 1, true, 1e3) == 8);  // of all numbers of threads the same
}

TEST_CASE("an empty tensor is cut like an extent") {
  const Tensor tensor = csr({}, 50, "ss");
  covers(cut_root(50, 4, &tensor), 50);
}

}  // namespace
}  // namespace weft::chunks_test
