#include "engine/codegen/target_machines.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetOptions.h>

#include "engine/codegen/target.h"
#include "runtime/guarded.h"

namespace weft {

TargetMachines::TargetMachines() : state_(std::make_shared<State>()) {}

Expected<LentMachine> LentMachine::take(const Target& target, const TargetMachines* pool) {
  LentMachine lent;
  lent.key_ = target.text();
  if (pool) {
    lent.pool_ = pool->state();
    const std::lock_guard lock(lent.pool_->mutex);
    auto& idle = lent.pool_->idle;
    for (auto found = idle.begin(); found != idle.end(); ++found) {
      if (found->first != lent.key_) continue;
      lent.machine_ = std::move(found->second);
      idle.erase(found);
      return lent;
    }
  }
  lent.machine_.reset(find_target(target.triple)
                          ->createTargetMachine(target.triple, target.cpu, target.features, llvm::TargetOptions(),
                                                llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Less, true));
  if (!lent.machine_) return internal_error("LLVM makes no code generator for " + lent.key_);
  return lent;
}

LentMachine::~LentMachine() {
  if (!machine_ || !pool_) return;
  const std::lock_guard lock(pool_->mutex);
  // Without memory to keep it the machine goes.
  (void)had_memory_for([&] { pool_->idle.emplace_back(std::move(key_), std::move(machine_)); });
}

}  // namespace weft
