// Matrices drawn for layouts that real ones seldom have: full square blocks, pairs in groups of four, runs.
#pragma once

#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft::bench {

/// "squares4", "squares8": 12,000 rows of full blocks, 96 entries in each. "pairs": two in each group of four of 2048 x 2048. "runs": six
/// runs of 16 entries in each of 12,000 rows. Values are 1 to 4.
const std::vector<std::string>& drawn_matrices();

/// By rows; "diagonals" too, the nine diagonals next to the main one of 100,000 rows. Resource error.
Expected<Tensor> drawn_matrix(const std::string& name, const Resources& resources);

}  // namespace weft::bench
