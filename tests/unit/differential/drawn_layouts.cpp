#include "drawn_layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <vector>

#include "oracle/built_network.h"
#include "oracle/random_layout.h"
#include "oracle/sparse_result.h"
#include "oracle/stretched.h"
#include "runs.h"

namespace weft::test {
namespace {

const std::vector<std::vector<std::string>> usual_layouts = {
    {},
    {"(i) -> (i/2:d, i%2:d)", "(i) -> (i/3:s, i%3:d)", "(i) -> (i/4:s, i%4/2:s, i%2:d)"},
    {"bcsr(2,2)", "bcsr(3,1)", "bcsr(2,3)", "bcsr(4,4)", "csb(2)", "hicoo(2)", "sell(2)", "sell(3)", "sell(8)", "sell(16)", "ell",
     "dia", "vbl", "bcsr(8,8)", "bcsr(1,8)", "bcsr(8,1)", "bcsr(5,6)", "dia(8)",
     "bcsr(2,2,unaligned)", "dia(2)", "dia(4)", "band(1,2)", "skyline", "(i,j) -> (j-i:s unordered, j:d)",
     "(i,j) -> (i-j:s, j:d)", "(i,j) -> (i/2:d, j+i:s, i%2:d)",
     "(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)", "(i,j) -> (i/8:d, *:v, i%8/2:d, j/3:q, i%2:d, j%3:d)",
     "(i,j) -> (*:d, i/2:q, j/2:q, i%2:d, j%2:d)",
     "(i,j) -> (*:v, i:q, *:d, j:q)", "(i,j) -> (a:s, b:s, i-a:d(2), j-b:d(3))", "(i,j) -> (*:d, j/3:q, b:s, i-b:d(2), j%3:d)",
     "(i,j) -> (i:d, j-2*i:s)", "(i,j) -> (j/2:s, i:d, j%2:d)", "(i,j) -> (i/4:d, j/2:s, i%4/2:s, i%2:d, j%2:d)"},
    {"hicoo(2)", "(i,j,k) -> (i/2:s, j/2:s, k:s, i%2:d, j%2:d)", "(i,j,k) -> (k:d, i/3:s, j:s, i%3:d)",
     "(i,j,k) -> (i:s, *:v, j:q, k:q)", "(i,j,k) -> (i:d, *:d, j:q, k:d)", "(i,j,k) -> (i:d, *:v, j:q, k:s)",
     "(i,j,k) -> (i:d, *:v, j:q, *:d, k:q)", "(i,j,k) -> (i/4:d, *:v, i%4:d, j/2:q, *:v, j%2:d, k:q)",
     "(i,j,k) -> (i:d, a:s, j-a:d(2), b:s, k-b:v)"}};

/// Layouts whose dense levels are short, over any extents.
const std::vector<std::vector<std::string>> long_layouts = {
    {},
    {"(i) -> (i/3:s, i%3:d)", "(i) -> (i/4:s, i%4/2:s, i%2:d)"},
    {"hicoo(2)", "(i,j) -> (i/2:s, j/3:s, i%2:d, j%3:d)", "(i,j) -> (j-i:s, j:s)", "(i,j) -> (i:s, j-2*i:s)",
     "(i,j) -> (i:s, b:s, j-b:v)", "(i,j) -> (a:s, b:s, i-a:d(2), j-b:d(2))", "(i,j) -> (*:d, i/2:q, j/2:q, i%2:d, j%2:d)",
     "(i,j) -> (i/4:s, j/2:s, i%4/2:s, i%2:d, j%2:d)", "(i,j) -> (j/2:u, i:q, j%2:d)"},
    {"hicoo(2)", "(i,j,k) -> (i/2:s, j/2:s, k:s, i%2:d, j%2:d)", "(i,j,k) -> (k:s, i/3:s, j:s, i%3:d)",
     "(i,j,k) -> (i:s, *:v, j:q, k:q)"}};

/// The last index of an operand is summed.
void leave_out_of_result(RandomNetwork& random, std::size_t operand) {
  const auto factor = std::ranges::find(random.factors, operand, &RandomFactor::operand);
  if (factor == random.factors.end() || factor->indices.empty()) return;
  std::erase(random.result, factor->indices.back());
  random.expression = fmt::format("R({}){}", fmt::join(random.result, ","), random.expression.substr(random.expression.find(" = ")));
}

/// A layout that takes any data of these extents; nothing where the one that was drawn does not.
std::optional<Format> layout_format(const std::vector<std::uint64_t>& extents, Scalar scalar, Dice& dice, const Tensor* tensor,
                                    const Resources& resources) {
  if (extents.empty() || extents.size() > 3) return std::nullopt;
  std::mt19937 random(static_cast<unsigned>(dice.below(1U << 30)));
  const auto& usual = std::ranges::any_of(extents, is_long) ? long_layouts : usual_layouts;
  const std::string text = dice.percent(60) ? dice.pick(usual[extents.size()]) : random_layout(random, extents.size());
  auto format = parse_format(text);
  if (!format) return std::nullopt;
  format->scalar = scalar;
  const Tensor empty = *build({.extents = extents, .crd = std::vector<Buffer>(extents.size()), .values = {}, .scalar = scalar, .count = 0},
                              sparse_format(extents.size(), scalar), resources, "T");
  const auto converted = convert(tensor != nullptr ? *tensor : empty, *format, resources, "T");
  return converted ? std::optional(std::move(*format)) : std::nullopt;
}

/// Slots need as many coordinates as the fullest fiber has entries, and bands leave places out: of results, which may not have them, and of
/// operands that are pinned to a layout and bound to other entries.
bool has_no_room(const Error& error) {
  return error.message.find("coordinates to stand in them") != std::string::npos ||
         error.message.find("has no place in the layout") != std::string::npos;
}

bool may_be_refused(const DrawnLayouts& drawn, const Error& error) {
  if (has_no_room(error)) return drawn.redrawn || (drawn.wanted() && drawn.wanted()->layout);
  if (drawn.redrawn && error.message.find("order") != std::string::npos) return true;
  // Coordinates of a layout that are too narrow for the extents that it is bound to, or levels whose values are beyond all numbers.
  const auto says = [&](const char* words) { return error.message.find(words) != std::string::npos; };
  if (drawn.redrawn && drawn.is_long && (says(" bits do not hold") || says("beyond 2^63 - 1"))) return true;
  return drawn.is_long && (error.kind == ErrorKind::resource || error.kind == ErrorKind::cancelled);
}

}  // namespace

std::optional<Format> DrawnLayouts::wanted() const {
  const auto found = options.formats.find("R");
  return found == options.formats.end() ? std::nullopt : std::optional(found->second);
}

Expected<DrawnLayouts> drawn_layouts(Dice& dice, const RandomLimits& limits, const Resources& resources) {
  DrawnLayouts drawn;
  RandomNetwork& random = drawn.random;
  random = random_network(dice, limits);
  // One layout among dense operands, which bear modes that are sums of its levels.
  const std::optional<std::uint64_t> alone = dice.percent(50) ? std::optional(dice.below(random.operands.size())) : std::nullopt;
  for (std::size_t operand = 0; operand < random.operands.size() && alone; ++operand) {
    Format& format = random.operands[operand].format;
    if (operand != alone) format = dense_format(format.order(), format.scalar);
  }
  if (alone && dice.percent(60)) leave_out_of_result(random, *alone);
  drawn.plain = random;
  if (dice.percent(20)) random = stretched(std::move(random), dice);
  const std::vector<std::uint64_t> extents = result_extents(random);
  drawn.is_long = std::ranges::any_of(
      random.operands, [](const RandomOperand& operand) { return std::ranges::any_of(operand.extents, is_long); });

  const auto made = built(random, resources);
  if (!made) return std::unexpected(made.error());
  drawn.tensors = made->tensors;
  for (const RandomOperand& operand : random.operands) {
    if (alone ? &operand != &random.operands[*alone] : dice.percent(40)) continue;
    Tensor& tensor = drawn.tensors.at(operand.name);
    const auto format = layout_format(operand.extents, operand.format.scalar, dice, &tensor, resources);
    if (!format) continue;
    const bool pinned = dice.percent(50);
    drawn.said += operand.name + (pinned ? " pinned as " : " as ") + format->text() + "; ";
    if (pinned) {
      drawn.options.formats[operand.name] = *format;
      continue;
    }
    auto laid = convert(tensor, *format, resources, operand.name);
    if (!laid) return std::unexpected(laid.error());
    tensor = std::move(*laid);
  }
  std::optional<Format> wanted;
  if (dice.percent(30)) wanted = layout_format(extents, Scalar::f64, dice, nullptr, resources);
  const auto lender = lends_pattern(random);
  if (!wanted && lender && dice.percent(50)) {
    drawn.options.patterns["R"] = *lender;
    drawn.said += "R like " + *lender;
  } else if (!wanted && std::ranges::any_of(extents, is_long)) {
    wanted = sparse_format(extents.size());
  }
  if (wanted) {
    drawn.options.formats["R"] = *wanted;
    drawn.said += "R as " + wanted->text();
  }
  return drawn;
}

Expected<void> redraw(DrawnLayouts& drawn, Dice& dice, const RandomLimits& limits, const Resources& resources) {
  redraw_operands(drawn.plain, dice, limits);
  drawn.random = drawn.is_long && dice.percent(70) ? stretched(drawn.plain, dice) : drawn.plain;
  drawn.redrawn = true;
  const auto other = built(drawn.random, resources);
  if (!other) return std::unexpected(other.error());
  for (const auto& [name, tensor] : other->tensors) {
    Tensor& before = drawn.tensors.at(name);
    const auto again = before.format().layout && dice.percent(70) ? convert(tensor, before.format(), resources, name) : tensor;
    before = again ? *again : tensor;
  }
  return {};
}

std::string defect(const DrawnLayouts& drawn, const Expected<Tensors>& results) {
  if (!results) return may_be_refused(drawn, results.error()) ? "" : results.error().message;
  const Tensor& result = results->at("R");
  const auto wanted = drawn.wanted();
  if (wanted && result.format().text() != wanted->text()) return "R is " + result.format().text() + " instead of " + wanted->text();
  return wrong_result(result, expected_result(drawn.random));
}

std::string reproduction(const DrawnLayouts& drawn) { return reproduction(drawn.random) + "\n  " + drawn.said; }

}  // namespace weft::test
