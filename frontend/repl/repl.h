// Repl: the state of one session at the prompt, and what statements do with it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/command.h"
#include "frontend/request_text.h"
#include "frontend/repl/statement.h"
#include "runtime/charge.h"
#include "runtime/output_file.h"
#include "weft/session.h"

namespace weft {

/// Where a session writes, and what it asks the terminal.
struct ReplPlace {
  std::function<Expected<void>(std::string_view text)> print;  ///< results; resource error where they cannot go
  Progress progress;                                           ///< may be empty
  /// A fresh cancellation, which from now on an interrupt sets; the one before may be set already.
  std::function<Cancellation()> cancellation;
  std::function<std::vector<std::string>()> history = {};  ///< lines typed so far; empty where none are typed
  /// Runs a shell command, which has the terminal to itself: as std::system() does. Empty where none may run.
  std::function<int(const std::string& command)> shell = {};
};

class Repl {
 public:
  /// `options` are those of the command line. Input errors: a memory limit that is no size, a bad format, a bad calibration.
  static Expected<Repl> create(CommandOptions options, ReplPlace place);

  /// Executes the statements of one or more whole lines, up to the first error. What was assigned before it stays.
  Expected<void> execute(std::string_view text);
  /// :quit was executed.
  bool finished() const { return finished_; }

  // What commands work on.
  CacheCounters counters() const { return session_.engine().counters(); }
  /// Valid until the next call.
  const Tensors& tensors() const { return *(tensors_ = session_.tensors()); }
  Expected<Tensor> tensor(const std::string& name) const;  ///< input error suggesting the nearest name
  Expected<void> load(const LoadStatement& statement);
  void keep(const std::string& name, Tensor tensor);
  void drop(const std::string& name);
  /// Evaluates with the options and formats of the session. An empty text means the last expression.
  Expected<Evaluation> evaluate(std::string_view text, EvaluateOptions options);
  /// To the file of :output, else to the place.
  Expected<void> print(std::string_view text);
  /// From now on what is printed goes to a file, which gets its name in end_output(). Resource or input error: it cannot be made.
  Expected<void> begin_output(const std::string& path);
  /// Without a file there is nothing to do.
  Expected<void> end_output();
  /// Statements that succeeded, in order, each as a line of a script; commands only where they change the session.
  const std::vector<std::string>& said() const { return said_; }
  /// How many scripts of :source are running, one inside another.
  unsigned sourced() const { return sourced_; }
  void begin_source() { ++sourced_; }
  void end_source() { --sourced_; }
  void finish() { finished_ = true; }
  const CommandOptions& options() const { return options_; }
  const Resources& resources() const { return resources_; }
  const ReplPlace& place() const { return place_; }
  /// Takes other options over; the tensors stay. Errors as of create(), and resource if they exceed the new limit;
  /// then nothing changed.
  Expected<void> set_options(CommandOptions options);
  /// Formats asked for by :format, by name of an operand or result.
  EvaluateOptions& formats() { return formats_; }

 private:
  Repl(CommandOptions options, ReplPlace place, Resources resources, Session session);
  Expected<void> renew();
  Expected<void> execute(const Statement& statement, bool silent);
  Expected<void> evaluate_and_keep(const ExpressionStatement& statement, bool silent);
  Expected<void> show(const ShowStatement& statement, bool silent);
  /// Extents that are inferred become those that the other operands of an expression know, which a note says.
  Expected<void> grow(const ParsedExpression& expression, const std::vector<std::string>& operands);
  /// `text`: that of the statement.
  Expected<Evaluation> evaluate(const ExpressionStatement& statement, const RequestText& text, EvaluateOptions options);
  static RequestText request_of(const ExpressionStatement& statement);

  CommandOptions options_;
  ReplPlace place_;
  Resources resources_;
  Session session_;
  mutable std::shared_ptr<const Tensors> tensors_;
  EvaluateOptions formats_;                   // only its formats and patterns
  std::map<std::string, Charge> carried_;     // of tensors charged to an account that was replaced
  std::optional<ExpressionStatement> last_;
  std::set<std::string> inferred_;            // tensors whose extents are the largest coordinates of their file
  std::map<std::string, std::string> fused_;  // intermediates that were not kept, and the expression
  std::vector<std::string> said_;
  std::optional<OutputFile> output_;
  unsigned sourced_ = 0;
  bool finished_ = false;
};

}  // namespace weft
