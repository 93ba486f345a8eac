#include "bench/record.h"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weft::bench {
namespace {

using nlohmann::json;

// The first line of /proc/cpuinfo that names the processor.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

json to_json(const Record& record) {
  const Phases& phases = record.phases;
  json object = {{"name", record.name},
                 {"threads", record.threads},
                 {"weft_ms", record.weft.ms},
                 {"flops", record.flops},
                 {"variant", record.variant},
                 {"roof", record.roof},
                 {"roof_ms", record.roof_ms},
                 {"result_mb", record.result_mb},
                 {"peak_mb", record.peak_mb},
                 {"phases",
                  {{"statistics", phases.statistics},
                   {"plan", phases.plan},
                   {"lower", phases.lower},
                   {"generate", phases.generate},
                   {"emit", phases.emit},
                   {"load", phases.load},
                   {"convert", phases.convert}}},
                 {"schedule", record.schedule}};
  if (record.baseline) object["baseline_ms"] = record.baseline->ms;
  return object;
}

Record from_json(const json& object) {
  Record record;
  record.name = object.at("name").get<std::string>();
  record.threads = object.at("threads").get<unsigned>();
  record.weft.ms = object.at("weft_ms").get<std::vector<double>>();
  record.flops = object.at("flops").get<double>();
  record.variant = object.value("variant", std::string());
  record.roof = object.value("roof", std::string());
  record.roof_ms = object.value("roof_ms", 0.0);
  record.result_mb = object.value("result_mb", 0.0);
  record.peak_mb = object.value("peak_mb", 0.0);
  record.schedule = object.at("schedule").get<std::string>();
  const json& phases = object.at("phases");
  record.phases = {phases.at("statistics").get<double>(), phases.at("plan").get<double>(),
                   phases.at("lower").get<double>(),      phases.at("generate").get<double>(),
                   phases.at("emit").get<double>(),       phases.at("load").get<double>(),
                   phases.at("convert").get<double>()};
  if (object.contains("baseline_ms")) record.baseline = Timing{object.at("baseline_ms").get<std::vector<double>>()};
  return record;
}

}  // namespace

std::string table_head() {
  return fmt::format(
      "{:<38} {:>2} {:>10} {:>5} {:>10} {:>5} {:>6} {:>6} {:>7} {:>5} {:<8} | {:>6} {:>6} {:>6} {:>6} {:>6} {:>8} {:>8} {:>8} | {}\n",
      "problem", "t", "weft ms", "+-%", "by hand ms", "+-%", "ratio", "best", "GFLOP/s", "roof%", "roof", "plan", "lower", "gen", "emit",
      "load", "convert", "out MB", "peak MB", "by hand");
}

std::string table_row(const Record& record) {
  const double median = record.weft.median();
  const double fastest = record.weft.quantile(0);
  std::string hand = fmt::format("{:>10} {:>5} {:>6} {:>6}", "-", "-", "-", "-");
  if (record.baseline)
    hand = fmt::format("{:>10.3f} {:>5.1f} {:>6.2f} {:>6.2f}", record.baseline->median(), 100 * record.baseline->spread(),
                       median / record.baseline->median(), fastest / record.baseline->quantile(0));
  const std::string roof = fmt::format("{:>5.0f} {:<8}", 100 * record.roof_ms / fastest, record.roof);
  const Phases& phases = record.phases;
  return fmt::format(
      "{:<38} {:>2} {:>10.3f} {:>5.1f} {} {:>7.2f} {} | {:>6.2f} {:>6.2f} {:>6.2f} {:>6.2f} {:>6.2f} {:>8.1f} {:>8.1f} {:>8.1f} | {}\n",
      record.name, record.threads, median, 100 * record.weft.spread(), hand, record.flops / median * 1e-6, roof, phases.plan, phases.lower,
      phases.generate, phases.emit, phases.load, phases.convert, record.result_mb, record.peak_mb, record.variant);
}

Expected<void> write_json(const std::string& path, const std::vector<Record>& records) {
  json list = json::array();
  for (const Record& record : records) list.push_back(to_json(record));
  std::ofstream file(path);
  file << json{{"weft_bench", 1}, {"version", WEFT_VERSION}, {"processor", processor()}, {"records", list}}.dump(1) << '\n';
  file.close();
  if (!file) return input_error("cannot write " + path);
  return {};
}

Expected<std::vector<Record>> read_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) return input_error("cannot read " + path);
  try {
    std::vector<Record> records;
    const json whole = json::parse(file);
    for (const json& object : whole.at("records")) records.push_back(from_json(object));
    return records;
  } catch (const json::exception& error) {
    return input_error(path + " is no result of weft-bench: " + error.what());
  }
}

Expected<Comparison> compare(const std::string& old_path, const std::string& new_path) {
  const auto before = read_json(old_path);
  if (!before) return std::unexpected(before.error());
  const auto after = read_json(new_path);
  if (!after) return std::unexpected(after.error());
  std::map<std::pair<std::string, unsigned>, const Record*> known;
  for (const Record& record : *before) known[{record.name, record.threads}] = &record;
  Comparison comparison;
  comparison.text = fmt::format("{:<38} {:>2} {:>10} {:>10} {:>6}\n", "problem", "t", "old ms", "new ms", "ratio");
  double logarithms = 0;
  int compared = 0;
  for (const Record& record : *after) {
    const auto match = known.find({record.name, record.threads});
    if (match == known.end()) continue;
    const Timing& old_timing = match->second->weft;
    const double ratio = record.weft.median() / old_timing.median();
    const double noise = 2 * (record.weft.spread() + old_timing.spread());
    const char* verdict = std::abs(ratio - 1) <= noise ? "equal" : ratio < 1 ? "faster" : "SLOWER";
    comparison.text += fmt::format("{:<38} {:>2} {:>10.3f} {:>10.3f} {:>6.3f} {}\n", record.name, record.threads,
                                   old_timing.median(), record.weft.median(), ratio, verdict);
    logarithms += std::log(ratio);
    comparison.worst = std::max(comparison.worst, ratio);
    ++compared;
  }
  if (compared == 0) return input_error(old_path + " and " + new_path + " have no problem in common");
  comparison.text += fmt::format("{} problems, geometric mean of the ratios {:.3f}, worst {:.3f}\n", compared,
                                 std::exp(logarithms / compared), comparison.worst);
  return comparison;
}

}  // namespace weft::bench
