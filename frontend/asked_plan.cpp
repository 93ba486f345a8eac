#include "frontend/asked_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "frontend/token.h"
#include "runtime/scalar_traits.h"

namespace weft {
namespace {

/// A requested scalar is that of what reads it too: a result is f32 if it has factors and all are, or if a format says so.
void spread_scalars(Network& network, const PlanOptions& options) {
  for (const Assignment& assignment : network.assignments) {
    TensorDeclaration& result = network.tensors[assignment.result.tensor];
    if (options.result_formats.contains(result.name)) continue;
    std::optional<Scalar> widest;
    for (const Term& term : assignment.terms) {
      for (const TensorAccess& factor : term.factors) {
        const Scalar scalar = network.tensors[factor.tensor].scalar;
        widest = wider(widest.value_or(scalar), scalar);
      }
    }
    result.scalar = widest.value_or(scalar_types[0].scalar);
  }
}

/// One option after another, checked and taken.
class Asking {
 public:
  Asking(Network& network, const EvaluateOptions& options, const NamedFacts& operands)
      : network_(network), options_(options), operands_(operands) {}

  Expected<AskedPlan> asked() {
    for (const auto take : {&Asking::left_to_choose, &Asking::objective, &Asking::formats, &Asking::patterns, &Asking::changing,
                            &Asking::finite, &Asking::scaled_or_strided, &Asking::results, &Asking::lent}) {
      if (auto taken = (this->*take)(); !taken) return std::unexpected(taken.error());
    }
    plan().calls = options_.calls;
    plan().prove = options_.prove;
    spread_scalars(network_, plan());
    return std::move(asked_);
  }

 private:
  PlanOptions& plan() { return asked_.options; }
  TensorDeclaration* declared(const std::string& name) const {
    const auto found = std::ranges::find(network_.tensors, name, &TensorDeclaration::name);
    return found == network_.tensors.end() ? nullptr : &*found;
  }
  bool is_operand(const std::string& name) const { return declared(name) != nullptr && !declared(name)->is_result; }
  bool is_result(const std::string& name) const { return declared(name) != nullptr && declared(name)->is_result; }
  static std::unexpected<Error> unknown(const std::string& name, std::string message) {
    return fail(ErrorKind::input, ErrorCode::unknown_name, name, std::move(message));
  }

  Expected<void> left_to_choose() {
    if (options_.schedule.empty() || !(options_.prove || options_.unfused)) return {};
    const char* const other = options_.prove ? "prove" : "unfused";
    return option_error(other, fmt::format("a schedule and the option {} contradict each other: nothing is left to choose", other));
  }

  Expected<void> objective() {
    if (options_.objective.empty() || options_.objective == "time") return {};
    if (options_.objective != "workspace-order") {
      return option_error("objective", fmt::format("no objective is named '{}': the objectives are time and workspace-order",
                                                   options_.objective));
    }
    if (!options_.schedule.empty() || options_.unfused) {
      const char* const other = options_.unfused ? "unfused" : "schedule";
      return option_error(other, fmt::format("an objective and the option {} contradict each other: nothing is left to choose", other));
    }
    plan().objective = Objective::workspace_order;
    return {};
  }

  Expected<void> formats() {
    for (const auto& [name, format] : options_.formats) {
      TensorDeclaration* const tensor = declared(name);
      if (tensor == nullptr)
        return option_error("formats", fmt::format("a format is given for {}, which is neither an operand nor a result", name), name);
      if (tensor->extents.size() != format.modes()) {
        auto refused = option_error("formats", fmt::format("the format of {} has {} {}, but {} has {} modes", name, format.modes(),
                                                           format.layout ? "modes" : "levels", name, tensor->extents.size()), name);
        refused.error().code = ErrorCode::order;
        return refused;
      }
      if (!tensor->is_result) {
        asked_.pinned[name] = true;
        continue;
      }
      if (std::ranges::any_of(format.levels, &Level::strided))
        return option_error("formats", fmt::format("the format {} of the result {} is that of borrowed memory", format.text(), name), name);
      tensor->scalar = format.scalar;
      plan().result_formats[name] = format;
    }
    return {};
  }

  Expected<void> patterns() {
    for (const auto& [name, pattern] : options_.patterns) {
      if (!is_result(name))
        return option_error("patterns",
                            fmt::format("{} like {}: {} is no result; an operand has a format of its own", name, pattern, name), name);
      if (!is_operand(pattern))
        return option_error("patterns", fmt::format("{} like {}: {} is no operand", name, pattern, pattern), pattern);
      plan().result_patterns[name] = pattern;
      plan().results.insert(name);
    }
    return {};
  }

  Expected<void> changing() {
    for (const auto* names : {&options_.changing, &options_.changing_patterns}) {
      for (const std::string& name : *names)
        if (!is_operand(name)) return unknown(name, fmt::format("{} is said to change between runs, but is no operand", name));
    }
    return {};
  }

  Expected<void> finite() {
    for (const TensorDeclaration& each : network_.tensors) {
      if (options_.assume_all_finite && !each.is_result) asked_.vouched_for.insert(each.name);
    }
    for (const std::string& name : options_.assume_finite) {
      if (!is_operand(name)) return unknown(name, fmt::format("{} is said to be finite, but is no operand", name));
      asked_.vouched_for.insert(name);
    }
    return {};
  }

  Expected<void> scaled_or_strided() {
    for (const auto& [names, what] : {std::pair(&options_.scaled, "scaled"), std::pair(&options_.strided, "strided")}) {
      for (const std::string& name : *names)
        if (!is_result(name)) return unknown(name, fmt::format("{} is to be {}, but is no result", name, what));
    }
    for (const std::string& name : options_.strided) {
      const auto format = options_.formats.find(name);
      const auto pattern = options_.patterns.find(name);
      const Format* const wanted = format != options_.formats.end()     ? &format->second
                                   : pattern != options_.patterns.end() ? &operands_.at(pattern->second).format
                                                                        : nullptr;
      if (wanted != nullptr && !wanted->all_dense())
        return option_error("strided", fmt::format("{} is to be strided, as dense results are, but is wanted as {}", name, wanted->text()),
                            name);
    }
    return {};
  }

  Expected<void> results() {
    for (const std::string& name : options_.results) {
      if (!is_result(name))
        return unknown(name, fmt::format("{} is wanted as a result, but the expression does not assign it", name));
      plan().results.insert(name);
    }
    return {};
  }

  Expected<void> lent() {
    for (const std::string& name : options_.lent_results) {
      if (!is_result(name)) return unknown(name, fmt::format("memory is to be lent for {}, which is no result", name));
      plan().lent_results.insert(name);
    }
    return {};
  }

  Network& network_;
  const EvaluateOptions& options_;
  const NamedFacts& operands_;
  AskedPlan asked_;
};

}  // namespace

Expected<AskedPlan> asked_plan(Network& network, const EvaluateOptions& options, const NamedFacts& operands) {
  return Asking(network, options, operands).asked();
}

}  // namespace weft
