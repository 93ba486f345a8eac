// Batches (engine/loop/batch.h): a loop marked @batch(n) puts the two rows of its product aside, of each iteration that comes so far, and
// after n of them adds all products to their block in one pass: a tile of it stays in registers while it takes those of the whole batch,
//
//     for r in tiles: for s in tiles: tile = A[r,s]; for b in batch: tile += u[b][r] * w[b][s]; A[r,s] = tile
//
// so that the block is read and written once per batch and not once per product. A row of an input is left where it lies and its address
// kept; what is computed, a workspace or a product with scalars, is copied. TTMc takes half the time (engine/lower/README.md).
#include <algorithm>

#include "engine/codegen/arithmetic.h"
#include "engine/codegen/generate.h"
#include "engine/codegen/presence.h"

namespace weft {

namespace {

/// Vectors of the block that are in registers at a time, and of those how many lie side by side: what else the pass needs are these many
/// of a row, and one of an element of the other row, which is spread to all lanes as it is read.
struct Tile {
  unsigned vectors;
  unsigned columns;
};
Tile tile_of(unsigned vector_bits) { return vector_bits >= 512 ? Tile{24, 4} : Tile{8, 2}; }

/// Rows of a tile of that many vectors each: as many as there are registers for, fewer if that leaves no rest.
std::uint64_t tile_rows(std::uint64_t most, std::optional<std::uint64_t> extent) {
  if (!extent) return most;
  if (*extent <= most) return std::max<std::uint64_t>(*extent, 1);
  for (std::uint64_t rows = most; 2 * rows >= most && rows > 1; --rows)
    if (*extent % rows == 0) return rows;
  return most;
}

unsigned bytes_of(llvm::Type* type) { return type->getScalarSizeInBits() / 8; }

}  // namespace

/// The rows of one side of the product.
struct Generator::BatchedRows {
  JoinedLoops loops;
  std::vector<loop::AccessId> factors;
  std::vector<Piece> pieces;        ///< of a row that is copied
  std::uint64_t distance = 0;       ///< elements between copied rows
  llvm::Value* memory = nullptr;    ///< the copied rows, or an address each
  llvm::Value* stride = nullptr;    ///< of a row that lies elsewhere; null: rows are copied
  Slot varying{};                   ///< that stride, where it is no constant
};

struct Generator::Batch {
  loop::BatchedProduct product;
  BatchedRows rows;
  BatchedRows columns;
  llvm::Type* type = nullptr;  ///< of the products
  Slot count{};                ///< iterations whose rows wait
  std::uint64_t most = 0;
};

/// Null where the loop is no batch: results in the order of the text, counts, checks and kernels without values take products one by one.
std::shared_ptr<Generator::Batch> Generator::begin_batch(const loop::For& each, const Scope& scope) {
  if (each.marks.batch == 0 || emit_->strict() || emit_->checked() || options_.symbolic || options_.count) return nullptr;
  auto product = loop::batched_product(program_, each, scope.depths());
  if (!product) return nullptr;
  const loop::StorageId block = program_.accesses[product->sum->target].storage;
  if (scope.fresh[block] || in_registers(program_, block)) return nullptr;
  const JoinedLoops columns = joined_loops(program_, *product->columns.front());
  const std::optional<std::uint64_t> across = columns.empty() ? std::nullopt : known_elements(program_, columns);
  if (columns.size() != product->columns.size() || !across || !is_unrolled(program_, columns)) return nullptr;
  auto batch = std::make_shared<Batch>();
  batch->most = each.marks.batch;
  batch->type = product_type(*product->sum);
  batch->columns.loops = columns;
  batch->columns.factors = product->column_factors;
  batch->columns.pieces = pieces(*across);
  batch->rows.loops = {product->rows};
  batch->rows.factors = product->row_factors;
  const bool scaled = product->sum->negative || product->sum->coefficient ||
                      product->sum->factors.size() > product->row_factors.size() + product->column_factors.size();
  batch->product = std::move(*product);
  const std::optional<std::uint64_t> down = known_extent(program_, batch->product.rows->index);
  if (!lies_elsewhere(batch->rows)) {
    if (!down || *down > register_elements) return nullptr;
    batch->rows.pieces = pieces(*down);
  }
  keep_rows(*batch, batch->rows, down.value_or(0), !lies_elsewhere(batch->rows));
  keep_rows(*batch, batch->columns, *across, scaled || !lies_elsewhere(batch->columns));
  batch->count = emit_->slot(emit_->constant(0));
  batches_[batch->product.rows] = batch.get();
  return batch;
}

/// One row of an input, which nothing changes.
bool Generator::lies_elsewhere(const BatchedRows& rows) const {
  return rows.factors.size() == 1 && storage_of(rows.factors.front()).storage->role == loop::Role::input;
}

void Generator::keep_rows(const Batch& batch, BatchedRows& rows, std::uint64_t elements, bool copied) {
  if (!copied) {
    rows.memory = emit_->words(batch.most);
    rows.varying = emit_->slot(emit_->constant(0));
    rows.stride = emit_->constant(0);
    return;
  }
  rows.distance = (elements + lanes_ - 1) / lanes_ * lanes_;
  llvm::AllocaInst* memory = emit_->memory(llvm::ArrayType::get(batch.type, std::max<std::uint64_t>(rows.distance * batch.most, 1)));
  memory->setAlignment(llvm::Align(64));
  rows.memory = memory;
}

void Generator::end_batch(const Batch* batch) {
  if (batch) batches_.erase(batch->product.rows);
}

void Generator::in_batches(const Batch* batch, const Scope& scope, Emitter::Condition running, Emitter::Body iterations) {
  if (!batch) {
    iterations();
    return;
  }
  emit_->while_loop(running, [&] {
    emit_->set(batch->count, emit_->constant(0));
    iterations();
    add_batch(*batch, scope);
  });
}

/// The loop is `running`, and the rows of one iteration more can wait.
llvm::Value* Generator::has_room(const Batch* batch, llvm::Value* running) {
  if (!batch) return running;
  return emit_->ir().CreateAnd(running, emit_->ir().CreateICmpULT(emit_->get(batch->count), emit_->constant(batch->most)));
}

/// In place of the nest: the rows of this iteration are put aside.
void Generator::put_aside(Batch& batch, const Scope& scope) {
  const loop::Accumulate& sum = *batch.product.sum;
  where_present(flagged_factors(program_, sum), scope, [&] {
    const auto is_scalar = [&](loop::AccessId factor) {
      return std::ranges::find(batch.rows.factors, factor) == batch.rows.factors.end() &&
             std::ranges::find(batch.columns.factors, factor) == batch.columns.factors.end();
    };
    llvm::Value* number = emit_->get(batch.count);
    put_row_aside(batch, batch.rows, number, nullptr, scope);
    put_row_aside(batch, batch.columns, number, scalar_product(sum, scope, batch.type, is_scalar), scope);
    emit_->set(batch.count, emit_->add(number, emit_->constant(1)));
    if (const Slot flag = scope.flags[storage_of(sum.target).id]; flag.place()) {
      llvm::Value* elements = extents_[batch.product.rows->index];
      for (const loop::For* each : batch.product.columns) elements = emit_->mul(elements, extents_[each->index]);
      emit_->set(flag, emit_->ir().CreateOr(emit_->get(flag), emit_->ir().CreateICmpNE(elements, emit_->constant(0))));
    }
  });
}

void Generator::put_row_aside(const Batch& batch, BatchedRows& rows, llvm::Value* number, llvm::Value* scalars, const Scope& scope) {
  if (rows.stride) {
    const Lanes lanes = lanes_of(rows.loops, rows.factors.front(), scope);
    rows.stride = lanes.stride;
    if (!llvm::isa<llvm::Constant>(lanes.stride)) emit_->set(rows.varying, lanes.stride);
    const StorageCode& storage = storage_of(rows.factors.front());
    emit_->store(emit_->address(storage.type, storage.values, lanes.begin), emit_->address(emit_->word(), rows.memory, number), 8);
    return;
  }
  llvm::Value* first = emit_->mul(number, emit_->constant(rows.distance));
  for (std::size_t n = 0; n < rows.pieces.size(); ++n) {
    const Piece& piece = rows.pieces[n];
    llvm::Value* product = scalars ? emit_->ir().CreateVectorSplat(piece.lanes, scalars) : nullptr;
    for (const loop::AccessId factor : rows.factors)
      product = multiply(product, convert_lanes(row_piece(factor, lanes_of(rows.loops, factor, scope), piece, n, scope), batch.type));
    llvm::Value* place = emit_->address(batch.type, emit_->address(batch.type, rows.memory, first), piece.offset);
    emit_->store(product, place, bytes_of(batch.type));
  }
}

/// Adds all that waits to the block.
void Generator::add_batch(const Batch& batch, const Scope& scope) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const loop::IndexId index = batch.product.rows->index;
  const Tile tile = tile_of(vector_bits_);
  const std::size_t wide = std::min<std::size_t>(batch.columns.pieces.size(), tile.columns);
  if (wide == 0) return;
  const std::optional<std::uint64_t> known = known_extent(program_, index);
  const std::uint64_t rows = tile_rows(tile.vectors / wide, known);
  llvm::Value* extent = extents_[index];
  const Slot row = emit_->slot(emit_->constant(0));
  emit_->while_loop([&] { return ir.CreateICmpUGE(ir.CreateSub(extent, emit_->get(row)), emit_->constant(rows)); },
                    [&] {
                      add_batch_to_rows(batch, emit_->get(row), rows, scope);
                      emit_->set(row, emit_->add(emit_->get(row), emit_->constant(rows)));
                    });
  if (known) {
    if (*known % rows > 0) add_batch_to_rows(batch, emit_->constant(*known / rows * rows), *known % rows, scope);
    return;
  }
  emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(row), extent); },
                    [&] {
                      add_batch_to_rows(batch, emit_->get(row), 1, scope);
                      emit_->set(row, emit_->add(emit_->get(row), emit_->constant(1)));
                    });
}

/// To `count` rows of the block from `first` on, side by side in tiles.
void Generator::add_batch_to_rows(const Batch& batch, llvm::Value* first, std::uint64_t count, const Scope& scope) {
  const loop::AccessId target = batch.product.sum->target;
  const loop::For& down = *batch.product.rows;
  std::vector<llvm::Value*> places;
  for (std::uint64_t n = 0; n < count; ++n) {
    Scope here = scope;
    take_coordinate(here, down.index, emit_->add(first, emit_->constant(n)));
    for (const loop::Step& step : down.steps) {
      if (step.access != target) continue;
      Cursor& cursor = here.cursors[target];
      cursor = dense_at(*emit_, storage_of(target), cursor, here.coordinates[program_.accesses[target].indices[cursor.bound]]);
    }
    places.push_back(lanes_of(batch.columns.loops, target, here).begin);
  }
  const std::size_t wide = tile_of(vector_bits_).columns;
  for (std::size_t column = 0; column < batch.columns.pieces.size(); column += wide) {
    const std::size_t end = std::min(column + wide, batch.columns.pieces.size());
    add_batch_to_tile(batch, first, places, std::span(batch.columns.pieces).subspan(column, end - column));
  }
}

/// To the elements of a tile: rows that begin at these positions, some neighbouring vectors of each.
void Generator::add_batch_to_tile(const Batch& batch, llvm::Value* first, std::span<llvm::Value* const> places,
                                  std::span<const Piece> parts) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const StorageCode& block = storage_of(batch.product.sum->target);
  std::vector<Slot> sums;
  for (llvm::Value* place : places)
    for (const Piece& piece : parts)
      sums.push_back(emit_->slot(convert_lanes(load_piece(block, piece, {place, emit_->constant(1)}), batch.type)));
  const Slot number = emit_->slot(emit_->constant(0));
  emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(number), emit_->get(batch.count)); },
                    [&] {
                      llvm::Value* now = emit_->get(number);
                      std::vector<llvm::Value*> row;
                      for (const Piece& piece : parts) row.push_back(batched_piece(batch, now, piece));
                      for (std::size_t n = 0; n < places.size(); ++n) {
                        llvm::Value* factor = batched_element(batch, now, first, n);
                        for (std::size_t part = 0; part < parts.size(); ++part) {
                          const Slot sum = sums[n * parts.size() + part];
                          emit_->set(sum, multiply_add(ir.CreateVectorSplat(parts[part].lanes, factor), row[part], emit_->get(sum)));
                        }
                      }
                      emit_->set(number, emit_->add(now, emit_->constant(1)));
                    });
  for (std::size_t n = 0; n < places.size(); ++n)
    for (std::size_t part = 0; part < parts.size(); ++part)
      store_piece(block, parts[part], places[n], convert_lanes(emit_->get(sums[n * parts.size() + part]), block.type));
}

/// Where a row begins that was put aside.
llvm::Value* Generator::batched_begin(const Batch& batch, const BatchedRows& rows, llvm::Value* number) {
  if (!rows.stride) return emit_->address(batch.type, rows.memory, emit_->mul(number, emit_->constant(rows.distance)));
  return emit_->load(emit_->ir().getPtrTy(), emit_->address(emit_->word(), rows.memory, number), 8);
}

/// Of the row with the index of the outer loop, the element `first + n`.
llvm::Value* Generator::batched_element(const Batch& batch, llvm::Value* number, llvm::Value* first, std::uint64_t n) {
  const BatchedRows& rows = batch.rows;
  llvm::Type* type = rows.stride ? storage_of(rows.factors.front()).type : batch.type;
  llvm::Value* begin = batched_begin(batch, rows, number);
  llvm::Value* stride = batched_stride(rows);
  llvm::Value* place = emit_->address(type, emit_->address(type, begin, emit_->mul(first, stride)), emit_->mul(emit_->constant(n), stride));
  return convert(emit_->load(type, place, bytes_of(type)), batch.type);
}

/// Of the row that runs along vectors, some elements.
llvm::Value* Generator::batched_piece(const Batch& batch, llvm::Value* number, const Piece& piece) {
  const BatchedRows& rows = batch.columns;
  llvm::Value* begin = batched_begin(batch, rows, number);
  if (!rows.stride) {
    llvm::Value* place = emit_->address(batch.type, begin, piece.offset);
    return emit_->load(llvm::FixedVectorType::get(batch.type, piece.lanes), place, bytes_of(batch.type));
  }
  const StorageCode& storage = storage_of(rows.factors.front());
  return convert_lanes(load_piece(storage.type, begin, piece, batched_stride(rows)), batch.type);
}

llvm::Value* Generator::batched_stride(const BatchedRows& rows) {
  if (!rows.stride) return emit_->constant(1);
  return llvm::isa<llvm::Constant>(rows.stride) ? rows.stride : emit_->get(rows.varying);
}

}  // namespace weft
