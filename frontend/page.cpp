#include "frontend/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/plan/explain/quantities.h"
#include "frontend/page_style.h"
#include "frontend/result_report.h"

namespace weft {
namespace {

constexpr std::size_t colours = 8;
constexpr std::size_t long_expression = 90;
constexpr double far_off = 1.5;  // a prediction that is further off than this is marked

std::string code(std::string_view text) { return fmt::format("<code>{}</code>", escaped(text)); }

double conversion_ns(const Explanation& explained) {
  double sum = 0;
  for (const ExplainedLayout& layout : explained.layouts) sum += layout.conversion_ns_a_run;
  return sum;
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string percent(double fraction) { return escaped(percent_text(fraction)); }

/// Digits in groups of three, held together by narrow spaces.
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t end = text.size(); end > 3;) text.insert(end -= 3, "&#8239;");
  return text;
}

std::string tile(std::string_view figure, std::string_view meaning) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", figure, meaning);
}

std::string section(std::string_view title, std::string_view content) {
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", title, content);
}

std::string producer_text(const std::string& producer) {
  if (producer == "dp") return "dynamic programming";
  if (producer == "z3") return "Z3";
  return producer;
}

std::string optimal_text(const std::string& optimal) {
  if (optimal == "all") return "the cheapest over all trees";
  if (optimal == "tree") return "the cheapest of its tree";
  return "not proven to be the cheapest";
}

std::string header(const Report& report, bool ran) {
  std::string text = fmt::format("<header>\n<p class=\"brand\">{}</p>\n<h1{}>{}</h1>\n<div class=\"tiles\">\n",
                                 ran ? "weft run" : "weft plan",
                                 report.expression.size() > long_expression ? " class=\"long\"" : "",
                                 code(report.expression));
  const auto& here = explanation_of(report).of_this_run;
  text += tile(time_text(here.ns), fmt::format("predicted for a run on {:g} thread{}", here.threads, here.threads == 1 ? "" : "s"));
  if (!report.run_ms.empty()) {
    const std::size_t runs = report.run_ms.size();
    text += tile(time_text(report.median_run_ms() * 1e6),
                 fmt::format("measured on {} thread{}{}", report.threads, report.threads == 1 ? "" : "s",
                             runs > 1 ? fmt::format(", median of {} runs", runs) : ", one run"));
  }
  text += tile(bytes_text(static_cast<double>(report.plan.peak_bytes)),
               report.plan.peak_is_estimate ? "memory at most, estimated" : "memory at most");
  text += tile(count_text(report.plan.flops), "floating-point operations");
  text += report.plan.producer == "user"
              ? tile("given", "by the user")
              : tile(escaped(producer_text(report.plan.producer)),
                     fmt::format("chose among {} candidate{}, {}", report.plan.candidates,
                                 report.plan.candidates == 1 ? "" : "s", optimal_text(report.plan.optimal)));
  return text + "</div>\n</header>\n";
}

// One sentence about the loop that costs most, one strip with every product's share.
std::string costs(const Report& report) {
  const Explanation& explained = explanation_of(report);
  const double converting = conversion_ns(explained);
  const double total = work_ns(explained);
  const auto dearest = std::ranges::max_element(explained.loops, {}, &ExplainedLoop::ns);
  if (dearest == explained.loops.end() || total <= 0) {
    return section("Where the time goes", "<p class=\"lead\">There is no loop: a scalar product.</p>\n");
  }
  const ExplainedStatement& statement = explained.statements[dearest->statement];
  std::string text = fmt::format(
      "<p class=\"lead\"><b>{}</b> of {} predicted for one thread's work is the loop over <b>{}</b> of {}: {} iterations, {}{}.</p>\n",
      percent(share(dearest->ns, total)), time_text(total), escaped(dearest->index), code(statement.text), count_text(dearest->iterations),
      escaped(dearest->how), dearest->vector ? ", as vector code" : "");
  if (converting > dearest->ns) {
    text = fmt::format("<p class=\"lead\"><b>{}</b> of {} predicted for one thread's work is converting operands, which pays with more "
                       "calls (--calls).</p>\n",
                       percent(share(converting, total)), time_text(total)) + text;
  }
  text += "<div class=\"strip\">";
  std::string key;
  for (std::size_t number = 0; number < explained.statements.size(); ++number) {
    const ExplainedStatement& each = explained.statements[number];
    const double part = share(each.ns, total);
    text += fmt::format("<i class=\"{}\" style=\"width:{:.2f}%\" title=\"{}\"></i>", colour_class(number), 100 * part,
                        escaped(each.text));
    key += fmt::format("<li class=\"{}\"><span class=\"dot\"></span>{} {} <span class=\"soft\">{}</span></li>\n",
                       colour_class(number), code(each.text), percent(part), time_text(each.ns));
  }
  if (converting > 0) {
    text += fmt::format("<i class=\"plain\" style=\"width:{:.2f}%\" title=\"conversions\"></i>", 100 * share(converting, total));
    key += fmt::format("<li class=\"plain\"><span class=\"dot\"></span>conversions of operands {} <span class=\"soft\">{} a run"
                       "</span></li>\n",
                       percent(share(converting, total)), time_text(converting));
  }
  return section("Where the time goes, as predicted", text + "</div>\n<ul class=\"key\">\n" + key + "</ul>\n");
}

std::string ratio(double counted, double predicted) {
  if (predicted <= 0) return "";
  const double by = counted / predicted;
  const bool off = by > far_off || by < 1 / far_off;
  return fmt::format("<span{}>×{}</span>", off ? " class=\"far\"" : "", by < 100 ? fmt::format("{:.2g}", by) : count_text(by));
}

class NestTable {
 public:
  NestTable(const Explanation& explained, std::size_t runs)
      : explained_(explained), total_(work_ns(explained)), of_which_(runs > 1 ? " in the fastest run" : "") {
    counted_ = std::ranges::any_of(explained.loops, [](const ExplainedLoop& loop) { return loop.counted.has_value(); });
    for (const ExplainedLoop& loop : explained.loops) dearest_ = std::max(dearest_, loop.ns);
  }

  std::string write() {
    std::string text = fmt::format(
        "<div class=\"scroll\"><table class=\"nest\">\n<thead><tr><th>loop</th><th>share of the work</th>"
        "<th class=\"n\">iterations</th>{}<th class=\"n\">steps</th><th class=\"n\">operations</th>"
        "<th class=\"n\">moved</th><th class=\"n\">predicted, one thread</th></tr></thead>\n<tbody>\n",
        counted_ ? "<th class=\"n\">counted</th><th class=\"n\">off by</th>" : "");
    for (std::size_t number = 0; number < explained_.statements.size(); ++number) {
      for (const ExplainedNest& nest : explained_.nests) {
        if (nest.statement == number) text += times(nest);
      }
      for (const ExplainedLoop& loop : explained_.loops) {
        if (loop.statement == number) text += row(loop);
      }
      text += product(number);
    }
    return text + "</tbody></table></div>\n";
  }

 private:
  // "predicted 2.93 ms on 2 threads, measured 1.70 ms, 21 GB/s through caches and memory", above a nest.
  std::string times(const ExplainedNest& nest) const {
    const auto& here = explained_.of_this_run;
    std::string text = fmt::format("predicted <b>{}</b> on {:g} thread{}", time_text(nest.ns), here.threads, here.threads == 1 ? "" : "s");
    if (nest.measured_ms) {
      text += fmt::format(", measured <b>{}</b>{}{}", time_text(*nest.measured_ms * 1e6), of_which_,
                          bandwidth(nest, *nest.measured_ms * 1e6));
    } else {
      text += bandwidth(nest, nest.ns);
    }
    return fmt::format("<tr class=\"times\"><td colspan=\"{}\">{}</td></tr>\n", counted_ ? 9 : 7, text);
  }

  static std::string bandwidth(const ExplainedNest& nest, double ns) {
    return nest.bytes > 0 && ns > 0 ? fmt::format(", {}/s through caches and memory", bytes_text(nest.bytes / ns * 1e9))
                                    : "";
  }

  static std::string indent(std::size_t depth) { return fmt::format("style=\"padding-left:{:.2f}em\"", 1.1 * static_cast<double>(depth)); }

  std::string row(const ExplainedLoop& loop) const {
    const double part = share(loop.ns, total_);
    std::string text = fmt::format(
        "<tr class=\"{}{}\"><td class=\"loop\"><div {}><span class=\"for\"><code>for {}</code>{}{}</span>"
        "<span class=\"how\">{}</span></div></td>",
        colour_class(loop.statement), loop.ns >= dearest_ && dearest_ > 0 ? " hot" : "",
        indent(loop.depth), escaped(loop.index), loop.parallel ? "<span class=\"chip\">parallel</span>" : "",
        loop.vector ? "<span class=\"chip\">vector</span>" : "", escaped(loop.how));
    text += fmt::format("<td><div class=\"track\"><span class=\"bar\" style=\"width:{:.2f}%\"></span></div></td>",
                        100 * share(loop.ns, dearest_));
    text += fmt::format("<td class=\"n\">{}</td>", count_text(loop.iterations));
    if (counted_) {
      text += loop.counted ? fmt::format("<td class=\"n\">{}</td><td class=\"n\">{}</td>", grouped(*loop.counted),
                                         ratio(static_cast<double>(*loop.counted), loop.iterations))
                           : "<td></td><td></td>";
    }
    return text + fmt::format("<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
                              "<td class=\"n\">{} <span class=\"soft\">{}</span></td></tr>\n",
                              count_text(loop.steps), count_text(loop.flops), bytes_text(loop.bytes), time_text(loop.ns),
                              percent(part));
  }

  std::string product(std::size_t number) const {
    const ExplainedStatement& statement = explained_.statements[number];
    std::string figures;
    if (counted_) {
      figures = statement.counted ? fmt::format("<td class=\"n soft\">{}</td><td></td>", grouped(*statement.counted))
                                  : "<td></td><td></td>";
    }
    return fmt::format(
        "<tr class=\"{}\"><td class=\"loop\" colspan=\"2\"><div class=\"product\" {}><span class=\"dot\"></span>{}</div></td>"
        "<td class=\"n soft\">{}</td>{}<td></td><td></td><td></td><td></td></tr>\n",
        colour_class(number), indent(statement.loops.size()), code(statement.text), count_text(statement.iterations), figures);
  }

  const Explanation& explained_;
  double total_ = 0;
  std::string of_which_;  ///< what the measured times are of
  double dearest_ = 0;
  bool counted_ = false;
};

std::string reasons(const Report& report) {
  const Explanation& explained = explanation_of(report);
  std::string text = "<ul class=\"why\">\n";
  for (const std::string& sentence : explained.search) text += fmt::format("<li>{}.</li>\n", escaped(sentence));
  for (const ExplainedConstraint& constraint : explained.constraints) {
    text += fmt::format("<li><b>{}</b><span class=\"chip {}\">{}</span> {}</li>\n", escaped(constraint.name),
                        constraint.binds ? "on" : "off", constraint.binds ? "binds" : "does not bind",
                        escaped(constraint.effect));
  }
  if (explained.constraints.empty()) text += "<li>Nothing was pinned and no limit was set: the planner was free.</li>\n";
  if (explained.runner_up.schedule.empty()) {
    text += "<li>There is no other schedule to compare with.</li>\n";
  } else {
    text += fmt::format("<li>The runner-up, {}, is predicted to take {} on {:g} threads, for which plans are chosen: {}.</li>\n",
                        code(explained.runner_up.tree), time_text(explained.runner_up.cost_ns),
                        explained.threads, escaped(explained.runner_up.reason));
  }
  text += "</ul>\n";
  if (!explained.runner_up.schedule.empty()) {
    text += fmt::format("<details><summary>schedule of the runner-up</summary><pre>{}</pre></details>\n",
                        escaped(explained.runner_up.schedule));
  }
  return section("Why this plan", text);
}

std::string layouts(const Report& report) {
  std::string text = "<div class=\"scroll\"><table>\n<thead><tr><th>tensor</th><th>role</th><th>layout</th><th>scalar</th>"
                     "<th class=\"n\">stored entries</th><th>why</th></tr></thead>\n<tbody>\n";
  for (const ExplainedLayout& layout : explanation_of(report).layouts) {
    std::string entries;
    const std::string name = layout.name.substr(0, layout.name.find('.'));
    if (const auto operand = report.operands.find(name); operand != report.operands.end()) {
      entries = count_text(static_cast<double>(operand->second.nnz));
    } else if (const auto result = report.results.find(name); result != report.results.end()) {
      if (result->second.nnz) entries = count_text(static_cast<double>(*result->second.nnz));
    }
    text += fmt::format("<tr><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                        code(layout.name), layout.role, layout.converted ? "<span class=\"chip on\">converted</span>" : "",
                        layout.format.empty() ? "scalar" : code(layout.format), escaped(layout.scalar), entries,
                        escaped(layout.reason));
  }
  return section("Layouts", text + "</tbody></table></div>\n");
}

std::string bars(const std::vector<std::pair<std::string, double>>& amounts, std::string (*figure)(double)) {
  double most = 0;
  for (const auto& [name, amount] : amounts) most = std::max(most, amount);
  std::string text = "<div class=\"scroll\"><table class=\"wide plain\"><tbody>\n";
  for (const auto& [name, amount] : amounts) {
    text += fmt::format("<tr><td>{}</td><td class=\"track\"><span class=\"bar\" style=\"width:{:.2f}%\"></span></td>"
                        "<td class=\"n\">{}</td></tr>\n",
                        escaped(name), 100 * share(amount, most), figure(amount));
  }
  return text + "</tbody></table></div>\n";
}

std::string memory(const Report& report) {
  std::vector<std::pair<std::string, double>> amounts;
  for (const ExplainedMemory& demand : explanation_of(report).memory) {
    amounts.emplace_back(demand.name, static_cast<double>(demand.bytes));
  }
  std::ranges::sort(amounts, [](const auto& left, const auto& right) {
    return left.second != right.second ? left.second > right.second : left.first < right.first;
  });
  amounts.emplace_back("at most at once", static_cast<double>(report.plan.peak_bytes));
  std::string text = bars(amounts, bytes_text);
  if (!explanation_of(report).workspaces.empty()) {
    text += "<h3>Intermediates</h3>\n<div class=\"scroll\"><table>\n<thead><tr><th>name</th><th>stored over</th>"
            "<th class=\"n\">bytes at once</th><th>lives</th></tr></thead>\n<tbody>\n";
    for (const ExplainedWorkspace& workspace : explanation_of(report).workspaces) {
      text += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n", code(workspace.name),
                          workspace.indices.empty() ? "one scalar" : code(fmt::format("{}", fmt::join(workspace.indices, ", "))),
                          bytes_text(static_cast<double>(workspace.bytes)), escaped(workspace.place));
    }
    text += "</tbody></table></div>\n";
  }
  return section("Memory", text);
}

std::string phases(const Report& report, const std::map<std::string, double>& read_ms) {
  std::vector<std::pair<std::string, double>> amounts;
  for (const auto& [name, milliseconds] : read_ms) amounts.emplace_back("read " + name, milliseconds * 1e6);
  const auto& spent = report.phases;
  for (const auto& [name, milliseconds] :
       {std::pair{"parse", spent.parse}, {"statistics", spent.statistics},
        {report.plan_cache == "hit" ? "plan, remembered" : "plan", spent.plan}, {"lower", spent.lower},
        {"generate", spent.generate}, {"emit", spent.emit}, {"load", spent.load}, {"convert", spent.convert}}) {
    amounts.emplace_back(name, milliseconds * 1e6);
  }
  if (!report.run_ms.empty()) amounts.emplace_back("run", report.median_run_ms() * 1e6);
  return section("Phases, measured", bars(amounts, time_text));
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

double work_ns(const Explanation& explained) {
  double sum = conversion_ns(explained);
  for (const ExplainedLoop& loop : explained.loops) sum += loop.ns;
  return sum;
}

std::string percent_text(double fraction) {
  return fraction > 0 && fraction < 0.01 ? "< 1 %" : fmt::format("{:.0f} %", 100 * fraction);
}

std::string colour_class(std::size_t statement) { return fmt::format("c{}", statement % colours); }

std::string page(const Report& report, const std::map<std::string, double>& read_ms, bool ran) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>weft: {}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n",
      escaped(report.expression), page_style);
  text += header(report, ran);
  text += costs(report);
  text += section("Loop nest", NestTable(explanation_of(report), report.run_ms.size()).write());
  text += section("Contraction tree", fmt::format("<div class=\"scroll picture\">{}</div>\n"
                                                  "<p class=\"soft\">Shares and times are predicted, for one thread.</p>\n",
                                                  tree_picture(explanation_of(report))));
  text += reasons(report);
  text += layouts(report);
  text += memory(report);
  text += phases(report, read_ms);
  text += section("Texts", fmt::format("<details><summary>schedule, as --schedule reads it</summary><pre>{}</pre></details>\n"
                                       "<details><summary>loop programs</summary><pre>{}</pre></details>\n",
                                       escaped(report.plan.schedule), escaped(report.plan.loops)));
  return text + fmt::format("<footer>weft {}</footer>\n</main>\n</body>\n</html>\n", WEFT_VERSION);
}

}  // namespace weft
