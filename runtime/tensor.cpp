#include "weft/tensor.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/extents.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "runtime/spread.h"
#include "runtime/tensor_facts.h"
#include "weft/layout.h"

namespace weft {

namespace {

struct PatternWithFacts : StoredPattern {
  PatternWithFacts(StoredPattern parts, bool valid) : StoredPattern(std::move(parts)), known(valid) { facts = &known; }
  PatternFacts known;
};
struct ValuesWithFacts : StoredValues {
  ValuesWithFacts(Buffer values, std::uint64_t first, Scalar type) : StoredValues{std::move(values), first, type, nullptr} {
    facts = &known;
  }
  ValueFacts known;
};

/// Whether positions can be counted at all, of the first levels of a tensor too; verify() tells what is wrong.
bool is_sound(const TensorArrays& arrays) {
  const Format& format = arrays.format;
  if (!is_known(format.scalar) || arrays.levels.size() != format.order()) return false;
  for (const Level& level : format.levels) {
    if (!is_known(level.kind) || (has_pos(level.kind) && level.pos_bits != 32 && level.pos_bits != 64)) return false;
  }
  if (format.layout)
    return format.layout->levels.size() == format.order() && arrays.level_extents.size() == format.order();
  const auto has_extent = [&](std::uint32_t mode) { return mode < arrays.order(); };
  return format.mode_order.size() == format.order() && std::ranges::all_of(format.mode_order, has_extent);
}

}  // namespace

std::uint64_t PatternFacts::next_number() { return weft::next_number<PatternFacts>(); }

std::uint64_t ValueFacts::next_number() { return weft::next_number<ValueFacts>(); }

std::shared_ptr<const Statistics> PatternFacts::keep(Scalar scalar, std::shared_ptr<const Statistics> counted) {
  std::shared_ptr<const Statistics> known;
  return std::atomic_compare_exchange_strong(&counted_[place(scalar)], &known, counted) ? counted : known;
}

void ValueFacts::forget() {
  const std::lock_guard lock(mutex_);
  finite_.store(Finite::unknown, std::memory_order_release);
  version_.fetch_add(1, std::memory_order_release);
}

Tensor::Tensor(TensorArrays arrays, Validity validity)
    : values_(std::make_shared<ValuesWithFacts>(std::move(arrays.values), arrays.offset, arrays.format.scalar)) {
  const bool sound = is_sound(arrays);
  pattern_ = std::make_shared<PatternWithFacts>(
      StoredPattern{std::move(arrays.format), std::move(arrays.extents), std::move(arrays.levels), nullptr, {},
                    std::move(arrays.level_extents), arrays.padded, sound},
      validity == Validity::known && sound);
}

const TensorArrays& Tensor::none() {
  static const TensorArrays arrays;
  return arrays;
}

TensorArrays Tensor::arrays() const { return {format(), extents(), levels(), values(), offset(), level_extents(), padded()}; }

void Tensor::values_changed() const {
  if (values_) values_->facts->forget();
}

Tensor TensorParts::pattern_alone(const Tensor& tensor) {
  Tensor alone;
  if (!tensor.pattern_) return alone;
  alone.pattern_ = std::make_shared<PatternWithFacts>(
      StoredPattern{tensor.format(), tensor.extents(), tensor.levels(), nullptr, {}, tensor.level_extents(), tensor.padded(),
                    tensor.pattern_->sound},
      is_verified(tensor));
  return alone;
}

Tensor TensorParts::without_values(const Tensor& tensor) {
  Tensor pattern;
  pattern.pattern_ = tensor.pattern_;
  return pattern;
}

Tensor TensorParts::unowned(const Tensor& tensor) {
  Tensor handle;
  handle.pattern_ = {std::shared_ptr<void>(), tensor.pattern_.get()};
  handle.values_ = {std::shared_ptr<void>(), tensor.values_.get()};
  return handle;
}

Tensor TensorParts::with_values(const Tensor& tensor, Buffer values, std::uint64_t offset, Scalar scalar) {
  Tensor other;
  other.pattern_ = tensor.pattern_;
  if (scalar != tensor.format().scalar) {
    auto pattern = std::make_shared<StoredPattern>(*tensor.pattern_);
    pattern->format.scalar = scalar;
    if (!pattern->facts_owner) pattern->facts_owner = tensor.pattern_;
    other.pattern_ = std::move(pattern);
  }
  other.values_ = std::make_shared<ValuesWithFacts>(std::move(values), offset, scalar);
  return other;
}

Tensor TensorParts::with_values_of(const Tensor& pattern, const Tensor& values) {
  Tensor other;
  other.pattern_ = pattern.pattern_;
  if (const Scalar scalar = values.format().scalar; scalar != pattern.format().scalar) {
    auto typed = std::make_shared<StoredPattern>(*pattern.pattern_);
    typed->format.scalar = scalar;
    if (!typed->facts_owner) typed->facts_owner = pattern.pattern_;
    other.pattern_ = std::move(typed);
  }
  other.values_ = values.values_;
  return other;
}

Tensor TensorParts::with_levels(const Tensor& tensor, Format format, std::vector<LevelArrays> levels, Buffer values) {
  Tensor other;
  const Scalar scalar = format.scalar;
  auto pattern = std::make_shared<StoredPattern>(*tensor.pattern_);
  if (!pattern->facts_owner) pattern->facts_owner = tensor.pattern_;
  pattern->format = std::move(format);
  pattern->levels = std::move(levels);
  other.pattern_ = std::move(pattern);
  other.values_ = std::make_shared<ValuesWithFacts>(std::move(values), 0, scalar);
  return other;
}

Tensor TensorParts::as_stored(const Tensor& tensor) {
  if (!tensor.padded()) return tensor;
  Tensor other = tensor;
  auto pattern = std::make_shared<StoredPattern>(*tensor.pattern_);
  if (!pattern->facts_owner) pattern->facts_owner = tensor.pattern_;
  pattern->padded = false;
  other.pattern_ = std::move(pattern);
  return other;
}

Tensor TensorParts::vouched(const Tensor& tensor) {
  Tensor other = tensor;
  auto pattern = std::make_shared<StoredPattern>(*tensor.pattern_);
  if (!pattern->facts_owner) pattern->facts_owner = tensor.pattern_;
  pattern->vouched = pattern->sound;
  other.pattern_ = std::move(pattern);
  return other;
}

Tensor TensorParts::owned_by(const Tensor& tensor, const std::shared_ptr<void>& owner) {
  Tensor owned;
  owned.pattern_ = tensor.pattern_;
  if (!tensor.format().all_dense()) {
    StoredPattern pattern{tensor.format(), tensor.extents(), tensor.levels(), nullptr, {}, tensor.level_extents(), tensor.padded(),
                    tensor.pattern_->sound};
    for (LevelArrays& level : pattern.levels) {
      if (level.pos.size_bytes() > 0) level.pos = level.pos.owned_by(owner);
      if (level.crd.size_bytes() > 0) level.crd = level.crd.owned_by(owner);
    }
    owned.pattern_ = std::make_shared<PatternWithFacts>(std::move(pattern), true);
  }
  owned.values_ = std::make_shared<ValuesWithFacts>(tensor.values().owned_by(owner), tensor.offset(), tensor.format().scalar);
  return owned;
}

Expected<Tensor> same_pattern(const Tensor& tensor, Buffer values, Scalar scalar) {
  return guarded({"giving a pattern other values"}, [&]() -> Expected<Tensor> {
    const std::uint64_t stored = tensor.values().size_bytes() / scalar_bytes(tensor.format().scalar);
    const std::uint64_t given = values.size_bytes() / scalar_bytes(scalar);
    if (given != stored || values.size_bytes() % scalar_bytes(scalar) != 0)
      return fail(ErrorKind::input, ErrorCode::sizes, {}, fmt::format("{} values for a pattern that stores {}", given, stored));
    return TensorParts::with_values(tensor, std::move(values), tensor.offset(), scalar);
  });
}

std::uint64_t Tensor::positions(std::size_t level) const {
  if (pattern_ && !pattern_->sound) return 0;
  if (level >= format().levels.size()) return 1;
  std::uint64_t count = 1;
  for (std::size_t l = 0; l <= level; ++l) {
    const Level& kind = format().levels[l];
    if (is_by_extent(kind.kind)) count = saturating_product(count, extent_of_level(l));
    if (has_pos(kind.kind)) {
      const Indices pos(levels()[l].pos, kind.pos_bits);
      count = count < pos.size() ? pos[count] : 0;
    }
  }
  return count;
}

std::uint64_t Tensor::nnz() const {
  if (pattern_ && !pattern_->sound) return 0;
  std::uint64_t dense = 1;
  for (std::size_t l = format().order(); l-- > 0;) {
    if (is_sparse(format().levels[l].kind)) return saturating_product(entries_of_level(*this, l), dense);
    dense = saturating_product(dense, extent_of_level(l));
  }
  return dense;
}

std::uint64_t Tensor::bytes() const {
  std::uint64_t total = values().size_bytes();
  for (const LevelArrays& level : levels()) total += level.pos.size_bytes() + level.crd.size_bytes();
  return total;
}

bool Tensor::borrowed() const {
  return values().borrowed() ||
         std::ranges::any_of(levels(), [](const LevelArrays& level) { return level.pos.borrowed() || level.crd.borrowed(); });
}

static std::string summary_of(const Tensor& tensor) {
  std::string shape = tensor.order() == 0 ? "scalar" : fmt::format("{}", fmt::join(tensor.extents(), "x"));
  std::string layout = tensor.order() == 0 ? "" : tensor.format().text() + " ";
  double size = static_cast<double>(tensor.bytes());
  const char* unit = "B";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (size < 1000) break;
    size /= 1000;
    unit = larger;
  }
  return fmt::format("{} {}{}, {} stored, {:.{}f} {}", shape, layout, name(tensor.format().scalar), tensor.nnz(), size,
                     unit[0] == 'B' ? 0 : 1, unit);
}

std::string Tensor::summary() const {
  return guarded_text([&] { return summary_of(*this); });
}

}  // namespace weft
