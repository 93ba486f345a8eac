// The words of the loop language, shared by print and parse.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "engine/loop/program.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"

namespace weft::loop {

template <class T, std::size_t N>
using Words = std::array<std::pair<T, std::string_view>, N>;

/// Of the kinds that programs have: those of layouts, the last of the table, are none of them.
static_assert(has_lengths(level_kinds.back().kind));
inline constexpr auto level_words = [] {
  Words<LevelKind, level_kinds.size() - 1> words;
  for (std::size_t kind = 0; kind < words.size(); ++kind) words[kind] = {level_kinds[kind].kind, level_kinds[kind].word};
  return words;
}();
inline constexpr Words<Use, 4> use_words{
    {{Use::drive, "drive"}, {Use::locate, "locate"}, {Use::insert, "insert"}, {Use::append, "append"}}};
/// Algorithm::standard has no word: it is what stands where none is written.
inline constexpr Words<Algorithm, 6> algorithm_words{{{Algorithm::merge, "merge"},
                                                      {Algorithm::gallop, "gallop"},
                                                      {Algorithm::search, "search"},
                                                      {Algorithm::table, "table"},
                                                      {Algorithm::probe, "probe"},
                                                      {Algorithm::sort, "sort"}}};
inline constexpr Words<Reduction, 4> reduction_words{{{Reduction::owner, "owner"},
                                                      {Reduction::private_copies, "private"},
                                                      {Reduction::append, "append"},
                                                      {Reduction::count, "count"}}};
inline constexpr Words<Role, 3> role_words{
    {{Role::input, "input"}, {Role::output, "output"}, {Role::workspace, "workspace"}}};
inline constexpr auto scalar_words = [] {
  Words<Scalar, scalar_types.size()> words;
  for (std::size_t type = 0; type < words.size(); ++type) words[type] = {scalar_types[type].scalar, scalar_types[type].name};
  return words;
}();

template <class T, std::size_t N>
constexpr std::string_view word(const Words<T, N>& words, T value) {
  for (const auto& [each, text] : words)
    if (each == value) return text;
  return "";
}

}  // namespace weft::loop
