// The commands of the prompt, ":plan A(i) = B(i)".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "frontend/repl/repl.h"
#include "weft/error.h"

namespace weft {

/// What may be completed after a command.
enum class CommandArgument {
  none,
  expression,
  tensor,
  spec,     ///< NAME=SPEC
  path,     ///< NAME=PATH
  picture,  ///< NAME PATH
  file,     ///< any file
  page,     ///< FILE EXPR
  command,
  option,
  cache,
};

struct ReplCommand {
  std::string_view name;
  std::string_view usage;    ///< of what follows the name
  std::string_view summary;  ///< one line
  std::string_view details;  ///< further lines, may be empty
  CommandArgument argument = CommandArgument::none;
  Expected<void> (*run)(Repl& repl, const std::string& argument) = nullptr;
  bool changes_session = false;  ///< a saved session repeats it
};

std::span<const ReplCommand> repl_commands();
/// By name, or "q", "h", "?", "exit"; null if there is none.
const ReplCommand* find_command(std::string_view name);

/// Input error suggesting the nearest command if there is none of that name; others as of the command.
Expected<void> run_command(Repl& repl, const std::string& name, const std::string& argument);

// Those of each file.
Expected<void> command_help(Repl& repl, const std::string& argument);
Expected<void> command_list(Repl& repl, const std::string& argument);
Expected<void> command_drop(Repl& repl, const std::string& argument);
Expected<void> command_load(Repl& repl, const std::string& argument);
Expected<void> command_write(Repl& repl, const std::string& argument);
Expected<void> command_info(Repl& repl, const std::string& argument);
Expected<void> command_format(Repl& repl, const std::string& argument);
Expected<void> command_plan(Repl& repl, const std::string& argument);
Expected<void> command_time(Repl& repl, const std::string& argument);
Expected<void> command_profile(Repl& repl, const std::string& argument);
Expected<void> command_stage(Repl& repl, const std::string& argument, const std::string& stage);
Expected<void> command_set(Repl& repl, const std::string& argument);
Expected<void> command_threads(Repl& repl, const std::string& argument);
Expected<void> command_spy(Repl& repl, const std::string& argument);
Expected<void> command_save(Repl& repl, const std::string& argument);
Expected<void> command_source(Repl& repl, const std::string& argument);
Expected<void> command_history(Repl& repl, const std::string& argument);
Expected<void> command_html(Repl& repl, const std::string& argument);
Expected<void> command_output(Repl& repl, const std::string& argument);
Expected<void> command_shell(Repl& repl, const std::string& argument);
Expected<void> command_cache(Repl& repl, const std::string& argument);

}  // namespace weft
