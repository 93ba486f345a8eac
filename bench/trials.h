// Trials: schedules of one network, compiled and timed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/exam_network.h"
#include "bench/timing.h"
#include "engine/pipeline.h"

namespace weft::bench {

struct Trial {
  double ms = 0;           ///< the fastest of a few runs, conversions divided by the calls included
  bool abandoned = false;  ///< longer than the limit, which `ms` then is
};

class Trials {
 public:
  /// Keeps copies; runs on `resources.threads`. No disk cache; equal kernels of different schedules are compiled once.
  static Expected<Trials> create(Network network, std::map<std::string, Tensor> operands, PlanOptions options,
                                 const Resources& resources);

  const Network& network() const { return network_; }
  const std::vector<OperandFacts>& facts() const { return facts_; }
  const std::map<std::string, Tensor>& operands() const { return operands_; }
  const PlanOptions& options() const { return options_; }
  PlanOptions& options() { return options_; }

  /// A run that takes longer than `limit_ms` is cancelled. The result of the first schedule that finishes is kept and
  /// all others are compared with it; another value is an internal error with the schedule's text.
  Expected<Trial> time(const Schedule& schedule, double limit_ms);

  /// Several schedules in turn, in one process: medians decide between those that are close.
  Expected<std::vector<Timing>> side_by_side(const std::vector<Schedule>& schedules, double seconds);

 private:
  struct Ready {
    CompiledNetwork kernel;
    BoundNetwork binding;
  };
  Expected<Ready> ready(const Schedule& schedule, const Resources& resources) const;
  Expected<void> compare(const Schedule& schedule, const Tensor& result);

  Trials(Pipeline pipeline, Network network, std::map<std::string, Tensor> operands, PlanOptions options);

  Pipeline pipeline_;
  Network network_;
  std::map<std::string, Tensor> operands_;
  PlanOptions options_;
  std::vector<OperandFacts> facts_;
  std::optional<Tensor> expected_;
};

/// A network of the exam with its operands; `directory` and `seed` as exam_operands() takes them.
Expected<Trials> exam_trials(const ExamNetwork& exam, const std::string& directory, std::uint64_t seed, PlanOptions options,
                             const Resources& resources);

}  // namespace weft::bench
