// The functions of loaded code, under names for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct CodeSymbol {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool operator==(const CodeSymbol&) const = default;
};

/// "weft_kernel" is `kernel` itself, every other function what its name says: "weft_loops" is "KERNEL_loops".
std::string symbol_name(const std::string& kernel, const std::string& function);

}  // namespace weft
