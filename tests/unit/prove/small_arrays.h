// All small index arrays of a storage, and what loops over them do: an oracle of claims that shares nothing with the
// prover.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/loop/program.h"
#include "engine/prove/iteration.h"

namespace weft::test {

/// Every vector of `size` numbers from 0 to `most`.
void for_each_vector(std::size_t size, int most, const std::function<void(const std::vector<int>&)>& visit);

/// By level; empty where a level has none.
struct SmallArrays {
  std::vector<std::vector<int>> pos;
  std::vector<std::vector<int>> crd;
};

/// "pos 0 2 | crd 1 0": the levels one after the other.
std::string print(const SmallArrays& arrays);

/// Every one with at most `entries` entries on a level that has what is assumed; what is not may be otherwise. Levels
/// are dense, compressed, nonunique, singleton or hashed. Extents by level.
void for_each_arrays(const std::vector<Level>& levels, const std::vector<int>& extents, int entries,
                     const AssumedOfArrays& assumed, const std::function<void(const SmallArrays&)>& visit);

/// The kinds of claims ("cursor", "owner", "append", "within") that do not hold when the loops of a program run over
/// the arrays of its first storage, "A". Other inputs have every entry. Loops have one driver at most. Extents by
/// index, of those that have loops.
std::set<std::string> broken_claims(const loop::Program& program, const SmallArrays& arrays,
                                    const std::vector<int>& extents);

}  // namespace weft::test
