// Random networks with random tensors in random formats, from a seed alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/network/network.h"
#include "engine/plan/plan.h"
#include "oracle/dice.h"
#include "oracle/einsum.h"
#include "weft/tensor.h"

namespace weft::test {

struct RandomOperand {
  std::string name;
  std::vector<std::uint64_t> extents;  ///< by mode
  Format format;
  bool pinned = false;
  std::vector<std::pair<std::vector<std::uint64_t>, double>>
      entries;  ///< unsorted, duplicates possible; small integers
};

struct RandomFactor {
  std::size_t operand = 0;
  std::vector<std::string> indices;
};

struct RandomNetwork {
  std::uint64_t seed = 0;
  std::string expression;  ///< index notation
  std::vector<RandomOperand> operands;
  std::vector<RandomFactor> factors;
  std::vector<std::string> result;  ///< indices
  double coefficient = 1;
};

/// Bounds on what is drawn.
struct RandomLimits {
  std::size_t factors = 5;
  std::size_t order = 5;
  std::size_t indices = 8;
  std::uint64_t extent = 6;
  std::uint64_t long_extent = 150;    ///< of one index in thirty
  std::uint64_t index_space = 20000;  ///< product of all extents
};

RandomNetwork random_network(std::uint64_t seed, const RandomLimits& limits = {});
/// The next draws of the dice, and seed 0.
RandomNetwork random_network(Dice& dice, const RandomLimits& limits = {});
/// Other entries for the same expression; now and then other extents and, with the same scalars, other formats.
void redraw_operands(RandomNetwork& random, Dice& dice, const RandomLimits& limits = {});

/// The network of "R(i,r) = -2 * T(i,j) * A(j,r)": its operands, a name that stands twice being one, as `operand` makes them of their
/// names and indices.
RandomNetwork network_of(const std::string& expression,
                         const std::function<RandomOperand(const std::string& name, const std::vector<std::string>& indices)>& operand);

RandomOperand empty_operand(const std::string& name, const std::vector<std::string>& indices,
                            const std::map<std::string, std::uint64_t>& extents, const Format& format);

/// What `weft run` would be told, and below it the entries of every operand.
std::string reproduction(const RandomNetwork& random);

/// One format in four has some positions or coordinates of 64 bits, whatever its tensors need.
void widen(Format& format, Dice& dice);

/// Some of the compressed levels become hashed or bitmap ones, these where all coordinates of the tensor are few.
void leave_gaps(Format& format, const std::vector<std::uint64_t>& extents, Dice& dice);
/// " 64 bits: pos 0 2, crd 1", the levels of widen; nothing where all have 32.
std::string wide_levels(const Format& format);

/// Duplicates summed, in mode order: what the oracle takes.
CoordinateMap summed(const RandomOperand& operand);
CoordinateMap expected_result(const RandomNetwork& random);

/// The text parsed and resolved against the operands.
Expected<Network> network_of(const RandomNetwork& random);
Expected<Tensor> tensor_of(const RandomOperand& operand, const Resources& resources);

}  // namespace weft::test
