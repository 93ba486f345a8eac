// Layouts of operands that nobody pinned: blocks, where they are full and kernels over them pay within the calls.
#pragma once

#include <string>
#include <vector>

#include "frontend/preparation.h"

namespace weft {

/// Whether chosen_layouts() has anything to look at: matrices of some thousand entries, and more than one call.
bool has_matrix_for_blocks(const NamedFacts& operands, const EvaluateOptions& options);

/// What prepare() does once layouts are settled.
using PrepareWith = Expected<Prepared> (*)(const Pipeline&, const Machine&, const RequestText&, const std::vector<std::string>&,
                                           const NamedFacts&, const EvaluateOptions&, const Cancellation&);

/// The options with layouts of matrices pinned, and in words why: blocks of which three quarters are full, at most two sizes for each
/// matrix, planned and priced with their conversion divided by the calls. Unchanged where nothing is cheaper by a twentieth, where a
/// result, or what is between, is stored sparse, or where another operand is not finite: then places without an entry would change
/// results. `plain`: prepared without.
struct ChosenLayouts {
  EvaluateOptions options;
  std::string reason;
};
Expected<ChosenLayouts> chosen_layouts(const Pipeline& pipeline, const Machine& machine, const RequestText& text,
                                       const std::vector<std::string>& names, const NamedFacts& operands, const EvaluateOptions& options,
                                       const Cancellation& cancellation, const Prepared& plain, PrepareWith prepare);

}  // namespace weft
