// Fallback: the kernel for operands of which something does not hold that another kernel rests on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/pipeline.h"

namespace weft {

/// Made with a kernel and called by it where a binding brings other operands. Thread safe; keeps the pipeline alive.
class Fallback {
 public:
  /// Of a kernel for `operands`, of this network and plan. `count`: its loops are counted.
  Fallback(Pipeline pipeline, const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands, bool count,
           const CompileFor& made_for);

  /// A generic kernel of the plan's schedule, or, where that is not legal for `tensors`, of another one with the same
  /// formats of results. `network` may have other extents. `why` is traced. Errors as of Pipeline::plan and compile.
  Expected<CompiledNetwork> operator()(const Network& network, const std::map<std::string, Tensor>& tensors, const std::string& why) const;

 private:
  /// The tensors with those that are pinned, or stored by levels that are no modes, in the layouts that the schedule has of them, or
  /// plain ones.
  Expected<std::map<std::string, Tensor>> in_known_layouts(const Network& network, const std::map<std::string, Tensor>& tensors) const;
  CompileFor generic() const;

  Pipeline pipeline_;
  Plan plan_;
  std::map<std::string, bool> pinned_;  // names of operands
  bool count_;
  CompileFor made_for_;
};

/// The kernel that reads layouts through plain copies, for operands that one over their levels does not fit. Thread safe; keeps the
/// pipeline alive.
class PlainFallback {
 public:
  /// `planned`: with the formats of results as they were asked for. `count`: its loops are counted.
  /// `by_choice`: what the kernel reads otherwise for its price (Exposure) is cut again, where values allow it.
  PlainFallback(Pipeline pipeline, Network given, bool by_choice, PlanOptions planned, CompileFor made_for, bool count);
  /// `why` is traced. Errors as of laid_out(), Pipeline::plan and compile.
  Expected<CompiledNetwork> operator()(const std::map<std::string, Tensor>& operands, const std::string& why) const;

 private:
  Pipeline pipeline_;
  Network given_;
  bool by_choice_;
  PlanOptions planned_;
  CompileFor made_for_;
  bool count_;
};

}  // namespace weft
