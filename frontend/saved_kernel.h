// Kernels as bytes that a host keeps: what was asked for, the plan, and the machine code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/network/exposure.h"
#include "engine/saved_network.h"
#include "frontend/named_operands.h"
#include "weft/engine.h"

namespace weft {

/// How operands are given to a kernel over the levels of layouts, and how far these are exposed (network/exposure.h).
struct SavedLevels {
  struct Given {
    Format format;
    std::vector<std::uint64_t> extents;        ///< of modes
    std::vector<std::uint64_t> level_extents;
    double nnz = 0;
  };
  Exposing exposing = Exposing::all;
  std::set<std::string> located = {};  ///< operands that are read through their layouts
  std::map<std::string, Given> given;
};

/// What a kernel was compiled for. Holds figures of operands, and nothing of the tensors.
struct SavedRequest {
  struct Figures {
    Format format;
    std::vector<std::uint64_t> extents;
    double nnz = 0;
    std::map<ModeSet, double> distinct;
  };
  std::string expression;
  CompileOptions options;
  std::map<std::string, Figures> operands;  ///< as planned: over levels, where `levels` tells how they are given
  std::optional<SavedLevels> levels = {};
};

SavedRequest::Figures figures_of(const Statistics& statistics);
std::map<std::string, Statistics> statistics_of(const SavedRequest& request);
/// The operands as they are given.
NamedFacts given_facts(const SavedRequest& request);

struct SavedKernel {
  SavedRequest request;
  SavedNetwork network;
};

/// An entry of the disk cache's form, with checksum, whose key is the environment.
std::string packed(const SavedKernel& kernel, const std::string& environment);
/// Input error that says what is wrong: damaged, cut off, of another version, for another CPU.
Expected<SavedKernel> unpacked(std::string_view bytes, const std::string& environment);

}  // namespace weft
