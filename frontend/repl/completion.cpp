#include "frontend/repl/completion.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "engine/text/names.h"
#include "frontend/repl/commands.h"
#include "frontend/repl/options.h"

namespace weft {
namespace {

std::vector<std::string> starting_with(std::string_view start, std::vector<std::string> words) {
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(start); });
  std::ranges::sort(words);
  words.erase(std::ranges::unique(words).begin(), words.end());
  return words;
}

/// Where the name that ends the text begins.
std::size_t begin_of_name(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && continues_name(text[begin - 1])) --begin;
  return begin;
}

bool is_tensor_file(std::string_view name) {
  for (const std::string_view compression : {".gz", ".zst"}) {
    if (name.ends_with(compression)) name.remove_suffix(compression.size());
  }
  return name.ends_with(".tns") || name.ends_with(".mtx") || name.ends_with(".npy") || name.ends_with(".npz");
}

/// Directories, and files of tensors, whose path begins with `start`. Hidden ones only if asked for.
std::vector<std::string> paths(const std::string& start, bool any_file = false) {
  const std::size_t slash = start.rfind('/');
  const std::string typed = slash == std::string::npos ? "" : start.substr(0, slash + 1);
  const std::string last = start.substr(typed.size());
  std::string directory = typed.empty() ? "." : typed;
  const char* const home = std::getenv("HOME");
  if (directory.starts_with("~/") && home != nullptr) directory = home + directory.substr(1);
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(last) || (name.starts_with('.') && last.empty())) continue;
    std::error_code unknown;
    if (entry->is_directory(unknown)) {
      found.push_back(typed + name + '/');
    } else if (any_file || is_tensor_file(name)) {
      found.push_back(typed + name);
    }
  }
  return found;
}

/// Does a path stand in quotes, because blanks, ';' and others would end it, or be taken for a part of an expression?
bool wants_quotes(std::string_view path) {
  return path.find_first_of(" \t;#()[]*,=") != std::string_view::npos && path.find('"') == std::string_view::npos;
}

/// Paths from `begin` on, where a quote may stand, and other words that may stand there. All are in quotes if one has to be: a
/// directory in an open one, which its files follow.
Completion complete_path(std::string_view before, std::size_t begin, bool any_file = false, std::vector<std::string> words = {}) {
  const bool quoted = before.substr(begin).starts_with('"');
  const std::string start(before.substr(begin + (quoted ? 1 : 0)));
  if (quoted && start.find('"') != std::string::npos) return {before.size(), {}};
  std::vector<std::string> found = paths(start, any_file);
  const bool in_quotes = quoted || std::ranges::any_of(found, wants_quotes);
  words = quoted ? std::vector<std::string>() : starting_with(start, std::move(words));
  for (const std::string& path : found) {
    const bool open = path.ends_with('/');
    words.push_back(in_quotes ? '"' + path + (open ? "" : "\"") : path);
  }
  return {begin, starting_with("", std::move(words))};
}

/// Within "uniform(2000x32,": what a generator is told.
std::optional<Completion> complete_generator(std::string_view before, std::size_t begin) {
  const std::string_view spec = before.substr(begin);
  const std::size_t open = spec.find('(');
  const std::size_t comma = spec.rfind(',');
  if (open == std::string_view::npos || comma == std::string_view::npos || comma < open) return std::nullopt;
  const std::string_view generator = spec.substr(0, open);
  std::vector<std::string> words;
  if (generator == "uniform") words = {"seed="};
  if (generator == "sparse") words = {"nnz=", "seed="};
  if (words.empty() || spec.find(')') != std::string_view::npos) return std::nullopt;
  const std::size_t word = begin + std::min(spec.find_first_not_of(' ', comma + 1), spec.size());
  return Completion{word, starting_with(before.substr(word), std::move(words))};
}

/// After "NAME =": another tensor, a generator, a file.
Completion complete_spec(std::string_view before, std::size_t begin, const std::vector<std::string>& tensors) {
  std::vector<std::string> words = tensors;
  for (const char* generator : {"uniform(", "ones(", "sparse("}) words.emplace_back(generator);
  return complete_path(before, begin, false, std::move(words));
}

Completion complete_name(std::string_view before, const std::vector<std::string>& tensors, std::string_view suffix = "") {
  const std::size_t begin = begin_of_name(before);
  std::vector<std::string> words;
  for (const std::string& tensor : tensors) words.push_back(tensor + std::string(suffix));
  return {begin, starting_with(before.substr(begin), std::move(words))};
}

Completion complete_statement(std::string_view before, std::size_t begin, const std::vector<std::string>& tensors) {
  const std::string_view statement = before.substr(begin);
  const std::size_t equals = statement.find('=');
  if (equals != std::string_view::npos) {
    const std::string_view left = statement.substr(0, equals);
    const std::size_t right = statement.find_first_not_of(" \t", equals + 1);
    const bool names_one = left.find_first_of("([") == std::string_view::npos;
    if (names_one && right != std::string_view::npos) {
      if (auto told = complete_generator(before, begin + right)) return *told;
    }
    const bool one_word = right == std::string_view::npos || statement[right] == '"' ||
                          statement.find_first_of(" \t([*,", right) == std::string_view::npos;
    if (names_one && one_word) {
      return complete_spec(before, right == std::string_view::npos ? before.size() : begin + right, tensors);
    }
  }
  return complete_name(before, tensors);
}

/// After ":set OPTION": the words it may be set to.
Completion complete_value(std::string_view before, std::string_view name, std::size_t end) {
  if (name.starts_with("--")) name.remove_prefix(2);
  const std::size_t begin = std::min(before.find_first_not_of(" \t=", end), before.size());
  std::vector<std::string> words;
  for (const ReplOption& option : repl_options()) {
    if (option.name == name && std::holds_alternative<bool CommandOptions::*>(option.place)) words = {"on", "off"};
  }
  if (name == "objective") words = {"time", "workspace-order"};
  if (name == "specialize") words = {"generic", "profiled", "baked", "auto"};
  if (name == "cache-dir" || name == "dump") words = paths(std::string(before.substr(begin)));
  return {begin, starting_with(before.substr(begin), std::move(words))};
}

Completion complete_command(std::string_view before, std::size_t colon, const std::vector<std::string>& tensors) {
  const std::size_t blank = before.find_first_of(" \t", colon);
  if (blank == std::string_view::npos) {
    std::vector<std::string> words;
    for (const ReplCommand& command : repl_commands()) words.emplace_back(command.name);
    return {colon + 1, starting_with(before.substr(colon + 1), std::move(words))};
  }
  const ReplCommand* const command = find_command(before.substr(colon + 1, blank - colon - 1));
  if (command == nullptr) return {before.size(), {}};
  const std::size_t argument = std::min(before.find_first_not_of(" \t", blank), before.size());
  std::vector<std::string> words;
  switch (command->argument) {
    case CommandArgument::none:
      return {before.size(), {}};
    case CommandArgument::expression:
      return complete_statement(before, argument, tensors);
    case CommandArgument::tensor:
      return complete_name(before, tensors);
    case CommandArgument::path: {
      const std::size_t equals = before.find('=', argument);
      if (equals == std::string_view::npos) return complete_name(before, tensors, "=");
      return complete_path(before, std::min(before.find_first_not_of(" \t", equals + 1), before.size()));
    }
    case CommandArgument::spec:
      return complete_statement(before, argument, tensors);
    case CommandArgument::picture: {
      const std::size_t end = before.find_first_of(" \t", argument);
      if (end == std::string_view::npos) return complete_name(before, tensors);
      return complete_path(before, std::min(before.find_first_not_of(" \t", end), before.size()));
    }
    case CommandArgument::command:
      for (const ReplCommand& one : repl_commands()) words.emplace_back(one.name);
      break;
    case CommandArgument::file:
      return complete_path(before, argument, true);
    case CommandArgument::page: {
      const std::size_t quote = before.substr(argument).starts_with('"') ? before.find('"', argument + 1) : argument;
      const std::size_t end = before.find_first_of(" \t", std::min(quote, before.size()));
      if (end != std::string_view::npos) {
        return complete_statement(before, std::min(before.find_first_not_of(" \t", end), before.size()), tensors);
      }
      return complete_path(before, argument, true);
    }
    case CommandArgument::option: {
      const std::size_t end = before.find_first_of(" \t=", argument);
      if (end != std::string_view::npos) return complete_value(before, before.substr(argument, end - argument), end);
      for (const ReplOption& one : repl_options()) words.emplace_back(one.name);
      break;
    }
    case CommandArgument::cache:
      words = {"status", "clear", "path"};
      break;
  }
  return {argument, starting_with(before.substr(argument), std::move(words))};
}

/// The ';' that the last statement of the line begins after.
std::size_t last_separator(std::string_view before) {
  std::size_t last = std::string_view::npos;
  bool quoted = false;
  for (std::size_t at = 0; at < before.size(); ++at) {
    if (before[at] == '"') quoted = !quoted;
    if (before[at] == ';' && !quoted) last = at;
  }
  return last;
}

}  // namespace

Completion complete(std::string_view before, const std::vector<std::string>& tensors) {
  const std::size_t separator = last_separator(before);
  const std::size_t begin =
      std::min(before.find_first_not_of(" \t", separator == std::string_view::npos ? 0 : separator + 1), before.size());
  const std::size_t first = std::min(before.find_first_not_of(" \t"), before.size());
  if (before.substr(first).starts_with(':') && separator == std::string_view::npos) return complete_command(before, first, tensors);
  if (before.substr(begin).starts_with(':')) return complete_command(before, begin, tensors);
  return complete_statement(before, begin, tensors);
}

}  // namespace weft
