#include "frontend/report_json.h"

#include <cmath>

#include "engine/plan/explain/explained.h"
#include "frontend/json.h"
#include "frontend/result_report.h"
#include "runtime/level_traits.h"
#include "weft/layout.h"
#include "weft/statistics.h"

namespace weft {
namespace {

std::string text(const Json& json) { return json.dump() + "\n"; }

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return "input";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::resource:
      return "resource";
    case ErrorKind::cancelled:
      return "cancelled";
    case ErrorKind::internal:
      break;
  }
  return "internal";
}

Json counted(const std::optional<std::uint64_t>& count) { return count ? Json(*count) : Json(); }

Json explanation_json(const Explanation& explained) {
  Json json;
  json["statements"] = Json::array();
  for (const ExplainedStatement& statement : explained.statements) {
    json["statements"].push_back({{"text", statement.text},
                                  {"loops", statement.loops},
                                  {"fused", statement.fused},
                                  {"iterations", statement.iterations},
                                  {"counted", counted(statement.counted)},
                                  {"ns", statement.ns}});
  }
  json["loops"] = Json::array();
  for (const ExplainedLoop& loop : explained.loops) {
    json["loops"].push_back({{"index", loop.index},
                             {"extent", loop.extent},
                             {"depth", loop.depth},
                             {"statement", loop.statement},
                             {"how", loop.how},
                             {"parallel", loop.parallel},
                             {"vector", loop.vector},
                             {"iterations", loop.iterations},
                             {"counted", counted(loop.counted)},
                             {"steps", loop.steps},
                             {"flops", loop.flops},
                             {"bytes", loop.bytes},
                             {"ns", loop.ns}});
  }
  json["nests"] = Json::array();
  for (const ExplainedNest& nest : explained.nests) {
    json["nests"].push_back({{"statement", nest.statement},
                             {"predicted_ms", nest.ns * 1e-6},
                             {"measured_ms", nest.measured_ms ? Json(*nest.measured_ms) : Json()},
                             {"bytes", nest.bytes}});
  }
  json["layouts"] = Json::array();
  for (const ExplainedLayout& layout : explained.layouts) {
    json["layouts"].push_back({{"name", layout.name},
                               {"role", layout.role},
                               {"format", layout.format},
                               {"scalar", layout.scalar},
                               {"converted", layout.converted},
                               {"conversion_ns", layout.conversion_ns},
                               {"conversion_ns_a_run", layout.conversion_ns_a_run},
                               {"reason", layout.reason}});
  }
  json["workspaces"] = Json::array();
  for (const ExplainedWorkspace& workspace : explained.workspaces) {
    json["workspaces"].push_back({{"name", workspace.name},
                                  {"indices", workspace.indices},
                                  {"bytes", workspace.bytes},
                                  {"place", workspace.place}});
  }
  json["memory"] = Json::array();
  for (const ExplainedMemory& demand : explained.memory) {
    json["memory"].push_back({{"name", demand.name}, {"bytes", demand.bytes}});
  }
  json["constraints"] = Json::array();
  for (const ExplainedConstraint& constraint : explained.constraints) {
    json["constraints"].push_back(
        {{"name", constraint.name}, {"binds", constraint.binds}, {"effect", constraint.effect}});
  }
  json["search"] = explained.search;
  json["runner_up"] = nullptr;
  if (!explained.runner_up.schedule.empty()) {
    json["runner_up"] = {{"tree", explained.runner_up.tree},
                         {"schedule", explained.runner_up.schedule},
                         {"cost_ns", explained.runner_up.cost_ns},
                         {"why", explained.runner_up.reason}};
  }
  return json;
}

/// `used`: what rests on it is taken, for what is not proven is refused.
Json proofs_json(const std::vector<ProofReport>& proofs) {
  Json json = Json::array();
  for (const ProofReport& proof : proofs) {
    json.push_back({{"kind", proof.kind},
                    {"claim", proof.claim},
                    {"verdict", proof.verdict},
                    {"counterexample", proof.counterexample},
                    {"used", proof.verdict == "proven"},
                    {"skeleton", proof.skeleton},
                    {"cached", proof.cached},
                    {"ms", proof.ms}});
  }
  return json;
}

/// Null where they are not asked for.
Json layouts_json(const Tensor& tensor, const std::vector<BlockFill>* layouts) {
  if (layouts == nullptr) return {};
  Json json = Json::array();
  for (const BlockFill& each : *layouts)
    json.push_back({{"layout", each.layout()}, {"fill", each.fill}, {"bytes", std::round(each.bytes(tensor))}});
  return json;
}

}  // namespace

std::string report_json(const Report& report, const std::map<std::string, double>& read_ms, bool ran) {
  Json json;
  json["weft"] = WEFT_VERSION;
  json["expression"] = report.expression;
  json["tree"] = report.tree;
  json["plan"] = {{"producer", report.plan.producer},
                  {"optimal", report.plan.optimal},
                  {"cost_ns", report.plan.cost_ns},
                  {"schedule", report.plan.schedule},
                  {"loops", report.plan.loops},
                  {"peak_bytes", report.plan.peak_bytes},
                  {"peak_is_estimate", report.plan.peak_is_estimate},
                  {"flops", report.plan.flops},
                  {"candidates", report.plan.candidates}};
  json["explanation"] = explanation_json(explanation_of(report));
  json["phases"] = {{"parse", report.phases.parse},       {"statistics", report.phases.statistics},
                    {"plan", report.phases.plan},         {"lower", report.phases.lower},
                    {"generate", report.phases.generate}, {"emit", report.phases.emit},
                    {"load", report.phases.load},         {"convert", report.phases.convert}};
  json["cache"] = {{"plan", report.plan_cache}};
  if (!report.kernel_cache.empty()) {
    json["cache"]["kernel"] = report.kernel_cache;
    json["specialization"] = report.specialization;
    json["object_bytes"] = report.object_bytes;
  }
  if (report.proofs) json["proofs"] = proofs_json(*report.proofs);
  json["threads"] = report.threads;
  json["predicted_ms"] = report.predicted_ms;
  json["read_ms"] = Json::object();
  for (const auto& [name, milliseconds] : read_ms) json["read_ms"][name] = milliseconds;
  if (ran) json["run_ms"] = report.run_ms;
  json["operands"] = Json::object();
  for (const auto& [name, operand] : report.operands) {
    json["operands"][name] = {{"extents", operand.extents},
                              {"nnz", operand.nnz},
                              {"format", operand.format},
                              {"scalar", operand.scalar},
                              {"bytes", operand.bytes}};
  }
  json["results"] = Json::object();
  for (const auto& [name, result] : report.results) {
    json["results"][name] = {{"extents", result.extents}, {"format", result.format}};
    if (result.nnz) json["results"][name]["nnz"] = *result.nnz;
    if (result.bytes) json["results"][name]["bytes"] = *result.bytes;
    if (!ran) continue;
    json["results"][name]["sum"] = result.sum;
    json["results"][name]["norm"] = result.norm;
  }
  return text(json);
}

std::string error_json(const Error& error) {
  return text({{"error", {{"kind", kind_name(error.kind)}, {"message", error.message}}}});
}

double density(const Tensor& tensor) {
  double density = static_cast<double>(tensor.nnz());
  for (const std::uint64_t extent : tensor.extents()) {
    if (extent == 0) return 0;
    density /= static_cast<double>(extent);
  }
  return density;
}

std::string info_json(const Tensor& tensor, const std::string& file, const Threads& threads, const std::vector<BlockFill>* layouts) {
  const Statistics& known = statistics(tensor, threads);
  Json json;
  json["weft"] = WEFT_VERSION;
  json["file"] = file;
  json["extents"] = tensor.extents();
  json["nnz"] = tensor.nnz();
  json["density"] = density(tensor);
  json["format"] = tensor.format().text();
  json["scalar"] = name(tensor.format().scalar);
  json["bytes"] = tensor.bytes();
  json["finite"] = known.finite();
  json["levels"] = Json::array();
  if (const Layout* const layout = tensor.format().layout.get()) {
    for (std::size_t level = 0; level < layout->levels.size(); ++level) {
      json["levels"].push_back({{"level", layout->level_text(level)},
                                {"kind", std::string(1, letter(tensor.format().levels[level].kind))},
                                {"extent", tensor.extent_of_level(level)},
                                {"positions", tensor.positions(level)}});
    }
    json["layouts"] = layouts_json(tensor, layouts);
    return text(json);
  }
  for (std::size_t level = 0; level < tensor.order(); ++level) {
    const FiberLengths fibers = known.fibers(level);
    const std::uint32_t mode = tensor.format().mode_order[level];
    json["levels"].push_back({{"mode", mode},
                              {"kind", std::string(1, letter(tensor.format().levels[level].kind))},
                              {"distinct", known.distinct(ModeSet{1} << mode)},
                              {"fiber_mean", fibers.mean},
                              {"fiber_maximum", fibers.maximum},
                              {"fiber_spread", fibers.spread}});
  }
  json["layouts"] = layouts_json(tensor, layouts);
  return text(json);
}

std::string cache_json(const DiskCacheStatus& status) {
  Json json{{"path", status.path},   {"entries", status.entries}, {"plans", status.plans}, {"proofs", status.proofs},
            {"bytes", status.bytes}, {"cap", status.cap},         {"unfinished", status.unfinished}};
  json["refused"] = status.refused.empty() ? Json() : Json(status.refused);
  return text(json);
}

}  // namespace weft
