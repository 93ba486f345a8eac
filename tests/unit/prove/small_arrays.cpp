#include "tests/unit/prove/small_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace weft::test {
namespace {

using loop::AccessId;
using loop::Program;
using loop::Use;

bool is_head(LevelKind kind) {
  return kind == LevelKind::compressed || kind == LevelKind::compressed_nonunique || kind == LevelKind::hashed;
}

class Drawn {
 public:
  Drawn(const std::vector<Level>& levels, const std::vector<int>& extents, int entries, const AssumedOfArrays& assumed,
        const std::function<void(const SmallArrays&)>& visit)
      : levels_(levels), extents_(extents), entries_(entries), assumed_(assumed), visit_(visit) {
    arrays_.pos.resize(levels.size());
    arrays_.crd.resize(levels.size());
  }

  /// `parents`: positions of the level above.
  void draw(std::size_t level, int parents) {
    if (level == levels_.size()) {
      if (is_as_assumed()) visit_(arrays_);
      return;
    }
    const LevelKind kind = levels_[level].kind;
    if (kind == LevelKind::dense) return draw(level + 1, parents * extents_[level]);
    if (kind == LevelKind::singleton) return draw_coordinates(level, parents);
    for (int total = 0; total <= entries_; ++total) {
      for_each_vector(static_cast<std::size_t>(parents) + 1, total, [&](const std::vector<int>& pos) {
        if (assumed_.fibers_in_order && !(std::ranges::is_sorted(pos) && pos.front() == 0 && pos.back() == total))
          return;
        arrays_.pos[level] = pos;
        draw_coordinates(level, total);
      });
    }
  }

 private:
  void draw_coordinates(std::size_t level, int count) {
    const int most = assumed_.below_extents ? extents_[level] - 1 : extents_[level];
    for_each_vector(static_cast<std::size_t>(count), most, [&](const std::vector<int>& crd) {
      arrays_.crd[level] = crd;
      draw(level + 1, count);
    });
  }

  bool is_as_assumed() const {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      if (!is_head(levels_[level].kind)) continue;
      for (std::size_t fiber = 0; fiber + 1 < arrays_.pos[level].size(); ++fiber)
        if (!is_as_assumed(level, arrays_.pos[level][fiber], arrays_.pos[level][fiber + 1])) return false;
    }
    return true;
  }

  bool is_as_assumed(std::size_t level, int begin, int end) const {
    const LevelKind kind = levels_[level].kind;
    for (int p = begin; p < end; ++p) {
      for (int q = p + 1; q < end; ++q) {
        const std::vector<int> one = chain_at(level, p);
        const std::vector<int> other = chain_at(level, q);
        if (kind == LevelKind::compressed && assumed_.coordinates_rise && one[0] >= other[0]) return false;
        if (kind == LevelKind::hashed && assumed_.coordinates_differ && one[0] == other[0]) return false;
        if (kind == LevelKind::compressed_nonunique && assumed_.chains_rise && one >= other) return false;
      }
    }
    return true;
  }

  std::vector<int> chain_at(std::size_t level, int position) const {
    std::vector<int> coordinates = {arrays_.crd[level][static_cast<std::size_t>(position)]};
    while (++level < levels_.size() && levels_[level].kind == LevelKind::singleton)
      coordinates.push_back(arrays_.crd[level][static_cast<std::size_t>(position)]);
    return coordinates;
  }

  const std::vector<Level>& levels_;
  const std::vector<int>& extents_;
  int entries_;
  const AssumedOfArrays& assumed_;
  const std::function<void(const SmallArrays&)>& visit_;
  SmallArrays arrays_;
};

/// Positions of an entry: several above the last level of a chain.
struct Reached {
  int begin = 0;
  int end = 1;
};

class LoopsOverArrays {
 public:
  LoopsOverArrays(const Program& program, const SmallArrays& arrays, const std::vector<int>& extents)
      : program_(program),
        arrays_(arrays),
        extents_(extents),
        coordinate_(program.indices.size()),
        reached_(program.accesses.size(), {{}}) {}

  std::set<std::string> broken() {
    for (const loop::Statement& statement : program_.body) run(statement);
    return broken_;
  }

 private:
  struct Finger {
    std::optional<int> parent, target;
  };

  const std::vector<Level>& levels_of(AccessId access) const {
    return program_.storages[program_.accesses[access].storage].levels;
  }

  bool has_arrays(AccessId access) const {
    const loop::StorageId storage = program_.accesses[access].storage;
    return storage == 0 || loop::pattern_of(program_, storage) == std::optional<loop::StorageId>(0);
  }

  void run(const loop::Statement& statement) {
    if (const auto* accumulate = std::get_if<loop::Accumulate>(&statement.node)) return write(accumulate->target);
    if (const auto* each = std::get_if<loop::For>(&statement.node)) return run(*each);
  }

  void run(const loop::For& each) {
    std::map<AccessId, Finger> fingers;
    std::erase_if(kept_, [&](const auto& one) { return one.first.first == each.index; });
    const bool is_root = depth_++ == 0;
    if (is_root) root_ = &each;
    const auto body = [&](int coordinate, std::optional<Reached> driven) {
      if (is_root) ++root_iteration_;
      coordinate_[each.index] = coordinate;
      for (const loop::IndexDefinition& given : program_.definitions)
        if (given.is_given_by(each.index)) coordinate_[given.index] = given_coordinate(given);
      take(each, 0, driven, fingers);
    };
    const auto drives = std::ranges::find(each.steps, Use::drive, &loop::Step::use);
    if (drives == each.steps.end()) {
      for (int coordinate = 0; coordinate < extents_[each.index]; ++coordinate) body(coordinate, {});
    } else {
      for (const Reached& entry : entries_below(drives->access))
        body(coordinate_at(drives->access, entry.begin), entry);
    }
    --depth_;
  }

  /// Of the loops entered; of a sum below 0 the extent, where there is nothing. Of a start of blocks what it is to cover.
  int given_coordinate(const loop::IndexDefinition& given) const {
    auto sum = static_cast<int>(given.offset);
    for (const loop::Summand& summand : given.of) {
      const auto of = static_cast<std::uint64_t>(coordinate_[summand.index]);
      sum += static_cast<int>(summand.factor) * static_cast<int>(summand.part.coordinate(of));
    }
    return sum < 0 ? static_cast<int>(given.extent.value_or(0)) : static_cast<int>(given.part.coordinate(static_cast<std::uint64_t>(sum)));
  }

  std::size_t level_of(AccessId access) const { return reached_[access].size() - 1; }

  int coordinate_at(AccessId access, int position) const {
    return arrays_.crd[level_of(access)][static_cast<std::size_t>(position)];
  }

  /// Of the next level: runs of equal coordinates where a chain goes on below.
  std::vector<Reached> entries_below(AccessId access) const {
    const std::size_t level = level_of(access);
    const LevelKind kind = levels_of(access)[level].kind;
    Reached fiber = reached_[access].back();
    if (is_head(kind)) {
      const auto parent = static_cast<std::size_t>(fiber.begin);
      fiber = {arrays_.pos[level][parent], arrays_.pos[level][parent + 1]};
    }
    std::vector<Reached> entries;
    const bool has_runs =
        level + 1 < levels_of(access).size() && levels_of(access)[level + 1].kind == LevelKind::singleton;
    for (int p = fiber.begin; p < fiber.end;) {
      int end = p + 1;
      while (has_runs && end < fiber.end && coordinate_at(access, end) == coordinate_at(access, p)) ++end;
      entries.push_back({p, end});
      p = end;
    }
    return entries;
  }

  /// The steps from `number` on, then the body; everything is undone at the end.
  void take(const loop::For& each, std::size_t number, const std::optional<Reached>& driven,
            std::map<AccessId, Finger>& fingers) {
    if (number == each.steps.size()) {
      for (const loop::Statement& statement : each.body) run(statement);
      return;
    }
    const loop::Step& step = each.steps[number];
    const std::size_t level = level_of(step.access);
    const int coordinate = coordinate_[program_.accesses[step.access].indices[level]];
    if (step.use == Use::drive) {
      go_on(each, number, *driven, driven, fingers);
      return;
    }
    const bool at_sum = loop::is_at_sum(program_, program_.accesses[step.access], level);
    const bool covers = loop::cover_at(program_, program_.accesses[step.access], level) != nullptr;
    const bool beyond = coordinate >= extent_of(program_.accesses[step.access].indices[level]);
    if (at_sum && !covers && beyond) return;  // out of range: nothing is looked up
    if (step.algorithm == loop::Algorithm::gallop)
      look_up(step.home ? kept_[{*step.home, step.access}] : fingers[step.access], reached_[step.access].back().begin, coordinate);
    if (step.use == Use::append) append(step.access, level);
    if (has_arrays(step.access) && levels_of(step.access)[level].kind != LevelKind::dense) {
      for (const Reached& entry : entries_below(step.access)) {
        if (coordinate_at(step.access, entry.begin) != coordinate) continue;
        go_on(each, number, entry, driven, fingers);
        return;
      }
      return;
    }
    const int extent = extent_of(program_.accesses[step.access].indices[level]);
    if (step.use != Use::append && coordinate >= extent) {
      if (levels_of(step.access)[level].kind == LevelKind::dense) broken_.insert("within");
      return;  // a sparse level has no entry there
    }
    const int position = reached_[step.access].back().begin * extent + coordinate;
    go_on(each, number, {position, position + 1}, driven, fingers);
  }

  int extent_of(loop::IndexId index) const {
    const loop::IndexDefinition* const given = loop::definition_of(program_, index);
    if (given == nullptr) return extents_[index];
    return static_cast<int>(loop::given_extent(*given, static_cast<std::uint64_t>(extents_[given->of.front().index])));
  }

  void go_on(const loop::For& each, std::size_t number, Reached entry, const std::optional<Reached>& driven,
             std::map<AccessId, Finger>& fingers) {
    const AccessId access = each.steps[number].access;
    reached_[access].push_back(entry);
    take(each, number + 1, driven, fingers);
    reached_[access].pop_back();
  }

  void look_up(Finger& finger, int parent, int target) {
    if (finger.parent.value_or(parent) != parent || finger.target.value_or(target) > target) broken_.insert("cursor");
    finger = {parent, target};
  }

  void append(AccessId access, std::size_t level) {
    std::vector<int> tuple;
    for (std::size_t l = 0; l <= level; ++l) tuple.push_back(coordinate_[program_.accesses[access].indices[l]]);
    const auto [last, is_first] = appended_.try_emplace({access, level}, tuple);
    if (!is_first && tuple <= last->second) broken_.insert("append");
    last->second = tuple;
  }

  void write(AccessId target) {
    const loop::ParallelTarget owned{program_.accesses[target].storage, loop::Reduction::owner};
    if (std::ranges::find(root_->marks.parallel, owned) == root_->marks.parallel.end()) return;
    const auto [writer, is_first] = written_.try_emplace(reached_[target].back().begin, root_iteration_);
    if (!is_first && writer->second != root_iteration_) broken_.insert("owner");
  }

  const Program& program_;
  const SmallArrays& arrays_;
  const std::vector<int>& extents_;
  std::vector<int> coordinate_;                // by index
  std::map<std::pair<loop::IndexId, AccessId>, Finger> kept_;  // above loops further out, by the index of these
  std::vector<std::vector<Reached>> reached_;  // by access: the root, then an entry of each level that is bound
  std::size_t depth_ = 0;
  const loop::For* root_ = nullptr;
  int root_iteration_ = 0;
  std::map<std::pair<AccessId, std::size_t>, std::vector<int>> appended_;
  std::map<int, int> written_;  // by position of the target: the iteration of the root
  std::set<std::string> broken_;
};

}  // namespace

void for_each_vector(std::size_t size, int most, const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> numbers(size, 0);
  while (true) {
    visit(numbers);
    std::size_t n = size;
    while (n > 0 && ++numbers[n - 1] > most) numbers[--n] = 0;
    if (n == 0) return;
  }
}

std::string print(const SmallArrays& arrays) {
  std::string text;
  for (std::size_t level = 0; level < arrays.pos.size(); ++level)
    text += fmt::format("level {}: pos {} crd {}; ", level, fmt::join(arrays.pos[level], " "),
                        fmt::join(arrays.crd[level], " "));
  return text;
}

void for_each_arrays(const std::vector<Level>& levels, const std::vector<int>& extents, int entries,
                     const AssumedOfArrays& assumed, const std::function<void(const SmallArrays&)>& visit) {
  Drawn(levels, extents, entries, assumed, visit).draw(0, 1);
}

std::set<std::string> broken_claims(const Program& program, const SmallArrays& arrays,
                                    const std::vector<int>& extents) {
  return LoopsOverArrays(program, arrays, extents).broken();
}

}  // namespace weft::test
