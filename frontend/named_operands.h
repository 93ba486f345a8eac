// Operands by name, before there is a network: what is known of tensors, or figures alone.
#pragma once

#include <map>
#include <string>

#include "engine/plan/operand_facts.h"
#include "weft/engine.h"

namespace weft {

/// Of tensors, which stay the caller's. Input error for borrowed arrays that are not valid.
Expected<NamedFacts> named_facts(const Tensors& tensors, const Resources& resources);
/// Operands in the layouts that they are pinned to, the others as they are; a conversion stays with its tensor, for the runs.
/// The scalar type of an operand stays. Formats of another order are left for whoever resolves them.
Expected<Tensors> in_pinned_layouts(const Tensors& tensors, const std::map<std::string, Format>& formats, const Resources& resources);
NamedFacts named_facts(const std::map<std::string, Statistics>& statistics);

}  // namespace weft
