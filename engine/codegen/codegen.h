// Program to LLVM IR to object bytes. No IR pass pipeline: the generator writes the vector code itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/codegen/signature.h"
#include "engine/loop/program.h"

namespace weft {

/// The machine code is for. Part of the kernel cache's key.
struct Target {
  std::string triple;
  std::string cpu;
  std::string features;
  bool operator==(const Target&) const = default;
  std::string text() const;
};
Target host_target();

/// The positions and coordinates of a tensor by level, as numbers: what a fact `pattern` stands for. Dense levels have none.
struct Pattern {
  std::vector<std::vector<std::uint64_t>> pos;
  std::vector<std::vector<std::uint64_t>> crd;
  bool operator==(const Pattern&) const = default;
};
using Patterns = std::map<std::uint64_t, Pattern>;  ///< by digest

struct CodeOptions {
  bool checked = false;    ///< bounds-check every access; a failure returns failed_check and names storage and level
  bool strict_fp = false;  ///< no FMA, no reassociation: every sum in loop order
  /// Adds to Worker::counts how often the body of every loop ran, loops in the order of the program's text. A piece of a
  /// vector loop counts for all its lanes. Slower; a kernel that is stopped adds nothing.
  bool count = false;
  /// The counting pass of `@parallel(A: count)`: no value is read or computed, and of what is appended only the sizes of
  /// levels are told (AppendedLevel::size); arrays of outputs may be missing.
  bool symbolic = false;
  /// Of facts `pattern`: loops over such an input are unrolled and its coordinates are constants. A fact whose digest is
  /// missing here changes nothing. Not in text(): the digest in the program's text stands for it.
  std::shared_ptr<const Patterns> patterns = {};
  bool operator==(const CodeOptions&) const = default;
  std::string text() const;
};

/// Counted up when other code is written for the same Program: part of the kernel cache's key.
constexpr std::uint32_t generated_code_version = 37;
/// "LLVM 19.1.7": part of the kernel cache's key.
std::string code_generator_version();

/// Relocatable object with one exported function `weft_kernel` of type KernelFunction.
struct ObjectCode {
  std::string bytes;
  bool operator==(const ObjectCode&) const = default;
};

struct CompileTimes {  ///< milliseconds
  double generate = 0;
  double emit = 0;
};

/// LLVM's models of machines, kept between compilations: to make one takes an eighth of the time of a compilation.
/// Cheap to copy; copies share. For any number of threads: a compilation has a model for itself.
class TargetMachines {
 public:
  TargetMachines();
  struct State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// The Program must verify. Internal error with the program's text if LLVM refuses the module. The object does not
/// depend on `machines`.
Expected<ObjectCode> compile(const loop::Program& program, const Target& target, const CodeOptions& options,
                             CompileTimes* times = nullptr, const TargetMachines* machines = nullptr);
/// The same stages as text, for --emit and tests.
Expected<std::string> llvm_text(const loop::Program& program, const Target& target, const CodeOptions& options);
Expected<std::string> assembly_text(const loop::Program& program, const Target& target, const CodeOptions& options);

}  // namespace weft
