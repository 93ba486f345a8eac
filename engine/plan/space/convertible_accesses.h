// Which accesses of a term may read converted operands, and what choices of them cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/schedule/schedule.h"
#include "engine/plan/schedule/statements.h"

namespace weft {

/// The accesses of a term, in its order, whose operands may be converted. A choice is a bit for each of them.
class ConvertibleAccesses {
 public:
  /// Refers to all of its arguments.
  explicit ConvertibleAccesses(const Problem& problem);

  std::size_t size() const { return factors_.size(); }
  bool empty() const { return factors_.empty(); }

  /// Nanoseconds that a choice takes each call: with one conversion per operand, and with one per access.
  double least_ns(std::uint64_t choice) const { return conversions_ns(choice, true); }
  double most_ns(std::uint64_t choice) const { return conversions_ns(choice, false); }
  /// Whether the layouts of a choice may have other dense levels with this one of `dense_fill_limits` than with the first.
  bool differs(std::uint64_t choice, std::size_t fill_limit) const;
  /// Per tensor of a schedule, whose accesses come first, in the order of the factors: whether its layout is free. The operand whose positions
  /// the result has is kept.
  std::vector<bool> freed(const Schedule& statements, std::uint64_t choice) const;

 private:
  const TensorAccess& access(std::size_t number) const;
  double conversions_ns(std::uint64_t choice, bool shared) const;

  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  std::vector<std::uint32_t> factors_;
};

}  // namespace weft
