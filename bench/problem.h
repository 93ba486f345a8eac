// Problem: an expression over named tensors, and which hand-written kernel it is compared with.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/data.h"
#include "weft/tensor.h"

namespace weft::bench {

enum class Baseline {
  none,
  mttkrp,
  ttmc,
  spmm,
  spmv,
  four_sparse,
  product,         ///< sparse times sparse, any contracted modes: of the unfolded operands
  product_chain,   ///< of three matrices
  masked_product,
  sampled,         ///< SDDMM and TTTP
  sampled_product, ///< SDDMM, then SpMM
  ttm,
  ttm_chain,
};

struct Problem {
  std::string name;        ///< "mttkrp/power3/mode1/r32"
  std::string expression;  ///< over T (sparse), other sparse tensors named in `sparse`, and dense factors
  std::string data;        ///< name of the sparse tensor T
  Baseline baseline = Baseline::none;
  std::uint32_t mode = 0;  ///< of the tensor that is the result's first mode
  std::uint64_t rank = 1;  ///< extent of every index that only dense factors have
  std::map<std::string, std::string> sparse = {};    ///< further sparse operands: names of their data
  std::string stored = {};                           ///< levels of the sparse operands; empty: all compressed
  std::map<std::string, std::string> formats = {};   ///< of results: levels as --format takes them, or an operand like(T)
  std::set<std::string> results = {};                ///< beside the last assignment's
  /// What the last result is as one product of operands, where the expression has several assignments.
  std::string definition = {};

  const std::string& defined_by() const { return definition.empty() ? expression : definition; }
};

/// Every problem whose data are there, in the order of the table.
std::vector<Problem> problems(const Data& data);

/// The operands by name. Dense factors are seeded by their name.
Expected<std::map<std::string, Tensor>> operands(const Problem& problem, Data& data, const Resources& resources);

}  // namespace weft::bench
