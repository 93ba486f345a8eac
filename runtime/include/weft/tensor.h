// Tensor: a format, extents, and the arrays of its levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/format.h"
#include "weft/memory.h"

namespace weft {

struct PatternFacts;
class ValueFacts;

/// The arrays of one level. Elements are 32- or 64-bit unsigned as Level says. compressed and nonunique: pos has
/// (positions of the parent) + 1 elements, crd one per position; singleton: crd only; dense: neither. hashed and
/// bitmap: as entries() reads them; build() and convert() make them.
struct LevelArrays {
  Buffer pos;
  Buffer crd;
  std::uint64_t stride = 0;  ///< elements, for strided dense levels only
};

/// What a tensor is made of.
///
/// A chain `u q q …` (or `s`/`d` followed by `q`) holds one position per distinct tuple of its modes, sorted
/// lexicographically, so a `u` or inner `q` level repeats coordinates and the last level of the chain is unique
/// within its parent. Every position of the last level has one value in `values`.
struct TensorArrays {
  Format format;
  std::vector<std::uint64_t> extents;  ///< by MODE, not by level
  std::vector<LevelArrays> levels;
  Buffer values;             ///< f64 or f32 as format.scalar says
  std::uint64_t offset = 0;  ///< strided only: element of `values` at coordinate 0, 0, …
  std::vector<std::uint64_t> level_extents = {};  ///< with a layout only: of the coordinates of its levels
  bool padded = false;  ///< with a layout only: building added places, whose zeros converting leaves out

  std::size_t order() const { return extents.size(); }
  std::uint64_t extent_of_level(std::size_t level) const {
    return format.layout ? level_extents[level] : extents[format.mode_order[level]];
  }
};

/// What is known of arrays before anything has looked at them.
enum class Validity : std::uint8_t {
  unknown,  ///< verified by the first call that reads them, once for all copies
  known,    ///< made by weft, or the host vouches for them: never verified
};

/// What the pattern alone decides, and the scalar type: what a Tensor points to.
struct StoredPattern {
  Format format;
  std::vector<std::uint64_t> extents;
  std::vector<LevelArrays> levels;
  PatternFacts* facts = nullptr;
  std::shared_ptr<const void> facts_owner;  ///< none: this
  std::vector<std::uint64_t> level_extents = {};
  bool padded = false;
  bool sound = true;  ///< as many levels, modes and extents as the format says: else there are no positions to count
  bool vouched = false;  ///< by the host, for this handle and its copies: as if verified
};
struct StoredValues {
  Buffer buffer;
  std::uint64_t offset = 0;
  Scalar scalar = Scalar::f64;
  ValueFacts* facts = nullptr;
};

/// A stored tensor. A cheap handle: copies share the arrays, which are immutable, and what is known of them: of the
/// pattern (statistics, validity, layouts) and of the values (whether all are finite). Any number of threads may read.
/// Arrays change through the functions below alone; a host that writes into memory it has lent says so with
/// values_changed(). Made, it needs memory: std::bad_alloc is thrown in the host's own code.
class Tensor {
 public:
  Tensor() = default;  ///< of order 0, without a value
  explicit Tensor(TensorArrays arrays, Validity validity = Validity::unknown);

  const Format& format() const { return pattern_ ? pattern_->format : none().format; }
  const std::vector<std::uint64_t>& extents() const { return pattern_ ? pattern_->extents : none().extents; }
  const std::vector<LevelArrays>& levels() const { return pattern_ ? pattern_->levels : none().levels; }
  const Buffer& values() const { return values_ ? values_->buffer : none().values; }
  std::uint64_t offset() const { return values_ ? values_->offset : 0; }
  /// All of them, for a tensor that differs in some.
  TensorArrays arrays() const;

  std::size_t order() const { return extents().size(); }
  /// 0 where the arrays have no such level, or no extent for it.
  std::uint64_t extent_of_level(std::size_t level) const {
    const std::vector<std::uint64_t>& all = format().layout ? level_extents() : extents();
    const std::vector<std::uint32_t>& modes = format().mode_order;
    const std::size_t place = format().layout ? level : level < modes.size() ? modes[level] : all.size();
    return place < all.size() ? all[place] : 0;
  }
  /// With a layout: of the coordinates of its levels, and whether building added places, whose zeros converting leaves
  /// out.
  const std::vector<std::uint64_t>& level_extents() const {
    return pattern_ ? pattern_->level_extents : none().level_extents;
  }
  bool padded() const { return pattern_ && pattern_->padded; }
  /// Stored entries, zeros and entries of dense levels included. nnz > 2^32 is ordinary. 0 of arrays that cannot have
  /// one: levels, modes and extents are not as many as the format says.
  std::uint64_t nnz() const;
  std::uint64_t bytes() const;  ///< of all arrays
  bool borrowed() const;        ///< whether some array is the host's
  /// Positions of a level: positions(-1 as order 0) is 1. Read from pos, crd and extents; never from a product that
  /// could overflow for a valid tensor. Those of hashed and bitmap levels include positions without an entry. 0 of
  /// arrays as above.
  std::uint64_t positions(std::size_t level) const;
  std::string summary() const;  ///< one line: "229x229x182x24 sss:0,1,2 f64, 2607931 stored, 42.1 MB"

  /// Tells all copies that values (no coordinates) have changed, or are about to: what was known of them is forgotten.
  /// No call of weft that reads the tensor may be under way meanwhile.
  void values_changed() const;
  /// The values, to be written to: announced as by values_changed(). Of arrays that weft allocated, or that the host
  /// lent and may write to; T is the type that format().scalar says.
  template <class T>
  std::span<T> writable_values() const {
    values_changed();
    return values_ ? Buffer(values_->buffer).as<T>() : std::span<T>();
  }

 private:
  friend struct TensorParts;
  static const TensorArrays& none();
  std::shared_ptr<const StoredPattern> pattern_;
  std::shared_ptr<const StoredValues> values_;
};

/// Coordinates and values of a tensor in any order, duplicates allowed: one array per mode.
/// Widths are chosen by the reader: 32 bits per coordinate unless an extent needs more.
struct Coordinates {
  std::vector<std::uint64_t> extents;  ///< by mode
  std::vector<Buffer> crd;             ///< per mode; 32-bit elements if extents[m] <= 2^32, else 64-bit
  Buffer values;                       ///< of `scalar`
  Scalar scalar = Scalar::f64;
  std::uint64_t count = 0;
};

/// Builds a tensor: parallel sort in the format's mode order, duplicates summed (in input order), out-of-range
/// coordinates an input error naming `name`, mode and coordinate. Index widths of `format` are requests for the
/// minimum: 64 where 32 do not fit. Dense levels below sparse ones are filled with zeros. A `q` whose parent has not
/// exactly one child per position is an input error. Explicit zeros are kept. Consumes its input.
Expected<Tensor> build(Coordinates coordinates, Format format, const Resources& resources, std::string_view name);

/// The stored entries in the order of `modes` of the levels, as coordinates. Dense levels yield every coordinate.
/// `drop_zeros` leaves out exact zeros.
Expected<Coordinates> entries(const Tensor& tensor, bool drop_zeros, const Resources& resources);

/// The same tensor in another format (mode order, kinds, scalar), in parallel; identical formats share the arrays.
/// Formats in which values stay in their order share those: who writes into them announces it of both.
/// Where a dense level at the end becomes a sparse one only nonzeros are stored; explicit zeros of sparse tensors, and
/// blocks of zeros that stay blocks, are kept.
Expected<Tensor> convert(const Tensor& tensor, const Format& format, const Resources& resources,
                         std::string_view name);

/// An all-dense tensor of zeros; values are writable by the builder.
Expected<Tensor> dense_zeros(std::vector<std::uint64_t> extents, Format format, const Resources& resources,
                             std::string_view name);

/// The same tensor over larger (or equal) extents; input error naming the mode if a coordinate would not fit.
Expected<Tensor> with_extents(const Tensor& tensor, std::vector<std::uint64_t> extents, const Resources& resources,
                              std::string_view name);

/// The tensor with other values over the same pattern: what is known of that (statistics, validity, layouts) is shared,
/// and `tensor` stays as it was. Nothing is copied; the buffer has as many elements as those of `tensor`, of the type
/// `scalar`, else: input error. A strided tensor keeps its strides.
Expected<Tensor> same_pattern(const Tensor& tensor, Buffer values, Scalar scalar);

/// Checks every invariant: sizes, pos monotone and starting at 0, coordinates in range, sorted, unique where the kind
/// says so, no compressed position without a stored leaf (dense levels are exempt), index widths sufficient. Input
/// error naming level and position. Parallel.
Expected<void> verify(const Tensor& tensor, const Resources& resources, std::string_view name);

/// verify(), unless a copy of the tensor has passed it before, the host vouches for the arrays, or weft has made them.
/// All that reads tensors calls this first: compilation, binding, statistics, conversion, listing and writing.
Expected<void> verify_once(const Tensor& tensor, const Resources& resources, std::string_view name);

}  // namespace weft
