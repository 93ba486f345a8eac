// The loop forest of a nest: which loop binds which level of which access.
#pragma once

#include "engine/lower/lower.h"
#include "engine/lower/nest.h"

namespace weft {

/// The Program of a nest, its body and marks included, without facts; and what its indices and words mean. Statements
/// form a forest by their `fused` depths; an access takes part in the loop that binds its level even where that loop is
/// shared with statements that do not have the access: all statements of one nest contribute to products with it, so
/// what it filters away contributes nothing. An access's levels are bound in storage order; a level whose index was
/// bound further out is located (or inserted) at the loop that binds the level before it. Each workspace is declared
/// inside the innermost loop that its producer and consumer share.
LoweredNest forest(const Nest& nest, const Network& network);

}  // namespace weft
