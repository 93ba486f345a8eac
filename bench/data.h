// The tensors that are measured: synthetic ones by recipe, real ones by file name. All values are small integers (those of
// real matrices, and real values, are replaced), so that sums are exact in any order and results can be compared with ==.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft::bench {

/// splitmix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
std::uint64_t mix(std::uint64_t state);

struct SparseRecipe {
  std::vector<std::uint64_t> extents;
  std::uint64_t draws = 0;  ///< coordinates drawn; equal ones are summed, so a skewed tensor stores fewer
  double skew = 1;          ///< coordinate = extent * u^skew for uniform u: 1 is uniform, larger crowds small coordinates
  std::uint64_t seed = 0;
};

/// Compressed in every level, modes in order, values 1 to 4 (sums of them where coordinates met).
Expected<Tensor> random_sparse(const SparseRecipe& recipe, const Resources& resources);
/// Row-major, values 1 to 4.
Expected<Tensor> random_dense(const std::vector<std::uint64_t>& extents, std::uint64_t seed, const Resources& resources);

/// Tensors by name, made or read when first asked for and kept until dropped.
class Data {
 public:
  /// `directory` holds NAME.tns.zst and NAME.mtx.zst; empty: only synthetic ones. `quick` makes the synthetic ones
  /// twenty times smaller.
  Data(std::string directory, bool quick) : directory_(std::move(directory)), quick_(quick) {}
  bool has(const std::string& name) const;
  bool quick() const { return quick_; }
  Expected<Tensor> tensor(const std::string& name, const Resources& resources);
  void drop_all() { tensors_.clear(); }

 private:
  std::string directory_;
  bool quick_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace weft::bench
