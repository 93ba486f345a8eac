// ObjectCode to executable code: one LLJIT per Jit, a JITDylib per kernel, removed with the last handle.
#pragma once

#include <memory>
#include <string>

#include "engine/codegen/codegen.h"
#include "runtime/abi.h"

namespace weft {

/// Executable code. Copies share it; the memory is returned when the last copy dies, even after its Jit.
class LoadedCode {
 public:
  KernelFunction* function() const { return function_; }

 private:
  friend class Jit;
  std::shared_ptr<void> code_;
  KernelFunction* function_ = nullptr;
};

/// Cheap handle, thread safe. Symbols resolve only from a fixed table (memset, memcpy, …), never from the process.
class Jit {
 public:
  static Expected<Jit> create();
  /// `name` is what perf and gdb show. Any defect in the bytes is an error, never a crash of the host where LLVM can
  /// tell.
  Expected<LoadedCode> load(const ObjectCode& object, const std::string& name) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft
