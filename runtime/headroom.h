// Headroom: memory that has to be there before code runs that cannot survive without.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/foreign_code.h"
#include "weft/error.h"

namespace weft {

/// LLVM and Z3 end the process where an allocation fails. So what one step of theirs needs at most is reserved and given back
/// right before the step, and the step is refused where the process cannot have it (address space, data segment, strict
/// overcommit). Steps of several threads count together. While this lives ForeignCode::runs(). What remains: other code of
/// the process that takes the memory meanwhile, and a group of processes that is killed for what its pages are.
class Headroom {
 public:
  /// Resource error naming `doing` and the size.
  static Expected<Headroom> take(std::uint64_t bytes, std::string_view doing);
  /// Only whether it is there.
  static bool is_there(std::uint64_t bytes) noexcept;

  Headroom(Headroom&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = 0; }
  Headroom& operator=(Headroom&&) = delete;
  ~Headroom();

 private:
  explicit Headroom(std::uint64_t bytes) : bytes_(bytes) {}

  std::uint64_t bytes_;
  ForeignCode runs_;
};

}  // namespace weft
