// UnsetNames: names of which memory ran out while they were set, noted without any.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string_view>

namespace weft {

/// A name is known by its hash. Where there are more than fit all of them stay noted. For one thread at a time.
class UnsetNames {
 public:
  void note(std::string_view name) noexcept {
    if (count_ == 0) length_ = name.copy(first_.data(), first_.size());
    if (std::find(hashes_.begin(), hashes_.begin() + kept(), hash(name)) != hashes_.begin() + kept()) return;
    if (count_ < hashes_.size()) hashes_[count_] = hash(name);
    if (count_ <= hashes_.size()) ++count_;
  }
  void forget(std::string_view name) noexcept {
    if (count_ > hashes_.size()) return;
    count_ = static_cast<std::size_t>(std::remove(hashes_.begin(), hashes_.begin() + kept(), hash(name)) - hashes_.begin());
  }
  bool empty() const { return count_ == 0; }
  /// The beginning of the name that was noted first.
  std::string_view first() const { return {first_.data(), length_}; }

 private:
  static std::size_t hash(std::string_view name) { return std::hash<std::string_view>{}(name); }
  std::ptrdiff_t kept() const { return static_cast<std::ptrdiff_t>(std::min(count_, hashes_.size())); }

  std::array<std::size_t, 16> hashes_{};
  std::size_t count_ = 0;
  std::array<char, 48> first_{};
  std::size_t length_ = 0;
};

}  // namespace weft
