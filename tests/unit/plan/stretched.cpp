#include "unit/plan/stretched.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "oracle/long_extents.h"
#include "runtime/widths.h"

namespace weft::plan_test {

namespace {

// Without 2^33 + 7, which is not drawn here.
constexpr auto long_extents = std::span(test::long_extents).first<8>();

}  // namespace

std::uint64_t long_extent(std::mt19937& random) { return long_extents[random() % long_extents.size()]; }

Format sparse_where_long(Format format, const std::vector<std::uint64_t>& extents) {
  for (std::size_t level = 0; level < format.order(); ++level) {
    LevelKind& kind = format.levels[level].kind;
    if (!test::is_long(extents[format.mode_order[level]])) continue;
    if (kind == LevelKind::dense) kind = LevelKind::compressed;
    if (kind == LevelKind::bitmap) kind = LevelKind::hashed;
  }
  return with_widths(std::move(format), extents);
}

OwnedProblem stretched(OwnedProblem made, std::mt19937& random) {
  std::set<std::uint64_t> kept;
  for (const Assignment& assignment : made.network.assignments) {
    const TensorDeclaration& result = made.network.tensors[assignment.result.tensor];
    const auto asked = made.options.result_formats.find(result.name);
    if (asked != made.options.result_formats.end() && asked->second.all_dense())
      kept.insert(result.extents.begin(), result.extents.end());
  }
  std::map<std::uint64_t, std::uint64_t> longer;
  for (const Index& index : made.network.indices) {
    if (index.extent < 2 || kept.contains(index.extent) || longer.contains(index.extent)) continue;
    longer[index.extent] = longer.empty() || random() % 2 == 0 ? long_extent(random) : index.extent;
  }
  const auto stretch = [&](std::uint64_t& extent) {
    if (longer.contains(extent)) extent = longer.at(extent);
  };
  for (Index& index : made.network.indices) stretch(index.extent);
  for (TensorDeclaration& tensor : made.network.tensors) std::ranges::for_each(tensor.extents, stretch);
  for (OperandFacts& operand : made.operands) {
    const std::vector<std::uint64_t>& extents = made.network.tensors[operand.tensor].extents;
    if (extents == operand.statistics.extents()) continue;
    const double entries = operand.statistics.nnz();
    operand.format = sparse_where_long(std::move(operand.format), extents);
    operand.statistics = Statistics(extents, operand.format, entries);
    operand.bytes = static_cast<std::uint64_t>(16 * entries);
  }
  for (auto& [name, format] : made.options.result_formats) {
    const auto result = std::ranges::find(made.network.tensors, name, &TensorDeclaration::name);
    format = sparse_where_long(std::move(format), result->extents);
  }
  return made;
}

}  // namespace weft::plan_test
