// :set, :threads and :cache.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "frontend/repl/commands.h"
#include "frontend/nearest.h"
#include "frontend/repl/file_argument.h"
#include "frontend/repl/options.h"

namespace weft {
namespace {

Expected<bool> parse_switch(const ReplOption& option, const std::string& value) {
  if (value == "on" || value == "true" || value == "1" || value == "yes") return true;
  if (value == "off" || value == "false" || value == "0" || value == "no") return false;
  return input_error(fmt::format("{} is on or off, not '{}'", option.name, value));
}

Expected<unsigned> parse_count(const ReplOption& option, const std::string& value, unsigned most) {
  unsigned count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  if (error != std::errc() || end != value.data() + value.size() || count > most) {
    return input_error(fmt::format("{} is a number from 0 to {}, not '{}'", option.name, most, value));
  }
  return count;
}

Expected<void> assign(CommandOptions& options, const ReplOption& option, const std::string& value) {
  if (bool CommandOptions::*const* const flag = std::get_if<bool CommandOptions::*>(&option.place)) {
    const auto on = parse_switch(option, value);
    if (!on) return std::unexpected(on.error());
    options.*(*flag) = *on;
    return {};
  }
  if (unsigned CommandOptions::*const* const number = std::get_if<unsigned CommandOptions::*>(&option.place)) {
    const auto count = parse_count(option, value, option.name == "threads" ? 4096 : 1'000'000'000);
    if (!count) return std::unexpected(count.error());
    options.*(*number) = *count;
    return {};
  }
  if (std::string CommandOptions::*const* const text = std::get_if<std::string CommandOptions::*>(&option.place)) {
    const bool is_directory = option.name == "cache-dir" || option.name == "dump";
    options.*(*text) = value == "none" ? "" : is_directory ? whole_file(value) : value;
    return {};
  }
  double calls = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), calls);
  if (value == "none") {
    options.calls.reset();
  } else if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(calls) || calls <= 0) {
    return input_error(fmt::format("{} is a number above 0, or none, not '{}'", option.name, value));
  } else {
    options.calls = calls;
  }
  return {};
}

std::string shown(const CommandOptions& options, const ReplOption& option) {
  if (bool CommandOptions::*const* const flag = std::get_if<bool CommandOptions::*>(&option.place)) return options.*(*flag) ? "on" : "off";
  if (unsigned CommandOptions::*const* const number = std::get_if<unsigned CommandOptions::*>(&option.place)) {
    return fmt::format("{}", options.*(*number));
  }
  if (std::string CommandOptions::*const* const text = std::get_if<std::string CommandOptions::*>(&option.place)) {
    return (options.*(*text)).empty() ? "none" : options.*(*text);
  }
  return options.calls ? fmt::format("{}", *options.calls) : "none";
}

constexpr std::array option_table{
    ReplOption{"calls", "how often an expression is expected to run; amortises layout conversions", &CommandOptions::calls},
    ReplOption{"deterministic", "bit-identical results for every number of threads", &CommandOptions::deterministic},
    ReplOption{"strict-fp", "the nest as printed: no FMA, every sum in loop order", &CommandOptions::strict_fp},
    ReplOption{"memory-limit", "over everything allocated, for example 4G", &CommandOptions::memory_limit},
    ReplOption{"repeat", "runs of :time; 0: ten", &CommandOptions::repeat},
    ReplOption{"threads", "number of threads; 0: all cores", &CommandOptions::threads},
    ReplOption{"tree", "contraction tree, for example ((T * C) * B)", &CommandOptions::tree},
    ReplOption{"objective", "time, or workspace-order: fewest dimensions of the largest workspace", &CommandOptions::objective},
    ReplOption{"specialize", "kernels for formats (generic), also sizes (profiled), also small patterns (baked), or auto",
               &CommandOptions::specialize},
    ReplOption{"prove", "search until no cheaper plan can exist", &CommandOptions::prove},
    ReplOption{"unfused", "the best plan that stores every intermediate", &CommandOptions::unfused},
    ReplOption{"checked", "kernels check every access (slow)", &CommandOptions::checked},
    ReplOption{"no-cache", "plan and compile anew and store nothing", &CommandOptions::no_cache},
    ReplOption{"paranoid", "plan and compile what the disk cache holds all the same, and compare", &CommandOptions::paranoid},
    ReplOption{"cache-dir", "directory of plans and kernels", &CommandOptions::cache_directory},
    ReplOption{"dump", "directory for the loops, LLVM IR and assembly of every kernel", &CommandOptions::dump_directory},
    ReplOption{"quiet", "print only what is asked for", &CommandOptions::quiet},
    ReplOption{"verbose", "one line per plan, compile, load and run", &CommandOptions::verbose},
};

const ReplOption* find_option(std::string_view name) {
  const auto found = std::ranges::find(option_table, name, &ReplOption::name);
  return found == option_table.end() ? nullptr : &*found;
}

Expected<void> set(Repl& repl, const ReplOption& option, const std::string& value) {
  CommandOptions options = repl.options();
  if (auto assigned = assign(options, option, value); !assigned) return assigned;
  if (options.quiet && options.verbose) return input_error("quiet and verbose contradict each other");
  return repl.set_options(std::move(options));
}

}  // namespace

std::span<const ReplOption> repl_options() { return option_table; }

Expected<void> command_set(Repl& repl, const std::string& argument) {
  if (argument.empty()) {
    std::string text;
    for (const ReplOption& option : option_table) {
      text += fmt::format("{:<14} {:<8} {}\n", option.name, shown(repl.options(), option), option.summary);
    }
    return repl.print(text);
  }
  const std::size_t end = std::min(argument.find_first_of(" \t="), argument.size());
  std::string name = argument.substr(0, end);
  if (name.starts_with("--")) name.erase(0, 2);
  const ReplOption* const option = find_option(name);
  if (option == nullptr) {
    std::vector<std::string> known;
    for (const ReplOption& one : option_table) known.emplace_back(one.name);
    const auto like = nearest(name, known);
    return input_error(fmt::format("no option is named {}; {}", name, like ? fmt::format("did you mean {}?", *like) : ":set lists them"));
  }
  const std::size_t begin = argument.find_first_not_of(" \t=", end);
  if (begin != std::string::npos) return set(repl, *option, argument.substr(begin));
  // A switch alone is turned on, as on the command line.
  if (std::holds_alternative<bool CommandOptions::*>(option->place)) return set(repl, *option, "on");
  return repl.print(fmt::format("{} {}\n", option->name, shown(repl.options(), *option)));
}

Expected<void> command_threads(Repl& repl, const std::string& argument) {
  if (argument.empty()) return repl.print(fmt::format("{}\n", repl.resources().threads.count()));
  return set(repl, *find_option("threads"), argument);
}

Expected<void> command_cache(Repl& repl, const std::string& argument) {
  CommandOptions options = repl.options();
  options.arguments = {argument.empty() ? "status" : argument};
  const auto text = cache_text(options);
  if (!text) return std::unexpected(text.error());
  if (options.arguments.front() != "status") return repl.print(*text);
  const CacheCounters done = repl.counters();
  return repl.print(fmt::format("{}here: {} kernels compiled, {} from disk, {} from memory; {} plans made, {} from disk, {} from memory\n",
                                *text, done.compiled, done.disk, done.memory, done.plans_made, done.plans_disk, done.plans_memory));
}

}  // namespace weft
