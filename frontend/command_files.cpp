// weft info, weft convert and weft cache.
#include <fmt/format.h>

#include <optional>

#include "engine/cache/disk_cache.h"
#include "frontend/command.h"
#include "frontend/nearest.h"
#include "frontend/operand.h"
#include "frontend/report_json.h"
#include "frontend/terminal.h"
#include "runtime/file_name.h"
#include "weft/file.h"

namespace weft {

namespace {

/// What messages call the operand of a command that has only one.
std::string shown_name(const std::string& spec) { return reads_standard_input(spec) ? "standard input" : spec; }

/// What --format says; nothing without it.
Expected<std::optional<Format>> stored_format(const CommandOptions& options) {
  if (options.format.empty()) return std::optional<Format>();
  auto format = parse_format(options.format);
  if (!format) return fail(format.error().kind, fmt::format("--format: {}", format.error().message));
  return std::optional(std::move(*format));
}

}  // namespace

Expected<void> info(const CommandOptions& options) {
  const auto resources = command_resources(options);
  if (!resources) return std::unexpected(resources.error());
  const std::string& spec = options.arguments.front();
  const std::string file = shown_name(spec);
  FileFacts facts;
  const auto format = stored_format(options);
  if (!format) return std::unexpected(format.error());
  const auto tensor = load_operand(spec, *format, *resources, file, &facts);
  if (resources->progress) clear_progress();
  if (!tensor) return std::unexpected(tensor.error());
  if (options.json) {
    const auto layouts = listed_layouts(*tensor, file, *resources);
    return layouts ? write_text(*options.json, info_json(*tensor, file, resources->threads, &*layouts)) : std::unexpected(layouts.error());
  }
  if (options.quiet) return {};
  auto text = info_text(*tensor, file, *resources);
  if (!text) return std::unexpected(text.error());
  if (!facts.symmetry.empty())
    *text += fmt::format("  the file is {} and holds one triangle: these are the {} of the whole\n",
                         facts.symmetry, tensor->format().layout ? "places" : fmt::format("{} entries", tensor->nnz()));
  if (facts.extents_inferred)
    *text += fmt::format("  the shape is that of the largest coordinates; {}:{} gives one\n", spec,
                         fmt::join(tensor->extents(), "x"));
  return write_text("", *text);
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
  if (options.json && !options.json->empty()) {
    if (auto once = different_files({{{"the tensor", parse_file_name(to).path}, {"--json", *options.json}}}); !once) return once;
  }
  FileFacts facts;
  const auto format = stored_format(options);
  if (!format) return std::unexpected(format.error());
  const auto tensor = load_operand(from, *format, *resources, shown_name(from), &facts);
  if (!tensor) return std::unexpected(tensor.error());
  clear_progress();
  if (auto written = write_tensor(*tensor, to, writing_resources(*resources, to), shown_name(from)); !written) return written;
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
    return input_error(fmt::format("weft cache knows status, clear and path, not '{}'{}", action,
                                   did_you_mean(action, {"status", "clear", "path"})));
  }
  const auto directory =
      options.cache_directory.empty() ? DiskCache::default_directory() : std::optional(options.cache_directory);
  if (!directory) return input_error("no cache directory: set HOME, XDG_CACHE_HOME or WEFT_CACHE_DIR, or give --cache-dir");
  const DiskCache disk(*directory);
  if (action == "path" && !options.json) return *directory + "\n";
  const std::uint64_t removed = action == "clear" ? disk.clear() : 0;
  const DiskCacheStatus status = disk.status();
  if (action == "clear" && !status.refused.empty())
    return input_error(fmt::format("{} cannot be cleared: {}", status.path, status.refused));
  if (action == "clear" && removed == 0 && status.entries > 0)
    return input_error(fmt::format("{} cannot be cleared: none of its {} entries can be removed", status.path, status.entries));
  if (options.json) return cache_json(status);
  if (action == "clear") return fmt::format("{}: {} entries removed\n", status.path, removed);
  if (!status.refused.empty()) return fmt::format("{}\nnot used: {}\n", status.path, status.refused);
  std::string text =
      fmt::format("{}\n{} entries ({} plans, {} kernels, {} proofs), {}, at most {}\n", status.path, status.entries, status.plans,
                  status.entries - status.plans - status.proofs, status.proofs, human_bytes(status.bytes), human_bytes(status.cap));
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
