#include "frontend/told_layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/explain/quantities.h"

namespace weft {
namespace {

double places(const OperandFacts& operand) {
  return operand.stored != nullptr ? static_cast<double>(operand.stored->nnz()) : operand.statistics.nnz();
}

std::string converted(const std::string& name, const Format& from, const Format& to) {
  return fmt::format("{} from {} to {}", name, from.text(), to.text());
}

}  // namespace

void ToldLayouts::laid_out(const std::string& name, const OperandFacts& given, const OperandFacts& stored, bool chosen) {
  if (stored.format.text() == given.format.text()) return;
  Told& told = told_[name];
  told.from = given.format.text();
  const double fill = places(stored) > 0 ? 100 * places(given) / places(stored) : 100;
  const bool may_be_full = stored.format.layout || stored.format.all_dense();
  const std::string full = may_be_full ? fmt::format(", {:.0f} % full", fill) : "";
  const std::string reason = chosen ? "chosen for its price" + full : "as its layout is pinned";
  told.steps.push_back(fmt::format("to {}, {}", stored.format.text(), reason));
  told.ns = conversion_ns(given.format, places(given), stored.format, places(stored), machine_);
  (chosen ? chosen_ : pinned_).push_back(converted(name, given.format, stored.format));
}

void ToldLayouts::taken_full(const std::string& name, const Format& format, double places, double entries) {
  full_.push_back(fmt::format("{} in {}, {:.0f} places for {:.0f} entries", name, format.text(), places, entries));
}

void ToldLayouts::read(const std::string& name, const Tensor& given, const Tensor& stored, const ExposedTensor& as) {
  const bool padded = !as.reach.empty();
  met_.push_back(padded ? fmt::format("{}, with zeros around it", name) : converted(name, given.format(), *as.read_in));
  Told& told = told_[name];
  if (told.from.empty()) told.from = given.format().text();
  told.steps.push_back(padded ? "with zeros around it" : fmt::format("to {}, as the loops read it", as.read_in->text()));
  told.ns += conversion_ns(given.format(), static_cast<double>(given.nnz()), stored.format(), static_cast<double>(stored.nnz()), machine_);
}

void ToldLayouts::exposed(const Exposure& exposure, const std::map<std::string, const Tensor*>& given,
                          const std::map<std::string, Format>& pinned) {
  definitions_ = exposure.definitions;
  for (TensorId tensor = 0; tensor < exposure.tensors.size(); ++tensor) {
    const ExposedTensor& read = exposure.tensors[tensor];
    const TensorDeclaration& declared = exposure.given.tensors[tensor];
    if (declared.is_result || !read.read_in) continue;
    Told& told = told_[declared.name];
    told.format = read.read_in->text();
    const bool in_place = told.steps.empty() && given.contains(declared.name) && !read.read_in->all_dense();
    if (read.at_digits) {
      told.kept = "kept: looked up at sums of digits";
    } else if (read.located) {
      if (!told.steps.empty()) told.then = "located through its layout";
    } else if (in_place) {
      told.kept = pinned.contains(declared.name) ? "kept: given as its layout is pinned" : "kept: its levels are read as they are given";
    }
  }
}

void ToldLayouts::handed_over(const std::string& name, const ExposedTensor& computed, const Format& format) {
  Told& told = told_[name];
  if (!computed.parts.empty()) told.format = format.text();
  else if (computed.handed_over) told.then = fmt::format("converted to {} after every run", format.text());
}

void ToldLayouts::into(Explanation& explained, double calls) const {
  for (const auto& [name, told] : told_) {
    if (told.steps.empty()) continue;
    const double a_run = told.ns / std::max(1.0, calls);
    explained.beside_plan_ns += a_run;
    explained.of_this_run.ns += a_run;
    explained.of_this_run.conversion_ns += a_run;
  }
  for (ExplainedLayout& layout : explained.layouts) {
    const auto known = told_.find(layout.name.substr(0, layout.name.find('.')));
    if (known == told_.end() || layout.role == "intermediate") continue;
    const Told& told = known->second;
    const bool by_plan = layout.converted;
    if (!told.format.empty() && !by_plan) layout.format = told.format;
    if (!told.kept.empty() && !by_plan) layout.reason = told.kept;
    if (!told.steps.empty()) {
      const double a_run = told.ns / std::max(1.0, calls);
      const std::string before =
          fmt::format("converted from {} {}; {} once, {} a run over {:.6g} {}", told.from, fmt::join(told.steps, ", and "),
                      time_text(told.ns), time_text(a_run), calls, calls == 1 ? "call" : "calls");
      layout.reason = by_plan ? fmt::format("{}; then {}", before, layout.reason) : before;
      layout.converted = true;
      layout.conversion_ns += told.ns;
      layout.conversion_ns_a_run += a_run;
    }
    if (!told.then.empty()) layout.reason += "; " + told.then;
  }
}

std::string ToldLayouts::text() const {
  std::string lines;
  const auto add = [&](std::string_view what, const std::vector<std::string>& texts, std::string_view separator) {
    if (!texts.empty()) lines += fmt::format("{}{}\n", what, fmt::join(texts, separator));
  };
  add("planned over the levels of layouts, with ", definitions_, ", ");
  add("converted before the run, as their layouts are pinned: ", pinned_, "; ");
  add("converted before the run, as their layouts are chosen: ", chosen_, "; ");
  add("blocks are taken to be full, as figures do not tell: ", full_, "; ");
  add("converted before the run, to meet these: ", met_, "; ");
  return lines;
}

}  // namespace weft
