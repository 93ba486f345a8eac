// Errors with a picture of the text they are about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/span.h"
#include "weft/error.h"

namespace weft {

/// The message with the text's picture on the lines below it; the message alone where there is nothing to show.
std::string with_picture(std::string message, std::string_view text, const std::vector<Span>& places);

/// Of the byte with that offset, or of the end.
TextPosition position_at(std::string_view text, std::size_t offset);

/// An error of the whole of a text: with its picture, and the position of the first place. Of code syntax, if the input is
/// wrong; who knows more of it sets another.
std::unexpected<Error> error_at(ErrorKind kind, std::string_view text, std::string message, const std::vector<Span>& places);

}  // namespace weft
