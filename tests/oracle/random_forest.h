// Random networks of several assignments, from a seed alone, and what they mean by brute force.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "oracle/built_network.h"
#include "oracle/random_network.h"

namespace weft::test {

struct RandomForest {
  struct Factor {
    std::string tensor;  ///< an operand or an earlier result
    std::vector<std::string> indices;
  };
  struct Assigned {
    std::string name;
    std::vector<std::string> indices;
    std::vector<std::uint64_t> extents;  ///< by mode
    std::vector<Factor> factors;
    double coefficient = 1;
  };
  std::uint64_t seed = 0;
  std::string expression;
  std::vector<RandomOperand> operands;
  std::vector<Assigned> assignments;
  std::set<std::string> wanted;  ///< beside the last
  /// Of all results, those wanted and the last, or empty: weft chooses, and a wanted result counts as dense.
  std::map<std::string, Format> formats;
};

/// Two to four assignments of one to three factors: operands and results read once, often or never, in any order of
/// their modes and on diagonals; indices of one name with different extents; extents 0 and 1; results nobody wants, and
/// results in formats with levels of every kind. With `with_nan` some entries are NaN (not Inf, whose products depend on
/// the tree), and results are dense: what absent entries annihilate depends on which are stored.
RandomForest random_forest(std::uint64_t seed, bool with_nan = false);
/// The next draws of the dice, and seed 0.
RandomForest random_forest(Dice& dice, bool with_nan = false);

/// What `weft run` would be told, and the entries of every operand.
std::string reproduction(const RandomForest& random);

/// Every result by name, assignment after assignment. Later assignments find what a wanted result stores: every entry of a
/// dense one.
std::map<std::string, CoordinateMap> expected_results(const RandomForest& random);

/// Parsed, resolved and built; `entries` by tensor.
Expected<BuiltNetwork> built(const RandomForest& random, const Resources& resources);

/// Lowered and interpreted: every result of the schedule by name. All operands are finite.
Expected<std::map<std::string, CoordinateMap>> interpreted_results(const Schedule& schedule, const BuiltNetwork& built);

}  // namespace weft::test
