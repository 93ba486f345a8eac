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
  std::uint32_t roots = 0;                ///< entries of level 0
  std::vector<std::uint32_t> chunks;      ///< boundaries over the roots
};

/// The tensor with the mode `root` outermost and the others in their order. Input error if an array needs 64 bits.
Expected<Csf> make_csf(const Tensor& tensor, std::uint32_t root, const Resources& resources);

}  // namespace weft::bench
