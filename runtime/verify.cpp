// The invariants of a stored tensor.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <vector>

#include "runtime/blocks.h"
#include "runtime/build.h"
#include "runtime/charge.h"
#include "runtime/entries.h"
#include "runtime/extents.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"
#include "runtime/level_rules.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"
#include "runtime/waiting.h"
#include "runtime/wide.h"

namespace weft {
namespace {

/// First position in [0, count) for which `wrong` holds, or `saturated`. Parallel.
template <class F>
std::uint64_t first_wrong(std::uint64_t count, const Resources& resources, F&& wrong) {
  const Blocks blocks(count, resources.threads);
  std::vector<std::uint64_t> found(blocks.number, saturated);
  for_blocks(resources.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    for (std::uint64_t n = begin; n < end && found[block] == saturated; ++n)
      if (wrong(n)) found[block] = n;
  });
  return found.empty() ? saturated : *std::min_element(found.begin(), found.end());
}

class Verification {
 public:
  Verification(const Tensor& tensor, const LevelRules& rules, const Resources& resources, std::string_view name)
      : tensor_(tensor), rules_(rules), resources_(resources), name_(name) {}

  Expected<void> run() {
    if (auto done = shape(); !done) return done;
    for (std::size_t l = 0; l < tensor_.order(); ++l) {
      if (resources_.cancellation.cancelled())
        return fail(ErrorKind::cancelled, fmt::format("cancelled while verifying {}", name_));
      Expected<void> done;
      switch (tensor_.format().levels[l].kind) {
        case LevelKind::dense: done = dense(l); break;
        case LevelKind::singleton: done = singleton(l); break;
        case LevelKind::bitmap: done = bitmap(l); break;
        case LevelKind::hashed: done = hashed(l); break;
        case LevelKind::variable: done = variable(l); break;
        case LevelKind::compressed:
        case LevelKind::compressed_nonunique:
        case LevelKind::accumulator: done = compressed(l); break;
      }
      if (!done) return done;
    }
    if (auto done = values(); !done) return done;
    return has_gaps(tensor_.format()) ? listed() : leaves();
  }

 private:
  template <class... Arguments>
  std::unexpected<Error> refuse(ErrorCode code, fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    return fail(ErrorKind::input, code, name_,
                fmt::format("{}: {}", name_, fmt::format(text, std::forward<Arguments>(arguments)...)));
  }
  template <class... Arguments>
  std::unexpected<Error> refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    return refuse(ErrorCode::invalid_tensor, text, std::forward<Arguments>(arguments)...);
  }

  bool strided() const {
    return std::any_of(tensor_.format().levels.begin(), tensor_.format().levels.end(),
                       [](const Level& level) { return level.strided; });
  }

  Expected<void> shape() const {
    Format format = tensor_.format();
    if (auto known = check_known(format, name_); !known)
      return fail(ErrorKind::input, ErrorCode::invalid_tensor, name_, std::move(known.error().message));
    if (strided()) {
      if (!format.all_dense()) return refuse("strided levels beside sparse ones");
      for (std::size_t l = 0; l < format.order(); ++l) {
        const bool side_by_side = l > 0 && l + 1 == format.order();
        if (!format.levels[l].strided && !side_by_side)
          return refuse("strided and contiguous levels in one tensor, and not the last one alone");
        format.levels[l].strided = false;
      }
    }
    for (Level& level : format.levels)  // which only the levels of layouts have
      if (has_lengths(level.kind)) level.kind = LevelKind::dense;
    if (auto checked = check_buildable(format, tensor_.extents(), name_); !checked) {
      Error error = std::move(checked.error());
      if (error.code == ErrorCode::other) error.code = ErrorCode::invalid_tensor;
      if (error.operand.empty()) error.operand = name_;
      return std::unexpected(std::move(error));
    }
    if (tensor_.levels().size() != tensor_.order())
      return refuse(ErrorCode::sizes, "{} level arrays for order {}", tensor_.levels().size(), tensor_.order());
    for (std::size_t l = 0; l < tensor_.order(); ++l) {
      const auto known = [](unsigned bits) { return bits == 32 || bits == 64; };
      const Level& level = format.levels[l];
      if (!known(level.pos_bits) || !known(level.crd_bits))
        return refuse("level {}: indices of {} and {} bits: they have 32 or 64", l, level.pos_bits, level.crd_bits);
    }
    return {};
  }

  Expected<void> dense(std::size_t l) {
    const LevelArrays& arrays = tensor_.levels()[l];
    if (arrays.pos.size_bytes() || arrays.crd.size_bytes()) return refuse("level {} is dense but has index arrays", l);
    positions_ = saturating_product(positions_, tensor_.extent_of_level(l));
    block_ = saturating_product(block_, tensor_.extent_of_level(l));
    return {};
  }

  Expected<void> width(std::size_t l) const {
    if (coordinate_bits(tensor_.extent_of_level(l)) > tensor_.format().levels[l].crd_bits)
      return refuse("level {} has 32-bit coordinates, but its extent is {}", l, tensor_.extent_of_level(l));
    return {};
  }

  Expected<void> exact_size(std::size_t l, std::string_view array, const Buffer& buffer, std::uint64_t elements,
                            unsigned bits) const {
    if (buffer.size_bytes() != saturating_product(elements, bits / 8))
      return refuse(ErrorCode::sizes, "level {}: {} has {} bytes, but {} elements of {} bits are needed", l, array, buffer.size_bytes(),
                    elements, bits);
    return {};
  }

  Expected<void> range(std::size_t l) const {
    const Indices crd(tensor_.levels()[l].crd, tensor_.format().levels[l].crd_bits);
    const std::uint64_t extent = tensor_.extent_of_level(l);
    std::uint64_t wrong = first_wrong(crd.size(), resources_, [&](std::uint64_t p) { return crd[p] >= extent; });
    if (wrong != saturated)
      return refuse(ErrorCode::out_of_range, "level {}: coordinate {} at position {} is not below the extent {} of mode {}", l,
                    with_sign(crd[wrong], tensor_.format().levels[l].crd_bits), wrong, extent, tensor_.format().mode_order[l]);
    return {};
  }

  /// "4294967295 (-1 with a sign)": hosts have numbers with one.
  static std::string with_sign(std::uint64_t coordinate, unsigned bits) {
    if (bits == 32 && coordinate >> 31 != 0) return fmt::format("{} ({} with a sign)", coordinate, static_cast<std::int32_t>(coordinate));
    if (bits == 64 && coordinate >> 63 != 0) return fmt::format("{} ({} with a sign)", coordinate, static_cast<std::int64_t>(coordinate));
    return fmt::format("{}", coordinate);
  }

  Expected<void> singleton(std::size_t l) {
    if (tensor_.levels()[l].pos.size_bytes()) return refuse("level {} is a singleton but has a pos array", l);
    if (auto done = width(l); !done) return done;
    if (auto done = exact_size(l, "crd", tensor_.levels()[l].crd, positions_, tensor_.format().levels[l].crd_bits); !done)
      return done;
    return range(l);
  }

  Expected<void> variable(std::size_t l) {
    if (tensor_.levels()[l].crd.size_bytes()) return refuse("level {} is variable but has a crd array", l);
    if (auto done = rising(l); !done) return done;
    const Indices pos(tensor_.levels()[l].pos, tensor_.format().levels[l].pos_bits);
    const std::uint64_t extent = tensor_.extent_of_level(l);
    const std::uint64_t wrong = first_wrong(positions_, resources_, [&](std::uint64_t p) { return pos[p + 1] - pos[p] > extent; });
    if (wrong != saturated)
      return refuse("level {}: the fiber of position {} has {} coordinates, more than the extent {}", l, wrong, pos[wrong + 1] - pos[wrong],
                    extent);
    positions_ = pos[positions_];
    return {};
  }

  /// pos begins with 0, never falls, and ends where crd does.
  Expected<void> ends(std::size_t l) {
    if (auto done = rising(l); !done) return done;
    const Level& level = tensor_.format().levels[l];
    const Indices pos(tensor_.levels()[l].pos, level.pos_bits);
    const std::uint64_t stored = tensor_.levels()[l].crd.size_bytes() / (level.crd_bits / 8);
    if (pos[positions_] > stored)
      return refuse(ErrorCode::sizes, "level {}: pos is {} at position {}, beyond the {} coordinates", l, pos[positions_], positions_,
                    stored);
    if (position_bits(pos[positions_]) > level.pos_bits)
      return refuse("level {} has {}-bit positions, but {} coordinates", l, level.pos_bits, pos[positions_]);
    return exact_size(l, "crd", tensor_.levels()[l].crd, pos[positions_], level.crd_bits);
  }

  Expected<void> rising(std::size_t l) {
    const Level& level = tensor_.format().levels[l];
    if (positions_ == saturated) return refuse("level {}: the dense levels above have more than 2^64 positions", l);
    if (auto done = exact_size(l, "pos", tensor_.levels()[l].pos, positions_ + 1, level.pos_bits); !done) return done;
    const Indices pos(tensor_.levels()[l].pos, level.pos_bits);
    if (pos[0] != 0) return refuse("level {}: pos begins with {} instead of 0", l, pos[0]);
    const std::uint64_t wrong =
        first_wrong(positions_, resources_, [&](std::uint64_t p) { return pos[p] > pos[p + 1]; });
    if (wrong != saturated)
      return refuse("level {}: pos falls from {} to {} behind position {}", l, pos[wrong], pos[wrong + 1], wrong);
    return {};
  }

  Expected<void> compressed(std::size_t l) {
    const Level& level = tensor_.format().levels[l];
    if (auto done = width(l); !done) return done;
    if (auto done = ends(l); !done) return done;
    if (auto done = range(l); !done) return done;
    const Indices pos(tensor_.levels()[l].pos, level.pos_bits);
    const std::uint64_t total = pos[positions_];
    std::uint64_t wrong = first_wrong(positions_, resources_, [&](std::uint64_t p) { return !present(p) && pos[p] != pos[p + 1]; });
    if (wrong != saturated) return refuse("level {}: fiber {} has entries, but no entry above", l, wrong);
    present_ = {};  // from here on every position has an entry
    block_ = 1;

    // Order is that of the whole chain of a nonunique level, whose singletons have the same positions.
    std::size_t last = l;
    if (begins_chain(level.kind))
      while (last + 1 < tensor_.order() && is_per_parent(tensor_.format().levels[last + 1].kind)) ++last;
    std::vector<Indices> crd;
    for (std::size_t c = l; c <= last; ++c) {
      const Level& chained = tensor_.format().levels[c];
      if (auto done = exact_size(c, "crd", tensor_.levels()[c].crd, total, chained.crd_bits); !done) return done;
      crd.emplace_back(tensor_.levels()[c].crd, chained.crd_bits);
    }
    const LevelOrder order = l < rules_.order.size() ? rules_.order[l] : LevelOrder::ascending;
    if (order == LevelOrder::unordered) {
      if (auto done = distinct(l, pos, crd.front()); !done) return done;
      positions_ = total;
      return {};
    }
    auto not_above = [&](std::uint64_t p) {  // whether position p + 1 is not lexicographically above position p
      for (const Indices& coordinates : crd)
        if (coordinates[p] != coordinates[p + 1]) return (coordinates[p] > coordinates[p + 1]) == (order == LevelOrder::ascending);
      return true;
    };
    const Blocks blocks(total, resources_.threads);
    std::vector<std::uint64_t> found(blocks.number, saturated);
    for_blocks(resources_.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
      // The first fiber that ends behind `begin`; from there fiber ends are passed one by one.
      std::uint64_t low = 0;
      for (std::uint64_t high = positions_; low < high;) {
        std::uint64_t middle = low + (high - low) / 2;
        if (pos[middle + 1] > begin)
          high = middle;
        else
          low = middle + 1;
      }
      std::uint64_t fiber = low;
      for (std::uint64_t p = begin; p < end && p + 1 < total; ++p) {
        while (pos[fiber + 1] <= p) ++fiber;
        if (p + 1 < pos[fiber + 1] && not_above(p)) {
          found[block] = p + 1;
          return;
        }
      }
    });
    for (std::uint64_t p : found)
      if (p != saturated)
        return refuse("level {}: the entry at position {} repeats or precedes the one before it in its fiber "
                      "(coordinates {} and {})",
                      l, p, crd[0][p - 1], crd[0][p]);
    positions_ = total;
    return {};
  }

  /// Coordinates of a fiber in any order.
  Expected<void> distinct(std::size_t l, const Indices& pos, const Indices& crd) const {
    std::vector<std::uint64_t> fiber;
    for (std::uint64_t parent = 0; parent < positions_; ++parent) {
      fiber.clear();
      for (std::uint64_t p = pos[parent]; p < pos[parent + 1]; ++p) fiber.push_back(crd[p]);
      std::ranges::sort(fiber);
      const auto twice = std::ranges::adjacent_find(fiber);
      if (twice != fiber.end()) return refuse("level {}: the coordinate {} stands twice in fiber {}", l, *twice, parent);
    }
    return {};
  }

  /// Whether a position of the level before has an entry: all have, unless a hashed or bitmap level left gaps.
  bool present(std::uint64_t position) const { return present_.bits.empty() || present_.bits[position / block_]; }

  /// A charged bit for every position of a level that may have gaps.
  struct Marks {
      std::vector<bool> bits;
    Charge charge;
  };

  Expected<Marks> marks(std::uint64_t positions) const {
    auto charge = resources_.memory.charge(positions / 8, fmt::format("the verification of {}", name_));
    if (!charge) return std::unexpected(std::move(charge.error()));
    return Marks{std::vector<bool>(positions), std::move(*charge)};
  }

  void found_present(Marks marks) {
    positions_ = marks.bits.size();
    present_ = std::move(marks);
    block_ = 1;
  }

  Expected<void> bitmap(std::size_t l) {
    const std::uint64_t extent = tensor_.extent_of_level(l);
    const std::uint64_t words = bitmap_words(extent);
    const Buffer& bits = tensor_.levels()[l].crd;
    if (tensor_.levels()[l].pos.size_bytes()) return refuse("level {} is a bitmap but has a pos array", l);
    if (auto done = exact_size(l, "bitmap", bits, saturating_product(positions_, words), 64); !done) return done;
    const std::uint64_t positions = saturating_product(positions_, extent);
    auto below = marks(positions);
    if (!below) return std::unexpected(std::move(below.error()));
    for (std::uint64_t parent = 0; parent < positions_ && words > 0; ++parent)
      for (std::uint64_t word = 0; word < words; ++word)
        for (std::uint64_t rest = bits.as<std::uint64_t>()[parent * words + word]; rest != 0; rest &= rest - 1) {
          const std::uint64_t c = word * 64 + static_cast<std::uint64_t>(std::countr_zero(rest));
          if (c >= extent) {
            return refuse(ErrorCode::out_of_range, "level {}: bit {} of fiber {} is not below the extent {}", l, c, parent, extent);
          }
          if (!present(parent)) return refuse("level {}: fiber {} has entries, but no entry above", l, parent);
          below->bits[parent * extent + c] = true;
        }
    found_present(std::move(*below));
    return {};
  }

  Expected<void> hashed(std::size_t l) {
    const Level& level = tensor_.format().levels[l];
    const std::uint64_t extent = tensor_.extent_of_level(l);
    if (extent > empty_slot(level.crd_bits)) return refuse("level {} has coordinates as wide as its empty slots", l);
    if (auto done = ends(l); !done) return done;
    const Indices pos(tensor_.levels()[l].pos, level.pos_bits);
    const std::uint64_t total = pos[positions_];
    const Indices crd(tensor_.levels()[l].crd, level.crd_bits);
    const std::uint64_t empty = empty_slot(level.crd_bits);
    auto below = marks(total);
    if (!below) return std::unexpected(std::move(below.error()));
    for (std::uint64_t parent = 0; parent < positions_; ++parent) {
      const std::uint64_t begin = pos[parent];
      const std::uint64_t slots = pos[parent + 1] - begin;
      if (slots == 0) continue;
      if (!std::has_single_bit(slots)) return refuse("level {}: fiber {} has {} slots, no power of two", l, parent, slots);
      std::uint64_t entries = 0;
      for (std::uint64_t slot = 0; slot < slots; ++slot) {
        const std::uint64_t c = crd[begin + slot];
        if (c == empty) continue;
        ++entries;
        if (c >= extent) {
          return refuse(ErrorCode::out_of_range, "level {}: coordinate {} in slot {} is not below the extent {}", l, c, begin + slot,
                        extent);
        }
        // A search for it must come here, which also rules out that it stands somewhere else too.
        std::uint64_t probe = first_slot(c, slots);
        while (probe != slot && crd[begin + probe] != c && crd[begin + probe] != empty) probe = (probe + 1) % slots;
        if (probe != slot) return refuse("level {}: coordinate {} is not found in its slot {}", l, c, begin + slot);
        below->bits[begin + slot] = true;
      }
      if (entries == slots) return refuse("level {}: fiber {} has no empty slot", l, parent);
      if (entries == 0) return refuse("level {}: fiber {} has slots but no entry", l, parent);
      if (!present(parent)) return refuse("level {}: fiber {} has entries, but no entry above", l, parent);
    }
    found_present(std::move(*below));
    return {};
  }

  /// What is stored must be a tensor with compressed levels in their place.
  Expected<void> listed() const {
    const auto tensor = relaid(tensor_, without_gaps(tensor_.format()), resources_, name_);
    if (!tensor) return std::unexpected(tensor.error());
    return verify_levels(*tensor, rules_, resources_, name_);
  }

  Expected<void> values() const {
    const std::uint64_t bytes = scalar_bytes(tensor_.format().scalar);
    if (!strided()) {
      if (tensor_.values().size_bytes() != saturating_product(positions_, bytes))
        return refuse(ErrorCode::sizes, "{} bytes of values, but {} stored entries of {} bytes", tensor_.values().size_bytes(), positions_,
                      bytes);
      const Indices stored(tensor_.values(), static_cast<unsigned>(8 * bytes));
      const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);  // -0 is no value
      for (std::uint64_t p = 0; p < positions_ && !present_.bits.empty(); ++p)
        if (!present(p) && (stored[p] & ~sign) != 0) return refuse("position {} has a value, but no entry", p);
      return {};
    }
    if (positions_ == 0) return {};
    // Strides may be negative, as wrapped unsigned numbers: the reach in both directions must stay inside.
    Wide lowest = tensor_.offset();
    Wide highest = tensor_.offset();
    for (std::size_t l = 0; l < tensor_.order(); ++l) {
      Wide reach = static_cast<Wide>(static_cast<std::int64_t>(tensor_.levels()[l].stride)) *
                       static_cast<Wide>(tensor_.extent_of_level(l) - 1);
      (reach < 0 ? lowest : highest) += reach;
      if (lowest < 0 || highest > static_cast<Wide>(saturated)) break;  // before 128 bits are too few
    }
    if (lowest < 0 || highest >= static_cast<Wide>(tensor_.values().size_bytes() / bytes))
      return refuse(ErrorCode::sizes, "its strides reach outside of the {} bytes of values", tensor_.values().size_bytes());
    return {};
  }

  /// Every position of a compressed level must lead to a stored entry: empty subtrees would be driven for nothing and
  /// counted as distinct coordinates.
  Expected<void> leaves() const {
    const Leaves below(tensor_);
    for (std::size_t l = 0; l + 1 < tensor_.order(); ++l) {
      const LevelKind kind = tensor_.format().levels[l].kind;
      if (is_dense(kind) || has_lengths(kind) || (l < rules_.childless.size() && rules_.childless[l])) continue;
      std::uint64_t wrong = first_wrong(tensor_.positions(l), resources_, [&](std::uint64_t p) {
        return below.begin(l, p) == below.begin(l, p + 1);
      });
      if (wrong != saturated) return refuse("level {}: position {} has no stored entry below it", l, wrong);
    }
    return {};
  }

  const Tensor& tensor_;
  const LevelRules& rules_;
  const Resources& resources_;
  std::string_view name_;
  std::uint64_t positions_ = 1;
  Marks present_;              ///< by position of the last hashed or bitmap level; empty: all have entries
  std::uint64_t block_ = 1;    ///< positions of the dense levels below one of those
};

}  // namespace

Expected<void> verify_levels(const Tensor& levels, const LevelRules& rules, const Resources& resources, std::string_view name) {
  return Verification(levels, rules, resources, name).run();
}

Expected<void> verify(const Tensor& tensor, const Resources& resources, std::string_view name) {
  return guarded({"verifying ", name}, [&]() -> Expected<void> {
    return tensor.format().layout ? verify_layout(tensor, resources, name) : Verification(tensor, {}, resources, name).run();
  });
}

Expected<void> verify_once(const Tensor& tensor, const Resources& resources, std::string_view name) {
  PatternFacts* const facts = TensorParts::pattern_facts(tensor);
  if (facts == nullptr) return verify(tensor, resources, name);
  if (is_verified(tensor)) return {};
  const auto lock = locked_unless(facts->verifying, [&] { return resources.cancellation.cancelled(); });
  if (!lock.owns_lock())
    return guarded({"verifying ", name}, [&]() -> Expected<void> {
      return fail(ErrorKind::cancelled, fmt::format("cancelled while another thread verifies {}", name));
    });
  if (facts->valid.load(std::memory_order_relaxed)) return {};
  if (auto valid = verify(tensor, resources, name); !valid) return valid;
  facts->valid.store(true, std::memory_order_release);
  return {};
}

}  // namespace weft
