// Parts of slices of a nest that is bound: which chunks are cut into them, their frames and rows, how even the chunks are.
#include <algorithm>
#include <cmath>

#include "engine/compiled_state.h"
#include "engine/plan/cost/memory_demand.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"

namespace weft {
namespace {

/// A slice with more than that share of what a thread has to do is cut, so that threads end at most so far apart.
constexpr double parts_per_thread = 8;
constexpr double uneven_slots = 1.125;  // times the even share, from which slots are cut within slices
constexpr double summed_per_ns = 4;     // bytes of a row that a part clears, fills and adds to the result
constexpr double rows_of_part = 10;     // a part takes at least so many times what its rows take
constexpr double looped_in_part = 4;    // and has at least so many entries for each fiber of dense levels that it finds empty

/// Fibers whose ends the first array pos of a part has: those of the first level that is cut.
std::uint64_t fibers_of_parts(const Tensor& tensor, std::uint32_t level) {
  std::uint64_t fibers = 1;
  for (std::uint32_t each = 0; each < level; ++each) {
    const LevelKind kind = tensor.format().levels[each].kind;
    if (is_packed(kind) && (each > 0 || begins_chain(kind))) break;
    fibers = tensor.positions(each);
  }
  return fibers;
}

}  // namespace

std::uint64_t BoundNetwork::State::row_bytes(std::uint32_t tensor) const {
  std::uint64_t bytes = scalar_bytes(tensors[tensor].format().scalar);
  for (std::size_t level = 1; level < tensors[tensor].order(); ++level) bytes *= tensors[tensor].extent_of_level(level);
  return bytes;
}

std::vector<Chunk> BoundNetwork::State::cut_parts(std::vector<Chunk> chunks, std::size_t most, const CompiledNest& nest,
                                                  const Tensor& walked, const SliceCut& cut, double serial_ns) const {
  if (chunks.empty()) return chunks;
  const auto all = static_cast<double>(entries_of_chunk({0, chunks.back().end}, walked, cut.level));
  const auto fibers = static_cast<double>(fibers_of_parts(walked, cut.level));
  const double looped = fibers / static_cast<double>(std::max<std::uint64_t>(walked.positions(0), 1)) - 1;
  if (cut.copied) {
    if (looped * looped_in_part * static_cast<double>(most) > all) return chunks;
    std::uint64_t heaviest = 0;
    for (const Chunk& chunk : chunks) heaviest = std::max(heaviest, entries_of_chunk(chunk, walked, cut.level));
    if (static_cast<double>(heaviest) * static_cast<double>(most) <= uneven_slots * all) return chunks;
    return cut_entries(most, walked, cut.level);
  }
  const double threads = deterministic ? static_cast<double>(usual_slots) : resources.threads.count();
  double rows_ns = 0;
  for (const loop::StorageId row : cut.rows) rows_ns += static_cast<double>(row_bytes(nest.nest.tensors[row])) / summed_per_ns;
  // A part has the array pos from its slice on: all together are no larger than the tensor.
  const double ends_bytes = fibers * walked.format().levels[cut.level].pos_bits / 8 / 2;
  const double share = std::max({1 / (threads * parts_per_thread), least_chunk_ns / serial_ns, rows_of_part * rows_ns / serial_ns,
                                 ends_bytes / static_cast<double>(walked.bytes()), looped * looped_in_part / std::max(all, 1.0)});
  return with_cut_slices(chunks, walked, cut.level, static_cast<std::uint64_t>(std::ceil(all * share)));
}

Expected<void> BoundNetwork::State::bind_parts(std::size_t number, const SliceCut& cut, std::uint32_t walked) {
  BoundNest& nest = nests[number];
  const CompiledNest& compiled = kernel->nests[number];
  if (std::ranges::none_of(nest.chunks, &Chunk::is_part)) return {};
  nest.parts.resize(1);
  nest.distributes = cut.distributes;
  const std::size_t first_copy = cut.distributes ? 1 : 0;
  for (std::size_t chunk = 0; chunk < nest.chunks.size(); ++chunk) {
    const Chunk& range = nest.chunks[chunk];
    if (nest.private_copies) nest.parts.resize(chunk + first_copy + 1);
    nest.frame_of.push_back(nest.private_copies ? chunk + first_copy : 0);
    if (!range.is_part()) continue;
    auto levels = part_levels(range, tensors[walked], cut.level, resources.memory);
    if (!levels) return std::unexpected(levels.error());
    BoundPart part{chunk, walked, std::move(*levels), {}};
    for (const loop::StorageId storage : cut.rows) {
      const std::uint32_t tensor = compiled.nest.tensors[storage];
      const std::uint64_t bytes = row_bytes(tensor);
      auto sums = workspace(bytes, "rows of parts of slices");
      if (!sums) return std::unexpected(sums.error());
      part.rows.push_back({tensor, range.begin * (bytes / scalar_bytes(tensors[tensor].format().scalar)), std::move(*sums)});
    }
    if (nest.private_copies) {
      nest.parts.back() = std::move(part);
      continue;
    }
    nest.frame_of.back() = nest.parts.size();
    nest.parts.push_back(std::move(part));
  }
  return {};
}

std::vector<NestBalance> BoundNetwork::balance() const {
  std::vector<NestBalance> made;
  for (std::size_t number = 0; number < state_->nests.size(); ++number) {
    const BoundNest& nest = state_->nests[number];
    const LoweredNest& lowered = state_->kernel->nests[number].nest;
    NestBalance balance{.chunks = nest.chunks.size()};
    const auto storage = walked_storage(lowered, state_->tensors);
    const Tensor* walked = storage ? &state_->tensors[lowered.tensors[*storage]] : nullptr;
    if (walked != nullptr && has_slots(walked->format().levels[0].kind)) walked = nullptr;
    const auto cut = storage ? slice_cut(lowered.program, *storage) : std::nullopt;
    for (const Chunk& chunk : nest.chunks) {
      const std::uint64_t entries =
          walked == nullptr ? chunk.end - chunk.begin : entries_of_chunk(chunk, *walked, cut ? cut->level : 0);
      balance.parts += chunk.is_part() ? 1 : 0;
      balance.entries += entries;
      balance.heaviest = std::max(balance.heaviest, entries);
    }
    made.push_back(balance);
  }
  return made;
}

}  // namespace weft
