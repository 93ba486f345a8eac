#include "frontend/repl/key_reader.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cwchar>
#include <cwctype>
#include <string_view>

namespace weft {

namespace {

// What a terminal that was asked to bracket pasted text puts around it.
constexpr wchar_t escape = L'\033';
constexpr std::wstring_view rest_of_begin = L"[200~";
constexpr std::wstring_view end = L"\033[201~";

/// A terminal sends the characters of a key at once; this is for a slow connection.
constexpr int patience = 50;  // milliseconds

}  // namespace

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
  char byte = 0;
  while (true) {
    const ssize_t count = ::read(terminal_, &byte, 1);
    if (count == 1) return byte;
    if (count == 0 || errno != EINTR) return std::nullopt;
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
