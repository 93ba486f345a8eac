// The functions of the module and what their parameters mean: the words of the frame as the Signature lists them.
#include <algorithm>
#include <cstddef>

#include "engine/codegen/arithmetic.h"
#include "engine/codegen/generate.h"
#include "engine/loop/short_fiber.h"
#include "engine/codegen/signature.h"
#include "engine/loop/overloaded.h"
#include "runtime/abi.h"
#include "runtime/dense_levels.h"

namespace weft {

namespace {

bool is_pointer(Word::Kind kind) {
  return kind == Word::Kind::pos || kind == Word::Kind::crd || kind == Word::Kind::values ||
         kind == Word::Kind::places || kind == Word::Kind::scratch;
}

bool prefetches(const loop::Block& statements) {
  return std::ranges::any_of(statements, [](const loop::Statement& statement) {
    return std::visit(
        loop::Overloaded{[](const loop::For& each) { return each.marks.prefetch > 0 || prefetches(each.body); },
                         [](const loop::Bind& late) { return prefetches(late.body); },
                         [](const loop::With& live) { return prefetches(live.body); },
                         [](const loop::Accumulate&) { return false; }},
        statement.node);
  });
}

}  // namespace

/// The loops themselves, with one noalias parameter per word: the entry's loads from the frame could not say that.
llvm::Function* Generator::declare_body() {
  llvm::LLVMContext& context = module_.getContext();
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  const Signature words = signature(program_);
  std::vector<llvm::Type*> types;
  for (const Word& each : words.words)
    types.push_back(is_pointer(each.kind)                  ? pointer
                    : each.kind == Word::Kind::coefficient ? arithmetic::widest(context)
                                                           : word);
  types.insert(types.end(), {word, word, pointer});
  llvm::Function* body = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getInt32Ty(context), types, false),
                                                llvm::GlobalValue::InternalLinkage, "weft_loops", module_);
  for (unsigned n = 0; n < words.words.size(); ++n) {
    const Word& each = words.words[n];
    body->getArg(n)->setName(name_of(each, program_));
    if (!is_pointer(each.kind)) continue;
    body->addParamAttr(n, llvm::Attribute::NoAlias);
    body->addParamAttr(n, llvm::Attribute::NoCapture);
    if (each.kind != Word::Kind::scratch && program_.storages[each.storage].role == loop::Role::input)
      body->addParamAttr(n, llvm::Attribute::ReadOnly);
  }
  body->getArg(static_cast<unsigned>(types.size() - 3))->setName("begin");
  body->getArg(static_cast<unsigned>(types.size() - 2))->setName("end");
  body->getArg(static_cast<unsigned>(types.size() - 1))->setName("worker");
  return body;
}

/// The exported function: loads the words of the frame and calls the loops.
void Generator::declare_entry(llvm::Function* body) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* status = llvm::Type::getInt32Ty(context);
  llvm::Function* entry = llvm::Function::Create(llvm::FunctionType::get(status, {pointer, word, word, pointer}, false),
                                                 llvm::GlobalValue::ExternalLinkage, "weft_kernel", module_);
  llvm::IRBuilder<> ir(llvm::BasicBlock::Create(context, "entry", entry));
  llvm::Value* worker = entry->getArg(3);
  const Signature words = signature(program_);
  std::vector<llvm::Value*> arguments;
  llvm::Value* scratch = nullptr;
  if (!words.scratch.empty())
    scratch = ir.CreateAlignedLoad(
        pointer, ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), worker, offsetof(Worker, scratch)), llvm::Align(8));
  for (std::size_t n = 0; n < words.words.size(); ++n) {
    const Word::Kind kind = words.words[n].kind;
    llvm::Value* place = ir.CreateConstInBoundsGEP1_64(word, entry->getArg(0), n);
    llvm::Type* type = body->getFunctionType()->getParamType(static_cast<unsigned>(n));
    if (kind == Word::Kind::scratch)
      arguments.push_back(
          ir.CreateInBoundsGEP(ir.getInt8Ty(), scratch, ir.CreateAlignedLoad(word, place, llvm::Align(8))));
    else
      arguments.push_back(ir.CreateAlignedLoad(type, place, llvm::Align(8)));
  }
  for (unsigned n = 1; n < 4; ++n) arguments.push_back(entry->getArg(n));
  llvm::CallInst* call = ir.CreateCall(body, arguments);
  ir.CreateRet(call);
}

void Generator::describe(LevelCode& code, loop::StorageId storage, std::uint32_t level) const {
  code.full = is_full(program_, storage, level);
  if (const loop::AdjacentFact* const fact = adjacent_fact(program_, storage); fact != nullptr && fact->level == level) {
    code.adjacent = true;
    code.from_zero = fact->from_zero;
  }
  if (const auto fiber = loop::short_fiber(program_, storage, level)) {
    code.longest = fiber->maximum;
    code.constant = fiber->exact;
  }
}

/// Gives the parameters their meaning.
void Generator::receive(llvm::Function& body) {
  for (loop::IndexId index = 0; index < program_.indices.size(); ++index) {
    const std::optional<std::uint64_t> known = known_extent(program_, index);
    extents_.push_back(known ? emit_->constant(*known) : nullptr);
  }
  for (loop::StorageId id = 0; id < program_.storages.size(); ++id) {
    const loop::Storage& storage = program_.storages[id];
    StorageCode code{&storage, id, arithmetic::type_of(emit_->ir().getContext(), storage.scalar),
                     nullptr, std::vector<LevelCode>(storage.levels.size())};
    for (std::uint32_t level = 0; level < storage.levels.size(); ++level)
      describe(code.levels[level], id, level);
    storages_.push_back(std::move(code));
    tiles_.push_back(is_register_tile(program_, id));
  }
  // Checked code reads what it checks.
  for (const loop::Fact& fact : program_.facts)
    if (const auto* pattern = std::get_if<loop::PatternFact>(&fact); pattern && options_.patterns && !options_.checked)
      if (const auto found = options_.patterns->find(pattern->digest); found != options_.patterns->end())
        storages_[pattern->storage].baked = &found->second;
  const Signature words = signature(program_);
  for (unsigned n = 0; n < words.words.size(); ++n) {
    const Word& each = words.words[n];
    llvm::Value* value = body.getArg(n);
    switch (each.kind) {
      case Word::Kind::pos:
        storages_[each.storage].levels[each.level].pos = value;
        break;
      case Word::Kind::crd:
        storages_[each.storage].levels[each.level].crd = value;
        break;
      case Word::Kind::stride:
        storages_[each.storage].levels[each.level].stride = value;
        break;
      case Word::Kind::values:
        storages_[each.storage].values = value;
        break;
      case Word::Kind::places:
        storages_[each.storage].places = value;
        break;
      case Word::Kind::elements:
        storages_[each.storage].elements = value;
        break;
      case Word::Kind::scratch: {
        StorageCode& storage = storages_[each.storage];
        switch (words.scratch[each.number].part) {
          case ScratchDemand::Part::values:
            storage.values = value;
            break;
          case ScratchDemand::Part::marks:
            storage.levels[each.level].marks = value;
            break;
          case ScratchDemand::Part::touched:
            storage.touched = value;
            storage.levels[0].crd = value;  // of a key of one mode
            storage.count = emit_->slot(emit_->constant(0));
            break;
          case ScratchDemand::Part::crd:
            storage.levels[each.level].crd = value;
            break;
        }
        break;
      }
      case Word::Kind::extent:
        extents_[each.number] = value;
        break;
      case Word::Kind::coefficient:
        coefficients_.resize(std::max<std::size_t>(coefficients_.size(), each.number + 1), nullptr);
        coefficients_[each.number] = value;
        break;
    }
  }
  begin_ = body.getArg(static_cast<unsigned>(words.words.size()));
  end_ = body.getArg(static_cast<unsigned>(words.words.size() + 1));
  for (const loop::IndexDefinition& each : program_.definitions)
    if (extents_[each.index] == nullptr) extents_[each.index] = given_extent(each);
  for (const loop::Access& access : program_.accesses)
    for (std::size_t level = 0; level < access.indices.size(); ++level)
      storages_[access.storage].levels[level].extent = extents_[access.indices[level]];
  // Below levels with strides the elements of the last one lie side by side.
  for (StorageCode& storage : storages_) {
    if (storage.levels.size() > 1 && storage.levels.front().stride && !storage.levels.back().stride)
      storage.levels.back().stride = emit_->constant(1);
  }
  const bool placed = std::ranges::any_of(storages_, [](const StorageCode& storage) { return storage.places != nullptr; });
  if (options_.checked || placed || prefetches(program_.body)) count_positions();
}

/// Quotients of the coordinates that an extent has, and what is left of them below the modulus.
llvm::Value* Generator::given_extent(const loop::IndexDefinition& definition) {
  if (definition.is_sum()) return emit_->constant(*definition.extent);
  llvm::IRBuilder<>& ir = emit_->ir();
  llvm::Value* of = extents_[definition.of.front().index];
  llvm::Value* divisor = emit_->constant(definition.part.divisor);
  llvm::Value* more = emit_->widen(ir.CreateICmpNE(ir.CreateURem(of, divisor), emit_->constant(0)));
  llvm::Value* quotients = emit_->add(ir.CreateUDiv(of, divisor), more);
  return definition.part.modulus == 0 ? quotients : emit_->minimum(quotients, emit_->constant(definition.part.modulus));
}

/// The coordinate of a loop's index, or a start that is found, and those that it gives.
void Generator::take_coordinate(Scope& scope, loop::IndexId index, llvm::Value* coordinate) {
  scope.coordinates[index] = coordinate;
  llvm::IRBuilder<>& ir = emit_->ir();
  for (const loop::IndexDefinition& each : program_.definitions) {
    const auto is_bound = [&](const loop::Summand& summand) { return scope.coordinates[summand.index] != nullptr; };
    if (each.cover || !each.is_given_by(index) || !std::ranges::all_of(each.of, is_bound)) continue;  // a start is found, not computed
    llvm::Value* sum = each.is_sum() ? sum_of(each, scope) : coordinate;
    llvm::Value* given = each.part.divisor == 1 ? sum : ir.CreateUDiv(sum, emit_->constant(each.part.divisor));
    if (each.part.modulus != 0) given = ir.CreateURem(given, emit_->constant(each.part.modulus));
    if (each.is_sum() && !each.part.is_whole())  // no part of a sum below 0 is a coordinate
      given = ir.CreateSelect(ir.CreateICmpSLT(sum, emit_->constant(0)), emit_->constant(~std::uint64_t{0}), given);
    scope.coordinates[each.index] = given;
  }
}

/// The sum that an index is, or is a part of, in 64 bits: one below 0 is beyond every extent.
llvm::Value* Generator::sum_of(const loop::IndexDefinition& definition, const Scope& scope) {
  llvm::Value* sum = emit_->constant(static_cast<std::uint64_t>(definition.offset));
  for (const loop::Summand& summand : definition.of) {
    llvm::Value* coordinate = scope.coordinates[summand.index];
    if (summand.part.divisor != 1) coordinate = emit_->ir().CreateUDiv(coordinate, emit_->constant(summand.part.divisor));
    if (summand.part.modulus != 0) coordinate = emit_->ir().CreateURem(coordinate, emit_->constant(summand.part.modulus));
    if (summand.factor == 1)
      sum = emit_->add(sum, coordinate);
    else if (summand.factor == -1)
      sum = emit_->sub(sum, coordinate);
    else
      sum = emit_->add(sum, emit_->mul(coordinate, emit_->constant(static_cast<std::uint64_t>(summand.factor))));
  }
  return sum;
}

/// The frame has no array sizes, but the stored positions tell them from the root down.
void Generator::count_positions() {
  for (StorageCode& storage : storages_) {
    // Those that grow have as many as they make room for, those like an operand as many as that.
    if (is_appended(program_, storage.id) || storage.table || loop::pattern_of(program_, storage.id)) continue;
    llvm::Value* count = emit_->constant(1);
    for (std::uint32_t level = 0; level < storage.levels.size() && count; ++level) {
      LevelCode& code = storage.levels[level];
      const Level& stored = storage.level(level);
      if (is_by_extent(stored.kind)) count = code.stride || !code.extent ? nullptr : emit_->mul(count, code.extent);
      if (has_pos(stored.kind) && code.pos) {  // none: a workspace, whose entries are counted as they are made
        llvm::Type* type = emit_->ir().getIntNTy(stored.pos_bits);
        count = emit_->widen(emit_->load(type, emit_->address(type, code.pos, count), stored.pos_bits / 8));
      }
      code.positions = count;
    }
    // The entries of a key are as many at each of its levels.
    for (std::uint32_t key = key_levels(*storage.storage), level = 0; level + 1 < key; ++level)
      storage.levels[level].positions = storage.levels[key - 1].positions;
  }
  for (StorageCode& storage : storages_)
    if (const auto pattern = loop::pattern_of(program_, storage.id))
      for (std::size_t level = 0, shared = appended_levels(storage.storage->levels); level < storage.levels.size(); ++level) {
        LevelCode& code = storage.levels[level];
        if (level < shared)
          code.positions = storages_[*pattern].levels[level].positions;
        else if (llvm::Value* const above = storage.levels[level - 1].positions; above != nullptr && code.extent != nullptr)
          code.positions = emit_->mul(above, code.extent);
      }
}

}  // namespace weft
