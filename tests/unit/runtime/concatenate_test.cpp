#include "unit/runtime/appending.h"

namespace concatenate_test {

using namespace weft;
using namespace weft::reference;

namespace {

/// A tensor with the entries of every chunk by level.
struct Made {
  Tensor tensor;
  std::vector<std::vector<std::uint64_t>> entries;
};

/// Entries by mode, appended in chunks that begin at the coordinates `cuts` of level 0; into the arrays of `before`, if
/// it is given.
Expected<Made> made(const AppendedShape& shape, const Entries& entries, std::vector<std::uint64_t> cuts,
                    const Resources& resources, const Made* before = nullptr) {
  std::vector<Entries> parts(cuts.size());
  for (const auto& [tuple, value] : entries) {
    Tuple by_level;
    by_level.reserve(tuple.size());
    for (const std::uint32_t mode : shape.format.mode_order) by_level.push_back(tuple[mode]);
    std::size_t part = cuts.size() - 1;
    while (cuts[part] > by_level[0]) --part;
    parts[part].emplace_hint(parts[part].end(), std::move(by_level), value);
  }
  std::vector<AppendedChunk> chunks;
  chunks.reserve(cuts.size());
  for (std::size_t part = 0; part < cuts.size(); ++part) {
    const std::uint64_t end = part + 1 < cuts.size() ? cuts[part + 1] : shape.extent_of_level(0);
    AppendedChunk& chunk = chunks.emplace_back(shape, end - cuts[part], resources.memory);
    if (before != nullptr) {
      std::vector<std::uint64_t> first(shape.format.order(), 0);
      for (std::size_t number = 0; number < part; ++number)
        for (std::size_t level = 0; level < first.size(); ++level) first[level] += before->entries[number][level];
      Tensor tensor = before->tensor;
      chunk.place_in(tensor, first, before->entries[part]);
    }
    auto output = chunk.open();
    if (!output) return std::unexpected(output.error());
    // A kernel may ask for room for an entry that it does not keep: the chunk leaves its place.
    if (before != nullptr && part % 2 == 1) {
      const std::size_t last = shape.last_compressed();
      if (grow_appended(&*output, last, 0, before->entries[part][last] + 1) != 0) return std::unexpected(*chunk.refused());
    }
    if (!Appender(shape, *output, cuts[part]).append(parts[part])) return std::unexpected(*chunk.refused());
    chunk.close();
  }
  Made result;
  for (const AppendedChunk& chunk : chunks) {
    result.entries.emplace_back();
    for (std::size_t level = 0; level < shape.format.order(); ++level)
      result.entries.back().push_back(chunk.entries(level));
  }
  auto tensor = concatenated(shape, chunks, resources, before != nullptr ? std::optional(before->tensor) : std::nullopt);
  if (!tensor) return std::unexpected(tensor.error());
  result.tensor = std::move(*tensor);
  return result;
}

Expected<Tensor> appended(const AppendedShape& shape, const Entries& entries, const std::vector<std::uint64_t>& cuts,
                          const Resources& resources) {
  auto result = made(shape, entries, cuts, resources);
  if (!result) return std::unexpected(result.error());
  return std::move(result->tensor);
}

void same_bytes(const Buffer& one, const Buffer& other, const char* what) {
  CAPTURE(what);
  REQUIRE(one.size_bytes() == other.size_bytes());
  if (one.size_bytes() > 0) CHECK(std::memcmp(one.data(), other.data(), one.size_bytes()) == 0);
}

void same_arrays(const Tensor& tensor, const Tensor& expected) {
  REQUIRE(tensor.levels().size() == expected.levels().size());
  for (std::size_t level = 0; level < tensor.levels().size(); ++level) {
    CHECK(tensor.format().levels[level] == expected.format().levels[level]);
    same_bytes(tensor.levels()[level].pos, expected.levels()[level].pos, "pos");
    same_bytes(tensor.levels()[level].crd, expected.levels()[level].crd, "crd");
  }
  same_bytes(tensor.values(), expected.values(), "values");
}

Format random_format(Random& random, const List& list) {
  Format format = random.format(list);
  for (Level& level : format.levels)
    level.kind = level.kind == LevelKind::dense ? LevelKind::dense : LevelKind::compressed;
  if (format.all_dense()) format.levels[random.below(format.order())].kind = LevelKind::compressed;
  return format;
}

std::vector<std::uint64_t> random_cuts(Random& random, std::uint64_t extent) {
  std::vector<std::uint64_t> cuts;
  for (std::uint64_t begin = 0; begin < extent; begin += 1 + random.below(extent)) cuts.push_back(begin);
  return cuts;
}

/// What is appended, to which output, by how many threads, and where its chunks begin.
struct DrawnOutput {
  List list;
  AppendedShape shape;
  Resources with;
  std::vector<std::uint64_t> cuts;
};

DrawnOutput drawn_output(Random& random) {
  const std::size_t order = 1 + random.below(4);
  List list = random.list(order, 60);
  AppendedShape shape{random_format(random, list), list.extents, "R"};
  Resources with = resources(1 + static_cast<unsigned>(random.below(3)));
  std::vector<std::uint64_t> cuts = random_cuts(random, shape.extent_of_level(0));
  return {std::move(list), std::move(shape), std::move(with), std::move(cuts)};
}

}  // namespace

TEST_CASE("chunks of any format concatenate to the tensor that building gives") {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto [list, shape, with, cuts] = drawn_output(random);
    const auto expected = build(coordinates(list, Scalar::f64), shape.format, with, "R");
    REQUIRE(expected);
    const auto tensor = appended(shape, summed(list), cuts, with);
    REQUIRE_MESSAGE(tensor, tensor.error().message);
    const auto sound = verify(*tensor, with, "R");
    CHECK_MESSAGE(sound, sound.error().message);
    same_arrays(*tensor, *expected);
  }
}

TEST_CASE("a second run writes into the arrays of the first, unless it has other entries") {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto [list, shape, with, cuts] = drawn_output(random);
    const auto first = made(shape, summed(list), cuts, with);
    REQUIRE(first);
    List other = list;
    for (double& value : other.values) value += 7;
    const bool same_pattern = random.chance(50);
    for (std::size_t n = 0; n < other.tuples.size() && !same_pattern; ++n) {
      if (random.chance(30)) other.tuples[n] = other.tuples[random.below(other.tuples.size())];
      if (random.chance(30))
        for (std::size_t mode = 0; mode < shape.format.order(); ++mode) other.tuples[n][mode] = random.below(other.extents[mode]);
    }
    const auto expected = build(coordinates(other), shape.format, with, "R");
    REQUIRE(expected);
    const auto second = made(shape, summed(other), cuts, with, &*first);
    REQUIRE_MESSAGE(second, second.error().message);
    same_arrays(second->tensor, *expected);
    if (same_pattern && cuts.size() > 0) CHECK(second->tensor.values().data() == first->tensor.values().data());
  }
}

TEST_CASE("a tensor sized by counted entries is the one that they are written into") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto [list, shape, with, cuts] = drawn_output(random);
    const auto counted = made(shape, summed(list), cuts, with);
    REQUIRE(counted);
    auto room = sized(shape, counted->entries, with.memory);
    REQUIRE(room);
    const Made place{std::move(*room), counted->entries};
    const auto filled = made(shape, summed(list), cuts, with, &place);
    REQUIRE_MESSAGE(filled, filled.error().message);
    const auto sound = verify(filled->tensor, with, "R");
    CHECK_MESSAGE(sound, sound.error().message);
    same_arrays(filled->tensor, counted->tensor);
    if (!cuts.empty()) CHECK(filled->tensor.values().data() == place.tensor.values().data());
  }
}

TEST_CASE("a sized tensor that the limit leaves no room for is named, and takes none") {
  const AppendedShape shape{*parse_format("ds"), {4, 100'000}, "result R"};
  const Memory memory(200'000 * 12);
  const auto refused = sized(shape, {{0, 150'000}, {0, 50'000}}, memory);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::resource);
  CHECK(refused.error().message.find("result R needs") != std::string::npos);
  CHECK(memory.used() == 0);
}

TEST_CASE("large chunks: several pieces each, pages given back while they are copied") {
  const AppendedShape shape{*parse_format("ds"), {40, 1 << 20}, "R"};
  Entries entries;
  Random random(7);
  for (std::uint64_t row = 0; row < 40; row += 3)
    for (std::uint64_t column = random.below(5); column < 400'000; column += 1 + random.below(15))
      append(entries, {row, column}, static_cast<double>(column % 97));
  for (const std::vector<std::uint64_t>& cuts :
       {std::vector<std::uint64_t>{0, 20}, {0, 1, 2, 3, 20}}) {
    CAPTURE(cuts.size());
    const Resources with = resources(2);
    auto tensor = appended(shape, entries, cuts, with);
    REQUIRE(tensor);
    CHECK(stored(*tensor) == entries);
    CHECK(verify(*tensor, with, "R"));
    CHECK(with.memory.used() == tensor->bytes());
    CHECK(with.memory.peak() < tensor->bytes() * 8 / 5 + (1 << 20));
    tensor = Tensor{};
    CHECK(with.memory.used() == 0);
  }
}

TEST_CASE("a result that the limit leaves no room for is named") {
  const AppendedShape shape{*parse_format("ds"), {4, 100'000}, "result R"};
  Entries entries;
  for (std::uint64_t row = 0; row < 4; ++row)
    for (std::uint64_t column = 0; column < 50'000; ++column) append(entries, {row, column}, 1.0);
  const std::uint64_t needed = 200'000 * 12 + 5 * 4;
  Resources with = resources(2);
  with.memory = Memory(needed - 1);
  const auto refused = appended(shape, entries, {0, 2}, with);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::resource);
  CHECK(refused.error().message.find("result R needs") != std::string::npos);
  CHECK(with.memory.used() == 0);
  with.memory = Memory(needed * 11 / 10);
  const auto tensor = appended(shape, entries, {0, 2}, with);
  REQUIRE_MESSAGE(tensor, tensor.error().message);
  CHECK(stored(*tensor) == entries);
}

TEST_CASE("an entry with a large block of values below it takes no room for another 511") {
  const AppendedShape shape{*parse_format("sd"), {4, std::uint64_t{1} << 18}, "result R"};
  AppendedChunk chunk(shape, 0, Memory(std::uint64_t{10} << 20));
  auto output = chunk.open();
  REQUIRE(output);
  CHECK(output->values_capacity >= 1);
  CHECK(chunk.grow(*output, 0, 1, 4) == KernelStatus::done);  // all of its rows, 8 MiB
}

TEST_CASE("no chunk: a tensor without entries") {
  for (const char* kinds : {"ds", "sd", "dsd", "ss", "dds", "sds"}) {
    for (const std::uint64_t extent : {0, 3}) {
      CAPTURE(kinds);
      CAPTURE(extent);
      const Format format = *parse_format(kinds);
      const AppendedShape shape{format, std::vector<std::uint64_t>(format.order(), extent), "R"};
      std::vector<AppendedChunk> none;
      const auto tensor = concatenated(shape, none, resources());
      REQUIRE(tensor);
      CHECK(tensor->nnz() == 0);
      CHECK(verify(*tensor, resources(), "R"));
    }
  }
}

TEST_CASE("cancelled while it is copied: nothing stays") {
  const AppendedShape shape{*parse_format("s"), {1000}, "R"};
  const Resources with = resources();
  with.cancellation.cancel();
  const auto refused = appended(shape, {{{3}, 1.0}, {{700}, 2.0}}, {0, 500}, with);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::cancelled);
  CHECK(with.memory.used() == 0);
}

}  // namespace concatenate_test
