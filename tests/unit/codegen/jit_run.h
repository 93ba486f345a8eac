// Runs a Program as native code on the values the interpreter takes: arrays of every level kind built from entries,
// frame and scratch filled from the Signature, results read back.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/codegen/codegen.h"
#include "engine/jit/jit.h"
#include "engine/loop/interpret.h"
#include "runtime/hashed_memory.h"

namespace weft::test {

/// The host's target, or one with narrower vectors that the host also runs.
Target host_with_bits(unsigned bits);

struct StoredArrays {
  std::vector<std::vector<unsigned char>> pos;  ///< by level
  std::vector<std::vector<unsigned char>> crd;
  std::vector<std::uint64_t> strides;
  std::vector<unsigned char> values;
  std::vector<unsigned char> places;  ///< of values that stand in another order
  std::vector<std::vector<std::uint64_t>> coordinates;  ///< of each value, in level order
};

/// Extents by level. Entries must lie within them; dense levels are filled with zeros.
StoredArrays store(const loop::Storage& storage, const std::vector<std::uint64_t>& extents,
                   const loop::Entries& entries);

/// Everything a kernel call needs, alive while it runs.
struct PreparedRun {
  std::map<loop::StorageId, StoredArrays> arrays;
  std::vector<std::uint64_t> frame;
  std::vector<unsigned char> scratch;
  std::vector<std::uint64_t> counts;  ///< by loop of the program; more than it has
  std::uint8_t cancelled = 0;
  Worker worker;
  std::uint64_t root_extent = 1;  ///< what [begin, end) ranges over
  std::map<loop::StorageId, loop::Entries> appended;  ///< of all chunks so far
  std::vector<std::unique_ptr<HashedMemory>> memories;
  std::vector<HashedTable> tables;  ///< each in a memory of its own

  PreparedRun() = default;
  PreparedRun(const PreparedRun&) = delete;
  PreparedRun& operator=(const PreparedRun&) = delete;
  void fill(const loop::Program& program, const loop::Interpretation& values);
  /// Calls the kernel for one chunk with outputs of its own to append to, and takes over what it appended. Growing
  /// fails after `calls` calls.
  Expected<void> run_chunk(KernelFunction* kernel, const loop::Program& program, const loop::Interpretation& values,
                           std::uint64_t begin, std::uint64_t end, std::uint64_t calls = UINT64_MAX);
  std::map<std::string, loop::Entries> results(const loop::Program& program) const;
};

/// The outputs, or what went wrong. The root range is cut at the given places.
Expected<std::map<std::string, loop::Entries>> run_native(const Jit& jit, const loop::Program& program,
                                                          const loop::Interpretation& values, const Target& target,
                                                          const CodeOptions& options,
                                                          const std::vector<std::uint64_t>& cuts = {});

/// How often the body of every loop ran, added up over the pieces of the root range.
Expected<std::vector<std::uint64_t>> count_native(const Jit& jit, const loop::Program& program,
                                                  const loop::Interpretation& values, const Target& target,
                                                  CodeOptions options, const std::vector<std::uint64_t>& cuts = {});

/// What the symbolic kernel counts for every output that grows: entries by level (0 of dense ones), added up over the pieces.
Expected<std::map<std::string, std::vector<std::uint64_t>>> symbolic_sizes(const Jit& jit, const loop::Program& program,
                                                                           const loop::Interpretation& values,
                                                                           const Target& target, CodeOptions options,
                                                                           const std::vector<std::uint64_t>& cuts = {});

}  // namespace weft::test
