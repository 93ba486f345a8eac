#include "frontend/command_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/text/names.h"
#include "engine/trace.h"
#include "frontend/nearest.h"

namespace weft {
namespace {

constexpr std::string_view all_commands[] = {"run", "plan", "compare", "repl", "info", "convert", "layout", "cache", "calibrate"};

bool is_command(std::string_view word) { return std::ranges::find(all_commands, word) != std::end(all_commands); }

bool is_einsum_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_einsum_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// The help, for which habits have several names.
bool asks_for_help(std::string_view word) { return word == "-help" || word == "-?"; }

/// "->" begins an expression.
bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-' && word[1] != '>' && word[1] != '.'; }

/// "-f=A:ds", "-i=A:a.mtx", "-o=A:a.mtx" of TACO's command (the Tensor Algebra Compiler's tools/taco.cpp): the name and the rest.
struct TacoOption {
  char letter = 0;
  std::string name, rest;
};

std::optional<TacoOption> taco_option(std::string_view word) {
  if (word.size() < 5 || word[0] != '-' || word[2] != '=') return std::nullopt;
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos || !is_name(word.substr(3, colon - 3))) return std::nullopt;
  if (word[1] != 'f' && word[1] != 'i' && word[1] != 'o') return std::nullopt;
  return TacoOption{word[1], std::string(word.substr(3, colon - 3)), std::string(word.substr(colon + 1))};
}

/// The line for weft, if the words are meant for TACO.
std::optional<std::string> instead_of_taco(const std::vector<std::string>& words) {
  std::string expression, operands, options;
  bool is_taco = false;
  for (const std::string& word : words) {
    const auto option = taco_option(word);
    is_taco = is_taco || option;
    if (!option) {
      if (!is_option(word) && !is_command(word)) expression += (expression.empty() ? "" : " ") + shell_word(word);
    } else if (option->letter == 'i') {
      operands += ' ' + shell_word(option->name + '=' + option->rest);
    } else {
      const bool is_format = option->letter == 'f';
      options += fmt::format(" {} {}", is_format ? "--format" : "--out", shell_word(option->name + (is_format ? ':' : '=') + option->rest));
    }
  }
  if (!is_taco) return std::nullopt;
  return fmt::format("weft run {}{}{}", expression, operands, options);
}

}  // namespace

std::span<const std::string_view> command_names() { return all_commands; }

Expected<std::vector<std::string>> command_words(const std::vector<std::string>& given) {
  if (given.empty()) return given;
  if (const auto line = instead_of_taco(given)) {
    return input_error(fmt::format("-f=, -i= and -o= with NAME: are options of taco; for weft write\n  {}", *line));
  }
  std::vector<std::string> words = given;
  const std::string first = words.front();
  if (first == "help" || first == "version") {
    words.erase(words.begin());
    const std::string about = words.empty() ? "help" : words.front();
    const bool of_all = is_option(about) || about == "help" || about == "version";
    if (first == "version") words.assign(1, "--version");
    else if (of_all)
      words.assign(1, "--help");
    else words = {words.front(), "--help"};
    if (words.size() == 1) return words;
  }
  for (std::string& word : std::span(words).first(std::min<std::size_t>(words.size(), 2))) {
    if (asks_for_help(word)) word = "--help";
  }
  if (is_command(words.front())) return words;
  if (is_option(words.front())) {
    static constexpr std::string_view of_all[] = {"-h", "--help", "-V", "--version"};
    if (std::ranges::find(of_all, words.front()) != std::end(of_all)) return words;
    const auto command = std::ranges::find_if(words, is_command);
    const bool before_all = command != words.end() && std::all_of(words.begin(), command, is_option);
    if (before_all) return input_error(fmt::format("options follow the command: weft {} {}", *command, words.front()));
  } else if (is_word(words.front()) && words.size() > 1 && words[1].starts_with('=')) {
    return input_error(fmt::format("quotes make one word of an expression: weft '{} {}'", words.front(),
                                   words.size() > 2 ? words[1] + ' ' + words[2] : words[1]));
  } else if (is_word(words.front())) {
    const std::vector<std::string> known(std::begin(all_commands), std::end(all_commands));
    const std::string rest = words.size() > 1 ? " " + shell_word(words[1]) + (words.size() > 2 ? " ..." : "") : "";
    const bool is_einsum =
        !rest.empty() && !is_option(words[1]) && std::ranges::all_of(words.front(), is_einsum_letter);
    std::string hint = did_you_mean(words.front(), known);
    if (hint.empty() && is_einsum)
      hint = fmt::format("; an expression of letters alone follows run: weft run {}{};", words.front(), rest);
    if (hint.empty()) hint = ";";
    return input_error(
        fmt::format("weft has no command {}{} commands are {}", words.front(), hint, fmt::join(known, ", ")));
  }
  words.insert(words.begin(), "run");
  return words;
}

std::string unknown_option(std::string_view option, std::string_view command, const std::vector<std::string>& known) {
  const std::string_view name = option.substr(0, option.find('='));
  // One letter is like every other.
  std::vector<std::string> words = known;
  std::erase_if(words, [](const std::string& word) { return !word.starts_with("--"); });
  const std::string hint = name.size() > 2 ? did_you_mean(name, words) : "";
  const bool is_file = name.find('.') != std::string_view::npos;
  return fmt::format("{} is no option of weft {}{}", name, command,
                     !hint.empty() ? hint
                     : is_file     ? fmt::format("; a file of that name is ./{}", name)
                                   : fmt::format("; weft {} --help lists them", command));
}

std::optional<std::string> long_option_with_one_dash(const std::vector<std::string>& words, std::string_view command,
                                                     const std::vector<std::string>& known) {
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    if (name.size() > 2 && name[0] == '-' && name[1] != '-' && std::ranges::find(known, "-" + name) != known.end())
      return unknown_option(name, command, known);
  }
  return std::nullopt;
}

}  // namespace weft
