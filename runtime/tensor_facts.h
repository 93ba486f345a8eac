// What is known of the arrays of a tensor, shared by its copies, and how tensors are put together from shared parts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "weft/statistics.h"
#include "weft/tensor.h"

namespace weft {

/// What is known of a pattern, by all tensors over it. Thread safe.
struct PatternFacts {
  explicit PatternFacts(bool known_valid) : valid(known_valid) {}

  /// Tells patterns apart: no two of a process have the same.
  const std::uint64_t number = next_number();
  std::atomic<bool> valid;
  std::mutex verifying;  ///< a second caller waits for the first verification and takes its answer

  /// Of tensors with values of that type, which only the format tells apart; null: not asked yet.
  std::shared_ptr<const Statistics> counted(Scalar scalar) const { return std::atomic_load(&counted_[place(scalar)]); }
  /// Keeps them unless another thread was faster; returns those that are kept.
  std::shared_ptr<const Statistics> keep(Scalar scalar, std::shared_ptr<const Statistics> counted);

 private:
  static std::uint64_t next_number();
  static std::size_t place(Scalar scalar) { return scalar == Scalar::f64 ? 0 : 1; }
  std::shared_ptr<const Statistics> counted_[2];
};

/// What is known of values, by all tensors that share them. Thread safe.
class ValueFacts {
 public:
  /// Whether all are finite: as `scan` finds when nothing is known since the last change.
  template <class Scan>
  bool finite(Scan&& scan) {
    const std::lock_guard lock(mutex_);
    if (!finite_) finite_ = scan();
    return *finite_;
  }
  std::optional<bool> known_finite() const {
    const std::lock_guard lock(mutex_);
    return finite_;
  }
  void forget();
  /// Counts announced changes.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  std::optional<bool> finite_;
  std::atomic<std::uint64_t> version_{0};
};

/// The one way to the parts of a tensor.
struct TensorParts {
  static PatternFacts* pattern_facts(const Tensor& tensor) { return tensor.pattern_ ? tensor.pattern_->facts : nullptr; }
  static ValueFacts* value_facts(const Tensor& tensor) { return tensor.values_ ? tensor.values_->facts : nullptr; }
  static const std::shared_ptr<const StoredValues>& values(const Tensor& tensor) { return tensor.values_; }
  /// What a run writes to; it makes a tensor of its own of it for those who read it.
  static std::span<std::byte> bytes_of_values(const Tensor& tensor) {
    const Buffer& values = tensor.values();
    return {static_cast<std::byte*>(const_cast<void*>(values.data())), values.size_bytes()};
  }
  /// The same arrays, of which nothing is known but whether they are valid; without values.
  static Tensor pattern_alone(const Tensor& tensor);
  /// The same pattern, and what is known of it, with other values.
  static Tensor with_values(const Tensor& tensor, Buffer values, std::uint64_t offset, Scalar scalar);
  /// The same arrays, kept alive by `owner`.
  static Tensor owned_by(const Tensor& tensor, const std::shared_ptr<void>& owner);
};

/// A tensor whose arrays weft has made.
inline Tensor made(TensorArrays arrays) { return Tensor(std::move(arrays), Validity::known); }

}  // namespace weft
