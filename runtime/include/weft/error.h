// Errors as values: nothing in weft throws across its API, aborts or prints.
#pragma once

#if __cplusplus <= 202002L
#error "weft's C++ headers need C++23 (-std=c++23); hosts in other standards and languages include weft.h, which is C"
// What is not there ends the compilation, before errors that follow hide that one.
#define WEFT_HOST_NEEDS <C++23>
#include WEFT_HOST_NEEDS
#endif

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

/// Who has to act. `input`: the caller's text, file or data is wrong. `unsupported`: right, but not yet done.
/// `resource`: a limit or the memory is exhausted. `internal`: a defect of weft, the message reproduces it.
/// `cancelled`: the caller's cancellation token was set.
enum class ErrorKind { input, unsupported, resource, internal, cancelled };

/// What is wrong, for hosts that act on it. Later versions may tell more of them apart.
enum class ErrorCode : std::uint8_t {
  other,             ///< the message says it
  syntax,            ///< a text that cannot be read, of a file too; `position` says where
  missing_operand,   ///< the expression reads `operand`, which is not given
  surplus_operand,   ///< `operand` is given, but the expression does not use it
  unknown_name,      ///< `operand` is neither an operand nor a result
  extents_disagree,  ///< `index` has one extent in `operand` and another elsewhere
  order,             ///< `operand` has another number of modes than it is written or described with
  out_of_range,      ///< a coordinate or a mode of `operand` beyond its extent or order
  sizes,             ///< arrays of `operand` that are too short, too long, or no arrays
  option,            ///< an option that cannot be, or two that contradict each other; `option` names it
  memory_limit,      ///< the limit of the engine, or the machine, has no room for what was planned or asked
  out_of_memory,     ///< an allocation failed
  pattern_changed,   ///< `operand` has another pattern than the one that memory for a result was made for
  invalid_tensor,    ///< arrays of `operand` that are no tensor: positions that fall, coordinates that repeat
  file,              ///< a file for `operand` that cannot be read, or is not what its name says or promises
};

/// A place in a text. Lines and columns (in bytes) count from 1. Of a file only the line is known: the offset is 0, the
/// column 1.
struct TextPosition {
  std::uint64_t offset = 0;  ///< of the first byte meant
  std::uint64_t line = 1;
  std::uint64_t column = 1;
  bool operator==(const TextPosition&) const = default;
};

/// `message` is for people and says it all; what else is known of the same, for programs, is empty where it is not
/// known.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;  ///< names operand, index, file and line where there is one; no trailing newline
  ErrorCode code = ErrorCode::other;
  std::string operand = {};                   ///< or result; the first of several
  std::string index = {};                     ///< of the expression
  std::string option = {};                    ///< the member of CompileOptions: "objective", "formats"
  std::optional<TextPosition> position = {};  ///< in the expression, or in the text that is wrong
  bool operator==(const Error&) const = default;
};

template <class T>
using Expected = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return std::unexpected(Error{.kind = kind, .message = std::move(message)});
}
/// Of a kind and code, about an operand and an index.
inline std::unexpected<Error> fail(ErrorKind kind, ErrorCode code, std::string_view operand, std::string message,
                                   std::string_view index = {}) {
  return std::unexpected(Error{.kind = kind,
                               .message = std::move(message),
                               .code = code,
                               .operand = std::string(operand),
                               .index = std::string(index)});
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
