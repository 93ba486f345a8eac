// Kernels that run again and again over the same operands, taken in turn.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/engine.h"

namespace weft::bench {

/// Milliseconds of a run by the median of rounds in which each goes several times in a row: what it reads is in the caches as far as it
/// fits there.
std::vector<double> in_turn(const std::vector<std::function<void()>>& runs, double seconds);

/// A kernel with operands.
struct Again {
  Kernel kernel;
  Bindings bindings;
  Tensor y;          ///< the result of the last run
  std::string told;  ///< in which layout B is read, where that was chosen

  Expected<void> run();
  /// Of y, as a dense tensor.
  std::vector<double> values() const;
};

/// Compiled, and run once. Errors as of compile() and run().
Expected<std::unique_ptr<Again>> again(const Engine& engine, const std::string& text, const Tensors& operands,
                                       const CompileOptions& options);

/// All of them in turn; the first error, if there is one.
Expected<std::vector<double>> in_turn(const std::vector<std::unique_ptr<Again>>& kernels, double seconds);

}  // namespace weft::bench
