#include "frontend/named_einsum.h"

#include <algorithm>

#include "engine/text/names.h"
#include "frontend/words.h"

namespace weft {
namespace {

/// A word behind '->' that has other letters than the operands' indices cannot be part of the result.
bool has_other_letters(std::string_view word, std::string_view before) {
  return word.find_first_not_of(before) != std::string_view::npos;
}

/// The names behind an einsum of so many operands; none if there are none.
std::vector<std::string_view> trailing_names(std::string_view einsum, std::size_t operands, const IsGiven& is_given) {
  const std::vector<std::string_view> words = words_of(einsum);
  if (words.size() <= operands) return {};
  const std::vector<std::string_view> names(words.end() - static_cast<std::ptrdiff_t>(operands), words.end());
  const std::string_view before = einsum.substr(0, einsum.find("->"));
  const auto is_meant = [&](std::string_view word) { return has_other_letters(word, before) || (is_given && is_given(word)); };
  const auto is_one = [&](std::string_view word) { return is_name(word) && is_meant(word); };
  return std::ranges::all_of(names, is_one) ? names : std::vector<std::string_view>();
}

}  // namespace

std::optional<NamedEinsum> named_einsum(std::string_view text, const IsGiven& is_given) {
  const auto place = [&](std::string_view part) {
    const auto begin = static_cast<std::size_t>(part.data() - text.data());
    return Span{begin, begin + part.size()};
  };
  const std::size_t equals = text.find('=');
  const bool has_target = equals != std::string_view::npos;
  const std::string_view target = has_target ? trimmed(text.substr(0, equals)) : std::string_view();
  std::string_view einsum = trimmed(has_target ? text.substr(equals + 1) : text);
  if ((has_target && !is_name(target)) || einsum.find_first_of("()[]*+=;") != std::string_view::npos) return std::nullopt;
  if (has_target && einsum.find("->") == std::string_view::npos && einsum.find(',') == std::string_view::npos) return std::nullopt;
  const auto operands = static_cast<std::size_t>(std::ranges::count(einsum.substr(0, einsum.find("->")), ',')) + 1;
  const std::vector<std::string_view> names = trailing_names(einsum, operands, is_given);
  if (names.empty() && !has_target) return std::nullopt;
  NamedEinsum named;
  if (has_target) named.target = place(target);
  if (!names.empty()) einsum = trimmed(einsum.substr(0, static_cast<std::size_t>(names.front().data() - einsum.data())));
  named.einsum = place(einsum);
  for (const std::string_view name : names) named.operands.push_back(place(name));
  return named;
}

}  // namespace weft
