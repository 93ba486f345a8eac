// A loop whose tasks several threads take.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>

namespace weft {

/// Every thread begins with a part of its own, so that neighbouring tasks run on one CPU, takes it from the front, and
/// then what others have left from the back. Tasks are taken singly, which balances unequal ones; in groups where there
/// are more than 2^31.
class SharedLoop {
 public:
  using Body = std::function<void(std::size_t task, unsigned slot)>;

  SharedLoop(std::size_t tasks, unsigned threads, const Body& body)
      : tasks_(tasks), group_(1 + static_cast<std::size_t>(static_cast<std::uint64_t>(tasks) >> 31)), body_(body) {
    const std::uint64_t groups = (tasks - 1) / group_ + 1;
    count_ = static_cast<std::size_t>(std::min<std::uint64_t>({threads, groups, parts_.size()}));
    for (std::size_t part = 0; part < count_; ++part) {
      const auto bound = [&](std::uint64_t number) {
        return groups / count_ * number + std::min(number, groups % count_);
      };
      parts_[part].range.store(packed(bound(part), bound(part + 1)), std::memory_order_relaxed);
    }
  }

  /// Takes tasks until there are none.
  void work(unsigned slot) noexcept {
    try {
      for (std::size_t turn = 0; turn < count_; ++turn) {
        std::atomic<std::uint64_t>& range = parts_[(slot + turn) % count_].range;
        for (std::uint64_t group = 0; !failed_.load(std::memory_order_relaxed) && take(range, turn == 0, group);) {
          const std::size_t begin = static_cast<std::size_t>(group) * group_;
          const std::size_t end = group_ < tasks_ - begin ? begin + group_ : tasks_;
          for (std::size_t task = begin; task < end; ++task) body_(task, slot);
        }
      }
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }

  /// Throws what the first task has thrown that did; after all threads have left the loop.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // The next group of a part, and the end of the part.
  static std::uint64_t packed(std::uint64_t begin, std::uint64_t end) { return end << 32 | begin; }

  static bool take(std::atomic<std::uint64_t>& range, bool first, std::uint64_t& group) {
    std::uint64_t now = range.load(std::memory_order_relaxed);
    while (true) {
      const std::uint64_t begin = now & 0xffffffff;
      const std::uint64_t end = now >> 32;
      if (begin == end) return false;
      group = first ? begin : end - 1;
      const std::uint64_t left = first ? packed(begin + 1, end) : packed(begin, end - 1);
      if (range.compare_exchange_weak(now, left, std::memory_order_relaxed)) return true;
    }
  }

  struct alignas(64) Part {
    std::atomic<std::uint64_t> range{0};
  };
  std::size_t tasks_;
  std::size_t group_;  // tasks that are taken together
  const Body& body_;
  std::size_t count_ = 1;
  std::array<Part, 64> parts_;  // more threads than that share them
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

}  // namespace weft
