// What a debugger is told of loaded code: gdb's JIT compilation interface ("JIT Compilation Interface" in its manual).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "engine/jit/symbols.h"

namespace weft {

/// Code that a debugger knows of; forgotten on destruction.
class DebuggerEntry {
 public:
  struct State;
  explicit DebuggerEntry(std::span<const CodeSymbol> symbols);
  DebuggerEntry(const DebuggerEntry&) = delete;
  DebuggerEntry& operator=(const DebuggerEntry&) = delete;
  ~DebuggerEntry();

 private:
  std::unique_ptr<State> state_;
};

/// How many entries the process has; counted under the lock that makes and removes them.
std::size_t debugger_entries();

/// An ELF file without code that names what lies at these addresses. Empty without symbols.
std::vector<unsigned char> symbol_file(std::span<const CodeSymbol> symbols);

}  // namespace weft

// The protocol's names and layout: a debugger sets a breakpoint in the function and then reads the descriptor. Hidden, so
// that no other LLVM in the process takes ours for its own, nor we its.
extern "C" {
struct WeftDebuggerCode {
  WeftDebuggerCode* next;
  WeftDebuggerCode* previous;
  const unsigned char* file;
  std::uint64_t bytes;
};
struct WeftDebuggerDescriptor {
  std::uint32_t version;
  std::uint32_t action;
  WeftDebuggerCode* relevant;
  WeftDebuggerCode* first;
};
__attribute__((visibility("hidden"))) extern WeftDebuggerDescriptor __jit_debug_descriptor;
__attribute__((visibility("hidden"), noinline)) void __jit_debug_register_code();
}
