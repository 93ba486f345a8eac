// RequestText: the text of one request, parsed when that is first asked for and once only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/parse.h"
#include "weft/session.h"

namespace weft {

/// What compiles and evaluates passes this on instead of a text. Of one request, so for one thread.
class RequestText {
 public:
  /// `is_given`: as of parse_expression, asked when the text is parsed.
  explicit RequestText(std::string_view text, IsGiven is_given = {}) : text_(text), is_given_(std::move(is_given)) {}

  const std::string& text() const { return text_; }
  /// As parse_expression, with its errors.
  const Expected<ParsedExpression>& parsed() const;
  /// The names of its operands, in the order of their first use; those of einsum without names are T0, T1, …. Errors as of parsed().
  Expected<std::vector<std::string>> operands() const;
  /// Milliseconds that parsing took; 0 before.
  double parse_ms() const { return parse_ms_; }

 private:
  std::string text_;
  IsGiven is_given_;
  mutable std::optional<Expected<ParsedExpression>> parsed_;
  mutable double parse_ms_ = 0;
};

/// T0, T1, …
std::vector<std::string> unnamed(std::size_t operands);

/// Asks for names among these, which outlive it.
IsGiven among(const Tensors& tensors);
IsGiven among(const std::vector<std::string>& names);

/// Names that index notation, or einsum with names, reads before, or without, assigning them, in the order of the text.
std::vector<std::string> names_read(const ParsedExpression& expression);

/// As Session::evaluate, of a text that is parsed already.
Expected<Evaluation> evaluate(const Session& session, const RequestText& text, const std::vector<std::string>& operands,
                              const EvaluateOptions& options = {}, const Cancellation* cancellation = nullptr);

}  // namespace weft
