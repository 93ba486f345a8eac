#include "engine/fallback.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/assumptions.h"
#include "engine/exposed.h"
#include "engine/network/extents.h"
#include "engine/plan/search/plan_by_need.h"
#include "engine/trace.h"
#include "runtime/convert.h"
#include "runtime/layouts.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {

Fallback::Fallback(Pipeline pipeline, const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands, bool count,
                   const CompileFor& made_for)
    : pipeline_(std::move(pipeline)), plan_(plan), count_(count), made_for_(made_for) {
  made_for_.tensors = nullptr;  // nothing is baked in, and they may be gone by then
  for (const OperandFacts& operand : operands) {
    const std::string& name = network.tensors[operand.tensor].name;
    if (operand.pinned && !made_for.given.contains(name)) pinned_[name] = true;
  }
}

Expected<std::map<std::string, Tensor>> Fallback::in_known_layouts(const Network& network,
                                                                   const std::map<std::string, Tensor>& tensors) const {
  std::map<std::string, Tensor> stored = tensors;
  for (const ScheduledTensor& scheduled : plan_.schedule.tensors) {
    if (scheduled.role != TensorRole::operand) continue;
    const std::string& name = network.tensors[scheduled.tensor].name;
    Tensor& tensor = stored.at(name);
    // Plans speak of modes: levels of blocks or diagonals are none.
    if (!pinned_.contains(name) && !tensor.format().layout) continue;
    // A dense copy would have entries that a layout has no places for.
    const bool keeps_entries = pinned_.contains(name) || !is_dense(scheduled.format.levels.back().kind);
    const Format format = keeps_entries ? scheduled.format : sparse_format(tensor.order(), tensor.format().scalar);
    if (tensor.format().text() == format.text()) continue;
    auto layout = laid_out(tensor, format, false, pipeline_.options().resources, scheduled.name);
    if (!layout) return std::unexpected(layout.error());
    tensor = std::move(layout->tensor);
  }
  // Of assignments that are not computed; plans look at these too.
  for (auto& [name, tensor] : stored) {
    auto plain = in_plain_format(tensor, pipeline_.options().resources, name);
    if (!plain) return std::unexpected(plain.error());
    tensor = std::move(*plain);
  }
  return stored;
}

CompileFor Fallback::generic() const {
  CompileFor generic{.grade = Specialization::generic, .calls = made_for_.calls, .planned = made_for_.planned,
                     .assume_finite = made_for_.assume_finite};
  generic.scaled = made_for_.scaled;
  generic.strided = made_for_.strided;
  for (const ScheduledTensor& scheduled : plan_.schedule.tensors) {
    if (scheduled.role != TensorRole::result) continue;
    generic.planned.results.insert(scheduled.name);
    if (scheduled.like || scheduled.format.order() == 0) continue;
    generic.planned.result_formats[scheduled.name] = scheduled.delivered ? *scheduled.delivered : scheduled.format;
    generic.planned.result_patterns.erase(scheduled.name);  // of an operand that was dense, which another may not be
  }
  return generic;
}

Expected<CompiledNetwork> Fallback::operator()(const Network& network, const std::map<std::string, Tensor>& tensors,
                                               const std::string& why) const {
  pipeline_.fell_back();
  const auto stored = in_known_layouts(network, tensors);
  if (!stored) return std::unexpected(stored.error());
  const EngineOptions& options = pipeline_.options();
  if (options.trace) {
    options.trace(fmt::format("{} # bind: {}; a generic kernel takes the place",
                              command_line(network, pipeline_.facts(network, *stored, {}), plan_.schedule, options), why));
  }
  std::vector<OperandFacts> known = vouched_for(pipeline_.facts(network, *stored, pinned_), network, made_for_.assume_finite);
  CompileFor wanted = generic();
  for (const auto& [name, tensor] : tensors) {
    if (!pinned_.contains(name)) wanted.given.emplace(name, tensor.format());
  }
  const auto given = [&] { return plan_given(plan_.schedule, Problem{network, known, wanted.planned}); };
  if (const auto same = plan_by_need(known, network, wanted.planned.machine, given)) {
    auto compiled = pipeline_.compile(network, *same, known, count_, wanted);
    if (compiled || compiled.error().kind == ErrorKind::cancelled) return compiled;
  }
  const auto planned = [&] { return pipeline_.plan(network, known, wanted.planned); };
  const auto another = plan_by_need(known, network, wanted.planned.machine, planned);
  if (!another) return std::unexpected(another.error());
  return pipeline_.compile(network, *another, known, count_, wanted);
}

PlainFallback::PlainFallback(Pipeline pipeline, Network given, bool by_choice, PlanOptions planned, CompileFor made_for, bool count)
    : pipeline_(std::move(pipeline)),
      given_(std::move(given)),
      by_choice_(by_choice),
      planned_(std::move(planned)),
      made_for_(std::move(made_for)),
      count_(count) {
  made_for_.tensors = nullptr;  // nothing is baked in, and they may be gone by then
  // Nor does it end, or tell of, the call that compiled first.
  made_for_.cancelled_by.clear();
  planned_.cancelled_by.clear();
  planned_.progress = nullptr;
  made_for_.grade = Specialization::generic;
  made_for_.from = CodeFrom::anywhere;
}

Expected<CompiledNetwork> PlainFallback::operator()(const std::map<std::string, Tensor>& operands, const std::string& why) const {
  pipeline_.fell_back();
  const EngineOptions& options = pipeline_.options();
  const auto other = other_extents(given_, operands);
  if (!other) return std::unexpected(other.error());
  auto network = other->extents.empty() ? Expected<Network>(given_) : with_extents(given_, other->extents);
  if (!network) return std::unexpected(network.error());
  std::map<std::string, const Tensor*> stored;
  for (const auto& [name, tensor] : operands) stored.emplace(name, &tensor);
  const auto is_finite = [&](TensorId tensor) {
    const std::string& name = network->tensors[tensor].name;
    const auto operand = operands.find(name);
    return made_for_.assume_finite.contains(name) ||
           (operand != operands.end() && finite_values(operand->second, options.resources.threads));
  };
  std::optional<Exposure> exposure;
  // What was chosen for its price and rests on finite values was cut before.
  for (const Exposing exposing : {Exposing::all, Exposing::whole_blocks, Exposing::none}) {
    if (!by_choice_ && exposing != Exposing::none) continue;
    exposure = exposed(*network, stored_as(*network, stored, planned_), exposing);
    if (!exposure || std::ranges::all_of(exposure->finite, is_finite)) break;
  }
  std::map<std::string, bool> pinned;
  std::map<std::string, Tensor> plain;
  for (TensorId tensor = 0; tensor < network->tensors.size(); ++tensor) {
    const std::string& name = network->tensors[tensor].name;
    const auto given = operands.find(name);
    if (network->tensors[tensor].is_result || given == operands.end()) continue;
    auto read = exposure ? read_operand(*exposure, tensor, given->second, false, options.resources)
                         : Expected<ReadOperand>(ReadOperand{given->second, given->second, true, LayoutOrigin::given});
    if (!read) return std::unexpected(read.error());
    if (exposure && (exposure->tensors[tensor].placed || exposure->tensors[tensor].inside)) pinned[name] = true;
    plain.emplace(name, std::move(read->tensor));
  }
  if (exposure && by_choice_) *network = exposure->network;
  std::vector<OperandFacts> known = vouched_for(pipeline_.facts(*network, plain, pinned), *network, made_for_.assume_finite);
  CompileFor wanted = made_for_;
  wanted.planned = exposure ? in_exposed_formats(planned_, *exposure) : planned_;
  const auto plan = plan_by_need(known, *network, wanted.planned.machine, [&] { return pipeline_.plan(*network, known, wanted.planned); });
  if (!plan) return std::unexpected(plan.error());
  if (options.trace) {
    options.trace(fmt::format("{} # bind: {}; {} takes the place",
                              command_line(*network, known, plan->schedule, options), why,
                              by_choice_ ? "another kernel" : "a kernel over plain copies"));
  }
  auto compiled = pipeline_.compile(*network, *plan, known, count_, wanted);
  if (!compiled || !exposure) return compiled;
  std::map<std::string, Format> formats;
  for (const auto& [name, tensor] : operands) formats.emplace(name, tensor.format());
  return compiled->over(std::make_shared<const Exposure>(*exposure), *this, std::move(formats));
}

}  // namespace weft
