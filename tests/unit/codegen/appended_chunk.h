// What an engine keeps for an output that one chunk of a kernel appends to: buffers that grow as the kernel asks, often
// by no more than it asks for, so that every pointer a kernel keeps too long points at rubbish.
#pragma once

#include <vector>

#include "engine/loop/interpret.h"
#include "runtime/abi.h"

namespace weft::test {

class AppendedChunk {
 public:
  /// Extents by level. `first`: the coordinate that row 0 of a dense level 0 stands for.
  AppendedChunk(const loop::Storage& storage, std::vector<std::uint64_t> extents, std::uint64_t first,
                std::uint64_t rows);
  AppendedChunk(const AppendedChunk&) = delete;
  AppendedChunk& operator=(const AppendedChunk&) = delete;

  AppendedOutput output() const { return output_; }  ///< as it is before the kernel runs
  /// Adds the entries; says what is wrong with the arrays, or "".
  std::string read(loop::Entries& entries);

  /// Calls that still succeed; then growing fails with `limit`.
  std::uint64_t calls_left = UINT64_MAX;
  static std::int32_t grow(AppendedOutput* output, std::uint64_t level, std::uint64_t parents, std::uint64_t entries);

 private:
  std::string read_below(std::uint32_t level, std::uint64_t position, std::vector<std::uint64_t>& coordinates,
                         loop::Entries& entries) const;
  std::uint64_t positions(std::uint32_t level) const;  ///< entries of a level
  std::uint64_t coordinate(std::uint32_t level, std::uint64_t position) const;
  void move_to(AppendedOutput& output, std::uint32_t level, std::uint64_t parents, std::uint64_t entries);

  const loop::Storage& storage_;
  std::vector<std::uint64_t> extents_;
  std::uint64_t first_;
  std::uint64_t rows_;
  std::uint32_t last_ = 0;     // compressed level
  std::uint64_t block_ = 1;    // values below an entry of it
  std::uint64_t calls_ = 0;
  std::vector<AppendedLevel> levels_;
  std::vector<std::vector<std::uint64_t>> pos_;
  std::vector<std::vector<unsigned char>> crd_;
  std::vector<unsigned char> values_;
  AppendedOutput output_;
};

}  // namespace weft::test
