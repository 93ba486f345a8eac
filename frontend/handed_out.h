// Which arrays the results of a run have when the host gets them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "weft/engine.h"

namespace weft {

/// A run as its results see it.
struct RunOrigin {
  const Tensors& operands;  ///< as they were in the run
  const std::map<std::string, std::string>& patterns;  ///< results whose pattern is that of an operand: BoundNetwork::patterns
  /// Results that may keep arrays which the host has lent with an operand: asked for at its positions.
  const std::set<std::string>& shared;
  const std::set<std::string>& changing;  ///< operands into whose coordinates the host may write between runs
  /// owned_pattern() of operands, by result, as earlier runs over the same operands found it; null: there is no next run.
  std::map<std::string, Tensor>* owned = nullptr;
};

/// A result with index arrays that last as long as it does, and that nothing writes to: those of operands that are the host's, or may
/// change, are copied, once for each pattern where it stays. The other arrays are kept alive by `lease`; null: they last by themselves.
/// What is known of an operand's pattern is known of a result's that shares it: the next kernel neither counts nor converts it again.
Expected<Tensor> handed_out(const std::string& name, const Tensor& result, const RunOrigin& run, const std::shared_ptr<void>& lease,
                            const Resources& resources);

}  // namespace weft
