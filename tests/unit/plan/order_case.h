// The text cases in tests/files/workspace_order: a network with its tree, the least order of its workspaces, and nests.
//
//   source   Raje et al. (TACO 2024), section 2          where the case is from; any text
//   network  A:ipq:sss:900 B:jpr:sss:900 -> ijqr         as plan_test::problem reads it
//   extents  i=12 j=12 p=12 q=12 r=12
//   tree     (A * B)
//   pinned   A                                           operands whose layouts are given; may be left out
//   order    1                                           the first l with a solution
//   nest     1                                           dimensions of the largest workspace of what follows
//   schedule
//     …
//
// A file is one case and has one nest or more; one of them attains the order (a nest may need fewer dimensions than
// l = 1, which is where the search begins). "#" starts a comment line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "unit/plan/networks.h"

namespace weft::plan_test {

struct OrderCase {
  std::string name;  ///< of the file, without extension
  std::string source;
  OwnedProblem problem;   ///< its tree is pinned
  std::uint32_t order = 0;
  struct Nest {
    std::uint32_t order = 0;
    std::string schedule;
  };
  std::vector<Nest> nests;
};

/// The cases of all *.order files of a folder, in the order of their names. An unreadable file, an unknown or repeated
/// line and a case without one of the lines fail the test.
std::vector<OrderCase> read_order_cases(const std::string& folder);

}  // namespace weft::plan_test
