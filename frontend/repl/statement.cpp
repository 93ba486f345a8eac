#include "frontend/repl/statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/text/names.h"
#include "frontend/repl/arithmetic.h"
#include "frontend/token.h"
#include "frontend/words.h"
#include "weft/file.h"

namespace weft {
namespace {


/// Brackets and quotes passed so far.
struct Nesting {
  std::size_t open = 0;
  bool quoted = false;

  void pass(char c) {
    if (c == '"') quoted = !quoted;
    if (quoted) return;
    if (c == '(' || c == '[') ++open;
    if ((c == ')' || c == ']') && open > 0) --open;
  }
  bool outside() const { return open == 0 && !quoted; }
};

/// Names a file: a known extension, or a point or '/' where no expression has one.
bool is_file_like(std::string_view spec) {
  if (spec.starts_with('"')) return true;
  const std::size_t colon = spec.rfind(':');
  const std::string_view path = colon != std::string_view::npos &&
                                        spec.find_first_not_of("0123456789x", colon + 1) == std::string_view::npos
                                    ? spec.substr(0, colon)
                                    : spec;
  for (const std::string_view extension : {".tns", ".mtx", ".npy", ".npz", ".gz", ".zst"}) {
    if (path.ends_with(extension)) return true;
  }
  return path.find_first_of("()[]*, \t") == std::string_view::npos && path.find_first_of("./") != std::string_view::npos;
}

/// A path may stand in quotes, then ':' and a shape.
Expected<std::string> unquoted(std::string_view spec) {
  if (!spec.starts_with('"')) return std::string(spec);
  const std::size_t end = spec.find('"', 1);
  if (end == std::string_view::npos) return error_at(ErrorKind::input, spec, "the quote is not closed", {{0, 1}});
  return std::string(spec.substr(1, end - 1)) + std::string(spec.substr(end + 1));
}

/// "A", "A[0,:]", "s()" with nothing else; letters within the brackets make it an expression.
std::optional<Expected<ShowStatement>> parse_show(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && continues_name(text[end])) ++end;
  ShowStatement show{std::string(text.substr(0, end)), "", {}, ""};
  if (!is_name(show.name)) return std::nullopt;
  const std::string_view rest = trimmed(text.substr(end));
  if (rest.empty() || rest == "()") return show;
  if (!rest.starts_with('[') || rest.find(']') != rest.size() - 1) return std::nullopt;
  const std::string_view inside = rest.substr(1, rest.size() - 2);
  if (trimmed(inside).empty()) {
    const std::size_t place = static_cast<std::size_t>(rest.data() - text.data()) + 1;
    return error_at(ErrorKind::input, text, "a slice is made of numbers, start:stop:step and '...'", {{place, place}});
  }
  if (std::ranges::any_of(inside, starts_name)) return std::nullopt;
  auto slice = parse_slice(inside);
  if (!slice) return std::unexpected(slice.error());
  show.slice_text = rest;
  show.slice = std::move(*slice);
  return show;
}

bool is_einsum(std::string_view text) {
  return text.find('=') == std::string_view::npos && text.find_first_of("()[]*+/") == std::string_view::npos &&
         (text.find("->") != std::string_view::npos || text.find(',') != std::string_view::npos || words_of(text).size() > 1);
}

Expected<ExpressionStatement> parse_einsum_statement(std::string_view text) {
  const std::size_t operands = static_cast<std::size_t>(std::ranges::count(text, ',')) + 1;
  const std::vector<std::string_view> parts = words_of(text);
  std::vector<std::string> names;
  if (parts.size() > operands) names.assign(parts.end() - static_cast<std::ptrdiff_t>(operands), parts.end());
  if (names.empty() || !std::ranges::all_of(names, is_name)) {
    return error_at(ErrorKind::input, text,
                    fmt::format("einsum with {} operand{} is followed by the name{} of {} tensor{}, as in ij,jk->ik A B", operands,
                                operands == 1 ? "" : "s", operands == 1 ? "" : "s", operands, operands == 1 ? "" : "s"),
                    {{text.size(), text.size()}});
  }
  const std::size_t end = static_cast<std::size_t>(parts[parts.size() - operands].data() - text.data());
  return ExpressionStatement{std::string(trimmed(text.substr(0, end))), std::move(names), ""};
}

Expected<Statement> parse_statement(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view target = equals == std::string_view::npos ? "" : trimmed(text.substr(0, equals));
  const std::string_view right = equals == std::string_view::npos ? text : trimmed(text.substr(equals + 1));
  if (equals == std::string_view::npos || (is_name(target) && !is_number_like(right))) {
    if (auto show = parse_show(right)) {
      if (!*show) return std::unexpected(show->error());
      (*show)->target = target;
      return **show;
    }
  }
  if (equals == std::string_view::npos && is_arithmetic(text)) return ArithmeticStatement{std::string(text)};
  if (is_name(target)) {
    if (right.empty() || is_number_like(right) || is_generator(right) || is_file_like(right)) {
      auto spec = unquoted(right);
      if (!spec) return std::unexpected(spec.error());
      return LoadStatement{std::string(target), std::move(*spec)};
    }
    if (is_einsum(right)) {
      auto einsum = parse_einsum_statement(right);
      if (!einsum) return std::unexpected(einsum.error());
      einsum->target = target;
      return std::move(*einsum);
    }
  }
  auto expression = parse_expression_statement(text);
  if (!expression) return std::unexpected(expression.error());
  return std::move(*expression);
}

/// Where a statement ends: ';' outside brackets and quotes, or a new line there that does not go on.
std::size_t end_of_statement(std::string_view text, std::size_t begin) {
  Nesting nesting;
  for (std::size_t at = begin; at < text.size(); ++at) {
    nesting.pass(text[at]);
    if (text[at] == ';' && nesting.outside()) return at;
    if (text[at] == '\n' && !goes_on(text.substr(begin, at - begin))) return at;
  }
  return text.size();
}

bool is_index_notation(const Statement& statement) {
  const auto* expression = std::get_if<ExpressionStatement>(&statement);
  return expression != nullptr && expression->operands.empty();
}

}  // namespace

bool is_number_like(std::string_view text) {
  if (text == "inf" || text == "nan" || text == "-inf" || text == "+inf") return true;
  return text.find_first_not_of("+-.0123456789eE") == std::string_view::npos &&
         text.find_first_of("0123456789") != std::string_view::npos;
}

Expected<ExpressionStatement> parse_expression_statement(std::string_view text) {
  text = trimmed(text);
  if (is_einsum(text)) return parse_einsum_statement(text);
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos && is_name(trimmed(text.substr(0, equals)))) {
    const std::string_view right = trimmed(text.substr(equals + 1));
    if (is_einsum(right) && !is_number_like(right)) {
      auto einsum = parse_einsum_statement(right);
      if (einsum) einsum->target = trimmed(text.substr(0, equals));
      return einsum;
    }
  }
  // Said here, because a text without '=' would be read as einsum.
  if (equals == std::string_view::npos && text.find_first_of("+*/0123456789") != std::string_view::npos) {
    return error_at(ErrorKind::input, text,
                    "there is no '=': an expression is RESULT = FACTORS, as in A(i,k) = B(i,j) * C(j,k), or einsum and the "
                    "names of its operands, as in ij,jk->ik B C",
                    {{text.size(), text.size()}});
  }
  return ExpressionStatement{std::string(text), {}, ""};
}

Expected<ParsedInput> parse_input(std::string_view text) {
  ParsedInput input;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::string_view rest = trimmed(text.substr(begin));
    if (rest.starts_with(':')) {
      std::string_view after = rest.substr(1);
      while (after.ends_with(';')) after = after.substr(0, after.find_last_not_of("; \t") + 1);
      const std::size_t end = std::min({after.find_first_of(between_words), after.find(';'), after.size()});
      input.statements.push_back(CommandStatement{std::string(after.substr(0, end)), std::string(trimmed(after.substr(end)))});
      input.silent = false;
      return input;
    }
    if (rest.starts_with('!')) {
      input.statements.push_back(CommandStatement{"!", std::string(trimmed(rest.substr(1)))});
      input.silent = false;
      return input;
    }
    const std::size_t end = end_of_statement(text, begin);
    const std::string_view one = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    if (one.empty()) continue;
    input.silent = end < text.size() && text[end] == ';';
    auto statement = parse_statement(one);
    if (!statement) return std::unexpected(statement.error());
    if (!input.statements.empty() && is_index_notation(*statement) && is_index_notation(input.statements.back())) {
      std::get<ExpressionStatement>(input.statements.back()).text += "; " + std::string(one);
    } else {
      input.statements.push_back(std::move(*statement));
    }
  }
  return input;
}

std::string_view without_comment(std::string_view line) {
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '"') quoted = !quoted;
    if (line[at] == '#' && !quoted && (at == 0 || between_words.find(line[at - 1]) != std::string_view::npos)) return line.substr(0, at);
  }
  return line;
}

bool goes_on(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return false;
  if (text.back() == '\\') return true;
  if (text.starts_with('!')) return false;  // brackets of the shell are not these
  Nesting nesting;
  for (const char c : text) nesting.pass(c);
  if (nesting.open > 0) return true;
  return !text.starts_with(':') && (text.back() == '=' || text.back() == '*' || text.back() == ',');
}

std::string joined(std::string text, std::string_view line) {
  if (text.empty()) return std::string(line);
  const std::size_t last = text.find_last_not_of(between_words);
  const bool dropped = last != std::string::npos && text[last] == '\\';
  if (dropped) text[last] = ' ';
  text += dropped ? ' ' : '\n';
  return text += line;
}

}  // namespace weft
