// Random layouts from the grammar.
#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace weft::test {

/// A layout of at most three modes: every mode whole, or in two or three parts, some in sums with others; levels in any order, of any
/// kinds; then, in one in three, a start, or slots with a chain of singletons behind them.
std::string random_layout(std::mt19937& random, std::size_t order);

}  // namespace weft::test
