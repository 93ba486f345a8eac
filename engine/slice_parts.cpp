#include "engine/slice_parts.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <variant>

#include "engine/loop/overloaded.h"
#include "engine/loop/short_fiber.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// The step that binds a level of an access, and the loop it belongs to; null: a Bind.
struct BoundLevel {
  const loop::For* loop = nullptr;
  loop::Use use = loop::Use::locate;
  loop::Algorithm algorithm = loop::Algorithm::standard;
  std::vector<loop::StorageId> live = {};  ///< workspaces around it
};

class Linearity {
 public:
  Linearity(const loop::Program& program, loop::StorageId walked, loop::AccessId access)
      : program_(program), walked_(walked), access_(access) {}

  /// Whether every sum into an output has the walked tensor once among its factors, workspaces seen through.
  bool holds() { return std::ranges::all_of(program_.body, [&](const loop::Statement& each) { return visit(each); }); }
  const std::vector<BoundLevel>& levels() const { return levels_; }
  /// Whether sums over some entries of a level are multiplied before they reach an output.
  bool distributes(std::uint32_t level) const {
    return std::ranges::any_of(levels_[level].live, [&](loop::StorageId workspace) { return multiplied_.contains(workspace); });
  }

 private:
  bool visit(const loop::Statement& statement) {
    return std::visit(loop::Overloaded{[&](const loop::For& each) { return bind(each.steps, &each, each.body); },
                                       [&](const loop::Bind& late) { return bind(late.steps, nullptr, late.body); },
                                       [&](const loop::With& live) { return visit_with(live); },
                                       [&](const loop::Accumulate& sum) { return add(sum); }},
                      statement.node);
  }

  bool visit_with(const loop::With& live) {
    live_.push_back(live.workspace);
    const bool good = visit_all(live.body);
    live_.pop_back();
    return good;
  }

  bool visit_all(const loop::Block& block) {
    return std::ranges::all_of(block, [&](const loop::Statement& each) { return visit(each); });
  }

  bool bind(const std::vector<loop::Step>& steps, const loop::For* loop, const loop::Block& body) {
    const std::size_t around = bound_;
    for (const loop::Step& step : steps) {
      if (step.access != access_) continue;
      // Two loops one behind the other that both bind a level walk the entries twice.
      if (levels_.size() == program_.accesses[access_].indices.size()) return false;
      levels_.push_back({loop, step.use, step.algorithm, live_});
      ++bound_;
    }
    const bool good = visit_all(body);
    bound_ = around;
    return good;
  }

  bool add(const loop::Accumulate& sum) {
    unsigned degree = 0;
    for (const loop::AccessId factor : sum.factors) {
      const loop::StorageId storage = program_.accesses[factor].storage;
      if (storage == walked_) ++degree;
      if (program_.storages[storage].role != loop::Role::workspace) continue;
      const auto known = degrees_.find(storage);
      if (known == degrees_.end()) return false;
      degree += known->second;
      const bool drained = sum.factors.size() == 1 && program_.storages[program_.accesses[sum.target].storage].role == loop::Role::output;
      if (known->second > 0 && !drained) multiplied_.insert(storage);
    }
    const loop::StorageId target = program_.accesses[sum.target].storage;
    // Every part of a slice would do it again.
    if (degree == 0 && bound_ < 2) return false;
    if (program_.storages[target].role == loop::Role::output) return degree == 1;
    return degrees_.try_emplace(target, degree).first->second == degree;
  }

  const loop::Program& program_;
  loop::StorageId walked_;
  loop::AccessId access_;
  std::vector<BoundLevel> levels_;
  std::size_t bound_ = 0;  ///< levels of the access that are bound here
  std::map<loop::StorageId, unsigned> degrees_;
  std::vector<loop::StorageId> live_;
  std::set<loop::StorageId> multiplied_;  ///< or added to another workspace, which may be
};

/// Whether each coordinate of the root loop has a row, or block, of the output, side by side.
bool has_rows(const loop::Program& program, const loop::For& root, loop::StorageId output) {
  const loop::Storage& storage = program.storages[output];
  const auto is_plain = [](const Level& level) { return is_dense(level) && !level.strided; };
  if (storage.levels.empty() || !std::ranges::all_of(storage.levels, is_plain)) return false;
  return std::ranges::all_of(program.accesses, [&](const loop::Access& access) {
    return access.storage != output || (access.indices[0] == root.index && std::ranges::count(access.indices, root.index) == 1);
  });
}

/// A chunk of the loop is a share of the slots of a table, which is none of its coordinates: a part of a slice would be another's.
bool goes_over_slots(const loop::Program& program, const loop::For& root) {
  return std::ranges::any_of(root.steps, [&](const loop::Step& step) {
    return step.use == loop::Use::drive && step.algorithm != loop::Algorithm::sort &&
           has_slots(program.storages[program.accesses[step.access].storage].levels[0].kind);
  });
}

bool is_described(const loop::Program& program, loop::StorageId storage, std::uint32_t level) {
  return std::ranges::any_of(program.facts, [&](const loop::Fact& fact) {
    const auto* full = std::get_if<loop::FullFact>(&fact);
    const auto* fiber = std::get_if<loop::FiberFact>(&fact);
    const auto* adjacent = std::get_if<loop::AdjacentFact>(&fact);  // a part's coordinates do not begin at 0
    return (full && full->storage == storage && full->level == level) || (fiber && fiber->storage == storage && fiber->level == level) ||
           (adjacent && adjacent->from_zero && adjacent->storage == storage && adjacent->level == level);
  });
}

/// The last level whose positions are those of this one: of a coordinate list (u, q, q) its positions are entries.
std::uint32_t end_of_chain(const std::vector<Level>& levels, std::uint32_t level) {
  while (level + 1 < levels.size() && is_per_parent(levels[level + 1].kind)) ++level;
  return level;
}

std::uint64_t pos_element(const Tensor& tensor, std::uint32_t level, std::uint64_t position) {
  const Buffer& pos = tensor.levels()[level].pos;
  return tensor.format().levels[level].pos_bits == 32 ? pos.as<std::uint32_t>()[position] : pos.as<std::uint64_t>()[position];
}

/// Positions of a level below those of the first, no level between having pos.
PositionRange below_slices(const Tensor& tensor, PositionRange slices, std::uint32_t level) {
  for (std::uint32_t each = 1; each <= level; ++each) {
    if (!is_by_extent(tensor.format().levels[each].kind)) continue;
    slices.first *= tensor.extent_of_level(each);
    slices.last *= tensor.extent_of_level(each);
  }
  return slices;
}

}  // namespace

std::optional<SliceCut> slice_cut(const loop::Program& program, loop::StorageId walked) {
  const loop::For* root = root_loop(program);
  if (root == nullptr || root->marks.parallel.empty() || goes_over_slots(program, *root)) return std::nullopt;
  if (std::ranges::count(program.accesses, walked, &loop::Access::storage) != 1) return std::nullopt;
  const auto access = static_cast<loop::AccessId>(std::ranges::find(program.accesses, walked, &loop::Access::storage) -
                                                  program.accesses.begin());
  const std::vector<loop::IndexId>& indices = program.accesses[access].indices;
  for (const loop::IndexId index : indices)
    if (std::ranges::count(indices, index) != 1) return std::nullopt;
  for (const loop::Fact& fact : program.facts)
    if (const auto* pattern = std::get_if<loop::PatternFact>(&fact); pattern && pattern->storage == walked) return std::nullopt;

  SliceCut cut;
  bool owned = false;
  std::size_t alike = 0;  // levels shared by an output: entries of these belong to one part each
  for (loop::StorageId id = 0; id < program.storages.size(); ++id) {
    if (program.storages[id].role != loop::Role::output) continue;
    const auto target = std::ranges::find(root->marks.parallel, id, &loop::ParallelTarget::storage);
    if (target == root->marks.parallel.end()) return std::nullopt;
    if (target->reduction == loop::Reduction::private_copies) {
      cut.copied = true;
    } else if (target->reduction != loop::Reduction::owner) {
      return std::nullopt;
    } else if (const auto pattern = loop::pattern_of(program, id)) {
      // Entries of their own for each of T's: no two parts write the same.
      const std::size_t shared = appended_levels(program.storages[id].levels);
      if (*pattern != walked) return std::nullopt;
      alike = alike == 0 ? shared : std::min(alike, shared);
    } else if (has_rows(program, *root, id)) {
      cut.rows.push_back(id);
      owned = true;
    } else {
      return std::nullopt;
    }
  }
  if (owned && cut.copied) return std::nullopt;

  Linearity linearity(program, walked, access);
  if (!linearity.holds()) return std::nullopt;
  const std::vector<BoundLevel>& bound = linearity.levels();
  const std::vector<Level>& levels = program.storages[walked].levels;
  // A slice at a part of the root's coordinate belongs to several of these.
  if (bound.size() != levels.size() || bound[0].loop != root || indices[0] != root->index) return std::nullopt;
  if (!is_ordered(levels[0].kind) || has_lengths(levels[0].kind) || levels[0].strided) return std::nullopt;
  std::optional<std::uint32_t> found;
  for (std::uint32_t level = 0; level < levels.size(); ++level) {
    const LevelKind kind = levels[level].kind;
    if (level == 0 && kind != LevelKind::compressed_nonunique) continue;
    const bool loops = bound[level].loop != nullptr && bound[level].loop->index == indices[level];
    // Fibers below the others of its coordinates are empty to a part.
    if (is_dense(levels[level]) && !levels[level].strided && loops && !found) continue;
    const bool walks = loops && bound[level].use == loop::Use::drive && bound[level].algorithm != loop::Algorithm::gallop &&
                       bound[level].algorithm != loop::Algorithm::search;
    if (!walks || has_lengths(kind) || is_described(program, walked, level)) break;
    // Sums at entries of the tensor's own are never computed anew.
    const std::uint32_t last = end_of_chain(levels, level);
    if (alike > 0 && (linearity.distributes(last) || last >= alike)) break;
    if (is_packed(kind))
      found = level;
    else if (!is_per_parent(kind))
      break;
  }
  if (!found) return std::nullopt;
  cut.level = *found;
  cut.distributes = linearity.distributes(end_of_chain(levels, *found));
  return cut;
}

Expected<PartLevels> part_levels(const Chunk& part, const Tensor& tensor, std::uint32_t level, const Memory& memory) {
  const std::vector<PositionRange> ranges = ranges_above(tensor, level, part.first, part.last);
  struct Window {
    std::uint32_t level = 0;
    std::uint64_t first = 0, last = 0;  ///< elements that the part's positions above read
    std::uint64_t end = 0;              ///< the last element that is there
    std::uint64_t offset = 0;           ///< bytes
  };
  std::vector<Window> windows;
  std::uint64_t bytes = 0;
  for (std::uint32_t each = 0; each <= level; ++each) {
    const Level& stored = tensor.format().levels[each];
    // The range of the chunk tells where a unique first level begins and ends.
    if (!has_pos(stored.kind) || (each == 0 && is_unique(stored.kind))) continue;
    PositionRange above{0, 1};
    if (each > 0) above = windows.empty() ? below_slices(tensor, ranges[0], each - 1) : ranges[each - 1];
    // Kernels that count positions from the root down read the last element of the first array, and then where that leads below.
    const std::uint64_t end = !windows.empty() ? above.last : each == 0 ? 1 : tensor.positions(each - 1);
    windows.push_back({each, above.first, above.last, end, bytes});
    bytes += (end - above.first + 1) * stored.pos_bits / 8;
    bytes = (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
  }
  // What lies between is read by no part, and in large buffers costs nothing.
  auto buffer = Buffer::allocate(bytes, memory, "parts of slices");
  if (!buffer) return std::unexpected(buffer.error());
  PartLevels made{std::vector<const void*>(tensor.order(), nullptr), *buffer};
  for (const Window& window : windows) {
    const bool narrow = tensor.format().levels[window.level].pos_bits == 32;
    const PositionRange range = ranges[window.level];
    std::byte* const begin = static_cast<std::byte*>(made.memory.data()) + window.offset;
    const auto set = [&](std::uint64_t position) {
      const std::uint64_t end = std::clamp(pos_element(tensor, window.level, position), range.first, range.last);
      if (narrow)
        reinterpret_cast<std::uint32_t*>(begin)[position - window.first] = static_cast<std::uint32_t>(end);
      else
        reinterpret_cast<std::uint64_t*>(begin)[position - window.first] = end;
    };
    for (std::uint64_t position = window.first; position <= window.last; ++position) set(position);
    set(window.end);
    // As a number: it may lie in front of all memory there is.
    made.pos[window.level] = std::bit_cast<const void*>(std::bit_cast<std::uint64_t>(begin) - window.first * (narrow ? 4 : 8));
  }
  return made;
}

}  // namespace weft
