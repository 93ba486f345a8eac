// Targets kept in registers across a loop, and scalar reductions in several sums.
#include <algorithm>

#include "engine/codegen/arithmetic.h"
#include "engine/codegen/generate.h"
#include "engine/loop/short_fiber.h"

namespace weft {

namespace {

/// Vectors that are summed in side by side at most, if they are not all the sums there are.
constexpr std::size_t independent_rows = 8;

}  // namespace

static llvm::Value* first_of_row(Emitter& emit, const StorageCode& storage, llvm::Value* position) {
  const LevelCode& row = storage.levels.back();
  return row.stride ? position : emit.mul(position, row.extent);
}

/// The places in memory of a row whose elements are scalars.
void Generator::for_scalars(const Hold& hold, const Scope& scope, llvm::function_ref<void(llvm::Value* place)> each) {
  llvm::Value* first = first_of_row(*emit_, storage_of(hold.access), scope.cursors[hold.access].begin);
  for (std::uint64_t n = 0; n < *known_extent(program_, *hold.row); ++n)
    each(value_address(*emit_, storage_of(hold.access), emit_->add(first, emit_->constant(n))));
}

/// Of those, the one at the coordinate of the row, which a written loop tells; else the only one.
Slot Generator::held_scalar(loop::AccessId access, const Scope& scope) const {
  const std::vector<Slot>& held = scope.held[storage_of(access).id];
  if (held.size() == 1) return held.front();
  return held[llvm::cast<llvm::ConstantInt>(scope.coordinates[program_.accesses[access].indices.back()])->getZExtValue()];
}

/// Where iterations may be skipped, the sum starts from zero and memory is touched only if something was added.
void Generator::hold(const Hold& hold, bool from_zero, Scope& scope) {
  const StorageCode& storage = storage_of(hold.access);
  llvm::Value* position = scope.cursors[hold.access].begin;
  std::vector<Slot>& held = scope.held[storage.id];
  if (hold.scalars) {
    for_scalars(hold, scope, [&](llvm::Value* place) {
      held.push_back(emit_->slot(emit_->load(storage.type, place, scalar_bytes(storage.storage->scalar))));
    });
    return;
  }
  if (hold.row) {
    held = row_from_memory(storage, *hold.row, first_of_row(*emit_, storage, position));
    return;
  }
  llvm::Value* initial = from_zero ? llvm::ConstantFP::get(storage.type, 0.0)
                                   : emit_->load(storage.type, value_address(*emit_, storage, position),
                                                 scalar_bytes(storage.storage->scalar));
  held = {emit_->slot(initial)};
}

void Generator::release(const Hold& hold, bool from_zero, const Scope& scope) {
  const StorageCode& storage = storage_of(hold.access);
  llvm::Value* position = scope.cursors[hold.access].begin;
  const std::vector<Slot>& held = scope.held[storage.id];
  if (hold.scalars) {
    std::size_t n = 0;
    for_scalars(hold, scope,
                [&](llvm::Value* place) { emit_->store(emit_->get(held[n++]), place, scalar_bytes(storage.storage->scalar)); });
    return;
  }
  if (hold.row) {
    row_to_memory(storage, *hold.row, first_of_row(*emit_, storage, position), held);
    return;
  }
  llvm::Value* sum = emit_->get(held.front());
  const unsigned bytes = scalar_bytes(storage.storage->scalar);
  if (!from_zero) {
    emit_->store(sum, value_address(*emit_, storage, position), bytes);
    return;
  }
  llvm::Value* any = arithmetic::is_nonzero(emit_->ir(), sum);
  emit_->if_then(any, [&] {
    llvm::Value* place = value_address(*emit_, storage, position);
    emit_->store(arithmetic::add(emit_->ir(), emit_->load(storage.type, place, bytes), sum), place, bytes);
  });
}

/// Rows of inputs that stay the same while the loop runs are read once, while there are registers: half of them, with the sums that are
/// in registers already or will be inside.
void Generator::load_steady_rows(const loop::For& each, Scope& scope) {
  if (options_.symbolic || emit_->checked()) return;
  const std::vector<SteadyRow> steady = steady_rows(program_, each, scope.depths());
  if (steady.empty()) return;
  std::size_t taken = 0;
  for (const std::vector<Slot>& held : scope.held) taken += held.size();
  for (const std::vector<llvm::Value*>& row : scope.rows) taken += row.size();
  for (const loop::StorageId workspace : uses(each.body).workspaces) {
    if (!in_registers(program_, workspace) || program_.storages[workspace].levels.empty()) continue;
    const auto access = std::ranges::find(program_.accesses, workspace, &loop::Access::storage);
    taken += row_vectors(access->indices[0]);
  }
  const std::size_t most = row_registers(vector_bits_);
  for (const auto& [access, index] : steady) {
    if (!scope.rows[access].empty()) continue;
    const std::vector<Piece> parts = pieces(*known_extent(program_, index));
    if (taken + parts.size() > most) continue;
    taken += parts.size();
    const StorageCode& storage = storage_of(access);
    const Lanes lanes{first_of_row(*emit_, storage, scope.cursors[access].begin), emit_->constant(1)};
    for (const Piece& piece : parts) scope.rows[access].push_back(load_piece(storage, piece, lanes));
  }
}

/// In y[r] += B[j,c,r] * x[j,c] with a loop over c that is written out, products with another c go into a row of their own: an addition
/// takes four cycles, and one can start in each.
std::optional<Generator::SideSums> Generator::find_side_sums(const loop::For& each, const Scope& scope) {
  const loop::Block& body = walked_body(each);
  const auto* written = body.size() == 1 ? std::get_if<loop::For>(&body.front().node) : nullptr;
  if (emit_->strict() || options_.symbolic || !written || !is_written_out(program_, *written) || written->body.size() != 1)
    return std::nullopt;
  const auto* vector = std::get_if<loop::For>(&written->body.front().node);
  if (!vector || !is_vector_loop(program_, *vector) || vector->body.size() != 1 || !joined_loops(program_, *written).empty())
    return std::nullopt;
  const auto& sum = std::get<loop::Accumulate>(vector->body.front().node);
  const StorageCode& target = storage_of(sum.target);
  const std::vector<Slot>& row = scope.held[target.id];
  const auto reads_target = [&](loop::AccessId factor) { return storage_of(factor).id == target.id; };
  const bool binds = std::ranges::find(written->steps, sum.target, &loop::Step::access) != written->steps.end();
  const std::uint64_t extent = *known_extent(program_, written->index);
  if (binds || row.empty() || target.levels.size() > 1 || extent < 2 || row.size() * extent > independent_rows ||
      std::ranges::any_of(sum.factors, reads_target))
    return std::nullopt;
  SideSums side{written, row, {}, target.id};
  for (std::uint64_t n = 1; n < extent; ++n) {
    side.sums.emplace_back();
    for (const Slot slot : row) side.sums.back().push_back(emit_->slot(llvm::Constant::getNullValue(slot.type())));
  }
  return side;
}

void Generator::begin_side_sums(const SideSums& side) {
  for (const std::vector<Slot>& sum : side.sums)
    for (const Slot slot : sum) emit_->set(slot, llvm::Constant::getNullValue(slot.type()));
}

void Generator::add_side_sums(const SideSums& side) {
  for (const std::vector<Slot>& sum : side.sums)
    for (std::size_t n = 0; n < sum.size(); ++n)
      emit_->set(side.row[n], arithmetic::add(emit_->ir(), emit_->get(side.row[n]), emit_->get(sum[n])));
}

/// A product that is added to a scalar in a register, of inputs and of workspaces that the body leaves as they are: y += z * B for a
/// row z that a loop before has filled.
bool Generator::sums_in_register(const loop::Statement& statement, const loop::Block& body, const Scope& scope) const {
  const auto* sum = std::get_if<loop::Accumulate>(&statement.node);
  if (!sum) return false;
  const StorageCode& target = storage_of(sum->target);
  return scope.cursors[sum->target].bound == target.levels.size() && scope.held[target.id].size() == 1 &&
         std::ranges::all_of(sum->factors, [&](loop::AccessId factor) { return stays_in(body, factor); });
}

/// Whether all that a loop's body reads stays as it was when the loop began: an input, or a dense workspace that it does not add to.
bool Generator::stays_in(const loop::Block& body, loop::AccessId factor) const {
  const loop::Storage& storage = *storage_of(factor).storage;
  if (storage.role == loop::Role::input) return true;
  const bool dense = std::ranges::all_of(storage.levels, [](const auto& level) { return is_dense(level.kind); });
  return storage.role == loop::Role::workspace && dense && std::ranges::none_of(uses(body).targets, [&](loop::AccessId target) {
    return program_.accesses[target].storage == program_.accesses[factor].storage;
  });
}

/// A plain reduction: one fiber, dense factors only, every target a scalar in a register.
bool Generator::sums_scalars(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest,
                             const Scope& scope) const {
  if (options_.strict_fp || drivers.size() != 1 || skips_gaps(drivers[0], scope) ||
      (is_run_level(*storage_of(drivers[0].access).storage, scope.cursors[drivers[0].access].bound) && !flat_loops(each)) ||
      each.body.empty())
    return false;
  if (!rest_is_dense(rest, drivers, scope)) return false;
  const loop::Block& body = walked_body(each);
  return std::ranges::all_of(body, [&](const loop::Statement& statement) { return sums_in_register(statement, body, scope); });
}

/// The same of rows: one fiber, marked @unroll, with nothing inside but vector loops over dense factors that add to rows in registers.
bool Generator::sums_rows(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest,
                          const Scope& scope) const {
  const loop::Block& body = walked_body(each);
  if (each.marks.unroll < 2 || options_.strict_fp || options_.symbolic || drivers.size() != 1 || skips_gaps(drivers[0], scope) ||
      body.empty() || (is_run_level(*storage_of(drivers[0].access).storage, scope.cursors[drivers[0].access].bound) && !flat_loops(each)) ||
      !rest_is_dense(rest, drivers, scope))
    return false;
  return std::ranges::all_of(body, [&](const loop::Statement& statement) {
    const auto* inner = std::get_if<loop::For>(&statement.node);
    const JoinedLoops loops = inner ? joined_loops(program_, *inner) : JoinedLoops{};
    if (loops.empty() || !is_unrolled(program_, loops)) return false;
    return std::ranges::all_of(loops.back()->body, [&](const loop::Statement& last) {
      const auto& sum = std::get<loop::Accumulate>(last.node);
      const StorageCode& target = storage_of(sum.target);
      const bool row = !scope.held[target.id].empty() && !scope.flags[target.id].place() && !tiles_[target.id];
      return row && std::ranges::all_of(sum.factors, [&](loop::AccessId factor) { return stays_in(body, factor); });
    });
  });
}

/// The same of a loop over coordinates that finds all it looks up, with nothing inside but products and short fibers of them: of 2:4
/// groups, `for j_0: locate B, locate x { for j_1: drive B { y += B * x } }` with two entries each.
bool Generator::sums_short_fibers(const loop::For& each, std::span<const loop::Step> rest, const Scope& scope) const {
  if (options_.strict_fp || options_.symbolic || !rest_is_dense(rest, {}, scope) || has_running_loop(each.body)) return false;
  const auto is_sum = [&](const loop::Statement& statement) { return sums_in_register(statement, each.body, scope); };
  return std::ranges::all_of(each.body, [&](const loop::Statement& statement) {
    const auto* fiber = std::get_if<loop::For>(&statement.node);
    return fiber ? loop::is_short_loop(program_, *fiber) && std::ranges::all_of(fiber->body, is_sum) : is_sum(statement);
  });
}

/// The scope, and more of it with sums of their own: additions need not wait for each other.
std::vector<Scope> Generator::independent_sums(const loop::For& each, std::size_t count, const Scope& scope) {
  std::vector<Scope> sums(count, scope);
  for (std::size_t n = 1; n < count; ++n) {
    for (const loop::AccessId target : uses(each.body).targets) {
      std::vector<Slot>& held = sums[n].held[storage_of(target).id];
      for (Slot& slot : held) slot = emit_->slot(llvm::Constant::getNullValue(slot.type()));
    }
  }
  return sums;
}

/// Before some iterations: the sums of independent_sums begin with zero.
void Generator::begin_sums(const loop::For& each, std::span<const Scope> sums) {
  for (std::size_t n = 1; n < sums.size(); ++n)
    for (const loop::AccessId target : uses(each.body).targets)
      for (const Slot slot : sums[n].held[storage_of(target).id]) emit_->set(slot, llvm::Constant::getNullValue(slot.type()));
}

/// And behind them: added to those of the scope.
void Generator::add_sums(const loop::For& each, std::span<const Scope> sums, const Scope& scope) {
  for (const loop::AccessId target : uses(each.body).targets) {
    const std::vector<Slot>& held = scope.held[storage_of(target).id];
    for (std::size_t n = 1; n < sums.size(); ++n)
      for (std::size_t part = 0; part < held.size(); ++part)
        emit_->set(held[part], arithmetic::add(emit_->ir(), emit_->get(held[part]), emit_->get(sums[n].held[storage_of(target).id][part])));
  }
}

}  // namespace weft
