#include "engine/jit/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

namespace weft {

namespace {

std::string reason(llvm::Error error) { return llvm::toString(std::move(error)); }

/// Everything a kernel may call: what code generation expands its own intrinsics to, and the functions of the ABI.
llvm::Error define_symbols(llvm::orc::LLJIT& jit) {
  llvm::orc::SymbolMap symbols;
  const auto add = [&](const char* name, auto* function) {
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
  };
  add("memset", static_cast<void* (*)(void*, int, std::size_t)>(std::memset));
  add("memcpy", static_cast<void* (*)(void*, const void*, std::size_t)>(std::memcpy));
  add("memmove", static_cast<void* (*)(void*, const void*, std::size_t)>(std::memmove));
  add("fma", static_cast<double (*)(double, double, double)>(std::fma));
  add("fmaf", static_cast<float (*)(float, float, float)>(std::fma));
  add("weft_sort_touched_32", &weft_sort_touched_32);
  add("weft_sort_touched_64", &weft_sort_touched_64);
  add("weft_list_marked_32", &weft_list_marked_32);
  add("weft_hashed_open", &weft_hashed_open);
  add("weft_hashed_insert", &weft_hashed_insert);
  add("weft_hashed_remove_last", &weft_hashed_remove_last);
  add("weft_hashed_find", &weft_hashed_find);
  add("weft_hashed_sort", &weft_hashed_sort);
  add("weft_hashed_clear", &weft_hashed_clear);
  return jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols)));
}

}  // namespace

struct Jit::State {
  std::unique_ptr<llvm::orc::LLJIT> lljit;
  std::atomic<std::uint64_t> kernels{0};  ///< loaded so far: makes the names of the dylibs unique
};

Expected<Jit> Jit::create() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
  });
  llvm::orc::LLJITBuilder builder;
  builder.setLinkProcessSymbolsByDefault(false);
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine) return internal_error("LLVM does not know this machine: " + reason(machine.takeError()));
  builder.setJITTargetMachineBuilder(std::move(*machine));
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> lljit = builder.create();
  if (!lljit) return internal_error("cannot create the JIT: " + reason(lljit.takeError()));
  if (llvm::Error error = define_symbols(**lljit))
    return internal_error("cannot define the JIT's symbols: " + reason(std::move(error)));
  // A failed load is reported to its caller; nothing may be written to the host's standard error.
  (*lljit)->getExecutionSession().setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  Jit jit;
  jit.state_ = std::make_shared<State>();
  jit.state_->lljit = std::move(*lljit);
  return jit;
}

Expected<LoadedCode> Jit::load(const ObjectCode& object, const std::string& name) const {
  std::unique_ptr<llvm::MemoryBuffer> buffer = llvm::MemoryBuffer::getMemBufferCopy(object.bytes, name);
  llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> file =
      llvm::object::ObjectFile::createObjectFile(buffer->getMemBufferRef());
  if (!file) return internal_error("not an object file: " + reason(file.takeError()));
  if (!(*file)->isELF() || (*file)->getArch() != llvm::Triple(llvm::sys::getProcessTriple()).getArch() ||
      !(*file)->isRelocatableObject())
    return internal_error("the object file is not relocatable code of this machine");

  llvm::orc::LLJIT& lljit = *state_->lljit;
  const std::uint64_t number = state_->kernels.fetch_add(1, std::memory_order_relaxed);
  llvm::Expected<llvm::orc::JITDylib&> dylib = lljit.createJITDylib(name + "#" + std::to_string(number));
  if (!dylib) return internal_error("cannot load " + name + ": " + reason(dylib.takeError()));
  // Owns the dylib, and with it the code: keeps the JIT alive until the last handle dies.
  const auto remove = [state = state_, found = &*dylib](void*) {
    llvm::consumeError(state->lljit->getExecutionSession().removeJITDylib(*found));
  };
  LoadedCode code;
  code.code_ = std::shared_ptr<void>(&*dylib, remove);
  dylib->addToLinkOrder(lljit.getMainJITDylib());
  if (llvm::Error error = lljit.addObjectFile(*dylib, std::move(buffer)))
    return internal_error("cannot load " + name + ": " + reason(std::move(error)));
  llvm::Expected<llvm::orc::ExecutorAddr> address = lljit.lookup(*dylib, "weft_kernel");
  if (!address) return internal_error("cannot load " + name + ": " + reason(address.takeError()));
  code.function_ = address->toPtr<KernelFunction*>();
  return code;
}

}  // namespace weft
