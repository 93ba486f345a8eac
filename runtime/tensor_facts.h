// What is known of the arrays of a tensor, shared by its copies, and how tensors are put together from shared parts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/adjacency.h"
#include "runtime/kept.h"
#include "runtime/scalar_traits.h"
#include "weft/statistics.h"
#include "weft/tensor.h"

namespace weft {

/// A pattern in another format, and where its values come from.
class PatternLayout : public Kept {
 public:
  explicit PatternLayout(Format laid_out) : format(std::move(laid_out)) {}
  void give_back() noexcept override;

  const Format format;   ///< f64, whatever the values are
  std::timed_mutex making;  ///< held while it is made: others wait for it
  std::atomic<bool> busy{false};
  std::mutex mutex;      ///< of what follows
  std::optional<Tensor> pattern;
  /// By position of the other layout 1 + the element of the given values that stands there, 0 for none; 32 bits wide, or 64
  /// where they do not suffice. Empty until values have changed once. Of the format that the tensor has itself there is nothing else:
  /// elements in order, for kernels that ask.
  Buffer sources;
  unsigned source_bits = 32;
  bool has_gaps = false;  ///< some source is 0
  /// The values that were filled last: once no other tensor has them, their memory takes the next ones, without page faults.
  Tensor last;
};

/// Values in another format, of one version.
class ValuesLayout : public Kept {
 public:
  explicit ValuesLayout(Format laid_out) : format(std::move(laid_out)) {}
  void give_back() noexcept override;

  const Format format;
  std::timed_mutex making;
  std::atomic<bool> busy{false};
  std::mutex mutex;  ///< of what follows
  std::optional<Tensor> tensor;
  std::uint64_t version = 0;
};

/// The layouts of a pattern, or of values, by format. Thread safe.
template <class Layout>
class KnownLayouts {
 public:
  /// The one of that format, made known to the account: each who uses it may have to do without, and may have made what it holds.
  std::shared_ptr<Layout> of(const Format& format, const Memory& memory) {
    const std::lock_guard lock(mutex_);
    for (One& known : all_) {
      if (known.layout->format != format) continue;
      if (!same_account(known.memory, memory)) {
        enlist_once(memory, known.layout);
        known.memory = memory;
      }
      return known.layout;
    }
    all_.push_back({std::make_shared<Layout>(format), memory});
    enlist(memory, all_.back().layout);
    return all_.back().layout;
  }

 private:
  struct One {
    std::shared_ptr<Layout> layout;
    Memory memory;  ///< of who asked last
  };
  std::mutex mutex_;
  std::vector<One> all_;
};

struct ComputedPattern;

/// What is known of a pattern, by all tensors over it. Thread safe.
struct PatternFacts {
  explicit PatternFacts(bool known_valid) : valid(known_valid) {}

  /// Tells patterns apart: no two of a process have the same.
  const std::uint64_t number = next_number();
  std::atomic<bool> valid;
  std::timed_mutex verifying;  ///< a second caller waits for the first verification and takes its answer
  KnownLayouts<PatternLayout> layouts;
  /// The same in arrays that weft owns, by format, where some of these are the host's: owned_pattern().
  KnownLayouts<PatternLayout> owned;
  /// The number of the pattern that this one is a copy of, or 0: memory over either is memory over both. Set by who makes the tensor,
  /// before others see it.
  std::uint64_t copied_from = 0;
  /// Whether some arrays are kept for results of other runs too: owned_pattern(). Set likewise.
  bool kept_for_others = false;
  /// Of a pattern that a kernel has computed: set by who makes the tensor, before others see it; else null.
  std::shared_ptr<const ComputedPattern> computed;

  /// Of levels as kernels read them: how the coordinates of a fiber follow each other, and, where values stay where a host has them,
  /// 1 + the element by position. Set by who makes the tensor, before others see it.
  Adjacency adjacent = Adjacency::none;
  Buffer places;
  unsigned place_bits = 0;  ///< 0: position p holds value p
  /// Of rows as they are given: what adjacency() has found.
  std::atomic<bool> rows_looked_at = false;
  std::atomic<Adjacency> rows_adjacent = Adjacency::none;

  /// Of a layout that weft made: its levels as kernels read them, with which values.
  struct Levels {
    Tensor tensor;
    std::uint64_t values = 0, version = 0;
  };
  std::mutex leveling;  ///< of what follows
  std::optional<Levels> levels;
  /// Of diagonals: their places inside of the tensor as two compressed levels, without values, for those from that element on.
  struct Placed {
    Tensor pattern;
    std::uint32_t kept = 0;  ///< the mode that the last level has
    std::uint64_t offset = 0;
  };
  std::optional<Placed> placed;

  /// What plans and code know of the pattern, as a number of 128 bits; made by `make` when first asked.
  template <class Make>
  std::array<std::uint64_t, 2> digest(Make&& make) {
    if (digested_.load(std::memory_order_acquire)) return digest_;
    const std::array<std::uint64_t, 2> made = make();
    const std::lock_guard lock(digesting_);
    if (!digested_.load(std::memory_order_relaxed)) digest_ = made;
    digested_.store(true, std::memory_order_release);
    return made;
  }

  /// Of tensors with values of that type, which only the format tells apart; null: not asked yet.
  std::shared_ptr<const Statistics> counted(Scalar scalar) const { return std::atomic_load(&counted_[place(scalar)]); }
  /// Keeps them unless another thread was faster; returns those that are kept.
  std::shared_ptr<const Statistics> keep(Scalar scalar, std::shared_ptr<const Statistics> counted);

 private:
  static std::uint64_t next_number();
  static std::size_t place(Scalar scalar) { return static_cast<std::size_t>(scalar); }
  std::shared_ptr<const Statistics> counted_[scalar_types.size()];
  std::mutex digesting_;
  std::atomic<bool> digested_{false};  ///< from then on the digest is read without the lock
  std::array<std::uint64_t, 2> digest_{};
};

/// What is known of values, by all tensors that share them. Thread safe.
class ValueFacts {
 public:
  /// Whether all are finite: as `scan` finds when nothing is known since the last change.
  template <class Scan>
  bool finite(Scan&& scan) {
    if (const std::optional<bool> known = known_finite()) return *known;
    const std::lock_guard lock(mutex_);
    if (const std::optional<bool> known = known_finite()) return *known;
    const bool found = scan();
    finite_.store(found ? Finite::all : Finite::not_all, std::memory_order_release);
    return found;
  }
  /// Takes no lock.
  std::optional<bool> known_finite() const {
    const Finite known = finite_.load(std::memory_order_acquire);
    return known == Finite::unknown ? std::nullopt : std::optional(known == Finite::all);
  }
  void forget();
  std::timed_mutex writing;  ///< held by a run that writes to these, so that others wait
  /// Counts announced changes.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  /// Tells values apart: no two of a process have the same.
  const std::uint64_t number = next_number();
  KnownLayouts<ValuesLayout> layouts;

 private:
  static std::uint64_t next_number();
  enum class Finite : std::uint8_t { unknown, all, not_all };
  std::mutex mutex_;  ///< of who looks, and of changes
  std::atomic<Finite> finite_{Finite::unknown};
  std::atomic<std::uint64_t> version_{0};
};

/// The one way to the parts of a tensor.
struct TensorParts {
  static PatternFacts* pattern_facts(const Tensor& tensor) { return tensor.pattern_ ? tensor.pattern_->facts : nullptr; }
  static ValueFacts* value_facts(const Tensor& tensor) { return tensor.values_ ? tensor.values_->facts : nullptr; }
  static const std::shared_ptr<const StoredValues>& values(const Tensor& tensor) { return tensor.values_; }
  /// How many handles have these values.
  static long handles(const Tensor& tensor) { return tensor.values_.use_count(); }
  /// What a run writes to; it makes a tensor of its own of it for those who read it.
  static std::span<std::byte> bytes_of_values(const Tensor& tensor) {
    const Buffer& values = tensor.values();
    return {static_cast<std::byte*>(const_cast<void*>(values.data())), values.size_bytes()};
  }
  /// The same arrays, of which nothing is known but whether they are valid; without values.
  static Tensor pattern_alone(const Tensor& tensor);
  /// The same pattern, and what is known of it, without values.
  static Tensor without_values(const Tensor& tensor);
  /// A handle that keeps nothing alive: for those who run while somebody else holds the tensor.
  static Tensor unowned(const Tensor& tensor);
  /// The same pattern, and what is known of it, with other values.
  static Tensor with_values(const Tensor& tensor, Buffer values, std::uint64_t offset, Scalar scalar);
  /// The values, and what is known of them, beside the pattern of another tensor.
  static Tensor with_values_of(const Tensor& pattern, const Tensor& values);
  /// The same pattern, and what is known of it, in other arrays, whose widths `format` says.
  static Tensor with_levels(const Tensor& tensor, Format format, std::vector<LevelArrays> levels, Buffer values);
  /// The same tensor, whose arrays the host vouches for.
  static Tensor vouched(const Tensor& tensor);
  static bool is_vouched(const Tensor& tensor) { return tensor.pattern_ && tensor.pattern_->vouched; }
  /// The same tensor, whose places all are entries, those too that building it added (Tensor::padded): as kernels read it.
  static Tensor as_stored(const Tensor& tensor);
  /// The same arrays, kept alive by `owner`.
  static Tensor owned_by(const Tensor& tensor, const std::shared_ptr<void>& owner);
};

/// Whether a tensor has the pattern of that number, or a copy of it.
inline bool has_pattern(const PatternFacts& facts, std::uint64_t number) { return facts.number == number || facts.copied_from == number; }

/// `figures` told of the values of `counted`: whether these are finite is looked at when first asked.
Statistics of_values(Statistics figures, const Statistics& counted);

/// Whether its arrays have been verified, or need not be.
inline bool is_verified(const Tensor& tensor) {
  const PatternFacts* const facts = TensorParts::pattern_facts(tensor);
  return facts != nullptr && (facts->valid.load(std::memory_order_acquire) || TensorParts::is_vouched(tensor));
}

/// Whether no value of the tensor is NaN or Inf, of which nothing else is counted; remembered with the values.
bool finite_values(const Tensor& tensor, const Threads& threads);
/// Whether they are, if somebody has looked since the last change.
std::optional<bool> known_finite(const Tensor& tensor);

/// A tensor whose arrays weft has made.
inline Tensor made(TensorArrays arrays) { return Tensor(std::move(arrays), Validity::known); }

}  // namespace weft
