#include "frontend/repl/repl.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/text/names.h"
#include "frontend/array_text.h"
#include "frontend/inferred_extents.h"
#include "frontend/nearest.h"
#include "frontend/number_text.h"
#include "frontend/operand.h"
#include "frontend/request_text.h"
#include "frontend/repl/arithmetic.h"
#include "frontend/repl/commands.h"
#include "frontend/repl/habits.h"
#include "frontend/stored.h"
#include "frontend/terminal.h"
#include "frontend/token.h"
#include "runtime/scalar_traits.h"
#include "weft/file.h"

namespace weft {
namespace {

std::vector<std::string> names_of(const std::map<std::string, Tensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

/// What a script says to repeat the statement, in one line; empty for a command that changes nothing.
std::string script_line(const Statement& statement, bool silent) {
  std::string line;
  if (const auto* load = std::get_if<LoadStatement>(&statement)) {
    const bool is_path = !is_generator(load->spec) && !is_number_like(load->spec);
    line = fmt::format("{} = {}{}{}", load->name, is_path ? "\"" : "", load->spec, is_path ? "\"" : "");
  } else if (const auto* expression = std::get_if<ExpressionStatement>(&statement)) {
    if (!expression->target.empty()) line = expression->target + " = ";
    line += expression->text;
    for (const std::string& operand : expression->operands) line += ' ' + operand;
  } else if (const auto* show = std::get_if<ShowStatement>(&statement)) {
    if (!show->target.empty()) line = show->target + " = ";
    line += show->name + show->slice_text;
  } else if (const auto* sum = std::get_if<ArithmeticStatement>(&statement)) {
    line = sum->text;
  } else {
    const auto& command = std::get<CommandStatement>(statement);
    const ReplCommand* const known = find_command(command.name);
    // Without an argument a command asks.
    if (known == nullptr || !known->changes_session || command.argument.empty()) return "";
    return fmt::format(":{} {}", known->name, command.argument);
  }
  std::ranges::replace(line, '\n', ' ');  // a new line within a statement is space
  return silent ? line + ';' : line;
}

Expected<Resources> fresh_resources(const CommandOptions& options, const ReplPlace& place) {
  std::uint64_t limit = Memory::unlimited;
  if (!options.memory_limit.empty()) {
    const auto size = parse_size(options.memory_limit);
    if (!size) return std::unexpected(size.error());
    limit = *size;
  }
  return Resources{Memory(limit), Threads(options.threads), place.cancellation(), options.quiet ? Progress() : place.progress};
}

Expected<Session> fresh_session(const CommandOptions& options, const Resources& resources) {
  auto session = session_options(options, resources);
  if (!session) return std::unexpected(session.error());
  return Session::create(std::move(*session));
}

}  // namespace

Repl::Repl(CommandOptions options, ReplPlace place, Resources resources, Session session)
    : options_(std::move(options)), place_(std::move(place)), resources_(std::move(resources)), session_(std::move(session)) {}

Expected<Repl> Repl::create(CommandOptions options, ReplPlace place) {
  auto resources = fresh_resources(options, place);
  if (!resources) return std::unexpected(resources.error());
  auto session = fresh_session(options, *resources);
  if (!session) return std::unexpected(session.error());
  EvaluateOptions formats;
  for (const std::string& text : options.formats) {
    if (auto added = add_format(text, formats); !added) return std::unexpected(added.error());
  }
  Repl repl(std::move(options), std::move(place), std::move(*resources), std::move(*session));
  repl.formats_ = std::move(formats);
  return repl;
}

Expected<void> Repl::set_options(CommandOptions options) {
  auto resources = fresh_resources(options, place_);
  if (!resources) return std::unexpected(resources.error());
  std::map<std::string, Charge> carried;
  if (options.memory_limit == options_.memory_limit) {
    resources->memory = resources_.memory;
    carried = std::move(carried_);
  } else {
    for (const auto& [name, tensor] : tensors()) {
      auto charge = resources->memory.charge(tensor.bytes(), name);
      if (!charge) return std::unexpected(charge.error());
      carried[name] = std::move(*charge);
    }
  }
  if (options.threads == options_.threads) resources->threads = resources_.threads;
  auto session = fresh_session(options, *resources);
  if (!session) return std::unexpected(session.error());
  for (const auto& [name, tensor] : tensors()) session->set(name, tensor);
  options_ = std::move(options);
  resources_ = std::move(*resources);
  session_ = std::move(*session);
  carried_ = std::move(carried);
  return {};
}

/// After an interrupt: the cancellation of a session stays set, so another session takes its tensors over.
Expected<void> Repl::renew() {
  if (!resources_.cancellation.cancelled()) return {};
  return set_options(options_);
}

Expected<void> Repl::execute(std::string_view text) {
  if (auto renewed = renew(); !renewed) return renewed;
  if (auto said = habit(text, tensors())) return std::unexpected(std::move(*said));
  auto input = parse_input(text);
  if (!input) return std::unexpected(input.error());
  for (const Statement& statement : input->statements) {
    if (auto done = execute(statement, options_.quiet || input->silent); !done) return done;
    if (auto line = script_line(statement, input->silent); !line.empty()) said_.push_back(std::move(line));
    if (finished_) break;
  }
  return {};
}

Expected<void> Repl::execute(const Statement& statement, bool silent) {
  if (const auto* load_statement = std::get_if<LoadStatement>(&statement)) {
    if (auto loaded = load(*load_statement); !loaded) return loaded;
    if (silent) return {};
    return print(fmt::format("{}: {}\n", load_statement->name, tensors().at(load_statement->name).summary()));
  }
  if (const auto* expression = std::get_if<ExpressionStatement>(&statement)) return evaluate_and_keep(*expression, silent);
  if (const auto* shown = std::get_if<ShowStatement>(&statement)) return show(*shown, silent);
  if (const auto* sum = std::get_if<ArithmeticStatement>(&statement)) {
    const auto value = arithmetic(sum->text, [this](const std::string& name) {
      const auto found = tensors().find(name);
      return found == tensors().end() ? nullptr : &found->second;
    });
    if (!value) return std::unexpected(value.error());
    return print(number_text(*value, Scalar::f64) + '\n');
  }
  const auto& command = std::get<CommandStatement>(statement);
  return run_command(*this, command.name, command.argument);
}

Expected<Tensor> Repl::tensor(const std::string& name) const {
  const auto found = tensors().find(name);
  if (found != tensors().end()) return found->second;
  if (!is_name(name)) return input_error(fmt::format("'{}' is not the name of a tensor: letters, digits and '_'", name));
  std::string message = fmt::format("no tensor is named {}", name);
  if (const auto fused = fused_.find(name); fused != fused_.end()) {
    message += fmt::format(": it was an intermediate of {}; an assignment on a line of its own is kept", fused->second);
  } else if (const auto like = nearest(name, names_of(tensors()))) {
    message += fmt::format("; did you mean {}?", *like);
  } else {
    message += fmt::format("; load one with {} = FILE, or see :list and :help", name);
  }
  return input_error(std::move(message));
}

Expected<void> Repl::load(const LoadStatement& statement) {
  const auto wanted = formats_.formats.find(statement.name);
  const auto format = wanted == formats_.formats.end() ? std::nullopt : std::optional<Format>(wanted->second);
  const std::string& spec = statement.spec;
  const bool is_script = !options_.arguments.empty() && options_.arguments.front() != "-";
  if (!is_script && reads_standard_input(spec)) {
    return input_error("the statements come from standard input: give the name of a file, or the statements in a script");
  }
  FileFacts facts;
  auto tensor = load_operand(spec, format, resources_, statement.name, &facts);
  if (!tensor) return std::unexpected(tensor.error());
  keep(statement.name, std::move(*tensor));
  if (facts.extents_inferred) inferred_.insert(statement.name);
  return {};
}

Expected<void> Repl::grow(const ParsedExpression& expression, const std::vector<std::string>& operands) {
  if (inferred_.empty()) return {};
  Tensors known;
  for (const std::string& name : operands) known.insert_or_assign(name, tensors().at(name));
  const auto notes = grow_inferred_extents(known, expression, operands, inferred_, resources_);
  if (!notes) return std::unexpected(notes.error());
  for (const auto& [name, grown] : known) {
    if (grown.extents() != tensors().at(name).extents()) session_.set(name, grown);
  }
  for (const std::string& note : *notes) {
    if (!options_.quiet) write_note(fmt::format("note: {}\n", note));
  }
  return {};
}

Expected<void> Repl::print(std::string_view text) { return output_ ? output_->write(text) : place_.print(text); }

Expected<void> Repl::begin_output(const std::string& path) {
  if (auto ended = end_output(); !ended) return ended;
  auto file = OutputFile::create(path);
  if (!file) return std::unexpected(file.error());
  output_ = std::move(*file);
  return {};
}

Expected<void> Repl::end_output() {
  if (!output_) return {};
  auto finished = output_->finish();
  output_.reset();
  return finished;
}

void Repl::keep(const std::string& name, Tensor tensor) {
  session_.set(name, std::move(tensor));
  inferred_.erase(name);
  carried_.erase(name);
  fused_.erase(name);
}

void Repl::drop(const std::string& name) {
  session_.drop(name);
  inferred_.erase(name);
  carried_.erase(name);
}

Expected<void> Repl::show(const ShowStatement& statement, bool silent) {
  auto found = tensor(statement.name);
  if (!found) {
    const bool is_word = statement.slice_text.empty() && statement.target.empty();
    if (is_word && find_command(statement.name) && statement.name.size() > 1) return run_command(*this, statement.name, "");
    if (statement.target.empty() || !statement.slice_text.empty()) return std::unexpected(found.error());
    return input_error(fmt::format(
        "no tensor is named {}, and a file is named with its extension (.tns, .mtx, .npy, .npz)", statement.name));
  }
  if (statement.slice_text.empty()) {
    if (statement.target.empty()) return print(tensor_text(*found, statement.name));
    keep(statement.target, std::move(*found));
    if (silent) return {};
    return print(fmt::format("{}: {}\n", statement.target, tensors().at(statement.target).summary()));
  }
  const auto selected = select(statement.slice, found->extents(), statement.name);
  if (!selected) return std::unexpected(selected.error());
  const bool is_element = std::ranges::all_of(*selected, &Selected::dropped);
  if (found->format().all_dense()) {
    const DenseView view = dense_view(*found, *selected);
    if (statement.target.empty()) return print(array_text(view) + '\n');
    auto copied = materialised(view, resources_, statement.target);
    if (!copied) return std::unexpected(copied.error());
    keep(statement.target, std::move(*copied));
  } else if (is_element) {
    double value = 0;  // of what is not stored
    const auto visit = [&](std::span<const std::uint64_t>, double stored) {
      value = stored;
      return false;
    };
    if (auto visited = visit_entries(*found, *selected, resources_.cancellation, visit); !visited) return visited;
    auto scalar = dense_zeros({}, dense_format(0, found->format().scalar), resources_, statement.name);
    if (!scalar) return std::unexpected(scalar.error());
    with_element(found->format().scalar, [&]<class T>(T) { scalar->writable_values<T>()[0] = static_cast<T>(value); });
    if (statement.target.empty()) return print(tensor_text(*scalar, statement.name));
    keep(statement.target, std::move(*scalar));
  } else {
    auto part = sliced(*found, *selected, resources_, statement.target.empty() ? statement.name : statement.target);
    if (!part) return std::unexpected(part.error());
    if (statement.target.empty()) return print(tensor_text(*part, statement.name + statement.slice_text));
    keep(statement.target, std::move(*part));
  }
  if (silent) return {};
  return print(fmt::format("{}: {}\n", statement.target, tensors().at(statement.target).summary()));
}

/// An einsum's result has the name that it is given, unless an operand has that: it is kept under it later.
RequestText Repl::request_of(const ExpressionStatement& statement) {
  const std::vector<std::string>& operands = statement.operands;
  if (operands.empty()) return RequestText(statement.text);
  const bool is_named = !statement.target.empty() && std::ranges::find(operands, statement.target) == operands.end();
  const std::string named = fmt::format("{} {}", statement.text, fmt::join(operands, " "));
  return RequestText(is_named ? fmt::format("{} = {}", statement.target, named) : named,
                     [operands](std::string_view name) { return among(operands)(name); });
}

Expected<Evaluation> Repl::evaluate(std::string_view text, EvaluateOptions options) {
  if (text.empty()) {
    if (!last_) return input_error("no expression was evaluated yet: give one");
    return evaluate(*last_, request_of(*last_), std::move(options));
  }
  auto statement = parse_expression_statement(text);
  if (!statement) return std::unexpected(statement.error());
  return evaluate(*statement, request_of(*statement), std::move(options));
}

Expected<Evaluation> Repl::evaluate(const ExpressionStatement& statement, const RequestText& text, EvaluateOptions options) {
  const auto& parsed = text.parsed();
  if (!parsed) return std::unexpected(parsed.error());
  std::vector<std::string> operands;
  std::set<std::string> assigned;
  if (parsed->notation == Notation::einsum && statement.operands.empty()) {
    return input_error(fmt::format("einsum is followed by the names of its operands, as in {} A B", statement.text));
  }
  const bool is_einsum = !statement.operands.empty();
  for (const ParsedAssignment& assignment : parsed->assignments) {
    for (const ParsedTerm& term : assignment.terms) {
      for (const ParsedAccess& factor : term.factors) {
        if (assigned.contains(factor.name) || std::ranges::find(operands, factor.name) != operands.end()) continue;
        if (auto found = tensor(factor.name); !found) {
          return error_at(ErrorKind::input, parsed->text, found.error().message, {is_einsum ? factor.named : factor.span});
        }
        operands.push_back(factor.name);
      }
    }
    const std::string& result = assignment.result.name;
    if (std::ranges::find(operands, result) != operands.end() && is_einsum) {
      return input_error(fmt::format("the result of einsum is named out: give it another name than the operand's, as in q = {} {}",
                                     statement.text, fmt::join(statement.operands, " ")));
    }
    if (std::ranges::find(operands, result) != operands.end()) {
      return error_at(ErrorKind::input, parsed->text,
                      fmt::format("{0} is read and assigned by one expression: assign to another name, then {0} = NAME", result),
                      {assignment.result.span});
    }
    assigned.insert(result);
  }
  const std::string& last_result = parsed->assignments.back().result.name;
  if (auto grown = grow(*parsed, operands); !grown) return std::unexpected(grown.error());
  for (const auto& [name, format] : formats_.formats) {
    if (name == statement.target) {
      options.formats[last_result] = format;
    } else if (assigned.contains(name) || std::ranges::find(operands, name) != operands.end()) {
      options.formats[name] = format;
    }
  }
  for (const auto& [name, pattern] : formats_.patterns) {
    if (name == statement.target) {
      options.patterns[last_result] = pattern;
    } else if (assigned.contains(name)) {
      options.patterns[name] = pattern;
    }
  }
  options.calls = options_.calls.value_or(std::max(1U, options.repeat));
  options.tree = options_.tree;
  options.objective = options_.objective;
  options.unfused = options_.unfused;
  options.prove = options_.prove;
  const auto grade = specialization(options_);
  if (!grade) return std::unexpected(grade.error());
  options.specialize = *grade;
  auto evaluation = weft::evaluate(session_, text, operands, options);
  if (evaluation) last_ = statement;
  return evaluation;
}

Expected<void> Repl::evaluate_and_keep(const ExpressionStatement& statement, bool silent) {
  const RequestText text = request_of(statement);
  auto evaluation = evaluate(statement, text, {});
  if (!evaluation) return std::unexpected(evaluation.error());
  for (const ParsedAssignment& assignment : text.parsed()->assignments) {
    if (!statement.operands.empty() || evaluation->results.contains(assignment.result.name)) continue;
    // What the name meant before is no longer what the text says.
    drop(assignment.result.name);
    fused_[assignment.result.name] = statement.text;
  }
  for (auto& [result, tensor] : evaluation->results) {
    const std::string& name = statement.target.empty() ? result : statement.target;
    keep(name, std::move(tensor));
    if (silent) continue;
    const Tensor& kept = tensors().at(name);
    const bool labelled = evaluation->results.size() > 1 && kept.format().all_dense();
    const std::string label = labelled ? name + (kept.order() == 0 ? " = " : " =\n") : "";
    if (auto printed = print(label + tensor_text(kept, name)); !printed) return printed;
  }
  return {};
}

}  // namespace weft
