// ObjectCode to executable code: one LLJIT per Jit, a JITDylib per kernel, removed with the last handle.
#pragma once

#include <memory>
#include <string>

#include "engine/codegen/codegen.h"
#include "engine/jit/symbols.h"
#include "runtime/abi.h"

namespace weft {

/// Executable code. Copies share it; the memory is returned when the last copy dies, even after its Jit.
class LoadedCode {
 public:
  KernelFunction* function() const { return function_; }
  /// Its functions, as debuggers and profilers see them. Empty without code.
  std::vector<CodeSymbol> symbols() const;

 private:
  friend class Jit;
  struct State;
  std::shared_ptr<State> code_;
  KernelFunction* function_ = nullptr;
};

struct JitOptions {
  bool perf_map = false;  ///< tell perf the names of kernels, in /tmp/perf-PID.map
};

/// Cheap handle, thread safe. Symbols resolve only from a fixed table (memset, memcpy, …), never from the process.
class Jit {
 public:
  static Expected<Jit> create(const JitOptions& options = {});
  /// `name` is what perf and gdb show; a debugger always knows of loaded code. Any defect in the bytes is an error, never a crash of the
  /// host where LLVM can tell.
  Expected<LoadedCode> load(const ObjectCode& object, const std::string& name) const;

 private:
  friend class LoadedCode;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft
