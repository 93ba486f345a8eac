#include "engine/codegen/codegen.h"

#include <algorithm>

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

namespace weft {

std::string Target::text() const { return triple + " " + cpu + " " + features; }

std::string CodeOptions::text() const {
  return std::string(checked ? "checked" : "unchecked") + (strict_fp ? " strict-fp" : " fused-fp");
}

Target host_target() {
  std::vector<std::string> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.push_back(std::string(feature.second ? "+" : "-").append(feature.first()));
  std::ranges::sort(features);  // the map's order is arbitrary, and the text is part of a key
  Target target{llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(), ""};
  for (const std::string& feature : features) {
    if (!target.features.empty()) target.features.push_back(',');
    target.features.append(feature);
  }
  return target;
}

}  // namespace weft
