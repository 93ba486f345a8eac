// From text to a plan and its code, and what that told: the one way for engines and sessions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pipeline.h"
#include "weft/session.h"

namespace weft {

/// What is known of an operand. Joins are sampled where the tensors of all operands are given.
struct OperandInput {
  Statistics statistics;
  std::uint64_t bytes = 0;
  const Tensor* tensor = nullptr;
};
using OperandInputs = std::map<std::string, OperandInput>;

OperandInputs operand_inputs(const Tensors& tensors, const Threads& threads);
/// Bytes are estimated from distinct counts.
OperandInputs operand_inputs(const std::map<std::string, Statistics>& statistics);

struct Prepared {
  Network network;  ///< as it was planned, with pinned trees
  std::vector<OperandFacts> facts;
  Plan plan;
  std::optional<CompiledNetwork> code;  ///< none where the options want none
  Report report;
};

/// Parses, resolves, plans and compiles; `names` as of Session::evaluate. The cancellation is looked at between the steps.
Expected<Prepared> prepare(const Pipeline& pipeline, const Machine& machine, std::string_view text,
                           const std::vector<std::string>& names, const OperandInputs& operands,
                           const EvaluateOptions& options, const Cancellation& cancellation);

/// The names of the operands of an expression, in the order of their first use; those of einsum are T0, T1, ….
Expected<std::vector<std::string>> operands_of(std::string_view text);

}  // namespace weft
