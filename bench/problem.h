// Problem: an expression over named tensors, and which hand-written kernel it is compared with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/data.h"
#include "weft/tensor.h"

namespace weft::bench {

enum class Baseline { none, mttkrp, spmm, spmv, four_sparse };

struct Problem {
  std::string name;        ///< "mttkrp/power3/mode1/r32"
  std::string expression;  ///< over T (sparse) and dense factors, or over A, B, C, D for the four-sparse network
  std::string data;        ///< name of the sparse tensor
  Baseline baseline = Baseline::none;
  std::uint32_t mode = 0;  ///< of the tensor that is the result's first mode
  std::uint64_t rank = 1;  ///< extent of every index that only dense factors have
};

/// Every problem whose data are there, in the order of the table.
std::vector<Problem> problems(const Data& data);

/// The operands by name. Dense factors are seeded by their name.
Expected<std::map<std::string, Tensor>> operands(const Problem& problem, Data& data, const Resources& resources);

}  // namespace weft::bench
