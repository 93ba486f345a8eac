#include "frontend/named_einsum.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/text/names.h"
#include "frontend/einsum.h"
#include "frontend/resolve.h"
#include "frontend/words.h"

namespace weft {
namespace {

bool is_given(std::string_view word, const std::vector<std::string>& given) { return std::ranges::find(given, word) != given.end(); }

/// A word behind '->' that has other letters than the operands' indices cannot be part of the result.
bool has_other_letters(std::string_view word, std::string_view before) { return word.find_first_not_of(before) != std::string_view::npos; }

/// The names behind an einsum of so many operands; none if there are none.
std::vector<std::string> trailing_names(std::string_view einsum, std::size_t operands, const std::vector<std::string>& given) {
  const std::vector<std::string_view> words = words_of(einsum);
  if (words.size() <= operands) return {};
  const std::vector<std::string> names(words.end() - static_cast<std::ptrdiff_t>(operands), words.end());
  const std::string_view before = einsum.substr(0, einsum.find("->"));
  const auto is_meant = [&](const std::string& word) { return is_given(word, given) || has_other_letters(word, before); };
  return std::ranges::all_of(names, [&](const std::string& word) { return is_name(word) && is_meant(word); }) ? names
                                                                                                              : std::vector<std::string>();
}

}  // namespace

std::string index_notation(const ParsedExpression& einsum, const std::vector<std::string>& operands, const std::string& result) {
  const auto access = [](const std::string& name, const ParsedAccess& parsed) {
    std::string indices;
    for (const ParsedIndex& index : parsed.indices) indices += (indices.empty() ? "" : ",") + index.name;
    return name + '(' + indices + ')';
  };
  const ParsedAssignment& assignment = einsum.assignments.front();
  std::string text = access(result, assignment.result) + " = ";
  const std::vector<ParsedAccess>& factors = assignment.terms.front().factors;
  for (std::size_t factor = 0; factor < factors.size(); ++factor) {
    text += (factor == 0 ? "" : " * ") + access(operands[factor], factors[factor]);
  }
  return text;
}

Expected<std::optional<NamedEinsum>> named_einsum(std::string_view text, const std::vector<std::string>& given) {
  const std::size_t equals = text.find('=');
  const bool has_target = equals != std::string_view::npos;
  const std::string target(has_target ? trimmed(text.substr(0, equals)) : "out");
  std::string_view einsum = trimmed(has_target ? text.substr(equals + 1) : text);
  if (!is_name(target) || einsum.find_first_of("()[]*+=;") != std::string_view::npos) return std::nullopt;
  if (has_target && einsum.find("->") == std::string_view::npos && einsum.find(',') == std::string_view::npos) return std::nullopt;
  const std::size_t factors = static_cast<std::size_t>(std::ranges::count(einsum.substr(0, einsum.find("->")), ',')) + 1;
  std::vector<std::string> names = trailing_names(einsum, factors, given);
  if (names.empty() && !has_target) return std::nullopt;
  if (!names.empty()) {
    const std::vector<std::string_view> words = words_of(einsum);
    einsum = trimmed(einsum.substr(0, static_cast<std::size_t>(words[words.size() - names.size()].data() - einsum.data())));
  }
  const auto parsed = parse_einsum(einsum);
  if (!parsed) return std::unexpected(parsed.error());
  NamedEinsum named{"", given};
  if (names.empty()) {
    auto in_order = operand_names(*parsed, given);
    if (!in_order) return std::unexpected(in_order.error());
    names = *in_order;
    named.names = std::move(*in_order);
  }
  named.text = index_notation(*parsed, names, target);
  return named;
}

}  // namespace weft
