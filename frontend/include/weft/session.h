// Session: an engine and named tensors; evaluates expressions given as text.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/engine.h"

namespace weft {

struct EvaluateOptions : CompileOptions {
  unsigned repeat = 0;                    ///< 0: one run; n: n timed runs after one warm-up
  bool run = true;                        ///< false: plan only
  bool why = false;                       ///< tell what each constraint costs, by planning without it
  bool count = false;                     ///< count iterations in a run of its own, before the timed ones
  bool compile = true;                    ///< false and not run: machine code only for stages that show it
  std::vector<std::string> stages;        ///< stage texts wanted in the report
  bool proofs = false;                    ///< what the loops rest on is proven and told, where Z3 can be asked
};

struct Evaluation {
  std::map<std::string, Tensor> results;  ///< empty if only planned
  Report report;
};

/// Which kernel an evaluation takes: the best one, or one that is there, until the best one is compiled in the
/// background.
enum class Answer { best, soonest };

class RequestText;

/// A cheap handle; copies share the tensors. Any number of threads may use it at once: an evaluation uses the tensors
/// that were set when it began.
class Session {
 public:
  static Expected<Session> create(EngineOptions options = {});
  /// Sessions with tensors of their own may share an engine and what it remembers.
  explicit Session(Engine engine);
  const Engine& engine() const;

  /// Replaces what the name stood for. Borrowed arrays are verified by the first evaluation, once for all copies of the
  /// tensor; else it is taken to be valid (verify()).
  void set(const std::string& name, Tensor tensor) const;
  void drop(const std::string& name) const;
  /// That memory ran out when the session was made, or a tensor was set: evaluations then say so, until that name is
  /// set again or dropped.
  std::optional<Error> failure() const;
  std::shared_ptr<const Tensors> tensors() const;  ///< as they are now

  /// Evaluates an assignment, or several, over the tensors that it names; einsum as of Engine::compile. A text that was
  /// evaluated before over the same tensors is looked up, kernel, converted operands and memory: no lock excludes
  /// others; up to 1024 texts are kept. The results share the memory of the run as those of Kernel::run. With
  /// Answer::soonest the best kernel is taken if the caches have it, else one of the same text for other tensors, and
  /// where there is none a generic one, found in the caches or compiled. Errors: as of Engine::compile and Kernel::run.
  /// `cancellation` ends this evaluation alone; without it, that of the engine does.
  Expected<Tensors> evaluate(std::string_view text, Answer answer = Answer::best,
                             const Cancellation* cancellation = nullptr) const;

  /// The same in single steps with a report of each, planned and bound anew; results own their memory, but for what
  /// CompileOptions::patterns shares. `operands` lists the names to use, in the order of an einsum's factors; every one
  /// must occur in the expression.
  Expected<Evaluation> evaluate(std::string_view expression, const std::vector<std::string>& operands,
                                const EvaluateOptions& options = {}, const Cancellation* cancellation = nullptr) const;

 private:
  struct State;
  Expected<Evaluation> evaluated(const RequestText& text, const std::vector<std::string>& operands,
                                 const EvaluateOptions& options, const Cancellation* cancellation) const;
  friend Expected<Evaluation> evaluate(const Session& session, const RequestText& text,
                                       const std::vector<std::string>& operands, const EvaluateOptions& options,
                                       const Cancellation* cancellation);
  Engine engine_;
  std::shared_ptr<State> state_;
};

}  // namespace weft
