// Rows side by side: a loop over a few rows with one entry each, as there are in a slice of `sell(8)`,
//   for i: locate B, insert y { for j: drive B, locate x { y += B * x } }
// adds a vector of products to a row in registers. Values that stand side by side are one load, elements of x one for each row.
#include <algorithm>

#include "engine/codegen/arithmetic.h"
#include "engine/codegen/generate.h"
#include "engine/codegen/structure.h"

namespace weft {

/// A factor in the lanes of a piece, whose rows have come as far as `rows`.
llvm::Value* Generator::lanes_of_rows(loop::AccessId access, const loop::For& each, const Piece& piece, std::span<const Scope> rows) {
  const StorageCode& storage = storage_of(access);
  const loop::Access& read = program_.accesses[access];
  const auto& inner = std::get<loop::For>(each.body.front().node);
  const auto depends_on = [&](loop::IndexId index) { return std::ranges::find(read.indices, index) != read.indices.end(); };
  if (!depends_on(each.index) && !depends_on(inner.index))
    return emit_->ir().CreateVectorSplat(piece.lanes, scalar_value(access, rows.front()));
  if (!emit_->checked() && !storage.places && stands_side_by_side(program_, access, each)) {
    llvm::Value* first = emit_->address(storage.type, storage.values, rows.front().cursors[access].begin);
    return load_piece(storage.type, first, {emit_->constant(0), piece.lanes, piece.mask}, emit_->constant(1));
  }
  llvm::Value* all = llvm::Constant::getNullValue(llvm::FixedVectorType::get(storage.type, piece.lanes));
  for (std::size_t row = 0; row < rows.size(); ++row) all = emit_->ir().CreateInsertElement(all, scalar_value(access, rows[row]), row);
  return all;
}

void Generator::lane_loop(const loop::For& each, std::span<const loop::Step> rest, std::span<const Finger> fingers, const Scope& scope) {
  const std::uint64_t extent = *known_extent(program_, each.index);
  const auto& inner = std::get<loop::For>(each.body.front().node);
  const auto& sum = std::get<loop::Accumulate>(inner.body.front().node);
  std::vector<Scope> rows;
  rows_at_product_ = &rows;
  unroll_dense(each, extent, rest, fingers, scope, false);
  rows_at_product_ = nullptr;
  const StorageCode& target = storage_of(sum.target);
  llvm::Type* type = product_type(sum);
  const std::vector<Piece> parts = pieces(extent);
  std::size_t first = 0;
  for (std::size_t number = 0; number < parts.size(); ++number) {
    const Piece& piece = parts[number];
    const std::span<const Scope> here = std::span(rows).subspan(first, std::min<std::size_t>(piece.lanes, extent - first));
    first += here.size();
    const auto factor = [&](loop::AccessId access) { return convert_lanes(lanes_of_rows(access, each, piece, here), type); };
    const auto every = [&](llvm::Value* one) { return emit_->ir().CreateVectorSplat(piece.lanes, one); };
    llvm::Value* product = sum.coefficient ? every(convert(coefficients_[*sum.coefficient], type)) : nullptr;
    for (std::size_t n = 0; n + 1 < sum.factors.size(); ++n) product = multiply(product, factor(sum.factors[n]));
    if (sum.negative) product = product ? arithmetic::negate(emit_->ir(), product) : every(arithmetic::minus_one(type));
    const Slot held = scope.held[target.id][number];
    llvm::Value* added = multiply_add(product, factor(sum.factors.back()), convert_lanes(emit_->get(held), type));
    emit_->set(held, convert_lanes(added, target.type));
  }
}

}  // namespace weft
