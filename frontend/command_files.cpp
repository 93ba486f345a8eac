// weft info, weft convert and weft cache.
#include <fmt/format.h>

#include "engine/cache/disk_cache.h"
#include "frontend/command.h"
#include "frontend/operand.h"
#include "frontend/report_json.h"
#include "frontend/terminal.h"
#include "weft/file.h"
#include "weft/statistics.h"

namespace weft {

namespace {

/// What messages call the operand of a command that has only one.
std::string shown_name(const std::string& spec) { return reads_standard_input(spec) ? "standard input" : spec; }

}  // namespace

std::string info_text(const Tensor& tensor, const std::string& name, const Threads& threads) {
  const Statistics& known = statistics(tensor, threads);
  std::string text = fmt::format("{}\n  {}\n  density {:.3g}, {}\n", name, tensor.summary(), density(tensor),
                                 known.finite() ? "all values finite" : "holds NaN or Inf");
  for (std::size_t level = 0; level < tensor.order(); ++level) {
    const std::uint32_t mode = tensor.format.mode_order[level];
    const FiberLengths fibers = known.fibers(level);
    text += fmt::format("  level {} ({}) mode {}: extent {}, {:.0f} distinct, fibers mean {:.3g}, longest {}, spread {:.3g}\n",
                        level, letter(tensor.format.levels[level].kind), mode, tensor.extents[mode],
                        known.distinct(ModeSet{1} << mode), fibers.mean, fibers.maximum, fibers.spread);
  }
  return text;
}

Expected<void> info(const CommandOptions& options) {
  const auto resources = command_resources(options);
  if (!resources) return std::unexpected(resources.error());
  const std::string& spec = options.arguments.front();
  const std::string file = shown_name(spec);
  FileFacts facts;
  const auto tensor = load_operand(spec, std::nullopt, *resources, file, &facts);
  if (resources->progress) clear_progress();
  if (!tensor) return std::unexpected(tensor.error());
  if (options.json) return write_text(*options.json, info_json(*tensor, file, resources->threads));
  if (options.quiet) return {};
  return write_text("", info_text(*tensor, file, resources->threads));
}

Expected<void> convert_file(const CommandOptions& options) {
  const auto resources = command_resources(options);
  if (!resources) return std::unexpected(resources.error());
  const std::string& from = options.arguments[0];
  const std::string& to = options.arguments[1];
  const bool to_standard_output = writes_standard_output(to);
  if (to_standard_output && options.json && options.json->empty()) {
    return input_error("the tensor and --json both want standard output; give one a path");
  }
  if (auto known = writable_format(to); !known) return known;
  FileFacts facts;
  const auto tensor = load_operand(from, std::nullopt, *resources, shown_name(from), &facts);
  if (!tensor) return std::unexpected(tensor.error());
  if (auto written = write_tensor(*tensor, to, *resources, shown_name(from)); !written) return written;
  if (resources->progress) clear_progress();
  if (options.json) return write_text(*options.json, info_json(*tensor, to, resources->threads));
  if (options.quiet) return {};
  const std::string text = fmt::format("{}: {}{}\n", to_standard_output ? "standard output" : to, tensor->summary(),
                                       facts.symmetry.empty() ? "" : fmt::format("; was {}: written in full, {} entries",
                                                                                 facts.symmetry, tensor->nnz()));
  if (!to_standard_output) return write_text("", text);
  write_note(text);
  return {};
}

Expected<std::string> cache_text(const CommandOptions& options) {
  const std::string& action = options.arguments.front();
  if (action != "status" && action != "clear" && action != "path") {
    return input_error(fmt::format("weft cache knows status, clear and path, not '{}'", action));
  }
  const auto directory =
      options.cache_directory.empty() ? DiskCache::default_directory() : std::optional(options.cache_directory);
  if (!directory) return input_error("no cache directory: set HOME, XDG_CACHE_HOME or WEFT_CACHE_DIR, or give --cache-dir");
  const DiskCache disk(*directory);
  if (action == "path" && !options.json) return *directory + "\n";
  const std::uint64_t removed = action == "clear" ? disk.clear() : 0;
  const DiskCacheStatus status = disk.status();
  if (options.json) return cache_json(status);
  if (action == "clear") return fmt::format("{}: {} entries removed\n", status.path, removed);
  if (!status.refused.empty()) return fmt::format("{}\nnot used: {}\n", status.path, status.refused);
  std::string text = fmt::format("{}\n{} entries ({} plans, {} kernels), {}, at most {}\n", status.path, status.entries,
                                 status.plans, status.entries - status.plans, human_bytes(status.bytes), human_bytes(status.cap));
  if (status.unfinished > 0)
    text += fmt::format("{} unfinished: being written, or left by a process that died; such go after an hour\n", status.unfinished);
  return text;
}

Expected<void> cache(const CommandOptions& options) {
  const auto text = cache_text(options);
  if (!text) return std::unexpected(text.error());
  if (options.json) return write_text(*options.json, *text);
  if (options.quiet && options.arguments.front() != "path") return {};
  return write_text("", *text);
}

}  // namespace weft
