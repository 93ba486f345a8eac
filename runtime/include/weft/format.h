// Format: scalar type, mode order, one level kind per level, index widths.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/error.h"

namespace weft {

enum class Scalar : std::uint8_t { f64, f32 };

constexpr unsigned scalar_bytes(Scalar scalar) { return scalar == Scalar::f64 ? 8 : 4; }

/// How the coordinates of one level are stored (design section 5). The letter is the one of `--format`.
enum class LevelKind : std::uint8_t {
  dense,                 ///< d: every coordinate of the extent, position = parent * extent + coordinate
  compressed,            ///< s: pos + crd, coordinates of a fiber sorted and unique
  compressed_nonunique,  ///< u: pos + crd, sorted, a coordinate repeats once per entry of the singletons below it
  singleton,             ///< q: crd only, one entry per parent position
  hashed,                ///< h: slots of a hash table per fiber; workspaces and results
  bitmap,                ///< b: a bit per coordinate, position as in a dense level; workspaces and results
  accumulator,           ///< a: workspaces only: values, marks and the list of touched coordinates
  variable,              ///< v: layouts only: pos, coordinates 0, 1, … up to the length of the fiber
};

char letter(LevelKind kind);

/// One level of a storage. Widths are bits (32 or 64) of the elements of pos and crd; ignored where the kind has none.
/// Those of layouts may be 8 or 16 for crd.
struct Level {
  LevelKind kind = LevelKind::dense;
  std::uint8_t pos_bits = 32;
  std::uint8_t crd_bits = 32;
  bool strided = false;  ///< dense host memory: position = parent + coordinate * stride (all levels dense)
  /// Workspaces: the key of an accumulator or hashed level goes on with this mode, "hashed(2)". The entry is made, or
  /// found, when the last mode of the key is bound.
  bool joined = false;
  bool operator==(const Level&) const = default;
};

struct Layout;

/// A format. `mode_order[l]` is the mode that level l holds. Order 0 is a scalar: no levels, one value. With a layout
/// (weft/layout.h) levels hold expressions of modes instead: there is no mode order, and as many levels as it has.
struct Format {
  Scalar scalar = Scalar::f64;
  std::vector<std::uint32_t> mode_order;
  std::vector<Level> levels;
  std::shared_ptr<const Layout> layout = nullptr;  ///< null: plain
  bool operator==(const Format& other) const;

  std::size_t order() const { return levels.size(); }
  std::size_t modes() const;  ///< as many as levels, unless there is a layout
  bool all_dense() const;  ///< and plain
  /// "ds:1,0": kinds and mode order, as `--format` and the JSON report write them; else the layout. Order 0: "".
  /// "out of memory" where the text cannot be made, as of every text that is returned without an Expected.
  std::string text() const;
};

/// All levels of a kind, in mode order 0, 1, …; widths 32. Made in the host's own code, which std::bad_alloc reaches.
inline Format uniform_format(std::size_t order, Scalar scalar, LevelKind kind) {
  Format format{.scalar = scalar, .mode_order = std::vector<std::uint32_t>(order), .levels = {}};
  for (std::uint32_t mode = 0; mode < order; ++mode) format.mode_order[mode] = mode;
  format.levels.assign(order, Level{.kind = kind});
  return format;
}
/// Row-major.
inline Format dense_format(std::size_t order, Scalar scalar = Scalar::f64) {
  return uniform_format(order, scalar, LevelKind::dense);
}
/// CSF.
inline Format sparse_format(std::size_t order, Scalar scalar = Scalar::f64) {
  return uniform_format(order, scalar, LevelKind::compressed);
}

/// Parses "KINDS[:ORDER][:SCALAR]" or "LAYOUT[:SCALAR]"; errors say which part is wrong. Checks that ORDER is a
/// permutation, that a singleton is not first nor below a hashed or bitmap level, and that a nonunique level is last or
/// followed by a singleton. A layout that is KINDS:ORDER, as csr is ds, gives that format.
Expected<Format> parse_format(std::string_view text);
Expected<Scalar> parse_scalar(std::string_view text);
std::string_view name(Scalar scalar);

}  // namespace weft
