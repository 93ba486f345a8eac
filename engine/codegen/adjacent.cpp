// Loops over adjacent entries: of a fiber whose coordinates follow each other (loop::AdjacentFact) the first is read, and values, elements
// of dense factors and of the target stand side by side from there. Such a loop is a vector loop of the fiber's length, masked at its end.
//
//   for c: drive B, locate x { y += B * x }             with x[b,c]: runs without a gap, (i:d, b:s, j-b:v)
//   for i: drive B, locate x, insert y { y += B * x }   with x[d,i] and y[i]: diagonals, where the host has them
//
// So are entries of any fiber, or range of fibers, whose coordinates nothing asks for:
//
//   for j: drive A { s += A * A }
//
// What all fibers under one entry add to a scalar is summed in vectors that live around the loop over these fibers, so that a run of three
// entries is a load of each factor and a multiply-add. SpMV of nsjac in runs took 0.45 ms in scalars.
#include "engine/codegen/long_sum.h"

#include <algorithm>
#include <deque>

#include "engine/codegen/generate.h"

namespace weft {

/// Sums of an adjacent loop into scalars, by statement; none where the target lies along the loop.
struct Generator::AdjacentSums {
  const loop::For* inner = nullptr;
  std::vector<VectorSum> sums;
  std::deque<LongSum> wide;
};

/// The sums of the loop itself, zero.
std::shared_ptr<Generator::AdjacentSums> Generator::begin_adjacent_sums(const loop::For& each) {
  constexpr std::size_t vectors = 4;  // added to side by side, as many as a block has
  auto begun = std::make_shared<AdjacentSums>();
  begun->inner = &each;
  for (const loop::Statement& statement : each.body) {
    VectorSum& sum = begun->sums.emplace_back();
    sum.sum = &std::get<loop::Accumulate>(statement.node);
    sum.type = product_type(*sum.sum);
    sum.reduces = std::ranges::find(each.steps, sum.sum->target, &loop::Step::access) == each.steps.end();
    if (!sum.reduces) continue;
    for (std::size_t n = 0; n < vectors; ++n)
      sum.partial.push_back(emit_->slot(llvm::Constant::getNullValue(llvm::FixedVectorType::get(sum.type, lanes_))));
    StorageCode summed;
    summed.type = sum.type;
    begun->wide.emplace_back(*this, summed, sum.partial);
  }
  return begun;
}

/// Those of the one adjacent loop inside, where nothing else is and its targets are scalars in registers; null: there is none.
std::shared_ptr<Generator::AdjacentSums> Generator::begin_sums_of_fibers(const loop::For& each, const Scope& scope) {
  const loop::Block& body = walked_body(each);
  const auto* inner = body.size() == 1 ? std::get_if<loop::For>(&body.front().node) : nullptr;
  if (inner == nullptr || !may_walk_adjacent(*inner)) return nullptr;
  const bool held = std::ranges::all_of(inner->body, [&](const loop::Statement& statement) {
    const auto& sum = std::get<loop::Accumulate>(statement.node);
    const bool along = std::ranges::find(inner->steps, sum.target, &loop::Step::access) != inner->steps.end();
    const loop::StorageId target = storage_of(sum.target).id;
    return !along && scope.held[target].size() == 1 && !scope.flags[target].place();
  });
  if (!held) return nullptr;
  auto begun = begin_adjacent_sums(*inner);
  adjacent_sums_[inner] = begun.get();
  return begun;
}

void Generator::end_adjacent_sums(AdjacentSums& begun, const Scope& scope) {
  adjacent_sums_.erase(begun.inner);
  for (; !begun.wide.empty(); begun.wide.pop_back()) begun.wide.back().end();
  for (const VectorSum& sum : begun.sums)
    if (sum.reduces) finish_reduction(sum, scope);
}

bool Generator::may_walk_adjacent(const loop::For& each) const {
  if (emit_->checked() || emit_->strict() || options_.symbolic || !is_adjacent_loop(program_, each)) return false;
  const auto driver = std::ranges::find(each.steps, loop::Use::drive, &loop::Step::use);
  return storage_of(driver->access).baked == nullptr;
}

/// Whether the loop has the form, and none of the steps that the loop itself takes looks anything up.
bool Generator::walks_adjacent(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest,
                               const Scope& scope) const {
  if (!may_walk_adjacent(each) || drivers.size() != 1 || drivers[0].list) return false;
  if (scope.cursors[drivers[0].access].end != nullptr && !adds_up_values(program_, each)) return false;
  return std::ranges::all_of(rest, [&](const loop::Step& step) {
    return scope.cursors[step.access].bound + 1 == storage_of(step.access).levels.size() &&
           std::ranges::count(rest, step.access, &loop::Step::access) == 1;
  });
}

void Generator::walk_adjacent(const loop::For& each, const Driver& driver, std::span<const loop::Step> rest, const Scope& scope) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const StorageCode& entries = storage_of(driver.access);
  const auto around = adjacent_sums_.find(&each);
  const std::shared_ptr<AdjacentSums> own = around == adjacent_sums_.end() ? begin_adjacent_sums(each) : nullptr;
  const AdjacentSums& begun = own ? *own : *around->second;
  llvm::Value* entries_here = emit_->sub(driver.range.end, driver.range.begin);
  count(each, entries_here);
  llvm::Value* any = ir.CreateICmpULT(driver.range.begin, driver.range.end);
  emit_->if_then(any, [&] {
    const std::uint32_t level = scope.cursors[driver.access].bound;
    const bool from_zero = entries.levels[level].from_zero || adds_up_values(program_, each);
    llvm::Value* first = from_zero ? emit_->constant(0) : emit_->widen(coordinate_at(*emit_, entries, level, driver.range.begin));
    // Nor beyond the extent, where a host has changed coordinates without a word.
    llvm::Value* extent = extents_[each.index];
    llvm::Value* length = from_zero || extent == nullptr ? entries_here : emit_->minimum(entries_here, ir.CreateSub(extent, first));
    Scope here = scope;
    std::vector<Lanes> lanes(program_.accesses.size());
    lanes[driver.access] = {value_element(*emit_, entries, driver.range.begin), emit_->constant(1)};
    for (const loop::Step& step : rest) {
      const StorageCode& factor = storage_of(step.access);
      llvm::Value* stride = factor.levels.back().stride;
      lanes[step.access] = {dense_at(*emit_, factor, scope.cursors[step.access], first).begin, stride ? stride : emit_->constant(1)};
    }
    const auto is_lane = [&](loop::AccessId access) { return lanes[access].begin != nullptr; };
    std::vector<VectorSum> sums = begun.sums;
    for (VectorSum& sum : sums) {
      sum.scalars = scalar_product(*sum.sum, here, sum.type, [&](loop::AccessId factor) { return !is_lane(factor); });
      for (const loop::AccessId factor : sum.sum->factors)
        if (is_lane(factor)) sum.rows.emplace_back(factor, lanes[factor]);
      if (!sum.reduces) sum.target = lanes[sum.sum->target];
    }
    const auto add = [&](const Piece& piece) {
      for (const VectorSum& sum : sums) add_pieces(sum, std::span(&piece, 1), 0, here);
    };
    llvm::Value* block = emit_->constant(std::uint64_t{4} * lanes_);
    const auto add_rest = [&](Slot offset, llvm::Value* limit) {
      emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(offset), limit); },
                        [&] {
                          const Piece rest_of_fiber = masked_piece(emit_->get(offset), limit);
                          add(rest_of_fiber);
                          llvm::Value* behind = emit_->add(rest_of_fiber.offset, emit_->constant(lanes_));
                          emit_->set(offset, emit_->minimum(behind, limit));
                        });
    };
    // Short ones are paid for by the loop around.
    emit_->if_else(
        ir.CreateICmpULE(length, emit_->constant(lanes_)), [&] { add(masked_piece(emit_->constant(0), length)); },
        [&] {
          emit_->if_else(
              ir.CreateICmpULE(length, block),
              [&] {
                // Straight on, whichever of these vectors are empty: how many there are is foreseen for few fibers.
                std::vector<Piece> pieces;
                for (std::uint64_t n = 0; n < 4; ++n) {
                  llvm::Value* first_lane = emit_->constant(n * lanes_);
                  pieces.push_back(masked_piece(first_lane, ir.CreateBinaryIntrinsic(llvm::Intrinsic::umax, length, first_lane)));
                }
                for (const VectorSum& sum : sums) add_pieces(sum, pieces, 0, here);
              },
              [&] {
                const Slot offset = emit_->slot(emit_->constant(0));
                emit_->strips(std::span(&offset, 1), std::span(&length, 1), [&](std::span<llvm::Value* const> limits) {
                  emit_->while_loop([&] { return ir.CreateICmpUGE(ir.CreateSub(limits[0], emit_->get(offset)), block); },
                                    [&] {
                                      llvm::Value* now = emit_->get(offset);
                                      for (const VectorSum& sum : sums) add_pieces(sum, block_at(now), 0, here);
                                      emit_->set(offset, emit_->add(now, block));
                                    });
                  add_rest(offset, limits[0]);
                });
              });
        });
  });
  for (const loop::AccessId target : uses(each.body).targets)
    if (const Slot flag = scope.flags[storage_of(target).id]; flag.place()) emit_->set(flag, ir.CreateOr(emit_->get(flag), any));
  if (own) end_adjacent_sums(*own, scope);
}

}  // namespace weft
