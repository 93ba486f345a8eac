#include "frontend/handed_out.h"

#include <optional>
#include <utility>

#include "runtime/copied.h"
#include "runtime/layouts.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

/// An index array of an operand.
struct LevelArray {
  const std::string* operand = nullptr;
  const Tensor* tensor = nullptr;
  std::size_t level = 0;
  bool is_pos = false;

  const Buffer& in(const Tensor& pattern) const { return is_pos ? pattern.levels()[level].pos : pattern.levels()[level].crd; }
};

/// The array of an operand that a result has, if there is one.
std::optional<LevelArray> array_of_operand(const Buffer& array, const Tensors& operands) {
  for (const auto& [name, tensor] : operands) {
    for (std::size_t level = 0; level < tensor.levels().size(); ++level) {
      for (const bool is_pos : {true, false}) {
        const LevelArray each{&name, &tensor, level, is_pos};
        const Buffer& given = each.in(tensor);
        if (given.data() == array.data() && given.size_bytes() == array.size_bytes()) return each;
      }
    }
  }
  return std::nullopt;
}

/// What stands in the place of an array of a result; nothing where it stays. `kept`: it is kept for other results too.
Expected<std::optional<Buffer>> replaced_array(const Buffer& array, bool shares, const RunOrigin& run, const Resources& resources,
                                               const std::string& name, bool& kept) {
  if (array.size_bytes() == 0 || !(array.borrowed() || !run.changing.empty())) return std::nullopt;
  const auto own = [&](Expected<Buffer> copy) {
    return copy ? Expected<std::optional<Buffer>>(std::move(*copy)) : std::unexpected(std::move(copy.error()));
  };
  const auto from = array_of_operand(array, run.operands);
  if (from && run.changing.contains(*from->operand)) return own(copied(array, resources.memory, name));
  if (!array.borrowed()) return std::nullopt;
  if (!from) return own(copied(array, resources.memory, name));  // a part of one
  const Buffer& given = from->in(*from->tensor);
  if (!given.borrowed()) return given;  // the run had it by way of handles that keep nothing alive
  if (shares) return std::nullopt;
  const auto pattern = owned_pattern(*from->tensor, resources, name);
  kept = true;
  return own(pattern ? Expected<Buffer>(from->in(*pattern)) : std::unexpected(pattern.error()));
}

}  // namespace

Expected<Tensor> handed_out(const std::string& name, const Tensor& result, const RunOrigin& run, const std::shared_ptr<void>& lease,
                            const Resources& resources) {
  const auto as_it_is = [&] { return lease ? TensorParts::owned_by(result, lease) : result; };
  if (result.format().all_dense()) return as_it_is();
  const bool shares = run.shared.contains(name);
  const auto pattern = run.patterns.find(name);
  if (const auto operand = pattern == run.patterns.end() ? run.operands.end() : run.operands.find(pattern->second);
      operand != run.operands.end()) {
    const bool changes = !run.changing.empty() && run.changing.contains(operand->first);
    const auto with_pattern = [&](const Tensor& own) {
      const Buffer& values = result.values();
      return TensorParts::with_values(own, lease ? values.owned_by(lease) : values, 0, result.format().scalar);
    };
    if (shares && !changes) return with_pattern(operand->second);
    if (run.owned != nullptr) {
      if (const auto known = run.owned->find(name); known != run.owned->end()) return with_pattern(known->second);
    }
    auto own = changes ? copied_pattern(operand->second, resources, name) : owned_pattern(operand->second, resources, name);
    if (!own) return own;
    if (run.owned != nullptr && !changes) (*run.owned)[name] = *own;
    return with_pattern(*own);
  }
  TensorArrays arrays;
  bool kept = false;
  for (std::size_t level = 0; level < result.levels().size(); ++level) {
    for (const bool is_pos : {true, false}) {
      const LevelArrays& given = result.levels()[level];
      auto replaced = replaced_array(is_pos ? given.pos : given.crd, shares, run, resources, name, kept);
      if (!replaced) return std::unexpected(std::move(replaced.error()));
      if (!*replaced) continue;
      if (arrays.levels.empty()) arrays = as_it_is().arrays();
      (is_pos ? arrays.levels[level].pos : arrays.levels[level].crd) = std::move(**replaced);
    }
  }
  if (arrays.levels.empty()) return as_it_is();
  Tensor handed = made(std::move(arrays));
  TensorParts::pattern_facts(handed)->kept_for_others = kept;
  return handed;
}

}  // namespace weft
