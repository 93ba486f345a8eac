#include "engine/jit/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Object/SymbolSize.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>

#include "engine/jit/debugger.h"
#include "engine/jit/perf_map.h"
#include "runtime/headroom.h"

namespace weft {

namespace {

// Measured (README.md): 0.2 MB to start, of an object about its size.
constexpr std::uint64_t starting_bytes = 4 << 20;
constexpr std::uint64_t loading_bytes = 1 << 20;
constexpr std::uint64_t loading_bytes_per_byte = 4;

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
  add("weft_lower_bound_32", &weft_lower_bound_32);
  add("weft_lower_bound_64", &weft_lower_bound_64);
  add("weft_hashed_open", &weft_hashed_open);
  add("weft_hashed_insert", &weft_hashed_insert);
  add("weft_hashed_remove_last", &weft_hashed_remove_last);
  add("weft_hashed_find", &weft_hashed_find);
  add("weft_hashed_sort", &weft_hashed_sort);
  add("weft_hashed_append", &weft_hashed_append);
  add("weft_sort_slots", &weft_sort_slots);
  add("weft_hashed_clear", &weft_hashed_clear);
  return jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols)));
}

/// The functions in the section of `weft_kernel`, which lies at `entry`.
std::vector<CodeSymbol> code_symbols(const llvm::object::ObjectFile& file, std::uint64_t entry, const std::string& kernel) {
  struct Place {
    std::string name;
    std::uint64_t offset;
    std::uint64_t bytes;
    llvm::object::SectionRef section;
  };
  std::vector<Place> places;
  std::optional<Place> first;
  for (const auto& [symbol, bytes] : llvm::object::computeSymbolSizes(file)) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    llvm::Expected<std::uint64_t> offset = symbol.getValue();
    llvm::Expected<llvm::object::section_iterator> section = symbol.getSection();
    llvm::Expected<llvm::object::SymbolRef::Type> type = symbol.getType();
    const bool readable = name && offset && section && type;
    if (!name) llvm::consumeError(name.takeError());
    if (!offset) llvm::consumeError(offset.takeError());
    if (!section) llvm::consumeError(section.takeError());
    if (!type) llvm::consumeError(type.takeError());
    if (!readable || *type != llvm::object::SymbolRef::ST_Function || *section == file.section_end()) continue;
    places.push_back({name->str(), *offset, bytes, **section});
    if (places.back().name == "weft_kernel") first = places.back();
  }
  std::vector<CodeSymbol> symbols;
  for (const Place& place : places) {
    if (!first || place.section != first->section) continue;
    symbols.push_back({symbol_name(kernel, place.name), entry - first->offset + place.offset, place.bytes});
  }
  return symbols;
}

}  // namespace

struct Jit::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const ForeignCode scope;
    lljit.reset();
  }
  std::unique_ptr<llvm::orc::LLJIT> lljit;
  std::atomic<std::uint64_t> kernels{0};  ///< loaded so far: makes the names of the dylibs unique
  JitOptions options;
};

/// Owns the dylib, and with it the code: keeps the JIT alive until the last handle dies.
struct LoadedCode::State {
  std::shared_ptr<Jit::State> jit;
  llvm::orc::JITDylib* dylib = nullptr;
  std::vector<CodeSymbol> symbols;
  std::optional<DebuggerEntry> debugger;

  State(std::shared_ptr<Jit::State> loaded_by, llvm::orc::JITDylib& own) : jit(std::move(loaded_by)), dylib(&own) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const ForeignCode scope;
    debugger.reset();
    llvm::consumeError(jit->lljit->getExecutionSession().removeJITDylib(*dylib));
  }
};

std::vector<CodeSymbol> LoadedCode::symbols() const { return code_ ? code_->symbols : std::vector<CodeSymbol>(); }

Expected<Jit> Jit::create(const JitOptions& options) {
  const auto room = Headroom::take(starting_bytes, "starting LLVM");
  if (!room) return std::unexpected(room.error());
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
  jit.state_->options = options;
  return jit;
}

Expected<LoadedCode> Jit::load(const ObjectCode& object, const std::string& name) const {
  const auto room = Headroom::take(loading_bytes + loading_bytes_per_byte * object.bytes.size(), "loading code");
  if (!room) return std::unexpected(room.error());
  std::unique_ptr<llvm::MemoryBuffer> buffer = llvm::MemoryBuffer::getMemBuffer(object.bytes, name, false);
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
  LoadedCode code;
  code.code_ = std::make_shared<LoadedCode::State>(state_, *dylib);
  dylib->addToLinkOrder(lljit.getMainJITDylib());
  std::unique_ptr<llvm::MemoryBuffer> copy = llvm::MemoryBuffer::getMemBufferCopy(object.bytes, name);
  if (llvm::Error error = lljit.addObjectFile(*dylib, std::move(copy)))
    return internal_error("cannot load " + name + ": " + reason(std::move(error)));
  llvm::Expected<llvm::orc::ExecutorAddr> address = lljit.lookup(*dylib, "weft_kernel");
  if (!address) return internal_error("cannot load " + name + ": " + reason(address.takeError()));
  code.function_ = address->toPtr<KernelFunction*>();
  code.code_->symbols = code_symbols(**file, address->getValue(), name);
  if (!code.code_->symbols.empty()) code.code_->debugger.emplace(code.code_->symbols);
  if (state_->options.perf_map) append_to_perf_map(code.code_->symbols);
  return code;
}

}  // namespace weft
