// Kernels as bytes that a host keeps: what was asked for, the plan, and the machine code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/saved_network.h"
#include "frontend/named_operands.h"
#include "weft/engine.h"

namespace weft {

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
  std::map<std::string, Figures> operands;
};

SavedRequest::Figures figures_of(const Statistics& statistics);
std::map<std::string, Statistics> statistics_of(const SavedRequest& request);

struct SavedKernel {
  SavedRequest request;
  SavedNetwork network;
};

/// An entry of the disk cache's form, with checksum, whose key is the environment.
std::string packed(const SavedKernel& kernel, const std::string& environment);
/// Input error that says what is wrong: damaged, cut off, of another version, for another CPU.
Expected<SavedKernel> unpacked(std::string_view bytes, const std::string& environment);

}  // namespace weft
