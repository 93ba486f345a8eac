// Who owns the arrays of a hashed workspace: they grow as kernels ask, and are charged as they grow.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "runtime/abi.h"
#include "runtime/growing_buffer.h"

namespace weft {

/// For one thread at a time. Stays where it is: tables point to it.
class HashedMemory {
 public:
  HashedMemory(const Memory& memory, std::string name) : memory_(memory), name_(std::move(name)) {}
  HashedMemory(const HashedMemory&) = delete;
  HashedMemory& operator=(const HashedMemory&) = delete;

  /// An empty table that grows in this memory.
  HashedTable table();
  /// Why a table could not grow: a resource error naming the workspace.
  const std::optional<Error>& refused() const { return refused_; }
  void forget_refusal() { refused_.reset(); }

 private:
  static void* allocate(HashedTable* table, std::uint64_t array, std::uint64_t bytes);

  Memory memory_;
  std::string name_;
  std::array<GrowingBuffer, HashedTable::arrays> buffers_;
  std::optional<Error> refused_;
};

}  // namespace weft
