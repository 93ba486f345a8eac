// FROSTT .tns: a line per entry, coordinates from 1 on, then the value.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/extents.h"
#include "runtime/file_formats.h"
#include "runtime/text_entries.h"
#include "runtime/text_number.h"

namespace weft {

namespace {

constexpr char tns_comment = '#';
// Sets of modes are 32-bit words in the statistics.
constexpr std::size_t largest_order = 32;

std::size_t count_fields(std::string_view line) {
  std::size_t fields = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    fields += !is_blank(line[at]) && (at == 0 || is_blank(line[at - 1]));
  }
  return fields;
}

/// The extents in "# shape: 3 4 5", the comment that the writer leaves; nothing for other comments.
std::vector<std::uint64_t> shape_comment(std::string_view line) {
  constexpr std::string_view begin = "# shape:";
  if (!line.starts_with(begin)) return {};
  const std::string text = std::string(line.substr(begin.size())) + '\n';
  std::vector<std::uint64_t> extents;
  const char* at = skip_blanks(text.data());
  while (!is_line_end(at)) {
    std::uint64_t extent = 0;
    if (!scan_unsigned(at, extent) || extent > largest_extent || !ends_field(at)) return {};
    extents.push_back(extent);
    at = skip_blanks(at);
  }
  return extents;
}

struct TnsHeader {
  std::vector<std::uint64_t> noted_extents;  ///< from the comment, if there is one
  std::optional<std::string> entry;          ///< the first line with an entry, if there is one
};

Expected<TnsHeader> read_tns_header(TextReader& reader) {
  TnsHeader header;
  for (;;) {
    Expected<std::optional<std::string_view>> line = reader.line();
    if (!line) return std::unexpected(line.error());
    if (!*line) return header;
    std::string_view text = **line;
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    if (text.empty()) continue;
    if (text.front() != tns_comment) {
      header.entry = std::string(text);
      reader.unread();
      return header;
    }
    if (std::vector<std::uint64_t> extents = shape_comment(text); !extents.empty()) {
      header.noted_extents = std::move(extents);
    }
  }
}

/// The format that build() shall make: the requested one or all levels compressed.
Expected<Tensor> build_requested(Coordinates coordinates, const FileRequest& request) {
  Format format = request.options.format ? *request.options.format
                                         : sparse_format(coordinates.extents.size(), request.options.scalar);
  return build(std::move(coordinates), std::move(format), request.resources, request.name);
}

}  // namespace

Expected<Tensor> read_tns(ByteSource source, const FileRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  TextReader reader(std::move(source), request.resources, request.name);
  Expected<TnsHeader> header = read_tns_header(reader);
  if (!header) return std::unexpected(header.error());

  const std::optional<std::vector<std::uint64_t>>& shape = request.options.shape;
  EntryRules rules;
  rules.comment = tns_comment;
  rules.scalar = request.scalar();
  if (header->entry) {
    rules.order = count_fields(*header->entry) - 1;
  } else if (shape) {
    rules.order = shape->size();
  } else if (!header->noted_extents.empty()) {
    rules.order = header->noted_extents.size();
  } else {
    return reader.error_at(std::max<std::uint64_t>(reader.lines(), 1),
                           "no entries: a tensor without entries needs a shape, such as " + request.given + ":100x200");
  }
  const std::uint64_t first_line = std::max<std::uint64_t>(reader.lines() + (header->entry ? 1 : 0), 1);
  if (shape && shape->size() != rules.order) {
    return reader.error_at(first_line,
                           fmt::format("entries of order {} ({} fields), but the shape has {} extent{}", rules.order,
                                       rules.order + 1, shape->size(), shape->size() == 1 ? "" : "s"));
  }
  if (request.options.format && request.options.format->modes() != rules.order) {
    return reader.error_at(first_line, fmt::format("entries of order {} ({} fields), but the format is for {} modes",
                                                   rules.order, rules.order + 1, request.options.format->modes()));
  }
  // A line of words, which is no tensor at all, is left to the parser to refuse.
  if (rules.order > largest_order && (!header->entry || is_digit(header->entry->front()))) {
    return unsupported(fmt::format("{}:{}: entries of order {}; weft handles orders up to {}", request.path, first_line,
                                   rules.order, largest_order));
  }
  if (shape) {
    rules.extents = *shape;
    rules.extents_origin = "the shape";
  }
  Expected<ParsedEntries> entries = parse_entries(reader, rules, request.resources);
  if (!entries) return std::unexpected(entries.error());
  std::vector<std::uint64_t> extents = shape ? *shape : entries->extents;
  if (!shape && header->noted_extents.size() == rules.order) {
    // A comment may enlarge the extents, but no comment makes a readable file unreadable.
    for (std::size_t mode = 0; mode != rules.order; ++mode) {
      extents[mode] = std::max(extents[mode], header->noted_extents[mode]);
    }
  }
  request.facts->extents_inferred = !shape && header->noted_extents.size() != rules.order && rules.order > 0;
  Expected<Coordinates> coordinates =
      join_entries(std::move(*entries), std::move(extents), rules.scalar, request.resources, request.path);
  if (!coordinates) return std::unexpected(coordinates.error());
  const auto parsed = std::chrono::steady_clock::now();
  Expected<Tensor> tensor = build_requested(std::move(*coordinates), request);
  using Milliseconds = std::chrono::duration<double, std::milli>;
  request.times->decompress = Milliseconds(reader.source_time()).count();
  request.times->parse = Milliseconds(parsed - begin).count();
  request.times->build = Milliseconds(std::chrono::steady_clock::now() - parsed).count();
  request.times->text_bytes = reader.text_bytes();
  return tensor;
}

}  // namespace weft
