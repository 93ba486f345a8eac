#include "frontend/stored.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "frontend/operand.h"

namespace weft::stored_test {
namespace {

const Resources resources{Memory(), Threads(2), {}, {}};
using Entries = std::map<std::vector<std::uint64_t>, double>;

Entries visited(const Tensor& tensor, const std::vector<Selected>& selected) {
  Entries entries;
  const auto visit = [&](std::span<const std::uint64_t> at, double value) {
    CHECK(entries.emplace(std::vector<std::uint64_t>(at.begin(), at.end()), value).second);
    return true;
  };
  REQUIRE(visit_entries(tensor, selected, {}, visit));
  return entries;
}

constexpr const char* formats[] = {"sss", "ddd", "dss", "uqq", "ssd", "sss:2,0,1", "dds:1,2,0", "suq:2,1,0", "ddd:2,1,0", "sdd"};
constexpr const char* layouts[] = {"(i,j,k) -> (i/2:s, j:s, i%2:d, k:d)",
                                   "(i,j,k) -> (i:d, k-j:s, j:d)", "(i,j,k) -> (i:s, j:s desc, k:s)"};
constexpr const char* slices[] = {"...", "0", "2", "-1,...,1", ":,3", ":,:,4", "::2,::-1", "1:3,2:5,::3", "3,3,3", "5:", "::-2,1,:"};

TEST_CASE("every format visits the entries of a slice, and builds them as a tensor of their own") {
  const auto tensor = load_operand("sparse(4x6x9,nnz=60,seed=5)", {}, resources, "T");
  REQUIRE(tensor);
  const Entries all = visited(*tensor, select_all(tensor->extents()));
  CHECK(all.size() == 60);
  std::vector<const char*> all_formats(std::begin(formats), std::end(formats));
  all_formats.insert(all_formats.end(), std::begin(layouts), std::end(layouts));
  for (const char* text : all_formats) {
    CAPTURE(text);
    const auto stored = convert(*tensor, *parse_format(text), resources, "T");
    REQUIRE(stored);
    for (const char* slice : slices) {
      CAPTURE(slice);
      const auto selected = *select(*parse_slice(slice), tensor->extents(), "T");
      Entries wanted;
      for (const auto& [at, value] : all) {
        std::vector<std::uint64_t> place;
        bool inside = true;
        for (std::size_t mode = 0; mode < 3; ++mode) {
          inside = inside && selected[mode].place(at[mode]);
          if (inside && !selected[mode].dropped) place.push_back(*selected[mode].place(at[mode]));
        }
        if (inside) wanted.emplace(std::move(place), value);
      }
      Entries found;
      if (std::ranges::all_of(selected, &Selected::dropped)) {
        for (const auto& [at, value] : visited(*stored, selected)) found.emplace(std::vector<std::uint64_t>(), value);
      } else {
        const auto part = sliced(*stored, selected, resources, "T");
        REQUIRE(part);
        REQUIRE(verify(*part, resources, "T"));
        found = visited(*part, select_all(part->extents()));
      }
      // Dense levels store zeros too.
      std::erase_if(found, [](const auto& entry) { return entry.second == 0; });
      CHECK(found == wanted);
    }
  }
}

TEST_CASE("entries by position, empty fibers first, last and between") {
  auto coordinates = entries(*load_operand("sparse(30x7x5,nnz=25,seed=2)", {}, resources, "T"), false, resources);
  REQUIRE(coordinates);
  const auto tensor = build(std::move(*coordinates), sparse_format(3), resources, "T");
  REQUIRE(tensor);
  for (const char* text : formats) {
    CAPTURE(text);
    const auto stored = convert(*tensor, *parse_format(text), resources, "T");
    REQUIRE(stored);
    std::uint64_t position = 0;
    const auto visit = [&](std::span<const std::uint64_t> at, double value) {
      CHECK(entry_at(*stored, position) == StoredEntry{{at.begin(), at.end()}, value});
      ++position;
      return true;
    };
    REQUIRE(visit_entries(*stored, select_all(stored->extents()), {}, visit));
    CHECK(position == stored->nnz());
  }
}

TEST_CASE("hashed and bitmap levels show their entries only") {
  const auto tensor = load_operand("sparse(9x11,nnz=20,seed=1)", {}, resources, "T");
  REQUIRE(tensor);
  const Entries all = visited(*tensor, select_all(tensor->extents()));
  for (const char* text : {"dh", "db", "sh", "sb", "dh:1,0"}) {
    CAPTURE(text);
    const auto stored = convert(*tensor, *parse_format(text), resources, "T");
    REQUIRE(stored);
    CHECK(visited(*stored, select_all(stored->extents())) == all);
    const auto row = sliced(*stored, *select(*parse_slice("3"), stored->extents(), "T"), resources, "T");
    REQUIRE(row);
    for (const auto& [at, value] : visited(*row, select_all(row->extents()))) CHECK(all.at({3, at[0]}) == value);
  }
}

TEST_CASE("a walk ends when its visitor has enough, or is cancelled") {
  const auto tensor = load_operand("sparse(1000x1000,nnz=50000)", {}, resources, "T");
  REQUIRE(tensor);
  std::size_t seen = 0;
  REQUIRE(visit_entries(*tensor, select_all(tensor->extents()), {}, [&](auto, double) { return ++seen < 3; }));
  CHECK(seen == 3);
  const Cancellation cancelled;
  cancelled.cancel();
  const auto stopped = visit_entries(*tensor, select_all(tensor->extents()), cancelled, [](auto, double) { return true; });
  REQUIRE(!stopped);
  CHECK(stopped.error().kind == ErrorKind::cancelled);
}

}  // namespace
}  // namespace weft::stored_test
