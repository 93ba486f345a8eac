#include "frontend/command_operands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "frontend/inferred_extents.h"
#include "frontend/operand.h"
#include "frontend/resolve.h"
#include "runtime/elapsed.h"
#include "runtime/file_name.h"
#include "runtime/shell_word.h"

namespace weft {

namespace {

bool is_operand(const std::string& argument) {
  const OperandText operand = parse_operand(argument);
  const std::string path = parse_file_name(operand.spec).path;
  return is_generator(operand.spec) || access(path.c_str(), F_OK) == 0;
}

/// The error of a text that is no expression, or what is said of an operand that stands in its place.
std::unexpected<Error> no_expression(std::span<const std::string> arguments, const Error& error) {
  const std::string& first = arguments.front();
  if (!is_operand(first)) return std::unexpected(error);
  for (const std::string& later : arguments.subspan(1)) {
    const auto parsed = parse_expression(later);
    const bool is_expression = parsed && (parsed->notation == Notation::index || later.find("->") != std::string::npos);
    if (!is_expression || is_operand(later)) continue;
    return input_error(fmt::format("{} is an operand: the expression {} stands before it", first, shell_word(later)));
  }
  return input_error(
      fmt::format("{} is an operand, where an expression such as 'ij->i' is wanted; weft info {} describes it", first,
                  shell_word(parse_operand(first).spec)));
}

/// Index notation tells operands by their names. Input error for one without, with the name that is missing.
Expected<void> all_named(const CommandExpression& expression) {
  const auto nameless = std::ranges::find(expression.names, "");
  if (expression.parsed().notation != Notation::index || nameless == expression.names.end()) return {};
  const std::string& spec = expression.specs[static_cast<std::size_t>(nameless - expression.names.begin())];
  std::string example;
  std::set<std::string> known(expression.names.begin(), expression.names.end());
  for (const ParsedAssignment& assignment : expression.parsed().assignments) {
    for (const ParsedTerm& term : assignment.terms) {
      for (const ParsedAccess& factor : term.factors) {
        if (example.empty() && !known.contains(factor.name)) example = factor.name + '=' + spec;
      }
    }
    known.insert(assignment.result.name);
  }
  return input_error(fmt::format("{} has no name: with index notation every operand is NAME=SPEC{}", spec,
                                 example.empty() ? "" : ", here " + shell_word(example)));
}

/// Input error where blanks around '=' have made several words of an operand.
Expected<void> one_word_each(std::span<const std::string> operands) {
  for (std::size_t word = 0; word < operands.size(); ++word) {
    const bool goes_on =
        operands[word].ends_with('=') && word + 1 < operands.size() && !operands[word + 1].contains('=');
    if (!goes_on && !operands[word].starts_with('=')) continue;
    return input_error("an operand is one word, NAME=SPEC: blanks around '=' stand in quotes, if at all");
  }
  return {};
}

}  // namespace

Expected<CommandExpression> command_expression(std::span<const std::string> arguments) {
  CommandExpression expression(arguments.front());
  if (auto words = one_word_each(arguments.subspan(1)); !words) return std::unexpected(words.error());
  for (const std::string& argument : arguments.subspan(1)) {
    OperandText operand = parse_operand(argument);
    expression.names.push_back(std::move(operand.name));
    expression.specs.push_back(std::move(operand.spec));
  }
  expression.text = RequestText(arguments.front(), [given = expression.names](std::string_view name) { return among(given)(name); });
  if (const auto& parsed = expression.text.parsed(); !parsed) return no_expression(arguments, parsed.error());
  if (auto named_all = all_named(expression); !named_all) return std::unexpected(named_all.error());
  auto names = operand_names(expression.parsed(), expression.names);
  if (!names) return std::unexpected(names.error());
  expression.names = std::move(*names);
  if (auto once = standard_input_once(expression.specs, expression.names); !once) return std::unexpected(once.error());
  return expression;
}

Expected<CommandOperands> load_operands(const CommandExpression& expression, const std::map<std::string, Format>& formats,
                                        const Resources& resources) {
  CommandOperands loaded;
  std::set<std::string> inferred;
  for (std::size_t operand = 0; operand < expression.names.size(); ++operand) {
    const std::string& name = expression.names[operand];
    const auto start = Clock::now();
    const auto format = formats.find(name);
    FileFacts facts;
    auto tensor = load_operand(expression.specs[operand],
                               format == formats.end() ? std::nullopt : std::optional<Format>(format->second), resources, name, &facts);
    if (!tensor) return std::unexpected(tensor.error());
    loaded.read_ms[name] = milliseconds_since(start);
    loaded.tensors.emplace(name, std::move(*tensor));
    if (facts.extents_inferred) inferred.insert(name);
  }
  auto notes = grow_inferred_extents(loaded.tensors, expression.parsed(), expression.names, inferred, resources);
  if (!notes) return std::unexpected(notes.error());
  loaded.notes = std::move(*notes);
  return loaded;
}

}  // namespace weft
