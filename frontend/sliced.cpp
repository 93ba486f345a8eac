#include <algorithm>

#include "frontend/stored.h"
#include "runtime/blocks.h"
#include "runtime/build.h"
#include "runtime/gaps.h"
#include "runtime/indices.h"
#include "runtime/section.h"

namespace weft {
namespace {

/// Counted from the other end.
void turn(Buffer& crd, std::uint64_t extent, const Threads& threads) {
  with_width(coordinate_bits(extent), [&]<class T>(T) {
    const auto each = crd.as<T>();
    for_blocks(threads, Blocks(each.size(), threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t n = begin; n < end; ++n) each[n] = static_cast<T>(extent - 1 - each[n]);
    });
  });
}

/// A section whose modes are selected backwards where `turned` says so.
Expected<Tensor> backwards(const Tensor& part, const std::vector<bool>& turned, const Resources& resources, std::string_view name) {
  auto list = entries(part, false, resources);
  if (!list) return std::unexpected(list.error());
  for (std::size_t mode = 0; mode < turned.size(); ++mode) {
    if (turned[mode]) turn(list->crd[mode], list->extents[mode], resources.threads);
  }
  return build(std::move(*list), sparse_format(part.order(), part.format().scalar), resources, name);
}

}  // namespace

Expected<Tensor> sliced(const Tensor& tensor, const std::vector<Selected>& selected, const Resources& resources,
                        std::string_view name) {
  const auto strided = [](const Level& level) { return level.strided; };
  if (tensor.format().layout || std::ranges::any_of(tensor.format().levels, strided)) {
    const auto plain = plain_entries(tensor, resources, name);
    return plain ? sliced(*plain, selected, resources, name) : plain;
  }
  if (has_gaps(tensor.format())) {
    const auto listed = relaid(tensor, without_gaps(tensor.format()), resources, name);
    return listed ? sliced(*listed, selected, resources, name) : listed;
  }
  if (tensor.order() == 0) return tensor;
  const bool element = std::ranges::all_of(selected, &Selected::dropped);
  std::vector<SectionMode> modes;
  std::vector<bool> turned;
  for (const Selected& each : selected) {
    const bool kept = !each.dropped || (element && modes.empty());
    const std::uint64_t lowest = each.count == 0 ? 0 : each.lowest();
    modes.push_back({lowest, each.count < 2 ? 1 : (each.highest() - lowest) / (each.count - 1), each.count, kept});
    if (kept) turned.push_back(each.step < 0 && each.count > 1);
  }
  auto part = section(tensor, modes, resources, name);
  if (!part) return part;
  if (element) {
    return build({{}, {}, part->values(), part->format().scalar, part->nnz()}, sparse_format(0, part->format().scalar), resources, name);
  }
  return std::ranges::count(turned, true) == 0 ? std::move(part) : backwards(*part, turned, resources, name);
}

}  // namespace weft
