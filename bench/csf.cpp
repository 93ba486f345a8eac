#include "bench/csf.h"

#include <numeric>

namespace weft::bench {

Expected<Csf> make_csf(const Tensor& tensor, std::uint32_t root, const Resources& resources) {
  Format format = sparse_format(tensor.order());
  format.mode_order.assign(1, root);
  for (std::uint32_t mode = 0; mode < tensor.order(); ++mode)
    if (mode != root) format.mode_order.push_back(mode);
  auto rotated = convert(tensor, format, resources, "T");
  if (!rotated) return std::unexpected(rotated.error());

  Csf csf;
  csf.owner = std::move(*rotated);
  csf.order = csf.owner.order();
  if (csf.order == 0 || csf.order > highest_csf_order) return input_error("the hand-written kernels have 1 to 5 modes");
  for (std::size_t level = 0; level < csf.order; ++level) {
    if (csf.owner.format().levels[level].pos_bits != 32 || csf.owner.format().levels[level].crd_bits != 32)
      return input_error("the hand-written kernels have 32-bit indices");
    csf.pos[level] = csf.owner.levels()[level].pos.as<const std::uint32_t>().data();
    csf.crd[level] = csf.owner.levels()[level].crd.as<const std::uint32_t>().data();
  }
  csf.values = csf.owner.values().as<const double>().data();
  csf.roots = csf.pos[0][1];

  // Root p holds the leaves from first(p) on.
  const auto first = [&](std::uint32_t position) {
    for (std::size_t level = 1; level < csf.order; ++level) position = csf.pos[level][position];
    return position;
  };
  const std::uint64_t leaves = first(csf.roots);
  const std::uint64_t wanted = 64;  // chunks: enough to balance, few enough to cost nothing
  csf.chunks = {0};
  for (std::uint32_t root_position = 1; root_position < csf.roots; ++root_position)
    if (first(root_position) * wanted >= csf.chunks.size() * leaves) csf.chunks.push_back(root_position);
  csf.chunks.push_back(csf.roots);
  return csf;
}

}  // namespace weft::bench
