#include "frontend/repl/key_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cwchar>
#include <cwctype>
#include <string_view>
#include <utility>

namespace weft {

namespace {

// What a terminal that was asked to bracket pasted text puts around it.
constexpr wchar_t escape = L'\033';
constexpr std::wstring_view rest_of_begin = L"[200~";
constexpr std::wstring_view end = L"\033[201~";

/// A terminal sends the characters of a key at once; this is for a slow connection.
constexpr int patience = 50;  // milliseconds

// The signal may come to a thread that computes, whose handler could not end a wait of this one.
std::atomic<int> told_of_resizes{-1};

void on_resize(int) {
  const int before = errno;
  (void)!::write(told_of_resizes.load(), "", 1);  // a full pipe has told
  errno = before;
}

}  // namespace

KeyReader::KeyReader(int terminal, std::function<void()> resized) : terminal_(terminal), resized_(std::move(resized)) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  resizes_ = ends[0];
  told_of_resizes.store(ends[1]);
  struct sigaction action{};
  action.sa_handler = on_resize;
  action.sa_flags = SA_RESTART;
  sigaction(SIGWINCH, &action, nullptr);
}

KeyReader::~KeyReader() {
  if (resizes_ < 0) return;
  signal(SIGWINCH, SIG_DFL);
  close(told_of_resizes.exchange(-1));
  close(resizes_);
}

std::optional<wchar_t> KeyReader::next() {
  while (next_ == read_.size()) {
    drop_pasted();
    const auto character = next_character();
    if (character != escape) return character;
    if (begins_pasted_text()) {
      read_pasted();
    } else {
      read_.insert(0, 1, escape);
    }
  }
  return read_[next_++];
}

void KeyReader::drop_pasted() {
  read_.clear();
  next_ = 0;
}

std::optional<char> KeyReader::next_byte() {
  while (true) {
    pollfd inputs[] = {{terminal_, POLLIN, 0}, {resizes_, POLLIN, 0}};
    if (poll(inputs, 2, -1) < 0 && errno != EINTR) return std::nullopt;
    char bytes[64];
    if (inputs[1].revents != 0 && ::read(resizes_, bytes, sizeof bytes) > 0) resized_();
    if (inputs[0].revents == 0) continue;
    const ssize_t count = ::read(terminal_, bytes, 1);
    if (count == 1) return bytes[0];
    if (count == 0 || (errno != EINTR && errno != EAGAIN)) return std::nullopt;
  }
}

std::optional<wchar_t> KeyReader::next_character() {
  std::mbstate_t state{};
  while (const auto byte = next_byte()) {
    wchar_t character = 0;
    const std::size_t length = std::mbrtowc(&character, &*byte, 1, &state);
    if (length <= 1) return character;
    if (length == static_cast<std::size_t>(-1)) state = {};
  }
  return std::nullopt;
}

/// After an escape. Characters that turned out to be a key are in read_.
bool KeyReader::begins_pasted_text() {
  for (const wchar_t wanted : rest_of_begin) {
    pollfd input{terminal_, POLLIN, 0};
    if (poll(&input, 1, patience) <= 0) return false;
    const auto character = next_character();
    if (!character) return false;
    read_ += *character;
    if (*character != wanted) return false;
  }
  read_.clear();
  return true;
}

/// Without empty lines: where another program pastes a carriage return and a newline, as tmux does, they may come as two returns.
/// All of it, before its first line is executed: then the terminal edits lines itself, and would take characters for its keys.
void KeyReader::read_pasted() {
  std::wstring text;
  while (!text.ends_with(end)) {
    const auto character = next_character();
    if (!character) break;
    text += *character;
  }
  if (text.ends_with(end)) text.resize(text.size() - end.size());
  bool ended_line = false;
  for (const wchar_t character : text) {
    const bool ends_line = character == L'\r' || character == L'\n';
    if (ends_line && !ended_line) read_ += L'\n';
    if (character == L'\t') read_ += L' ';
    if (std::iswcntrl(static_cast<std::wint_t>(character)) == 0) read_ += character;
    ended_line = ends_line;
  }
}

}  // namespace weft
