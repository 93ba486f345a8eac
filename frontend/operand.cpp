#include "frontend/operand.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "engine/text/names.h"
#include "frontend/words.h"
#include "runtime/file_name.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "runtime/text_number.h"

namespace weft {
namespace {

struct Number {
  double value = 0;
  bool overflows = false;
};

/// Nothing if the text is no number. Numbers are those of tensor files.
std::optional<Number> parse_number(const std::string& text, Scalar scalar) {
  const char* at = text.c_str();
  const char* const end = at + text.size();
  Number number;
  const NumberDefect defect = with_element(scalar, [&](auto value) {
    const NumberDefect found = scan_any_real(at, end, value);
    number.value = value;
    return found;
  });
  if (defect == NumberDefect::malformed || at != end) return std::nullopt;
  number.overflows = defect == NumberDefect::overflow;
  return number;
}

Expected<Tensor> scalar_tensor(double value, Scalar scalar, const Resources& resources, std::string_view name) {
  auto tensor = dense_zeros({}, dense_format(0, scalar), resources, name);
  if (!tensor) return tensor;
  with_element(scalar, [&]<class T>(T) { tensor->writable_values<T>()[0] = static_cast<T>(value); });
  return tensor;
}

struct ShapedPath {
  std::string path;
  std::optional<std::vector<std::uint64_t>> shape;
};

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// Why a SPEC that names no file was meant to be something else: a generator, or a shape behind a file. Empty if not.
std::string other_meaning(const std::string& spec) {
  const std::size_t open = spec.find('(');
  const std::string word = spec.substr(0, open);
  if (open != std::string::npos && is_name(word)) {
    if (is_generator(spec + ')')) return fmt::format("'{}' lacks the ')' at its end", spec);
    return fmt::format(
        "'{}' is none of the generators uniform(2000x32,seed=1), ones(2000x32) and "
        "sparse(2000x300,nnz=10000,seed=1)",
        spec);
  }
  const std::size_t colon = spec.rfind(':');
  if (colon == std::string::npos || !is_there(spec.substr(0, colon))) return "";
  std::string shape = spec.substr(colon + 1);
  if (shape.find_first_not_of("0123456789,*X ") != std::string::npos) return "";
  for (char& c : shape) c = c >= '0' && c <= '9' ? c : 'x';
  return parse_shape(shape) ? fmt::format("a shape is written {}:{}", spec.substr(0, colon), shape) : "";
}

/// "x.tns:100x200" cut before its shape.
ShapedPath shaped_path(const std::string& spec) {
  const std::size_t colon = spec.rfind(':');
  if (colon != std::string::npos) {
    if (auto shape = parse_shape(std::string_view(spec).substr(colon + 1))) return {spec.substr(0, colon), std::move(shape)};
  }
  return {spec, std::nullopt};
}

}  // namespace

std::string at_home(const std::string& path) {
  const char* const home = std::getenv("HOME");
  const FileName file = parse_file_name(path);
  const std::size_t begin = file.forced ? name(*file.kind).size() + 1 : 0;
  const std::string plain = path.substr(begin);
  const bool is_home = plain == "~" || plain.starts_with("~/");
  if (!is_home || home == nullptr || is_there(file.path)) return path;
  return path.substr(0, begin) + home + plain.substr(1);
}

bool reads_standard_input(const std::string& spec) {
  return !is_generator(spec) && parse_file_name(shaped_path(spec).path).standard_stream();
}

Expected<void> standard_input_once(const std::vector<std::string>& specs, const std::vector<std::string>& names) {
  std::optional<std::size_t> first;
  for (std::size_t operand = 0; operand != specs.size(); ++operand) {
    if (!reads_standard_input(specs[operand])) continue;
    if (first) {
      return input_error(fmt::format("{} and {} are both read from standard input, which can be read once; write one to a file",
                                     names[*first], names[operand]));
    }
    first = operand;
  }
  return {};
}

OperandText parse_operand(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = trimmed(text.substr(0, equals));
  if (equals == std::string_view::npos || !is_name(name)) return {"", std::string(text)};
  return {std::string(name), std::string(trimmed(text.substr(equals + 1)))};
}

std::optional<std::vector<std::uint64_t>> parse_shape(std::string_view text) {
  std::vector<std::uint64_t> extents;
  while (true) {
    std::uint64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || end == text.data()) return std::nullopt;
    extents.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return extents;
    if (text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
}

Expected<std::uint64_t> parse_size(std::string_view text) {
  const auto wrong = [&] {
    return input_error(fmt::format("'{}' is not a size; write for example 4G, 1.5G, 512M or a number of bytes", text));
  };
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return wrong();
  // 1.5G: the parts of a unit, rounded down to bytes.
  double parts = 0;
  const char* last = end;
  if (last != text.data() + text.size() && *last == '.') {
    const auto [behind, defect] = std::from_chars(last, text.data() + text.size(), parts, std::chars_format::fixed);
    if (defect != std::errc()) return wrong();
    last = behind;
  }
  std::string unit(last, text.data() + text.size());
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (unit.size() > 1 && unit.ends_with("IB")) unit.resize(unit.size() - 2);
  if (unit.ends_with('B')) unit.pop_back();
  constexpr std::string_view units = "KMGTP";
  if (unit.empty() && last == end) return value;
  const std::size_t power = units.find(unit);
  if (unit.size() != 1 || power == std::string_view::npos) return wrong();
  const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
  const auto part = static_cast<std::uint64_t>(std::ldexp(parts, static_cast<int>(shift)));  // a whole unit where it rounds to one
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (value > most >> shift || part > most - (value << shift)) {
    return input_error(fmt::format("{} are more bytes than 64 bits can count", text));
  }
  return (value << shift) + part;
}

Expected<Tensor> load_operand(const std::string& spec, const std::optional<Format>& format, const Resources& resources,
                              std::string_view name, FileFacts* facts) {
  if (facts) *facts = FileFacts();
  if (spec.empty()) {
    const std::string what = name.empty() ? "the name of the file" : fmt::format("the value of operand {}", name);
    return input_error(fmt::format("{} is empty; give a file, a generator or a number", what));
  }
  for (const Level& level : format ? format->levels : std::vector<Level>{}) {
    if (is_listed(level.kind)) {
      return unsupported(fmt::format("level kind '{}' is not supported for an operand ({})", letter(level.kind), name));
    }
  }
  if (is_generator(spec)) return generate_tensor(spec, format, resources, name);
  const Scalar scalar = format ? format->scalar : Scalar::f64;
  if (const auto number = parse_number(spec, scalar)) {
    if (number->overflows) {
      return input_error(fmt::format("the value {} of operand {} overflows {}", spec, name, weft::name(scalar)));
    }
    return scalar_tensor(number->value, scalar, resources, name);
  }
  ReadOptions options;
  options.format = format;
  ShapedPath file = shaped_path(spec);
  options.shape = std::move(file.shape);
  file.path = at_home(file.path);
  if (!is_there(parse_file_name(file.path).path)) {
    if (const std::string meaning = other_meaning(spec); !meaning.empty()) {
      return input_error(fmt::format("{}{}", meaning, name == spec ? "" : fmt::format(" (operand {})", name)));
    }
  }
  return read_tensor(file.path, options, resources, name, nullptr, facts);
}

}  // namespace weft
