// Charge: bytes reserved in a Memory.
#pragma once

#include "weft/memory.h"

namespace weft {

/// Bytes reserved in a Memory, released on destruction. Move only.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&&) noexcept;
  Charge& operator=(Charge&&) noexcept;
  ~Charge();
  std::uint64_t bytes() const { return bytes_; }
  /// Takes over what another charge of the same account reserves; into an empty charge, of any account.
  void join(Charge other);
  /// Takes `bytes`, or what there is, out of this charge: for memory that replaces other memory.
  Charge split(std::uint64_t bytes);

 private:
  friend class Memory;
  std::shared_ptr<Memory::Account> account_;
  std::uint64_t bytes_ = 0;
};

}  // namespace weft
