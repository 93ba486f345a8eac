// Claims about searching a fiber beside all small fibers: what is proven holds for each, what is refuted fails for one,
// and the searches that rest on them find what is there.
#include "engine/prove/fiber_claims.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "engine/prove/proof_book.h"
#include "tests/unit/prove/small_arrays.h"

namespace fiber_claims_test {

using namespace weft;
using weft::test::for_each_vector;

namespace {

constexpr int extent = 4;

/// The coordinates of the entries of a fiber; of a chain those of its second level too.
struct SmallFiber {
  std::vector<int> crd, below;
};

Verdict verdict_on(Claim claim) {
  static ProofBook book(nullptr);
  const auto proof = book.settle(std::move(claim));
  REQUIRE_MESSAGE(proof, (proof ? "" : proof.error().message));
  CHECK(proof->counterexample.empty() == (proof->verdict != Verdict::refuted));
  return proof->verdict;
}

bool all_pairs(std::size_t size, const std::function<bool(std::size_t, std::size_t)>& holds) {
  for (std::size_t p = 0; p < size; ++p)
    for (std::size_t q = p + 1; q < size; ++q)
      if (!holds(p, q)) return false;
  return true;
}

/// As a search from the last entry to the first goes over it.
SmallFiber turned(SmallFiber fiber) {
  std::ranges::reverse(fiber.crd);
  return fiber;
}

bool is_as_assumed(const SmallFiber& fiber, LevelKind kind, const AssumedOfArrays& assumed) {
  const auto& crd = fiber.crd;
  if (kind == LevelKind::compressed && assumed.coordinates_rise)
    return all_pairs(crd.size(), [&](auto p, auto q) { return crd[p] < crd[q]; });
  if (kind == LevelKind::hashed && assumed.coordinates_differ)
    return all_pairs(crd.size(), [&](auto p, auto q) { return crd[p] != crd[q]; });
  if (kind == LevelKind::compressed_nonunique && assumed.chains_rise)
    return all_pairs(crd.size(), [&](auto p, auto q) {
      return std::pair(crd[p], fiber.below[p]) < std::pair(crd[q], fiber.below[q]);
    });
  return true;
}

/// Every fiber of at most four entries of a kind, of three where it is a chain.
void for_each_fiber(LevelKind kind, const AssumedOfArrays& assumed,
                    const std::function<void(const SmallFiber&)>& visit) {
  const bool chain = kind == LevelKind::compressed_nonunique;
  for (std::size_t size = 0; size <= (chain ? 3u : 4u); ++size) {
    for_each_vector(size, extent - 1, [&](const std::vector<int>& crd) {
      for_each_vector(chain ? size : 0, 2, [&](const std::vector<int>& below) {
        const SmallFiber fiber{crd, below};
        if (is_as_assumed(fiber, kind, assumed)) visit(fiber);
      });
    });
  }
}

// What the claims say, by looking at all entries and coordinates.

bool passed_holds(const SmallFiber& fiber) {
  return all_pairs(fiber.crd.size(), [&](auto p, auto q) { return fiber.crd[p] <= fiber.crd[q]; });
}
bool probe_holds(const SmallFiber& fiber) {
  for (int wanted = 0; wanted < extent; ++wanted)
    if (!std::ranges::is_partitioned(fiber.crd, [&](int stored) { return stored < wanted; })) return false;
  return true;
}
bool candidate_holds(const SmallFiber& fiber, bool runs) {
  for (int wanted = 0; wanted < extent; ++wanted) {
    for (auto stop = fiber.crd.begin(); stop != fiber.crd.end(); ++stop) {
      if (*stop < wanted) continue;
      auto behind = stop + 1;
      while (runs && *stop == wanted && behind != fiber.crd.end() && *behind == wanted) ++behind;
      if (std::find(behind, fiber.crd.end(), wanted) != fiber.crd.end()) return false;
    }
  }
  return true;
}
bool unique_holds(const SmallFiber& fiber) {
  return all_pairs(fiber.crd.size(), [&](auto p, auto q) { return fiber.crd[p] != fiber.crd[q]; });
}

/// Every fiber of at most three starts, with the lengths of their blocks: of one width, or of their own.
void for_each_row_of_blocks(std::uint64_t width, const AssumedOfArrays& assumed, const std::function<void(const SmallFiber&)>& visit) {
  for (std::size_t size = 0; size <= 3; ++size) {
    for_each_vector(size, extent - 1, [&](const std::vector<int>& crd) {
      for_each_vector(width == 0 ? size : 0, 2, [&](const std::vector<int>& drawn) {
        const SmallFiber fiber{crd, width == 0 ? drawn : std::vector<int>(size, static_cast<int>(width))};
        if (assumed.coordinates_rise && !is_as_assumed(fiber, LevelKind::compressed, {})) return;
        const auto apart = [&](auto p, auto q) { return crd[p] + fiber.below[p] <= crd[q]; };
        if (!assumed.starts_apart || all_pairs(size, apart)) visit(fiber);
      });
    });
  }
}
bool covers(const SmallFiber& fiber, std::size_t place, int wanted) {
  return fiber.crd[place] <= wanted && wanted < fiber.crd[place] + fiber.below[place];
}
bool passed_holds_of_blocks(const SmallFiber& fiber) {
  return all_pairs(fiber.crd.size(), [&](auto p, auto q) {
    for (int wanted = fiber.crd[q]; wanted < extent + 2; ++wanted)
      if (covers(fiber, p, wanted)) return false;
    return true;
  });
}
bool candidate_holds_of_blocks(const SmallFiber& fiber) {
  for (int wanted = 0; wanted < extent + 2; ++wanted) {
    for (std::size_t stop = 0; stop < fiber.crd.size(); ++stop) {
      if (fiber.crd[stop] > wanted) continue;
      bool above = false;  // one between that is above
      for (std::size_t other = 0; other < fiber.crd.size(); ++other) {
        above = above || (other > stop && fiber.crd[other] > wanted);
        if ((other < stop || above) && covers(fiber, other, wanted)) return false;
      }
    }
  }
  return true;
}
bool probe_holds_of_blocks(const SmallFiber& fiber) {
  for (int wanted = 0; wanted < extent; ++wanted)
    if (!std::ranges::is_partitioned(fiber.crd, [&](int stored) { return stored <= wanted; })) return false;
  return true;
}

// The searches of kernels: the first place not below, from a place on.

std::size_t bisected(const std::vector<int>& crd, std::size_t low, std::size_t end, int wanted) {
  for (std::size_t count = end - low; count > 0;) {
    const std::size_t middle = low + count / 2;
    const bool smaller = crd[middle] < wanted;
    low = smaller ? middle + 1 : low;
    count = smaller ? count - count / 2 - 1 : count / 2;
  }
  return low;
}
std::size_t galloped(const std::vector<int>& crd, std::size_t low, int wanted) {
  std::size_t probe = low;
  for (std::size_t step = 1; probe < crd.size() && crd[probe] < wanted; step *= 2) {
    low = probe + 1;
    probe += step;
  }
  return bisected(crd, low, std::min(probe, crd.size()), wanted);
}

/// Whether searching finds each coordinate that is there: by bisection, and by a cursor that follows every rising pair
/// of coordinates.
bool searches_find(const std::vector<int>& crd) {
  const auto finds = [&](std::size_t place, int wanted) { return place < crd.size() && crd[place] == wanted; };
  for (int wanted = 0; wanted < extent; ++wanted) {
    const bool there = std::ranges::find(crd, wanted) != crd.end();
    if (there != finds(bisected(crd, 0, crd.size(), wanted), wanted)) return false;
    for (int before = 0; before <= wanted; ++before) {
      const std::size_t finger = galloped(crd, 0, before);
      if (there != finds(galloped(crd, finger, wanted), wanted)) return false;
    }
  }
  return true;
}

struct FiberCase {
  std::string name;
  std::vector<Level> levels;
  Claim (*claim)(const Lookup&, const AssumedOfArrays&);
  std::function<bool(const SmallFiber&)> holds;
  bool AssumedOfArrays::*needed;  ///< without it the claim is refuted
};

const std::vector<Level> compressed = {{.kind = LevelKind::compressed}};
const std::vector<Level> chain = {{.kind = LevelKind::compressed_nonunique}, {.kind = LevelKind::singleton}};
const std::vector<Level> hashed = {{.kind = LevelKind::hashed}};

const std::vector<FiberCase> all = {
    {"passed, compressed", compressed, passed_claim, passed_holds, &AssumedOfArrays::coordinates_rise},
    {"passed, chain", chain, passed_claim, passed_holds, &AssumedOfArrays::chains_rise},
    {"candidate, compressed", compressed, candidate_claim,
     [](const SmallFiber& each) { return candidate_holds(each, false); }, &AssumedOfArrays::coordinates_rise},
    {"candidate, chain", chain, candidate_claim, [](const SmallFiber& each) { return candidate_holds(each, true); },
     &AssumedOfArrays::chains_rise},
    {"probe, compressed", compressed, probe_claim, probe_holds, &AssumedOfArrays::coordinates_rise},
    {"probe, chain", chain, probe_claim, probe_holds, &AssumedOfArrays::chains_rise},
    {"unique, hashed", hashed, unique_claim, unique_holds, &AssumedOfArrays::coordinates_differ}};

const std::vector<bool AssumedOfArrays::*> properties = {
    &AssumedOfArrays::fibers_in_order, &AssumedOfArrays::coordinates_rise, &AssumedOfArrays::chains_rise,
    &AssumedOfArrays::coordinates_differ, &AssumedOfArrays::below_extents};

bool holds_for_all(const FiberCase& each, const AssumedOfArrays& assumed) {
  bool holds = true;
  for_each_fiber(each.levels[0].kind, assumed, [&](const SmallFiber& fiber) { holds = holds && each.holds(fiber); });
  return holds;
}

}  // namespace

TEST_CASE("claims of searches hold for all small fibers, and without the property they rest on fail for one") {
  for (const FiberCase& each : all) {
    CAPTURE(each.name);
    const Lookup lookup{each.levels, 0, "x at j", "bisection"};
    CHECK(verdict_on(each.claim(lookup, {})) == Verdict::proven);
    CHECK(holds_for_all(each, {}));
    for (const auto property : properties) {
      AssumedOfArrays assumed;
      assumed.*property = false;
      CHECK((verdict_on(each.claim(lookup, assumed)) == Verdict::proven) == (property != each.needed));
      if (property == each.needed) CHECK_FALSE(holds_for_all(each, assumed));
    }
  }
}

namespace {

/// Whether the one block that covers a coordinate is found, by halves and by a cursor that follows what rises, which stays at the last
/// start that is not above.
bool covering_searches_find(const SmallFiber& fiber) {
  const auto last_not_above = [&](std::size_t from, int wanted) { return galloped(fiber.crd, from, wanted + 1); };
  for (int wanted = 0; wanted < extent + 2; ++wanted) {
    std::size_t there = fiber.crd.size();
    for (std::size_t place = 0; place < fiber.crd.size(); ++place) {
      if (!covers(fiber, place, wanted)) continue;
      if (there < fiber.crd.size()) return false;
      there = place;
    }
    const auto found = [&](std::size_t behind) { return behind > 0 && covers(fiber, behind - 1, wanted) ? behind - 1 : fiber.crd.size(); };
    if (found(bisected(fiber.crd, 0, fiber.crd.size(), wanted + 1)) != there) return false;
    for (int before = 0; before <= wanted; ++before) {
      const std::size_t behind = last_not_above(0, before);
      if (found(last_not_above(behind > 0 ? behind - 1 : 0, wanted)) != there) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("claims of covering searches hold for all small rows of blocks, and without a property they rest on fail for one") {
  struct Covering {
    std::string name;
    Claim (*claim)(const Lookup&, const AssumedOfArrays&);
    bool (*holds)(const SmallFiber&);
    bool of_starts;  ///< rests on blocks that do not overlap
  };
  const std::vector<Covering> claims = {{"passed", passed_claim, passed_holds_of_blocks, true},
                                        {"candidate", covering_claim, candidate_holds_of_blocks, true},
                                        {"probe", probe_claim, probe_holds_of_blocks, false}};
  for (const std::uint64_t width : {0, 2, 3}) {
    CAPTURE(width);
    const Lookup lookup{.levels = compressed, .level = 0, .what = "B at b", .skeleton = "covering search", .cover = width};
    const auto judge = [&](const AssumedOfArrays& assumed) {
      for (const Covering& each : claims) {
        CAPTURE(each.name);
        bool holds = true;
        for_each_row_of_blocks(width, assumed, [&](const SmallFiber& fiber) { holds = holds && each.holds(fiber); });
        CHECK((verdict_on(each.claim(lookup, assumed)) == Verdict::proven) == holds);
      }
      bool found = true;
      for_each_row_of_blocks(width, assumed, [&](const SmallFiber& fiber) { found = found && covering_searches_find(fiber); });
      return found;
    };
    CHECK(judge({}));
    CHECK_FALSE(judge({.starts_apart = false}));
    judge({.coordinates_rise = false});  // starts of one width rise where they are apart
    CHECK_FALSE(judge({.coordinates_rise = false, .starts_apart = false}));
    for (const Covering& each : claims) {
      CHECK(verdict_on(each.claim(lookup, {})) == Verdict::proven);
      CHECK((verdict_on(each.claim(lookup, {.starts_apart = false})) == Verdict::refuted) == each.of_starts);
    }
  }
}

TEST_CASE("claims of searches hold for all small fibers that fall, and without that fail for one") {
  const Lookup lookup{.levels = compressed, .level = 0, .what = "x at j", .skeleton = "bisection downwards", .falls = true};
  const auto every = [](bool falls, const std::function<bool(const SmallFiber&)>& holds) {
    bool all_hold = true;
    for_each_fiber(LevelKind::compressed, {.coordinates_rise = false}, [&](const SmallFiber& fiber) {
      if (!falls || all_pairs(fiber.crd.size(), [&](auto p, auto q) { return fiber.crd[p] > fiber.crd[q]; }))
        all_hold = all_hold && holds(turned(fiber));
    });
    return all_hold;
  };
  const std::vector<std::pair<Claim (*)(const Lookup&, const AssumedOfArrays&), std::function<bool(const SmallFiber&)>>> claims = {
      {passed_claim, passed_holds},
      {candidate_claim, [](const SmallFiber& each) { return candidate_holds(each, false); }},
      {probe_claim, probe_holds}};
  for (const auto& [claim, holds] : claims) {
    CHECK(verdict_on(claim(lookup, {})) == Verdict::proven);
    CHECK(verdict_on(claim(lookup, {.coordinates_rise = false})) == Verdict::proven);
    CHECK(every(true, holds));
    CHECK(verdict_on(claim(lookup, {.coordinates_fall = false})) == Verdict::refuted);
    CHECK_FALSE(every(false, holds));
  }
  CHECK(every(true, [](const SmallFiber& each) { return searches_find(each.crd); }));
  CHECK_FALSE(every(false, [](const SmallFiber& each) { return searches_find(each.crd); }));
}

TEST_CASE("coordinates in no order differ, and without that one has two places") {
  const Lookup lookup{.levels = compressed, .level = 0, .what = "x at j", .skeleton = "scan", .unordered = true};
  for (const bool rise : {true, false}) {
    CHECK(verdict_on(unique_claim(lookup, {.coordinates_rise = rise})) == Verdict::proven);
    CHECK(verdict_on(unique_claim(lookup, {.coordinates_rise = rise, .coordinates_differ = false})) == Verdict::refuted);
  }
}

TEST_CASE("claims of starts that fall, or come in no order, hold for all small rows of blocks") {
  for (const std::uint64_t width : {0, 2, 3}) {
    CAPTURE(width);
    Lookup falling{.levels = compressed, .level = 0, .what = "B at b", .skeleton = "covering search downwards", .falls = true};
    Lookup scanned{.levels = compressed, .level = 0, .what = "B at b", .skeleton = "covering scan", .unordered = true};
    falling.cover = scanned.cover = width;
    for (const bool rise : {true, false}) {
      for (const auto claim : {covering_claim, probe_claim})
        CHECK(verdict_on(claim(falling, {.coordinates_rise = rise})) == Verdict::proven);
      CHECK(verdict_on(covering_claim(scanned, {.coordinates_rise = rise})) == Verdict::proven);
      CHECK(verdict_on(covering_claim(falling, {.coordinates_rise = rise, .starts_apart = false})) == Verdict::refuted);
      CHECK(verdict_on(covering_claim(scanned, {.coordinates_rise = rise, .starts_apart = false})) == Verdict::refuted);
    }
    CHECK(verdict_on(probe_claim(falling, {.coordinates_fall = false, .starts_apart = false})) == Verdict::refuted);
    // The greatest that is not above is the one that covers, in whatever order they stand, where blocks do not overlap, and else is not.
    const auto greatest_covers = [&](bool apart) {
      bool holds = true;
      for_each_row_of_blocks(width, {.coordinates_rise = apart, .starts_apart = apart}, [&](const SmallFiber& fiber) {
        for (int wanted = 0; wanted < extent + 2; ++wanted) {
          std::size_t greatest = fiber.crd.size(), there = fiber.crd.size();
          for (std::size_t place = 0; place < fiber.crd.size(); ++place) {
            if (fiber.crd[place] <= wanted && (greatest == fiber.crd.size() || fiber.crd[place] > fiber.crd[greatest])) greatest = place;
            if (covers(fiber, place, wanted)) there = place;
          }
          holds = holds && (there == fiber.crd.size() || there == greatest);
        }
      });
      return holds;
    };
    CHECK(greatest_covers(true));
    CHECK_FALSE(greatest_covers(false));
  }
}

TEST_CASE("below a run of a chain entries rise strictly") {
  const Lookup lookup{chain, 1, "T at j", "bisection"};
  for (const auto claim : {passed_claim, candidate_claim, probe_claim}) {
    CHECK(verdict_on(claim(lookup, {})) == Verdict::proven);
    CHECK(verdict_on(claim(lookup, {.chains_rise = false})) == Verdict::refuted);
  }
  // Of all chains with the same first coordinates.
  for_each_fiber(LevelKind::compressed_nonunique, {}, [](const SmallFiber& fiber) {
    if (std::ranges::adjacent_find(fiber.crd, std::not_equal_to()) != fiber.crd.end()) return;
    CHECK(passed_holds({fiber.below, {}}));
    CHECK(candidate_holds({fiber.below, {}}, false));
    CHECK(probe_holds({fiber.below, {}}));
  });
}

TEST_CASE("searches find what is there in fibers of which their claims are proven, and miss it in one of the others") {
  for_each_fiber(LevelKind::compressed, {}, [](const SmallFiber& fiber) { CHECK(searches_find(fiber.crd)); });
  for_each_fiber(LevelKind::compressed_nonunique, {}, [](const SmallFiber& fiber) { CHECK(searches_find(fiber.crd)); });
  bool found = true;
  for_each_fiber(LevelKind::compressed, {.coordinates_rise = false},
                 [&](const SmallFiber& fiber) { found = found && searches_find(fiber.crd); });
  CHECK_FALSE(found);
}

TEST_CASE("a full fiber is a table, and without what is said of it is none") {
  const Lookup lookup{compressed, 0, "x at j", "table"};
  const auto is_table = [](const std::vector<int>& crd, int wanted) {
    return static_cast<std::size_t>(wanted) < crd.size() && crd[static_cast<std::size_t>(wanted)] == wanted;
  };
  CHECK(verdict_on(table_claim(lookup, {})) == Verdict::proven);
  for_each_fiber(LevelKind::compressed, {}, [&](const SmallFiber& fiber) {
    if (fiber.crd.size() < extent) return;
    for (int wanted = 0; wanted < extent; ++wanted) CHECK(is_table(fiber.crd, wanted));
  });
  CHECK(verdict_on(table_claim(lookup, {.coordinates_rise = false})) == Verdict::refuted);
  CHECK_FALSE(is_table({1, 0, 2, 3}, 0));
  CHECK(verdict_on(table_claim(lookup, {.below_extents = false})) == Verdict::refuted);
  CHECK_FALSE(is_table({1, 2, 3, 4}, 0));
  CHECK(verdict_on(table_claim(lookup, {.fibers_full = false})) == Verdict::refuted);
  CHECK_FALSE(is_table({1, 2, 3}, 1));
}

TEST_CASE("places by extent are unique whatever the arrays hold") {
  const std::vector<Level> bitmap = {{.kind = LevelKind::bitmap}};
  AssumedOfArrays nothing;
  for (const auto property : properties) nothing.*property = false;
  CHECK(verdict_on(unique_claim({bitmap, 0, "x at j", "bitmap"}, nothing)) == Verdict::proven);
}

}  // namespace fiber_claims_test
