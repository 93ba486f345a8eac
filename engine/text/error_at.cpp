#include "engine/text/error_at.h"

#include <algorithm>

#include "engine/text/picture.h"

namespace weft {

std::string with_picture(std::string message, std::string_view text, const std::vector<Span>& places) {
  const std::string pictured = picture(text, places);
  if (!pictured.empty()) message.append("\n").append(pictured);
  return message;
}

TextPosition position_at(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return {offset, 1 + static_cast<std::uint64_t>(std::ranges::count(before, '\n')), offset - line_begin + 1};
}

std::unexpected<Error> error_at(ErrorKind kind, std::string_view text, std::string message, const std::vector<Span>& places) {
  Error error{.kind = kind,
              .message = with_picture(std::move(message), text, places),
              .code = kind == ErrorKind::input ? ErrorCode::syntax : ErrorCode::other};
  if (!places.empty()) error.position = position_at(text, places.front().begin);
  return std::unexpected(std::move(error));
}

}  // namespace weft
