#include "bench/csf.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "bench/row.h"

namespace weft::bench {
namespace {

Expected<Csf> in_order(const Tensor& tensor, std::vector<std::uint32_t> mode_order, const Resources& resources) {
  Format format = sparse_format(tensor.order());
  format.mode_order = std::move(mode_order);
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

  const std::uint64_t leaves = csf.first(csf.roots);
  const std::uint64_t wanted = 64;  // chunks: enough to balance, few enough to cost nothing
  csf.chunks = {0};
  for (std::uint32_t root = 1; root < csf.roots; ++root)
    if (csf.first(root) * wanted >= csf.chunks.size() * leaves) csf.chunks.push_back(root);
  csf.chunks.push_back(csf.roots);
  return csf;
}

std::vector<std::uint32_t> rotated_order(std::size_t order, std::uint32_t root) {
  std::vector<std::uint32_t> modes(1, root);
  for (std::uint32_t mode = 0; mode < order; ++mode)
    if (mode != root) modes.push_back(mode);
  return modes;
}

}  // namespace

Expected<Csf> make_csf(const Tensor& tensor, std::uint32_t root, const Resources& resources) {
  return in_order(tensor, rotated_order(tensor.order(), root), resources);
}

Expected<Csf> make_csf_of_long_fibers(const Tensor& tensor, std::uint32_t root, const Resources& resources) {
  std::vector<std::uint32_t> modes = rotated_order(tensor.order(), root);
  std::stable_sort(modes.begin() + 1, modes.end(),
                   [&](std::uint32_t one, std::uint32_t other) { return tensor.extents()[one] < tensor.extents()[other]; });
  return in_order(tensor, std::move(modes), resources);
}

void clear_rows_between(const Csf& csf, std::size_t chunk, std::size_t elements, double* result) {
  const std::uint32_t begin = csf.chunks[chunk];
  const std::uint32_t end = csf.chunks[chunk + 1];
  std::size_t next = begin == 0 ? 0 : std::size_t{csf.crd[0][begin - 1]} + 1;
  const auto clear_until = [&](std::size_t row) {
    if (row > next) std::memset(result + next * elements, 0, (row - next) * elements * sizeof(double));
    next = row + 1;
  };
  for (std::uint32_t root = begin; root < end; ++root) clear_until(csf.crd[0][root]);
  if (end == csf.roots) clear_until(csf.owner.extents()[csf.owner.format().mode_order[0]]);
}

FlatEntries flat_entries(const Csf& csf) {
  const std::size_t entries = csf.first(csf.roots);
  FlatEntries flat;
  for (std::size_t level = 1; level < csf.order; ++level) {
    std::vector<std::uint32_t>& crd = flat.crd[level];
    crd.reserve(entries + fetched_ahead);
    const std::uint32_t count = static_cast<std::uint32_t>(csf.owner.positions(level));
    for (std::uint32_t position = 0; position < count; ++position) {
      std::uint32_t end = position + 1;
      for (std::size_t below = level + 1; below < csf.order; ++below) end = csf.pos[below][end];
      crd.resize(end, csf.crd[level][position]);
    }
    crd.resize(entries + fetched_ahead, 0);
  }
  return flat;
}

}  // namespace weft::bench
