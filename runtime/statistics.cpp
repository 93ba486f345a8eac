#include "runtime/dense_levels.h"
#include "runtime/guarded.h"
#include "weft/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "runtime/blocks.h"
#include "runtime/company.h"
#include "runtime/convert.h"
#include "runtime/distinct.h"
#include "runtime/fibers.h"
#include "runtime/gaps.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "runtime/slices.h"
#include "runtime/tensor_facts.h"

namespace weft {

namespace {

constexpr std::size_t counted_together = 6;  ///< so many modes have all their sets counted at once

double product_of(const std::vector<std::uint64_t>& extents, ModeSet modes) {
  double product = 1;
  for (std::size_t m = 0; m < extents.size(); ++m)
    if (modes >> m & 1) product *= static_cast<double>(extents[m]);
  return product;
}

/// Expected distinct tuples of `modes` if nnz entries lie anywhere with equal chance: a tuple stands for Q coordinates,
/// the product of the other extents, and is absent with probability (1 - density)^Q. In logarithms, because products of
/// extents may exceed even a double.
double independent(const std::vector<std::uint64_t>& extents, ModeSet modes, double nnz) {
  if (nnz <= 0) return 0;
  double log_tuples = 0;
  double log_others = 0;
  for (std::size_t m = 0; m < extents.size(); ++m)
    (modes >> m & 1 ? log_tuples : log_others) += std::log(static_cast<double>(extents[m]));
  const double density = std::min(1.0, std::exp(std::log(nnz) - log_tuples - log_others));
  // Below this density log1p(-density) is -density to the last bit, and density * Q is nnz / tuples.
  const double expected =
      density < 1e-17 ? std::exp(std::log(nnz) - log_tuples) : -std::log1p(-density) * std::exp(log_others);
  if (log_tuples > 600 || expected < 1e-12) return nnz;  // no two entries meet
  return std::min(nnz, product_of(extents, modes) * -std::expm1(-expected));
}

/// NaN and Inf are the values whose exponent is all ones: without its sign such a value plus 1 in the lowest place of the exponent
/// carries into the place of the sign. Whole numbers may be taken in any order, so that compilers make vectors of this loop, which a
/// sum of floating-point numbers may not become; and, add and or are in every vector unit, a comparison of 64 bits is not.
template <class Bits, class T>
bool all_finite(std::span<const T> values, const Threads& threads) {
  static_assert(std::numeric_limits<T>::is_iec559 && sizeof(Bits) == sizeof(T));
  constexpr Bits sign = Bits{1} << (std::numeric_limits<Bits>::digits - 1);
  constexpr Bits lowest_of_exponent = Bits{1} << (std::numeric_limits<T>::digits - 1);
  const Blocks blocks(values.size(), threads);
  std::vector<std::uint8_t> finite(blocks.number, 1);
  for_blocks(threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    Bits carried = 0;
    for (std::uint64_t n = begin; n < end; ++n) carried |= (std::bit_cast<Bits>(values[n]) & ~sign) + lowest_of_exponent;
    finite[block] = (carried & sign) == 0;
  });
  return std::all_of(finite.begin(), finite.end(), [](std::uint8_t block) { return block != 0; });
}

bool all_finite(const Buffer& values, Scalar scalar, const Threads& threads) {
  return with_element(scalar, [&]<class T>(T) {
    return all_finite<std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>(values.as<T>(), threads);
  });
}

}  // namespace

struct Statistics::State {
  std::vector<std::uint64_t> extents;
  Format format;
  double nnz = 0;
  std::optional<Tensor> tensor;   ///< absent: figures were given, or
  std::optional<Tensor> uncopied;  ///< with gaps, and without memory for a copy that can be counted
  std::map<ModeSet, double> given;
  std::vector<double> completed;  ///< of given figures, by set of modes: nothing is counted later, so that no call waits
  bool given_finite = true;

  std::mutex mutex;
  std::map<ModeSet, double> known;  ///< by set of levels above the trailing dense ones
  std::vector<std::optional<FiberLengths>> fibers;
  std::map<std::pair<std::size_t, std::size_t>, double> in_slices;  ///< by level of the slices and level that is counted
  std::map<ModeSet, double> with_company;  ///< by set of levels
  std::atomic<bool> failed{false};  ///< something was asked that memory did not suffice for

  std::size_t core() const { return appended_levels(format.levels); }
  ModeSet all_modes() const { return static_cast<ModeSet>((std::uint64_t{1} << extents.size()) - 1); }

  /// What is counted so far, of a tensor with values of another type.
  std::shared_ptr<State> of_scalar(Scalar scalar);
  void complete_given();
  // On the threads of who asks: those of who asked first may be gone.
  double counted_distinct(ModeSet modes, const Threads& threads);
  double core_distinct(ModeSet levels, const Threads& threads);
  std::optional<double> exact_prefix(ModeSet levels, const Threads& threads) const;
  void count_all(const Threads& threads);
  double count_one(ModeSet levels, const Threads& threads) const;
};

std::shared_ptr<Statistics::State> Statistics::State::of_scalar(Scalar scalar) {
  const std::lock_guard lock(mutex);
  auto other = std::make_shared<State>();
  other->extents = extents;
  other->format = format;
  other->format.scalar = scalar;
  other->nnz = nnz;
  other->tensor = tensor;
  other->uncopied = uncopied;
  other->known = known;
  other->fibers = fibers;
  other->in_slices = in_slices;
  other->with_company = with_company;
  return other;
}

void Statistics::State::complete_given() {
  const ModeSet sets = all_modes() + 1;
  std::vector<double> values(sets, 1);
  std::vector<bool> exact(sets, false);
  exact[0] = true;
  for (ModeSet s = 1; s < sets; ++s) {
    auto found = given.find(s);
    exact[s] = found != given.end() || s == all_modes();
    values[s] = found != given.end() ? found->second : independent(extents, s, nnz);
  }
  make_consistent(values, exact, extents);
  completed = std::move(values);
}

/// Distinct tuples of a set of levels that is a prefix of the stored order.
std::optional<double> Statistics::State::exact_prefix(ModeSet levels, const Threads& threads) const {
  if (!std::has_single_bit(std::uint64_t{levels} + 1)) return std::nullopt;
  if (levels == 0) return 1;
  return static_cast<double>(
      distinct_prefix(*tensor, static_cast<std::size_t>(std::bit_width(levels)) - 1, threads));
}

void Statistics::State::count_all(const Threads& threads) {
  const std::size_t levels = core();
  const ModeSet sets = ModeSet{1} << levels;
  std::vector<double> values(sets, 1);
  std::vector<bool> exact(sets, true);
  std::vector<ModeSet> unknown;
  for (ModeSet s = 0; s < sets; ++s) {
    if (auto prefix = exact_prefix(s, threads))
      values[s] = *prefix;
    else
      unknown.push_back(s);
  }
  for (const auto& [set, count] : distinct_counts(*tensor, unknown, threads)) {
    values[set] = count.value;
    exact[set] = count.exact;
  }
  std::vector<std::uint64_t> by_level;
  for (std::size_t l = 0; l < levels; ++l) by_level.push_back(tensor->extent_of_level(l));
  make_consistent(values, exact, by_level);
  for (ModeSet s = 0; s < sets; ++s) known[s] = values[s];
}

/// Of many modes: this set alone, within what the exact figures allow.
double Statistics::State::count_one(ModeSet levels, const Threads& threads) const {
  const DistinctCount count = distinct_counts(*tensor, {levels}, threads).at(levels);
  if (count.exact) return count.value;
  double least = 1;
  double most = std::numeric_limits<double>::infinity();
  auto extents_of = [&](ModeSet set) {
    double product = 1;
    for (std::size_t l = 0; l < core(); ++l)
      if (set >> l & 1) product *= static_cast<double>(tensor->extent_of_level(l));
    return product;
  };
  for (std::size_t l = 0; l <= core(); ++l) {
    const auto prefix = static_cast<ModeSet>((std::uint64_t{1} << l) - 1);
    const double exact = *exact_prefix(prefix, threads);
    // d(S) <= d(P) * extents(S - P), d(P) <= d(S) * extents(P - S)
    most = std::min(most, exact * extents_of(levels & ~prefix));
    least = std::max(least, exact / extents_of(prefix & ~levels));
  }
  return std::max(least, std::min(most, count.value));
}

double Statistics::State::core_distinct(ModeSet levels, const Threads& threads) {
  if (auto found = known.find(levels); found != known.end()) return found->second;
  if (auto prefix = exact_prefix(levels, threads)) return known[levels] = *prefix;
  if (core() > counted_together) return known[levels] = count_one(levels, threads);
  count_all(threads);
  return known[levels];
}

double Statistics::State::counted_distinct(ModeSet modes, const Threads& threads) {
  ModeSet levels = 0;
  double trailing = 1;
  for (std::size_t l = 0; l < format.order(); ++l) {
    if (!(modes >> format.mode_order[l] & 1)) continue;
    if (l < core())
      levels |= ModeSet{1} << l;
    else
      trailing *= static_cast<double>(tensor->extent_of_level(l));
  }
  return core_distinct(levels, threads) * trailing;
}

std::shared_ptr<Statistics::State> Statistics::counting(const Tensor& tensor, const Resources& resources) {
  auto state = std::make_shared<State>();
  state->extents = tensor.extents();
  state->format = tensor.format();
  state->fibers.resize(tensor.order());
  if (auto valid = verify_once(tensor, Resources{Memory{}, resources.threads, {}, {}}, "the tensor"); !valid) {
    if (valid.error().kind == ErrorKind::resource) throw std::bad_alloc();
    return state;
  }
  if (tensor.format().layout) {  // those of the entries in compressed levels
    const auto plain = in_plain_format(tensor, Resources{resources.memory, resources.threads, {}, {}}, "statistics");
    if (!plain) throw std::bad_alloc();
    state->format = plain->format();
    state->nnz = static_cast<double>(plain->nnz());
    state->tensor = TensorParts::pattern_alone(*plain);
    return state;
  }
  state->nnz = static_cast<double>(tensor.nnz());
  if (has_gaps(tensor.format())) {
    // A cancelled call must not leave figures behind that are worse than those of others.
    const Resources whole{resources.memory, resources.threads, {}, {}};
    auto listed = relaid(tensor, without_gaps(tensor.format()), whole, "statistics");
    // With facts of their own: those of the tensor will hold these statistics, and the two would keep each other alive.
    (listed ? state->tensor : state->uncopied) = TensorParts::pattern_alone(listed ? *listed : tensor);
  } else {
    state->tensor = TensorParts::pattern_alone(tensor);
  }
  return state;
}

std::shared_ptr<Statistics::State> Statistics::figures(std::vector<std::uint64_t>&& extents, Format&& format, double nnz,
                                                       std::map<ModeSet, double>&& distinct, bool finite) {
  auto state = std::make_shared<State>();
  state->fibers.resize(extents.size());
  state->extents = std::move(extents);
  state->format = format.layout ? sparse_format(state->extents.size(), format.scalar) : std::move(format);
  state->nnz = nnz;
  state->given = std::move(distinct);
  state->given_finite = finite;
  const bool asked = nnz > 0 && !state->format.all_dense() && state->extents.size() <= counted_together;
  if (asked) state->complete_given();
  return state;
}

Statistics::Statistics(const Tensor& tensor, const Resources& resources)
    : state_(guarded_value([&] { return counting(tensor, resources); }, [] { return std::shared_ptr<State>(); })),
      values_(TensorParts::values(tensor)),
      threads_(resources.threads) {}

Statistics::Statistics(const Tensor& tensor, const Threads& threads)
    : state_(guarded_value([&] { return counting(tensor, Resources{Memory{}, threads, {}, {}}); },
                           [] { return std::shared_ptr<State>(); })),
      values_(TensorParts::values(tensor)),
      threads_(threads) {}

Statistics::Statistics(std::vector<std::uint64_t> extents, Format format, double nnz, std::map<ModeSet, double> distinct,
                       bool finite)
    : state_(guarded_value([&] { return figures(std::move(extents), std::move(format), nnz, std::move(distinct), finite); },
                           [] { return std::shared_ptr<State>(); })) {}

Statistics statistics(const Tensor& tensor, const Resources& resources) {
  PatternFacts* const facts = TensorParts::pattern_facts(tensor);
  const Scalar scalar = tensor.format().scalar;
  Statistics told;
  if (auto known = facts ? facts->counted(scalar) : nullptr) {
    told.state_ = known->state_;
    told.values_ = TensorParts::values(tensor);
    told.threads_ = resources.threads;
    return told;
  }
  std::shared_ptr<const Statistics> other;
  for (const ScalarTraits& each : scalar_types) {
    if (facts && !other && each.scalar != scalar) other = facts->counted(each.scalar);
  }
  if (other) {
    told.state_ = guarded_value([&] { return other->state_->of_scalar(scalar); }, [] { return std::shared_ptr<Statistics::State>(); });
    told.values_ = TensorParts::values(tensor);
    told.threads_ = resources.threads;
  } else {
    told = Statistics(tensor, resources);
  }
  if (facts == nullptr || !told.state_) return told;
  // Kept without the values, of which other tensors over the pattern have others, and without the threads, which may end before it.
  return guarded_value(
      [&] {
        auto pattern = std::make_shared<Statistics>(told);
        pattern->values_ = nullptr;
        pattern->threads_.reset();
        told.state_ = facts->keep(scalar, std::move(pattern))->state_;
        return told;
      },
      [] { return Statistics(); });
}

Statistics statistics(const Tensor& tensor, const Threads& threads) {
  return guarded_value([&] { return statistics(tensor, Resources{Memory{}, threads, {}, {}}); }, [] { return Statistics(); });
}

const std::vector<std::uint64_t>& Statistics::extents() const {
  static const std::vector<std::uint64_t> none;
  return state_ ? state_->extents : none;
}
const Format& Statistics::format() const {
  static const Format none;
  return state_ ? state_->format : none;
}
Threads Statistics::threads() const { return threads_ ? *threads_ : Threads(1); }
double Statistics::nnz() const { return state_ ? state_->nnz : 0; }

std::optional<Error> Statistics::take_failure() const {
  if (state_ && !state_->failed.exchange(false)) return std::nullopt;
  return out_of_memory({"counting what is stored"});
}

/// What `count` finds, of a State; `instead` where memory runs out, which the next compilation is told.
template <class Value, class Count>
Value Statistics::counted(Value instead, Count&& count) const {
  if (!state_) return instead;
  return guarded_value([&] { return count(); },
                       [&] {
                         state_->failed = true;
                         return instead;
                       });
}

double Statistics::distinct(ModeSet modes) const {
  return counted(nnz(), [&] { return counted_distinct(modes); });
}

double Statistics::counted_distinct(ModeSet modes) const {
  modes &= state_->all_modes();
  if (state_->nnz <= 0) return 0;
  if (modes == 0) return 1;
  if (!state_->completed.empty()) return state_->completed[modes];
  if (state_->format.all_dense()) return product_of(state_->extents, modes);
  if (!state_->tensor) {
    const auto found = state_->given.find(modes);
    if (found != state_->given.end()) return found->second;
    const double expected = independent(state_->extents, modes, state_->nnz);
    // Kernels rely on levels that are full: an estimate never says so.
    return state_->uncopied ? std::min(expected, std::nextafter(product_of(state_->extents, modes), 0.0)) : expected;
  }
  std::lock_guard lock(state_->mutex);
  return state_->counted_distinct(modes, threads());
}

FiberLengths Statistics::fibers(std::size_t level) const {
  return counted(FiberLengths{}, [&] { return counted_fibers(level); });
}

FiberLengths Statistics::counted_fibers(std::size_t level) const {
  if (level >= state_->format.order()) return {};
  if (state_->tensor) {
    std::lock_guard lock(state_->mutex);
    auto& known = state_->fibers[level];
    if (!known) known = fiber_lengths(*state_->tensor, level, threads());
    return *known;
  }
  const auto extent = state_->extents[state_->format.mode_order[level]];
  if (state_->uncopied && (is_compressed(state_->format.levels[level].kind) ||
                           begins_chain(state_->format.levels[level].kind)))
    return fiber_lengths(*state_->uncopied, level, threads());  // gaps are empty fibers; kernels rely on the longest
  if (is_dense(state_->format.levels[level].kind))
    return {.mean = static_cast<double>(extent), .maximum = extent, .spread = 0};
  ModeSet above = 0;
  for (std::size_t l = 0; l < level; ++l) above |= ModeSet{1} << state_->format.mode_order[l];
  const double parents = distinct(above);
  const double mean = parents > 0 ? distinct(above | ModeSet{1} << state_->format.mode_order[level]) / parents : 0;
  const double longest = std::min(std::ceil(mean), static_cast<double>(extent));
  return {.mean = mean, .maximum = static_cast<std::uint64_t>(std::min(longest, 0x1p63)), .spread = 0};
}

double Statistics::distinct_in_slices(std::size_t mode, std::size_t counted_mode) const {
  return counted(0.0, [&] { return counted_in_slices(mode, counted_mode); });
}

double Statistics::counted_in_slices(std::size_t mode, std::size_t counted_mode) const {
  if (!state_->tensor || state_->nnz <= 0) return 0;
  const auto level_of = [&](std::size_t wanted) {
    return static_cast<std::size_t>(std::ranges::find(state_->format.mode_order, wanted) - state_->format.mode_order.begin());
  };
  const std::pair levels(level_of(mode), level_of(counted_mode));
  if (std::max(levels.first, levels.second) >= state_->core()) return 0;
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->in_slices.find(levels);
  if (known != state_->in_slices.end()) return known->second;
  return state_->in_slices[levels] = weft::distinct_in_slices(*state_->tensor, levels.first, levels.second, threads());
}

double Statistics::share_with_company(ModeSet modes) const {
  return counted(1.0, [&] { return counted_with_company(modes); });
}

double Statistics::counted_with_company(ModeSet modes) const {
  if (!state_->tensor || state_->nnz <= 0) return 1;
  ModeSet levels = 0;
  for (std::size_t level = 0; level < state_->format.order(); ++level) {
    if (modes >> state_->format.mode_order[level] & 1) levels |= ModeSet{1} << level;
  }
  if (levels >> state_->core() != 0) return 1;
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->with_company.find(levels);
  if (known != state_->with_company.end()) return known->second;
  return state_->with_company[levels] = weft::share_with_company(*state_->tensor, levels, threads());
}

bool Statistics::finite() const {
  if (finite_) return *finite_;
  return counted(false, [&] {
    if (!values_) return state_->given_finite;
    return values_->facts->finite([&] { return all_finite(values_->buffer, values_->scalar, threads()); });
  });
}

Statistics Statistics::with_finite(bool finite) const {
  Statistics told = *this;
  told.values_ = nullptr;
  told.finite_ = finite;
  return told;
}

Statistics of_values(Statistics figures, const Statistics& counted) {
  figures.values_ = counted.values_;
  figures.finite_ = counted.values_ ? counted.finite_ : counted.finite();
  return figures;
}

bool finite_values(const Tensor& tensor, const Threads& threads) {
  ValueFacts* const facts = TensorParts::value_facts(tensor);
  const auto scan = [&] { return all_finite(tensor.values(), tensor.format().scalar, threads); };
  return facts ? facts->finite(scan) : scan();
}

std::optional<bool> known_finite(const Tensor& tensor) {
  const ValueFacts* const facts = TensorParts::value_facts(tensor);
  return facts ? facts->known_finite() : std::nullopt;
}

std::string Statistics::text() const {
  return state_ ? guarded_text([&] { return whole_text(); }) : std::string("out of memory");
}

std::string Statistics::whole_text() const {
  std::string result = fmt::format("nnz {}\n", nnz());
  const std::size_t order = state_->extents.size();
  auto add = [&](ModeSet modes) {
    std::vector<std::size_t> listed;
    for (std::size_t m = 0; m < order; ++m)
      if (modes >> m & 1) listed.push_back(m);
    result += fmt::format("distinct({}) {:.0f}\n", fmt::join(listed, ","), distinct(modes));
  };
  if (order <= counted_together) {
    for (ModeSet s = 1; s <= state_->all_modes(); ++s) add(s);
  } else {
    ModeSet prefix = 0;
    for (std::uint32_t mode : state_->format.mode_order) add(prefix |= ModeSet{1} << mode);
  }
  for (std::size_t l = 0; l < order; ++l) {
    const FiberLengths lengths = fibers(l);
    result += fmt::format("fibers of level {}: mean {:.4g}, maximum {}, spread {:.4g}\n", l, lengths.mean,
                          lengths.maximum, lengths.spread);
  }
  return result + (finite() ? "all values finite\n" : "some values are NaN or infinite\n");
}

}  // namespace weft
