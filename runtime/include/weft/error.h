// Errors as values: nothing in weft throws across its API, aborts or prints.
#pragma once

#if __cplusplus <= 202002L
#error "weft's C++ headers need C++23 (-std=c++23); hosts in other standards and languages include weft.h, which is C"
// What is not there ends the compilation, before errors that follow hide that one.
#define WEFT_HOST_NEEDS <C++23>
#include WEFT_HOST_NEEDS
#endif

#include <expected>
#include <string>
#include <utility>

namespace weft {

/// Who has to act. `input`: the caller's text, file or data is wrong. `unsupported`: right, but not yet done.
/// `resource`: a limit or the memory is exhausted. `internal`: a defect of weft, the message reproduces it.
/// `cancelled`: the caller's cancellation token was set.
enum class ErrorKind { input, unsupported, resource, internal, cancelled };

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;  ///< names operand, index, file and line where there is one; no trailing newline
  bool operator==(const Error&) const = default;
};

template <class T>
using Expected = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return std::unexpected(Error{kind, std::move(message)});
}
inline std::unexpected<Error> input_error(std::string message) { return fail(ErrorKind::input, std::move(message)); }
inline std::unexpected<Error> unsupported(std::string message) {
  return fail(ErrorKind::unsupported, std::move(message));
}
inline std::unexpected<Error> resource_error(std::string message) {
  return fail(ErrorKind::resource, std::move(message));
}
inline std::unexpected<Error> internal_error(std::string message) {
  return fail(ErrorKind::internal, std::move(message));
}

}  // namespace weft
