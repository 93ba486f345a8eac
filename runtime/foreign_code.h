// ForeignCode: a scope in which a library runs that cannot survive a failed allocation (LLVM, Z3).
#pragma once

namespace weft {

/// Of the calling thread. What such a library needs is there before the scope begins, or it does not begin: an allocation
/// that fails inside ends the process. Everywhere else one ends as a resource error (runtime/guarded.h).
class ForeignCode {
 public:
  ForeignCode() noexcept { ++scopes_; }
  ~ForeignCode() { --scopes_; }
  ForeignCode(const ForeignCode&) = delete;
  ForeignCode& operator=(const ForeignCode&) = delete;
  /// Whether the calling thread is inside of one.
  static bool runs() noexcept { return scopes_ > 0; }

 private:
  static inline constinit thread_local unsigned scopes_ = 0;
};

}  // namespace weft
