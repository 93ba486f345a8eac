// Texts that stand for themselves: expressions, trees, formats, operands, calibrations, slices. What is read prints to
// a text that reads back equal; the rest is an input error, or one that says what weft has not.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/network/contraction_tree.h"
#include "engine/network/network.h"
#include "engine/plan/machine.h"
#include "frontend/operand.h"
#include "frontend/parse.h"
#include "frontend/slice.h"
#include "frontend/resolve.h"
#include "fuzz/scratch.h"
#include "fuzz/shapes.h"
#include "fuzz/target.h"
#include "weft/file.h"
#include "weft/format.h"

namespace weft::fuzz {
namespace texts {
namespace {

void require_text_error(const Error& error) {
  require((error.kind == ErrorKind::input || error.kind == ErrorKind::unsupported) && !error.message.empty(),
          [&] { return "the error is no answer: " + error.message; });
}

void check_sound(const Expected<Tensor>& tensor) {
  if (!tensor) return require(tensor.error().kind != ErrorKind::internal, tensor.error().message);
  const Expected<void> sound = verify(*tensor, small_resources(), "T");
  require(sound.has_value(), [&] { return "what was generated does not verify: " + sound.error().message; });
}

}  // namespace
}  // namespace texts

void expression(Bytes bytes) {
  const auto parsed = parse_expression(text_of(bytes));
  if (!parsed) return texts::require_text_error(parsed.error());
  const auto network = resolve(*parsed, shapes_of(*parsed));
  if (!network) return texts::require_text_error(network.error());
  const Expected<void> sound = check(*network);
  require(sound.has_value(), [&] { return "what is resolved does not pass check: " + sound.error().message; });
  // The numbering of the print may differ from that of a text whose parentheses reorder the factors; its print does
  // not.
  const std::string printed = print(*network);
  const auto again = parse_expression(printed);
  require(again.has_value(), [&] { return "a print is not parsed: " + printed + "\n" + again.error().message; });
  const auto network_again = resolve(*again, shapes_of(*again));
  require(network_again.has_value(),
          [&] { return "a print is not resolved: " + printed + "\n" + network_again.error().message; });
  require(print(*network_again) == printed,
          [&] { return "printed " + printed + ", read and printed " + print(*network_again); });
}

void tree(Bytes bytes) {
  const TwoTexts texts = cut_first_line(bytes);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < texts.first.size() && names.size() < 16;) {
    const std::size_t end = std::min(texts.first.find(' ', at), texts.first.size());
    if (end > at) names.push_back(texts.first.substr(at, end - at));
    at = end + 1;
  }
  if (names.empty()) return;
  // Names are those of tensors: the parser of expressions lets no others through.
  for (const std::string& name : names)
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }) ||
        std::isdigit(static_cast<unsigned char>(name[0])) != 0)
      return;
  const auto parsed = parse_tree(texts.rest, names);
  if (!parsed) return texts::require_text_error(parsed.error());
  const Expected<void> sound = check(*parsed, names.size());
  require(sound.has_value(), [&] { return "a tree that is read does not pass check: " + sound.error().message; });
  const std::string printed = print(*parsed, names);
  const auto again = parse_tree(printed, names);
  require(again.has_value(), [&] { return "a print is not parsed: " + printed + "\n" + again.error().message; });
  require(canonical(*again) == canonical(*parsed), [&] { return "another tree is read from " + printed; });
}

void format(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  if (const auto shape = parse_shape(text)) require(!shape->empty(), "a shape without extents");
  if (const auto size = parse_size(text); !size) texts::require_text_error(size.error());
  if (const auto scalar = parse_scalar(text); !scalar) texts::require_text_error(scalar.error());
  const OperandText operand = parse_operand(text);
  // Blanks around the parts are free.
  std::string_view left = text;
  const auto skip_blanks = [&] { left.remove_prefix(std::min(left.find_first_not_of(" \t\r\n\v\f"), left.size())); };
  const auto skip = [&](std::string_view part) {
    skip_blanks();
    if (!left.starts_with(part)) return false;
    left.remove_prefix(part.size());
    return true;
  };
  const bool parts = operand.name.empty() ? operand.spec == text : skip(operand.name) && skip("=") && skip(operand.spec);
  if (!operand.name.empty()) skip_blanks();
  require(parts && (operand.name.empty() || left.empty()), "an operand's text is not its parts");
  const auto format = parse_format(text);
  if (!format) return texts::require_text_error(format.error());
  const auto again = parse_format(format->text() + ":" + std::string(name(format->scalar)));
  require(format->order() == 0 || (again.has_value() && *again == *format),
          [&] { return "another format is read from " + format->text(); });
  const std::size_t order = format->modes();
  if (order == 0 || order > 6) return;
  // A tensor in that format: sums of coordinates at every second one.
  const Resources resources = small_resources();
  Coordinates coordinates;
  coordinates.extents.assign(order, 3);
  std::vector<std::vector<std::uint32_t>> modes(order);
  std::vector<double> values;
  std::uint64_t space = 1;
  for (std::size_t mode = 0; mode < order; ++mode) space *= 3;
  for (std::uint64_t number = 0; number < space; number += 2) {
    std::uint64_t rest = number;
    for (auto& mode : modes) {
      mode.push_back(static_cast<std::uint32_t>(rest % 3));
      rest /= 3;
    }
    values.push_back(static_cast<double>(number % 7) + 1);
  }
  coordinates.count = values.size();
  for (const auto& mode : modes)
    coordinates.crd.push_back(Buffer::borrow(mode.data(), mode.size() * sizeof(std::uint32_t)));
  coordinates.values = Buffer::borrow(values.data(), values.size() * sizeof(double));
  auto tensor = build(std::move(coordinates), sparse_format(order), resources, "T");
  require(tensor.has_value(), [&] { return tensor.error().message; });
  const auto converted = convert(*tensor, *format, resources, "T");
  texts::check_sound(converted);
  if (!converted || !format->layout) return;
  const auto back = convert(*converted, tensor->format(), resources, "T");
  require(back.has_value() && entries(*back, true, resources)->count == tensor->nnz(),
          [&] { return "other entries come back from " + format->text(); });
}

void operand(Bytes bytes) {
  const std::string spec(text_of(bytes));
  // Files and streams of the machine are not for fuzzing; files of a directory that is empty are missing.
  if (!is_generator(spec) && (spec.find('/') != std::string::npos || reads_standard_input(spec))) return;
  static const bool entered = [] {
    std::error_code problem;
    std::filesystem::current_path(scratch_directory(), problem);
    return !problem;
  }();
  require(entered, "the directory of the target is gone");
  if (!is_generator(spec)) return texts::check_sound(load_operand(spec, std::nullopt, small_resources(2, 8), "T"));
  texts::check_sound(load_operand(spec, std::nullopt, small_resources(2, 8), "T"));
  const auto one = generate_tensor(spec, std::nullopt, small_resources(1, 8), "T");
  const auto two = generate_tensor(spec, std::nullopt, small_resources(2, 8), "T");
  if (one && two) require(one->summary() == two->summary(), "two threads generate another tensor than one");
}

void calibration(Bytes bytes) {
  const auto machine = parse_machine(text_of(bytes), "calibration");
  if (!machine) return texts::require_text_error(machine.error());
  const auto again = parse_machine(print(*machine), "print");
  require(again.has_value() && *again == *machine, "a print of constants reads back as others");
}

void slice(Bytes bytes) {
  const auto slice = parse_slice(text_of(bytes));
  if (!slice) return texts::require_text_error(slice.error());
  for (const std::vector<std::uint64_t>& extents :
       std::vector<std::vector<std::uint64_t>>{{7}, {0}, {4, 1}, {3, 5, std::uint64_t{1} << 62}, {}}) {
    const auto selected = select(*slice, extents, "T");
    if (!selected) {
      texts::require_text_error(selected.error());
      continue;
    }
    require(selected->size() == extents.size(), "a selection without one of the modes");
    for (std::size_t mode = 0; mode < extents.size(); ++mode) {
      const Selected& one = (*selected)[mode];
      require(one.count <= extents[mode], "more is selected than there is");
      if (one.count == 0) continue;
      require(one.lowest() <= one.highest() && one.highest() < extents[mode],
              "a coordinate beyond the extent is selected");
      require(one.place(one.start) == 0 && one.place(one.coordinate(one.count - 1)) == one.count - 1,
              "a selected coordinate is at another place");
    }
  }
}

}  // namespace weft::fuzz
