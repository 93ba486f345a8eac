// From text to a plan and its code, and what that told: the one way for engines and sessions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pipeline.h"
#include "engine/saved_network.h"
#include "frontend/named_operands.h"
#include "frontend/request_text.h"
#include "frontend/saved_kernel.h"
#include "weft/session.h"

namespace weft {

struct Prepared {
  Network network;  ///< as it was planned, with pinned trees
  std::vector<OperandFacts> facts;
  PlanOptions plan_options;
  Plan plan;
  std::optional<CompiledNetwork> code;  ///< none where the options want none
  std::shared_ptr<const Exposure> exposure;  ///< where tensors stand in layouts; then `network` is over their levels
  PlainKernel plain;                         ///< for operands that `code` does not fit
  std::map<std::string, Format> formats;     ///< likewise: those that operands are given in, without those that are pinned
  std::optional<SavedLevels> levels;         ///< how operands were given, where there is an exposure
  Report report;
};

/// Resolves, plans and compiles; parses only what is not parsed yet. `names` as of Session::evaluate. The cancellation is looked at between
/// the steps.
/// `saved`: code and words of a plan that the options give as a schedule.
/// From the caches alone: an error of kind unsupported if the plan or the code is not there.
Expected<Prepared> prepare(const Pipeline& pipeline, const Machine& machine, const RequestText& text,
                           const std::vector<std::string>& names, const NamedFacts& operands,
                           const EvaluateOptions& options, const Cancellation& cancellation,
                           CodeFrom from = CodeFrom::anywhere, const SavedKernel* saved = nullptr);

}  // namespace weft
