#include "frontend/repl/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/nearest.h"

namespace weft {
namespace {

template <const char* stage>
Expected<void> show_stage(Repl& repl, const std::string& argument) {
  return command_stage(repl, argument, stage);
}
constexpr char tree[] = "tree";
constexpr char schedule[] = "schedule";
constexpr char loops[] = "loops";
constexpr char llvm[] = "llvm";
constexpr char assembly[] = "asm";

Expected<void> quit(Repl& repl, const std::string&) {
  repl.finish();
  return {};
}

constexpr std::string_view statements =
    R"(Statements, several separated by ';' (after one at the end of the line results are not printed):
  T = flights.tns.zst              load a file (.tns .mtx .npy .npz; also .gz .zst); T = x.tns:100x200x300 with a shape
  B = uniform(2000x32,seed=1)      generate: uniform(SHAPE) ones(SHAPE) sparse(SHAPE,nnz=N)
  s = 2.5                          a scalar
  A(i,r) = T(i,j) * B(j,r)         evaluate, keep and print the result; ';' between assignments lets weft fuse them
  ij,jr->ir T B                    einsum with the names of its operands; the result is out, or X with X = ij,jr->ir T B
  A                                print; A[3,5] an element, A[0,:] A[2:5,::2] A[-1] slices as in numpy
  C = A      v = A[0,:]            another name; a slice as a tensor of its own
A line goes on while brackets are open or after '=', '*', ',' or '\'. '#' begins a comment.
)";

constexpr std::array command_table{
    ReplCommand{"help", "[COMMAND]", "this text, or what a command does", "", CommandArgument::command, command_help},
    ReplCommand{"list", "", "the tensors: shape, format, stored entries, bytes", "", CommandArgument::none, command_list},
    ReplCommand{"load", "NAME=SPEC", "load or generate a tensor",
                "The same as NAME = SPEC, for a SPEC that would be taken for an expression.", CommandArgument::spec, command_load, true},
    ReplCommand{"write", "NAME=PATH", "write a tensor to a file (.tns .mtx .npy .npz)", "",
                CommandArgument::path, command_write},
    ReplCommand{"drop", "NAME...", "forget tensors; all of them with *", "", CommandArgument::tensor, command_drop, true},
    ReplCommand{"info", "NAME", "density and fiber statistics of a tensor", "", CommandArgument::tensor, command_info},
    ReplCommand{"format", "[NAME[:KINDS[:ORDER][:SCALAR] | :LAYOUT]]", "set or show formats of tensors and results",
                "A tensor that is there is converted at once; a result gets its format when it is computed. KINDS has a letter per\n"
                "level in storage order: d dense, s compressed, u compressed with repeated coordinates, q singleton, h hashed,\n"
                "b bitmap; ORDER lists the mode each level holds; SCALAR is f64 or f32. NAME:like(T) stores a result at the\n"
                "positions of T. NAME:auto leaves the choice to the planner again.",
                CommandArgument::tensor, command_format, true},
    ReplCommand{"spy", "NAME [MODE MODE] [FILE]", "the pattern as a picture, here or in FILE.png or FILE.svg",
                "Rows and columns are the first two modes, or those given; entries of other modes are summed. Where a dot stands for\n"
                "many coordinates the number of entries decides, on a logarithmic scale, how dark it is.",
                CommandArgument::picture, command_spy},
    ReplCommand{"plan", "[EXPR]", "the plan and what it is expected to cost, without running it", "", CommandArgument::expression,
                command_plan},
    ReplCommand{"tree", "[EXPR]", "the contraction tree", "", CommandArgument::expression, show_stage<tree>},
    ReplCommand{"schedule", "[EXPR]", "the schedule: loops, formats and workspaces", "", CommandArgument::expression, show_stage<schedule>},
    ReplCommand{"loops", "[EXPR]", "the loop program", "", CommandArgument::expression, show_stage<loops>},
    ReplCommand{"llvm", "[EXPR]", "the LLVM IR, after optimisation", "", CommandArgument::expression, show_stage<llvm>},
    ReplCommand{"asm", "[EXPR]", "the machine code", "", CommandArgument::expression, show_stage<assembly>},
    ReplCommand{"time", "[EXPR]", "run repeatedly (:set repeat N, 10 without it): median and spread", "The results are not kept.",
                CommandArgument::expression, command_time},
    ReplCommand{"profile", "[EXPR]", "iterations of every statement and loop, expected against counted",
                "The counts are of a run of its own, so that counting costs the timed one nothing.",
                CommandArgument::expression, command_profile},
    ReplCommand{"threads", "[N]", "set or show the number of threads; 0: all cores", "", CommandArgument::none, command_threads, true},
    ReplCommand{"set", "[OPTION [VALUE]]", "set an option of the command, or list them", "", CommandArgument::option, command_set, true},
    ReplCommand{"cache", "[status|clear|path]", "the plans, kernels and proofs stored on disk", "", CommandArgument::cache, command_cache},
    ReplCommand{"save", "FILE", "the session as a script, for :source or weft repl FILE",
                "The statements that succeeded, in order, and the commands that changed the session (:load :drop :format :set\n"
                ":threads). Paths stay as they were given.",
                CommandArgument::file, command_save},
    ReplCommand{"source", "FILE", "run a script in this session, up to its first error", "", CommandArgument::file, command_source},
    ReplCommand{"history", "[N]", "the lines typed, or the last N", "", CommandArgument::none, command_history},
    ReplCommand{"html", "FILE [EXPR]", "run, and write the plan with its measured times as a page", "The results are not kept.",
                CommandArgument::page, command_html},
    ReplCommand{"output", "[FILE]", "print to FILE instead of here, until :output alone",
                "The file gets its name when it is complete: at :output, at the next :output FILE, or at the end of the session.",
                CommandArgument::file, command_output},
    ReplCommand{"!", "COMMAND", "run a shell command; also !COMMAND", "Only at a terminal: scripts and pipes run no shell.",
                CommandArgument::none, command_shell},
    ReplCommand{"quit", "", "leave; so does Ctrl-D", "", CommandArgument::none, quit},
};

}  // namespace

std::span<const ReplCommand> repl_commands() { return command_table; }

const ReplCommand* find_command(std::string_view name) {
  if (name == "q" || name == "exit") name = "quit";
  if (name == "h" || name == "?") name = "help";
  const auto found = std::ranges::find(command_table, name, &ReplCommand::name);
  return found == command_table.end() ? nullptr : &*found;
}

Expected<void> run_command(Repl& repl, const std::string& name, const std::string& argument) {
  const ReplCommand* const command = find_command(name);
  if (command != nullptr) {
    if (argument.starts_with(';')) {
      return input_error(fmt::format("':{}{}': a command ends with its line, and another one has a line of its own", name, argument));
    }
    if (command->usage.empty() && !argument.empty()) {
      return input_error(fmt::format(":{} takes nothing, not '{}'", command->name, argument));
    }
    return command->run(repl, argument);
  }
  std::vector<std::string> known;
  for (const ReplCommand& one : command_table) known.emplace_back(one.name);
  const auto like = nearest(name, known);
  return input_error(fmt::format("no command is named :{}; {}", name, like ? fmt::format("did you mean :{}?", *like) : ":help lists them"));
}

Expected<void> command_help(Repl& repl, const std::string& argument) {
  if (!argument.empty()) {
    const std::string name = argument.starts_with(':') ? argument.substr(1) : argument;
    const ReplCommand* const command = find_command(name);
    if (command == nullptr) return run_command(repl, name, "");
    std::string text = fmt::format(":{}{}{}\n{}\n", command->name, command->usage.empty() ? "" : " ", command->usage, command->summary);
    if (!command->details.empty()) text += fmt::format("{}\n", command->details);
    if (command->argument == CommandArgument::expression) text += "Without EXPR: the last expression.\n";
    return repl.print(text);
  }
  std::string text(statements);
  text += "Commands; without EXPR they refer to the last expression:\n";
  for (const ReplCommand& command : command_table) {
    text += fmt::format("  {:<32} {}\n", fmt::format(":{} {}", command.name, command.usage), command.summary);
  }
  return repl.print(text);
}

}  // namespace weft
