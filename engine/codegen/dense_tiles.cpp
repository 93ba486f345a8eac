// Dense products (engine/loop/dense_product.h) as tiles: some rows by some vectors of the target are summed in registers, so that each
// vector of the right matrix is loaded once for all these rows,
//
//     for blocks of j: for panels of k: panel = B[block, vectors]
//       for tiles of i: sums = 0; for j in block: for row, vector: sums[row, vector] += A[i + row, j] * panel[j, vector]; C += sums
//
// A panel is copied where enough rows follow: its rows are adjacent then, else they are as far apart as rows of B, each in a page and often
// in a cache set of the next. Every element is summed in the order of j whatever rows and columns stand beside it, block by block, so that
// results do not depend on how the rows are cut for threads.
#include <algorithm>

#include "engine/codegen/arithmetic.h"
#include "engine/codegen/generate.h"
#include "engine/codegen/presence.h"
#include "engine/loop/dense_product.h"
#include "engine/network/code_forms.h"

namespace weft {

namespace {

/// Iterations of the sum that a panel holds.
constexpr std::uint64_t block_terms = 128;
/// Rows of the left matrix that are gone through for all panels of a block: 384 KB of f64.
constexpr std::uint64_t block_rows = 384;
/// Rows that a panel is copied for: it costs a load and a store of each vector, as much as one row or two.
constexpr std::uint64_t copied_rows = 16;
/// Smaller right matrices are in the first cache as they lie.
constexpr std::uint64_t copied_bytes = 32 * 1024;
/// A rest of so many rows has a tile of its own.
constexpr std::uint64_t rest_rows = 2;

/// Vectors of a tile that lie side by side, at most.
std::size_t widest_tile(unsigned vector_bits) { return vector_bits >= 512 ? 4 : 3; }

/// Rows of a tile of that many vectors each: sums fill three quarters of the registers, and hide how long an addition takes.
std::uint64_t tile_rows(unsigned vector_bits, std::size_t vectors) {
  const std::uint64_t sums = vector_bits >= 512 ? 24 : 12;
  return std::min<std::uint64_t>(8, sums / vectors);
}

bool is_one(llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant != nullptr && constant->isOne();
}

}  // namespace

/// Position of an element of an access: begin + row * row stride + ...
struct Generator::Matrix {
  const StorageCode* storage = nullptr;
  llvm::Value* begin = nullptr;
  llvm::Value* row = nullptr;
  llvm::Value* sum = nullptr;
  llvm::Value* column = nullptr;
};

/// Neighbouring vectors of the target's rows; `count` panels of that form lie side by side.
struct Generator::Panel {
  std::vector<Piece> pieces;  ///< offsets from the first element
  std::uint64_t first = 0;    ///< element of a row
  std::uint64_t count = 1;
  std::uint64_t elements = 0;  ///< lanes in all
};

struct Generator::DenseTiles {
  loop::DenseProduct product;
  Matrix target;
  Matrix left;
  Matrix right;
  llvm::Type* type = nullptr;
  llvm::Value* scalars = nullptr;  ///< null: 1
  llvm::Value* adds = nullptr;     ///< whether the first block adds to what the target holds; null: it does
  llvm::Value* copies = nullptr;   ///< whether panels are copied
  llvm::Value* memory = nullptr;   ///< of a panel
  llvm::Value* first_row = nullptr;
  llvm::Value* end_row = nullptr;
  llvm::Value* first_term = nullptr;  ///< of the block
  llvm::Value* terms = nullptr;       ///< in the block
};

/// Whether the loop is such a product, which has then been written.
bool Generator::dense_tiles(const loop::For& each, const Scope& scope, bool cut) {
  if (emit_->strict() || emit_->checked() || options_.symbolic || options_.count) return false;
  if (std::ranges::find(each.steps, loop::Use::drive, &loop::Step::use) != each.steps.end()) return false;
  const auto product = loop::dense_product(program_, each, scope.depths());
  if (!product || !fits_tiles(*product, scope)) return false;
  if (cut && (product->sum == &each || product->column == &each)) return false;
  llvm::Value* adds = adds_to_target(*product, each);
  const auto nest = [&](auto& self, std::span<const loop::For* const> loops, const Scope& outside) -> void {
    if (loops.empty()) {
      multiply_dense(*product, outside, cut && product->row == &each, adds);
      return;
    }
    const bool ranged = cut && loops.front() == &each;
    llvm::Value* extent = extents_[loops.front()->index];
    const Slot coordinate = emit_->slot(ranged ? begin_ : emit_->constant(0));
    llvm::Value* end = ranged ? emit_->minimum(end_, extent) : extent;
    emit_->while_loop([&] { return emit_->ir().CreateICmpULT(emit_->get(coordinate), end); },
                      [&] {
                        Scope here = outside;
                        take_coordinate(here, loops.front()->index, emit_->get(coordinate));
                        self(self, loops.subspan(1), here);
                        emit_->set(coordinate, emit_->add(emit_->get(coordinate), emit_->constant(1)));
                      });
  };
  nest(nest, product->outer, scope);
  return true;
}

bool Generator::fits_tiles(const loop::DenseProduct& product, const Scope& scope) const {
  const StorageCode& target = storage_of(product.target);
  if (appended_.contains(target.id) || loop::pattern_of(program_, target.id)) return false;
  for (const loop::AccessId access : {product.target, product.left, product.right}) {
    const StorageCode& matrix = storage_of(access);
    const auto is_plain = [](const Level& level) { return is_dense(level); };
    if (matrix.storage->role == loop::Role::workspace && (!matrix.values || !std::ranges::all_of(matrix.storage->levels, is_plain)))
      return false;
  }
  if (!scope.held[target.id].empty() || scope.flags[target.id].place() || scope.fresh[target.id]) return false;
  if (storage_of(product.left).type != target.type || storage_of(product.right).type != target.type) return false;
  if (!flagged_factors(program_, *product.product).empty()) return false;
  const auto terms = known_extent(program_, product.sum->index);
  const auto rows = known_extent(program_, product.row->index);
  const auto columns = known_extent(program_, product.column->index);
  // Columns that are to be transposed have to be worth it.
  if (!is_adjacent(product) && rows.value_or(0) < transposed_tile_rows) return false;
  return columns && *columns > 0 && rows.value_or(least_tile_rows) >= least_tile_rows &&
         terms.value_or(least_tile_terms) >= least_tile_terms;
}

/// Whether the first block of terms adds to what the target holds; null: it does. It stores its sums where an iteration of the root loop
/// would clear the rows of an output that holds anything, or store products itself.
llvm::Value* Generator::adds_to_target(const loop::DenseProduct& product, const loop::For& each) {
  const StorageCode& target = storage_of(product.target);
  const auto begun = std::ranges::find(begun_, target.id, &Begun::storage);
  const bool root = is_ranged(program_) && &each == &std::get<loop::For>(program_.body.front().node);
  if (begun != begun_.end() && root) return emit_->ir().CreateNot(begun->fresh);
  return is_stored_whole(target) ? whole_[target.id] : nullptr;
}

/// Elements of a row of the right matrix lie side by side.
bool Generator::is_adjacent(const loop::DenseProduct& product) const {
  const loop::Access& right = program_.accesses[product.right];
  return right.indices.back() == product.column->index && !storage_of(product.right).storage->levels.back().strided &&
         std::ranges::count(right.indices, product.column->index) == 1;
}

Generator::Matrix Generator::matrix_of(const loop::DenseProduct& product, loop::AccessId access, const Scope& scope) {
  const StorageCode& storage = storage_of(access);
  const std::vector<loop::IndexId>& indices = program_.accesses[access].indices;
  llvm::Value* zero = emit_->constant(0);
  Matrix found{&storage, scope.cursors[access].begin, zero, zero, zero};
  for (std::uint32_t bound = scope.cursors[access].bound; bound < indices.size(); ++bound) {
    const LevelCode& level = storage.levels[bound];
    const auto step = [&](llvm::Value* parent) { return level.stride ? parent : emit_->mul(parent, level.extent); };
    llvm::Value* apart = level.stride ? level.stride : emit_->constant(1);
    for (llvm::Value** part : {&found.begin, &found.row, &found.sum, &found.column}) *part = step(*part);
    if (indices[bound] == product.row->index)
      found.row = emit_->add(found.row, apart);
    else if (indices[bound] == product.sum->index)
      found.sum = emit_->add(found.sum, apart);
    else if (indices[bound] == product.column->index)
      found.column = emit_->add(found.column, apart);
    else
      found.begin = emit_->add(found.begin, emit_->mul(scope.coordinates[indices[bound]], apart));
  }
  return found;
}

/// Panels of neighbouring vectors, as equally wide as can be, equal ones together.
std::vector<Generator::Panel> Generator::panels_of(std::uint64_t columns) {
  const std::vector<Piece> all = pieces(columns);
  const std::size_t most = widest_tile(vector_bits_);
  const std::size_t count = (all.size() + most - 1) / most;
  std::vector<Panel> panels;
  std::size_t next = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t width = all.size() / count + (n < all.size() % count ? 1 : 0);
    const std::uint64_t first = llvm::cast<llvm::ConstantInt>(all[next].offset)->getZExtValue();
    Panel panel{{}, first, 1, 0};
    bool full = true;
    for (std::size_t part = 0; part < width; ++part) {
      const Piece& piece = all[next++];
      panel.pieces.push_back({emit_->constant(panel.elements), piece.lanes, piece.mask});
      panel.elements += piece.lanes;
      full = full && piece.lanes == lanes_ && piece.mask == nullptr;
    }
    if (full && !panels.empty() && panels.back().elements == panel.elements &&
        panels.back().first + panels.back().count * panel.elements == first)
      ++panels.back().count;
    else
      panels.push_back(std::move(panel));
  }
  return panels;
}

void Generator::multiply_dense(const loop::DenseProduct& product, const Scope& outside, bool cut, llvm::Value* adds) {
  llvm::IRBuilder<>& ir = emit_->ir();
  Scope scope = outside;
  for (const loop::AccessId factor : product.product->factors) {
    if (factor == product.left || factor == product.right) continue;
    for (Cursor& cursor = scope.cursors[factor]; cursor.bound < storage_of(factor).levels.size();)
      cursor = dense_at(*emit_, storage_of(factor), cursor, scope.coordinates[program_.accesses[factor].indices[cursor.bound]]);
  }
  DenseTiles tiles;
  tiles.product = product;
  tiles.target = matrix_of(product, product.target, scope);
  tiles.left = matrix_of(product, product.left, scope);
  tiles.right = matrix_of(product, product.right, scope);
  tiles.type = tiles.target.storage->type;
  tiles.scalars = scalar_product(*product.product, scope, tiles.type,
                                 [&](loop::AccessId factor) { return factor != product.left && factor != product.right; });
  llvm::Value* extent = extents_[product.row->index];
  tiles.first_row = cut ? begin_ : emit_->constant(0);
  tiles.end_row = cut ? emit_->minimum(end_, extent) : extent;
  llvm::Value* terms = extents_[product.sum->index];
  const std::uint64_t columns = *known_extent(program_, product.column->index);
  tiles.copies = ir.getTrue();
  if (is_adjacent(product)) {
    llvm::Value* bytes = emit_->mul(terms, emit_->constant(columns * (tiles.type->getScalarSizeInBits() / 8)));
    llvm::Value* rows = emit_->sub(tiles.end_row, tiles.first_row);
    tiles.copies =
        ir.CreateAnd(ir.CreateICmpUGT(bytes, emit_->constant(copied_bytes)), ir.CreateICmpUGE(rows, emit_->constant(copied_rows)));
  }
  const std::vector<Panel> panels = panels_of(columns);
  const std::uint64_t widest = std::ranges::max_element(panels, {}, &Panel::elements)->elements;
  llvm::AllocaInst* memory = emit_->memory(llvm::ArrayType::get(tiles.type, block_terms * widest));
  memory->setAlignment(llvm::Align(64));
  tiles.memory = memory;
  tiles.adds = adds;
  // Of the left matrix so many rows of a block of terms stay in the second cache while panels go by.
  llvm::Value* last_row = tiles.end_row;
  if (known_extent(program_, product.row->index).value_or(block_rows + 1) <= block_rows) {
    add_blocks(tiles, panels);
    return;
  }
  const Slot row = emit_->slot(tiles.first_row);
  emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(row), last_row); },
                    [&] {
                      tiles.first_row = emit_->get(row);
                      tiles.end_row = emit_->minimum(emit_->add(tiles.first_row, emit_->constant(block_rows)), last_row);
                      add_blocks(tiles, panels);
                      emit_->set(row, tiles.end_row);
                    });
}

/// Adds all terms, block by block. Without terms zeros are stored.
void Generator::add_blocks(DenseTiles& tiles, std::span<const Panel> panels) {
  llvm::IRBuilder<>& ir = emit_->ir();
  llvm::Value* terms = extents_[tiles.product.sum->index];
  llvm::Value* end = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umax, terms, emit_->constant(1));
  const Slot block = emit_->slot(emit_->constant(0));
  emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(block), end); },
                    [&] {
                      tiles.first_term = emit_->get(block);
                      tiles.terms = emit_->minimum(emit_->sub(terms, tiles.first_term), emit_->constant(block_terms));
                      for (const Panel& panel : panels) add_panels(tiles, panel);
                      emit_->set(block, emit_->add(tiles.first_term, emit_->constant(block_terms)));
                    });
}

void Generator::add_panels(const DenseTiles& tiles, const Panel& panel) {
  if (panel.count == 1) {
    add_panel(tiles, panel, emit_->constant(panel.first));
    return;
  }
  const Slot first = emit_->slot(emit_->constant(panel.first));
  llvm::Value* end = emit_->constant(panel.first + panel.count * panel.elements);
  emit_->while_loop([&] { return emit_->ir().CreateICmpULT(emit_->get(first), end); },
                    [&] {
                      add_panel(tiles, panel, emit_->get(first));
                      emit_->set(first, emit_->add(emit_->get(first), emit_->constant(panel.elements)));
                    });
}

/// Adds the terms of the block to the columns of a panel, in all rows.
void Generator::add_panel(const DenseTiles& tiles, const Panel& panel, llvm::Value* first) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const Matrix& right = tiles.right;
  llvm::Value* begin = emit_->add(right.begin, emit_->mul(tiles.first_term, right.sum));
  llvm::Value* place = emit_->address(tiles.type, right.storage->values, emit_->add(begin, emit_->mul(first, right.column)));
  const Slot base = emit_->slot(place);
  const Slot apart = emit_->slot(right.sum);
  emit_->if_then(tiles.copies, [&] {
    copy_panel(tiles, panel, place);
    emit_->set(base, tiles.memory);
    emit_->set(apart, emit_->constant(panel.elements));
  });
  const PanelRows rows{emit_->get(base), emit_->get(apart)};
  const std::uint64_t high = tile_rows(vector_bits_, panel.pieces.size());
  const Slot row = emit_->slot(tiles.first_row);
  emit_->strips(std::span(&row, 1), std::span(&tiles.end_row, 1), [&](std::span<llvm::Value* const> limits) {
    const auto go_on = [&](std::uint64_t count) {
      llvm::Value* now = emit_->get(row);
      add_tile(tiles, panel, rows, first, now, count, limits[0]);
      emit_->set(row, emit_->minimum(emit_->add(now, emit_->constant(count)), limits[0]));
    };
    emit_->while_loop([&] { return ir.CreateICmpUGT(ir.CreateSub(limits[0], emit_->get(row)), emit_->constant(rest_rows)); },
                      [&] { go_on(high); });
    emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(row), limits[0]); }, [&] { go_on(rest_rows); });
  });
}

/// A row of B(j,k) is copied as it lies. The columns of B(k,j) lie side by side instead: squares of as many terms as a vector has lanes are
/// transposed on the way, and the terms left over gathered element by element.
void Generator::copy_panel(const DenseTiles& tiles, const Panel& panel, llvm::Value* place) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const unsigned bytes = tiles.type->getScalarSizeInBits() / 8;
  const auto row_at = [&](llvm::Value* term) {
    return emit_->address(tiles.type, tiles.memory, emit_->mul(term, emit_->constant(panel.elements)));
  };
  const Slot term = emit_->slot(emit_->constant(0));
  if (is_one(tiles.right.sum) && !is_one(tiles.right.column))
    emit_->while_loop([&] { return ir.CreateICmpUGE(ir.CreateSub(tiles.terms, emit_->get(term)), emit_->constant(lanes_)); },
                      [&] {
                        llvm::Value* now = emit_->get(term);
                        for (const Piece& piece : panel.pieces) copy_transposed(tiles, piece, place, now, row_at(now), panel.elements);
                        emit_->set(term, emit_->add(now, emit_->constant(lanes_)));
                      });
  emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(term), tiles.terms); },
                    [&] {
                      llvm::Value* now = emit_->get(term);
                      llvm::Value* from = emit_->address(tiles.type, place, emit_->mul(now, tiles.right.sum));
                      for (const Piece& piece : panel.pieces) {
                        llvm::Value* to = emit_->address(tiles.type, row_at(now), piece.offset);
                        emit_->store(load_piece(tiles.type, from, piece, tiles.right.column), to, bytes);
                      }
                      emit_->set(term, emit_->add(now, emit_->constant(1)));
                    });
}

/// As many terms as a vector has lanes, of the columns of a piece: vectors a, b, c, d of four terms each become a0 b0 c0 d0, a1 b1 c1 d1,
/// ... by interleaving the first half of them with the second, twice.
void Generator::copy_transposed(const DenseTiles& tiles, const Piece& piece, llvm::Value* place, llvm::Value* term, llvm::Value* to,
                                std::uint64_t apart) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const unsigned bytes = tiles.type->getScalarSizeInBits() / 8;
  llvm::Type* type = llvm::FixedVectorType::get(tiles.type, lanes_);
  const auto* mask = piece.mask ? llvm::cast<llvm::Constant>(piece.mask) : nullptr;
  std::vector<llvm::Value*> vectors;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    const bool stands = lane < piece.lanes && (!mask || mask->getAggregateElement(lane)->isOneValue());
    llvm::Value* column = emit_->mul(emit_->add(piece.offset, emit_->constant(lane)), tiles.right.column);
    vectors.push_back(stands ? emit_->load(type, emit_->address(tiles.type, place, emit_->add(column, term)), bytes)
                             : llvm::Constant::getNullValue(type));
  }
  std::vector<int> low;
  std::vector<int> high;
  for (int lane = 0; lane < static_cast<int>(lanes_); ++lane) {
    low.push_back(lane / 2 + lane % 2 * static_cast<int>(lanes_));
    high.push_back(low.back() + static_cast<int>(lanes_) / 2);
  }
  for (unsigned done = 1; done < lanes_; done *= 2) {
    std::vector<llvm::Value*> next;
    for (unsigned n = 0; n < lanes_ / 2; ++n)
      for (const std::vector<int>& picks : {low, high}) next.push_back(ir.CreateShuffleVector(vectors[n], vectors[n + lanes_ / 2], picks));
    vectors = std::move(next);
  }
  std::vector<int> columns;
  for (unsigned lane = 0; lane < piece.lanes; ++lane) columns.push_back(static_cast<int>(lane));
  for (unsigned n = 0; n < lanes_; ++n) {
    llvm::Value* row = piece.lanes < lanes_ ? ir.CreateShuffleVector(vectors[n], columns) : vectors[n];
    llvm::Value* first = emit_->address(tiles.type, to, emit_->constant(n * apart));
    emit_->store(row, emit_->address(tiles.type, first, piece.offset), bytes);
  }
}

/// Sums the panel into `count` rows from `row` on. Rows from `limit` on repeat the last one and are not stored.
void Generator::add_tile(const DenseTiles& tiles, const Panel& panel, const PanelRows& rows, llvm::Value* first, llvm::Value* row,
                         std::uint64_t count, llvm::Value* limit) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const unsigned bytes = tiles.type->getScalarSizeInBits() / 8;
  const std::size_t wide = panel.pieces.size();
  llvm::Value* last = emit_->sub(limit, emit_->constant(1));
  std::vector<llvm::Value*> lefts;
  std::vector<Slot> sums;
  for (std::uint64_t n = 0; n < count; ++n) {
    llvm::Value* own = n == 0 ? row : emit_->minimum(emit_->add(row, emit_->constant(n)), last);
    llvm::Value* position = emit_->add(tiles.left.begin, emit_->mul(own, tiles.left.row));
    position = emit_->add(position, emit_->mul(tiles.first_term, tiles.left.sum));
    lefts.push_back(emit_->address(tiles.type, tiles.left.storage->values, position));
    for (const Piece& piece : panel.pieces)
      sums.push_back(emit_->slot(llvm::Constant::getNullValue(llvm::FixedVectorType::get(tiles.type, piece.lanes))));
  }
  const Slot term = emit_->slot(emit_->constant(0));
  const Slot element = emit_->slot(emit_->constant(0));
  const Slot vectors = emit_->slot(rows.begin);
  emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(term), tiles.terms); },
                    [&] {
                      std::vector<llvm::Value*> parts;
                      for (const Piece& piece : panel.pieces)
                        parts.push_back(load_piece(tiles.type, emit_->get(vectors), piece, emit_->constant(1)));
                      for (std::uint64_t n = 0; n < count; ++n) {
                        llvm::Value* place = emit_->address(tiles.type, lefts[n], emit_->get(element));
                        llvm::Value* factor = emit_->load(tiles.type, place, bytes);
                        for (std::size_t part = 0; part < wide; ++part) {
                          const Slot sum = sums[n * wide + part];
                          emit_->set(sum,
                                     multiply_add(ir.CreateVectorSplat(panel.pieces[part].lanes, factor), parts[part], emit_->get(sum)));
                        }
                      }
                      emit_->set(vectors, emit_->address(tiles.type, emit_->get(vectors), rows.apart));
                      emit_->set(element, emit_->add(emit_->get(element), tiles.left.sum));
                      emit_->set(term, emit_->add(emit_->get(term), emit_->constant(1)));
                    });
  llvm::Value* adds = ir.getTrue();
  if (tiles.adds) adds = ir.CreateOr(tiles.adds, ir.CreateICmpNE(tiles.first_term, emit_->constant(0)));
  for (std::uint64_t n = 0; n < count; ++n) {
    llvm::Value* own = emit_->add(row, emit_->constant(n));
    emit_->if_then(n == 0 ? ir.getTrue() : ir.CreateICmpULT(own, limit), [&] {
      llvm::Value* position = emit_->add(emit_->add(tiles.target.begin, emit_->mul(own, tiles.target.row)), first);
      const std::span<const Slot> of_row = std::span(sums).subspan(n * wide, wide);
      if (tiles.scalars)
        for (std::size_t part = 0; part < wide; ++part)
          emit_->set(of_row[part], multiply(emit_->get(of_row[part]), ir.CreateVectorSplat(panel.pieces[part].lanes, tiles.scalars)));
      emit_->if_then(adds, [&] {
        for (std::size_t part = 0; part < wide; ++part) {
          llvm::Value* old = load_piece(*tiles.target.storage, panel.pieces[part], {position, emit_->constant(1)});
          emit_->set(of_row[part], arithmetic::add(ir, old, emit_->get(of_row[part])));
        }
      });
      for (std::size_t part = 0; part < wide; ++part)
        store_piece(*tiles.target.storage, panel.pieces[part], position, emit_->get(of_row[part]));
    });
  }
}

}  // namespace weft
