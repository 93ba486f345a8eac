// The target machines that compilations take from TargetMachines and give back.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/codegen/codegen.h"

namespace weft {

struct TargetMachines::State {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::unique_ptr<llvm::TargetMachine>>> idle;  ///< by Target::text()
  std::vector<std::pair<std::string, unsigned>> bits;                              ///< vector_bits, too
};

/// vector_bits, asked of LLVM once where there is a pool to keep it: to read the lists of features takes a fiftieth of a compilation.
unsigned known_vector_bits(const Target& target, const TargetMachines* pool);

/// One machine for one compilation; goes back to its pool, if it has one, when this ends.
class LentMachine {
 public:
  /// `pool` may be null. Internal error if LLVM has no code generator for the target, which must have vector_bits.
  static Expected<LentMachine> take(const Target& target, const TargetMachines* pool);
  LentMachine(LentMachine&&) noexcept = default;
  LentMachine& operator=(LentMachine&&) = delete;
  ~LentMachine();

  llvm::TargetMachine& operator*() const { return *machine_; }
  llvm::TargetMachine* operator->() const { return machine_.get(); }

 private:
  LentMachine() = default;
  std::shared_ptr<TargetMachines::State> pool_;
  std::string key_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace weft
