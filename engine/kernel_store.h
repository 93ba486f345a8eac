// KernelStore: native code by canonical loop program, in memory, on disk, or made now.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/cache/disk_cache.h"
#include "engine/cache/memory_cache.h"
#include "engine/compiled_network.h"
#include "runtime/spread.h"
#include "weft/options.h"

namespace weft {

/// Loaded code and the size of its object file.
struct StoredCode {
  LoadedCode code;
  std::uint64_t object_bytes = 0;
};

/// Each canonical program is compiled once however many threads ask. Thread safe; handles of its code outlive it.
///
///   key = versions, target, code options, canonical text  --memory--> StoredCode
///                                                         --disk----> object bytes --load--> StoredCode
///                                                         --LLVM----> object bytes --load--> StoredCode, stored on disk
class KernelStore {
 public:
  /// `options` have to outlive the store. `disk`: null where nothing is kept on disk.
  KernelStore(const EngineOptions& options, Jit jit, std::shared_ptr<DiskCache> disk);

  const Target& target() const { return target_; }
  /// Of this engine, without what single kernels add.
  CodeOptions code_options() const { return {options_.checked, options_.strict_fp}; }

  /// The code of `nest.canonical`; tells where it came from, and adds the time to `phases`. `command`: for the trace, the weft
  /// command that compiles it; empty without a trace. With EngineOptions::paranoid, bytes from disk are
  /// compared with those of compiling again. Errors of LLVM and of loading.
  Expected<StoredCode> get(const CompiledNest& nest, const CodeOptions& code, const std::string& command, KernelOrigin& origin,
                           CompilePhases& phases);
  /// Whether the code of a canonical program is in memory or on disk.
  bool holds(const loop::Program& canonical, const CodeOptions& code) const;
  /// Loads bytes that were saved elsewhere under the name that `nest` has here; no cache learns of them.
  Expected<LoadedCode> load(const CompiledNest& nest, const std::string& object);

  std::uint64_t memory_hits() const { return memory_hits_.total(); }
  std::uint64_t disk_hits() const { return disk_hits_; }
  std::uint64_t compiled() const { return compiled_; }
  /// Code that was found without asking for its parts: so many nests.
  void found_again(std::uint64_t nests) { memory_hits_.add(nests); }
  /// A nest whose code was loaded from bytes that a host kept.
  void restored() { ++disk_hits_; }

 private:
  /// What a nest that is not in memory is made from, and who is told.
  struct Wanted {
    const std::string& key;
    const loop::Program& program;  ///< canonical
    const loop::Program& named;    ///< as lowered
    const CodeOptions& code;
    const std::string& command;
  };
  struct Compiled {
    ObjectCode object;
    CompileTimes times;
  };
  std::string key(const loop::Program& canonical, const CodeOptions& code) const;
  void trace(const std::string& line) const {
    if (options_.trace) options_.trace(line);
  }
  Expected<StoredCode> from_disk_or_compiled(const Wanted& wanted, KernelOrigin& origin, CompilePhases& phases);
  Expected<Compiled> compiled_object(const loop::Program& program, const CodeOptions& code, CompilePhases& phases);
  /// Loads what was just compiled, and stores it for others.
  Expected<StoredCode> fresh(const Wanted& wanted, const std::string& name, const Compiled& made, KernelOrigin& origin,
                             CompilePhases& phases);
  /// Generated for the dump alone. What goes wrong there is told and changes nothing.
  Expected<void> dump_texts(const Wanted& wanted, const std::string& name) const;

  const EngineOptions& options_;
  Target target_;
  Jit jit_;
  TargetMachines machines_;
  std::shared_ptr<DiskCache> disk_;
  MemoryCache<StoredCode> memory_;
  SpreadCount memory_hits_;
  std::atomic<std::uint64_t> disk_hits_{0};
  std::atomic<std::uint64_t> compiled_{0};
};

}  // namespace weft
