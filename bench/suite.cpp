#include "bench/suite.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "bench/baseline.h"
#include "bench/demand.h"
#include "bench/prepared.h"
#include "bench/problem.h"
#include "bench/record.h"
#include "bench/reference.h"
#include "bench/wanted.h"
#include "frontend/parse.h"

namespace weft::bench {
namespace {

Resources with_threads(const Resources& resources, unsigned threads) {
  Resources other = resources;
  other.threads = Threads(threads);
  return other;
}

// What the results must be, by name: slices of the definition, and everything by hand for the last one.
struct Expectation {
  std::map<std::string, Slices> slices;
  std::string last;
};

Expected<Expectation> expectation(const Problem& problem, const std::map<std::string, Tensor>& named, const Resources& resources) {
  const auto parsed = parse_expression(problem.expression);
  if (!parsed) return std::unexpected(parsed.error());
  Expectation made;
  made.last = parsed->assignments.back().result.name;
  std::vector<std::pair<std::string, std::string>> defined = {{made.last, problem.defined_by()}};
  for (const ParsedAssignment& assignment : parsed->assignments)
    if (problem.results.contains(assignment.result.name))
      defined.emplace_back(assignment.result.name,
                           problem.expression.substr(assignment.span.begin, assignment.span.end - assignment.span.begin));
  for (const auto& [name, text] : defined) {
    auto slices = evaluate_slices(text, named, resources);
    if (!slices) return std::unexpected(slices.error());
    made.slices[name] = std::move(*slices);
  }
  return made;
}

// The results must be right with every number of threads before anything is timed, in every variant by hand.
Expected<void> verified(const Expectation& expected, BoundNetwork& binding, const std::vector<BaselineKernel>& by_hand,
                        const Resources& resources) {
  if (auto ran = binding.run(); !ran) return ran;
  const auto results = binding.results();
  if (!results) return std::unexpected(results.error());
  for (const auto& [name, slices] : expected.slices) {
    const Tensor& result = results->at(name);
    if (auto sound = verify(result, resources, name); !sound) return sound;
    if (auto right = check_slices(slices, result, resources); !right) return right;
  }
  for (const BaselineKernel& kernel : by_hand) {
    if (kernel.forget) kernel.forget();  // variants share their result: one that left something out would find it there
    kernel.run(resources.threads);
    const auto hand_result = kernel.result();
    if (!hand_result) return std::unexpected(hand_result.error());
    const std::string what = "the hand-written kernel" + (kernel.variant.empty() ? "" : " (" + kernel.variant + ")");
    if (auto equal = check_equal(results->at(expected.last), *hand_result, what, resources); !equal) return equal;
  }
  return {};
}

/// The variant that is the fastest in a few rounds; null if there is none.
const BaselineKernel* fastest(const std::vector<BaselineKernel>& by_hand, const Threads& threads) {
  if (by_hand.size() < 2) return by_hand.empty() ? nullptr : &by_hand.front();
  std::vector<std::function<void()>> runs;
  for (const BaselineKernel& kernel : by_hand) runs.push_back([&kernel, &threads] { kernel.run(threads); });
  const std::vector<Timing> timings = interleaved(runs, 0.1);
  const auto least = std::ranges::min_element(timings, {}, [](const Timing& timing) { return timing.quantile(0); });
  return &by_hand[static_cast<std::size_t>(least - timings.begin())];
}

Expected<void> add_limit(Record& record, const Problem& problem, const std::map<std::string, Tensor>& operands, const Roofs& roofs,
                         const Resources& resources) {
  const auto demand = demand_of(problem, operands, record.flops, record.result_mb * 1e6, resources);
  if (!demand) return std::unexpected(demand.error());
  const Limit limit = limit_of(*demand, roofs);
  record.roof = limit.roof;
  record.roof_ms = limit.ms;
  return {};
}

Expected<std::vector<Record>> measure(const Problem& problem, Data& data, const SuiteOptions& options, const std::vector<Roofs>& roofs,
                                      const Resources& resources) {
  const auto named = operands(problem, data, resources);
  if (!named) return std::unexpected(named.error());
  const auto prepared = prepare(problem, *named, resources);
  if (!prepared) return std::unexpected(prepared.error());
  const auto by_hand = make_baselines(problem, *named, resources);
  if (!by_hand) return std::unexpected(by_hand.error());
  const auto expected = expectation(problem, *named, resources);
  if (!expected) return std::unexpected(expected.error());

  std::vector<Record> records;
  for (const Roofs& of_threads : roofs) {
    Resources own = with_threads(resources, of_threads.threads);
    own.memory = Memory();  // an account of its own: of everything but the operands
    auto binding = prepared->kernel.bind(*named, own, false);
    if (!binding) return std::unexpected(binding.error());
    const double convert_ms = binding->convert_ms();
    if (auto right = verified(*expected, *binding, *by_hand, with_threads(resources, of_threads.threads)); !right)
      return std::unexpected(right.error());

    Expected<void> failure;
    std::vector<std::function<void()>> runs = {[&] {
      if (auto ran = run_whole(*binding); !ran) failure = ran;
    }};
    const BaselineKernel* const hand = fastest(*by_hand, own.threads);
    if (hand) runs.push_back([&] { hand->run(own.threads); });
    const std::vector<Timing> timings = interleaved(runs, options.seconds);
    if (!failure) return std::unexpected(failure.error());

    Record record;
    record.name = problem.name;
    record.threads = of_threads.threads;
    record.weft = timings[0];
    if (hand) record.baseline = timings[1];
    if (hand) record.variant = hand->variant;
    record.flops = prepared->kernel.plan().cost.flops;
    const auto results = binding->results();
    if (!results) return std::unexpected(results.error());
    for (const auto& [name, result] : *results) record.result_mb += static_cast<double>(result.bytes()) * 1e-6;
    record.peak_mb = static_cast<double>(own.memory.peak()) * 1e-6;
    record.phases = prepared->phases;
    record.phases.convert = convert_ms;
    record.schedule = print(prepared->kernel.plan().schedule, prepared->kernel.network());
    if (auto added = add_limit(record, problem, *named, of_threads, resources); !added) return std::unexpected(added.error());
    records.push_back(std::move(record));
  }
  return records;
}

// The first kernel of a process pays for pages that all later ones share; the table shows the later ones.
Expected<void> warm_up(const Resources& resources) {
  auto sparse = random_sparse({{10, 10}, 20, 1, 1}, resources);
  if (!sparse) return std::unexpected(sparse.error());
  auto dense = random_dense({10, 16}, 1, resources);
  if (!dense) return std::unexpected(dense.error());
  const auto prepared =
      prepare({.name = "warm-up", .expression = "A(i,r) = T(i,j) * B(j,r)", .data = {}}, {{"T", *sparse}, {"B", *dense}}, resources);
  if (!prepared) return std::unexpected(prepared.error());
  return {};
}

}  // namespace

int run_suite(const SuiteOptions& options) {
  const Resources resources;
  Data data(options.data, options.quick);
  const std::vector<Problem> all = problems(data);
  if (options.list) {
    for (const Problem& problem : all)
      if (wanted(problem.name, options.filters)) fmt::print("{:<38} {}\n", problem.name, problem.expression);
    return 0;
  }
  if (auto warm = warm_up(resources); !warm) {
    fmt::print(stderr, "error: {}\n", warm.error().message);
    return 1;
  }
  if (options.data.empty()) fmt::print("no --data DIR: synthetic tensors only\n");
  std::vector<Roofs> roofs;
  for (const unsigned threads : options.threads) {
    roofs.push_back(measure_roofs(Threads(threads)));
    fmt::print("{}", roofs_line(roofs.back()));
  }
  fmt::print("{}", table_head());
  std::vector<Record> records;
  std::string current;
  int failed = 0;
  for (const Problem& problem : all) {
    if (!wanted(problem.name, options.filters)) continue;
    // Problems over one tensor stand together; the largest would not all fit at once.
    if (problem.data != current) data.drop_all();
    current = problem.data;
    const auto measured = measure(problem, data, options, roofs, resources);
    if (!measured) {
      fmt::print("{:<38} FAILED: {}\n", problem.name, measured.error().message);
      ++failed;
      continue;
    }
    for (const Record& record : *measured) fmt::print("{}", table_row(record));
    if (options.plans) fmt::print("{}", measured->front().schedule);
    std::fflush(stdout);
    records.insert(records.end(), measured->begin(), measured->end());
  }
  if (!options.json.empty()) {
    if (auto written = write_json(options.json, records); !written) {
      fmt::print(stderr, "error: {}\n", written.error().message);
      ++failed;
    }
  }
  if (records.empty() && failed == 0) {
    fmt::print(stderr, "error: no problem has such a name; --list shows them\n");
    return 2;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace weft::bench
