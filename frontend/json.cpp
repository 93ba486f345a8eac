#include "frontend/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace weft {
namespace {

/// Bytes of the UTF-8 sequence at the beginning of a text; 0: there is none (Unicode 15, table 3-7).
std::size_t sequence_bytes(std::string_view text) {
  const auto byte = [&](std::size_t place) { return place < text.size() ? static_cast<std::uint8_t>(text[place]) : 0; };
  const auto continues = [&](std::size_t place) { return (byte(place) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool fits = (first != 0xE0 || second >= 0xA0) && (first != 0xED || second < 0xA0);  // not longer than needed, no surrogate
    return fits && continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool fits = (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second < 0x90);
    return fits && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

std::string json_text(std::string_view text) {
  std::string quotation = "\"";
  while (!text.empty()) {
    const std::size_t bytes = sequence_bytes(text);
    const char letter = text.front();
    if (bytes == 0) {
      quotation += "\xEF\xBF\xBD";
    } else if (letter == '"' || letter == '\\') {
      quotation += '\\';
      quotation += letter;
    } else if (letter == '\n') {
      quotation += "\\n";
    } else if (letter == '\t') {
      quotation += "\\t";
    } else if (letter == '\r') {
      quotation += "\\r";
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      quotation += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      quotation += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return quotation + '"';
}

}  // namespace

Json::Json(double number) {
  if (!std::isfinite(number)) return;
  text_ = fmt::format("{}", number);
  // A number that is not counted stays one when it is whole.
  if (text_.find_first_of(".e") == std::string::npos) text_ += ".0";
}

Json::Json(std::string_view text) : text_(json_text(text)) {}

Json::Json(std::initializer_list<Member> members) : kind_(Kind::object) {
  for (const Member& member : members) (*this)[member.name] = member.value;
}

Json Json::array() {
  Json json;
  json.kind_ = Kind::array;
  return json;
}

Json Json::object() {
  Json json;
  json.kind_ = Kind::object;
  return json;
}

Json& Json::operator[](std::string_view name) {
  kind_ = Kind::object;
  const auto known = std::find(names_.begin(), names_.end(), name);
  if (known != names_.end()) return elements_[static_cast<std::size_t>(known - names_.begin())];
  elements_.emplace_back();
  names_.emplace_back(name);
  return elements_.back();
}

void Json::push_back(Json element) {
  kind_ = Kind::array;
  elements_.push_back(std::move(element));
}

void Json::print(std::string& to) const {
  if (kind_ == Kind::plain) {
    to += text_;
    return;
  }
  to += kind_ == Kind::array ? '[' : '{';
  for (std::size_t number = 0; number < elements_.size(); ++number) {
    if (number > 0) to += ',';
    if (kind_ == Kind::object) to += json_text(names_[number]) + ':';
    elements_[number].print(to);
  }
  to += kind_ == Kind::array ? ']' : '}';
}

std::string Json::dump() const {
  std::string text;
  print(text);
  return text;
}

}  // namespace weft
