// LineEditor: lines typed at a terminal. line_editor.cpp edits with libedit; line_editor_plain.cpp is for builds without.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/repl/completion.h"

namespace weft {

enum class LineEnd {
  entered,
  interrupted,  ///< Ctrl-C: the line is thrown away
  finished,     ///< Ctrl-D, or the terminal is gone
};

struct EditedLine {
  LineEnd end = LineEnd::entered;
  std::string text;
};

/// One at a time, on standard input and output.
class LineEditor {
 public:
  using Complete = std::function<Completion(std::string_view before)>;
  explicit LineEditor(Complete complete);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  EditedLine read(const std::string& prompt);
  /// Reached with the arrow keys and Ctrl-R. One line.
  void remember(const std::string& entry);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
