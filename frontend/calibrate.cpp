// weft calibrate: runs small kernels whose schedules are fixed and fits the constants of the cost model to their times.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/cache/cache_directory.h"
#include "engine/pipeline.h"
#include "engine/plan/cost/fit_machine.h"
#include "frontend/cache_sizes.h"
#include "frontend/calibration.h"
#include "frontend/calibration_probes.h"
#include "frontend/command.h"
#include "frontend/operand.h"
#include "frontend/parse.h"
#include "frontend/resolve.h"
#include "frontend/terminal.h"

namespace weft {
namespace {

constexpr int rounds = 3;            // of timing and fitting everything: their differences are the spread
constexpr int runs_of_a_kernel = 7;  // of a kernel in one round; the fastest counts

// The caches that the system tells of.
void take_caches(Machine& machine) {
  const std::array<double, 3> sizes = cache_sizes();
  constexpr std::array<double, 3> shares = {1, Machine::usable_second_cache, 1};
  for (std::size_t level = 0; level < sizes.size(); ++level) {
    if (sizes[level] > 0) machine.cache_bytes[level] = sizes[level] * shares[level];
  }
}

constexpr std::string_view fitted_names[] = {
    "stream_l1",     "stream_l2",     "stream_l3",   "stream_memory",   "gather_l1",    "gather_l2",  "gather_l3",
    "gather_memory", "range_step",    "drive_step",  "merge_step",      "search_base",  "search_halving", "gallop_base",
    "gallop_doubling", "table_lookup", "loop_entry", "fiber_entry",     "branch_miss",  "scalar_body", "scalar_factor",
    "vector_flop",   "vector_sum",    "reset_entry", "start_serial"};

// A probe that is compiled and bound.
struct Ready {
  std::string what;
  Network network;
  std::vector<OperandFacts> facts;
  Schedule schedule;
  std::vector<BoundNetwork> binding;  // one; a binding has no empty state
  double ns = 0;

  double predicted(const Machine& machine) const {
    PlanOptions options;
    options.machine = machine;
    options.machine.threads = 1;
    options.calls = std::numeric_limits<double>::max();
    return cost(schedule, Problem{network, facts, options}).ns;
  }
};

Expected<Ready> ready(const Probe& probe, const Pipeline& pipeline, const Resources& resources) {
  std::map<std::string, Tensor> tensors;
  std::vector<OperandShape> shapes;
  for (const OperandText& operand : probe.operands) {
    auto tensor = load_operand(operand.spec, std::nullopt, resources, operand.name);
    if (!tensor) return std::unexpected(tensor.error());
    shapes.push_back({operand.name, tensor->extents(), tensor->format().scalar});
    tensors[operand.name] = std::move(*tensor);
  }
  const auto parsed = parse_expression(probe.expression);
  if (!parsed) return std::unexpected(parsed.error());
  auto network = resolve(*parsed, shapes);
  if (!network) return std::unexpected(network.error());
  const auto schedule = parse_schedule(probe.schedule, *network);
  if (!schedule) return std::unexpected(schedule.error());
  Ready made{probe.what, std::move(*network), {}, *schedule, {}, 0};
  made.facts = pipeline.facts(made.network, tensors, {});
  const auto plan = plan_given(made.schedule, Problem{made.network, made.facts, {}});
  if (!plan) return std::unexpected(plan.error());
  auto kernel = pipeline.compile(made.network, *plan, made.facts);
  if (!kernel) return std::unexpected(kernel.error());
  auto binding = kernel->bind(tensors, resources, false);
  if (!binding) return std::unexpected(binding.error());
  made.binding.push_back(std::move(*binding));
  return made;
}

// Of an entry of a tensor whose modes change places, nothing of whose order is left, on all threads.
Expected<double> conversion_ns_of_entry(const Resources& resources) {
  constexpr std::uint64_t entries = 200'000;
  const auto tensor = load_operand(fmt::format("sparse(300x300x300,nnz={})", entries), std::nullopt, resources, "T");
  if (!tensor) return std::unexpected(tensor.error());
  Format format = sparse_format(3);
  format.mode_order = {2, 1, 0};
  double ns = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    if (const auto converted = convert(*tensor, format, resources, "T"); !converted) return std::unexpected(converted.error());
    ns = std::min(
        ns, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(entries));
  }
  return std::round(ns * 10) / 10;
}

Expected<void> time(Ready& probe) {
  probe.ns = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs_of_a_kernel; ++run) {
    const auto start = std::chrono::steady_clock::now();
    if (auto ran = probe.binding.front().run(); !ran) return ran;
    probe.ns = std::min(probe.ns, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  }
  return {};
}

double misfit(const std::vector<Ready>& all, const Machine& machine) {
  double sum = 0;
  for (const Ready& probe : all) {
    const double off = std::log(probe.predicted(machine) / probe.ns);
    sum += off * off;
  }
  return sum;
}

}  // namespace

Expected<void> calibrate(const CommandOptions& options) {
  std::string path = options.output;
  if (path.empty()) {
    const auto place = calibration_path();
    if (!place) return input_error("no place for the calibration: set HOME, XDG_CONFIG_HOME or WEFT_CALIBRATION, or give --output");
    path = *place;
    const std::string directory = path.substr(0, path.rfind('/'));
    if (path.find('/', 1) != std::string::npos) {
      if (auto made = make_directories(directory); !made) {
        return input_error(fmt::format("cannot make the directory {}: {}", directory, made.error().reason));
      }
    }
  }
  if (auto place = writable_place(path); !place) return place;
  auto resources = command_resources(options);
  if (!resources) return std::unexpected(resources.error());
  Machine machine;
  // At least two: with one no plan would have a root that runs in parallel, and what is measured on one CPU is read on all.
  machine.threads = std::max(2U, resources->threads.count());
  take_caches(machine);
  const auto convert_entry = conversion_ns_of_entry(*resources);
  if (!convert_entry) return std::unexpected(convert_entry.error());
  machine.convert_entry = *convert_entry;
  resources->threads = Threads(1);
  EngineOptions pipeline_options;
  pipeline_options.resources = *resources;
  pipeline_options.use_cache = false;
  const auto pipeline = Pipeline::create(std::move(pipeline_options));
  if (!pipeline) return std::unexpected(pipeline.error());

  const std::vector<Probe> wanted = calibration_probes(machine);
  std::vector<Ready> all;
  for (const Probe& probe : wanted) {
    if (resources->progress) resources->progress("preparing kernels", static_cast<double>(all.size()) / static_cast<double>(wanted.size()));
    auto made = ready(probe, *pipeline, *resources);
    if (!made) return std::unexpected(made.error());
    all.push_back(std::move(*made));
  }
  std::vector<Machine> fits;
  for (int round = 0; round < rounds; ++round) {
    if (resources->progress) resources->progress("measuring", static_cast<double>(round) / rounds);
    for (Ready& probe : all) {
      if (auto timed = time(probe); !timed) return timed;
    }
    fits.push_back(fit_machine(machine, fitted_names, [&](const Machine& tried) { return misfit(all, tried); }));
  }
  if (resources->progress) clear_progress();
  std::string summary = fmt::format("{:<16} {:>9}\n{:<16} {:>9}\n", "threads", machine.threads, "convert_entry", machine.convert_entry);
  for (std::size_t level = 0; level < machine.cache_bytes.size(); ++level)
    summary += fmt::format("cache_bytes_l{:<3} {:>9.0f}\n", level + 1, machine.cache_bytes[level]);
  for (const MachineConstant& constant : machine_constants()) {
    if (std::ranges::find(fitted_names, constant.name) == std::end(fitted_names)) continue;
    std::vector<double> values;
    for (Machine& fit : fits) values.push_back(constant.of(fit));
    std::ranges::sort(values);
    constant.of(machine) = values[rounds / 2];
    summary += fmt::format("{:<16} {:>9} +-{:.0f} %\n", constant.name, constant.of(machine),
                           50 * (values.back() - values.front()) / values[rounds / 2]);
  }
  double worst = 0;
  for (const Ready& probe : all) {
    const double ratio = probe.predicted(machine) / probe.ns;
    worst = std::max(worst, std::abs(std::log(ratio)));
    summary += fmt::format("{:<34} {:>11.0f} ns, predicted {:>11.0f}\n", probe.what, probe.ns, probe.predicted(machine));
  }
  if (auto written = write_text(path, "# written by weft calibrate\n" + print(machine)); !written) return written;
  if (options.quiet) return {};
  return write_text("", summary + fmt::format("predictions within a factor of {:.2f}; written to {}\n", std::exp(worst), path));
}

}  // namespace weft
