// A bound for whole contraction trees, before anything is decided about loops; tree_bound.cpp has that of one alternative as well.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/schedule/statements.h"

namespace weft {

/// No schedule of a tree takes less, conversions not counted: every statement runs its body once per combination of
/// its indices that all sparse factors of the term let through, on all threads: those that it reads in the order of their layout, those
/// below an intermediate in any, for that may have the entries alone. Holds for every layout and every order of statements,
/// before any model is made; CostModel::least_ns() is the closer bound of one choice of those.
class TreeBound {
 public:
  /// Of the trees of one term. Refers to all of its arguments.
  explicit TreeBound(const Problem& problem);

  /// Operands whose conversion takes less than `below_ns` may have their modes bound in any order.
  double least_ns(const ContractionTree& tree, double below_ns);

 private:
  struct Factor {
    const TensorAccess* access = nullptr;
    const OperandFacts* facts = nullptr;
    IndexSet indices = 0;
    IndexSet own = 0;     // what no other factor of the term has, and not its result; nothing of a factor that is alone
    IndexSet scalar = 0;  // bound by sparse levels, if the layout is kept: no vector code runs over them
    bool adds_up = false; // has an index that no other access has, nor the result: values side by side may be added up
    bool sparse = false;
    double conversion_ns = 0;  // infinite where it must not be converted
    bool free = false;         // may be converted, as far as time is concerned
  };

  struct Node {
    std::uint32_t leaves = 0;
    IndexSet modes = 0;
    IndexSet scalar = 0;
    bool adds_up = false;
  };

  double least_density(const Factor& factor, IndexSet indices, bool any_order) const;
  double counted_iterations(IndexSet indices, std::uint32_t read) const;
  double least_iterations(IndexSet indices, std::uint32_t read);

  const Network& network_;
  const Machine& machine_;
  double least_joined_;
  IndexSet result_;
  std::vector<Factor> factors_;
  std::vector<Node> nodes_;  // of the tree at hand
  // Many trees have statements over the same indices that read the same factors.
  struct Iterations {
    IndexSet indices = 0;
    std::uint32_t read = 0;
    double count = 0;
  };
  std::vector<Iterations> iterations_;
};

}  // namespace weft
