#include "frontend/repl/line_editor.h"

#include <histedit.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <utility>

#include "frontend/repl/key_reader.h"
#include "frontend/terminal.h"

namespace weft {

namespace {

struct EditState {
  LineEditor::Complete complete;
  std::unique_ptr<KeyReader> keys;
  EditLine* edit = nullptr;
  ::History* history = nullptr;
  std::string prompt;
  bool interrupted = false;
};

std::size_t terminal_columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// Below the line, in columns filled from top to bottom.
void list(const std::vector<std::string>& candidates) {
  std::size_t width = 0;
  for (const std::string& candidate : candidates) width = std::max(width, candidate.size() + 2);
  const std::size_t columns = std::max<std::size_t>(1, terminal_columns() / width);
  const std::size_t rows = (candidates.size() + columns - 1) / columns;
  std::string text = "\n";
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t place = row; place < candidates.size(); place += rows) {
      text += candidates[place];
      if (place + rows < candidates.size()) text.append(width - candidates[place].size(), ' ');
    }
    text += '\n';
  }
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

EditState& state_of(EditLine* edit) {
  EditState* state = nullptr;
  el_get(edit, EL_CLIENTDATA, &state);
  return *state;
}

/// Does the terminal mark where pasted text begins and ends? Only while a line is edited: other programs may not know the marks.
void bracket_pasted_text(bool marked) {
  if (!moves_cursor(STDOUT_FILENO)) return;
  std::fputs(marked ? "\033[?2004h" : "\033[?2004l", stdout);
  std::fflush(stdout);
}

/// After the window was given another size: a terminal breaks a long line anew, so that the cursor may stand in another row of it.
void redraw(const EditState& state) {
  if (moves_cursor(STDOUT_FILENO)) {
    const LineInfoW* const line = el_wline(state.edit);
    std::size_t before = state.prompt.size();
    for (const wchar_t* at = line->buffer; at < line->cursor; ++at) before += static_cast<std::size_t>(std::max(0, wcwidth(*at)));
    const std::size_t rows = before / terminal_columns();
    std::fputs((rows > 0 ? "\033[" + std::to_string(rows) + "A\r\033[J" : "\r\033[J").c_str(), stdout);
    std::fflush(stdout);
  }
  el_resize(state.edit);
  el_set(state.edit, EL_REFRESH);
}

bool ends_word(const std::string& candidate) { return candidate.find_last_of("/(=:") != candidate.size() - 1; }

/// Binds a key with its modifiers, of which the number tells one: "\033[1;5C" is Ctrl-Right. `bound` is for Alt, Ctrl and both.
void bind_modified(EditLine* edit, const std::string& before, const std::string& after, const char* bound) {
  for (int modifier = 2; modifier <= 16; ++modifier) {
    const bool is_shift = modifier == 2;
    el_set(edit, EL_BIND, (before + ';' + std::to_string(modifier) + after).c_str(), is_shift ? "ed-ignore" : bound, nullptr);
  }
}

/// Keys that libedit does not know, as terminals send them: of one that is not bound libedit takes the begin and inserts the rest.
void bind_keys(EditLine* edit) {
  const std::string control = "\033[";
  const auto bind = [edit](const std::string& key, const char* bound) { el_set(edit, EL_BIND, key.c_str(), bound, nullptr); };
  for (const auto& [letter, bound] : {std::pair("C", "em-next-word"), {"D", "ed-prev-word"}}) {
    bind_modified(edit, control + '1', letter, bound);
    bind("\033O" + std::string(1, static_cast<char>(*letter + ('a' - 'A'))), bound);  // Ctrl in rxvt
    bind("\033\033[" + std::string(letter), bound);                                 // Alt in rxvt and others
  }
  for (const char* const letter : {"A", "B", "E", "F", "H", "P", "Q", "R", "S"}) bind_modified(edit, control + '1', letter, "ed-ignore");
  for (const char* const letter : {"A", "B"}) {
    bind("\033\033[" + std::string(letter), "ed-ignore");
    bind(control + '[' + letter, "ed-ignore");  // F1 and on in the Linux console
  }
  for (const char* const letter : {"C", "D", "E"}) bind(control + '[' + letter, "ed-ignore");
  for (const char* const letter : {"P", "Q", "R", "S"}) bind("\033O" + std::string(letter), "ed-ignore");  // F1 to F4
  bind(control + "E", "ed-ignore");  // 5 of the keypad
  bind(control + "G", "ed-ignore");
  bind(control + "Z", "ed-ignore");  // Shift-Tab
  bind_modified(edit, control + '3', "~", "em-delete-next-word");
  bind(control + "3\\^", "em-delete-next-word");  // Ctrl-Delete in rxvt
  for (int number = 1; number <= 34; ++number) {
    const std::string key = control + std::to_string(number);
    const bool edits = number == 1 || number == 3 || number == 4 || number == 7 || number == 8;  // Home, Delete, End
    if (!edits) bind(key + '~', "ed-ignore");
    if (number != 3) bind_modified(edit, key, "~", "ed-ignore");
  }
  bind(control + "3~", "ed-delete-next-char");
  for (const char* const home : {"1~", "7~", "H"}) bind(control + home, "ed-move-to-beg");
  for (const char* const end : {"4~", "8~", "F"}) bind(control + end, "ed-move-to-end");
}

/// libedit keeps the address of the state.
class EditedLines : public LineEditor {
 public:
  explicit EditedLines(Complete complete);
  ~EditedLines() override;
  EditedLines(const EditedLines&) = delete;
  EditedLines& operator=(const EditedLines&) = delete;
  EditedLine read(const std::string& prompt) override;
  void remember(const std::string& entry) override;
  void drop_pasted() override { state_.keys->drop_pasted(); }

 private:
  EditState state_;
};

EditedLines::EditedLines(Complete complete) {
  state_.complete = std::move(complete);
  EditLine* const edit = el_init("weft", stdin, stdout, stderr);
  state_.edit = edit;
  state_.keys = std::make_unique<KeyReader>(STDIN_FILENO, [this] { redraw(state_); });
  state_.history = history_init();
  HistEvent event{};
  history(state_.history, &event, H_SETSIZE, 2000);
  el_set(edit, EL_CLIENTDATA, &state_);
  // libedit calls back through plain functions.
  el_set(edit, EL_PROMPT, +[](EditLine* of) { return state_of(of).prompt.data(); });
  el_set(edit, EL_GETCFN, +[](EditLine* of, wchar_t* character) {
    const auto next = state_of(of).keys->next();
    *character = next.value_or(L'\0');
    return next ? 1 : 0;
  });
  el_set(edit, EL_HIST, history, state_.history);
  el_set(edit, EL_EDITOR, "emacs");
  el_set(edit, EL_ADDFN, "weft-complete", "complete the word", +[](EditLine* of, int) -> unsigned char {
    const LineInfo* const line = el_line(of);
    const std::string_view before(line->buffer, static_cast<std::size_t>(line->cursor - line->buffer));
    const Completion completion = state_of(of).complete(before);
    if (completion.candidates.empty()) return CC_REFRESH_BEEP;
    const std::string start = common_start(completion.candidates);
    const std::string typed(before.substr(completion.begin));
    const bool goes_on = start.starts_with(typed);
    if (completion.candidates.size() > 1 && (start == typed || !(goes_on || start.starts_with('"')))) {
      list(completion.candidates);
      return CC_REDISPLAY;
    }
    std::string more = goes_on ? start.substr(typed.size()) : start;
    if (completion.candidates.size() == 1 && ends_word(start)) more += ' ';
    // Quotes come before what was typed.
    if (!goes_on) el_deletestr(of, static_cast<int>(std::max<std::size_t>(1, std::mbstowcs(nullptr, typed.c_str(), 0))));
    if (el_insertstr(of, more.c_str()) == -1) return CC_REFRESH_BEEP;
    return CC_REFRESH;
  });
  el_set(edit, EL_BIND, "\t", "weft-complete", nullptr);
  // While a line is edited Ctrl-C and Ctrl-Z are keys and no signals; while a kernel runs the terminal is as it was.
  el_set(edit, EL_SETTY, "-d", "-isig", nullptr);
  // Neither becomes the other, so that in pasted text a carriage return and a newline are seen to be one end of a line.
  el_set(edit, EL_SETTY, "-d", "-icrnl", "-inlcr", nullptr);
  el_set(edit, EL_ADDFN, "weft-interrupt", "throw the line away", +[](EditLine* of, int) -> unsigned char {
    state_of(of).interrupted = true;
    // "^C" goes behind the line as text and a typed newline follows, so that libedit knows which row the cursor ends in
    // when the line is wrapped, or the cursor stood in front of its end.
    const LineInfo* const line = el_line(of);
    el_cursor(of, static_cast<int>(line->lastchar - line->cursor));
    (void)el_insertstr(of, "^C");  // without memory for it only the mark is missing
    el_push(of, "\n");
    return CC_REFRESH;
  });
  el_set(edit, EL_BIND, "^C", "weft-interrupt", nullptr);
  el_set(edit, EL_ADDFN, "weft-suspend", "stop until the shell goes on", +[](EditLine* of, int) -> unsigned char {
    bracket_pasted_text(false);
    el_set(of, EL_PREP_TERM, 0);
    raise(SIGTSTP);
    el_set(of, EL_PREP_TERM, 1);
    bracket_pasted_text(true);
    return CC_REDISPLAY;
  });
  el_set(edit, EL_BIND, "^Z", "weft-suspend", nullptr);
  el_set(edit, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  bind_keys(edit);
  el_source(edit, nullptr);
}

EditedLines::~EditedLines() {
  el_end(state_.edit);
  history_end(state_.history);
}

EditedLine EditedLines::read(const std::string& prompt) {
  state_.prompt = prompt;
  state_.interrupted = false;
  el_resize(state_.edit);  // the terminal may have another size by now
  int length = 0;
  bracket_pasted_text(true);
  const char* const text = el_gets(state_.edit, &length);
  bracket_pasted_text(false);
  if (state_.interrupted) return {LineEnd::interrupted, ""};
  if (text == nullptr || length <= 0) return {LineEnd::finished, ""};
  std::string line(text, static_cast<std::size_t>(length));
  while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
  return {LineEnd::entered, std::move(line)};
}

void EditedLines::remember(const std::string& entry) {
  HistEvent event{};
  history(state_.history, &event, H_ENTER, entry.c_str());
}

}  // namespace

std::unique_ptr<LineEditor> make_line_editor(LineEditor::Complete complete) { return std::make_unique<EditedLines>(std::move(complete)); }

}  // namespace weft
