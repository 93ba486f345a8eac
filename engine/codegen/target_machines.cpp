#include "engine/codegen/target_machines.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetOptions.h>

#include "engine/codegen/target.h"
#include "runtime/guarded.h"

namespace weft {

TargetMachines::TargetMachines() : state_(std::make_shared<State>()) {}

unsigned known_vector_bits(const Target& target, const TargetMachines* pool) {
  if (!pool) return vector_bits(target);
  const std::lock_guard lock(pool->state()->mutex);
  auto& known = pool->state()->bits;
  const std::string key = target.text();
  for (const auto& [text, bits] : known)
    if (text == key) return bits;
  return known.emplace_back(key, vector_bits(target)).second;
}

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
  // Small code: what an object needs lies together, and the linker has stubs for what is called. Without a word LLVM takes large code for
  // what is compiled in the process itself, whose addresses are sums of 64-bit constants, each a register.
  lent.machine_.reset(find_target(target.triple)
                          ->createTargetMachine(target.triple, target.cpu, target.features, llvm::TargetOptions(),
                                                llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less, true));
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
