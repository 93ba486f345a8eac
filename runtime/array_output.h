// ArrayOutput: a file that long arrays are written to.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/charge.h"
#include "runtime/output_file.h"
#include "weft/memory.h"

namespace weft {

/// Bytes go out in pieces, between which progress is told and cancellation heard. Belongs to one thread at a time; the
/// resources must outlive it.
class ArrayOutput {
 public:
  /// As OutputFile::create. Memory for compression is charged.
  static Expected<ArrayOutput> create(const std::string& path, Compression compression, const Resources& resources);
  /// How many bytes will be written in all, for the progress.
  void expect(std::uint64_t bytes) { expected_ = bytes; }
  Expected<void> write(std::string_view bytes);
  Expected<void> finish();

 private:
  ArrayOutput(OutputFile file, Compression compression, Charge charge, const Resources& resources)
      : file_(std::move(file)), compression_(compression), charge_(std::move(charge)), resources_(&resources) {}

  OutputFile file_;
  Compression compression_;
  Charge charge_;
  const Resources* resources_;
  std::uint64_t expected_ = 0;
  std::uint64_t written_ = 0;
  std::chrono::steady_clock::time_point last_report_ = std::chrono::steady_clock::now();
};

}  // namespace weft
