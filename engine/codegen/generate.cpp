#include "engine/codegen/generate.h"
#include "engine/codegen/arithmetic.h"
#include "engine/codegen/long_sum.h"

#include <algorithm>
#include <cstddef>

#include "engine/codegen/presence.h"
#include "engine/codegen/signature.h"
#include "engine/loop/overloaded.h"
#include "engine/loop/presence.h"
#include "engine/loop/walk.h"
#include "runtime/abi.h"
#include "runtime/dense_levels.h"
#include "runtime/scalar_traits.h"

namespace weft {

Depths Scope::depths() const {
  Depths result;
  for (const Cursor& cursor : cursors) result.push_back(cursor.bound);
  return result;
}

Generator::Generator(const loop::Program& program, const CodeOptions& options, unsigned vector_bits,
                     llvm::Module& module)
    : program_(program), options_(options), vector_bits_(vector_bits), module_(module) {
  Scalar widest = narrowest_scalar;
  for (const loop::Storage& storage : program.storages) widest = wider(widest, storage.scalar);
  lanes_ = vector_bits / (8 * scalar_bytes(widest));
  (void)loop::walk(program, [&](const loop::Statement& statement, const loop::Path&) -> Expected<void> {
    for (const loop::Step& step : loop::steps_of(statement)) keeps_fingers_ = keeps_fingers_ || step.home.has_value();
    return {};
  });
}

void Generator::run() {
  llvm::Function* body = declare_body();
  declare_entry(body);
  emit_ = std::make_unique<Emitter>(*body, body->getArg(static_cast<unsigned>(body->arg_size() - 1)), options_, vector_bits_);
  receive(*body);
  if (options_.count) number_loops(program_.body);
  Scope scope;
  for (std::size_t access = 0; access < program_.accesses.size(); ++access)
    scope.cursors.push_back({0, emit_->constant(0), nullptr});
  scope.coordinates.resize(program_.indices.size(), nullptr);
  scope.values.resize(program_.accesses.size(), nullptr);
  scope.rows.resize(program_.accesses.size());
  scope.held.resize(program_.storages.size());
  scope.flags.resize(program_.storages.size());
  scope.fresh.resize(program_.storages.size());
  const std::vector<std::uint32_t> told = signature(program_).told;
  for (const loop::StorageId storage : told) scope.flags[storage] = emit_->slot(emit_->ir().getFalse());
  receive_fresh();
  receive_appended();
  clean_marks();
  open_tables();
  load_values(program_.body, scope);
  const loop::For* root = program_.body.size() == 1 ? std::get_if<loop::For>(&program_.body.front().node) : nullptr;
  if (root)
    loop(*root, scope, true);
  else  // Not one root loop: nothing to cut, so the first range does it all.
    emit_->if_then(emit_->ir().CreateICmpEQ(begin_, emit_->constant(0)), [&] { block(program_.body, scope); });
  end_rows();
  for (const auto& [storage, code] : appended_) store_appended_size(storage);
  tell_presence(told, scope);
  store_counts();
  emit_->finish();
}

void Generator::tell_presence(std::span<const std::uint32_t> told, const Scope& scope) {
  if (told.empty()) return;
  llvm::Value* place = emit_->worker_place(offsetof(Worker, present));
  llvm::Value* present = emit_->load(emit_->word(), place, 8);
  for (std::size_t bit = 0; bit < told.size(); ++bit) {
    llvm::Value* there = emit_->ir().CreateShl(emit_->widen(emit_->get(scope.flags[told[bit]])), bit);
    present = emit_->ir().CreateOr(present, there);
  }
  emit_->store(present, place, 8);
}

void Generator::number_loops(const loop::Block& statements) {
  for (const loop::Statement& statement : statements)
    std::visit(loop::Overloaded{[&](const loop::For& each) {
                                  numbered_.push_back(&each);
                                  counters_.emplace(&each, emit_->slot(emit_->constant(0)));
                                  number_loops(each.body);
                                },
                                [&](const loop::Bind& late) { number_loops(late.body); },
                                [&](const loop::With& live) { number_loops(live.body); },
                                [](const loop::Accumulate&) {}},
               statement.node);
}

/// In registers, so that what is counted runs much as it does uncounted.
void Generator::count(const loop::For& each, llvm::Value* iterations) {
  const auto counter = counters_.find(&each);
  // What runs for each block of a row is counted with the first, but for the row itself.
  if (window_ && counter != counters_.end() && each.index != window_->index)
    iterations = emit_->mul(iterations, emit_->widen(emit_->ir().CreateICmpEQ(window_->begin, emit_->constant(0))));
  if (counter != counters_.end()) emit_->set(counter->second, emit_->add(emit_->get(counter->second), iterations));
}

void Generator::store_counts() {
  if (numbered_.empty()) return;
  llvm::Value* counts = emit_->worker_member(offsetof(Worker, counts));
  for (std::size_t number = 0; number < numbered_.size(); ++number) {
    llvm::Value* place = emit_->address(emit_->word(), counts, emit_->constant(number));
    emit_->store(emit_->add(emit_->load(emit_->word(), place, 8), emit_->get(counters_.at(numbered_[number]))), place, 8);
  }
}

void Generator::block(const loop::Block& statements, const Scope& scope) {
  for (const loop::Statement& each : statements) statement(each, scope);
}

void Generator::statement(const loop::Statement& statement, const Scope& scope) {
  std::visit(loop::Overloaded{[&](const loop::For& each) { loop(each, scope, false); },
                              [&](const loop::Bind& late) {
                                bind(makers_last(program_, late.steps, scope.depths()), scope, {}, &late.body, [&](const Scope& inner) {
                                  Scope loaded = inner;
                                  load_values(late.body, loaded);
                                  block(late.body, loaded);
                                });
                              },
                              [&](const loop::With& live) { with(live, scope); },
                              [&](const loop::Accumulate& sum) { accumulate(sum, scope); }},
             statement.node);
}

void Generator::with(const loop::With& statement, const Scope& scope) {
  if (!window_ && is_blocked_row(program_, statement.workspace) && in_registers(program_, statement.workspace))
    in_blocks(statement, scope);
  else
    live(statement, scope);
}

/// Rows of a `with` over one index, its own and those inside, fill the registers block by block.
void Generator::in_blocks(const loop::With& statement, const Scope& scope) {
  const auto access = std::ranges::find(program_.accesses, statement.workspace, &loop::Access::storage);
  const loop::IndexId index = access->indices[0];
  const std::optional<std::uint64_t> known = known_extent(program_, index);
  if (!known) {
    in_windows(statement, scope);
    return;
  }
  const std::uint64_t extent = *known;
  const std::uint64_t rows = 1 + uses(statement.body).workspaces.size();
  const std::uint64_t most = std::max<std::uint64_t>(register_elements / rows / lanes_, 1) * lanes_;
  const std::uint64_t blocks = (extent + most - 1) / most;
  const std::uint64_t block = ((extent + blocks - 1) / blocks + lanes_ - 1) / lanes_ * lanes_;
  const Slot begin = emit_->slot(emit_->constant(0));
  emit_->while_loop([&] { return emit_->ir().CreateICmpULE(emit_->get(begin), emit_->constant(extent - block)); },
                    [&] {
                      window_ = Window{index, emit_->get(begin), block, emit_->constant(block), {}};
                      live(statement, scope);
                      emit_->set(begin, emit_->add(emit_->get(begin), emit_->constant(block)));
                    });
  if (extent % block > 0) {
    window_ = Window{index, emit_->constant(extent / block * block), extent % block, emit_->constant(extent % block), {}};
    live(statement, scope);
  }
  window_.reset();
}

/// The same of an extent that is not known: windows of four vectors, or of fewer where several rows have to fit, the last of them masked.
/// The first one runs for an empty row too, since what else stands inside is counted there.
void Generator::in_windows(const loop::With& statement, const Scope& scope) {
  const loop::IndexId index = std::ranges::find(program_.accesses, statement.workspace, &loop::Access::storage)->indices[0];
  const std::uint64_t rows = 1 + uses(statement.body).workspaces.size();
  const std::uint64_t most = std::clamp<std::uint64_t>(row_registers(vector_bits_) / rows, 1, window_vectors) * lanes_;
  llvm::Value* extent = extents_[index];
  const Slot begin = emit_->slot(emit_->constant(0));
  const auto goes_on = [&] {
    llvm::Value* now = emit_->get(begin);
    llvm::IRBuilder<>& ir = emit_->ir();
    return ir.CreateOr(ir.CreateICmpEQ(now, emit_->constant(0)), ir.CreateICmpULT(now, extent));
  };
  emit_->while_loop(goes_on, [&] {
    llvm::Value* now = emit_->get(begin);
    llvm::Value* elements = emit_->minimum(emit_->ir().CreateSub(extent, now), emit_->constant(most));
    window_ = Window{index, now, most, elements, window_masks(most, elements)};
    live(statement, scope);
    emit_->set(begin, emit_->add(emit_->get(begin), emit_->constant(most)));
  });
  window_.reset();
}

void Generator::live(const loop::With& statement, const Scope& scope) {
  const StorageCode& storage = storages_[statement.workspace];
  Scope inner = scope;
  if (in_registers(program_, statement.workspace)) {
    const auto access = std::ranges::find(program_.accesses, statement.workspace, &loop::Access::storage);
    inner.held[statement.workspace] = storage.levels.empty()
                                          ? std::vector{emit_->slot(llvm::ConstantFP::get(storage.type, 0.0))}
                                          : rows_of_zeros(storage, access->indices);
    if (loop::may_be_absent(program_, statement.workspace))
      inner.flags[statement.workspace] = emit_->slot(emit_->ir().getFalse());
  } else if (storage.values || storage.table) {
    open_workspace(statement.workspace);
    if (const loop::For* last = last_drain(program_, statement); last && storage.touched)
      forgetting_.emplace(last, statement.workspace);
  }
  // A row or scalar in registers is read when the loops that add to it have ended: sums end with each of these.
  for (const loop::Statement& each : statement.body) {
    LongSum sum(*this, storage, only_adds_to(program_, each, statement.workspace) ? inner.held[statement.workspace] : std::vector<Slot>{});
    this->statement(each, inner);
    sum.end();
  }
  close_workspace(statement);
}

llvm::Value* Generator::block_elements(const StorageCode& storage, std::size_t level) {
  llvm::Value* elements = emit_->constant(1);
  for (; level < storage.levels.size(); ++level) elements = emit_->mul(elements, storage.levels[level].extent);
  return elements;
}

void Generator::where_present(const std::vector<loop::StorageId>& flagged, const Scope& scope, Emitter::Body body) {
  llvm::Value* all = nullptr;
  for (const loop::StorageId storage : flagged) {
    llvm::Value* there = emit_->get(scope.flags[storage]);
    all = all ? emit_->ir().CreateAnd(all, there) : there;
  }
  if (all)
    emit_->if_then(all, body);
  else
    body();
}

void Generator::bind(std::span<const loop::Step> steps, const Scope& scope, std::span<const Finger> fingers,
                     const loop::Block* body, Then then) {
  if (steps.empty()) {
    then(scope);
    return;
  }
  const loop::Step& step = steps.front();
  const loop::AccessId access = step.access;
  const StorageCode& storage = storage_of(access);
  const Cursor& cursor = scope.cursors[access];
  const loop::Access& accessed = program_.accesses[access];
  if (const loop::IndexDefinition* const start = loop::cover_at(program_, accessed, cursor.bound)) {
    bind_start(*start, steps, scope, fingers, body, then);
    return;
  }
  llvm::Value* coordinate = scope.coordinates[accessed.indices[cursor.bound]];
  const loop::IndexDefinition* const given = loop::definition_of(program_, accessed.indices[cursor.bound]);
  const bool inside = given != nullptr && loop::is_within_block(program_, *given);
  if (loop::is_at_sum(program_, accessed, cursor.bound) && !inside && !finds_itself_beyond(step, storage, cursor.bound)) {
    llvm::Value* within = emit_->ir().CreateICmpULT(coordinate, storage.levels[cursor.bound].extent);
    emit_->if_then(within, [&] { bind_within(steps, scope, fingers, body, then); });
    return;
  }
  bind_within(steps, scope, fingers, body, then);
}

/// The first step binds the level of a start: the greatest that is not above the sum, if that is within the width of a block.
void Generator::bind_start(const loop::IndexDefinition& start, std::span<const loop::Step> steps, const Scope& scope,
                           std::span<const Finger> fingers, const loop::Block* body, Then then) {
  const loop::Step& step = steps.front();
  const loop::AccessId access = step.access;
  llvm::Value* wanted = sum_of(start, scope);
  const auto go_on = [&](const Cursor& found, llvm::Value* coordinate) {
    const auto inside = [&] {
      Scope inner = scope;
      inner.cursors[access] = found;
      take_coordinate(inner, start.index, coordinate);
      bind(steps.subspan(1), inner, fingers, body, then);
    };
    if (*start.cover == 0) inside();
    else emit_->if_then(emit_->ir().CreateICmpULT(emit_->sub(wanted, coordinate), emit_->constant(*start.cover)), inside);
  };
  const auto finger = std::ranges::find_if(fingers, [&](const Finger& each) {
    return each.access == access && step.algorithm == loop::Algorithm::gallop;
  });
  const bool follows = finger != fingers.end();
  const auto search = [&] {
    locate_start(*emit_, storage_of(access), scope.cursors[access], wanted, follows ? &finger->code : nullptr, go_on);
  };
  // Below 0 there is no start.
  const bool may_be_below = start.offset < 0 || std::ranges::any_of(start.of, [](const loop::Summand& each) { return each.factor < 0; });
  if (may_be_below) emit_->if_then(emit_->ir().CreateICmpSGE(wanted, emit_->constant(0)), search);
  else search();
}

/// Whether a search for a coordinate out of range finds nothing by itself, and harms none that comes later.
bool Generator::finds_itself_beyond(const loop::Step& step, const StorageCode& storage, std::uint32_t level) {
  const LevelKind kind = storage.level(level).kind;
  return is_sparse(kind) && !has_gaps(kind) && !storage.levels[level].full && step.algorithm != loop::Algorithm::gallop;
}

/// The same where the coordinate of the first step is in range.
void Generator::bind_within(std::span<const loop::Step> steps, const Scope& scope, std::span<const Finger> fingers,
                            const loop::Block* body, Then then) {
  const loop::Step& step = steps.front();
  const loop::AccessId access = step.access;
  const StorageCode& storage = storage_of(access);
  const Cursor& cursor = scope.cursors[access];
  llvm::Value* coordinate = scope.coordinates[program_.accesses[access].indices[cursor.bound]];
  const auto go_on = [&](const Scope& inner) { bind(steps.subspan(1), inner, fingers, body, then); };
  const auto go_on_at = [&](const Cursor& found) {
    Scope inner = scope;
    inner.cursors[access] = found;
    go_on(inner);
  };
  const bool sparse = is_sparse(storage.level(cursor.bound).kind);
  if (const auto pattern = loop::pattern_of(program_, storage.id)) {
    go_on_at(cursor_like(*pattern, access, coordinate, scope));
    return;
  }
  if (sparse && (step.use == loop::Use::append || step.use == loop::Use::insert)) {
    const bool filtered = std::ranges::any_of(steps, [](const loop::Step& later) {
      return later.use == loop::Use::drive || later.use == loop::Use::locate;
    });
    const bool certain = body && !filtered && certainly_accumulates(program_, *body, storage.id);
    const bool whole = body && !options_.strict_fp && writes_whole_block(program_, *body, storage.id, cursor.bound + 1);
    // The symbolic phase need not look at the sums below an entry that certainly is made.
    const bool known = options_.symbolic && certain && cursor.bound + 1 == appended_levels(storage.storage->levels) &&
                       accumulates_only_into(program_, *body, storage.id);
    const auto go_on_below = [&](const Scope& inner) {
      if (!known) go_on(inner);
    };
    if (step.use == loop::Use::append)
      append_entry(access, coordinate, {certain, whole}, scope, go_on_below);
    else
      insert_entry(access, coordinate, certain, scope, go_on_below);
    return;
  }
  if (!sparse) {
    // Rows of an output that grows are numbered from the chunk's first on.
    const bool first_row = cursor.bound == 0 && begin_ && appended_.contains(storage.id) && is_ranged(program_);
    if (first_row && emit_->checked())
      emit_->check(emit_->ir().CreateICmpULT(coordinate, storage.levels[0].extent), {storage.id, 0}, coordinate);
    go_on_at(first_row ? Cursor{1, emit_->sub(coordinate, begin_), nullptr}
                       : dense_at(*emit_, storage, cursor, coordinate));
    return;
  }
  if (storage.table && cursor.bound < key_levels(*storage.storage)) {
    locate_hashed(access, coordinate, scope, go_on);
    return;
  }
  const auto finger = std::ranges::find_if(fingers, [&](const Finger& each) {
    return each.access == access && step.algorithm == loop::Algorithm::gallop;
  });
  locate_sparse(*emit_, storage, cursor, coordinate, finger != fingers.end() ? &finger->code : nullptr, go_on_at);
}

/// The position that an access of the pattern with the same indices has at the next level. One that is bound further will
/// be asked again at the levels in between; a dense level may be bound without, and those below the shared ones are.
Cursor Generator::cursor_like(loop::StorageId pattern, loop::AccessId access, llvm::Value* coordinate,
                              const Scope& scope) {
  const Cursor& own = scope.cursors[access];
  const std::vector<loop::IndexId>& indices = program_.accesses[access].indices;
  const auto level = static_cast<std::ptrdiff_t>(own.bound);
  const bool shared = own.bound < appended_levels(storage_of(access).storage->levels);
  for (loop::AccessId other = 0; shared && other < program_.accesses.size(); ++other) {
    const loop::Access& operand = program_.accesses[other];
    if (operand.storage == pattern && scope.cursors[other].bound == own.bound + 1 &&
        std::equal(indices.begin(), indices.begin() + level + 1, operand.indices.begin()))
      return scope.cursors[other];
  }
  const StorageCode& storage = storage_of(access);
  if (is_sparse(storage.level(own.bound).kind)) return {own.bound + 1, emit_->constant(0), nullptr};
  return dense_at(*emit_, storage, own, coordinate);
}

void Generator::load_values(const loop::Block& statements, Scope& scope) {
  if (options_.symbolic) return;
  for (const loop::AccessId factor : uses(statements).factors) {
    const StorageCode& storage = storage_of(factor);
    if (scope.values[factor] || storage.storage->role != loop::Role::input ||
        scope.cursors[factor].bound != storage.levels.size())
      continue;
    fetch_placed(*emit_, storage, scope.cursors[factor].begin);
    llvm::Value* place = value_address(*emit_, storage, scope.cursors[factor].begin);
    scope.values[factor] = emit_->load(storage.type, place, scalar_bytes(storage.storage->scalar));
  }
}

llvm::Value* Generator::scalar_value(loop::AccessId access, const Scope& scope) {
  if (scope.values[access]) return scope.values[access];
  const StorageCode& storage = storage_of(access);
  if (const std::vector<Slot>& held = scope.held[storage.id]; !held.empty()) return emit_->get(held_scalar(access, scope));
  return emit_->load(storage.type, value_address(*emit_, storage, scope.cursors[access].begin),
                     scalar_bytes(storage.storage->scalar));
}

/// The widest of its target and factors.
llvm::Type* Generator::product_type(const loop::Accumulate& sum) {
  llvm::Type* type = storage_of(sum.target).type;
  for (const loop::AccessId factor : sum.factors) type = arithmetic::wider(type, storage_of(factor).type);
  return type;
}

llvm::Value* Generator::convert(llvm::Value* value, llvm::Type* type) { return arithmetic::convert(emit_->ir(), value, type); }

llvm::Value* Generator::multiply(llvm::Value* a, llvm::Value* b) {
  if (!a) return b;
  return b ? arithmetic::multiply(emit_->ir(), a, b) : a;
}

llvm::Value* Generator::multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* sum) {
  if (!a || !b) return arithmetic::add(emit_->ir(), sum, a ? a : b);
  return arithmetic::multiply_add(emit_->ir(), a, b, sum, !emit_->strict());
}

llvm::Value* Generator::scalar_product(const loop::Accumulate& sum, const Scope& scope, llvm::Type* type,
                                       llvm::function_ref<bool(loop::AccessId)> pick) {
  llvm::Value* product = sum.coefficient ? convert(coefficients_[*sum.coefficient], type) : nullptr;
  for (const loop::AccessId factor : sum.factors)
    if (pick(factor)) product = multiply(product, convert(scalar_value(factor, scope), type));
  if (!sum.negative) return product;
  return product ? arithmetic::negate(emit_->ir(), product) : arithmetic::minus_one(type);
}

void Generator::accumulate(const loop::Accumulate& sum, const Scope& scope) {
  if (rows_at_product_ != nullptr) {
    rows_at_product_->push_back(scope);
    return;
  }
  where_present(flagged_factors(program_, sum), scope, [&] { add_product(sum, scope); });
}

void Generator::add_product(const loop::Accumulate& sum, const Scope& scope) {
  if (options_.symbolic) {
    if (const Slot flag = scope.flags[program_.accesses[sum.target].storage]; flag.place()) emit_->set(flag, emit_->ir().getTrue());
    return;
  }
  llvm::Type* type = product_type(sum);
  // All factors but the last, which is multiplied as it is added.
  const std::size_t last = sum.factors.size() - 1;
  loop::Accumulate front = sum;
  if (!sum.factors.empty()) front.factors.pop_back();
  llvm::Value* product = scalar_product(front, scope, type, [](loop::AccessId) { return true; });
  llvm::Value* factor = sum.factors.empty() ? nullptr : convert(scalar_value(sum.factors[last], scope), type);
  if (!product && !factor) product = llvm::ConstantFP::get(type, 1.0);
  const StorageCode& target = storage_of(sum.target);
  const std::vector<Slot>& held = scope.held[target.id];
  const unsigned bytes = scalar_bytes(target.storage->scalar);
  llvm::Value* place = held.empty() ? value_address(*emit_, target, scope.cursors[sum.target].begin) : nullptr;
  const auto load = [&] { return emit_->load(target.type, place, bytes); };
  const auto old = [&] { return place ? held_before(target, target.type, load) : emit_->get(held_scalar(sum.target, scope)); };
  llvm::Value* whole = scope.fresh[target.id] ? multiply(product, factor) : multiply_add(product, factor, convert(old(), type));
  llvm::Value* added = convert(whole, target.type);
  if (place)
    emit_->store(added, place, bytes);
  else
    emit_->set(held_scalar(sum.target, scope), added);
  if (scope.flags[target.id].place()) emit_->set(scope.flags[target.id], emit_->ir().getTrue());
}

std::unique_ptr<llvm::Module> generate(const loop::Program& program, const Target& target, unsigned bits,
                                       const CodeOptions& options, llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>("weft", context);
  module->setTargetTriple(target.triple);
  Generator(program, options, bits, *module).run();
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width", std::to_string(bits));
    function.addFnAttr("min-legal-vector-width", std::to_string(bits));
  }
  return module;
}

}  // namespace weft
