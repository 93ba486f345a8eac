// Vector loops, and loops that are joined to one. An extent that is a small fact is cut into pieces of full vectors and a
// rest, fully unrolled; any other one runs as blocks of four vectors and a rest, which is written out where the extent is
// known and masked elsewhere. Products are written lane by lane, so every lane is the scalar
// loop's iteration; only a sum over the loop's own index adds lanes in another order (and with strict_fp not even
// that).
#include <algorithm>
#include <bit>
#include <set>

#include "engine/codegen/arithmetic.h"
#include "engine/codegen/generate.h"
#include "engine/codegen/presence.h"

namespace weft {

namespace {

/// Independent sums hide the latency of an addition; blocks of this many vectors feed them.
constexpr unsigned vectors_per_block = 4;
/// Of a row that is written out: the next entry's row, which is independent too, hides the latency as well, and adding sums up takes as
/// long as adding to them. With a sum for every vector TTTP and SDDMM of rank 32 took 1.05 to 1.2 times as long.
constexpr std::size_t vectors_per_sum = 8;

bool is_number(llvm::Value* value, std::uint64_t number) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant && constant->getZExtValue() == number;
}

}  // namespace

/// The lanes from `first` on.
std::vector<Piece> Generator::pieces(std::uint64_t extent, std::uint64_t first) {
  std::vector<Piece> result;
  std::uint64_t offset = first;
  for (; extent - offset >= lanes_; offset += lanes_) result.push_back({emit_->constant(offset), lanes_, nullptr});
  while (offset < extent) {
    const std::uint64_t left = extent - offset;
    if (has_mask_registers()) {  // a masked vector costs no more than a narrower one
      const auto lanes = static_cast<unsigned>(std::bit_ceil(left));
      std::vector<llvm::Constant*> active;
      for (unsigned lane = 0; lane < lanes; ++lane) active.push_back(emit_->ir().getInt1(lane < left));
      result.push_back({emit_->constant(offset), lanes, lanes == left ? nullptr : llvm::ConstantVector::get(active)});
      break;
    }
    const auto lanes = static_cast<unsigned>(std::bit_floor(left));
    result.push_back({emit_->constant(offset), lanes, nullptr});
    offset += lanes;
  }
  return result;
}

/// Which lanes of a window are in the row, as words of the elements' width whose sign tells: with masks of bits that live from one block
/// to the next AVX2 would widen them for each load.
std::vector<Slot> Generator::window_masks(std::uint64_t most, llvm::Value* elements) {
  llvm::IRBuilder<>& ir = emit_->ir();
  llvm::Type* word = ir.getIntNTy(vector_bits_ / lanes_);
  llvm::Value* left = ir.CreateVectorSplat(lanes_, ir.CreateTrunc(elements, word));
  std::vector<Slot> masks;
  for (std::uint64_t first = 0; first < most; first += lanes_) {
    std::vector<llvm::Constant*> numbers;
    for (unsigned lane = 0; lane < lanes_; ++lane) numbers.push_back(llvm::ConstantInt::get(word, first + lane));
    llvm::Value* inside = ir.CreateICmpULT(llvm::ConstantVector::get(numbers), left);
    masks.push_back(emit_->slot(has_mask_registers() ? inside : ir.CreateSExt(inside, left->getType())));
  }
  return masks;
}

/// The vectors of the window that is set.
std::vector<Piece> Generator::window_pieces() {
  if (window_->masks.empty()) return pieces(window_->most);
  std::vector<Piece> parts;
  for (std::size_t n = 0; n < window_->masks.size(); ++n) {
    llvm::Value* mask = emit_->get(window_->masks[n]);
    if (!has_mask_registers()) mask = emit_->ir().CreateICmpSLT(mask, llvm::Constant::getNullValue(mask->getType()));
    parts.push_back({emit_->constant(n * lanes_), lanes_, mask});
  }
  return parts;
}

std::size_t Generator::row_vectors(loop::IndexId index) {
  if (is_windowed(index)) return window_->masks.empty() ? pieces(window_->most).size() : window_->masks.size();
  const std::optional<std::uint64_t> known = known_extent(program_, index);
  return known ? pieces(*known).size() : window_vectors;
}

/// A row over the last index, for each combination of the others, the last of which runs fastest.
std::vector<Slot> Generator::rows_of_zeros(const StorageCode& storage, std::span<const loop::IndexId> indices) {
  std::uint64_t count = 1;
  for (const loop::IndexId index : indices.first(indices.size() - 1)) count *= *known_extent(program_, index);
  const std::vector<Piece> parts = is_windowed(indices.back()) ? window_pieces() : pieces(*known_extent(program_, indices.back()));
  std::vector<Slot> rows;
  for (std::uint64_t n = 0; n < count; ++n)
    for (const Piece& piece : parts)
      rows.push_back(emit_->slot(llvm::Constant::getNullValue(llvm::FixedVectorType::get(storage.type, piece.lanes))));
  return rows;
}

/// Which of the vectors of a workspace in registers is the first of the row at a position: of a tile a constant, as its loops are written
/// out.
std::size_t Generator::held_row(const StorageCode& storage, llvm::Value* begin) {
  if (!tiles_[storage.id]) return 0;
  const std::uint64_t extent = *known_extent(program_, program_.accesses[access_of(storage.id)].indices.back());
  const std::uint64_t position = llvm::cast<llvm::ConstantInt>(begin)->getZExtValue();
  return extent == 0 ? 0 : position / extent * pieces(extent).size();
}

std::vector<Slot> Generator::row_from_memory(const StorageCode& storage, loop::IndexId index, llvm::Value* position) {
  const Lanes lanes{position, emit_->constant(1)};
  const std::uint64_t extent = *known_extent(program_, index);
  if (extent > 0) check_lanes(storage, lanes, emit_->constant(extent - 1));
  std::vector<Slot> row;
  for (const Piece& piece : pieces(extent)) row.push_back(emit_->slot(load_piece(storage, piece, lanes)));
  return row;
}

void Generator::row_to_memory(const StorageCode& storage, loop::IndexId index, llvm::Value* position,
                              const std::vector<Slot>& row) {
  const std::vector<Piece> parts = pieces(*known_extent(program_, index));
  for (std::size_t n = 0; n < parts.size(); ++n) store_piece(storage, parts[n], position, emit_->get(row[n]));
}

/// The positions of an access under all lanes of the loops; its steps are on dense levels only.
Generator::Lanes Generator::lanes_of(const JoinedLoops& loops, loop::AccessId access, const Scope& scope) {
  const StorageCode& storage = storage_of(access);
  Cursor cursor = scope.cursors[access];
  llvm::Value* stride = emit_->constant(0);
  for (const loop::For* each : loops)
    for (const loop::Step& step : each->steps) {
      if (step.access != access) continue;
      const loop::IndexId index = program_.accesses[access].indices[cursor.bound];
      const LevelCode& level = storage.levels[cursor.bound];
      if (!level.stride) stride = emit_->mul(stride, level.extent);
      if (std::ranges::find(loops, index, &loop::For::index) == loops.end()) {
        cursor = dense_at(*emit_, storage, cursor, scope.coordinates[index]);
        continue;
      }
      // Elements of loops that are joined are as far from each other as those of the innermost.
      if (index == loops.back()->index)
        stride = emit_->add(stride, level.stride ? level.stride : emit_->constant(1));
      llvm::Value* first = is_windowed(loops) ? window_->begin : emit_->constant(0);
      cursor = {cursor.bound + 1,
                level.stride ? emit_->add(cursor.begin, emit_->mul(first, level.stride))
                             : emit_->add(emit_->mul(cursor.begin, level.extent), first),
                nullptr};
    }
  return {cursor.begin, stride};
}

void Generator::check_lanes(const StorageCode& storage, const Lanes& lanes, llvm::Value* last) {
  if (!emit_->checked() || !storage.values || storage.levels.empty()) return;
  value_address(*emit_, storage, emit_->add(lanes.begin, emit_->mul(lanes.stride, last)));
}

llvm::Value* Generator::load_piece(const StorageCode& storage, const Piece& piece, const Lanes& lanes) {
  // One value for all lanes may stand elsewhere.
  llvm::Value* first = is_number(lanes.stride, 0) ? value_element(*emit_, storage, lanes.begin) : lanes.begin;
  llvm::Value* base = emit_->address(storage.type, storage.values, first);
  if (is_number(lanes.stride, 1) && in_parts(storage, piece)) return load_parts(storage, piece, base);
  return load_piece(storage.type, base, piece, lanes.stride);
}

/// Lane n of the piece's row lies n * `stride` elements behind `base`.
llvm::Value* Generator::load_piece(llvm::Type* element, llvm::Value* base, const Piece& piece, llvm::Value* stride) {
  llvm::IRBuilder<>& ir = emit_->ir();
  llvm::Type* type = llvm::FixedVectorType::get(element, piece.lanes);
  const unsigned bytes = element->getScalarSizeInBits() / 8;
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  if (is_number(stride, 1)) {
    llvm::Value* place = emit_->address(element, base, piece.offset);
    return piece.mask ? ir.CreateMaskedLoad(type, place, llvm::Align(bytes), piece.mask, zero)
                      : emit_->load(type, place, bytes);
  }
  if (llvm::Value* picked = picked_piece(element, base, piece, stride)) return picked;
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < piece.lanes; ++lane) numbers.push_back(ir.getInt64(lane));
  llvm::Value* lane_numbers =
      ir.CreateAdd(ir.CreateVectorSplat(piece.lanes, piece.offset), llvm::ConstantVector::get(numbers));
  llvm::Value* offsets = ir.CreateMul(lane_numbers, ir.CreateVectorSplat(piece.lanes, stride));
  llvm::Value* mask = piece.mask ? piece.mask : ir.CreateVectorSplat(piece.lanes, ir.getTrue());
  return ir.CreateMaskedGather(type, ir.CreateInBoundsGEP(element, base, offsets), llvm::Align(bytes), mask, zero);
}

/// Elements a few apart, as the columns of a small block are, are picked from the one or two vectors that hold all between them; null: they
/// are too far apart, or how far is not known.
llvm::Value* Generator::picked_piece(llvm::Type* element, llvm::Value* base, const Piece& piece, llvm::Value* stride) {
  const auto* apart = llvm::dyn_cast<llvm::ConstantInt>(stride);
  const auto* mask = piece.mask ? llvm::dyn_cast<llvm::Constant>(piece.mask) : nullptr;
  if (!apart || (piece.mask && !mask) || vector_bits_ < 512) return nullptr;
  std::uint64_t lanes = 0;  // those of a rest come first
  while (lanes < piece.lanes && (!mask || mask->getAggregateElement(static_cast<unsigned>(lanes))->isOneValue())) ++lanes;
  const std::uint64_t distance = apart->getZExtValue();
  if (distance < 2 || lanes < 2 || distance > lanes_ || (lanes - 1) * distance + 1 > std::uint64_t{2} * lanes_) return nullptr;
  llvm::IRBuilder<>& ir = emit_->ir();
  const auto wide = static_cast<unsigned>(std::bit_ceil((lanes - 1) * distance + 1));
  std::vector<llvm::Constant*> between;
  for (unsigned n = 0; n < wide; ++n) between.push_back(ir.getInt1(n <= (lanes - 1) * distance));
  llvm::Type* type = llvm::FixedVectorType::get(element, wide);
  llvm::Value* place = emit_->address(element, base, emit_->mul(piece.offset, stride));
  llvm::Value* all = ir.CreateMaskedLoad(type, place, llvm::Align(element->getScalarSizeInBits() / 8), llvm::ConstantVector::get(between),
                                         llvm::Constant::getNullValue(type));
  std::vector<int> picks;
  for (unsigned lane = 0; lane < piece.lanes; ++lane)
    picks.push_back(lane < lanes ? static_cast<int>(lane * distance) : static_cast<int>(wide));
  return ir.CreateShuffleVector(all, llvm::Constant::getNullValue(type), picks);
}

void Generator::store_piece(const StorageCode& storage, const Piece& piece, llvm::Value* position, llvm::Value* value) {
  const unsigned bytes = scalar_bytes(storage.storage->scalar);
  llvm::Value* base = emit_->address(storage.type, storage.values, position);
  llvm::Value* place = emit_->address(storage.type, base, piece.offset);
  if (in_parts(storage, piece))
    store_parts(storage, piece, base, value);
  else if (piece.mask)
    emit_->ir().CreateMaskedStore(value, place, llvm::Align(bytes), piece.mask);
  else
    emit_->store(value, place, bytes);
}

llvm::Value* Generator::convert_lanes(llvm::Value* value, llvm::Type* scalar) {
  const auto* vector = llvm::cast<llvm::FixedVectorType>(value->getType());
  return convert(value, llvm::FixedVectorType::get(scalar, vector->getNumElements()));
}

/// Of a factor, some neighbouring lanes: read before, in registers, or loaded; `number` counts the pieces of a row.
llvm::Value* Generator::row_piece(loop::AccessId access, const Lanes& lanes, const Piece& piece, std::size_t number, const Scope& scope) {
  const StorageCode& storage = storage_of(access);
  if (!scope.rows[access].empty()) return scope.rows[access][number];
  const std::vector<Slot>& held = scope.held[storage.id];
  if (held.empty()) return load_piece(storage, piece, lanes);
  if (is_number(lanes.stride, 0)) return emit_->ir().CreateVectorSplat(piece.lanes, emit_->get(held.front()));  // one scalar for every lane
  return emit_->get(held[held_row(storage, lanes.begin) + number]);
}

void Generator::add_piece(const VectorSum& sum, const Piece& piece, std::size_t number, llvm::Value* before, const Scope& scope) {
  llvm::IRBuilder<>& ir = emit_->ir();
  llvm::Type* type = llvm::FixedVectorType::get(sum.type, piece.lanes);
  std::vector<llvm::Value*> factors;
  if (sum.scalars || sum.rows.empty())
    factors.push_back(
        ir.CreateVectorSplat(piece.lanes, sum.scalars ? sum.scalars : llvm::ConstantFP::get(sum.type, 1.0)));
  for (const auto& [access, lanes] : sum.rows) factors.push_back(convert_lanes(row_piece(access, lanes, piece, number, scope), sum.type));
  llvm::Value* product = nullptr;
  for (std::size_t n = 0; n + 1 < factors.size(); ++n) product = multiply(product, factors[n]);
  llvm::Value* last = factors.back();

  if (sum.reduces) {
    // Inactive lanes must not add 0 * NaN; those of rows that are loaded here are 0 in all of them.
    const auto is_loaded = [&](const auto& row) {
      return scope.rows[row.first].empty() && scope.held[storage_of(row.first).id].empty();
    };
    const bool loaded =
        piece.mask && !sum.scalars && !sum.rows.empty() && !emit_->strict() && std::ranges::all_of(sum.rows, is_loaded);
    if (piece.mask && !loaded)
      last = ir.CreateSelect(piece.mask, last, llvm::Constant::getNullValue(type));
    if (emit_->strict() || (product && piece.mask && !loaded)) {
      llvm::Value* whole = multiply(product, last);
      if (piece.mask)
        whole =
            ir.CreateSelect(piece.mask, whole,
                            emit_->strict() ? arithmetic::nothing(type) : llvm::Constant::getNullValue(type));
      product = nullptr;
      last = whole;
    }
    if (emit_->strict()) {
      emit_->set(sum.partial[0], arithmetic::add_lanes(ir, emit_->get(sum.partial[0]), last));
    } else {
      const Slot partial = sum.partial[number % sum.partial.size()];
      emit_->set(partial, multiply_add(product, last, emit_->get(partial)));
    }
    return;
  }
  const StorageCode& storage = storage_of(sum.sum->target);
  const std::vector<Slot>& held = scope.held[storage.id];
  const Lanes contiguous{sum.target.begin, emit_->constant(1)};
  const auto old = [&] {
    if (before) return before;
    return held.empty() ? load_piece(storage, piece, contiguous) : emit_->get(held[held_row(storage, sum.target.begin) + number]);
  };
  llvm::Value* sum_of_lanes = scope.fresh[storage.id] ? multiply(product, last)
                                                      : multiply_add(product, last, convert_lanes(old(), sum.type));
  llvm::Value* added = convert_lanes(sum_of_lanes, storage.type);
  if (held.empty())
    store_piece(storage, piece, sum.target.begin, added);
  else
    emit_->set(held[held_row(storage, sum.target.begin) + number], added);
}

/// Neighbouring pieces, of which the first has that number among those of a row. What a target held that may hold anything is read where it
/// is to be added to, of all pieces at once.
void Generator::add_pieces(const VectorSum& sum, std::span<const Piece> parts, std::size_t first, const Scope& scope) {
  const StorageCode& storage = storage_of(sum.sum->target);
  std::vector<Slot> before;
  if (!sum.reduces && is_stored_whole(storage)) {
    const auto zero = [&](const Piece& piece) {
      return llvm::Constant::getNullValue(llvm::FixedVectorType::get(storage.type, piece.lanes));
    };
    for (const Piece& piece : parts) before.push_back(emit_->slot(zero(piece)));
    emit_->if_then(whole_[storage.id], [&] {
      for (std::size_t n = 0; n < parts.size(); ++n)
        emit_->set(before[n], load_piece(storage, parts[n], {sum.target.begin, emit_->constant(1)}));
    });
  }
  for (std::size_t n = 0; n < parts.size(); ++n)
    add_piece(sum, parts[n], first + n, before.empty() ? nullptr : emit_->get(before[n]), scope);
}

/// The vectors of a block that begins at an offset.
std::vector<Piece> Generator::block_at(llvm::Value* offset) {
  std::vector<Piece> parts;
  for (unsigned n = 0; n < vectors_per_block; ++n) parts.push_back({emit_->add(offset, emit_->constant(n * lanes_)), lanes_, nullptr});
  return parts;
}

/// A vector from an offset on, of which the lanes before `end` count.
Piece Generator::masked_piece(llvm::Value* offset, llvm::Value* end) {
  llvm::IRBuilder<>& ir = emit_->ir();
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < lanes_; ++lane) numbers.push_back(ir.getInt64(lane));
  llvm::Value* left = ir.CreateVectorSplat(lanes_, ir.CreateSub(end, offset));
  return {offset, lanes_, ir.CreateICmpULT(llvm::ConstantVector::get(numbers), left)};
}

/// target += value, for a target that is one scalar here.
void Generator::add_to_target(loop::AccessId target, llvm::Value* value, const Scope& scope) {
  const StorageCode& storage = storage_of(target);
  llvm::Value* old = scalar_value(target, scope);
  llvm::Value* added = convert(arithmetic::add(emit_->ir(), convert(old, value->getType()), value), storage.type);
  if (const std::vector<Slot>& held = scope.held[storage.id]; !held.empty())
    emit_->set(held_scalar(target, scope), added);
  else
    emit_->store(added, value_address(*emit_, storage, scope.cursors[target].begin),
                 scalar_bytes(storage.storage->scalar));
}

void Generator::vector_loop(const JoinedLoops& loops, const Scope& outer, bool cut) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const loop::For& each = *loops.back();
  if (options_.symbolic) {  // all that is known of it is that it runs
    llvm::Value* runs = ir.getTrue();
    for (const loop::For* joined : loops)
      runs = ir.CreateAnd(runs, ir.CreateICmpNE(extents_[joined->index], emit_->constant(0)));
    for (const loop::Statement& statement : each.body)
      emit_->if_then(runs, [&] { accumulate(std::get<loop::Accumulate>(statement.node), outer); });
    return;
  }
  Scope scope = outer;
  llvm::Value* extent = emit_->constant(1);
  for (const loop::For* joined : loops) {
    extent = emit_->mul(extent, is_windowed(loops) ? window_->elements : extents_[joined->index]);
    if (!cut) count(*joined, extent);
  }
  const std::optional<std::uint64_t> known = cut ? std::nullopt : is_windowed(loops) ? window_->most : known_elements(program_, loops);
  const bool unrolled = !cut && (is_windowed(loops) || is_unrolled(program_, loops));
  const std::uint64_t block = vectors_per_block * lanes_;
  std::vector<Lanes> lanes(program_.accesses.size());
  const BlockUses found = uses(each.body);
  // Nothing is read or checked for a loop over nothing.
  const auto write = [&] {
    for (const std::vector<loop::AccessId>& accesses : {found.factors, found.targets})
      for (const loop::AccessId access : accesses) {
        lanes[access] = lanes_of(loops, access, outer);
        scope.cursors[access] = {static_cast<std::uint32_t>(storage_of(access).levels.size()), lanes[access].begin,
                                 nullptr};
        if (!outer.held[storage_of(access).id].empty()) continue;
        check_lanes(storage_of(access), lanes[access], emit_->sub(extent, emit_->constant(1)));
      }
    std::vector<VectorSum> sums;
    for (const loop::Statement& statement : each.body) {
      VectorSum sum;
      sum.sum = &std::get<loop::Accumulate>(statement.node);
      sum.type = product_type(*sum.sum);
      const auto independent = [&](loop::AccessId access) { return is_number(lanes[access].stride, 0); };
      if (emit_->strict() && std::ranges::any_of(sum.sum->factors, independent)) {
        // Factors are multiplied in the order they stand: a scalar behind a row is a row of equal lanes.
        std::size_t leading = 0;
        while (leading < sum.sum->factors.size() && independent(sum.sum->factors[leading])) ++leading;
        std::size_t seen = 0;
        sum.scalars = scalar_product(*sum.sum, scope, sum.type, [&](loop::AccessId) { return seen++ < leading; });
        for (std::size_t n = leading; n < sum.sum->factors.size(); ++n)
          sum.rows.emplace_back(sum.sum->factors[n], lanes[sum.sum->factors[n]]);
      } else {
        sum.scalars = scalar_product(*sum.sum, scope, sum.type, independent);
        for (const loop::AccessId factor : sum.sum->factors)
          if (!independent(factor)) sum.rows.emplace_back(factor, lanes[factor]);
      }
      sum.target = lanes[sum.sum->target];
      sum.reduces = independent(sum.sum->target);
      sums.push_back(std::move(sum));
    }
    // What is written out: everything, or what is left behind the blocks.
    const unsigned in_blocks = unrolled ? 0 : vectors_per_block;
    const std::uint64_t written_from = known && !unrolled ? *known - *known % block : 0;
    const std::vector<Piece> parts = is_windowed(loops) ? window_pieces() : known ? pieces(*known, written_from) : std::vector<Piece>{};
    for (VectorSum& sum : sums) {
      if (!sum.reduces) continue;
      if (emit_->strict()) {
        sum.partial = {emit_->slot(convert(scalar_value(sum.sum->target, scope), sum.type))};
      } else {
        std::vector<unsigned> widths(in_blocks, lanes_);
        for (const Piece& piece : parts) widths.push_back(piece.lanes);
        const std::size_t together = unrolled ? (widths.size() + vectors_per_sum - 1) / vectors_per_sum : widths.size();
        for (std::size_t n = 0; n < widths.size(); ++n) {
          const bool joins = n >= together && widths[n] == widths[n - together];
          sum.partial.push_back(joins ? sum.partial[n - together]
                                      : emit_->slot(llvm::Constant::getNullValue(llvm::FixedVectorType::get(sum.type, widths[n]))));
        }
      }
    }
    if (!unrolled) {
      llvm::Value* end = known ? emit_->constant(written_from) : cut ? emit_->minimum(end_, extent) : extent;
      llvm::Value* first = cut ? emit_->minimum(begin_, end) : emit_->constant(0);
      const Slot offset = emit_->slot(first);
      emit_->strips(std::span(&offset, 1), std::span(&end, 1), [&](std::span<llvm::Value* const> limits) {
        emit_->while_loop(
            [&] { return ir.CreateICmpUGE(ir.CreateSub(limits[0], emit_->get(offset)), emit_->constant(block)); },
            [&] {
              llvm::Value* now = emit_->get(offset);
              for (const VectorSum& sum : sums)
                add_pieces(sum, block_at(now), 0, scope);
              emit_->set(offset, emit_->add(now, emit_->constant(block)));
            });
        if (known) return;
        emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(offset), limits[0]); },
                          [&] {
                            const Piece left = masked_piece(emit_->get(offset), limits[0]);
                            for (const VectorSum& sum : sums) add_pieces(sum, std::span(&left, 1), 0, scope);
                            emit_->set(offset, emit_->minimum(emit_->add(left.offset, emit_->constant(lanes_)), limits[0]));
                          });
      });
    }
    for (const VectorSum& sum : sums) add_pieces(sum, parts, in_blocks, scope);
    for (const VectorSum& sum : sums)
      if (sum.reduces) finish_reduction(sum, scope);
    for (const loop::AccessId target : found.targets)
      if (const Slot flag = scope.flags[storage_of(target).id]; flag.place())
        emit_->set(flag, ir.CreateOr(emit_->get(flag), ir.CreateICmpNE(extent, emit_->constant(0))));
  };
  if (cut) {
    llvm::Value* end = emit_->minimum(end_, extent);
    count(each, emit_->sub(end, emit_->minimum(begin_, end)));
  }
  const auto& first = std::get<loop::Accumulate>(each.body.front().node);
  where_present(flagged_factors(program_, first), outer, [&] {
    if (emit_->checked())
      emit_->if_then(ir.CreateICmpNE(extent, emit_->constant(0)), write);
    else
      write();
  });
}

/// Adds the partial sums up, those of equal width first, and the lanes last.
void Generator::finish_reduction(const VectorSum& sum, const Scope& scope) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const StorageCode& target = storage_of(sum.sum->target);
  if (emit_->strict()) {
    llvm::Value* total = convert(emit_->get(sum.partial[0]), target.type);
    if (const std::vector<Slot>& held = scope.held[target.id]; !held.empty())
      emit_->set(held_scalar(sum.sum->target, scope), total);
    else
      emit_->store(total, value_address(*emit_, target, scope.cursors[sum.sum->target].begin),
                   scalar_bytes(target.storage->scalar));
    return;
  }
  std::vector<llvm::Value*> vectors;
  std::set<llvm::AllocaInst*> added;
  for (const Slot& partial : sum.partial) {
    if (!added.insert(partial.place()).second) continue;
    llvm::Value* vector = emit_->get(partial);
    const auto same = std::ranges::find(vectors, vector->getType(), &llvm::Value::getType);
    if (same == vectors.end())
      vectors.push_back(vector);
    else
      *same = arithmetic::add(ir, *same, vector);
  }
  llvm::Value* total = nullptr;
  for (llvm::Value* vector : vectors) {
    llvm::CallInst* lanes = arithmetic::add_lanes(ir, arithmetic::nothing(sum.type), vector);
    lanes->setHasAllowReassoc(true);
    total = total ? arithmetic::add(ir, total, lanes) : lanes;
  }
  if (total) add_to_target(sum.sum->target, total, scope);
}

}  // namespace weft
