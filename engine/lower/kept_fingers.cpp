#include "engine/lower/kept_fingers.h"

#include <algorithm>
#include <set>

#include "engine/loop/finger_home.h"
#include "engine/loop/short_fiber.h"
#include "engine/network/code_forms.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

using loop::Algorithm;
using loop::For;
using loop::IndexId;
using loop::Step;

class FingerKeeper {
 public:
  FingerKeeper(LoweredNest& nest, const Network& network, const std::vector<std::vector<double>>& means)
      : nest_(nest), network_(network), means_(means), program_(nest.program) {}

  void keep() {
    const loop::Program before = program_;  // that is walked
    (void)loop::walk(before, [&](const loop::Statement& statement, const loop::Path& path) -> Expected<void> {
      if (const auto* each = std::get_if<For>(&statement.node)) keep_of(before, *each, path);
      return {};
    });
    place(program_.body);
    for (const IndexId index : needed_) {
      const loop::Fact extent = loop::ExtentFact{index, extent_of(index)};
      if (std::ranges::find(program_.facts, extent) == program_.facts.end()) program_.facts.push_back(extent);
    }
  }

 private:
  std::uint64_t extent_of(IndexId index) const { return network_.indices[nest_.indices[index]].extent; }

  /// The homes of the steps of a loop: the loop furthest out, of each.
  void keep_of(const loop::Program& program, const For& own, const loop::Path& path) {
    std::vector<std::optional<IndexId>>& homes = homes_.emplace_back(own.steps.size());
    std::vector<std::size_t> bound(program.accesses.size());
    for (std::size_t number = 0; number < own.steps.size(); ++number) {
      const Step& step = own.steps[number];
      const bool first = bound[step.access]++ == 0;
      const auto level = static_cast<std::uint32_t>(path.bound[step.access].size());
      if (!first || !is_followed(program, step, level)) continue;
      for (std::size_t depth = 0; depth < path.enclosing.size() && !homes[number]; ++depth) {
        const For* const home = path.loop(depth);
        if (home == nullptr) continue;
        std::set<IndexId> asked;
        const auto extents = [&](IndexId index) -> std::optional<std::uint64_t> {
          asked.insert(index);
          return extent_of(index);
        };
        if (!loop::may_be_kept(program, path, own, step.access, level, home->index, extents)) continue;
        homes[number] = home->index;
        needed_.merge(asked);
      }
    }
  }

  /// Whether a level of an input is searched at a sum of indices, in fibers that are worth it.
  bool is_followed(const loop::Program& program, const Step& step, std::uint32_t level) const {
    const loop::Access& access = program.accesses[step.access];
    const loop::Storage& storage = program.storages[access.storage];
    if (step.use != loop::Use::locate || (step.algorithm != Algorithm::standard && step.algorithm != Algorithm::gallop)) return false;
    const LevelKind kind = storage.levels[level].kind;
    return storage.role == loop::Role::input && is_packed(kind) && !has_gaps(kind) && loop::is_at_sum(program, access, level) &&
           !storage.is_unordered(level) && !is_searched(program, access, level) && !loop::short_fiber(program, access.storage, level) &&
           !is_compared_at_once(nest_.tensors[access.storage], level);
  }

  /// Starts of blocks that fall: the one that covers a coordinate is found by bisection.
  static bool is_searched(const loop::Program& program, const loop::Access& access, std::uint32_t level) {
    return program.storages[access.storage].falls(level) && loop::cover_at(program, access, level) != nullptr;
  }

  bool is_compared_at_once(std::uint32_t tensor, std::uint32_t level) const {
    const double mean = tensor < means_.size() && level < means_[tensor].size() ? means_[tensor][level] : 0;
    return mean > 0 && mean <= compared_at_once;
  }

  /// In the order of the walk.
  void place(loop::Block& block) {
    for (loop::Statement& statement : block) {
      if (auto* each = std::get_if<For>(&statement.node)) {
        const std::vector<std::optional<IndexId>>& homes = homes_[placed_++];
        for (std::size_t number = 0; number < homes.size(); ++number) {
          if (!homes[number]) continue;
          each->steps[number].algorithm = Algorithm::gallop;
          each->steps[number].home = homes[number];
        }
        place(each->body);
      } else if (auto* bind = std::get_if<loop::Bind>(&statement.node)) {
        place(bind->body);
      } else if (auto* with = std::get_if<loop::With>(&statement.node)) {
        place(with->body);
      }
    }
  }

  LoweredNest& nest_;
  const Network& network_;
  const std::vector<std::vector<double>>& means_;
  loop::Program& program_;
  std::vector<std::vector<std::optional<IndexId>>> homes_;  // by loop and step
  std::size_t placed_ = 0;
  std::set<IndexId> needed_;
};

}  // namespace

void keep_fingers(LoweredNest& nest, const Network& network, const std::vector<std::vector<double>>& means) {
  FingerKeeper(nest, network, means).keep();
}

}  // namespace weft
