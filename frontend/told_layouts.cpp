#include "frontend/told_layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/plan/explain/quantities.h"

namespace weft {

void tell_layouts(Explanation& explained, const std::map<std::string, ToldLayout>& told, double calls) {
  for (ExplainedLayout& layout : explained.layouts) {
    const auto known = told.find(layout.name.substr(0, layout.name.find('.')));
    if (known == told.end() || layout.role == "intermediate") continue;
    const auto& [format, kept, from, steps, then, ns] = known->second;
    const bool by_plan = layout.converted;
    if (!format.empty() && !by_plan) layout.format = format;
    if (!kept.empty() && !by_plan) layout.reason = kept;
    if (!steps.empty()) {
      const std::string laid_out = fmt::format("converted from {} {}; {} once, {} a run over {:.6g} {}", from, fmt::join(steps, ", and "),
                                               time_text(ns), time_text(ns / std::max(1.0, calls)), calls, calls == 1 ? "call" : "calls");
      layout.reason = by_plan ? fmt::format("{}; then {}", laid_out, layout.reason) : laid_out;
      layout.converted = true;
      layout.conversion_ns += ns;
      layout.conversion_ns_a_run += ns / std::max(1.0, calls);
    }
    if (!then.empty()) layout.reason += "; " + then;
  }
}

}  // namespace weft
