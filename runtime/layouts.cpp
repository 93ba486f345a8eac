#include "runtime/layouts.h"

#include <algorithm>
#include <type_traits>

#include "runtime/blocks.h"
#include "runtime/convert.h"
#include "runtime/copied.h"
#include "runtime/dense.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"
#include "runtime/waiting.h"

namespace weft {

void PatternLayout::give_back() noexcept {
  if (busy.load(std::memory_order_acquire)) return;
  std::optional<Tensor> freed_pattern;
  Buffer freed;
  Tensor freed_values;
  const std::lock_guard lock(mutex);
  freed_pattern.swap(pattern);
  std::swap(freed, sources);
  std::swap(freed_values, last);
}

void ValuesLayout::give_back() noexcept {
  if (busy.load(std::memory_order_acquire)) return;
  std::optional<Tensor> freed;
  const std::lock_guard lock(mutex);
  freed.swap(tensor);
}

namespace {

/// The only one that makes a layout; what it needs is not given back meanwhile. A cancelled error where another makes it for longer than
/// the call lives.
template <class Layout>
class Making {
 public:
  static Expected<Making> of(Layout& layout, const Resources& resources) {
    auto lock = locked_unless(layout.making, [&] { return resources.cancellation.cancelled(); });
    if (!lock.owns_lock()) return fail(ErrorKind::cancelled, "interrupted while another thread makes the same layout");
    return Making(layout, std::move(lock));
  }
  Making(Making&&) noexcept = default;
  Making& operator=(Making&&) = delete;
  ~Making() {
    if (lock_.owns_lock()) layout_->busy.store(false, std::memory_order_release);
  }

 private:
  Making(Layout& layout, std::unique_lock<std::timed_mutex> lock) : lock_(std::move(lock)), layout_(&layout) {
    layout_->busy.store(true, std::memory_order_release);
    layout_->touch();
  }
  std::unique_lock<std::timed_mutex> lock_;
  Layout* layout_;
};

Format with_scalar(Format format, Scalar scalar) {
  format.scalar = scalar;
  return format;
}

constexpr std::uint64_t fetched_ahead = 64;  ///< elements; 32 to 256 measure about the same
/// Values that a core's own cache holds are gathered as they are.
constexpr std::uint64_t gathered_as_they_are = std::uint64_t{1} << 20;

/// Whether neighbours come from places far apart, by a sample.
template <class Source>
bool scattered(std::span<Source> source) {
  constexpr std::uint64_t near = 1024;
  const std::uint64_t step = source.size() / 64 + 1;
  unsigned far = 0;
  unsigned looked = 0;
  for (std::uint64_t n = 1; n < source.size(); n += step, ++looked)
    far += source[n] > source[n - 1] ? source[n] - source[n - 1] > near : source[n - 1] - source[n] > near;
  return 4 * far > looked;
}

template <class From, class To, class Source>
void gather(const Buffer& from, Buffer& to, const Buffer& sources, const Threads& threads) {
  const auto given = from.as<From>();
  const auto filled = to.as<To>();
  const auto source = sources.as<Source>();
  const auto take = [&](std::uint64_t n) { filled[n] = source[n] == 0 ? To{0} : static_cast<To>(given[source[n] - 1]); };
  const bool far_apart = from.size_bytes() > gathered_as_they_are && scattered(source);
  // Into the second cache, which waits for more lines at a time than the first: a million values 1.9 ms, and 2.3 into the first after
  // reading them through in order.
  constexpr int second_cache = 2;
  for_blocks(threads, Blocks(filled.size(), threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    std::uint64_t n = begin;
    for (; far_apart && n + fetched_ahead < end; ++n) {
      if (source[n + fetched_ahead] != 0) __builtin_prefetch(&given[source[n + fetched_ahead] - 1], 0, second_cache);
      take(n);
    }
    for (; n < end; ++n) take(n);
  });
}

template <class From, class To>
void gather(const Buffer& from, Buffer& to, const Buffer& sources, unsigned bits, const Threads& threads) {
  if (bits == 32) return gather<From, To, const std::uint32_t>(from, to, sources, threads);
  gather<From, To, const std::uint64_t>(from, to, sources, threads);
}

void gather(const Tensor& tensor, Buffer& to, Scalar scalar, const Buffer& sources, unsigned bits, const Threads& threads) {
  const Buffer& from = tensor.values();
  with_element(tensor.format().scalar, [&]<class From>(From) {
    with_element(scalar, [&]<class To>(To) { gather<const From, To>(from, to, sources, bits, threads); });
  });
}

/// Converts the numbers of the elements: what stands at a position afterwards is where its value comes from.
Expected<void> make_sources(const Tensor& tensor, PatternLayout& layout, const Resources& resources, std::string_view name) {
  const std::uint64_t elements = tensor.values().size_bytes() / scalar_bytes(tensor.format().scalar);
  auto numbers = Buffer::allocate(elements * sizeof(double), resources.memory, name);
  if (!numbers) return std::unexpected(numbers.error());
  const auto numbered = numbers->as<double>();
  for_blocks(resources.threads, Blocks(elements, resources.threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t n = begin; n < end; ++n) numbered[n] = static_cast<double>(n + 1);
  });
  const Tensor given = TensorParts::with_values(tensor, std::move(*numbers), tensor.offset(), Scalar::f64);
  const auto moved = convert(given, layout.format, resources, name);
  if (!moved) return std::unexpected(moved.error());
  const auto source = moved->values().as<const double>();
  const unsigned bits = position_bits(elements);
  auto sources = Buffer::allocate(source.size() * (bits / 8), resources.memory, name);
  if (!sources) return std::unexpected(sources.error());
  with_width(bits, [&]<class T>(T) {
    const auto to = sources->as<T>();
    for_blocks(resources.threads, Blocks(source.size(), resources.threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t n = begin; n < end; ++n) to[n] = static_cast<T>(source[n]);
    });
  });
  const bool has_gaps = std::ranges::find(source, 0.0) != source.end();
  const std::lock_guard lock(layout.mutex);
  if (!layout.pattern) layout.pattern = TensorParts::without_values(*moved);
  layout.sources = std::move(*sources);
  layout.source_bits = bits;
  layout.has_gaps = has_gaps;
  return {};
}

/// The elements of a tensor's values in the order of its positions.
Expected<void> make_sources_in_order(const Tensor& tensor, PatternLayout& layout, const Resources& resources, std::string_view name) {
  const std::uint64_t positions = tensor.positions(tensor.order() - 1);
  const unsigned bits = position_bits(tensor.values().size_bytes() / scalar_bytes(tensor.format().scalar));
  auto sources = Buffer::allocate(positions * (bits / 8), resources.memory, name);
  if (!sources) return std::unexpected(sources.error());
  with_width(bits, [&]<class T>(T) {
    const auto to = sources->as<T>();
    for_blocks(resources.threads, Blocks(positions, resources.threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t n = begin; n < end; ++n) to[n] = static_cast<T>(tensor.offset() + n + 1);
    });
  });
  const std::lock_guard lock(layout.mutex);
  layout.sources = std::move(*sources);
  layout.source_bits = bits;
  return {};
}

/// What is kept of a pattern in another format, as a thread may use it while others change it.
struct KnownSources {
  std::optional<Tensor> pattern;
  Buffer sources;
  unsigned bits = 32;
  bool has_gaps = false;
};

KnownSources known_sources(PatternLayout& layout) {
  const std::lock_guard lock(layout.mutex);
  layout.touch();
  return {layout.pattern, layout.sources, layout.source_bits, layout.has_gaps};
}

/// The tensor as it is, with the places of its values.
Expected<PlacedTensor> in_order(const Tensor& tensor, LayoutOrigin origin, const Resources& resources, std::string_view name) {
  PatternFacts* const facts = TensorParts::pattern_facts(tensor);
  const Format format = with_scalar(tensor.format(), Scalar::f64);
  const auto layout = facts == nullptr ? std::make_shared<PatternLayout>(format) : facts->layouts.of(format, resources.memory);
  KnownSources known = known_sources(*layout);
  if (known.sources.size_bytes() == 0 && tensor.positions(tensor.order() - 1) > 0) {
    const auto making = Making<PatternLayout>::of(*layout, resources);
    if (!making) return std::unexpected(making.error());
    if (auto made = make_sources_in_order(tensor, *layout, resources, name); !made) return std::unexpected(made.error());
    known = known_sources(*layout);
  }
  return PlacedTensor{tensor, std::move(known.sources), known.bits, origin};
}

/// The permutation of a pattern into another format, made where it is not known.
Expected<KnownSources> permutation(const Tensor& tensor, PatternLayout& layout, const Resources& resources, std::string_view name,
                                   LayoutOrigin& origin) {
  const auto is_whole = [](const KnownSources& known) {
    return known.pattern && (known.sources.size_bytes() > 0 || known.pattern->positions(known.pattern->order() - 1) == 0);
  };
  KnownSources known = known_sources(layout);
  if (is_whole(known)) return known;
  const auto making = Making<PatternLayout>::of(layout, resources);
  if (!making) return std::unexpected(making.error());
  known = known_sources(layout);
  if (is_whole(known)) return known;
  if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
  if (auto made = make_sources(tensor, layout, resources, name); !made) return std::unexpected(made.error());
  origin = LayoutOrigin::made;
  return known_sources(layout);
}

/// The values of a pattern that is laid out already, or nothing where it is not, or memory does not suffice for that.
Expected<std::optional<Tensor>> filled(const Tensor& tensor, const std::optional<Tensor>& before, PatternLayout& layout, Scalar scalar,
                                       const Resources& resources, std::string_view name, Tensor& spare) {
  const auto making = Making<PatternLayout>::of(layout, resources);
  if (!making) return std::unexpected(making.error());
  std::optional<Tensor> pattern;
  Buffer sources;
  const auto known = [&] {
    const std::lock_guard lock(layout.mutex);
    pattern = layout.pattern;
    sources = layout.sources;
  };
  known();
  if (!pattern) return std::nullopt;
  const std::uint64_t positions = pattern->order() == 0 ? 1 : pattern->positions(pattern->order() - 1);
  if (sources.size_bytes() == 0 && positions > 0) {
    if (auto made = make_sources(tensor, layout, resources, name); !made) {
      if (made.error().kind == ErrorKind::resource) return std::nullopt;
      return std::unexpected(made.error());
    }
    known();
  }
  const std::uint64_t bytes = positions * scalar_bytes(scalar);
  Tensor last;
  {
    const std::lock_guard lock(layout.mutex);
    last = layout.last;
  }
  // Others may be reading what they were given; the layout itself and `before` hold it too, and perhaps `last` twice.
  const long held = before && TensorParts::values(*before) == TensorParts::values(last) ? 4 : 2;
  const bool as_wide = before && before->values().size_bytes() == bytes && before->format().scalar == scalar;
  // Where the order of values stays, a layout may have those of the operand.
  if (as_wide && bytes > 0 && before->values().data() == tensor.values().data()) {
    before->values_changed();
    return before;
  }
  if (as_wide && TensorParts::handles(*before) <= held && before->values().only_here()) {
    before->values_changed();
    Buffer values = before->values();
    gather(tensor, values, scalar, sources, layout.source_bits, resources.threads);
    return before;
  }
  // Memory that was touched before costs no page faults.
  const auto fits = [&](const Tensor& old, long handles) {
    return TensorParts::handles(old) == handles && old.values().size_bytes() == bytes && old.values().only_here();
  };
  if (TensorParts::values(spare) == TensorParts::values(last)) spare = {};
  const auto allocated = [&] {
    last = {};
    {
      const std::lock_guard lock(layout.mutex);
      std::swap(last, layout.last);
    }
    last = {};
    return Buffer::allocate(bytes, resources.memory, name);
  };
  Expected<Buffer> values = fits(spare, 1)  ? Expected<Buffer>(spare.values())
                            : fits(last, 2) ? Expected<Buffer>(last.values())
                                            : allocated();
  if (!values) return std::unexpected(values.error());
  gather(tensor, *values, scalar, sources, layout.source_bits, resources.threads);
  Tensor made = TensorParts::with_values(*pattern, std::move(*values), 0, scalar);
  const std::lock_guard lock(layout.mutex);
  std::swap(layout.last, last);
  layout.last = made;
  return made;
}

Expected<LaidOut> laid_out_with_facts(const Tensor& tensor, const Format& format, bool changes, const Resources& resources,
                                      std::string_view name, Tensor& spare) {
  ValueFacts& values = *TensorParts::value_facts(tensor);
  const auto layout = values.layouts.of(format, resources.memory);
  const auto kept = [&]() -> std::optional<Tensor> {
    const std::lock_guard lock(layout->mutex);
    if (layout->version != values.version()) return std::nullopt;
    layout->touch();
    return layout->tensor;
  };
  if (auto known = kept()) return LaidOut{std::move(*known), LayoutOrigin::known};
  const auto making = Making<ValuesLayout>::of(*layout, resources);
  if (!making) return std::unexpected(making.error());
  if (auto known = kept()) return LaidOut{std::move(*known), LayoutOrigin::known};
  if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
  std::optional<Tensor> before;
  {
    const std::lock_guard lock(layout->mutex);
    before = layout->tensor;
  }
  if (before && TensorParts::values(*before) == TensorParts::values(spare)) spare = {};
  const std::uint64_t version = values.version();
  const auto keep = [&](const Tensor& made) {
    const std::lock_guard lock(layout->mutex);
    layout->tensor = made;
    layout->version = version;
  };
  const bool both_dense = tensor.format().all_dense() && format.all_dense();
  if (both_dense && before && TensorParts::handles(*before) <= 2 && before->values().only_here()) {
    before->values_changed();
    if (auto written = write_dense(tensor, *before, resources, name); !written) return std::unexpected(written.error());
    keep(*before);
    return LaidOut{std::move(*before), LayoutOrigin::refilled};
  }
  const bool moved_as_a_whole = both_dense || values_decide_pattern(tensor, format);
  std::shared_ptr<PatternLayout> pattern;
  if (!moved_as_a_whole) {
    pattern = TensorParts::pattern_facts(tensor)->layouts.of(with_scalar(format, Scalar::f64), resources.memory);
    auto refilled = filled(tensor, before, *pattern, format.scalar, resources, name, spare);
    if (!refilled) return std::unexpected(refilled.error());
    if (*refilled) {
      keep(**refilled);
      return LaidOut{std::move(**refilled), LayoutOrigin::refilled};
    }
  }
  before.reset();
  spare = {};
  {
    const std::lock_guard lock(layout->mutex);
    layout->tensor.reset();
  }
  auto converted = convert(tensor, format, resources, name);
  if (!converted) return std::unexpected(converted.error());
  keep(*converted);
  if (pattern) {
    const auto making_pattern = Making<PatternLayout>::of(*pattern, resources);
    if (!making_pattern) return std::unexpected(making_pattern.error());
    {
      const std::lock_guard lock(pattern->mutex);
      pattern->pattern = TensorParts::without_values(*converted);
    }
    if (changes) {
      const auto made = make_sources(tensor, *pattern, resources, name);
      if (!made && made.error().kind != ErrorKind::resource) return std::unexpected(made.error());
    }
  }
  return LaidOut{std::move(*converted), LayoutOrigin::made};
}

bool has_strides(const Format& format) { return !format.levels.empty() && format.levels.front().strided; }

/// Dense memory described as the host's with strides is, for code that was made for such: nothing is copied.
Tensor with_strides(const Tensor& dense, const Format& format) {
  const std::vector<std::uint64_t> by_mode = strides_by_mode(dense);
  TensorArrays arrays = dense.arrays();
  arrays.format.mode_order = format.mode_order;
  for (std::size_t level = 0; level < arrays.order(); ++level) {
    arrays.format.levels[level].strided = format.levels[level].strided;
    arrays.levels[level].stride = by_mode[format.mode_order[level]];
  }
  return made(std::move(arrays));
}

// Code for strides reads elements in any order; where its rows are adjacent, those of such rows.
bool has_such_strides(const Tensor& dense, const Format& format) {
  if (!dense.format().all_dense() || !format.all_dense() || dense.format().scalar != format.scalar) return false;
  return format.levels.back().strided || strides_by_mode(dense)[format.mode_order.back()] == 1;
}

bool lends_indices(const Tensor& tensor) {
  return std::ranges::any_of(tensor.levels(), [](const LevelArrays& level) { return level.pos.borrowed() || level.crd.borrowed(); });
}

/// In copies of all arrays, or of those alone that are the host's.
Expected<Tensor> pattern_in_copies(const Tensor& tensor, bool all, const Resources& resources, std::string_view name) {
  TensorArrays arrays = TensorParts::without_values(tensor).arrays();
  for (LevelArrays& level : arrays.levels) {
    for (Buffer* array : {&level.pos, &level.crd}) {
      if (array->size_bytes() == 0 || !(all || array->borrowed())) continue;
      auto copy = copied(*array, resources.memory, name);
      if (!copy) return std::unexpected(copy.error());
      *array = std::move(*copy);
    }
  }
  const Tensor pattern = TensorParts::without_values(made(std::move(arrays)));
  if (const PatternFacts* const facts = TensorParts::pattern_facts(tensor))
    TensorParts::pattern_facts(pattern)->copied_from = facts->copied_from != 0 ? facts->copied_from : facts->number;
  return pattern;
}

}  // namespace

Expected<Tensor> copied_pattern(const Tensor& tensor, const Resources& resources, std::string_view name) {
  return guarded({"copying the pattern of ", name}, [&] { return pattern_in_copies(tensor, true, resources, name); });
}

Expected<Tensor> owned_pattern(const Tensor& tensor, const Resources& resources, std::string_view name) {
  if (!lends_indices(tensor)) return TensorParts::without_values(tensor);
  return guarded({"copying the pattern of ", name}, [&]() -> Expected<Tensor> {
    const auto layout = TensorParts::pattern_facts(tensor)->owned.of(tensor.format(), resources.memory);
    const auto kept = [&]() -> std::optional<Tensor> {
      const std::lock_guard lock(layout->mutex);
      layout->touch();
      return layout->pattern;
    };
    if (auto known = kept()) return std::move(*known);
    const auto making = Making<PatternLayout>::of(*layout, resources);
    if (!making) return std::unexpected(making.error());
    if (auto known = kept()) return std::move(*known);
    auto pattern = pattern_in_copies(tensor, false, resources, name);
    if (!pattern) return pattern;
    TensorParts::pattern_facts(*pattern)->kept_for_others = true;
    const std::lock_guard lock(layout->mutex);
    layout->pattern = *pattern;
    return pattern;
  });
}

Expected<PlacedTensor> laid_out_through_places(const Tensor& tensor, const Format& format, bool changes, const Resources& resources,
                                               std::string_view name) {
  return guarded({"converting ", name}, [&]() -> Expected<PlacedTensor> {
    if (tensor.format() == format) return in_order(tensor, LayoutOrigin::given, resources, name);
    if (tensor.padded()) return laid_out_through_places(TensorParts::as_stored(tensor), format, changes, resources, name);
    const bool knows = TensorParts::value_facts(tensor) != nullptr && TensorParts::pattern_facts(tensor) != nullptr;
    const bool moves_entries = knows && tensor.format().scalar == format.scalar && !tensor.format().all_dense() &&
                               !has_strides(tensor.format()) && !values_decide_pattern(tensor, format);
    if (moves_entries) {
      const auto layout = TensorParts::pattern_facts(tensor)->layouts.of(with_scalar(format, Scalar::f64), resources.memory);
      LayoutOrigin origin = LayoutOrigin::known;
      auto known = permutation(tensor, *layout, resources, name, origin);
      if (!known && known.error().kind != ErrorKind::resource) return std::unexpected(known.error());
      if (known && !known->has_gaps)
        return PlacedTensor{TensorParts::with_values_of(*known->pattern, tensor), std::move(known->sources), known->bits, origin};
    }
    auto layout = laid_out(tensor, format, changes, resources, name);
    if (!layout) return std::unexpected(layout.error());
    return in_order(layout->tensor, layout->origin, resources, name);
  });
}

Expected<LaidOut> laid_out(const Tensor& tensor, const Format& format, bool changes, const Resources& resources,
                           std::string_view name, Tensor spare) {
  if (tensor.format() == format) return LaidOut{tensor, LayoutOrigin::given};
  if (tensor.padded()) return laid_out(TensorParts::as_stored(tensor), format, changes, resources, name, spare);
  if (has_strides(format)) {
    Format packed = format;
    for (Level& level : packed.levels) level.strided = false;
    Expected<LaidOut> layout = LaidOut{tensor, LayoutOrigin::given};
    if (!has_such_strides(tensor, format)) layout = laid_out(tensor, packed, changes, resources, name);
    if (!layout) return layout;
    return guarded({"converting ", name}, [&]() -> Expected<LaidOut> {
      return LaidOut{with_strides(layout->tensor, format), layout->origin};
    });
  }
  return guarded({"converting ", name}, [&]() -> Expected<LaidOut> {
    if (TensorParts::value_facts(tensor) == nullptr || TensorParts::pattern_facts(tensor) == nullptr) {
      auto converted = convert(tensor, format, resources, name);
      if (!converted) return std::unexpected(converted.error());
      return LaidOut{std::move(*converted), LayoutOrigin::made};
    }
    return laid_out_with_facts(tensor, format, changes, resources, name, spare);
  });
}

}  // namespace weft
