// Operands by name, before there is a network: what is known of tensors, or figures alone.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/estimate/operand_facts.h"
#include "weft/engine.h"

namespace weft {

/// Unsupported: a layout of which plans and code need more than figures.
std::unexpected<Error> unknown_without_tensor(const Format& format, std::string_view name);
/// Of tensors, which stay the caller's. Input error for borrowed arrays that are not valid.
Expected<NamedFacts> named_facts(const Tensors& tensors, const Resources& resources);
/// Operands as planning sees them whose layouts are pinned: those that come in another format are converted (and the layout
/// is kept with the tensor, where runs find it), or, of figures alone, told in that format. Scalar types stay. The tensors are
/// kept in `layouts`. Errors as of convert().
Expected<NamedFacts> in_pinned_formats(NamedFacts operands, const std::map<std::string, Format>& formats,
                                       const Resources& resources, Tensors& layouts);
/// Bytes are estimated from distinct counts.
NamedFacts named_facts(const std::map<std::string, Statistics>& statistics);

}  // namespace weft
