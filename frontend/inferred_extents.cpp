#include "frontend/inferred_extents.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace weft {
namespace {

/// What is known of a mode's extent so far.
struct KnownExtent {
  std::uint64_t extent = 0;
  bool grows = true;  ///< inferred, or of an intermediate
  std::string from;   ///< the operand that says so
};

using Modes = std::vector<KnownExtent>;

/// The modes that an index of an assignment stands at.
using IndexModes = std::vector<KnownExtent*>;

std::vector<IndexModes> indices_of(const ParsedExpression& expression, const std::vector<KnownShape>& operands,
                                   std::map<std::string, Modes>& tensors) {
  std::vector<IndexModes> all;
  std::size_t next = 0;  // operand of an einsum
  for (const ParsedAssignment& assignment : expression.assignments) {
    std::map<std::string_view, IndexModes> indices;
    const auto meet = [&](const std::string& name, const std::vector<ParsedIndex>& written) {
      const auto tensor = tensors.find(name);
      if (tensor == tensors.end() || tensor->second.size() != written.size()) return;  // resolve() refuses it
      for (std::size_t mode = 0; mode != written.size(); ++mode)
        indices[written[mode].name].push_back(&tensor->second[mode]);
    };
    for (const ParsedTerm& term : assignment.terms) {
      for (const ParsedAccess& factor : term.factors) {
        if (expression.notation == Notation::index) {
          meet(factor.name, factor.indices);
        } else if (next != operands.size()) {
          meet(operands[next++].name, factor.indices);
        }
      }
    }
    tensors.try_emplace(assignment.result.name, assignment.result.indices.size());
    meet(assignment.result.name, assignment.result.indices);
    for (auto& [name, modes] : indices) all.push_back(std::move(modes));
  }
  return all;
}

/// Whether a mode of the index grew.
bool grow(const IndexModes& index) {
  const KnownExtent longest =
      **std::ranges::max_element(index, {}, [](const KnownExtent* mode) { return mode->extent; });
  const auto disagrees = [&](const KnownExtent* mode) { return !mode->grows && mode->extent != longest.extent; };
  if (std::ranges::any_of(index, disagrees)) return false;
  bool grew = false;
  for (KnownExtent* const mode : index) {
    if (mode->extent == longest.extent) continue;
    mode->extent = longest.extent;
    mode->from = longest.from;
    grew = true;
  }
  return grew;
}

}  // namespace

std::vector<GrownMode> grown_modes(const ParsedExpression& expression, const std::vector<KnownShape>& operands) {
  std::map<std::string, Modes> tensors;
  for (const KnownShape& operand : operands) {
    Modes& modes = tensors[operand.name];
    if (!modes.empty()) continue;  // an einsum's operand that is given twice
    for (const std::uint64_t extent : operand.extents) modes.push_back({extent, operand.inferred, operand.name});
  }
  const std::vector<IndexModes> indices = indices_of(expression, operands, tensors);
  // An operand that occurs twice, and an intermediate, carry an extent from one index to another. Extents only grow, to
  // one of those that there are, so that this ends.
  for (bool grew = true; grew;) {
    grew = false;
    for (const IndexModes& index : indices) grew = grow(index) || grew;
  }
  std::vector<GrownMode> grown;
  for (std::size_t operand = 0; operand != operands.size(); ++operand) {
    const Modes& modes = tensors.at(operands[operand].name);
    for (std::size_t mode = 0; mode != operands[operand].extents.size(); ++mode) {
      const std::uint64_t from = operands[operand].extents[mode];
      if (modes[mode].extent != from) grown.push_back({operand, mode, from, modes[mode].extent, modes[mode].from});
    }
  }
  return grown;
}

Expected<std::vector<std::string>> grow_inferred_extents(Tensors& tensors, const ParsedExpression& expression,
                                                         const std::vector<std::string>& operands,
                                                         const std::set<std::string>& inferred,
                                                         const Resources& resources) {
  if (inferred.empty()) return std::vector<std::string>();
  std::vector<KnownShape> shapes;
  for (const std::string& name : operands) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) return std::vector<std::string>();  // evaluating says so
    shapes.push_back({name, found->second.extents(), inferred.contains(name)});
  }
  std::vector<std::string> lines;
  std::map<std::string, std::vector<std::uint64_t>> wanted;
  for (const GrownMode& mode : grown_modes(expression, shapes)) {
    const std::string& name = operands[mode.operand];
    const bool is_new =
        wanted.try_emplace(name, shapes[mode.operand].extents).second || wanted[name][mode.mode] != mode.to;
    if (!is_new) continue;
    wanted[name][mode.mode] = mode.to;
    lines.push_back(fmt::format("{}: mode {} read with extent {}, taken as {} as in {}", name, mode.mode, mode.from,
                                mode.to, mode.like));
  }
  for (auto& [name, extents] : wanted) {
    auto grown = with_extents(tensors.at(name), std::move(extents), resources, name);
    if (!grown) return std::unexpected(std::move(grown.error()));
    tensors.at(name) = std::move(*grown);
  }
  return lines;
}

}  // namespace weft
