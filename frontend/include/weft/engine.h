// Engine: from text to machine code. Kernel: that code. Bindings: the tensors that it runs over.
//
// All three are cheap handles: copies share what they stand for, and every function that is const may be called from
// several threads at once. Nothing here throws, prints or ends the process: memory that runs out is an error of kind
// resource. Only what the host's own code allocates (the members of options, names and maps that it fills, futures that
// it waits for) throws std::bad_alloc, there. The child of a fork may go on with what its parent had, on the calling
// thread alone, unless another thread was inside weft at that moment, one of its own that compiles in the background
// too. Whatever compiles (compile_async, Answer::soonest) has to be through before the process ends and takes LLVM with
// it: the end of its engine waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/host.h"
#include "weft/objective.h"
#include "weft/options.h"
#include "weft/report.h"
#include "weft/specialization.h"
#include "weft/stage.h"
#include "weft/statistics.h"
#include "weft/tensor.h"

namespace weft {

struct Prepared;
using Tensors = std::map<std::string, Tensor>;

struct CompileOptions {
  /// Requested formats of results, and layouts that operands are pinned to, by name: a kernel reads them so, and
  /// tensors that are stored otherwise are converted, once for all kernels, as Report::explanation says. The scalar
  /// type of an operand is always its own.
  std::map<std::string, Format> formats;
  /// Results that are stored at the positions of an operand, by name: the result shares its coordinates, and holds 0
  /// where nothing contributed. Both have the same indices. Index arrays that the host lent with the operand are shared
  /// too, and have to last as long as the result, unless the operand is named in `changing_patterns`.
  std::map<std::string, std::string> patterns;
  /// Of several assignments those whose results are wanted, beside the last and those with a format; the others may be
  /// fused away, and are not computed if nothing reads them.
  std::vector<std::string> results;
  std::string tree;           ///< replaces the planner's choice, e.g. "((T * C) * B)"; several: separated by ;
  std::string schedule;       ///< text of a schedule; replaces the planner: neither with `unfused` nor with `prove`
  std::string schedule_name;  ///< where that text is from, named in errors
  /// The name() of an Objective: "time" or "" (the cheapest plan), or "workspace-order": the fewest dimensions of the
  /// largest workspace, of one contraction tree (CoNST); not with `schedule` or `unfused`.
  std::string objective;
  bool unfused = false;  ///< the best plan that stores every intermediate
  /// Plan until nothing cheaper can exist, over any layout that is proposed; the report's `optimal` says of what.
  bool prove = false;
  double calls = 1;      ///< expected runs; amortises layout conversions
  /// How far the kernel is made for these operands; automatic: by `calls`. The report tells what was chosen. Operands
  /// that a kernel assumes too much of run in a generic one.
  Specialization specialize = Specialization::profiled;
  /// Operands whose values the host may change in place between runs, without any further word, as OperandUse::changes
  /// tells of one binding; and those whose coordinates, too, which are then verified in each run. What is derived from
  /// them is made anew in each run, and priced so. Sparse results whose pattern comes from one of `changing_patterns`
  /// are returned by runs, not written into memory of the host: nothing compares coordinates with those of before.
  std::vector<std::string> changing, changing_patterns;
  /// Operands whose values the host knows to be finite, or all of them: no run and no compilation looks through them.
  /// NaN and Inf that they hold after all may be lost, or spread, where they meet absent entries; nothing else happens.
  std::vector<std::string> assume_finite;
  bool assume_all_finite = false;
  /// Results whose sums the code scales as OutputUse::alpha says, at the price of a multiplication: dense ones, and
  /// those at the positions of an operand; others are scaled while they are copied.
  std::vector<std::string> scaled;
  /// Dense results that the code writes into parts of larger arrays, whose elements have neighbours along the last
  /// mode of its layout only (columns of a wider row-major matrix, say; of one mode: any stride); others are copied.
  /// Input error for results that `formats` or `patterns` want sparse.
  std::vector<std::string> strided;
  /// Dense results whose memory the host lends to every run (Bindings::output): a memory limit does not count them when
  /// the plan is made. What is computed beside after all, as its layout, scalar type or strides are others or there is
  /// no such memory, is charged by the run.
  std::vector<std::string> lent_results;
  /// Operands that are not named in `changing` or `changing_patterns` may be stored otherwise where that pays within
  /// `calls`: matrices in blocks, strips of diagonals or slices of rows, sparse vectors dense. Report::explanation says
  /// so. Results stay the same but for the order of sums. The kernel stores operands that are bound later in the same
  /// way.
  bool choose_layouts = false;
  bool operator==(const CompileOptions&) const = default;
};

struct OperandUse {
  bool trusted = false;  ///< runs do not verify its arrays, as weft::trusted() tells of all that reads them
  bool changes = false;  ///< the host changes values (not coordinates) between runs; what is derived is made anew
  bool assume_finite = false;  ///< runs do not look for NaN and Inf, as CompileOptions::assume_finite tells of all runs
};

/// What a result becomes in memory of the host: alpha * result + beta * memory, as BLAS has it. With beta = 0 what was
/// there is not read, NaN or not; with alpha = 0 the result is not.
struct OutputUse {
  double alpha = 1;
  double beta = 0;
  bool operator==(const OutputUse&) const = default;
};

/// Operands by name, and host memory for results. A value; only const use is thread safe. What runs need beside these
/// is kept with the kernel: setting an operand leaves what does not depend on it as it is, a repetition allocates
/// nothing, n at once need n times the memory of one. Operands have to be there while runs over them are under way.
class Bindings {
 public:
  Bindings();
  /// Replaces what the name stood for. Borrowed arrays are verified by what reads them first, once for all copies,
  /// unless trusted.
  void set(const std::string& name, Tensor tensor, OperandUse use = {});
  /// The result is written to this dense host memory (borrow_dense), strided or not: computed in place where the kernel
  /// stores it so (the layout of the result, the same scalar type; with strides if CompileOptions::strided names it),
  /// else copied there. What lies between its elements is not touched. Runs that write to one tensor, or to copies of
  /// its handle, take turns, whatever their bindings and kernels are. That the memory is not lent twice (other tensors
  /// over it), or read by another run meanwhile, is the host's duty, and found by engines that are `checked`, in all of
  /// the process: input error, naming both. Input error in a run: memory that overlaps an operand, or other memory for
  /// results. Parts of one array whose elements are apart (other columns of one matrix) do not overlap.
  /// For a sparse result: a tensor over the pattern of the operand at whose positions it is stored
  /// (CompileOptions::patterns), or over one that Kernel::symbolic gave; its values are written. Runs then return that
  /// tensor, of which all is known that is known of its pattern: the next kernel reads it without verifying, counting
  /// or converting. Input error of code pattern_changed, naming the operand, in a run where that has another pattern;
  /// of code option, where it is named in CompileOptions::changing_patterns.
  void output(const std::string& name, Tensor memory);
  /// The same, scaled and added to what is there: in place with alpha 1, or where CompileOptions::scaled names the
  /// result; else copied. The result that a run returns is then that memory; other assignments read what the expression
  /// says, without alpha and beta. After an error the memory is undefined.
  void output(const std::string& name, Tensor memory, OutputUse use);
  /// Other factors for memory that is set. Input error where there is none.
  Expected<void> scale_output(const std::string& name, OutputUse use);
  /// Memory for what runs need beside operands and results, at least Kernel::scratch_bytes(), used instead of memory of
  /// the engine: workspaces of all threads, copies of results that threads sum, dense intermediates; not what grows
  /// (hash tables, sparse results and intermediates). Between runs the host may use it, too. In a run: resource error
  /// of code memory_limit with the bytes wanted where it is too small, input error where another run uses some of it,
  /// or it overlaps an operand or memory for results. Empty: the engine's again.
  void scratch(std::span<std::byte> memory);
  /// Other values over the pattern of an operand that is set, as many as it stores, lent like those of borrow(): what
  /// is known of the pattern, and what runs have made of it, stays. Input error where there is no such operand, or the
  /// number is another.
  Expected<void> replace_values(const std::string& name, HostValues values);
  /// That memory ran out while these, or what they are copies of, were made or set. Every run over them then says so:
  /// make them anew.
  std::optional<Error> failure() const;

 private:
  friend class Kernel;
  friend class Session;
  struct State;
  void separate();
  void put(const std::string& name, Tensor tensor, OperandUse use);
  std::shared_ptr<State> state_;
  bool failed_ = false;
};

/// Compiled code and the plan it follows. Immutable; outlives its engine.
class Kernel {
 public:
  /// Runs over the operands. Other formats than the kernel was compiled for are converted, or run in a kernel of their
  /// own where that would change what absent entries and stored zeros do to NaN and Inf; other extents and what else
  /// it assumes and does not hold run in a more general kernel that is made then, or found; the formats of results
  /// stay. The results share the memory of the run, which goes back to the bindings when the last copy dies. They share
  /// none with the host, but for CompileOptions::patterns: of index arrays that it lent with an operand and that are a
  /// result's too a copy is made, once for each pattern, or in each run where they may change in place. Errors: input
  /// (an operand is missing, of another order, or its extents do not agree with the others'), resource, cancelled (by
  /// `cancellation` or, without it, the engine's), internal.
  Expected<Tensors> run(const Bindings& bindings, const Cancellation* cancellation = nullptr) const;
  /// A run whose results own their memory, those at the positions of an operand too, and know from which patterns
  /// theirs was computed: of a sparse result C, `bindings.output("C", *same_pattern(C, values))` has later runs of this
  /// expression write values straight into memory of the host, without counting, as long as its operands have the
  /// patterns that they have now (dense ones: the same extents); of a result at the positions of an operand, as long as
  /// that has. With same_pattern(C, levels, values) the pattern itself is the host's too. Memory that is set for
  /// results is left alone. A sparse result that is computed over the levels of a layout (blocks, slices of rows) is
  /// put together beside and copied; values say there which places of blocks are entries, so that a sum that is 0 now
  /// has no place, and a run in which it is not ends with pattern_changed, naming the result. Errors as of run(), and
  /// unsupported for sparse results that are asked for in a layout: memory of the host is in plain formats.
  Expected<Tensors> symbolic(const Bindings& bindings, const Cancellation* cancellation = nullptr) const;
  /// Does now what the first run over these operands would do: verifies, converts, allocates. Errors as of run().
  Expected<void> prepare(const Bindings& bindings, const Cancellation* cancellation = nullptr) const;
  /// The bytes that Bindings::scratch() has to lend for runs over these operands. Errors as of run().
  Expected<std::uint64_t> scratch_bytes(const Bindings& bindings, const Cancellation* cancellation = nullptr) const;
  /// network, tree, schedule, loops, signature, llvm, asm as text; object as bytes. Input error for other names.
  Expected<std::string> explain(const std::string& stage) const;
  Expected<std::string> explain(Stage stage) const;
  /// Plan and machine code as bytes that Engine::load() takes, in this process or another: nothing is planned or
  /// compiled then. Nothing of the tensors is in them. Errors: resource, and internal ones of LLVM, which compiles once
  /// more. Any thread.
  Expected<std::string> save() const;
  /// The same as a file, which gets its name when it is complete. Input error where it cannot be written.
  Expected<void> save_file(const std::string& path) const;
  /// What planning and compiling told; nothing of runs. Valid as long as the kernel.
  const Report& report() const;
  /// The same with what the fastest run took, as a whole (Report::run_ms) and by nest (Report::explained), of those
  /// that were timed: one in 64, and all of kernels that take more than some 50 us. As report() where none was. Any
  /// thread.
  Expected<Report> measured() const;

 private:
  friend class Engine;
  struct State;
  Expected<Tensors> ran(const Bindings& bindings, const Cancellation* cancellation) const;
  std::shared_ptr<const State> state_;
};

class Engine {
 public:
  /// Input error for a defect in the calibration; internal if this processor cannot run generated code.
  static Expected<Engine> create(EngineOptions options = {});
  const EngineOptions& options() const;
  CacheCounters counters() const;
  /// Gives back what is kept only to be faster next time: kernels known by their text, workspaces that wait for a run,
  /// and layouts of operands, of all engines that share the memory account. What is under way is not touched.
  void give_back() const;

  /// Compiles an expression, or several assignments, for operands like these; of their values it matters only whether
  /// they are finite, and only where the plan rests on it. The names of an einsum's operands stand behind it, as in
  /// "X = ij,jk->ik A B" or "ij,jk->ik A B"; without them they are T0, T1, …. Nothing of the tensors is kept. Tensors
  /// that the text does not use are named in Report::unused, and in the error where another is missing. Errors: input
  /// with a picture of the text, unsupported, resource, internal with a reproducing text, cancelled (by `cancellation`,
  /// or the engine's).
  Expected<Kernel> compile(std::string_view text, const Tensors& operands, const CompileOptions& options = {},
                           const Cancellation* cancellation = nullptr) const;
  /// The same for operands of which only figures are known. Joins of sparse operands are then not sampled.
  Expected<Kernel> compile(std::string_view text, const std::map<std::string, Statistics>& operands,
                           const CompileOptions& options = {}, const Cancellation* cancellation = nullptr) const;
  /// The kernel that Kernel::save() has written, for operands like those it was compiled for, or others. The bytes are
  /// TRUSTED CODE: what they say is run, as what a host links; a checksum finds damage, not malice. Load only what you
  /// saved, from a place that only its user can write. Input error that says what is wrong: damaged or cut off, of
  /// another version of weft or LLVM, for other options (checked, strict_fp), for another CPU.
  Expected<Kernel> load(std::string_view bytes, const Cancellation* cancellation = nullptr) const;
  /// The same from a file, named in errors.
  Expected<Kernel> load_file(const std::string& path, const Cancellation* cancellation = nullptr) const;
  /// Compiles on a thread of the engine's own, as many at once as it has threads. `done` is called there, when the
  /// future is ready. Ends early, with the error `cancelled`, when the token is set (it is looked at while planning,
  /// and before each nest is compiled), or when the last handle of the engine dies before its turn. Borrowed tensors
  /// must last until it is ready.
  std::shared_future<Expected<Kernel>> compile_async(std::string text, Tensors operands, CompileOptions options = {},
                                                     std::function<void(const Expected<Kernel>&)> done = {},
                                                     Cancellation cancellation = {}) const;

 private:
  friend class Session;
  struct State;
  struct Kernels;
  struct Compilation;
  static Expected<Engine> made(EngineOptions options);
  std::shared_ptr<const State> state_;
};

}  // namespace weft
