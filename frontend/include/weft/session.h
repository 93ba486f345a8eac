// Session: an engine and named tensors; evaluates expressions given as text.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/engine.h"

namespace weft {

using SessionOptions = EngineOptions;

struct EvaluateOptions : CompileOptions {
  unsigned repeat = 0;                    ///< 0: one run; n: n timed runs after one warm-up
  bool run = true;                        ///< false: plan only
  bool why = false;                       ///< tell what each constraint costs, by planning without it
  bool count = false;                     ///< count iterations in a run of its own, before the timed ones
  bool compile = true;                    ///< false and not run: machine code only for stages that show it
  std::vector<std::string> stages;        ///< stage texts wanted in the report
};

struct Evaluation {
  std::map<std::string, Tensor> results;  ///< empty if only planned
  Report report;
};

/// Not thread safe; make one per thread, or guard it. Tensors are values and may be shared between sessions.
class Session {
 public:
  static Expected<Session> create(SessionOptions options);
  /// Shares the caches, threads and memory account of an engine.
  static Session over(Engine engine);
  void set(const std::string& name, Tensor tensor);
  void drop(const std::string& name);
  const std::map<std::string, Tensor>& tensors() const;

  /// Evaluates an assignment, or several, over the tensors given by name. `operands` lists the names to use, in the
  /// order of an einsum's factors; every one must occur in the expression. Errors: input with a picture of the text, unsupported,
  /// resource, internal with a reproducing text, cancelled.
  Expected<Evaluation> evaluate(std::string_view expression, const std::vector<std::string>& operands,
                                const EvaluateOptions& options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft
