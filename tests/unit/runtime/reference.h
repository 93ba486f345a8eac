// Tensors as maps, for comparison: slow, obvious, and sharing no code with the runtime.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "oracle/long_extents.h"
#include "runtime/indices.h"
#include "runtime/widths.h"
#include "unit/runtime/earlier.h"
#include "weft/tensor.h"

namespace weft::reference {

using Tuple = std::vector<std::uint64_t>;
using Entries = std::map<Tuple, double, Earlier>;

struct List {
  std::vector<std::uint64_t> extents;
  std::vector<Tuple> tuples;
  std::vector<double> values;
};

inline Resources resources(unsigned threads = 2) {
  return Resources{.memory = Memory{}, .threads = Threads{threads}, .cancellation = {}, .progress = {}};
}

inline Buffer array(const std::vector<std::uint64_t>& elements, unsigned bits) {
  auto buffer = Buffer::allocate(elements.size() * (bits / 8), Memory{}, "test");
  REQUIRE(buffer);
  for (std::size_t n = 0; n < elements.size(); ++n) {
    if (bits == 64)
      buffer->as<std::uint64_t>()[n] = elements[n];
    else
      buffer->as<std::uint32_t>()[n] = static_cast<std::uint32_t>(elements[n]);
  }
  return *buffer;
}

inline Buffer numbers(const std::vector<double>& values, Scalar scalar) {
  auto buffer = Buffer::allocate(values.size() * scalar_bytes(scalar), Memory{}, "test");
  REQUIRE(buffer);
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (scalar == Scalar::f64)
      buffer->as<double>()[n] = values[n];
    else
      buffer->as<float>()[n] = static_cast<float>(values[n]);
  }
  return *buffer;
}

inline Coordinates coordinates(const List& list, Scalar scalar = Scalar::f64) {
  Coordinates result;
  result.extents = list.extents;
  result.scalar = scalar;
  result.count = list.values.size();
  for (std::size_t m = 0; m < list.extents.size(); ++m) {
    std::vector<std::uint64_t> mode;
    for (const Tuple& tuple : list.tuples) mode.push_back(tuple[m]);
    result.crd.push_back(array(mode, coordinate_bits(list.extents[m])));
  }
  result.values = numbers(list.values, scalar);
  return result;
}

/// Built in a format, and sound.
inline Tensor tensor_of(const List& list, std::string_view format) {
  auto tensor = build(coordinates(list), *parse_format(format), resources(), "T");
  REQUIRE_MESSAGE(tensor, tensor.error().message);
  const auto sound = verify(*tensor, resources(), "T");
  REQUIRE_MESSAGE(sound, sound.error().message);
  return *tensor;
}

inline Entries summed(const List& list) {
  Entries entries;
  for (std::size_t n = 0; n < list.values.size(); ++n) entries[list.tuples[n]] += list.values[n];
  return entries;
}

inline bool same_bytes(const Buffer& a, const Buffer& b) {
  return a.size_bytes() == b.size_bytes() && (a.size_bytes() == 0 || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

inline std::uint64_t element(const Buffer& buffer, unsigned bits, std::uint64_t n) {
  return bits == 64 ? buffer.as<std::uint64_t>()[n] : buffer.as<std::uint32_t>()[n];
}

inline double value(const Buffer& buffer, Scalar scalar, std::uint64_t n) {
  return scalar == Scalar::f64 ? buffer.as<double>()[n] : static_cast<double>(buffer.as<float>()[n]);
}

/// For entries that mostly come in the order of the map; a check of its own for each would be slow.
inline void append(Entries& entries, const Tuple& tuple, double value) {
  const std::size_t before = entries.size();
  entries.emplace_hint(entries.end(), tuple, value);
  if (entries.size() == before) FAIL_CHECK("stored twice");
}

/// Every stored entry, read level by level by recursion; dense levels give every coordinate.
inline void collect(const Tensor& tensor, std::size_t level, std::uint64_t position, Tuple& tuple, Entries& into) {
  if (level == tensor.order()) {
    append(into, tuple, value(tensor.values(), tensor.format().scalar, position));
    return;
  }
  const Level& kind = tensor.format().levels[level];
  const std::uint32_t mode = tensor.format().mode_order[level];
  auto descend = [&](std::uint64_t coordinate, std::uint64_t child) {
    tuple[mode] = coordinate;
    collect(tensor, level + 1, child, tuple, into);
  };
  if (kind.kind == LevelKind::dense) {
    for (std::uint64_t c = 0; c < tensor.extents()[mode]; ++c) descend(c, position * tensor.extents()[mode] + c);
  } else if (kind.kind == LevelKind::bitmap) {
    const std::uint64_t words = (tensor.extents()[mode] + 63) / 64;
    for (std::uint64_t c = 0; c < tensor.extents()[mode]; ++c)
      if (element(tensor.levels()[level].crd, 64, position * words + c / 64) >> (c % 64) & 1)
        descend(c, position * tensor.extents()[mode] + c);
  } else if (kind.kind == LevelKind::singleton) {
    descend(element(tensor.levels()[level].crd, kind.crd_bits, position), position);
  } else {
    std::uint64_t begin = element(tensor.levels()[level].pos, kind.pos_bits, position);
    std::uint64_t end = element(tensor.levels()[level].pos, kind.pos_bits, position + 1);
    for (std::uint64_t p = begin; p < end; ++p) {
      const std::uint64_t c = element(tensor.levels()[level].crd, kind.crd_bits, p);
      const bool empty = c == (kind.crd_bits == 32 ? ~std::uint32_t{0} : ~std::uint64_t{0});
      if (kind.kind != LevelKind::hashed || !empty) descend(c, p);
    }
  }
}

inline Entries stored(const Tensor& tensor) {
  Entries entries;
  Tuple tuple(tensor.order());
  collect(tensor, 0, 0, tuple, entries);
  return entries;
}

inline Entries stored(const Coordinates& list) {
  Entries entries;
  for (std::uint64_t n = 0; n < list.count; ++n) {
    Tuple tuple;
    for (std::size_t m = 0; m < list.extents.size(); ++m)
      tuple.push_back(element(list.crd[m], coordinate_bits(list.extents[m]), n));
    append(entries, tuple, value(list.values, list.scalar, n));
  }
  return entries;
}

/// What dense levels add to the entries: explicit zeros, which comparisons leave out.
inline Entries nonzeros(Entries entries) {
  std::erase_if(entries, [](const auto& entry) { return entry.second == 0; });
  return entries;
}

/// All coordinates that a format must store for these entries: a dense level completes its fiber wherever the levels
/// above it have an entry.
inline Entries completed(const Entries& entries, const Format& format, const std::vector<std::uint64_t>& extents) {
  Entries all = entries;
  if (format.order() == 0) all.emplace(Tuple{}, 0.0);
  for (std::size_t dense = 0; dense < format.order(); ++dense) {
    // Only a dense level with nothing sparse below makes entries of its own.
    bool trailing = true;
    for (std::size_t l = dense; l < format.order(); ++l) trailing = trailing && format.levels[l].kind == LevelKind::dense;
    if (!trailing) continue;
    const std::uint32_t mode = format.mode_order[dense];
    if (dense == 0) all.emplace(Tuple(extents.size(), 0), 0.0);
    if (std::any_of(extents.begin(), extents.end(), [](std::uint64_t extent) { return extent == 0; })) return {};
    Entries grown = all;
    for (const auto& [tuple, unused] : all)
      for (std::uint64_t c = 0; c < extents[mode]; ++c) {
        Tuple sibling = tuple;
        sibling[mode] = c;
        grown.emplace(sibling, 0.0);
      }
    all = grown;
  }
  return all;
}

using test::is_long;
using test::long_extents;
using test::two_to;

/// Whether a level of the format has a place for every coordinate of a long extent.
inline bool is_dense_over_long(const Format& format, const std::vector<std::uint64_t>& extents) {
  for (std::size_t level = 0; level < format.order(); ++level) {
    const LevelKind kind = format.levels[level].kind;
    if ((kind == LevelKind::dense || kind == LevelKind::bitmap) && is_long(extents[format.mode_order[level]])) return true;
  }
  return false;
}

/// The format with compressed levels instead of those, as wide as so many entries want them.
inline Format sparse_over(Format format, const std::vector<std::uint64_t>& extents, std::uint64_t entries) {
  for (std::size_t level = 0; level < format.order(); ++level) {
    const LevelKind kind = format.levels[level].kind;
    const bool listed = kind == LevelKind::dense || kind == LevelKind::bitmap;
    if (listed && is_long(extents[format.mode_order[level]])) format.levels[level] = {LevelKind::compressed};
  }
  return with_widths(std::move(format), extents, entries);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  bool chance(unsigned percent) { return below(100) < percent; }

  Format format(std::size_t order) {
    Format result;
    result.scalar = chance(70) ? Scalar::f64 : Scalar::f32;
    result.mode_order.resize(order);
    std::iota(result.mode_order.begin(), result.mode_order.end(), 0u);
    std::shuffle(result.mode_order.begin(), result.mode_order.end(), engine_);
    while (result.levels.size() < order) {
      Level level;
      level.pos_bits = chance(75) ? 32 : 64;
      level.crd_bits = chance(75) ? 32 : 64;
      switch (below(8)) {
        case 0: level.kind = LevelKind::dense; break;
        case 1: level.kind = LevelKind::compressed_nonunique; break;
        case 2: level.kind = LevelKind::hashed; break;
        case 3:
          level.kind = LevelKind::bitmap;
          level.crd_bits = 64;
          break;
        default: level.kind = LevelKind::compressed;
      }
      result.levels.push_back(level);
      if (level.kind != LevelKind::compressed_nonunique) continue;
      std::size_t singletons = result.levels.size() < order ? 1 + below(order - result.levels.size()) : 0;
      for (std::size_t n = 0; n < singletons; ++n) {
        result.levels.push_back({.kind = LevelKind::singleton, .crd_bits = static_cast<std::uint8_t>(chance(75) ? 32 : 64)});
      }
    }
    return result;
  }

  /// One that can store the list.
  Format format(const List& list) { return sparse_over(format(list.extents.size()), list.extents, list.tuples.size()); }

  /// One in five is stretched.
  List list(std::size_t order, std::size_t most_entries) {
    List result = short_list(order, most_entries);
    return chance(20) ? stretched(std::move(result)) : result;
  }

  /// Some extents become long, and half of the coordinates there go to the end.
  List stretched(List list) {
    for (std::size_t mode = 0; mode < list.extents.size(); ++mode) {
      const std::uint64_t extent = list.extents[mode];
      if (extent < 2 || chance(40)) continue;
      list.extents[mode] = long_extents[below(long_extents.size())];
      for (Tuple& tuple : list.tuples)
        if (tuple[mode] >= extent / 2) tuple[mode] = list.extents[mode] - (extent - tuple[mode]);
    }
    return list;
  }

  List short_list(std::size_t order, std::size_t most_entries) {
    List result;
    bool possible = true;
    for (std::size_t m = 0; m < order; ++m) {
      std::uint64_t extent = chance(4) ? 0 : chance(15) ? 1 : 1 + below(7);
      possible = possible && extent > 0;
      result.extents.push_back(extent);
    }
    std::size_t count = possible && most_entries > 0 && !chance(8) ? below(most_entries) : 0;
    for (std::size_t n = 0; n < count; ++n) {
      Tuple tuple;
      for (std::uint64_t extent : result.extents) tuple.push_back(chance(30) ? 0 : below(extent));
      result.tuples.push_back(tuple);
      result.values.push_back(static_cast<double>(below(9)) - 4);
    }
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace weft::reference
