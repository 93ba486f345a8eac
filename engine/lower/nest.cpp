#include "engine/lower/nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/plan/schedule/check.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

std::string unused_name(const std::string& wanted, const std::set<std::string>& used) {
  std::string name = wanted;
  for (int number = 2; used.contains(name); ++number) name = fmt::format("{}_{}", wanted, number);
  return name;
}

bool contains(const std::vector<IndexId>& indices, IndexId index) {
  return std::ranges::find(indices, index) != indices.end();
}

Expected<void> check_loops(const Schedule& schedule, const Network& network, std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  for (const IndexId index : statement.loops) {
    if (index >= network.indices.size()) {
      return internal_error(
          fmt::format("lower: statement {} loops over index {} of {}", number, index, network.indices.size()));
    }
  }
  if (number > 0) {
    const ScheduledStatement& before = schedule.statements[number - 1];
    if (statement.fused > statement.loops.size() || statement.fused > before.loops.size() ||
        !std::equal(statement.loops.begin(), statement.loops.begin() + statement.fused, before.loops.begin())) {
      return internal_error(
          fmt::format("lower: statements {} and {} do not share {} loops", number - 1, number, statement.fused));
    }
  }
  auto covered = [&](const ScheduledAccess& access) {
    return access.tensor < schedule.tensors.size() &&
           access.indices.size() == schedule.tensors[access.tensor].format.order() &&
           std::ranges::all_of(access.indices, [&](IndexId index) { return contains(statement.loops, index); });
  };
  if (!covered(statement.target) || !std::ranges::all_of(statement.factors, covered)) {
    return internal_error(fmt::format("lower: an access of statement {} has an index without a loop", number));
  }
  return {};
}

/// The statements [begin, end) in groups that exchange intermediates. Each group computes one product, so that a
/// filter of one of its statements may filter all of them; it is no factor of the products of the other groups.
std::vector<std::vector<std::size_t>> groups(const Schedule& schedule, std::size_t begin, std::size_t end) {
  std::vector<std::size_t> group_of(end - begin);
  for (std::size_t number = begin; number < end; ++number) group_of[number - begin] = number;
  for (std::size_t reader = begin; reader < end; ++reader) {
    for (const ScheduledAccess& factor : schedule.statements[reader].factors) {
      if (schedule.tensors[factor.tensor].role != TensorRole::intermediate) continue;
      for (std::size_t writer = begin; writer < reader; ++writer) {
        if (schedule.statements[writer].target.tensor != factor.tensor) continue;
        const std::size_t joined = group_of[writer - begin];
        std::ranges::replace(group_of, joined, group_of[reader - begin]);
      }
    }
  }
  std::vector<std::vector<std::size_t>> result;
  for (std::size_t number = begin; number < end; ++number) {
    const std::size_t group = group_of[number - begin];
    const auto known = std::ranges::find_if(
        result, [&](const std::vector<std::size_t>& numbers) { return group_of[numbers.front() - begin] == group; });
    if (known == result.end()) {
      result.push_back({number});
    } else {
      known->push_back(number);
    }
  }
  return result;
}

/// Lowers some statements of a schedule, in ascending order, to one nest.
class NestReader {
 public:
  NestReader(const Schedule& schedule, const Network& network, std::vector<std::size_t> numbers, const std::vector<bool>& finite)
      : schedule_(schedule), network_(network), numbers_(std::move(numbers)), finite_(finite) {}

  Expected<Nest> read(RootReduction root) {
    nest_.root = root;
    for (const std::size_t number : numbers_) {
      const ScheduledStatement& statement = schedule_.statements[number];
      NestStatement read;
      read.coefficient = statement.coefficient;
      read.loops = statement.loops;
      if (!nest_.statements.empty()) {
        read.fused = static_cast<std::uint32_t>(shared_loops(schedule_, nest_.statements.back().origin, number));
      }
      read.vector = statement.vector;
      read.intersections = statement.intersections;
      read.origin = static_cast<std::uint32_t>(number);
      if (statement.drained) read.drained = *statement.drained;
      for (const ScheduledAccess& factor : statement.factors) {
        auto access = resolve(factor, number, false);
        if (!access) return std::unexpected(access.error());
        read.factors.push_back(*access);
      }
      auto target = resolve(statement.target, number, true);
      if (!target) return std::unexpected(target.error());
      read.target = *target;
      nest_.statements.push_back(std::move(read));
    }
    return std::move(nest_);
  }

 private:
  struct Life {
    std::size_t producer = 0;
    std::size_t consumer = 0;
  };

  /// Where an intermediate that lives inside this nest is first written and last read.
  std::optional<Life> life_inside(std::uint32_t tensor) const {
    std::optional<std::size_t> first, last;
    for (std::size_t number = 0; number < schedule_.statements.size(); ++number) {
      const ScheduledStatement& statement = schedule_.statements[number];
      if (statement.target.tensor == tensor && !first) first = number;
      for (const ScheduledAccess& factor : statement.factors) {
        if (factor.tensor == tensor) last = number;
      }
    }
    if (!first || !last || *last <= *first || !is_inside(*first) || !is_inside(*last)) return std::nullopt;
    return Life{*first, *last};
  }

  bool is_inside(std::size_t number) const { return std::ranges::find(numbers_, number) != numbers_.end(); }

  Expected<NestAccess> resolve(const ScheduledAccess& access, std::size_t number, bool is_target) {
    const ScheduledTensor& tensor = schedule_.tensors[access.tensor];
    std::vector<IndexId> by_level;
    for (const std::uint32_t mode : tensor.format.mode_order) by_level.push_back(access.indices[mode]);
    if (tensor.role == TensorRole::intermediate) {
      if (const auto life = life_inside(access.tensor)) return workspace(access.tensor, by_level, *life);
    }
    return stored(access.tensor, std::move(by_level), number, is_target);
  }

  /// The next level of a workspace. Neighbouring levels of an accumulator or a hash table are one key.
  static Level workspace_level(LevelKind kind, const loop::Storage& above) {
    Level level;
    level.kind = kind;
    const bool has_key = may_be_key(kind);
    level.joined = has_key && !above.levels.empty() && above.levels.back().kind == kind;
    return level;
  }

  Expected<NestAccess> workspace(std::uint32_t tensor, const std::vector<IndexId>& by_level, Life life) {
    const std::vector<IndexId>& loops = schedule_.statements[life.producer].loops;
    const std::vector<IndexId> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(shared_loops(
                                                                        schedule_, life.producer, life.consumer)));
    std::vector<IndexId> indices;
    for (const IndexId index : by_level) {
      if (!contains(outer, index)) indices.push_back(index);
    }
    if (!storages_.contains(tensor)) {
      NestStorage made;
      made.storage.name = name_for(schedule_.tensors[tensor].name);
      made.storage.role = loop::Role::workspace;
      made.storage.scalar = schedule_.tensors[tensor].format.scalar;
      for (std::size_t level = 0; level < by_level.size(); ++level) {
        if (contains(outer, by_level[level])) continue;
        made.storage.levels.push_back(workspace_level(schedule_.tensors[tensor].format.levels[level].kind, made.storage));
      }
      made.indices = indices;
      add(tensor, std::move(made));
    }
    return NestAccess{storages_.at(tensor), std::move(indices)};
  }

  Expected<NestAccess> stored(std::uint32_t tensor, std::vector<IndexId> by_level, std::size_t number, bool is_target) {
    const ScheduledTensor& scheduled = schedule_.tensors[tensor];
    const loop::Role role = is_target ? loop::Role::output : loop::Role::input;
    if (!storages_.contains(tensor)) {
      NestStorage made;
      made.storage.name = name_for(scheduled.name);
      made.storage.role = role;
      made.storage.scalar = scheduled.format.scalar;
      made.storage.levels = scheduled.format.levels;
      // Kernels append with 64-bit ends; what a later nest reads was kept so.
      if (scheduled.role != TensorRole::operand && !scheduled.like) {
        for (Level& level : made.storage.levels) {
          if (is_compressed(level.kind)) level.pos_bits = 64;
        }
      }
      made.tensor = tensor;
      if (scheduled.role == TensorRole::operand) {
        const std::vector<IndexPart>& parts = network_.tensors[scheduled.tensor].parts;
        for (const std::uint32_t mode : scheduled.format.mode_order)
          if (!parts.empty()) made.parts.push_back(parts[mode]);
        const TensorDeclaration& declared = network_.tensors[scheduled.tensor];
        for (std::size_t level = 0; level < made.storage.levels.size(); ++level) {
          const std::uint32_t mode = scheduled.format.mode_order[level];
          if (declared.falls(mode)) made.storage.falling |= std::uint64_t{1} << level;
          if (declared.is_unordered(mode)) made.storage.unordered |= std::uint64_t{1} << level;
        }
        take_sums(network_.tensors[scheduled.tensor], scheduled.format.mode_order, made);
      }
      made.like = scheduled.like;
      made.tells_presence = is_target && scheduled.role == TensorRole::intermediate && scheduled.format.order() == 0 &&
                            (entry_making_tensors(schedule_)[tensor] || annihilated_tensors(schedule_, finite_)[tensor]);
      add(tensor, std::move(made));
    } else if (nest_.storages[storages_.at(tensor)].storage.role != role) {
      return internal_error(
          fmt::format("lower: statement {} reads {} before its nest has completed it", number, scheduled.name));
    }
    return NestAccess{storages_.at(tensor), std::move(by_level)};
  }

  static void take_sums(const TensorDeclaration& declared, const std::vector<std::uint32_t>& mode_order, NestStorage& made) {
    if (declared.sums.empty()) return;
    for (const std::uint32_t mode : mode_order) {
      ModeSum& sum = made.sums.emplace_back(declared.sums[mode]);
      for (ModeSum::Other& other : sum.others)
        other.mode = static_cast<std::uint32_t>(std::ranges::find(mode_order, other.mode) - mode_order.begin());
      made.extents.push_back(declared.extents[mode]);
    }
  }

  // An operand stored in two layouts is two tensors of one name.
  std::string name_for(const std::string& wanted) {
    std::string name = unused_name(wanted, names_);
    names_.insert(name);
    return name;
  }

  void add(std::uint32_t tensor, NestStorage storage) {
    storages_[tensor] = static_cast<loop::StorageId>(nest_.storages.size());
    nest_.storages.push_back(std::move(storage));
  }

  const Schedule& schedule_;
  const Network& network_;
  std::vector<std::size_t> numbers_;
  const std::vector<bool>& finite_;
  Nest nest_;
  std::map<std::uint32_t, loop::StorageId> storages_;  // by tensor of the schedule
  std::set<std::string> names_;
};

}  // namespace

std::size_t shared_loops(const std::vector<NestStatement>& statements, std::size_t first, std::size_t last) {
  std::size_t least = statements[first].loops.size();
  for (std::size_t number = first + 1; number <= last; ++number) {
    least = std::min<std::size_t>(least, statements[number].fused);
  }
  return least;
}

std::size_t last_sharer(const std::vector<NestStatement>& statements, std::size_t first, std::size_t depth) {
  std::size_t last = first;
  while (last + 1 < statements.size() && statements[last + 1].fused > depth) ++last;
  return last;
}

std::size_t first_level_of(const NestAccess& access, IndexId index) {
  return static_cast<std::size_t>(std::ranges::find(access.indices, index) - access.indices.begin());
}

Expected<std::vector<Nest>> nests(const Schedule& schedule, const Network& network, const std::vector<bool>& finite) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    if (auto good = check_loops(schedule, network, number); !good) return std::unexpected(good.error());
  }
  std::vector<Nest> result;
  std::size_t root = 0;
  for (std::size_t begin = 0; begin < schedule.statements.size(); ++root) {
    std::size_t end = begin + 1;
    while (end < schedule.statements.size() && schedule.statements[end].fused > 0) ++end;
    const RootReduction reduction = root < schedule.roots.size() ? schedule.roots[root] : RootReduction::serial;
    for (const std::vector<std::size_t>& group : groups(schedule, begin, end)) {
      auto nest = NestReader(schedule, network, group, finite).read(reduction);
      if (!nest) return std::unexpected(nest.error());
      result.push_back(std::move(*nest));
    }
    begin = end;
  }
  return result;
}

}  // namespace weft
