#include "engine/lower/forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "engine/lower/drains.h"
#include "engine/lower/lives.h"
#include "engine/lower/prefetch.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// An access of one statement. Factors that are the same element of the same tensor have one: s = T(i,j) * T(i,j) walks T once.
struct Cursor {
  const NestAccess* access = nullptr;
  loop::AccessId id = 0;
  std::uint32_t statement = 0;              ///< of the nest
  std::vector<std::uint32_t> factors = {};  ///< that are this access; none: the target
  bool is_target() const { return factors.empty(); }
};

/// Levels bound so far, by cursor. A value: every branch of the forest continues from its parent's.
using BoundLevels = std::vector<std::size_t>;

/// A step with the level it binds.
struct LevelStep {
  loop::Step step;
  const Cursor* cursor = nullptr;
  LevelKind kind = LevelKind::dense;
  std::size_t level = 0;
};

/// How the threads that share the root loop over `index` share what is written below it.
std::vector<loop::ParallelTarget> parallel_targets(const Nest& nest, StatementRange group, IndexId index) {
  std::vector<loop::ParallelTarget> targets;
  if (nest.root == RootReduction::serial) return targets;
  for (std::size_t number = group.first; number <= group.last; ++number) {
    const NestAccess& target = nest.statements[number].target;
    if (nest.storages[target.storage].storage.role != loop::Role::output) continue;
    const bool owns_rows = first_level_of(target, index) < target.indices.size();
    loop::ParallelTarget mark{target.storage, owns_rows ? loop::Reduction::owner : loop::Reduction::private_copies};
    if (is_appended(nest.storages[target.storage]))
      mark.reduction = nest.root == RootReduction::counted ? loop::Reduction::count : loop::Reduction::append;
    if (std::ranges::find(targets, mark) == targets.end()) targets.push_back(mark);
  }
  return targets;
}

class ForestBuilder {
 public:
  ForestBuilder(const Nest& nest, const Network& network)
      : nest_(nest), network_(network), lives_(workspace_lives(nest)) {
    add_storages();
    add_accesses();
  }

  LoweredNest build() {
    lowered_.program.name = nest_.storages[nest_.statements.back().target.storage].storage.name;
    lowered_.program.body = block({0, nest_.statements.size() - 1}, 0, BoundLevels(cursors_.size(), 0));
    for (std::size_t number = 0; number < cursors_.size(); ++number) {
      loop::Access& access = lowered_.program.accesses[cursors_[number].id];
      access.indices.clear();
      const NestAccess& read = *cursors_[number].access;
      for (std::size_t level = 0; level < read.indices.size(); ++level)
        access.indices.push_back(index_at(read, level));
    }
    return std::move(lowered_);
  }

 private:
  void add_storages() {
    for (const NestStorage& storage : nest_.storages) {
      lowered_.program.storages.push_back(storage.storage);
      lowered_.tensors.push_back(storage.tensor);
      names_.insert(storage.storage.name);
    }
  }

  std::string access_name(loop::StorageId storage) {
    const std::string& name = nest_.storages[storage].storage.name;
    if (uses_[storage] == 1) return name;
    std::string numbered;
    do {
      numbered = fmt::format("{}.{}", name, ++named_[storage]);
    } while (names_.contains(numbered));
    return numbered;
  }

  void add_access(const NestAccess& access, std::uint32_t statement, std::vector<std::uint32_t> factors) {
    const bool is_workspace = nest_.storages[access.storage].storage.role == loop::Role::workspace;
    const auto known = workspace_access_.find(access.storage);
    loop::AccessId id = 0;
    if (is_workspace && known != workspace_access_.end()) {
      id = known->second;
    } else {
      id = static_cast<loop::AccessId>(lowered_.program.accesses.size());
      lowered_.program.accesses.push_back(
          {is_workspace ? nest_.storages[access.storage].storage.name : access_name(access.storage),
           access.storage,
           {}});
      if (is_workspace) workspace_access_[access.storage] = id;
    }
    cursors_.push_back({&access, id, statement, std::move(factors)});
  }

  void add_accesses() {
    uses_.assign(nest_.storages.size(), 0);
    named_.assign(nest_.storages.size(), 0);
    for (const NestStatement& statement : nest_.statements) {
      ++uses_[statement.target.storage];
      for (const std::vector<std::uint32_t>& same : equal_factors(statement)) ++uses_[statement.factors[same.front()].storage];
    }
    for (std::uint32_t number = 0; number < nest_.statements.size(); ++number) {
      const NestStatement& statement = nest_.statements[number];
      for (std::vector<std::uint32_t>& same : equal_factors(statement)) {
        const NestAccess& access = statement.factors[same.front()];
        add_access(access, number, std::move(same));
      }
      add_access(statement.target, number, {});
    }
  }

  /// The factors of a statement, those together that are one access, in the order of their first.
  static std::vector<std::vector<std::uint32_t>> equal_factors(const NestStatement& statement) {
    std::vector<std::vector<std::uint32_t>> groups;
    for (std::uint32_t factor = 0; factor < statement.factors.size(); ++factor) {
      const auto same = std::ranges::find_if(
          groups, [&](const auto& group) { return statement.factors[group.front()] == statement.factors[factor]; });
      if (same != groups.end()) same->push_back(factor);
      else groups.push_back({factor});
    }
    return groups;
  }

  loop::IndexId index_of(IndexId index) {
    const auto [place, is_new] = indices_.try_emplace(index, static_cast<loop::IndexId>(lowered_.indices.size()));
    if (is_new) {
      // Indices of different assignments may have one name.
      std::string name = network_.indices[index].name;
      for (int number = 2; std::ranges::find(lowered_.program.indices, name) != lowered_.program.indices.end();
           ++number) {
        name = fmt::format("{}_{}", network_.indices[index].name, number);
      }
      lowered_.program.indices.push_back(std::move(name));
      lowered_.indices.push_back(index);
    }
    return place->second;
  }

  /// The index of a level of an access: one that has loops, or is given by some, "j_4" of j / 4, "j_4_rest" of j % 4, "j_i" of j - i + 3,
  /// "j_start" of cover(j, 4), "j_inside" of j less that.
  loop::IndexId index_at(const NestAccess& access, std::size_t level) {
    const NestStorage& storage = nest_.storages[access.storage];
    const loop::IndexId own = index_of(access.indices[level]);
    if (!storage.is_given(level)) return own;
    const auto start = starts_.find({&access, level});
    if (start != starts_.end()) return start->second;
    loop::Program& program = lowered_.program;
    loop::IndexDefinition definition{.index = 0, .of = {{own}}};
    std::string name = program.indices[own];
    if (storage.is_sum(level)) {
      const ModeSum& sum = storage.sums[level];
      definition.of.front().factor = sum.factor;
      definition.of.front().part = sum.part;
      definition.offset = sum.offset;
      definition.extent = storage.extents[level];
      definition.cover = sum.cover;
      for (const ModeSum::Other& other : sum.others) {
        const bool counts = storage.is_cover(other.mode);
        definition.of.push_back({counts ? index_at(access, other.mode) : index_of(access.indices[other.mode]), other.factor, other.part});
        name += counts ? "_inside" : "_" + program.indices[definition.of.back().index];
      }
      if (sum.others.empty()) name += sum.cover ? "_start" : "_moved";
    } else {
      definition.part = storage.parts[level];
      if (definition.part.divisor != 1) name += fmt::format("_{}", definition.part.divisor);
      if (definition.part.modulus != 0) name += fmt::format("_{}_rest", definition.part.modulus);
    }
    for (const loop::IndexDefinition& known : program.definitions) {
      definition.index = known.index;
      if (known == definition && !definition.cover) return known.index;  // each access finds its own start
    }
    while (std::ranges::find(program.indices, name) != program.indices.end()) name += "_";
    definition.index = static_cast<loop::IndexId>(program.indices.size());
    program.indices.push_back(std::move(name));
    lowered_.indices.push_back(lowered_.indices[own]);
    program.definitions.push_back(std::move(definition));
    if (storage.is_cover(level)) starts_[{&access, level}] = program.definitions.back().index;
    return program.definitions.back().index;
  }

  /// The statements of `range` share their first `depth` loops.
  loop::Block block(StatementRange range, std::size_t depth, const BoundLevels& bound) {
    std::vector<WorkspaceLife> lives;
    for (const WorkspaceLife& life : lives_) {
      if (life.depth == depth && range.first <= life.first && life.last <= range.last) lives.push_back(life);
    }
    return block_with(range, depth, bound, std::move(lives));
  }

  loop::Block block_with(StatementRange range, std::size_t depth, const BoundLevels& bound,
                         std::vector<WorkspaceLife> lives) {
    loop::Block result;
    for (std::size_t first = range.first; first <= range.last;) {
      const StatementRange group{first, last_sharer(nest_.statements, first, depth)};
      const auto opened = std::ranges::find_if(
          lives, [&](const WorkspaceLife& life) { return group.contains(life.first); });
      if (opened == lives.end()) {
        result.push_back(statement(group, depth, bound));
        first = group.end();
        continue;
      }
      // A workspace that is first written inside but read later lives on: this one then lives as long.
      const WorkspaceLife with = *opened;
      lives.erase(opened);
      StatementRange live{group.first, last_sharer(nest_.statements, with.last, depth)};
      std::vector<WorkspaceLife> inner;
      for (bool grew = true; grew;) {
        grew = false;
        for (const WorkspaceLife& life : lives) {
          if (life.first <= live.last && life.last > live.last) {
            live.last = last_sharer(nest_.statements, life.last, depth);
            grew = true;
          }
        }
      }
      for (const WorkspaceLife& life : lives) {
        if (life.first >= live.first && life.last <= live.last) inner.push_back(life);
      }
      std::erase_if(lives, [&](const WorkspaceLife& life) { return life.first <= live.last; });
      result.push_back({loop::With{with.storage, block_with(live, depth, bound, std::move(inner))}});
      first = live.end();
    }
    return result;
  }

  loop::Statement statement(StatementRange group, std::size_t depth, const BoundLevels& bound) {
    if (nest_.statements[group.first].loops.size() == depth) return {accumulate(group.first)};
    return {loop_over(group, depth, bound)};
  }

  loop::Accumulate accumulate(std::size_t number) {
    const NestStatement& statement = nest_.statements[number];
    loop::Accumulate result;
    result.factors.resize(statement.factors.size());
    for (const Cursor& cursor : cursors_) {
      if (cursor.statement != number) continue;
      if (cursor.is_target()) result.target = cursor.id;
      for (const std::uint32_t factor : cursor.factors) result.factors[factor] = cursor.id;
    }
    const NestStorage& target = nest_.storages[statement.target.storage];
    if (target.scaled || (statement.coefficient != 1 && statement.coefficient != -1)) {
      result.coefficient = static_cast<std::uint32_t>(lowered_.coefficients.size());
      lowered_.coefficients.push_back(statement.coefficient);
      lowered_.scaled.push_back(target.storage.role == loop::Role::output ? target.tensor : ~0u);
    } else {
      result.negative = statement.coefficient == -1;
    }
    return result;
  }

  loop::For loop_over(StatementRange group, std::size_t depth, const BoundLevels& before) {
    const std::vector<IndexId>& loops = nest_.statements[group.first].loops;
    const IndexId index = loops[depth];
    lowered_.loops.push_back(origin(group, depth));
    loop::For result;
    result.index = index_of(index);
    BoundLevels bound = before;
    const std::vector<LevelStep> steps = bind(group, depth, bound);
    for (const LevelStep& step : steps) result.steps.push_back(step.step);
    result.marks = marks(group, depth, steps);
    result.body = block(group, depth + 1, bound);
    return result;
  }

  LoopOrigin origin(StatementRange group, std::size_t depth) const {
    for (std::size_t number = group.first; number <= group.last; ++number) {
      const std::uint32_t statement = nest_.statements[number].origin;
      if (statement != ~0u) return {statement, static_cast<std::uint32_t>(depth)};
    }
    return {};
  }

  /// The steps of the loop at `depth` of a group; advances `bound` past the levels they bind.
  std::vector<LevelStep> bind(StatementRange group, std::size_t depth, BoundLevels& bound) const {
    const std::vector<IndexId>& loops = nest_.statements[group.first].loops;
    const IndexId index = loops[depth];
    const Intersection* intersection = intersection_of(group, index);
    std::vector<LevelStep> steps;
    for (std::size_t number = 0; number < cursors_.size(); ++number) {
      const Cursor& cursor = cursors_[number];
      if (!group.contains(cursor.statement) || !is_live(cursor, depth)) continue;
      const std::vector<IndexId>& indices = cursor.access->indices;
      std::size_t& level = bound[number];
      const NestStorage& storage = nest_.storages[cursor.access->storage];
      const auto are_bound = [&] {
        return std::ranges::all_of(storage.indices_at(*cursor.access, level), [&](IndexId each) { return is_bound(loops, depth, each); });
      };
      if (level == indices.size() || std::ranges::count(storage.indices_at(*cursor.access, level), index) == 0 || !are_bound()) continue;
      bool is_late = storage.is_located(level);
      while (level < indices.size() && are_bound()) {
        const LevelKind kind = storage.storage.levels[level].kind;
        steps.push_back({step(cursor, level, is_late, intersection), &cursor, kind, level});
        is_late = true;
        ++level;
      }
    }
    // A finger moves along with a driver; without one there is nothing to be carried along.
    for (LevelStep& each : steps) {
      if (!is_driven(steps) && each.step.algorithm == loop::Algorithm::gallop) {
        each.step.algorithm = loop::Algorithm::standard;
      }
    }
    follow_what_rises(steps, index);
    std::vector<LevelStep> ordered;
    for (const loop::Use use : {loop::Use::drive, loop::Use::locate, loop::Use::insert, loop::Use::append}) {
      std::ranges::copy_if(steps, std::back_inserter(ordered),
                           [use](const LevelStep& each) { return each.step.use == use; });
    }
    return sorted_where_needed(std::move(ordered), group, depth);
  }

  /// Workspaces that know their entries drive in the order in which these were made, hashed levels of operands in that of
  /// their slots, unless something needs more.
  std::vector<LevelStep> sorted_where_needed(std::vector<LevelStep> steps, StatementRange group, std::size_t depth) const {
    const auto drives = std::ranges::count_if(steps, [](const LevelStep& s) { return s.step.use == loop::Use::drive; });
    bool needed = drives > 1 || appends_below(group, depth);
    for (std::size_t number = group.first; number <= group.last; ++number) {
      for (const Intersection& each : nest_.statements[number].intersections) {
        needed = needed || std::ranges::any_of(each.parts, &Intersection::Part::gallop);
      }
    }
    for (LevelStep& each : steps) {
      const bool is_key = may_be_key(each.kind);
      if (!is_key || each.step.use != loop::Use::drive) continue;
      const NestStorage& storage = nest_.storages[each.cursor->access->storage];
      if (storage.storage.role == loop::Role::input) {
        const bool gallops = std::ranges::any_of(
            steps, [](const LevelStep& other) { return other.step.algorithm == loop::Algorithm::gallop; });
        if (drives > 1 || gallops || appends_below(group, depth)) each.step.algorithm = loop::Algorithm::sort;
        continue;
      }
      const bool is_joined = storage.storage.levels[each.level].joined;
      if (!is_joined && (needed || merges_below(storage, each.level, group) || !is_driven_next(storage, each.level, group))) {
        each.step.algorithm = loop::Algorithm::sort;
      }
    }
    return steps;
  }

  /// Whether the loop at `depth`, or one inside it, appends to something that lives outside.
  bool appends_below(StatementRange group, std::size_t depth) const {
    for (std::size_t number = group.first; number <= group.last; ++number) {
      const NestStatement& statement = nest_.statements[number];
      const NestStorage& target = nest_.storages[statement.target.storage];
      if (!is_appended(target)) continue;
      const std::size_t appended = appended_levels(target.storage.levels);
      for (std::size_t level = 0; level < appended; ++level) {
        const auto own = std::ranges::find(statement.loops, statement.target.indices[level]) - statement.loops.begin();
        if (static_cast<std::size_t>(own) >= depth) return true;
      }
    }
    return false;
  }

  /// Whether the loop over the next mode of a key is all there is in the loop over the one before, for all its modes: else
  /// a coordinate would come up once for every entry that has it.
  bool is_driven_next(const NestStorage& storage, std::size_t level, StatementRange group) const {
    const std::vector<Level>& levels = storage.storage.levels;
    const std::vector<IndexId>& loops = nest_.statements[group.first].loops;
    auto loop = std::ranges::find(loops, storage.indices[level]);
    for (; level + 1 < levels.size() && levels[level + 1].joined; ++level) {
      if (group.size() > 1 || loop == loops.end() || ++loop == loops.end()) return false;
      if (*loop != storage.indices[level + 1]) return false;
    }
    return true;
  }

  /// Whether another sparse access of these statements may drive a loop together with one of the storage's levels.
  bool merges_below(const NestStorage& storage, std::size_t level, StatementRange group) const {
    const std::vector<IndexId> below(storage.indices.begin() + static_cast<std::ptrdiff_t>(level) + 1,
                                     storage.indices.end());
    return std::ranges::any_of(cursors_, [&](const Cursor& cursor) {
      if (!group.contains(cursor.statement) || cursor.is_target()) return false;
      const NestStorage& other = nest_.storages[cursor.access->storage];
      if (&other == &storage) return false;
      for (std::size_t each = 0; each < cursor.access->indices.size(); ++each) {
        if (is_sparse(other.storage.levels[each].kind) &&
            std::ranges::find(below, cursor.access->indices[each]) != below.end()) {
          return true;
        }
      }
      return false;
    });
  }

  static bool is_bound(const std::vector<IndexId>& loops, std::size_t depth, IndexId index) {
    const auto end = loops.begin() + static_cast<std::ptrdiff_t>(depth) + 1;
    return std::find(loops.begin(), end, index) != end;
  }

  /// A workspace is bound by loops inside its With only.
  bool is_live(const Cursor& cursor, std::size_t depth) const {
    const auto life = std::ranges::find(lives_, cursor.access->storage, &WorkspaceLife::storage);
    return life == lives_.end() || life->depth <= depth;
  }

  const Intersection* intersection_of(StatementRange group, IndexId index) const {
    for (std::size_t number = group.first; number <= group.last; ++number) {
      for (const Intersection& each : nest_.statements[number].intersections) {
        if (each.index == index) return &each;
      }
    }
    return nullptr;
  }

  loop::Step step(const Cursor& cursor, std::size_t level, bool is_late, const Intersection* intersection) const {
    const NestStorage& storage = nest_.storages[cursor.access->storage];
    const LevelKind kind = storage.storage.levels[level].kind;
    if (cursor.is_target()) {
      return {is_appended(storage) && is_sparse(kind) ? loop::Use::append : loop::Use::insert, cursor.id};
    }
    if (is_dense(kind) || is_late) return {loop::Use::locate, cursor.id};
    if (!intersection) return {loop::Use::drive, cursor.id};
    const std::uint32_t origin = nest_.statements[cursor.statement].origin;
    loop::Step located{loop::Use::locate, cursor.id};
    for (const Intersection::Part& part : intersection->parts) {
      if (part.statement != origin || std::ranges::find(cursor.factors, part.factor) == cursor.factors.end()) continue;
      if (part.drive) return {loop::Use::drive, cursor.id};
      // Hashed and bitmap levels find a coordinate at once.
      if (part.gallop && !has_gaps(kind)) located.algorithm = loop::Algorithm::gallop;
    }
    return located;
  }

  /// Levels looked up at what rises with the loop's index, quotients and sums, below a parent that stays meanwhile: by a cursor.
  void follow_what_rises(std::vector<LevelStep>& steps, IndexId index) const {
    const auto drives = [](const LevelStep& each) { return each.step.use == loop::Use::drive; };
    const auto has_order = [&](const LevelStep& each) { return !drives(each) || !may_be_key(each.kind); };
    if (std::ranges::none_of(steps, drives) || !std::ranges::all_of(steps, has_order)) return;
    const Cursor* before = nullptr;
    for (LevelStep& each : steps) {
      const NestStorage& storage = nest_.storages[each.cursor->access->storage];
      const bool first = each.cursor != before;
      before = each.cursor;
      if (!first || !storage.is_located(each.level) || !rises_with(*each.cursor->access, each.level, index)) continue;
      const bool searched = storage.storage.is_unordered(each.level) || (storage.is_cover(each.level) && storage.storage.falls(each.level));
      if (is_sparse(each.kind) && !has_gaps(each.kind) && !searched) each.step.algorithm = loop::Algorithm::gallop;
    }
  }

  bool rises_with(const NestAccess& access, std::size_t level, IndexId index) const {
    const NestStorage& storage = nest_.storages[access.storage];
    if (!storage.is_sum(level)) return level >= storage.parts.size() || storage.parts[level].modulus == 0;
    const ModeSum& sum = storage.sums[level];
    if (access.indices[level] == index) return sum.factor > 0 && sum.part.modulus == 0;
    return std::ranges::any_of(sum.others, [&](const ModeSum::Other& other) {
      return access.indices[other.mode] == index && other.factor > 0 && other.part.modulus == 0;
    });
  }

  loop::Marks marks(StatementRange group, std::size_t depth, const std::vector<LevelStep>& steps) const {
    loop::Marks result;
    const NestStatement& first = nest_.statements[group.first];
    const IndexId index = first.loops[depth];
    const bool is_innermost = group.size() == 1 && depth + 1 == first.loops.size();
    const bool all_dense = std::ranges::all_of(steps, [&](const LevelStep& step) {
      return is_dense(step.kind) && !nest_.storages[step.cursor->access->storage].is_sum(step.level);
    });
    result.vector = is_innermost && (first.gathers || (all_dense && first.vector == index));
    result.flat = first.flat == static_cast<std::uint32_t>(depth);
    if (depth == 0) result.parallel = parallel_targets(nest_, group, index);
    // What is gathered is asked for some at a time anyway.
    if (is_driven(steps) && !result.vector && !is_seldom_inside(steps, index))
      result.prefetch = prefetch_distance(nest_, network_, located(steps), depth == 0);
    return result;
  }

  /// Whether an operand located at a sum has places for few of the coordinates of the index: B[i, j-i+4 below 9]. Where it has, rows of
  /// others are those of neighbours and in the caches; elsewhere they are not read: SDDMM of rank 16 with such a band 4.5 ms, now 1.9.
  bool is_seldom_inside(const std::vector<LevelStep>& steps, IndexId index) const {
    constexpr std::uint64_t few = 64;
    return std::ranges::any_of(steps, [&](const LevelStep& each) {
      const NestStorage& storage = nest_.storages[each.cursor->access->storage];
      return is_dense(each.kind) && storage.is_sum(each.level) && each.level < storage.extents.size() &&
             storage.extents[each.level] < network_.indices[index].extent / few;
    });
  }

  static bool is_driven(const std::vector<LevelStep>& steps) {
    return std::ranges::any_of(steps, [](const LevelStep& each) { return each.step.use == loop::Use::drive; });
  }

  static std::vector<LocatedLevel> located(const std::vector<LevelStep>& steps) {
    std::vector<LocatedLevel> levels;
    for (const LevelStep& each : steps) levels.push_back({each.cursor->access, each.level});
    return levels;
  }

  const Nest& nest_;
  const Network& network_;
  LoweredNest lowered_;
  std::vector<WorkspaceLife> lives_;
  std::vector<Cursor> cursors_;
  std::map<IndexId, loop::IndexId> indices_;
  std::map<std::pair<const NestAccess*, std::size_t>, loop::IndexId> starts_;  // by access and level
  std::map<loop::StorageId, loop::AccessId> workspace_access_;
  std::vector<std::uint32_t> uses_, named_;  // by storage: accesses, and how many have a name yet
  std::set<std::string> names_;              // of storages
};

}  // namespace

LoweredNest forest(const Nest& nest, const Network& network) { return ForestBuilder(nest, network).build(); }

}  // namespace weft
