#include "engine/slice_parts.h"

#include <doctest/doctest.h>

#include <numeric>

#include "engine/compiled_state.h"
#include "unit/loop_programs.h"
#include "unit/replaced.h"

namespace weft::slice_parts_test {
namespace {

const Resources resources{Memory(), Threads(1), {}, {}};

/// Entries with the coordinates of their numbers in the last mode, ones.
Tensor tensor_of(const std::vector<std::vector<std::uint32_t>>& entries, const std::vector<std::uint64_t>& extents,
                 const std::string& format) {
  Coordinates coordinates;
  coordinates.extents = extents;
  for (std::size_t mode = 0; mode < extents.size(); ++mode) {
    coordinates.crd.push_back(*Buffer::allocate(entries.size() * 4, resources.memory, "crd"));
    for (std::size_t entry = 0; entry < entries.size(); ++entry)
      coordinates.crd[mode].as<std::uint32_t>()[entry] = entries[entry][mode];
  }
  coordinates.values = *Buffer::allocate(entries.size() * 8, resources.memory, "values");
  coordinates.count = entries.size();
  for (double& value : coordinates.values.as<double>()) value = 1;
  return *build(std::move(coordinates), *parse_format(format), resources, "T");
}

/// Of 1000 entries 900 in slice 5, of these 600 below one coordinate of the second mode; the others one in each slice.
Tensor skewed(const std::string& format) {
  std::vector<std::vector<std::uint32_t>> entries;
  for (std::uint32_t n = 0; n < 600; ++n) entries.push_back({5, 3, n});
  for (std::uint32_t n = 0; n < 300; ++n) entries.push_back({5, 4 + n % 30, 700 + n});
  for (std::uint32_t n = 0; n < 100; ++n) entries.push_back({6 + n, n % 40, n});
  return tensor_of(entries, {120, 40, 1000}, format);
}

std::uint64_t entries_of(const std::vector<Chunk>& chunks, const Tensor& tensor, std::uint32_t level) {
  return std::accumulate(chunks.begin(), chunks.end(), std::uint64_t{0}, [&](std::uint64_t sum, const Chunk& chunk) {
    return sum + entries_of_chunk(chunk, tensor, level);
  });
}

std::uint64_t heaviest_of(const std::vector<Chunk>& chunks, const Tensor& tensor, std::uint32_t level) {
  std::uint64_t heaviest = 0;
  for (const Chunk& chunk : chunks) heaviest = std::max(heaviest, entries_of_chunk(chunk, tensor, level));
  return heaviest;
}

/// Formats of three levels, and the level that their slices are cut at.
const std::vector<std::pair<std::string, std::uint32_t>> formats = {{"sss", 2}, {"dss", 2}, {"uqq", 0}, {"duq", 1}, {"suq", 1},
                                                                     {"dds", 2}, {"sds", 2}};

TEST_CASE("a giant slice is cut into parts, giant fibers of it too, and every entry is in one chunk") {
  for (const auto& [format, level] : formats) {
    CAPTURE(format);
    const Tensor tensor = skewed(format);
    for (const std::size_t count : {1U, 2U, 7U, 64U}) {
      for (const std::uint64_t most : {1U, 10U, 125U, 400U}) {
        const auto chunks = with_cut_slices(cut_root(120, count, &tensor), tensor, level, most);
        CHECK(entries_of(chunks, tensor, level) == 1000);
        std::uint64_t expected = 0;
        std::uint64_t next = 0;
        for (const Chunk& chunk : chunks) {
          if (chunk.is_part()) CHECK(chunk.begin == 5);
          // A further part of the same coordinate begins where the last one ended.
          CHECK(chunk.begin == (next > 0 && chunk.begin < expected ? expected - 1 : expected));
          if (chunk.begin < expected) CHECK(chunk.first == next);
          expected = chunk.end;
          next = chunk.is_part() ? chunk.last : 0;
          if (chunk.is_part()) CHECK(entries_of_chunk(chunk, tensor, level) <= most);
        }
        CHECK(expected == 120);
      }
    }
    // Nothing is too long.
    CHECK(with_cut_slices(cut_root(120, 4, &tensor), tensor, level, 900) == cut_root(120, 4, &tensor));
  }
}

TEST_CASE("chunks of about equal numbers of entries begin wherever slices do") {
  for (const auto& [format, level] : formats) {
    CAPTURE(format);
    const Tensor tensor = skewed(format);
    for (const std::size_t count : {2U, 3U, 8U, 32U}) {
      const auto chunks = cut_entries(count, tensor, level);
      CHECK(chunks.size() == count);
      CHECK(entries_of(chunks, tensor, level) == 1000);
      CHECK(heaviest_of(chunks, tensor, level) * count <= 1150);
      std::uint64_t next = 0;
      for (const Chunk& chunk : chunks) {
        CHECK(chunk.first == next);
        CHECK(chunk.begin < chunk.end);
        next = chunk.last;
      }
      CHECK(next == tensor.positions(level));
    }
  }
}

TEST_CASE("of threads none has more to do than 1.15 times its share") {
  for (const auto& [format, level] : formats) {
    CAPTURE(format);
    const Tensor tensor = skewed(format);
    for (const std::uint64_t threads : {2U, 4U, 8U, 16U}) {
      const auto chunks = with_cut_slices(cut_root(120, 32 * threads, &tensor), tensor, level, 1000 / (8 * threads));
      CHECK(heaviest_of(chunks, tensor, level) * threads <= 1150);
    }
  }
}

TEST_CASE("a slice is as long as the entries below one position are, where these may not be cut") {
  const Tensor tensor = skewed("sss");
  const auto chunks = with_cut_slices({{0, 120}}, tensor, 1, 10);
  CHECK(heaviest_of(chunks, tensor, 1) == 600);
  CHECK(entries_of(chunks, tensor, 1) == 1000);
}

TEST_CASE("arrays pos of a part end where the part does") {
  // Rows 0 to 2 with 2, 6 and 1 entries.
  std::vector<std::vector<std::uint32_t>> entries;
  for (std::uint32_t n = 0; n < 9; ++n) entries.push_back({n < 2 ? 0U : n < 8 ? 1U : 2U, n});
  for (const char* format : {"ds", "ss"}) {
    const Tensor tensor = tensor_of(entries, {3, 9}, format);
    const auto part = part_levels({1, 2, 4, 7}, tensor, 1, resources.memory);
    REQUIRE(part);
    CHECK(part->pos[0] == nullptr);
    const auto* pos = static_cast<const std::uint32_t*>(part->pos[1]);
    CHECK(pos[1] == 4);
    CHECK(pos[2] == 7);
    CHECK(pos[3] == 7);  // so many entries there are to a kernel that counts them
  }
  // Of the fibers of dense levels those that the part leaves out are empty.
  const Tensor dense = tensor_of({{1, 0, 0}, {1, 0, 1}, {1, 1, 0}, {1, 2, 0}, {1, 2, 1}, {2, 0, 0}}, {3, 3, 2}, "dds");
  const auto below = part_levels({1, 2, 1, 4}, dense, 2, resources.memory);
  REQUIRE(below);
  const auto* ends = static_cast<const std::uint32_t*>(below->pos[2]);
  CHECK(std::vector<std::uint32_t>(ends + 3, ends + 7) == std::vector<std::uint32_t>{1, 2, 3, 4});
  CHECK(ends[9] == 4);
  const auto one = part_levels({1, 2, 2, 3}, dense, 2, resources.memory);
  REQUIRE(one);
  ends = static_cast<const std::uint32_t*>(one->pos[2]);
  CHECK(std::vector<std::uint32_t>(ends + 3, ends + 7) == std::vector<std::uint32_t>{2, 2, 3, 3});
  const Tensor tensor = tensor_of(entries, {3, 9}, "uq");
  const auto part = part_levels({1, 2, 4, 7}, tensor, 0, resources.memory);
  REQUIRE(part);
  const auto* pos = static_cast<const std::uint32_t*>(part->pos[0]);
  CHECK(pos[0] == 4);
  CHECK(pos[1] == 7);
  CHECK(part->pos[1] == nullptr);
}

constexpr const char* spmm = R"(program A
  index  i, j, r
  input  T : f64 {dense, compressed<32,32>}  access T[i,j]
  input  B : f64 {dense, dense}              access B[j,r]
  output A : f64 {dense, dense}              access A[i,r]
  for i: locate T, insert A @parallel(A: owner)
    for j: drive T, locate B
      for r: locate B, insert A
        A += T * B
)";

std::optional<SliceCut> cut_of(std::string text, const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  for (const auto& [from, to] : changes) text = test::replaced(text, from, to);
  return slice_cut(test::program_of(text), 0);
}

TEST_CASE("rows of an output are cut at the deepest level that is driven and has pos of its own") {
  CHECK(cut_of(spmm) == SliceCut{1, false, false, {2}});
  CHECK(cut_of(spmm, {{"{dense, compressed<32,32>}", "{compressed<32,32>, compressed<32,32>}"},
                      {"locate T, insert A", "drive T, insert A"}}) == SliceCut{1, false, false, {2}});
  CHECK(!cut_of(spmm, {{" @parallel(A: owner)", ""}}));
}

TEST_CASE("slices stay whole where a fact describes their fibers") {
  CHECK(!cut_of(spmm, {{"  for i", "  fact   full(T.1)\n  for i"}}));
  CHECK(!cut_of(spmm, {{"  for i", "  fact   fiber(T.1) <= 3\n  for i"}}));
  CHECK(!cut_of(spmm, {{"  for i", "  fact   pattern(T) = 7\n  for i"}}));
  CHECK(cut_of(spmm, {{"  for i", "  fact   extent(r) = 8\n  for i"}}));
}

TEST_CASE("slices stay whole where their coordinates are known to begin at 0, as those of a part do not") {
  CHECK(!cut_of(spmm, {{"  for i", "  fact   adjacent(T.1) = 0\n  for i"}}));
  CHECK(cut_of(spmm, {{"  for i", "  fact   adjacent(T.1)\n  for i"}}));
}

TEST_CASE("slices stay whole below a loop over the slots of a table, whose chunks are shares of these") {
  const auto driven = [](const std::string& kind, const std::string& drive) {
    return cut_of(spmm, {{"  input  B", "  input  x : f64 {" + kind + "<32>}                      access x[i]\n  input  B"},
                         {"for i: locate T", "for i: " + drive + ", locate T"}, {"T * B", "T * x * B"}});
  };
  CHECK(!driven("hashed", "drive x"));
  CHECK(driven("hashed", "drive x(sort)"));
}

TEST_CASE("private copies are cut anywhere, a result at the positions of the tensor too") {
  CHECK(cut_of(R"(program s
  index  i, j
  input  T : f64 {compressed<32,32>, compressed<32,32>}  access T[i,j]
  input  x : f64 {dense}                                 access x[j]
  output s : f64 {}                                      access s[]
  for i: drive T @parallel(s: private)
    for j: drive T, locate x
      s += T * x
)") == SliceCut{1, true, false, {}});
  const std::string like = R"(program S
  index  i, j
  input  T : f64 {dense, compressed<32,32>}  access T[i,j]
  input  x : f64 {dense}                     access x[j]
  output S : f64 {dense, compressed<32,32>}  access S[i,j]
  fact   like(S, T)
  for i: locate T, insert S @parallel(S: owner)
    for j: drive T, locate x, insert S
      S += T * x
)";
  CHECK(cut_of(like) == SliceCut{1, false, false, {}});
}

TEST_CASE("a result at the leading levels of the tensor is cut within these") {
  const std::string rows = R"(program Y
  index  i, j, k, r
  input  T : f64 {dense, compressed<32,32>, compressed<32,32>}  access T[i,j,k]
  input  U : f64 {dense, dense}                                 access U[k,r]
  output Y : f64 {dense, compressed<32,32>, dense}              access Y[i,j,r]
  fact   like(Y, T)
  for i: locate T, insert Y @parallel(Y: owner)
    for j: drive T, insert Y
      for k: drive T, locate U
        for r: locate U, insert Y @vector
          Y += T * U
)";
  CHECK(cut_of(rows) == SliceCut{1, false, false, {}});
  // Parts of a slice would write the one row that it has.
  CHECK(!cut_of(R"(program Y
  index  i, j, r
  input  T : f64 {compressed<32,32>, compressed<32,32>}  access T[i,j]
  input  U : f64 {dense, dense}                          access U[j,r]
  output Y : f64 {compressed<32,32>, dense}              access Y[i,r]
  fact   like(Y, T)
  for i: drive T, insert Y @parallel(Y: owner)
    for j: drive T, locate U
      for r: locate U, insert Y @vector
        Y += T * U
)"));
}

TEST_CASE("private copies are cut within what is summed before it is multiplied") {
  CHECK(cut_of(R"(program s
  index  i, j, k
  input  T : f64 {dense, compressed<32,32>, compressed<32,32>}  access T[i,j,k]
  input  B : f64 {dense}                                        access B[j]
  input  C : f64 {dense}                                        access C[k]
  output s : f64 {}                                             access s[]
  for i: locate T @parallel(s: private)
    for j: drive T, locate B
      with w[] : f64 {}
        for k: drive T, locate C
          w += T * C
        s += w * B
)") == SliceCut{2, true, true, {}});
}

TEST_CASE("positions of a coordinate list are entries: parts are cut within what is summed over its last level") {
  const std::string chain = R"(program R
  index  i, j, k
  input  T : f64 {nonunique<32,32>, singleton<32>, singleton<32>}  access T[i,j,k]
  input  B : f64 {dense}                                           access B[j]
  output R : f64 {dense}                                           access R[i]
  for i: drive T, insert R @parallel(R: owner)
    for j: drive T, locate B
      with w[] : f64 {}
        for k: drive T
          w += T
        R += w * B
)";
  CHECK(cut_of(chain) == SliceCut{0, false, true, {2}});
  CHECK(cut_of(chain, {{"      with w[] : f64 {}\n        for k: drive T\n          w += T\n        R += w * B\n",
                        "      for k: drive T\n        R += T * B\n"}}) == SliceCut{0, false, false, {2}});
}

TEST_CASE("slices stay whole where the sum is not linear in the tensor") {
  CHECK(!cut_of(spmm, {{"A += T * B", "A += T * T * B"}}));
  CHECK(!cut_of(R"(program y
  index  i, j, k
  input  T : f64 {dense, compressed<32,32>}  access T.1[i,j] access T.2[i,k]
  output y : f64 {dense}                     access y[i]
  for i: locate T.1, locate T.2, insert y @parallel(y: owner)
    for j: drive T.1
      for k: drive T.2
        y += T.1 * T.2
)"));
}

TEST_CASE("workspaces are seen through") {
  const std::string drained = R"(program y
  index  i, j, k, r
  input  T : f64 {dense, compressed<32,32>, compressed<32,32>}  access T[i,j,k]
  input  B : f64 {dense, dense}                                 access B[j,r]
  input  C : f64 {dense, dense}                                 access C[k,r]
  output A : f64 {dense, dense}                                 access A[i,r]
  for i: locate T, insert A @parallel(A: owner)
    for j: drive T, locate B
      with w[r] : f64 {dense}
        for k: drive T, locate C
          for r: locate C, insert w
            w += T * C
        for r: locate w, locate B, insert A
          A += w * B
)";
  // Of w, summed over part of a fiber, products are taken.
  CHECK(cut_of(drained) == SliceCut{2, false, true, {3}});
  // What is computed for a slice without the tensor would be computed for each part.
  CHECK(!cut_of(R"(program y
  index  i, j, k
  input  T : f64 {dense, compressed<32,32>}  access T[i,j]
  input  N : f64 {dense, compressed<32,32>}  access N[i,k]
  input  c : f64 {dense}                     access c[k]
  output y : f64 {dense}                     access y[i]
  for i: locate T, locate N, insert y @parallel(y: owner)
    with v[] : f64 {}
      with w[] : f64 {}
        for j: drive T
          v += T
        for k: drive N, locate c
          w += N * c
        y += v * w
)"));
}

}  // namespace
TEST_CASE("chunks are cut by no tensor whose first coordinates fall") {
  const auto walked = [&](const std::string& order) {
    LoweredNest nest;
    nest.program = test::program_of("program walked\n  index  j, i\n  input  B : f64 {compressed<32,32>" + order +
                                    ", compressed<32,32>}   access B[j,i]\n  input  A : f64 {compressed<32,32>}   access A[j]\n"
                                    "  output R : f64 {dense, dense}   access R[j,i]\n"
                                    "  for j: locate B, drive A, insert R @parallel(R: owner)\n"
                                    "    for i: drive B, insert R\n      R += A * B\n");
    nest.tensors = {0, 1, 2};
    const std::vector<Tensor> tensors{tensor_of({{1, 2}, {1, 3}, {4, 1}, {5, 0}}, {7, 9}, "ss"), tensor_of({{1}, {4}}, {7}, "s"), Tensor()};
    return walked_storage(nest, tensors);
  };
  CHECK(walked("") == std::optional<loop::StorageId>(0));
  CHECK(walked(" desc") == std::optional<loop::StorageId>(1));
}

}  // namespace weft::slice_parts_test
