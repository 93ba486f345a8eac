#include "bench/suite.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "bench/baseline.h"
#include "bench/prepared.h"
#include "bench/problem.h"
#include "bench/record.h"
#include "bench/reference.h"

namespace weft::bench {
namespace {

bool wanted(const std::string& name, const std::vector<std::string>& filters) {
  return filters.empty() || std::ranges::any_of(filters, [&](const std::string& filter) {
           return name.find(filter) != std::string::npos;
         });
}

Resources with_threads(const Resources& resources, unsigned threads) {
  Resources other = resources;
  other.threads = Threads(threads);
  return other;
}

// The result must be right with every number of threads before anything is timed.
Expected<void> verified(const Problem& problem, const std::map<std::string, Tensor>& named, Binding& binding,
                        const BaselineRun& by_hand, Buffer& hand_result, const Resources& resources) {
  if (auto ran = binding.run(); !ran) return ran;
  const auto results = binding.results();
  if (!results) return std::unexpected(results.error());
  const Tensor result = results->begin()->second;
  if (by_hand) {
    by_hand(resources.threads, hand_result.as<double>().data());
    if (auto equal = check_equal(result, hand_result.as<double>().data(), "the hand-written kernel"); !equal) return equal;
  }
  if (problem.baseline == Baseline::four_sparse) return {};
  return check_slices(problem.expression, named, result, resources);
}

Expected<std::vector<Record>> measure(const Problem& problem, Data& data, const SuiteOptions& options,
                                      const Resources& resources) {
  const auto named = operands(problem, data, resources);
  if (!named) return std::unexpected(named.error());
  const auto prepared = prepare(problem.expression, *named, resources);
  if (!prepared) return std::unexpected(prepared.error());
  const auto by_hand = make_baseline(problem, *named, resources);
  if (!by_hand) return std::unexpected(by_hand.error());

  std::vector<Record> records;
  std::optional<Buffer> hand_result;
  for (const unsigned threads : options.threads) {
    const Resources own = with_threads(resources, threads);
    auto binding = prepared->kernel.bind(*named, own, false);
    if (!binding) return std::unexpected(binding.error());
    if (!hand_result) {
      const auto results = binding->results();
      if (!results) return std::unexpected(results.error());
      auto buffer = Buffer::allocate(results->begin()->second.values.size_bytes(), resources.memory, "result");
      if (!buffer) return std::unexpected(buffer.error());
      hand_result = std::move(*buffer);
    }
    if (auto right = verified(problem, *named, *binding, *by_hand, *hand_result, own); !right)
      return std::unexpected(right.error());

    Expected<void> failure;
    std::vector<std::function<void()>> runs = {[&] {
      if (auto ran = binding->run(); !ran) failure = ran;
    }};
    if (*by_hand) runs.push_back([&] { (*by_hand)(own.threads, hand_result->as<double>().data()); });
    const std::vector<Timing> timings = interleaved(runs, options.seconds);
    if (!failure) return std::unexpected(failure.error());

    Record record;
    record.name = problem.name;
    record.threads = threads;
    record.weft = timings[0];
    if (timings.size() > 1) record.baseline = timings[1];
    record.flops = prepared->kernel.plan().cost.flops;
    record.phases = prepared->phases;
    record.phases.convert = binding->convert_ms();
    record.schedule = print(prepared->kernel.plan().schedule, prepared->kernel.network());
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
  const auto prepared = prepare("A(i,r) = T(i,j) * B(j,r)", {{"T", *sparse}, {"B", *dense}}, resources);
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
  fmt::print("{}", table_head());
  std::vector<Record> records;
  std::string current;
  int failed = 0;
  for (const Problem& problem : all) {
    if (!wanted(problem.name, options.filters)) continue;
    // Problems over one tensor stand together; the largest would not all fit at once.
    if (problem.data != current) data.drop_all();
    current = problem.data;
    const auto measured = measure(problem, data, options, resources);
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
