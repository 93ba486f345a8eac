// Long sums of f32 in registers, which would stop growing at 2^24 times what is added.
#pragma once

#include <memory>
#include <vector>

#include "engine/codegen/generate.h"

namespace weft {

/// From its making until end(): where the kernel polls, every 2^16 iterations or some more, what the slots hold moves into f64
/// sums beside them, and the slots go on from zero; end() puts both together into the slots. Loops that are shorter pay nothing.
/// Not with strict_fp, whose sums are as printed. Nothing may read the slots in between.
class Generator::LongSum {
 public:
  LongSum(Generator& generator, const StorageCode& storage, const std::vector<Slot>& slots);
  LongSum(const LongSum&) = delete;
  LongSum& operator=(const LongSum&) = delete;
  void end();

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< null: another type
};

}  // namespace weft
