// Random small damages of every array, in arrays on the heap that are exactly as long as the tensor says: under
// AddressSanitizer a read beyond one of them ends the test. What verify() lets pass is read by everything else.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "unit/runtime/reference.h"
#include "weft/statistics.h"
#include "weft/tensor.h"

namespace verify_damage_test {

using namespace weft;
using namespace weft::reference;

namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t bound) { return bound == 0 ? 0 : random() % bound; }

/// The same bytes in an allocation of exactly their size; some of them missing, or some more.
Buffer exact(const Buffer& from, std::vector<std::unique_ptr<std::byte[]>>& kept, std::uint64_t bytes) {
  if (bytes == 0) return {};
  kept.push_back(std::make_unique<std::byte[]>(bytes));
  std::memset(kept.back().get(), 0, bytes);
  std::memcpy(kept.back().get(), from.data(), std::min(bytes, from.size_bytes()));
  return Buffer::borrow(kept.back().get(), bytes);
}

void damage_elements(Buffer& array, unsigned bytes, Random& random) {
  const std::uint64_t count = array.size_bytes() / bytes;
  if (count == 0) return;
  const std::uint64_t at = below(random, count);
  const std::uint64_t other = below(random, count);
  auto* const data = static_cast<std::byte*>(array.data());
  std::uint64_t element = 0;
  std::memcpy(&element, data + at * bytes, bytes);
  switch (below(random, 6)) {
    case 0: ++element; break;
    case 1: --element; break;
    case 2: element = random(); break;
    case 3: element = below(random, 8); break;
    case 4: element ^= std::uint64_t{1} << below(random, 64); break;
    default: std::memcpy(&element, data + other * bytes, bytes); break;
  }
  std::memcpy(data + at * bytes, &element, bytes);
}

void damage_shape(TensorArrays& tensor, Random& random) {
  const std::size_t level = below(random, tensor.order());
  Level& described = tensor.format.levels[level];
  constexpr LevelKind kinds[] = {LevelKind::dense,  LevelKind::compressed, LevelKind::compressed_nonunique, LevelKind::singleton,
                                 LevelKind::hashed, LevelKind::bitmap,     LevelKind::accumulator};
  switch (below(random, 10)) {
    case 0: tensor.extents[below(random, tensor.order())] = below(random, 4); break;
    case 1: tensor.extents[below(random, tensor.order())] = random(); break;
    case 2: described.kind = kinds[below(random, std::size(kinds))]; break;
    case 3: described.pos_bits = described.pos_bits == 32 ? 64 : 32; break;
    case 4: described.crd_bits = described.crd_bits == 32 ? 64 : 32; break;
    case 5: described.crd_bits = static_cast<std::uint8_t>(random()); break;
    case 6: tensor.format.mode_order[level] = static_cast<std::uint32_t>(below(random, 5)); break;
    case 7: tensor.format.scalar = tensor.format.scalar == Scalar::f64 ? Scalar::f32 : Scalar::f64; break;
    case 8: described.strided = true; break;
    default: tensor.levels[level].stride = random(); break;
  }
}

}  // namespace

TEST_CASE("verify reads no array beyond its end, whatever is damaged, and what it lets pass can be read") {
  const Resources one = resources(1);
  Random random(7);
  std::size_t passed = 0;
  std::size_t refused = 0;
  for (const char* format : {"s",  "d",  "h",  "b",   "ds",  "sd",  "ss",  "uq",  "sq",  "bs",  "hs",
                             "dh", "db", "hb", "sss", "dsd", "uqq", "sbd", "ssq", "hdh", "dds", "dd"}) {
    for (unsigned round = 0; round < 400; ++round) {
      CAPTURE(format);
      CAPTURE(round);
      const Format stored = *parse_format(format);
      List list;
      for (std::size_t mode = 0; mode < stored.order(); ++mode) list.extents.push_back(1 + below(random, 5));
      std::map<Tuple, double> entries_;
      for (std::uint64_t n = below(random, 9); n > 0; --n) {
        Tuple tuple;
        for (const std::uint64_t extent : list.extents) tuple.push_back(below(random, extent));
        if (stored.levels.back().kind == LevelKind::singleton && stored.levels[0].kind != LevelKind::compressed_nonunique) {
          // Below a unique level a singleton has one entry for each.
          bool there = false;
          for (const auto& [known, value] : entries_) there = there || std::equal(tuple.begin(), tuple.end() - 1, known.begin());
          if (there) continue;
        }
        entries_[tuple] = static_cast<double>(1 + below(random, 5));
      }
      for (const auto& [tuple, value] : entries_) {
        list.tuples.push_back(tuple);
        list.values.push_back(value);
      }
      const auto built = build(coordinates(list), stored, one, "T");
      REQUIRE(built);
      TensorArrays damaged = built->arrays();
      std::vector<std::unique_ptr<std::byte[]>> kept;
      const auto resized = [&](const Buffer& array) {
        std::uint64_t bytes = array.size_bytes();
        if (below(random, 16) == 0) bytes = below(random, bytes + 9);
        array.size_bytes() == 0 && bytes > 0 ? void(bytes = 0) : void();
        return exact(array, kept, bytes);
      };
      const bool sound = round == 0;
      for (LevelArrays& level : damaged.levels) {
        level.pos = sound ? exact(level.pos, kept, level.pos.size_bytes()) : resized(level.pos);
        level.crd = sound ? exact(level.crd, kept, level.crd.size_bytes()) : resized(level.crd);
      }
      damaged.values = sound ? exact(damaged.values, kept, damaged.values.size_bytes()) : resized(damaged.values);
      for (std::uint64_t damages = sound ? 0 : 1 + below(random, 3); damages > 0; --damages) {
        const std::size_t level = below(random, damaged.order());
        LevelArrays& arrays = damaged.levels[level];
        switch (below(random, 5)) {
          case 0:
          case 1: damage_elements(arrays.pos, damaged.format.levels[level].pos_bits == 64 ? 8 : 4, random); break;
          case 2:
          case 3: damage_elements(arrays.crd, damaged.format.levels[level].kind == LevelKind::bitmap ? 8 : 4, random); break;
          default: damage_shape(damaged, random); break;
        }
      }
      const Tensor tensor(std::move(damaged));
      const auto right = verify(tensor, one, "T");
      if (sound) REQUIRE(right);
      ++(right ? passed : refused);
      if (!right) {
        CAPTURE(right.error().message);
        CHECK((right.error().kind == ErrorKind::input || right.error().kind == ErrorKind::resource));
        CHECK(statistics(tensor, one.threads).nnz() == 0);
        CHECK_FALSE(entries(tensor, false, one));
        continue;
      }
      if (tensor.nnz() > 1'000'000) continue;  // an extent that only dense levels multiply, of a tensor without entries
      const auto listed = entries(tensor, false, one);
      REQUIRE(listed);
      CHECK(listed->count == tensor.nnz());
      CHECK(statistics(tensor, one.threads).nnz() == static_cast<double>(tensor.nnz()));
      CHECK_FALSE(statistics(tensor, one.threads).text().empty());
    }
  }
  CHECK(passed > 1000);
  CHECK(refused > 4000);
}

}  // namespace verify_damage_test
