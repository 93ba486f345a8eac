// LineEditor: lines typed at a terminal. line_editor.cpp edits with libedit; line_editor_plain.cpp is for builds without. Both belong to
// the command: hosts of libweft, which holds the rest of the prompt, get no libedit.
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
  virtual ~LineEditor() = default;
  virtual EditedLine read(const std::string& prompt) = 0;
  /// Reached with the arrow keys and Ctrl-R. One line.
  virtual void remember(const std::string& entry) = 0;
  /// Lines that were pasted with one that was interrupted are not read.
  virtual void drop_pasted() {}
};

/// `complete` is called while a line is read, and lives as long as the editor.
using MakeLineEditor = std::unique_ptr<LineEditor> (*)(LineEditor::Complete complete);

/// That of the command, which alone is linked with libedit.
std::unique_ptr<LineEditor> make_line_editor(LineEditor::Complete complete);

}  // namespace weft
