// What CompiledNetwork and BoundNetwork hold, shared by the files that make, bind and run them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chunks.h"
#include "engine/compiled_network.h"
#include "engine/exposed.h"
#include "engine/prove/proof_book.h"
#include "engine/run_progress.h"
#include "engine/slice_parts.h"
#include "runtime/appended.h"
#include "runtime/hashed_memory.h"
#include "runtime/spread.h"

namespace weft {

struct CompiledNetwork::State {
  Network given;
  Network network;  ///< what the schedule speaks of
  Plan plan;
  std::vector<CompiledNest> nests;
  CompilePhases phases;
  Target target;
  CodeOptions code;
  Specialization grade = Specialization::profiled;
  /// By position in Schedule::tensors: operands whose values have to be finite, because a fact of a nest says so, or what one nest
  /// stores for the next is read as if nothing could tell absent from zero. Without those that the host vouches for.
  std::vector<bool> finite;
  std::vector<std::optional<Format>> made_for;  ///< likewise: the formats of operands that are not pinned, as they were planned for
  std::vector<std::uint8_t> place_bits;  ///< likewise: of operands whose values are read through places; 0: in order
  /// The kernel for a network of perhaps other extents and tensors of which something does not hold, and what does not.
  std::function<Expected<CompiledNetwork>(const Network&, const std::map<std::string, Tensor>&, const std::string&)> generalise;
  std::shared_ptr<const Exposure> exposure = nullptr;  ///< of operands and results; null: they are as the network has them
  PlainKernel plain = {};                              ///< where there is one
  std::map<std::string, Format> given_for = {};        ///< likewise: formats of operands, without pinned ones, that it was made for
  std::map<std::string, Format> pinned_layouts = {};   ///< of operands
  std::map<std::string, StatedFormat> stated = {};     ///< by the schedule's text
  std::shared_ptr<ProofBook> book = nullptr;           ///< of the pipeline

  /// An error where an operand of the kernel is not among these.
  Expected<void> all_there(const std::map<std::string, Tensor>& operands) const;
};

/// A result or intermediate of one nest that every reduction slot but the first adds into a copy of its own.
struct PrivateCopies {
  std::uint32_t tensor = 0;      ///< position in Schedule::tensors
  std::vector<Buffer> buffers;   ///< one per slot after the first
};

/// A row that a part of a slice adds to in memory of its own.
struct CarriedRow {
  std::uint32_t tensor = 0;   ///< position in Schedule::tensors
  std::uint64_t element = 0;  ///< of its values, where the row begins
  Buffer sums;
};

/// What the frame of a chunk that is part of a slice has beside what all frames have.
struct BoundPart {
  std::size_t chunk = 0;
  std::uint32_t walked = 0;  ///< position in Schedule::tensors
  PartLevels levels;
  std::vector<CarriedRow> rows;
};

/// A result or intermediate with compressed levels of its own: the chunks append, then it is assembled.
struct AppendedTarget {
  std::uint32_t tensor = 0;  ///< position in Schedule::tensors
  AppendedShape shape;
  /// What the last run left, to write into it again: its chunks, and the entries of each by level.
  std::vector<Chunk> chunks = {};
  std::vector<std::vector<std::uint64_t>> entries = {};
};

/// Hashed workspaces of one worker: their tables and where these grow.
struct WorkerTables {
  std::vector<std::unique_ptr<HashedMemory>> memories;
  std::vector<HashedTable> tables;
};

/// One nest with everything its kernel reads and writes.
struct BoundNest {
  std::vector<Chunk> chunks;
  bool ranged = true;            ///< the kernel takes a range of the root loop; else it runs once
  bool private_copies = false;   ///< chunk c belongs to slot c, with frame c
  std::vector<std::size_t> frame_of;            ///< by chunk, its frame; empty: c of chunk c with private copies, else 0
  std::vector<std::optional<BoundPart>> parts;  ///< by frame; empty: none
  /// Rows that are not finite by parts are computed over the slice as a whole (SliceCut); private copies likewise: frame 0 is that of the
  /// whole nest then, and chunk c has frame c + 1.
  bool distributes = false;
  std::vector<std::vector<std::uint64_t>> frames;
  std::vector<PrivateCopies> copies;
  std::vector<std::uint32_t> targets;  ///< schedule tensors whose values the nest adds to
  std::vector<AppendedTarget> appended;  ///< in the order of Signature::appended
  /// The nest reads what an earlier one appends to: chunks and frames are made when that is assembled.
  bool late = false;
  std::vector<std::uint32_t> read_last;  ///< appended intermediates that no later nest reads: freed after this one
  std::uint64_t scratch_bytes = 0;     ///< per worker
  /// Of what threads can share, on one of them, as predicted: all, clearing included; of a single chunk the clearing; or nothing.
  double shared_ns = 0;
  std::vector<WorkerTables> tables;    ///< per worker, of the only nest: kept from one run to the next
};

/// Which arrays a tensor was bound to, by the numbers of what is known of them (PatternFacts, ValueFacts).
struct BoundArrays {
  std::uint64_t pattern = 0;
  std::uint64_t values = 0;
  std::uint64_t version = 0;
  bool operator==(const BoundArrays&) const = default;
};

/// Where the values of an operand's entries stand, for kernels that read them there.
struct BoundPlaces {
  Buffer numbers;      ///< by position 1 + the element of the values; empty: they are read in order
  unsigned bits = 0;
};

/// Tensors of the schedule that are others than before.
struct Replaced {
  std::vector<bool> patterns, values;  ///< by position in Schedule::tensors
  bool any_pattern = false, any_values = false;
};

/// Written to by every run, on lines of its own.
struct alignas(spread_bytes) BoundNetwork::State {
  std::shared_ptr<const CompiledNetwork::State> kernel;
  Resources resources;
  std::vector<Tensor> tensors;  ///< by position in Schedule::tensors
  std::vector<BoundArrays> arrays;  ///< likewise: of operands as they were given, and of the host's memory for results
  /// Likewise: what tells the patterns of operands apart, whatever layouts were made of them; 0: all elements are there.
  std::vector<std::uint64_t> given_patterns;
  bool whole = true;                ///< false: let go of layouts
  std::vector<BoundArrays> laid;    ///< likewise: of operands as the kernel reads them
  std::vector<BoundPlaces> places;  ///< likewise
  /// Likewise: operands in another format than was planned for, of which the kernel reads a copy with more entries (an absent one is a
  /// stored zero in dense levels) or with fewer.
  std::vector<bool> other_entries;
  /// Likewise: operands with dense levels of which the kernel reads a copy without zeros, so that values decide which coordinates it has.
  std::vector<bool> from_values;
  /// Likewise: operands that are layouts of given ones (HostMemory::from_values), whose coordinates values decide.
  std::vector<bool> made_from_values;
  /// By position, without values: operands as they were given that lend results their positions, where the kernel reads a copy with the
  /// same entries in the same order.
  std::map<std::uint32_t, Tensor> lenders;
  bool general = false;  ///< bound to a kernel that took the place of the one that was asked for
  LayoutCounters layouts;
  std::vector<BoundNest> nests;
  std::vector<Buffer> scratch;  ///< one per worker
  std::span<std::byte> lent;    ///< by the host, for these, private copies and dense intermediates
  std::uint64_t lent_wanted = 0;  ///< of it, or of what there should be
  bool binding = false;           ///< what is made now may lie there
  std::vector<std::vector<std::uint64_t>> counts;  ///< by nest and loop
  std::map<std::uint32_t, Tensor> delivered;  ///< of the last run: results in the layout asked for, by position
  bool writes_to_host = false;  ///< the host gave memory for results
  std::map<std::string, std::string> patterns;  ///< results with the pattern of an operand as it was given, by name
  std::map<std::uint32_t, HostOutput> written_to;  ///< memory of the host for results, by position: computed there or copied
  bool handed_over = false;                        ///< that is done for the last run
  std::vector<Scaling> asked;   ///< by position in Schedule::tensors: of results in memory of the host
  std::vector<Scaling> scaled;  ///< likewise: as far as kernels do it, who add to what is there, times beta
  std::shared_ptr<const CompiledNetwork::State> pinned_by;    ///< the kernel that was bound, if operands are stored in pinned layouts first
  std::shared_ptr<const CompiledNetwork::State> over_levels;  ///< the kernel that was bound, if it has an exposure
  ExposedOperands exposed_operands;                           ///< as it reads them
  std::map<std::string, Format> given_formats;                ///< of the operands it was bound to
  std::map<std::string, Tensor> given_results;                ///< of the last run: as the given network has them
  std::map<std::string, HostOutput> exposed_outputs;          ///< memory of the host that is no result's as it is computed
  std::map<std::string, Tensor> operands;  ///< where some change and are not lent: as the host gave them
  HostMemory host;                         ///< likewise
  std::set<std::uint32_t> absent;  ///< of this run: intermediates of order 0 into which nothing was accumulated, by position
  bool deterministic = false;
  double convert_ms = 0;
  bool timed = false;
  std::vector<double> nest_ms;  ///< of the last run, where it is timed

  /// Lets go of what can be had again from operands: layouts that are kept with these.
  void let_go();
  /// Memory for something that runs write to: of the host's, if it has lent some and this is not made within a run; where that
  /// is too small, none, which ends the binding.
  Expected<Buffer> workspace(std::uint64_t bytes, std::string_view what);
  Expected<void> lent_suffices() const;
  /// A result or intermediate as a run finds it, dense intermediates in the host's memory where it has lent some.
  Expected<Tensor> made_or_lent(std::uint32_t number);
  /// Takes the operands, laid out as the schedule says; tells which are others than before.
  Expected<Replaced> take_operands(const std::map<std::string, Tensor>& given, const HostMemory& from);
  /// Takes an operand laid out as the schedule says, its values in order or through places. `same`: as it was bound before.
  Expected<void> lay_out(std::uint32_t number, const Tensor& tensor, bool same, const HostMemory& from);
  /// Tells which results have the pattern of an operand as it was given.
  void note_patterns();
  /// Whether a result at the positions of an operand, both of exposed levels perhaps, is handed over with the operand's pattern.
  bool is_handed_over_like(const ScheduledTensor& result, const std::string& operand) const;
  /// Whether the memory suits the result of that name, and the patterns of the operands that are bound.
  Expected<void> check_output(const std::string& name, const Tensor& memory, const Network& given) const;
  Expected<void> check_pattern(const ScheduledTensor& result, const Tensor& memory, const Network& given) const;
  /// The same of results that are computed over the levels of layouts, once these are bound.
  Expected<void> check_exposed_outputs() const;
  /// Whether the result has all levels of the operand that it is like.
  bool has_whole_pattern(const ScheduledTensor& result) const;
  /// Such a result at the positions of an operand that the kernel reads as it was given, or through a copy that keeps them.
  bool has_pattern_as_given(const ScheduledTensor& result) const;
  /// The operand whose positions such a result is handed over with, as it was given, where the kernel reads a copy; null where it reads
  /// another one, or what is bound now is stored in another way than was planned for.
  const Tensor* lender_of(const ScheduledTensor& result) const;
  /// Whether kernels can compute a result right where, and as, the host wants it.
  bool computes_in(const HostOutput& output, std::uint32_t number) const;
  /// What a run appends a target into: `left` by the last one, or made for as many entries as its pattern is known to have, with
  /// values in the host's memory where it wants them there; else nothing.
  Expected<std::optional<Tensor>> placed(AppendedTarget& target, const std::vector<Chunk>& chunks, std::optional<Tensor> left);
  /// Whether nothing but patterns decides where a result has entries, or the layouts that values decide are those of which the memory's
  /// pattern was computed.
  bool knows_pattern(const Tensor& memory) const;
  /// Writes a result into memory of the host unless it was computed there. Input error where the pattern is another one.
  Expected<void> write_out(const ScheduledTensor& result, const HostOutput& output, const Tensor& computed) const;
  /// A result in the host's memory, or in its own: where that is another than before it is told in `replaced`.
  Expected<void> take_outputs(const HostMemory& from, Replaced& replaced);
  /// Writes the words of frames that tell of tensors that were replaced.
  void refill_frames(std::size_t number, const Replaced& replaced);

  /// Chunks, private copies and frames of a nest whose tensors are all there.
  Expected<void> bind_chunks(std::size_t number);
  /// At most `most` chunks of a nest that threads share, cut where the tensor that is walked may be cut: slices that are too long for
  /// one thread, which makes them more, or slots that are uneven.
  std::vector<Chunk> cut_parts(std::vector<Chunk> chunks, std::size_t most, const CompiledNest& nest, const Tensor& walked,
                               const SliceCut& cut, double serial_ns) const;
  /// Frames of the chunks that are parts, and their memory.
  Expected<void> bind_parts(std::size_t number, const SliceCut& cut, std::uint32_t walked);
  /// Of what a dense result has for a coordinate of its first level.
  std::uint64_t row_bytes(std::uint32_t tensor) const;
  /// A frame of a nest: that of a slot, which adds into its own copies, or of a part.
  std::vector<std::uint64_t> frame(std::size_t number, std::size_t frame) const;
  /// Memory that a frame has instead of the values of tensors, by position in Schedule::tensors: where element 0 would be.
  std::map<std::uint32_t, const void*> replaced_values(const BoundNest& nest, std::size_t frame) const;

  /// Zeroes the dense tensors a nest writes, or scales what is added to, on all threads or on the caller's alone; nothing of what
  /// the kernel begins itself, nor private copies, which the thread that adds to one clears.
  void clear(std::size_t number, bool threaded);
  /// Worker::fresh of a nest that is run now.
  std::uint64_t begun(const CompiledNest& nest) const;
  /// Frees what the nest, or an earlier run of it, appended to a tensor.
  void release(std::uint32_t tensor);
  /// Takes what the last run appended to a target, if it was made in the same chunks; frees it else.
  std::optional<Tensor> taken(const AppendedTarget& target, const std::vector<Chunk>& chunks);
  /// Workspaces are clean between chunks, but not where a kernel stopped halfway.
  void clean_scratch();
  /// Whether the nest reads what is absent: then it computes nothing, for it is one product.
  bool is_annihilated(const CompiledNest& nest) const;
  /// Notes which outputs of order 0 are absent.
  void note_absent(const CompiledNest& nest, std::uint64_t present);
  /// The nest's outputs without an entry, once dense ones are cleared.
  Expected<void> leave_empty(std::size_t number);
  /// Runs the counting kernel of a nest and makes those results that are not there with exactly the room they need.
  Expected<void> count_entries(std::size_t number, bool threaded, std::vector<Worker>& workers, const std::vector<WorkerTables>& tables,
                               std::vector<std::optional<Tensor>>& results);
  /// Adds what parts of slices have added to rows of their own to the results, or computes these rows anew; private copies likewise.
  KernelStatus add_parts(std::size_t number, bool threaded, Worker& worker);
  KernelStatus add_copies(std::size_t number, bool threaded, Worker& worker);
  /// Whether a kernel begins a result itself that holds anything, by the bits of begun().
  bool begins(const CompiledNest& nest, std::uint64_t fresh, std::uint32_t tensor) const;
  /// Runs every chunk, on all threads or one after the other, sums private copies, assembles what was appended.
  Expected<void> run_nest(std::size_t number, bool threaded, RunProgress& progress);
  /// "computing A": what a run is told to do.
  std::string what_runs() const;
};

/// Of a target with more bytes each thread clears a piece.
constexpr std::uint64_t cleared_alone_bytes = 1024 * 1024;

/// A chunk that takes less is not worth starting.
constexpr double least_chunk_ns = 4'000;

/// The input whose entries the root loop of a nest walks: the largest sparse one bound there by its first level.
std::optional<loop::StorageId> walked_storage(const LoweredNest& nest, const std::vector<Tensor>& tensors);

BoundArrays arrays_of(const Tensor& tensor);

/// A result or intermediate as a run finds it: of one with compressed levels of its own there is nothing yet.
Expected<Tensor> fresh(const ScheduledTensor& scheduled, const Network& network, const std::vector<Tensor>& tensors,
                       const Resources& resources);

bool used_by_nests(const std::vector<CompiledNest>& nests, std::uint32_t tensor);

/// All stored values in their order, as dense memory.
Tensor as_row(const Tensor& tensor);

/// Whether two tensors of a format have their entries at the same coordinates.
bool same_coordinates(const Tensor& one, const Tensor& other);

/// A result with the pattern of the memory for it. Which entries it has where places of blocks are left out, values say: those that are 0
/// need no place in the memory, and what is in the memory alone is 0. Input error of code pattern_changed for others.
Expected<Tensor> over_pattern(const Tensor& result, const Tensor& memory, const Resources& resources, const std::string& name);

std::unexpected<Error> no_result(const std::string& name);
std::unexpected<Error> stored_otherwise(const std::string& name, const Format& memory, const Format& result);

/// All that is stored, times a factor; as scale_dense().
void scale_values(const Tensor& tensor, double factor, const Threads* threads);

/// Whether a nest reads a tensor of the schedule.
bool reads(const CompiledNest& nest, std::uint32_t tensor);

/// Where the workspaces of a nest lie in the memory of a worker.
struct ScratchLayout {
  std::vector<std::uint64_t> offsets;  ///< by scratch demand of the signature
  std::uint64_t bytes = 0;
};
ScratchLayout scratch_layout(const CompiledNest& nest, const Network& network);

/// The outputs of a nest that its chunks append to, as the nests that read them expect them.
std::vector<AppendedTarget> appended_targets(const CompiledNest& nest, const std::vector<CompiledNest>& nests,
                                             const Schedule& schedule, const Network& network);

}  // namespace weft
