// Storage: how what statements write is stored, as far as it is decided before their loops are. A schedule without loops says it by the
// format of the tensor; this is where the letters of those formats are known.
#pragma once

#include <vector>

#include "engine/plan/index_set.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

enum class Storage : std::uint8_t {
  workspace,  ///< dense: over the modes that the loops shared by writer and readers leave unbound
  keyed,      ///< an intermediate inside a nest, with a key over the modes that sparse factors restrict
  stored,     ///< compressed levels in the order of the format above a dense block: a result, or an intermediate between nests
  of_loops,   ///< as the loops will have it, priced before that is known: an intermediate keyed inside a nest or stored between nests,
              ///< a result appended in the order of its writer's loops
};

/// Of a tensor of a schedule without loops.
Storage storage_of(const Format& format);

/// Of an intermediate of `order` modes. The order of the loops decides theirs.
Format keyed_format(std::size_t order, Scalar scalar);
Format format_of_loops(std::size_t order, Scalar scalar);
/// Of a result over these indices, those of `block` dense below the others: later assignments read the zeros that a request stores.
Format format_of_loops(const std::vector<IndexId>& indices, IndexSet block, Scalar scalar);
/// Of an intermediate between nests: these modes compressed, from the first on, above a dense block of others.
Format stored_format(const std::vector<std::uint32_t>& compressed, const std::vector<std::uint32_t>& block, Scalar scalar);

/// The modes that `format`, a format_of_loops(), appends.
IndexSet appended_modes(const Format& format, const std::vector<IndexId>& indices);

/// Whether the cost of what statements without loops become is known once their loops are: nothing is of_loops.
bool stores_as_priced(const Schedule& statements);

}  // namespace weft
