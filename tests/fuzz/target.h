// Fuzz targets: functions from bytes to nothing, which end the process where weft does what it must not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::fuzz {

using Bytes = std::span<const std::uint8_t>;

struct Target {
  std::string_view name;  ///< of its folders corpus/NAME and regressions/NAME
  void (*run)(Bytes bytes);
  bool is_text = true;  ///< changed by words, too
};
std::span<const Target> targets();
const Target* find_target(std::string_view name);

/// Prints what was found and aborts: libFuzzer and the replay then name the input.
[[noreturn]] void finding(std::string_view what);
inline void require(bool holds, std::string_view what) {
  if (!holds) finding(what);
}
/// The same where the message costs something to make.
template <class Message>
requires requires(Message message) { std::string(message()); }
void require(bool holds, Message message) {
  if (!holds) finding(message());
}

inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// The first line, and what stands below it: of targets whose text needs another text beside it.
struct TwoTexts {
  std::string first;
  std::string rest;
};
TwoTexts cut_first_line(Bytes bytes);

// Those of each file.
void read_tns(Bytes bytes);
void read_mtx(Bytes bytes);
void read_npy(Bytes bytes);
void read_npz(Bytes bytes);
void read_any(Bytes bytes);
void read_gzip(Bytes bytes);
void read_zstandard(Bytes bytes);
void expression(Bytes bytes);
void tree(Bytes bytes);
void schedule(Bytes bytes);
void loops(Bytes bytes);
void format(Bytes bytes);
void operand(Bytes bytes);
void calibration(Bytes bytes);
void cache_entry(Bytes bytes);
void plan_entry(Bytes bytes);
void prompt(Bytes bytes);
void slice(Bytes bytes);
void networks(Bytes bytes);
void assignments(Bytes bytes);
void rebinding(Bytes bytes);
void layouts(Bytes bytes);
void saved_kernel(Bytes bytes);

}  // namespace weft::fuzz
