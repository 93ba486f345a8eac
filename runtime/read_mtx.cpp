// Matrix Market exchange format: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats: Initial Design",
// NISTIR 5935 (1996).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>
#include <utility>

#include "runtime/extents.h"
#include "runtime/file_formats.h"
#include "runtime/file_name.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"
#include "runtime/text_entries.h"
#include "runtime/text_number.h"

namespace weft {

namespace {

constexpr char mtx_comment = '%';

struct MtxHeader {
  bool dense = false;  ///< "array"
  EntryRules::Values values = EntryRules::Values::real;
  EntryRules::Symmetry symmetry = EntryRules::Symmetry::general;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t lines = 0;      ///< entries the file must have
  std::uint64_t size_line = 0;  ///< number of the line that says so
};

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < line.size() && !is_blank(line[at])) ++at;
    words.emplace_back(line.substr(begin, at - begin));
  }
  return words;
}

Expected<MtxHeader> read_banner(TextReader& reader, std::string_view line) {
  std::vector<std::string> words = words_of(lower_case(line));
  if (words.empty() || words[0] != "%%matrixmarket") {
    return reader.error_at(1, "a Matrix Market file begins with '%%MatrixMarket matrix ...'");
  }
  if (words.size() != 5) {
    return reader.error_at(1, fmt::format("the banner has {} words, expected 5: %%MatrixMarket matrix "
                                          "coordinate|array real|integer|pattern general|symmetric|skew-symmetric",
                                          words.size()));
  }
  const auto not_supported = [&](std::string_view what) {
    return unsupported(fmt::format("{}:1: {} data are not supported", reader.path(), what));
  };
  MtxHeader header;
  if (words[1] != "matrix") return reader.error_at(1, "the object is " + quoted(words[1]) + ", expected 'matrix'");
  if (words[2] == "array") {
    header.dense = true;
  } else if (words[2] != "coordinate") {
    return reader.error_at(1, "the layout is " + quoted(words[2]) + ", expected 'coordinate' or 'array'");
  }
  if (words[3] == "complex") return not_supported("complex");
  if (words[4] == "hermitian") return not_supported("hermitian");
  if (words[3] == "integer" || words[3] == "unsigned-integer") {
    header.values = EntryRules::Values::integer;
  } else if (words[3] == "pattern") {
    header.values = EntryRules::Values::none;
  } else if (words[3] != "real" && words[3] != "double") {
    return reader.error_at(1, "the field is " + quoted(words[3]) + ", expected 'real', 'integer' or 'pattern'");
  }
  if (words[4] == "symmetric") {
    header.symmetry = EntryRules::Symmetry::symmetric;
  } else if (words[4] == "skew-symmetric") {
    header.symmetry = EntryRules::Symmetry::skew_symmetric;
  } else if (words[4] != "general") {
    return reader.error_at(
        1, "the symmetry is " + quoted(words[4]) + ", expected 'general', 'symmetric' or 'skew-symmetric'");
  }
  if (header.values == EntryRules::Values::none && header.dense) {
    return reader.error_at(1, "a pattern has no values and cannot be an array");
  }
  if (header.values == EntryRules::Values::none && header.symmetry == EntryRules::Symmetry::skew_symmetric) {
    return reader.error_at(1, "a pattern has no values and cannot be skew-symmetric");
  }
  return header;
}

/// a * b, nothing if that exceeds 64 bits.
std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// Values an array file holds; nothing if the number exceeds 64 bits.
std::optional<std::uint64_t> array_count(const MtxHeader& header) {
  const std::uint64_t n = header.rows;
  switch (header.symmetry) {
    case EntryRules::Symmetry::symmetric:  // n (n + 1) / 2
      if (n == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
      return n % 2 == 0 ? product(n / 2, n + 1) : product(n, (n + 1) / 2);
    case EntryRules::Symmetry::skew_symmetric:  // n (n - 1) / 2
      if (n == 0) return 0;
      return n % 2 == 0 ? product(n / 2, n - 1) : product(n, (n - 1) / 2);
    default:
      return product(n, header.columns);
  }
}

Expected<MtxHeader> read_mtx_header(TextReader& reader) {
  Expected<std::optional<std::string_view>> line = reader.line();
  if (!line) return std::unexpected(line.error());
  if (!*line) return reader.error_at(1, "the file is empty");
  Expected<MtxHeader> header = read_banner(reader, **line);
  if (!header) return header;
  std::vector<std::string> words;
  while (words.empty() || words[0].front() == mtx_comment) {
    line = reader.line();
    if (!line) return std::unexpected(line.error());
    if (!*line) return reader.error_at(reader.lines(), "the file ends before the size line");
    words = words_of(**line);
  }
  header->size_line = reader.lines();
  const std::size_t expected = header->dense ? 2 : 3;
  if (words.size() != expected) {
    return reader.error_at(header->size_line, fmt::format("the size line has {} numbers, expected {} (rows, columns{})",
                                                          words.size(), expected, header->dense ? "" : ", entries"));
  }
  std::uint64_t* const targets[] = {&header->rows, &header->columns, &header->lines};
  for (std::size_t n = 0; n != expected; ++n) {
    const std::string text = words[n] + '\n';
    const char* at = text.data();
    if (!scan_unsigned(at, *targets[n]) || *at != '\n') {
      return reader.error_at(header->size_line,
                             quoted(words[n]) + " in the size line is not a whole number below 2^64");
    }
  }
  if (const std::uint64_t extent = std::max(header->rows, header->columns); extent > largest_extent && !header->dense) {
    return reader.error_at(header->size_line, fmt::format("the extent {} is above 2^63 - 1", extent));
  }
  if (header->symmetry != EntryRules::Symmetry::general && header->rows != header->columns) {
    return reader.error_at(header->size_line,
                           fmt::format("a symmetric matrix is square, not {} x {}", header->rows, header->columns));
  }
  if (header->dense) {
    const std::optional<std::uint64_t> count = array_count(*header);
    if (!count) return reader.error_at(header->size_line, "an array of more than 2^64 values");
    header->lines = *count;
  }
  return header;
}

/// The number of the line that holds an entry, counted from 0: reads the file again, which only errors do.
Expected<std::uint64_t> find_line(const FileRequest& request, std::uint64_t size_line, std::uint64_t entry) {
  Expected<InputFile> file = InputFile::open(request.path, request.resources.cancellation);
  if (!file) return std::unexpected(file.error());
  Expected<ByteSource> source = ByteSource::open(std::move(*file), *request.again, request.resources.memory);
  if (!source) return std::unexpected(source.error());
  TextReader reader(std::move(*source), request.resources, request.name);
  for (;;) {
    Expected<std::optional<std::string_view>> line = reader.line();
    if (!line) return std::unexpected(line.error());
    if (!*line) return reader.lines();
    if (reader.lines() <= size_line) continue;
    const std::string text = std::string(**line) + '\n';
    const char* const first = skip_blanks(text.data());
    if (is_line_end(first) || *first == mtx_comment) continue;
    if (entry-- == 0) return reader.lines();
  }
}

Expected<void> check_count(const TextReader& reader, const MtxHeader& header, std::uint64_t found,
                           const FileRequest& request) {
  if (found == header.lines) return {};
  const std::string_view what = header.dense ? "values" : "entries";
  if (found < header.lines) {
    return reader.error_at(reader.lines(), fmt::format("the file ends after {} {}, line {} promises {}", found, what,
                                                       header.size_line, header.lines));
  }
  if (!request.again) {
    return reader.error_at(header.size_line,
                           fmt::format("{} {} follow, but this line promises {}", found, what, header.lines));
  }
  Expected<std::uint64_t> line = find_line(request, header.size_line, header.lines);
  if (!line) return std::unexpected(line.error());
  return reader.error_at(*line, fmt::format("{} {}, but line {} promises {}: this one is too many", found, what,
                                            header.size_line, header.lines));
}

/// Column-major values of the whole matrix from the packed lower triangle, column by column.
template <class T>
void unpack_triangle(std::span<const T> packed, std::span<T> full, std::uint64_t n, bool skew, const Threads& threads) {
  threads.for_each(n, [&](std::size_t column, unsigned) {
    const std::uint64_t first_row = column + (skew ? 1 : 0);
    // Columns before this one hold n, n - 1, … values, one less each when the diagonal is left out.
    const std::uint64_t height = n - (skew ? 1 : 0);
    const T* value = packed.data() + column * (2 * height - column + 1) / 2;
    for (std::uint64_t row = first_row; row < n; ++row, ++value) {
      full[column * n + row] = *value;
      full[row * n + column] = skew && row != column ? -*value : *value;
    }
  });
}

Expected<Tensor> make_array(const MtxHeader& header, Coordinates packed, const FileRequest& request) {
  TensorArrays tensor;
  tensor.format = dense_format(2, packed.scalar);
  tensor.format.mode_order = {1, 0};
  tensor.extents = {header.rows, header.columns};
  tensor.levels.resize(2);
  if (header.symmetry == EntryRules::Symmetry::general) {
    tensor.values = std::move(packed.values);
    return made(std::move(tensor));
  }
  const std::uint64_t n = header.rows;
  // The packed half was read, so that the whole is far from 2^64 bytes.
  Expected<Buffer> full = Buffer::allocate(n * n * scalar_bytes(packed.scalar), request.resources.memory,
                                           "operand " + std::string(request.name));
  if (!full) return std::unexpected(full.error());
  const bool skew = header.symmetry == EntryRules::Symmetry::skew_symmetric;
  const Buffer& values = packed.values;
  with_element(packed.scalar, [&]<class T>(T) { unpack_triangle(values.as<T>(), full->as<T>(), n, skew, request.resources.threads); });
  tensor.values = std::move(*full);
  return made(std::move(tensor));
}

}  // namespace

Expected<Tensor> read_mtx(ByteSource source, const FileRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  TextReader reader(std::move(source), request.resources, request.name);
  Expected<MtxHeader> header = read_mtx_header(reader);
  if (!header) return std::unexpected(header.error());
  std::vector<std::uint64_t> extents = {header->rows, header->columns};
  if (request.options.format && request.options.format->modes() != 2) {
    return reader.error_at(header->size_line, fmt::format("a matrix has order 2, but the format is for {} modes",
                                                          request.options.format->modes()));
  }
  if (const auto& shape = request.options.shape; shape && *shape != extents) {
    const bool larger = shape->size() == 2 && (*shape)[0] >= extents[0] && (*shape)[1] >= extents[1];
    if (!larger || header->dense) {
      return reader.error_at(
          header->size_line,
          fmt::format("a matrix of {} x {}, which the shape given for it contradicts", extents[0], extents[1]));
    }
  }
  EntryRules rules;
  rules.order = header->dense ? 0 : 2;
  rules.values = header->values;
  rules.symmetry = header->dense ? EntryRules::Symmetry::general : header->symmetry;
  rules.comment = mtx_comment;
  rules.scalar = request.scalar();
  if (!header->dense) rules.extents = extents;
  rules.extents_origin = "the size line";
  Expected<ParsedEntries> entries = parse_entries(reader, rules, request.resources);
  if (!entries) return std::unexpected(entries.error());
  if (const Expected<void> counted = check_count(reader, *header, entries->lines, request); !counted) {
    return std::unexpected(counted.error());
  }
  if (header->symmetry == EntryRules::Symmetry::symmetric) request.facts->symmetry = "symmetric";
  if (header->symmetry == EntryRules::Symmetry::skew_symmetric) request.facts->symmetry = "skew-symmetric";
  if (request.options.shape) extents = *request.options.shape;
  if (header->dense) extents.clear();
  Expected<Coordinates> coordinates =
      join_entries(std::move(*entries), std::move(extents), rules.scalar, request.resources, request.path);
  if (!coordinates) return std::unexpected(coordinates.error());
  const auto parsed = std::chrono::steady_clock::now();
  Expected<Tensor> tensor =
      header->dense ? make_array(*header, std::move(*coordinates), request)
                    : build(std::move(*coordinates),
                            request.options.format ? *request.options.format : sparse_format(2, rules.scalar),
                            request.resources, request.name);
  using Milliseconds = std::chrono::duration<double, std::milli>;
  request.times->decompress = Milliseconds(reader.source_time()).count();
  request.times->parse = Milliseconds(parsed - begin).count();
  request.times->build = Milliseconds(std::chrono::steady_clock::now() - parsed).count();
  request.times->text_bytes = reader.text_bytes();
  return tensor;
}

}  // namespace weft
