#include "engine/codegen/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "runtime/foreign_code.h"

namespace weft {

namespace {

/// LLVM prints on standard error, and may end the process, if it is given a name it does not know.
bool is_known_processor(const llvm::Target& machine, const Target& target) {
  const std::unique_ptr<llvm::MCSubtargetInfo> any(machine.createMCSubtargetInfo(target.triple, "", ""));
  return any && any->isCPUStringValid(target.cpu);
}

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const Target& target) {
  const llvm::Target* found = find_target(target.triple);
  if (!found || !is_known_processor(*found, target)) return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      found->createMCSubtargetInfo(target.triple, target.cpu, target.features));
}

}  // namespace

std::string Target::text() const { return triple + " " + cpu + " " + features; }

std::string CodeOptions::text() const {
  return std::string(checked ? "checked" : "unchecked") + (strict_fp ? " strict-fp" : " fused-fp") +
         (count ? " counting" : "") + (symbolic ? " symbolic" : "");
}

const llvm::Target* find_target(const std::string& triple) {
  const ForeignCode scope;
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string reason;
  return llvm::TargetRegistry::lookupTarget(triple, reason);
}

// Only the features in which this machine differs from what LLVM expects of its processor (a hypervisor hides some):
// LLVM reads the list several times per kernel, and the full one of 150 would cost a seventh of the compile time.
Target host_target() {
  const ForeignCode scope;
  Target target{llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(), ""};
  std::vector<std::string> expected;
  if (const std::unique_ptr<llvm::MCSubtargetInfo> processor = subtarget(target))
    for (const llvm::SubtargetFeatureKV& feature : processor->getEnabledProcessorFeatures())
      expected.emplace_back(feature.Key);
  std::vector<std::string> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    const std::string name = feature.first().str();
    if ((std::ranges::find(expected, name) != expected.end()) != feature.second)
      features.push_back((feature.second ? "+" : "-") + name);
  }
  std::ranges::sort(features);  // the map's order is arbitrary, and the text is part of a key
  for (const std::string& feature : features) {
    if (!target.features.empty()) target.features.push_back(',');
    target.features.append(feature);
  }
  return target;
}

unsigned vector_bits(const Target& target) {
  const ForeignCode scope;
  const std::unique_ptr<llvm::MCSubtargetInfo> found = subtarget(target);
  if (!found || !found->checkFeatures("+64bit")) return 0;
  if (found->checkFeatures("+avx512f,+avx512vl,+avx512dq")) return 512;
  return found->checkFeatures("+avx2") ? 256 : 128;
}

}  // namespace weft
