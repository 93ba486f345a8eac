// Network equivalence: substituting every workspace by its defining product gives back the network.
#pragma once

#include <string>
#include <vector>

#include "engine/loop/program.h"

namespace weft::loop {

/// A sum of products over storages by name: what a Program computes for one output, in a canonical form.
struct Product {
  std::vector<std::pair<std::string, std::vector<std::string>>> factors;  ///< storage name, index names; sorted
  bool negative = false;
  std::vector<std::uint32_t> coefficients;
  bool operator==(const Product&) const = default;
};
struct Definition {
  std::string output;
  std::vector<std::string> indices;  ///< of the output, in storage order
  std::vector<Product> products;     ///< a sum
  bool operator==(const Definition&) const = default;
};

/// What the Program computes, workspaces substituted. Internal error where a workspace is read before it is complete.
Expected<std::vector<Definition>> definitions(const Program& program);

}  // namespace weft::loop
