// :list, :load, :write, :drop, :info and :format.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "frontend/operand.h"
#include "frontend/repl/commands.h"
#include "frontend/repl/file_argument.h"
#include "frontend/command.h"
#include "frontend/terminal.h"
#include "weft/file.h"

namespace weft {
namespace {

std::vector<std::string> names_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> names;
  for (std::string name; words >> name;) names.push_back(name);
  return names;
}

/// "T sss:2,0,1 f32": the asked one, else that of the tensor.
std::string format_line(Repl& repl, const std::string& name) {
  const EvaluateOptions& asked = repl.formats();
  std::string text = name + ' ';
  if (const auto pattern = asked.patterns.find(name); pattern != asked.patterns.end()) {
    text += "like(" + pattern->second + ")";
  } else if (const auto format = asked.formats.find(name); format != asked.formats.end()) {
    text += fmt::format("{} {}", format->second.text(), weft::name(format->second.scalar));
  } else {
    const Format& stored = repl.tensors().at(name).format();
    text += fmt::format("{} {}, chosen", stored.order() == 0 ? "scalar" : stored.text(), weft::name(stored.scalar));
  }
  return text + '\n';
}

Expected<void> show_formats(Repl& repl, const std::string& name) {
  const auto is_asked = [&](const std::string& one) {
    return repl.formats().formats.contains(one) || repl.formats().patterns.contains(one);
  };
  if (!name.empty()) {
    if (!is_asked(name)) {
      if (auto found = repl.tensor(name); !found) return std::unexpected(found.error());
    }
    return repl.print(format_line(repl, name));
  }
  std::vector<std::string> names;
  for (const auto& [one, tensor] : repl.tensors()) names.push_back(one);
  for (const auto& [one, format] : repl.formats().formats) names.push_back(one);
  for (const auto& [one, pattern] : repl.formats().patterns) names.push_back(one);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  std::string text;
  for (const std::string& one : names) text += format_line(repl, one);
  return repl.print(text);
}

}  // namespace

Expected<void> command_list(Repl& repl, const std::string&) {
  std::size_t width = 0;
  for (const auto& [name, tensor] : repl.tensors()) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, tensor] : repl.tensors()) text += fmt::format("{:<{}}  {}\n", name, width, tensor.summary());
  if (text.empty()) text = "no tensors\n";
  return repl.print(text);
}

Expected<void> command_load(Repl& repl, const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const auto input = parse_input(argument);
  const OperandText operand = parse_operand(argument);
  if (equals == std::string::npos || (operand.name.empty() && !input)) {
    return input_error(fmt::format(":load wants NAME=SPEC, not '{}'", argument));
  }
  LoadStatement statement{operand.name, operand.spec};
  if (input && input->statements.size() == 1) {
    if (const auto* load = std::get_if<LoadStatement>(&input->statements.front())) statement = *load;
  }
  if (statement.name.empty()) return input_error(fmt::format(":load wants NAME=SPEC, not '{}'", argument));
  if (auto loaded = repl.load(statement); !loaded) return loaded;
  if (repl.options().quiet) return {};
  return repl.print(fmt::format("{}: {}\n", statement.name, repl.tensors().at(statement.name).summary()));
}

Expected<void> command_write(Repl& repl, const std::string& argument) {
  std::string text = argument;
  // Blanks around '=' belong to neither side.
  if (const std::size_t equals = text.find('='); equals != std::string::npos) {
    const std::size_t path = text.find_first_not_of(" \t", equals + 1);
    text = text.substr(0, text.find_last_not_of(" \t", equals == 0 ? 0 : equals - 1) + 1) + '=' +
           (path == std::string::npos ? "" : text.substr(path));
  }
  OperandText split = parse_operand(text);
  split.spec = whole_file(split.spec);
  if (split.name.empty() || split.spec.empty()) return input_error(fmt::format(":write wants NAME=PATH, not '{}'", argument));
  const auto tensor = repl.tensor(split.name);
  if (!tensor) return std::unexpected(tensor.error());
  return write_tensor(*tensor, split.spec, writing_resources(repl.resources(), split.spec), split.name);
}

Expected<void> command_drop(Repl& repl, const std::string& argument) {
  std::vector<std::string> names = names_in(argument);
  if (names.empty()) return input_error(":drop wants the names of tensors, or * for all");
  if (names.size() > 1 && std::ranges::find(names, "*") != names.end()) {
    return input_error(fmt::format(":drop wants * alone, for all tensors, or names, not '{}'", argument));
  }
  if (names == std::vector<std::string>{"*"}) {
    names.clear();
    for (const auto& [name, tensor] : repl.tensors()) names.push_back(name);
  }
  for (const std::string& name : names) {
    if (auto found = repl.tensor(name); !found) return std::unexpected(found.error());
  }
  for (const std::string& name : names) repl.drop(name);
  return {};
}

Expected<void> command_info(Repl& repl, const std::string& argument) {
  if (argument.empty()) return input_error(":info wants the name of a tensor");
  if (names_in(argument).size() > 1) return input_error(fmt::format(":info wants the name of one tensor, not '{}'", argument));
  const auto tensor = repl.tensor(argument);
  if (!tensor) return std::unexpected(tensor.error());
  const auto text = info_text(*tensor, argument, repl.resources());
  if (!text) return std::unexpected(text.error());
  return repl.print(*text);
}

Expected<void> command_format(Repl& repl, const std::string& argument) {
  const std::size_t colon = argument.find(':');
  if (colon == std::string::npos) return show_formats(repl, argument);
  const std::string name = argument.substr(0, colon);
  EvaluateOptions& asked = repl.formats();
  if (argument.substr(colon + 1) == "auto") {
    asked.formats.erase(name);
    asked.patterns.erase(name);
    return {};
  }
  EvaluateOptions one;
  if (auto added = add_format(argument, one); !added) {
    Error error = std::move(added.error());
    if (error.message.starts_with("--format")) error.message.replace(0, 2, ":");
    return std::unexpected(std::move(error));
  }
  const auto tensor = repl.tensors().find(name);
  if (one.formats.contains(name) && tensor != repl.tensors().end()) {
    if (tensor->second.order() == one.formats.at(name).modes()) {
      auto converted = convert(tensor->second, one.formats.at(name), repl.resources(), name);
      if (!converted) return std::unexpected(converted.error());
      repl.keep(name, std::move(*converted));
    } else {
      return input_error(fmt::format("the format of {} is over {} modes, but {} has {}", name, one.formats.at(name).modes(),
                                     name, tensor->second.order()));
    }
  }
  asked.formats.erase(name);
  asked.patterns.erase(name);
  asked.formats.merge(one.formats);
  asked.patterns.merge(one.patterns);
  return {};
}

}  // namespace weft
