// ExamNetwork: a network with data small enough to run several hundred schedules of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/data.h"
#include "weft/tensor.h"

namespace weft::bench {

/// A sparse operand: drawn by a recipe, or the corner of a real tensor whose coordinates lie within `extents`.
struct ExamOperand {
  std::string name;
  std::vector<std::uint64_t> extents;  ///< at most those of the real tensor
  std::string file;                    ///< of the real tensor, without directory; empty: drawn
  std::uint64_t draws = 0;
  double skew = 1;
};

struct ExamNetwork {
  std::string name;
  std::string expression;
  std::vector<ExamOperand> sparse;  ///< all other operands are dense
  std::uint64_t rank = 1;           ///< extent of every index that only dense operands have
  bool held_out = false;            ///< never looked at while constants were fitted
};

/// Every network of the exam, those whose files are in `directory` missing without it.
std::vector<ExamNetwork> exam_networks(const std::string& directory);

/// The operands by name. `seed` varies what is drawn.
Expected<std::map<std::string, Tensor>> exam_operands(const ExamNetwork& network, const std::string& directory,
                                                      std::uint64_t seed, const Resources& resources);

}  // namespace weft::bench
