#include "engine/lower/lower.h"

#include <fmt/format.h>

#include "engine/loop/text_order.h"
#include "engine/lower/facts.h"
#include "engine/lower/forest.h"
#include "engine/lower/nest.h"
#include "engine/lower/registers.h"

namespace weft {
namespace {

/// Storages in the order of the text, so that the text needs no line for their order.
LoweredNest in_text_order(LoweredNest nest) {
  const loop::TextOrder order = loop::text_order(nest.program);
  std::vector<std::uint32_t> tensors;
  for (const loop::StorageId storage : order.storages) tensors.push_back(nest.tensors[storage]);
  nest.program = loop::renumbered(nest.program, order);
  nest.tensors = std::move(tensors);
  return nest;
}

}  // namespace

Expected<std::vector<LoweredNest>> lower(const Schedule& schedule, const Network& given,
                                         const std::vector<bool>& finite) {
  const Network network = scheduled_network(schedule, given);
  const auto read = nests(schedule, network);
  if (!read) return std::unexpected(read.error());
  std::vector<LoweredNest> result;
  for (const Nest& nest : *read) {
    LoweredNest lowered = in_text_order(forest(with_register_rows(nest, network), network));
    lowered.program.facts = facts(lowered, network, finite);
    if (const auto good = loop::verify(lowered.program); !good) {
      return internal_error(
          fmt::format("lower: {}\nin the program\n{}", good.error().message, loop::print(lowered.program)));
    }
    result.push_back(std::move(lowered));
  }
  return result;
}

}  // namespace weft
