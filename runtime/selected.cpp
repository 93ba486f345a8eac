#include "runtime/selected.h"

#include "runtime/scalar_traits.h"

namespace weft {

Expected<Coordinates> selected(Coordinates list, const Buffer& keep, const Resources& resources, std::string_view name) {
  const auto kept = keep.as<std::uint8_t>();
  const Blocks blocks(list.count, resources.threads);
  std::vector<std::uint64_t> first(blocks.number + 1, 0);
  for_parts(resources, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    std::uint64_t count = 0;
    for (std::uint64_t n = begin; n < end; ++n) count += kept[n] != 0;
    first[block] += count;
  });
  if (auto goes_on = check_not_cancelled(resources, "listing entries"); !goes_on) return std::unexpected(goes_on.error());
  std::uint64_t total = 0;
  for (std::uint64_t& count : first) total += std::exchange(count, total);
  if (total == list.count) return list;
  const auto compact = [&](Buffer& buffer, unsigned bits) -> Expected<void> {
    if (buffer.size_bytes() == 0) return {};
    auto result = Buffer::allocate(total * (bits / 8), resources.memory, name);
    if (!result) return std::unexpected(result.error());
    with_width(bits, [&]<class T>(T) {
      const auto from = std::as_const(buffer).as<T>();
      const auto to = result->as<T>();
      std::vector<std::uint64_t> places = first;
      for_parts(resources, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
        std::uint64_t next = places[block];
        for (std::uint64_t n = begin; n < end; ++n)
          if (kept[n] != 0) to[next++] = from[n];
        places[block] = next;
      });
    });
    buffer = std::move(*result);
    return check_not_cancelled(resources, "listing entries");
  };
  for (std::size_t c = 0; c < list.crd.size(); ++c)
    if (auto done = compact(list.crd[c], coordinate_bits(list.extents[c])); !done) return std::unexpected(done.error());
  if (auto done = compact(list.values, scalar_bytes(list.scalar) * 8); !done) return std::unexpected(done.error());
  list.count = total;
  return list;
}

}  // namespace weft
