#include "engine/codegen/long_sum.h"

#include "engine/codegen/arithmetic.h"

namespace weft {

struct Generator::LongSum::State {
  Generator& generator;
  std::vector<Slot> slots;
  std::vector<llvm::AllocaInst*> wide = {};  ///< f64, by slot; in memory, so that they take no registers from the loop
  Slot moved = {};                           ///< whether anything is there
  bool polled = false;

  llvm::Type* wide_type(std::size_t n) const {
    llvm::Type* doubles = arithmetic::widest(generator.emit_->ir().getContext());
    const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(slots[n].type());
    return lanes ? llvm::FixedVectorType::get(doubles, lanes->getNumElements()) : doubles;
  }
  llvm::Value* sum(std::size_t n) const {
    return generator.emit_->ir().CreateLoad(wide_type(n), wide[n], /*isVolatile=*/true);
  }
  void move() {
    llvm::IRBuilder<>& ir = generator.emit_->ir();
    polled = true;
    llvm::Value* any = generator.emit_->get(moved);
    for (std::size_t n = 0; n < slots.size(); ++n) {
      if (wide.size() == n) wide.push_back(generator.emit_->memory(wide_type(n)));
      llvm::Value* before = ir.CreateSelect(any, sum(n), llvm::Constant::getNullValue(wide_type(n)));
      llvm::Value* added = generator.convert(generator.emit_->get(slots[n]), wide_type(n));
      ir.CreateStore(arithmetic::add(ir, before, added), wide[n], /*isVolatile=*/true);
      generator.emit_->set(slots[n], llvm::Constant::getNullValue(slots[n].type()));
    }
    generator.emit_->set(moved, ir.getTrue());
  }
};

Generator::LongSum::LongSum(Generator& generator, const StorageCode& storage, const std::vector<Slot>& slots) {
  Emitter& emit = *generator.emit_;
  if (storage.type == arithmetic::widest(emit.ir().getContext()) || slots.empty() || emit.strict() || generator.options_.symbolic) return;
  state_ = std::make_shared<State>(State{generator, slots});
  state_->moved = emit.slot(emit.ir().getFalse());
  emit.on_poll([state = state_] { state->move(); });
}

void Generator::LongSum::end() {
  if (!state_) return;
  Emitter& emit = *state_->generator.emit_;
  emit.forget_poll();
  if (!state_->polled) return;
  emit.if_rarely(emit.get(state_->moved), [&] {
    for (std::size_t n = 0; n < state_->slots.size(); ++n) {
      const Slot slot = state_->slots[n];
      llvm::Value* rest = state_->generator.convert(emit.get(slot), state_->wide_type(n));
      emit.set(slot, state_->generator.convert(arithmetic::add(emit.ir(), state_->sum(n), rest), slot.type()));
    }
  });
}

}  // namespace weft
