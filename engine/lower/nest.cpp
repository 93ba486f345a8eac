#include "engine/lower/nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

/// Lowers the statements [begin, end) of a schedule to one nest.
class NestReader {
 public:
  NestReader(const Schedule& schedule, StatementRange range) : schedule_(schedule), range_(range) {}

  Expected<Nest> read(RootReduction root) {
    nest_.root = root;
    for (std::size_t number = range_.begin; number < range_.end; ++number) {
      const ScheduledStatement& statement = schedule_.statements[number];
      if (auto good = check_loops(number); !good) return std::unexpected(good.error());
      NestStatement read;
      read.coefficient = statement.coefficient;
      read.loops = statement.loops;
      read.fused = number == range_.begin ? 0 : statement.fused;
      read.vector = statement.vector;
      read.intersections = statement.intersections;
      read.origin = static_cast<std::uint32_t>(number);
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
  Expected<void> check_loops(std::size_t number) const {
    const ScheduledStatement& statement = schedule_.statements[number];
    if (number != range_.begin) {
      const ScheduledStatement& before = schedule_.statements[number - 1];
      if (statement.fused > statement.loops.size() || statement.fused > before.loops.size() ||
          !std::equal(statement.loops.begin(), statement.loops.begin() + statement.fused, before.loops.begin())) {
        return internal_error(
            fmt::format("lower: statements {} and {} do not share {} loops", number - 1, number, statement.fused));
      }
    }
    auto covered = [&](const ScheduledAccess& access) {
      return access.tensor < schedule_.tensors.size() &&
             access.indices.size() == schedule_.tensors[access.tensor].format.order() &&
             std::ranges::all_of(access.indices, [&](IndexId index) { return contains(statement.loops, index); });
    };
    if (!covered(statement.target) || !std::ranges::all_of(statement.factors, covered)) {
      return internal_error(fmt::format("lower: an access of statement {} has an index without a loop", number));
    }
    return {};
  }

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
    if (!first || !last || *first < range_.begin || *last >= range_.end || *last <= *first) return std::nullopt;
    return Life{*first, *last};
  }

  std::size_t shared(Life life) const {
    std::size_t least = schedule_.statements[life.producer].loops.size();
    for (std::size_t number = life.producer + 1; number <= life.consumer; ++number) {
      least = std::min<std::size_t>(least, schedule_.statements[number].fused);
    }
    return least;
  }

  Expected<NestAccess> resolve(const ScheduledAccess& access, std::size_t number, bool is_target) {
    const ScheduledTensor& tensor = schedule_.tensors[access.tensor];
    std::vector<IndexId> by_level;
    for (const std::uint32_t mode : tensor.format.mode_order) by_level.push_back(access.indices[mode]);
    if (tensor.role == TensorRole::intermediate) {
      if (const auto life = life_inside(access.tensor)) return workspace(access.tensor, by_level, *life);
    }
    return stored(access.tensor, std::move(by_level), number, is_target);
  }

  Expected<NestAccess> workspace(std::uint32_t tensor, const std::vector<IndexId>& by_level, Life life) {
    const std::vector<IndexId>& loops = schedule_.statements[life.producer].loops;
    const std::vector<IndexId> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(shared(life)));
    std::vector<IndexId> indices;
    for (const IndexId index : by_level) {
      if (!contains(outer, index)) indices.push_back(index);
    }
    if (!storages_.contains(tensor)) {
      NestStorage made;
      made.storage.name = name_for(schedule_.tensors[tensor].name);
      made.storage.role = loop::Role::workspace;
      made.storage.scalar = schedule_.tensors[tensor].format.scalar;
      made.storage.levels.resize(indices.size());
      made.indices = indices;
      add(tensor, std::move(made));
    }
    return NestAccess{storages_.at(tensor), std::move(indices)};
  }

  Expected<NestAccess> stored(std::uint32_t tensor, std::vector<IndexId> by_level, std::size_t number, bool is_target) {
    const ScheduledTensor& scheduled = schedule_.tensors[tensor];
    if (is_target && !scheduled.format.all_dense()) {
      return unsupported(fmt::format("{} in format {}: sparse results are not supported yet", scheduled.name,
                                     scheduled.format.text()));
    }
    const loop::Role role = is_target ? loop::Role::output : loop::Role::input;
    if (!storages_.contains(tensor)) {
      NestStorage made;
      made.storage.name = name_for(scheduled.name);
      made.storage.role = role;
      made.storage.scalar = scheduled.format.scalar;
      made.storage.levels = scheduled.format.levels;
      made.tensor = tensor;
      add(tensor, std::move(made));
    } else if (nest_.storages[storages_.at(tensor)].storage.role != role) {
      return internal_error(
          fmt::format("lower: statement {} reads {} before its nest has completed it", number, scheduled.name));
    }
    return NestAccess{storages_.at(tensor), std::move(by_level)};
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
  StatementRange range_;
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

std::size_t first_level_of(const NestAccess& access, IndexId index) {
  return static_cast<std::size_t>(std::ranges::find(access.indices, index) - access.indices.begin());
}

Expected<std::vector<Nest>> nests(const Schedule& schedule, const Network& network) {
  std::vector<Nest> result;
  for (std::size_t begin = 0; begin < schedule.statements.size();) {
    std::size_t end = begin + 1;
    while (end < schedule.statements.size() && schedule.statements[end].fused > 0) ++end;
    for (std::size_t number = begin; number < end; ++number) {
      for (const IndexId index : schedule.statements[number].loops) {
        if (index >= network.indices.size()) {
          return internal_error(
              fmt::format("lower: statement {} loops over index {} of {}", number, index, network.indices.size()));
        }
      }
    }
    const std::size_t root = result.size();
    auto nest = NestReader(schedule, {begin, end})
                    .read(root < schedule.roots.size() ? schedule.roots[root] : RootReduction::serial);
    if (!nest) return std::unexpected(nest.error());
    result.push_back(std::move(*nest));
    begin = end;
  }
  return result;
}

}  // namespace weft
