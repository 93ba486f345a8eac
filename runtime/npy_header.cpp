#include "runtime/npy_header.h"

#include <optional>

#include "runtime/text_number.h"

namespace weft {

namespace {

/// The few forms of Python literals that numpy writes.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  char peek() {
    while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    peek();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string> quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    for (const char c : word) {
      if (c < 32 || c > 126) return std::nullopt;  // may end up in a message
    }
    at_ = end + 1;
    return word;
  }
  std::optional<std::uint64_t> number() {
    peek();
    std::size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    const std::string digits = std::string(text_.substr(at_, end - at_)) + '\n';
    const char* c = digits.data();
    std::uint64_t value = 0;
    if (!scan_unsigned(c, value)) return std::nullopt;
    at_ = end;
    take('L');  // Python 2 wrote long integers so
    return value;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

Expected<std::vector<std::uint64_t>> parse_shape(Literal& literal) {
  std::vector<std::uint64_t> shape;
  if (!literal.take('(')) return input_error("the header's shape is no tuple");
  while (!literal.take(')')) {
    const std::optional<std::uint64_t> extent = literal.number();
    if (!extent) return input_error("an extent in the header's shape is no whole number below 2^64");
    shape.push_back(*extent);
    if (!literal.take(',') && literal.peek() != ')') return input_error("the header's shape is no tuple");
  }
  return shape;
}

Expected<void> parse_descr(std::string_view descr, NpyText text, NpyHeader& header) {
  const std::string quoted = "the element type '" + std::string(descr) + "'";
  if (descr.size() < 2) return input_error(quoted + " is not a NumPy type");
  const char order = descr[0];
  const std::string_view type = order == '<' || order == '>' || order == '|' || order == '=' ? descr.substr(1) : descr;
  if (type == "O") return unsupported(quoted + ": Python objects are not supported; save an array of numbers");
  if (type.size() < 2) return input_error(quoted + " is not a NumPy type");
  const std::string size_text = std::string(type.substr(1)) + '\n';
  const char* at = size_text.data();
  std::uint64_t size = 0;
  const bool sized = scan_unsigned(at, size) && *at == '\n';
  header.big_endian = order == '>';
  header.kind = type[0];
  header.bytes = sized && size <= 64 ? static_cast<unsigned>(size) : 0;
  const bool whole = header.bytes == 1 || header.bytes == 2 || header.bytes == 4 || header.bytes == 8;
  switch (header.kind) {
    case 'f':
      if (header.bytes == 2 || header.bytes == 4 || header.bytes == 8 || header.bytes == 16) return {};
      break;
    case 'i':
    case 'u':
      if (whole) return {};
      break;
    case 'b':
      if (header.bytes == 1) return {};
      break;
    case 'S':
    case 'U':
      // A character of text is four bytes.
      if (text == NpyText::allowed && sized && size > 0 && size <= 16) {
        header.bytes = static_cast<unsigned>(size) * (header.kind == 'U' ? 4 : 1);
        return {};
      }
      break;
    case 'c':
      return unsupported(quoted + ": complex data are not supported");
    default:
      break;
  }
  return unsupported(quoted + " is not supported: reals of 2, 4, 8 and 16 bytes, integers of up to 8 and bool are");
}

}  // namespace

Expected<NpyHeader> parse_npy_header(std::string_view dictionary, NpyText text) {
  NpyHeader header;
  bool has_descr = false;
  bool has_order = false;
  bool has_shape = false;
  Literal literal(dictionary);
  if (!literal.take('{')) return input_error("the header is no dictionary");
  while (!literal.take('}')) {
    const std::optional<std::string> key = literal.quoted();
    if (!key || !literal.take(':')) return input_error("the header is no dictionary of quoted keys");
    if (*key == "descr") {
      if (literal.peek() == '[') return unsupported("records are not supported");
      const std::optional<std::string> descr = literal.quoted();
      if (!descr) return input_error("the header's element type is no quoted text");
      if (Expected<void> parsed = parse_descr(*descr, text, header); !parsed) return std::unexpected(parsed.error());
      has_descr = true;
    } else if (*key == "fortran_order") {
      header.fortran_order = literal.take_word("True");
      if (!header.fortran_order && !literal.take_word("False")) {
        return input_error("the header's fortran_order is neither True nor False");
      }
      has_order = true;
    } else if (*key == "shape") {
      Expected<std::vector<std::uint64_t>> shape = parse_shape(literal);
      if (!shape) return std::unexpected(shape.error());
      header.shape = std::move(*shape);
      has_shape = true;
    } else {
      return input_error("the header has an unknown key '" + *key + "'");
    }
    if (!literal.take(',') && literal.peek() != '}') return input_error("the header is no dictionary");
  }
  if (literal.peek() != '\0') return input_error("the header has text behind its dictionary");
  if (!has_descr || !has_order || !has_shape) {
    return input_error("the header lacks one of descr, fortran_order and shape");
  }
  return header;
}

std::string npy_preamble(const NpyHeader& header) {
  std::string dictionary = "{'descr': '";
  dictionary += header.bytes == 1 || header.kind == 'S' ? '|' : header.big_endian ? '>' : '<';
  dictionary += header.kind + std::to_string(header.bytes);
  dictionary += std::string("', 'fortran_order': ") + (header.fortran_order ? "True" : "False") + ", 'shape': (";
  for (std::size_t mode = 0; mode != header.shape.size(); ++mode) {
    dictionary += (mode > 0 ? ", " : "") + std::to_string(header.shape[mode]);
  }
  dictionary += header.shape.size() == 1 ? ",), }" : "), }";
  constexpr std::size_t before = 10;  // magic, version, length
  const std::size_t padded = (before + dictionary.size() + 1 + 63) / 64 * 64;
  dictionary.append(padded - before - dictionary.size() - 1, ' ');
  dictionary += '\n';
  std::string preamble = "\x93NUMPY";
  preamble += '\x01';
  preamble += '\0';
  preamble += static_cast<char>(dictionary.size() & 255);
  preamble += static_cast<char>(dictionary.size() >> 8);
  return preamble + dictionary;
}

}  // namespace weft
