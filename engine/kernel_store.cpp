#include "engine/kernel_store.h"

#include <fmt/format.h>

#include "engine/trace.h"
#include "runtime/elapsed.h"

namespace weft {

KernelStore::KernelStore(const EngineOptions& options, Jit jit, std::shared_ptr<DiskCache> disk)
    : options_(options),
      target_(host_target()),
      jit_(std::move(jit)),
      disk_(std::move(disk)),
      memory_({.entries = options.kernels_in_memory}, [](const StoredCode& stored) { return stored.object_bytes; }) {}

// Everything that shapes object bytes.
std::string KernelStore::key(const loop::Program& canonical, const CodeOptions& code) const {
  return fmt::format("weft {} abi {} code {} {}\n{}\n{}\n{}", WEFT_VERSION, kernel_abi_version, generated_code_version,
                     code_generator_version(), target_.text(), code.text(), loop::print(canonical));
}

bool KernelStore::holds(const loop::Program& canonical, const CodeOptions& code) const {
  const std::string wanted = key(canonical, code);
  return memory_.holds(wanted) || (disk_ && disk_->load(wanted));
}

Expected<StoredCode> KernelStore::get(const CompiledNest& nest, const CodeOptions& code, const std::string& command,
                                      KernelOrigin& origin, CompilePhases& phases) {
  const std::string wanted = key(nest.canonical.program, code);
  origin = KernelOrigin::memory;
  const auto made = [&] {
    return from_disk_or_compiled({wanted, nest.canonical.program, nest.nest.program, code, command}, origin, phases);
  };
  const auto found = options_.use_cache ? memory_.get(wanted, made) : made();
  if (found && origin == KernelOrigin::memory) memory_hits_.add();
  return found;
}

Expected<LoadedCode> KernelStore::load(const CompiledNest& nest, const std::string& object) {
  const std::string name = kernel_name(nest.nest.program, key(nest.canonical.program, code_options()));
  return jit_.load(ObjectCode{object}, name);
}

Expected<StoredCode> KernelStore::from_disk_or_compiled(const Wanted& wanted, KernelOrigin& origin, CompilePhases& phases) {
  const auto& [key, program, named, code, command] = wanted;
  const std::string name = kernel_name(named, key);
  if (options_.dump_directory) {
    if (auto dumped = dump_texts(wanted, name); !dumped) return std::unexpected(dumped.error());
  }
  if (const auto bytes = disk_ ? disk_->load(key) : std::nullopt) {
    if (options_.paranoid) {
      const auto again = compiled_object(program, code, phases);
      if (!again) return std::unexpected(again.error());
      if (again->object.bytes != *bytes) {
        trace(fmt::format("{} # load {} refused, compiling again gives other code", command, name));
        return fresh(wanted, name, *again, origin, phases);
      }
    }
    const auto start = Clock::now();
    const auto loaded = jit_.load(ObjectCode{*bytes}, name);
    phases.load += milliseconds_since(start);
    if (loaded) {
      origin = KernelOrigin::disk;
      ++disk_hits_;
      trace(fmt::format("{} # load {} disk {} bytes {:.3f} ms", command, name, bytes->size(), milliseconds_since(start)));
      return StoredCode{*loaded, bytes->size()};
    }
    trace(fmt::format("{} # load {} refused, compiling again: {}", command, name, loaded.error().message));
  }
  const auto object = compiled_object(program, code, phases);
  if (!object) return std::unexpected(object.error());
  return fresh(wanted, name, *object, origin, phases);
}

Expected<KernelStore::Compiled> KernelStore::compiled_object(const loop::Program& program, const CodeOptions& code,
                                                             CompilePhases& phases) {
  CompileTimes times;
  auto object = weft::compile(program, target_, code, &times, &machines_);
  if (!object) return std::unexpected(object.error());
  phases.generate += times.generate;
  phases.emit += times.emit;
  return Compiled{std::move(*object), times};
}

Expected<StoredCode> KernelStore::fresh(const Wanted& wanted, const std::string& name, const Compiled& made, KernelOrigin& origin,
                                        CompilePhases& phases) {
  const auto start = Clock::now();
  auto loaded = jit_.load(made.object, name);
  phases.load += milliseconds_since(start);
  if (!loaded) return std::unexpected(loaded.error());
  origin = KernelOrigin::compiled;
  ++compiled_;
  trace(fmt::format("{} # compile {} generate {:.3f} ms emit {:.3f} ms load {:.3f} ms {} bytes", wanted.command, name,
                    made.times.generate, made.times.emit, milliseconds_since(start), made.object.bytes.size()));
  if (disk_) disk_->store(wanted.key, made.object.bytes);
  return StoredCode{*loaded, made.object.bytes.size()};
}

Expected<void> KernelStore::dump_texts(const Wanted& wanted, const std::string& name) const {
  KernelTexts texts{loop::print(wanted.named), {}, {}};
  auto llvm = llvm_text(wanted.program, target_, wanted.code);
  auto assembly = assembly_text(wanted.program, target_, wanted.code);
  texts.llvm = llvm ? std::move(*llvm) : llvm.error().message;
  texts.assembly = assembly ? std::move(*assembly) : assembly.error().message;
  return dump(*options_.dump_directory, name, texts);
}

}  // namespace weft
