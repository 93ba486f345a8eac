// Loops over a pattern that is known: an iteration each, with coordinates and positions as constants.
#include "engine/codegen/generate.h"

namespace weft {

/// A dense loop walks an input whose pattern is known, from a place that is known.
bool Generator::walks_baked(std::span<const loop::Step> rest, const Scope& scope) const {
  for (const loop::Step& step : rest) {
    const Cursor& cursor = scope.cursors[step.access];
    if (!cursor.end && is_baked(storage_of(step.access), {cursor.begin, cursor.begin})) return true;
  }
  return false;
}

/// The kernel's range of the root loop.
void Generator::where_in_chunk(std::uint64_t coordinate, bool cut, Emitter::Body body) {
  if (!cut) {
    body();
    return;
  }
  llvm::Value* constant = emit_->constant(coordinate);
  llvm::IRBuilder<>& ir = emit_->ir();
  emit_->if_then(ir.CreateAnd(ir.CreateICmpULE(begin_, constant), ir.CreateICmpULT(constant, end_)), body);
}

void Generator::unroll(const loop::For& each, const Driver& driver, std::span<const loop::Step> rest,
                       std::span<const Finger> fingers, const Scope& scope, bool cut) {
  const StorageCode& storage = storage_of(driver.access);
  const std::vector<std::uint64_t>& crd = storage.baked->crd[scope.cursors[driver.access].bound];
  const std::uint64_t begin = llvm::cast<llvm::ConstantInt>(driver.range.begin)->getZExtValue();
  const std::uint64_t end = llvm::cast<llvm::ConstantInt>(driver.range.end)->getZExtValue();
  std::vector<Scope> sums;
  if (sums_scalars(each, std::span(&driver, 1), rest, scope)) sums = independent_sums(each, reduction_sums, scope);
  for (std::uint64_t position = begin; position < end; ++position) {
    const Scope& here = sums.empty() ? scope : sums[(position - begin) % sums.size()];
    where_in_chunk(crd[position], cut,
                   [&] { step_one_driver(each, driver, emit_->constant(position), rest, fingers, here); });
  }
  add_sums(each, sums, scope);
}

void Generator::unroll_dense(const loop::For& each, std::uint64_t extent, std::span<const loop::Step> rest,
                             std::span<const Finger> fingers, const Scope& scope, bool cut) {
  for (std::uint64_t coordinate = 0; coordinate < extent; ++coordinate) {
    where_in_chunk(coordinate, cut, [&] {
      Scope here = scope;
      take_coordinate(here, each.index, emit_->constant(coordinate));
      if (const auto side = side_sums_.find(&each); side != side_sums_.end() && coordinate > 0)
        here.held[side->second->storage] = side->second->sums[coordinate - 1];
      bind(rest, here, fingers, &each.body, [&](const Scope& found) {
        Scope loaded = found;
        load_values(each.body, loaded);
        count(each, emit_->constant(1));
        block(each.body, loaded);
      });
    });
  }
}

}  // namespace weft
