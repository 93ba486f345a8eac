// The facts a Program is specialised on.
#pragma once

#include "engine/lower/lower.h"

namespace weft {

/// Extents of vector indices, and of dense loops inside others that are small enough to be worth a kernel of their own;
/// of every dense loop that fills a workspace beside inputs not known finite; and, where the Program has workspaces,
/// which inputs are known finite (by tensor of the schedule).
std::vector<loop::Fact> facts(const LoweredNest& nest, const Network& network, const std::vector<bool>& finite);

}  // namespace weft
