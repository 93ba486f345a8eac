// Frames: the 64-bit words that kernels read, from the tensors that are bound.
#include <bit>

#include "engine/compiled_state.h"
#include "runtime/extents.h"

namespace weft {
namespace {

constexpr std::uint64_t scratch_alignment = 64;

std::uint64_t word_value(const Word& word, const CompiledNest& nest, const Network& network,
                         const std::vector<Tensor>& tensors, const std::vector<BoundPlaces>& places,
                         const std::vector<Scaling>& scaled, const ScratchLayout& scratch,
                         const std::map<std::uint32_t, const void*>& replaced, const BoundPart* part) {
  const auto address = [](const void* pointer) { return std::bit_cast<std::uint64_t>(pointer); };
  if (word.kind == Word::Kind::extent) {
    return network.indices[nest.nest.indices[nest.canonical.indices[word.number]]].extent;
  }
  if (word.kind == Word::Kind::coefficient) {
    const std::uint32_t number = nest.canonical.coefficients[word.number];
    const std::uint32_t result = nest.nest.scaled[number];
    return std::bit_cast<std::uint64_t>(nest.nest.coefficients[number] * (result < scaled.size() ? scaled[result].alpha : 1));
  }
  if (word.kind == Word::Kind::scratch) return scratch.offsets.at(word.number);
  const std::uint32_t number = nest.nest.tensors[nest.canonical.storages[word.storage]];
  const Tensor& tensor = tensors[number];
  switch (word.kind) {
    case Word::Kind::pos:
      if (part != nullptr && part->walked == number && part->levels.pos[word.level] != nullptr)
        return address(part->levels.pos[word.level]);
      return address(tensor.levels()[word.level].pos.data());
    case Word::Kind::crd:
      return address(tensor.levels()[word.level].crd.data());
    case Word::Kind::stride:
      return tensor.levels()[word.level].stride;
    case Word::Kind::places:
      return address(places[number].numbers.data());
    case Word::Kind::elements:
      return tensor.values().size_bytes() / scalar_bytes(tensor.format().scalar);
    default: {
      if (nest.canonical.program.storages[word.storage].place_bits > 0) return address(tensor.values().data());
      const auto copy = replaced.find(number);
      if (copy != replaced.end()) return address(copy->second);
      // As a number: the first element of a view may lie in front of all memory there is.
      return address(tensor.values().data()) + tensor.offset() * scalar_bytes(tensor.format().scalar);
    }
  }
}

}  // namespace

ScratchLayout scratch_layout(const CompiledNest& nest, const Network& network) {
  ScratchLayout scratch;
  for (const ScratchDemand& demand : nest.signature.scratch) {
    std::uint64_t elements = 1;
    for (const loop::IndexId index : demand.indices) {
      const std::uint64_t extent = network.indices[nest.nest.indices[nest.canonical.indices[index]]].extent;
      elements = saturating_product(elements, extent);
    }
    const std::uint64_t bytes = saturating_product(saturating_sum(elements, demand.extra_elements), demand.element_bytes);
    scratch.offsets.push_back(scratch.bytes);
    scratch.bytes = saturating_sum(scratch.bytes, saturating_sum(bytes, scratch_alignment - 1) / scratch_alignment * scratch_alignment);
  }
  return scratch;
}

namespace {

const BoundPart* part_of(const BoundNest& nest, std::size_t frame) {
  return frame < nest.parts.size() && nest.parts[frame] ? &*nest.parts[frame] : nullptr;
}

}  // namespace

std::map<std::uint32_t, const void*> BoundNetwork::State::replaced_values(const BoundNest& nest, std::size_t frame) const {
  std::map<std::uint32_t, const void*> replaced;
  for (const PrivateCopies& copies : nest.copies) {
    if (frame > 0) replaced[copies.tensor] = copies.buffers[frame - 1].data();
  }
  if (const BoundPart* part = part_of(nest, frame)) {
    for (const CarriedRow& row : part->rows) {
      const std::uint64_t bytes = row.element * scalar_bytes(tensors[row.tensor].format().scalar);
      replaced[row.tensor] = std::bit_cast<const void*>(std::bit_cast<std::uint64_t>(row.sums.data()) - bytes);
    }
  }
  return replaced;
}

std::vector<std::uint64_t> BoundNetwork::State::frame(std::size_t number, std::size_t frame) const {
  const CompiledNest& nest = kernel->nests[number];
  const ScratchLayout layout = scratch_layout(nest, kernel->network);
  const std::map<std::uint32_t, const void*> replaced = replaced_values(nests[number], frame);
  std::vector<std::uint64_t> words;
  for (const Word& word : nest.signature.words)
    words.push_back(
        word_value(word, nest, kernel->network, tensors, places, scaled, layout, replaced, part_of(nests[number], frame)));
  return words;
}

void BoundNetwork::State::refill_frames(std::size_t number, const Replaced& replaced) {
  const CompiledNest& nest = kernel->nests[number];
  const ScratchLayout none;
  for (std::size_t frame = 0; frame < nests[number].frames.size(); ++frame) {
    const std::map<std::uint32_t, const void*> instead = replaced_values(nests[number], frame);
    std::vector<std::uint64_t>& words = nests[number].frames[frame];
    for (std::size_t place = 0; place < words.size(); ++place) {
      const Word& word = nest.signature.words[place];
      if (word.kind == Word::Kind::extent || word.kind == Word::Kind::scratch) continue;
      const std::uint32_t tensor = word.kind == Word::Kind::coefficient
                                       ? nest.nest.scaled[nest.canonical.coefficients[word.number]]
                                       : nest.nest.tensors[nest.canonical.storages[word.storage]];
      if (tensor < tensors.size() && (replaced.patterns[tensor] || replaced.values[tensor]))
        words[place] = word_value(word, nest, kernel->network, tensors, places, scaled, none, instead, part_of(nests[number], frame));
    }
  }
}

}  // namespace weft
