// Lines at the prompt: parsed, and executed in a session of small tensors where they do no more than compute and print.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "frontend/repl/commands.h"
#include "frontend/repl/repl.h"
#include "frontend/repl/statement.h"
#include "fuzz/scratch.h"
#include "fuzz/target.h"
#include "weft/file.h"

namespace weft::fuzz {
namespace prompt_lines {
namespace {

/// Files and the cache of the machine are left alone; a text that LLVM writes costs too much for every input.
bool is_harmless(const Statement& statement) {
  if (const auto* load = std::get_if<LoadStatement>(&statement)) return is_generator(load->spec);
  const auto* command = std::get_if<CommandStatement>(&statement);
  if (command == nullptr) return true;
  static constexpr std::array allowed = {"help", "list", "drop",     "info",  "format",
                                         "plan", "tree", "schedule", "loops", "quit"};
  const ReplCommand* const known = find_command(command->name);
  if (known == nullptr) return true;
  if (known->name == "spy") return command->argument.find('.') == std::string::npos;
  return std::ranges::find(allowed, known->name) != allowed.end();
}

/// `line` by line, as repl/run.cpp joins them.
void execute(std::string_view text) {
  CommandOptions options;
  options.no_cache = true;
  options.threads = 1;
  options.memory_limit = "64M";
  std::string printed;
  ReplPlace place{[&](std::string_view more) -> Expected<void> {
                    printed += more;
                    require(printed.size() < (1u << 20), "more is printed than anybody reads");
                    return {};
                  },
                  {},
                  [] { return Cancellation(); }};
  auto repl = Repl::create(options, place);
  require(repl.has_value(), [&] { return repl.error().message; });
  const auto prepared =
      repl->execute("T = sparse(4x3x5,nnz=12,seed=1); B = ones(3x2); v = uniform(5,seed=2); s = 2.5;");
  require(prepared.has_value(), [&] { return prepared.error().message; });
  const auto done = repl->execute(text);
  if (!done) require(done.error().kind != ErrorKind::internal && !done.error().message.empty(), done.error().message);
  for (const auto& [name, tensor] : repl->tensors()) {
    const auto sound = verify(tensor, small_resources(), name);
    require(sound.has_value(), [&] { return sound.error().message; });
  }
}

}  // namespace
}  // namespace prompt_lines

void prompt(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  (void)goes_on(text);
  (void)without_comment(text);
  const auto input = parse_input(text);
  if (!input)
    return require(input.error().kind == ErrorKind::input || input.error().kind == ErrorKind::unsupported,
                   input.error().message);
  if (input->statements.size() <= 6 && text.size() < 400 &&
      std::ranges::all_of(input->statements, prompt_lines::is_harmless))
    prompt_lines::execute(text);
}

}  // namespace weft::fuzz
