// Rows of a few elements, read one behind the other by masked loads alone, as blocks of 3 by 3 are in vectors of 8: they are fetched
// ahead, since AMD's processors take no masked load for part of a stream. Sums of 210,000 blocks of 3 by 3 (15 MB) took 1.16 ms in a loop
// by hand, of 420,000 6.7; so fetched 0.39 and 1.06, by whole vectors 0.32 and 1.16 (Zen 5).
#include <algorithm>
#include <bit>

#include "engine/codegen/generate.h"
#include "engine/codegen/joined.h"
#include "engine/codegen/structure.h"
#include "engine/loop/overloaded.h"
#include "runtime/extents.h"

namespace weft {
namespace {

constexpr std::uint64_t line_of_bytes = 64;
constexpr std::uint64_t bytes_ahead = 1024;
constexpr std::uint64_t longest_row = 512;  // bytes; of more the loops inside are long enough

}  // namespace

/// Elements from the first lane to the last that a vector loop reads of a row of `access`; nothing if it reads none of it, or unknown many.
static std::optional<std::uint64_t> width_of_lanes(const loop::Program& program, const JoinedLoops& loops, const loop::Access& access,
                                                   std::uint32_t bound) {
  const auto lane = std::ranges::find(access.indices.begin() + bound, access.indices.end(), loops.back()->index);
  if (lane == access.indices.end()) return std::nullopt;
  std::uint64_t stride = 1;
  for (auto index = lane + 1; index != access.indices.end(); ++index) {
    stride = saturating_product(stride, known_extent(program, *index).value_or(saturated));
  }
  const std::uint64_t elements = known_elements(program, loops).value_or(0);
  return elements == 0 ? std::nullopt : std::optional(saturating_product(elements - 1, stride) + 1);
}

/// Whether vector loops read rows of `access` below its first `bound` levels, and all of them by one vector that a mask cuts.
bool Generator::reads_by_masks(const loop::Block& body, loop::AccessId number, std::uint32_t bound) const {
  const loop::Access& access = program_.accesses[number];
  bool found = false, whole = false;
  const auto visit = [&](const auto& self, const loop::Block& statements) -> void {
    const auto in_loop = [&](const loop::For& each) {
      const JoinedLoops loops = joined_loops(program_, each);
      const bool side_by_side = loops.empty() && is_lane_loop(program_, each) && stands_side_by_side(program_, number, each);
      if (loops.empty() && !side_by_side) return self(self, each.body);
      const auto width = side_by_side ? known_extent(program_, each.index) : width_of_lanes(program_, loops, access, bound);
      found = found || width;
      whole = whole || (width && (*width > lanes_ || std::has_single_bit(*width)));
    };
    for (const loop::Statement& statement : statements) {
      std::visit(loop::Overloaded{in_loop, [&](const loop::Bind& late) { self(self, late.body); },
                                  [&](const loop::With& live) { self(self, live.body); }, [](const loop::Accumulate&) {}},
                 statement.node);
    }
  };
  visit(visit, body);
  return found && !whole;
}

/// The rows of the levels that this iteration has bound in order.
void Generator::fetch_masked_rows(const loop::For& each, const loop::Block& body, const Scope& scope) {
  if (!has_mask_registers() || emit_->checked() || options_.symbolic) return;
  const bool driven = std::ranges::any_of(each.steps, [](const loop::Step& step) { return step.use == loop::Use::drive; });
  for (const loop::Step& step : each.steps) {
    const loop::Access& access = program_.accesses[step.access];
    const StorageCode& storage = storage_of(step.access);
    const Cursor& cursor = scope.cursors[step.access];
    if (driven != (step.use == loop::Use::drive) || storage.storage->role != loop::Role::input || !storage.values || storage.places ||
        storage.baked || cursor.end || access.indices[cursor.bound - 1] != each.index || cursor.bound == storage.levels.size()) {
      continue;
    }
    const std::span<const Level> levels = storage.storage->levels;
    const bool in_order = driven || (is_dense(levels[cursor.bound - 1]) && !levels[cursor.bound - 1].strided);
    const bool is_row = std::ranges::all_of(levels.subspan(cursor.bound), [](const Level& level) {
      return (is_dense(level) && !level.strided) || level.kind == LevelKind::singleton;
    });
    if (!in_order || !is_row) continue;
    std::uint64_t elements = 1;
    for (std::size_t level = cursor.bound; level < levels.size(); ++level) {
      if (!is_dense(levels[level])) continue;
      elements = saturating_product(elements, known_extent(program_, access.indices[level]).value_or(saturated));
    }
    const std::uint64_t bytes = saturating_product(elements, scalar_bytes(storage.storage->scalar));
    if (bytes > longest_row || !reads_by_masks(body, step.access, cursor.bound)) continue;
    llvm::Value* row = emit_->address(storage.type, storage.values, emit_->mul(cursor.begin, emit_->constant(elements)));
    for (std::uint64_t line = 0; line < bytes; line += line_of_bytes) {
      emit_->fetch(emit_->address(emit_->ir().getInt8Ty(), row, emit_->constant(bytes_ahead + line)));
    }
  }
}

}  // namespace weft
