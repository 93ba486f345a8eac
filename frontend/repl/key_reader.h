// KeyReader: the characters that a terminal sends. Text that is pasted comes as if it were typed, but that none of it is a key.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace weft {

class KeyReader {
 public:
  /// `resized` is called from next() where the window has another size. One for a process.
  KeyReader(int terminal, std::function<void()> resized);
  ~KeyReader();
  KeyReader(const KeyReader&) = delete;
  KeyReader& operator=(const KeyReader&) = delete;
  /// Waits for the next character; nothing where the terminal is gone.
  std::optional<wchar_t> next();
  /// Pasted lines that were not read yet are not read any more.
  void drop_pasted();

 private:
  std::optional<char> next_byte();
  /// Bytes that are no character of the locale are left out.
  std::optional<wchar_t> next_character();
  bool begins_pasted_text();
  void read_pasted();

  int terminal_;
  std::function<void()> resized_;
  int resizes_ = -1;  // a pipe that gets a byte for each; none where the system gives none
  std::wstring read_;  // and not yet handed out, from next_ on
  std::size_t next_ = 0;
};

}  // namespace weft
