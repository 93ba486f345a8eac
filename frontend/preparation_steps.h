// Preparation: a request over operands in certain layouts, read in one way, step by step.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "frontend/preparation.h"
#include "frontend/readings.h"

namespace weft {

/// What is asked, but for the options. Refers to its parts.
struct Request {
  const Pipeline& pipeline;
  const Machine& machine;
  const RequestText& text;
  const std::vector<std::string>& names;
  const NamedFacts& operands;
  const Cancellation& cancellation;
  CodeFrom from = CodeFrom::anywhere;
  const SavedKernel* saved = nullptr;  ///< null: it is compiled
};

class Preparation {
 public:
  virtual ~Preparation() = default;

  /// Up to the network over levels, and what is known of its operands.
  virtual Expected<void> read() = 0;
  /// Nanoseconds of all plans over them, copies included.
  virtual double least_ns() const = 0;
  /// Up to the plan, after read(). `below_ns`: of the best one known over other layouts, copies included; `proof_share`: of a proof's
  /// effort.
  virtual Expected<void> plan(double below_ns, double proof_share) = 0;
  /// What a proof says of other layouts. `settled`: nothing over them takes less.
  virtual void claim(const std::string& others, bool settled) = 0;
  /// What the plan tells, and its code, or its loops. Once.
  virtual Expected<Prepared> finish() = 0;

  virtual const Prepared& prepared() const = 0;
  /// What the plan costs, and which other readings may cost less; known as far as the steps went, if they failed too.
  virtual const PlannedReading& priced() const = 0;
};

/// `chosen`: operands whose formats in the options no user asked for.
std::shared_ptr<Preparation> preparation_of(const Request& request, EvaluateOptions options, std::set<std::string> chosen, Reading reading);

}  // namespace weft
