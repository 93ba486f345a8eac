// Csf: raw pointers into a tensor compressed in every level, as a hand-written kernel wants them, and its root fibers
// cut into chunks of equal weight.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

namespace weft::bench {

constexpr std::size_t highest_csf_order = 5;

struct Csf {
  Tensor owner;  ///< keeps the arrays alive
  std::size_t order = 0;
  std::array<const std::uint32_t*, highest_csf_order> pos{};
  std::array<const std::uint32_t*, highest_csf_order> crd{};
  const double* values = nullptr;
  std::uint32_t roots = 0;            ///< entries of level 0
  std::vector<std::uint32_t> chunks;  ///< boundaries over the roots

  /// The first entry below a root; of `roots`: the number of entries.
  std::uint32_t first(std::uint32_t root) const {
    for (std::size_t level = 1; level < order; ++level) root = pos[level][root];
    return root;
  }
};

/// The tensor with the mode `root` outermost and the others in their order. Input error if an array needs 64 bits.
Expected<Csf> make_csf(const Tensor& tensor, std::uint32_t root, const Resources& resources);
/// The same with the others by their extents, the shortest first: fewer and longer fibers.
Expected<Csf> make_csf_of_long_fibers(const Tensor& tensor, std::uint32_t root, const Resources& resources);

/// Zeroes the rows of a result, `elements` each, that belong to a chunk and to no root of it, so that the rows of the roots can be stored.
void clear_rows_between(const Csf& csf, std::size_t chunk, std::size_t elements, double* result);

/// The coordinates of every entry in all levels but the root: a walk over them has one loop below the root, and no short ones.
struct FlatEntries {
  std::array<std::vector<std::uint32_t>, highest_csf_order> crd;  ///< by level; some zeros more at the end, to be fetched ahead
};
FlatEntries flat_entries(const Csf& csf);

}  // namespace weft::bench
