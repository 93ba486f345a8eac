// SavedNetwork: a compiled network as values that can be written to a file: its plan, its loops and their machine code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/byte_text.h"
#include "engine/compiled_network.h"

namespace weft {

struct SavedNest {
  LoweredNest nest;
  std::string object;    ///< of its canonical program
  std::string counting;  ///< likewise, of the kernel that counts; empty: there is none
};

struct SavedNetwork {
  std::string schedule;  ///< as print() writes it
  Producer producer = Producer::search;  ///< this and the next as in Plan
  Optimal optimal = Optimal::none;
  std::string proof;
  Specialization grade = Specialization::profiled;
  std::vector<bool> finite;  ///< by position in Schedule::tensors
  std::vector<SavedNest> nests;
};

/// Compiles what is not at hand as bytes; LLVM's errors.
Expected<SavedNetwork> saved(const CompiledNetwork& network);

void write(ByteWriter& to, const SavedNetwork& network);
/// Programs are verified; what does not fit together is an input error.
Expected<SavedNetwork> read_network(ByteReader& from);

/// What code depends on beside its program, in lines "NAME VALUE": versions of weft, of its kernels and of LLVM, and the target.
std::string environment(const CodeOptions& code, const Target& target);
/// How two environments differ, in words; empty if they are the same.
std::string difference(const std::string& saved, const std::string& here);

}  // namespace weft
