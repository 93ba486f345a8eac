#include "bench/exam_record.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft::bench {
namespace {

using nlohmann::json;

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    const double shared = static_cast<double>(first + last) / 2;
    for (std::size_t place = first; place <= last; ++place) rank[order[place]] = shared;
    first = last + 1;
  }
  return rank;
}

std::string summary_line(const char* what, std::vector<ExamRecord> records) {
  if (records.empty()) return {};
  const auto ranked = [&](auto figure) {
    std::vector<double> values;
    for (const ExamRecord& record : records) values.push_back(figure(record));
    std::ranges::sort(values);
    return values;
  };
  const std::vector<double> regrets = ranked([](const ExamRecord& record) { return record.regret(); });
  const std::vector<double> correlations = ranked([](const ExamRecord& record) { return record.correlation(); });
  const std::vector<double> plans = ranked([](const ExamRecord& record) { return record.plan_ms; });
  const std::size_t middle = (regrets.size() - 1) / 2;
  const auto within = std::ranges::upper_bound(regrets, 1.25) - regrets.begin();
  const std::vector<double> excess =
      ranked([](const ExamRecord& record) { return record.regret() - record.counted_regret(); });
  return fmt::format(
      "{:<10} {:>3} networks: regret median {:.2f}, worst {:.2f}, {} within 1.25, {:+.2f} at most over the choice by exact counts; "
      "correlation median {:.2f}; plan median {:.2f} ms\n",
      what, regrets.size(), regrets[middle], regrets.back(), within, excess.back(), correlations[middle], plans[middle]);
}

}  // namespace

double rank_correlation(const std::vector<double>& left, const std::vector<double>& right) {
  const std::vector<double> a = ranks(left);
  const std::vector<double> b = ranks(right);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double both = 0;
  double first = 0;
  double second = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    both += (a[n] - mean) * (b[n] - mean);
    first += (a[n] - mean) * (a[n] - mean);
    second += (b[n] - mean) * (b[n] - mean);
  }
  return first > 0 && second > 0 ? both / std::sqrt(first * second) : std::numeric_limits<double>::quiet_NaN();
}

double ExamRecord::correlation() const {
  std::vector<double> costs;
  std::vector<double> times;
  for (const TimedSchedule& one : timed) {
    costs.push_back(one.cost_ns);
    times.push_back(one.abandoned ? std::numeric_limits<double>::infinity() : one.ms);
  }
  return rank_correlation(costs, times);
}

std::string exam_head() {
  return fmt::format("{:<28} {:>5} {:>9} {:>9} {:>6} {:>7} {:>5} {:>6} {:>7} {:>7}\n", "network", "plans", "chosen ms", "best ms",
                     "regret", "counted", "rank", "pred.", "plan ms", "count ms");
}

std::string exam_row(const ExamRecord& record) {
  const std::string earlier = !record.earlier_ms ? ""
                                                 : fmt::format("  {:.2f} times the {:.3f} ms of the earlier choice",
                                                               record.chosen_ms / *record.earlier_ms, *record.earlier_ms);
  return fmt::format("{:<28} {:>5} {:>9.3f} {:>9.3f} {:>6.2f} {:>7.2f} {:>5.2f} {:>6.2f} {:>7.2f} {:>7.1f}{}{}\n", record.name,
                     record.timed.size(), record.chosen_ms, record.best_ms, record.regret(), record.counted_regret(),
                     record.correlation(), record.cost_ns * 1e-6 / record.chosen_ms, record.plan_ms, record.sampling_ms,
                     record.held_out ? "  held out" : "", earlier);
}

std::string exam_summary(const std::vector<ExamRecord>& records) {
  std::vector<ExamRecord> fitted;
  std::vector<ExamRecord> held;
  for (const ExamRecord& record : records) (record.held_out ? held : fitted).push_back(record);
  return summary_line("fitted", fitted) + summary_line("held out", held);
}

Expected<void> write_exam(const std::string& path, const std::vector<ExamRecord>& records) {
  json list = json::array();
  for (const ExamRecord& record : records) {
    json timed = json::array();
    for (const TimedSchedule& one : record.timed)
      timed.push_back({{"schedule", one.text}, {"cost_ns", one.cost_ns}, {"ms", one.ms}, {"abandoned", one.abandoned}});
    list.push_back({{"name", record.name},
                    {"held_out", record.held_out},
                    {"plan_ms", record.plan_ms},
                    {"sampling_ms", record.sampling_ms},
                    {"chosen_ms", record.chosen_ms},
                    {"best_ms", record.best_ms},
                    {"counted_ms", record.counted_ms},
                    {"regret", record.regret()},
                    {"rank_correlation", record.correlation()},
                    {"chosen", record.chosen},
                    {"best", record.best},
                    {"timed", std::move(timed)}});
  }
  std::ofstream file(path);
  file << json{{"weft_bench_plans", 1}, {"version", WEFT_VERSION}, {"networks", list}}.dump(1) << '\n';
  file.close();
  if (!file) return input_error("cannot write " + path);
  return {};
}

namespace {

// The networks of a file that write_exam wrote, each given to `take`.
template <class Take>
Expected<void> read_networks(const std::string& path, const Take& take) {
  std::ifstream file(path);
  if (!file) return input_error("cannot read " + path);
  try {
    const json whole = json::parse(file);
    for (const json& network : whole.at("networks")) take(network.at("name").get<std::string>(), network);
  } catch (const json::exception& error) {
    return input_error(path + " is no result of weft-bench plans: " + error.what());
  }
  return {};
}

}  // namespace

Expected<std::map<std::string, std::map<std::string, double>>> read_exam(const std::string& path) {
  std::map<std::string, std::map<std::string, double>> known;
  auto read = read_networks(path, [&](const std::string& name, const json& network) {
    for (const json& one : network.at("timed")) {
      const double ms = one.at("ms").get<double>();
      known[name][one.at("schedule").get<std::string>()] = one.at("abandoned").get<bool>() ? -ms : ms;
    }
  });
  if (!read) return std::unexpected(read.error());
  return known;
}

Expected<std::map<std::string, std::string>> read_choices(const std::string& path) {
  std::map<std::string, std::string> chosen;
  auto read =
      read_networks(path, [&](const std::string& name, const json& network) { chosen[name] = network.at("chosen").get<std::string>(); });
  if (!read) return std::unexpected(read.error());
  return chosen;
}

}  // namespace weft::bench
