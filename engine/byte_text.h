// Numbers and texts as bytes, one behind the other, and read again: what is too short is told, not read.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class ByteWriter {
 public:
  void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  template <class List, class Write>
  void list(const List& values, const Write& write) {
    number(values.size());
    for (const auto& value : values) write(value);
  }
  template <std::integral T>
  void numbers(const std::vector<T>& values) {
    number(values.size());
    for (const T value : values) number(static_cast<std::uint64_t>(value));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// After a defect everything reads as zero and empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view found = taken(sizeof value);
    if (!failed_) std::memcpy(&value, found.data(), sizeof value);
    return value;
  }
  double real() { return std::bit_cast<double>(number()); }
  std::string text() { return std::string(taken(number())); }
  /// Calls `read` as often as there are elements; each has at least eight bytes.
  template <class Read>
  void list(const Read& read) {
    const std::uint64_t count = number();
    if (count > rest_.size() / sizeof count) failed_ = true;
    for (std::uint64_t n = 0; n < count && !failed_; ++n) read();
  }
  template <std::integral T>
  std::vector<T> numbers() {
    std::vector<T> values;
    list([&] { values.push_back(static_cast<T>(number())); });
    return values;
  }
  bool good() const { return !failed_; }
  bool at_end() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view taken(std::uint64_t bytes) {
    failed_ = failed_ || bytes > rest_.size();
    if (failed_) return {};
    const std::string_view found = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return found;
  }
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace weft
