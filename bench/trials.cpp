#include "bench/trials.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "bench/prepared.h"
#include "frontend/parse.h"
#include "frontend/resolve.h"

namespace weft::bench {
namespace {

constexpr double few_runs_ms = 1.5;     // of repeated runs that a trial spends at least
constexpr int most_runs = 12;
constexpr double tolerance = 1e-9;      // relative; sums of integers beyond 2^53 depend on their order

// Cancels what runs when the time is up.
class Deadline {
 public:
  Deadline(Cancellation cancellation, double ms)
      : thread_([this, cancellation, ms](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          const auto limit = std::chrono::duration<double, std::milli>(ms);
          if (!changed_.wait_for(lock, stop, limit, [&] { return stop.stop_requested(); })) cancellation.cancel();
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace

Trials::Trials(Pipeline pipeline, Network network, std::map<std::string, Tensor> operands, PlanOptions options)
    : pipeline_(std::move(pipeline)),
      network_(std::move(network)),
      operands_(std::move(operands)),
      options_(std::move(options)),
      facts_(pipeline_.facts(network_, operands_, {})) {}

Expected<Trials> Trials::create(Network network, std::map<std::string, Tensor> operands, PlanOptions options,
                                const Resources& resources) {
  EngineOptions pipeline_options;
  pipeline_options.resources = resources;
  auto pipeline = Pipeline::create(std::move(pipeline_options));
  if (!pipeline) return std::unexpected(pipeline.error());
  return Trials(*pipeline, std::move(network), std::move(operands), std::move(options));
}

Expected<Trials::Ready> Trials::ready(const Schedule& schedule, const Resources& resources) const {
  const auto plan = plan_given(schedule, weft::Problem{network_, facts_, options_});
  if (!plan) return std::unexpected(plan.error());
  auto kernel = pipeline_.compile(network_, *plan, facts_);
  if (!kernel) return std::unexpected(kernel.error());
  auto binding = kernel->bind(operands_, resources, false);
  if (!binding) return std::unexpected(binding.error());
  return Ready{std::move(*kernel), std::move(*binding)};
}

namespace {

// Nonzero entries in the order of the modes, whichever format the tensor has.
Expected<Tensor> without_zeros(const Tensor& tensor, const Resources& resources) {
  auto found = entries(tensor, true, resources);
  if (!found) return std::unexpected(found.error());
  return build(std::move(*found), sparse_format(tensor.format().order()), resources, "result");
}

bool same_positions(const Tensor& left, const Tensor& right) {
  for (std::size_t level = 0; level < left.levels().size(); ++level) {
    if (!std::ranges::equal(left.levels()[level].pos.as<const std::byte>(), right.levels()[level].pos.as<const std::byte>()) ||
        !std::ranges::equal(left.levels()[level].crd.as<const std::byte>(), right.levels()[level].crd.as<const std::byte>())) {
      return false;
    }
  }
  return true;
}

}  // namespace

Expected<void> Trials::compare(const Schedule& schedule, const Tensor& result) {
  const Resources& resources = pipeline_.options().resources;
  // Dense results are compared as they are, sparse ones by their entries: schedules differ in the format that they deliver.
  Expected<Tensor> entries = result;
  if (!result.format().all_dense()) entries = without_zeros(result, resources);
  if (!entries) return std::unexpected(entries.error());
  if (!expected_) {
    auto copied = Buffer::allocate(entries->values().size_bytes(), resources.memory, "expected result");
    if (!copied) return std::unexpected(copied.error());
    std::ranges::copy(entries->values().as<const double>(), copied->as<double>().begin());
    TensorArrays apart = entries->arrays();
    apart.values = std::move(*copied);
    expected_ = Tensor(std::move(apart));
    return {};
  }
  if (!(expected_->format() == entries->format())) {
    for (Tensor* one : {&*expected_, &*entries}) {
      if (!one->format().all_dense()) continue;
      auto made = without_zeros(*one, resources);
      if (!made) return std::unexpected(made.error());
      *one = std::move(*made);
    }
  }
  const auto expected = expected_->values().as<const double>();
  const auto found = entries->values().as<const double>();
  if (found.size() != expected.size() || !same_positions(*expected_, *entries)) {
    return internal_error("the result has " + std::to_string(found.size()) + " entries, others than the " +
                          std::to_string(expected.size()) + " expected, with\n" + print(schedule, network_));
  }
  for (std::size_t n = 0; n < expected.size(); ++n) {
    if (std::abs(found[n] - expected[n]) <= tolerance * std::abs(expected[n])) continue;
    return internal_error("element " + std::to_string(n) + " is " + std::to_string(found[n]) + " instead of " +
                          std::to_string(expected[n]) + " with\n" + print(schedule, network_));
  }
  return {};
}

Expected<Trial> Trials::time(const Schedule& schedule, double limit_ms) {
  const Resources resources = pipeline_.options().resources.with(Cancellation());
  auto prepared = ready(schedule, resources);
  if (!prepared) return std::unexpected(prepared.error());
  const double conversion = prepared->binding.convert_ms() / options_.calls;
  double best = limit_ms;
  double spent = 0;
  for (int run = 0; run < most_runs && (run < 3 || spent < few_runs_ms); ++run) {
    Expected<void> ran;
    const double ms = time_ms([&] {
      const Deadline deadline(resources.cancellation, limit_ms);
      ran = run_whole(prepared->binding);
    });
    if (!ran && ran.error().kind == ErrorKind::cancelled) return Trial{limit_ms, true};
    if (!ran) return std::unexpected(ran.error());
    if (run == 0) {
      const auto results = prepared->binding.results();
      if (!results) return std::unexpected(results.error());
      if (auto equal = compare(schedule, results->begin()->second); !equal)
        return std::unexpected(equal.error());
    }
    best = std::min(best, ms);
    spent += ms;
    if (run > 0 && spent > limit_ms) break;
  }
  return Trial{best + conversion, false};
}

Expected<std::vector<Timing>> Trials::side_by_side(const std::vector<Schedule>& schedules, double seconds) {
  std::vector<Ready> all;
  for (const Schedule& schedule : schedules) {
    auto prepared = ready(schedule, pipeline_.options().resources);
    if (!prepared) return std::unexpected(prepared.error());
    all.push_back(std::move(*prepared));
  }
  Expected<void> failure;
  std::vector<std::function<void()>> runs;
  std::vector<double> conversions;
  for (const Ready& one : all) conversions.push_back(one.binding.convert_ms() / options_.calls);
  for (Ready& one : all) {
    runs.push_back([&one, &failure] {
      if (auto ran = run_whole(one.binding); !ran) failure = ran;
    });
  }
  std::vector<Timing> timings = interleaved(runs, seconds);
  if (!failure) return std::unexpected(failure.error());
  for (std::size_t n = 0; n < all.size(); ++n)
    for (double& ms : timings[n].ms) ms += conversions[n];
  return timings;
}

Expected<Trials> exam_trials(const ExamNetwork& exam, const std::string& directory, std::uint64_t seed, PlanOptions options,
                             const Resources& resources) {
  auto operands = exam_operands(exam, directory, seed, resources);
  if (!operands) return std::unexpected(operands.error());
  const auto parsed = parse_expression(exam.expression);
  if (!parsed) return std::unexpected(parsed.error());
  std::vector<OperandShape> shapes;
  for (const auto& [name, tensor] : *operands) shapes.push_back({name, tensor.extents(), tensor.format().scalar});
  auto network = resolve(*parsed, shapes);
  if (!network) return std::unexpected(network.error());
  return Trials::create(std::move(*network), std::move(*operands), std::move(options), resources);
}

}  // namespace weft::bench
