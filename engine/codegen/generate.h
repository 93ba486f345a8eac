// Generator: walks a Program and writes its code. frame.cpp sets up the functions, generate.cpp walks the statements,
// loop.cpp writes the loops, drive.cpp what drives them, short_fiber.cpp those over a few entries, flat.cpp those over the
// entries of a chain, adjacent.cpp those over coordinates that follow each other, baked.cpp those over constant coordinates, begin.cpp
// what is written to memory that was not cleared,
// batch.cpp what several iterations add to one block together, hold.cpp what they keep in registers, long_sum.cpp such sums of many terms,
// vector.cpp the vector loops and rows of vectors, append.cpp the outputs that grow, workspace.cpp the workspaces that know their entries,
// with the files of their kinds of levels (hashed.cpp, bitmap.cpp, accumulator.cpp).
#pragma once

#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/codegen/codegen.h"
#include "engine/codegen/emit.h"
#include "engine/codegen/joined.h"
#include "engine/codegen/level.h"
#include "engine/codegen/structure.h"
#include "engine/loop/batch.h"
#include "engine/loop/dense_product.h"

namespace weft {

/// What is known at one point of the walk. Copied where a block opens, so that what is bound inside ends with it.
struct Scope {
  std::vector<Cursor> cursors;            ///< by access
  std::vector<llvm::Value*> coordinates;  ///< by index; 64 bits; null: not bound
  std::vector<llvm::Value*> values;       ///< by access: of inputs all of whose levels are bound
  std::vector<std::vector<llvm::Value*>> rows;  ///< by access: the vectors of a row of an input, loaded before the loops that read it
  std::vector<std::vector<Slot>> held;    ///< by storage: one scalar, or the vectors of a row; empty: in memory
  std::vector<Slot> flags;  ///< by storage: whether anything was accumulated, where that is not certain
  std::vector<bool> fresh;  ///< by storage: elements of a new entry that nothing was written to and that are written once

  Depths depths() const;
};

/// What a kernel knows of an output it appends to; everything else is with the Worker.
struct AppendedCode {
  llvm::Value* output = nullptr;  ///< AppendedOutput
  llvm::Value* levels = nullptr;
  std::uint32_t last = 0;  ///< the last compressed level
  Slot size{};             ///< its entries
  Slot room{};             ///< those that fit without growing
};

/// Some neighbouring lanes of a vector loop.
struct Piece {
  llvm::Value* offset = nullptr;  ///< of the first lane
  unsigned lanes = 1;
  llvm::Value* mask = nullptr;  ///< null: all lanes
};

class Generator {
 public:
  Generator(const loop::Program& program, const CodeOptions& options, unsigned vector_bits, llvm::Module& module);
  void run();

 private:
  using Then = llvm::function_ref<void(const Scope&)>;

  // frame.cpp
  llvm::Function* declare_body();
  void declare_entry(llvm::Function* body);
  void describe(LevelCode& code, loop::StorageId storage, std::uint32_t level) const;
  void receive(llvm::Function& body);
  llvm::Value* given_extent(const loop::IndexDefinition& definition);
  llvm::Value* sum_of(const loop::IndexDefinition& definition, const Scope& scope);
  void take_coordinate(Scope& scope, loop::IndexId index, llvm::Value* coordinate);
  void count_positions();

  // generate.cpp
  void number_loops(const loop::Block& statements);
  void count(const loop::For& each, llvm::Value* iterations);
  void store_counts();
  void tell_presence(std::span<const std::uint32_t> told, const Scope& scope);
  void block(const loop::Block& statements, const Scope& scope);
  void statement(const loop::Statement& statement, const Scope& scope);
  void with(const loop::With& statement, const Scope& scope);
  void in_blocks(const loop::With& statement, const Scope& scope);
  void in_windows(const loop::With& statement, const Scope& scope);
  void live(const loop::With& statement, const Scope& scope);
  /// A part of the range of an index, to which vector loops over it keep while it is set: so many elements, or as many as are left of an
  /// extent that is not known, where each vector has a mask.
  struct Window {
    loop::IndexId index = 0;
    llvm::Value* begin = nullptr;
    std::uint64_t most = 0;
    llvm::Value* elements = nullptr;
    std::vector<Slot> masks;
  };
  bool has_mask_registers() const { return vector_bits_ >= 512; }
  bool is_windowed(loop::IndexId index) const { return window_ && window_->index == index; }
  bool is_windowed(const JoinedLoops& loops) const { return loops.size() == 1 && is_windowed(loops[0]->index); }
  std::vector<Slot> window_masks(std::uint64_t most, llvm::Value* elements);
  std::vector<Piece> window_pieces();
  /// Vectors of a row of an index whose rows are in registers.
  std::size_t row_vectors(loop::IndexId index);
  void accumulate(const loop::Accumulate& sum, const Scope& scope);
  void add_product(const loop::Accumulate& sum, const Scope& scope);
  /// Binds the steps one after the other and goes on, once per path on which all are found. Fingers: by step, may be
  /// empty.
  struct Finger {
    loop::AccessId access;
    FingerCode code;
  };
  Finger start_finger(loop::AccessId access, const Scope& scope);
  void start_kept_fingers(const loop::For& home, const loop::Block& inside, const Scope& outside);
  /// `body`: what `then` writes; null if that is more than one block.
  void bind(std::span<const loop::Step> steps, const Scope& scope, std::span<const Finger> fingers,
            const loop::Block* body, Then then);
  void bind_start(const loop::IndexDefinition& start, std::span<const loop::Step> steps, const Scope& scope,
                  std::span<const Finger> fingers, const loop::Block* body, Then then);
  static bool finds_itself_beyond(const loop::Step& step, const StorageCode& storage, std::uint32_t level);
  void bind_within(std::span<const loop::Step> steps, const Scope& scope, std::span<const Finger> fingers,
                   const loop::Block* body, Then then);
  Cursor cursor_like(loop::StorageId pattern, loop::AccessId access, llvm::Value* coordinate, const Scope& scope);
  /// Loads the inputs that `block` multiplies and whose last level has just been bound.
  void load_values(const loop::Block& block, Scope& scope);
  llvm::Value* scalar_value(loop::AccessId access, const Scope& scope);
  llvm::Type* product_type(const loop::Accumulate& sum);
  llvm::Value* convert(llvm::Value* value, llvm::Type* type);
  /// The scalar factors of a sum: its coefficient and sign, and the factors for which `pick` holds. Null: 1.
  llvm::Value* scalar_product(const loop::Accumulate& sum, const Scope& scope, llvm::Type* type,
                              llvm::function_ref<bool(loop::AccessId)> pick);
  llvm::Value* multiply(llvm::Value* a, llvm::Value* b);
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* sum);
  void add_to_target(loop::AccessId target, llvm::Value* value, const Scope& scope);

  /// Runs `body` where all factors that may be absent are there.
  void where_present(const std::vector<loop::StorageId>& flagged, const Scope& scope, Emitter::Body body);

  // begin.cpp
  struct Begun {
    loop::StorageId storage = 0;
    bool whole = false;            ///< its products are stored
    llvm::Value* fresh = nullptr;  ///< it holds anything
    Slot next{};                   ///< the first coordinate of the root whose row may still do so; none: no coordinate is left out
  };
  void receive_fresh();
  void zero_rows(const StorageCode& storage, llvm::Value* first, llvm::Value* count);
  void begin_rows(const loop::For& each, const Scope& scope);
  void end_rows();
  bool is_stored_whole(const StorageCode& storage) const { return storage.id < whole_.size() && whole_[storage.id] != nullptr; }
  /// What a target held before: in registers, or zero where its output holds anything.
  llvm::Value* held_before(const StorageCode& storage, llvm::Type* type, llvm::function_ref<llvm::Value*()> load);

  // append.cpp
  void receive_appended();
  llvm::Value* appended_room(loop::StorageId storage, std::uint32_t level);
  llvm::Value* appended_size(loop::StorageId storage, std::uint32_t level);
  void store_appended_size(loop::StorageId storage);
  void open_fibers(std::span<const loop::Step> steps, const Scope& scope);
  void grow(loop::StorageId storage, std::uint32_t level, llvm::Value* parents, llvm::Value* entries);
  void make_room(loop::StorageId storage, std::uint32_t level, llvm::Value* entries);
  llvm::Value* appended_level(loop::StorageId storage, std::uint32_t level, std::uint64_t offset);
  void count_entry(loop::StorageId storage, std::uint32_t level, llvm::Value* position);
  void push_coordinate(loop::StorageId storage, std::uint32_t level, llvm::Value* position, llvm::Value* coordinate);
  /// What the body accumulates into the entry: whether that is certain, and whether it writes all of its block once.
  struct Filling {
    bool certain = false;
    bool whole = false;
  };
  void append_entry(loop::AccessId access, llvm::Value* coordinate, Filling filling, const Scope& scope, Then then);
  void append_leaf(loop::AccessId access, llvm::Value* coordinate, Filling filling, const Scope& scope, Then then);

  // workspace.cpp
  void clean_marks();
  void open_workspace(loop::StorageId workspace);
  void close_workspace(const loop::With& statement);
  void forget(loop::StorageId workspace, llvm::Value* position);
  void insert_entry(loop::AccessId access, llvm::Value* coordinate, bool certain, const Scope& scope, Then then);
  void list_entries(loop::StorageId workspace, bool sort);

  // bitmap.cpp
  void list_bitmap(loop::StorageId workspace);
  void forget_bitmap(loop::StorageId workspace);

  // accumulator.cpp
  void list_accumulator(loop::StorageId workspace, bool sort);
  void sort_touched(loop::StorageId workspace);
  void split_keys(loop::StorageId workspace);
  void forget_touched(loop::StorageId workspace);

  // hashed.cpp
  void open_tables();
  llvm::Value* table_member(const StorageCode& storage, std::uint64_t offset, llvm::Type* type);
  void find_values(StorageCode& storage);
  void list_table(loop::StorageId workspace, bool sort);
  llvm::Value* key_so_far(loop::AccessId access, llvm::Value* coordinate, const Scope& scope);
  void insert_hashed(loop::AccessId access, llvm::Value* coordinate, bool certain, const Scope& scope, Then then);
  llvm::Value* packed_key(loop::AccessId access, llvm::Value* coordinate, const Scope& scope);
  llvm::Value* words_of_key(loop::AccessId access, const Scope& scope);
  llvm::Value* insert_called(StorageCode& storage, llvm::Value* key);
  void append_tuple(loop::AccessId access, llvm::Value* coordinate, const Scope& scope, Then then);
  void store_table_size(const StorageCode& storage);
  void load_table_size(const StorageCode& storage);
  void locate_hashed(loop::AccessId access, llvm::Value* coordinate, const Scope& scope, Then then);

  // drain.cpp
  struct Drain;
  std::optional<Drain> find_drain(const loop::For& each, const Scope& scope) const;
  void append_table(const Drain& drain, const Scope& scope);

  // loop.cpp
  struct Driver {
    loop::AccessId access;
    Range range;
    Slot position;
    /// Where coordinates fall, and an order is asked for, the entries are gone over from the last one on: place p stands for entry
    /// mirror - p.
    llvm::Value* mirror = nullptr;
    llvm::Value* list = nullptr;  ///< pairs of coordinate and slot, of a hashed level of an input driven in order
    Slot block{};                 ///< of a level with gaps that drives alone: where the places begin that are looked at together
    Slot taken{};                 ///< bits of those that have an entry and are not yet passed
  };
  std::string header(const loop::For& each) const;
  void loop(const loop::For& each, const Scope& scope, bool cut);
  void filtered_loop(const loop::For& each, std::span<const loop::Step> steps, const Scope& scope, bool cut);
  /// The loop over one short fiber; false: this is none.
  bool walk_short_fiber(const loop::For& each, const Driver& driver, std::span<const loop::Step> rest,
                        std::span<const Finger> fingers, const Scope& scope);
  void iterate(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest,
               std::span<const Finger> fingers, const Scope& scope);
  void iteration(const loop::For& each, const loop::Block& body, std::span<const loop::Step> rest, std::span<const Finger> fingers,
                 const Scope& scope);
  void dense_loop(const loop::For& each, std::span<const loop::Step> rest, std::span<const Finger> fingers,
                  const Scope& scope, bool cut);
  void step_one_driver(const loop::For& each, const Driver& driver, llvm::Value* position,
                       std::span<const loop::Step> rest, std::span<const Finger> fingers, const Scope& scope);
  void step_merge(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest,
                  std::span<const Finger> fingers, const Scope& scope);
  void prefetch(const loop::For& each, const Driver& driver, llvm::Value* position, std::span<const loop::Step> rest,
                const Scope& scope);
  void prefetch_level(const loop::For& each, const Driver& driver, llvm::Value* position, std::span<const loop::Step> rest,
                      const Scope& scope);
  // masked_rows.cpp
  bool reads_by_masks(const loop::Block& body, loop::AccessId number, std::uint32_t bound) const;
  void fetch_masked_rows(const loop::For& each, const loop::Block& body, const Scope& scope);
  // lanes.cpp
  llvm::Value* lanes_of_rows(loop::AccessId access, const loop::For& each, const Piece& piece, std::span<const Scope> rows);
  void lane_loop(const loop::For& each, std::span<const loop::Step> rest, std::span<const Finger> fingers, const Scope& scope);
  // flat.cpp
  void find_flat_walk(const loop::For& each, const Scope& scope);
  bool walk_entries(const loop::For& each, const Scope& scope, bool cut);
  const std::vector<const loop::For*>* flat_loops(const loop::For& each) const;
  const loop::Block& walked_body(const loop::For& each) const;
  std::vector<loop::Step> walked_steps(const loop::For& each, std::span<const loop::Step> steps) const;
  void bind_driven(const loop::For& each, const Driver& driver, llvm::Value* position, Scope& here);

  // gather.cpp
  struct GatheredLoop;
  bool gathers(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest, const Scope& scope) const;
  void gather_sums(const loop::For& each, const Driver& driver, std::span<const loop::Step> rest, const Scope& scope);
  void add_gathered(const GatheredLoop& loop, llvm::Value* position, llvm::Value* mask, std::size_t number, const Scope& scope);

  // adjacent.cpp
  struct AdjacentSums;
  bool may_walk_adjacent(const loop::For& each) const;
  bool walks_adjacent(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest, const Scope& scope) const;
  std::shared_ptr<AdjacentSums> begin_adjacent_sums(const loop::For& each);
  std::shared_ptr<AdjacentSums> begin_sums_of_fibers(const loop::For& each, const Scope& scope);
  void end_adjacent_sums(AdjacentSums& begun, const Scope& scope);
  void walk_adjacent(const loop::For& each, const Driver& driver, std::span<const loop::Step> rest, const Scope& scope);

  // drive.cpp
  Driver open_driver(const loop::Step& step, bool alone, const Scope& scope, bool cut);
  llvm::Value* entry_place(const Driver& driver, llvm::Value* position);
  llvm::Value* coordinate_of(const Driver& driver, llvm::Value* position, const Scope& scope);
  Cursor entry_of(const Driver& driver, llvm::Value* position, const Scope& scope);
  bool skips_gaps(const Driver& driver, const Scope& scope) const;
  llvm::Value* entry_from(const Driver& driver, llvm::Value* position, const Scope& scope);
  bool looks_at_blocks(const Driver& driver, bool alone, const Scope& scope) const;
  unsigned block_places(const Driver& driver, const Scope& scope) const;
  llvm::Value* taken_in(const Driver& driver, llvm::Value* block, const Scope& scope);
  llvm::Value* next_taken(const Driver& driver, const Scope& scope);

  // baked.cpp
  bool walks_baked(std::span<const loop::Step> rest, const Scope& scope) const;
  void unroll(const loop::For& each, const Driver& driver, std::span<const loop::Step> rest,
              std::span<const Finger> fingers, const Scope& scope, bool cut);
  void unroll_dense(const loop::For& each, std::uint64_t extent, std::span<const loop::Step> rest,
                    std::span<const Finger> fingers, const Scope& scope, bool cut);
  void where_in_chunk(std::uint64_t coordinate, bool cut, Emitter::Body body);
  void add_sums(const loop::For& each, std::span<const Scope> sums, const Scope& scope);
  bool rest_is_dense(std::span<const loop::Step> rest, std::span<const Driver> drivers, const Scope& scope) const;
  bool skips_nothing(std::span<const loop::Step> rest, std::span<const Driver> drivers, const Scope& scope) const;
  bool always_strips(const loop::Block& statements) const;
  bool has_running_loop(const loop::Block& statements) const;

  // long_sum.cpp
  class LongSum;

  // hold.cpp
  void for_scalars(const Hold& hold, const Scope& scope, llvm::function_ref<void(llvm::Value* place)> each);
  Slot held_scalar(loop::AccessId access, const Scope& scope) const;
  void hold(const Hold& hold, bool from_zero, Scope& scope);
  void release(const Hold& hold, bool from_zero, const Scope& scope);
  void load_steady_rows(const loop::For& each, Scope& scope);
  bool sums_scalars(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest,
                    const Scope& scope) const;
  bool sums_in_register(const loop::Statement& statement, const loop::Block& body, const Scope& scope) const;
  bool stays_in(const loop::Block& body, loop::AccessId factor) const;
  bool sums_short_fibers(const loop::For& each, std::span<const loop::Step> rest, const Scope& scope) const;
  bool sums_rows(const loop::For& each, std::span<const Driver> drivers, std::span<const loop::Step> rest, const Scope& scope) const;
  /// Of a scalar reduction: an addition takes four cycles, and one can start in each.
  static constexpr std::size_t reduction_sums = 4;
  std::vector<Scope> independent_sums(const loop::For& each, std::size_t count, const Scope& scope);
  void begin_sums(const loop::For& each, std::span<const Scope> sums);
  /// Sums of a row beside the row itself, one for each iteration but the first of a loop that is written out inside.
  struct SideSums {
    const loop::For* written = nullptr;
    std::vector<Slot> row;
    std::vector<std::vector<Slot>> sums;
    loop::StorageId storage = 0;
  };
  std::optional<SideSums> find_side_sums(const loop::For& each, const Scope& scope);
  void begin_side_sums(const SideSums& side);
  void add_side_sums(const SideSums& side);

  // vector.cpp
  struct Lanes {  ///< position of lane n of an access: begin + n * stride
    llvm::Value* begin;
    llvm::Value* stride;
  };
  void vector_loop(const JoinedLoops& loops, const Scope& scope, bool cut);
  std::vector<Piece> pieces(std::uint64_t extent, std::uint64_t first = 0);
  std::vector<Slot> rows_of_zeros(const StorageCode& storage, std::span<const loop::IndexId> indices);
  loop::AccessId access_of(loop::StorageId storage) const {
    return static_cast<loop::AccessId>(std::ranges::find(program_.accesses, storage, &loop::Access::storage) - program_.accesses.begin());
  }
  std::size_t held_row(const StorageCode& storage, llvm::Value* begin);
  std::vector<Slot> row_from_memory(const StorageCode& storage, loop::IndexId index, llvm::Value* position);
  void row_to_memory(const StorageCode& storage, loop::IndexId index, llvm::Value* position,
                     const std::vector<Slot>& row);
  Lanes lanes_of(const JoinedLoops& loops, loop::AccessId access, const Scope& scope);
  void check_lanes(const StorageCode& storage, const Lanes& lanes, llvm::Value* last);
  llvm::Value* load_piece(const StorageCode& storage, const Piece& piece, const Lanes& lanes);
  llvm::Value* load_piece(llvm::Type* element, llvm::Value* base, const Piece& piece, llvm::Value* stride);
  llvm::Value* picked_piece(llvm::Type* element, llvm::Value* base, const Piece& piece, llvm::Value* stride);
  llvm::Value* row_piece(loop::AccessId access, const Lanes& lanes, const Piece& piece, std::size_t number, const Scope& scope);
  void store_piece(const StorageCode& storage, const Piece& piece, llvm::Value* position, llvm::Value* value);
  // row_parts.cpp
  bool in_parts(const StorageCode& storage, const Piece& piece) const;
  llvm::Value* load_parts(const StorageCode& storage, const Piece& piece, llvm::Value* base);
  void store_parts(const StorageCode& storage, const Piece& piece, llvm::Value* base, llvm::Value* value);
  /// One accumulate of a vector loop, with all that does not depend on the lane computed before it.
  struct VectorSum {
    const loop::Accumulate* sum = nullptr;
    llvm::Type* type = nullptr;                               ///< scalar type of the product
    llvm::Value* scalars = nullptr;                           ///< product of what does not depend on the lane; null: 1
    std::vector<std::pair<loop::AccessId, Lanes>> rows = {};  ///< the other factors
    Lanes target{};
    bool reduces = false;             ///< the target is one scalar
    std::vector<Slot> partial = {};  ///< of a reduction: which sum each vector is added to; with strict_fp the one running sum
  };
  void add_piece(const VectorSum& sum, const Piece& piece, std::size_t number, llvm::Value* before, const Scope& scope);
  void add_pieces(const VectorSum& sum, std::span<const Piece> parts, std::size_t first, const Scope& scope);
  std::vector<Piece> block_at(llvm::Value* offset);
  Piece masked_piece(llvm::Value* offset, llvm::Value* end);
  void finish_reduction(const VectorSum& sum, const Scope& scope);
  llvm::Value* convert_lanes(llvm::Value* value, llvm::Type* scalar);

  // batch.cpp
  struct Batch;
  struct BatchedRows;
  std::shared_ptr<Batch> begin_batch(const loop::For& each, const Scope& scope);
  void end_batch(const Batch* batch);
  bool lies_elsewhere(const BatchedRows& rows) const;
  void keep_rows(const Batch& batch, BatchedRows& rows, std::uint64_t elements, bool copied);
  void put_aside(Batch& batch, const Scope& scope);
  void put_row_aside(const Batch& batch, BatchedRows& rows, llvm::Value* number, llvm::Value* scalars, const Scope& scope);
  /// Writes `iterations` with a further condition, again and again while `running`, and what is added after each time.
  void in_batches(const Batch* batch, const Scope& scope, Emitter::Condition running, Emitter::Body iterations);
  llvm::Value* has_room(const Batch* batch, llvm::Value* running);
  void add_batch(const Batch& batch, const Scope& scope);
  void add_batch_to_rows(const Batch& batch, llvm::Value* first, std::uint64_t count, const Scope& scope);
  void add_batch_to_tile(const Batch& batch, llvm::Value* first, std::span<llvm::Value* const> places, std::span<const Piece> parts);
  llvm::Value* batched_begin(const Batch& batch, const BatchedRows& rows, llvm::Value* number);
  llvm::Value* batched_element(const Batch& batch, llvm::Value* number, llvm::Value* first, std::uint64_t n);
  llvm::Value* batched_piece(const Batch& batch, llvm::Value* number, const Piece& piece);
  llvm::Value* batched_stride(const BatchedRows& rows);

  // dense_tiles.cpp
  struct Matrix;
  struct Panel;
  struct DenseTiles;
  struct PanelRows {
    llvm::Value* begin;
    llvm::Value* apart;  ///< elements between them
  };
  bool dense_tiles(const loop::For& each, const Scope& scope, bool cut);
  bool fits_tiles(const loop::DenseProduct& product, const Scope& scope) const;
  llvm::Value* adds_to_target(const loop::DenseProduct& product, const loop::For& each);
  bool is_adjacent(const loop::DenseProduct& product) const;
  Matrix matrix_of(const loop::DenseProduct& product, loop::AccessId access, const Scope& scope);
  std::vector<Panel> panels_of(std::uint64_t columns);
  void multiply_dense(const loop::DenseProduct& product, const Scope& outside, bool cut, llvm::Value* adds);
  void add_blocks(DenseTiles& tiles, std::span<const Panel> panels);
  void add_panels(const DenseTiles& tiles, const Panel& panel);
  void add_panel(const DenseTiles& tiles, const Panel& panel, llvm::Value* first);
  void copy_transposed(const DenseTiles& tiles, const Piece& piece, llvm::Value* place, llvm::Value* term, llvm::Value* to,
                       std::uint64_t apart);
  void copy_panel(const DenseTiles& tiles, const Panel& panel, llvm::Value* place);
  void add_tile(const DenseTiles& tiles, const Panel& panel, const PanelRows& rows, llvm::Value* first, llvm::Value* row,
                std::uint64_t count, llvm::Value* limit);

  /// The product of the extents of the dense levels from `level` on.
  llvm::Value* block_elements(const StorageCode& storage, std::size_t level);
  const StorageCode& storage_of(loop::AccessId access) const { return storages_[program_.accesses[access].storage]; }

  const loop::Program& program_;
  const CodeOptions& options_;
  unsigned vector_bits_;
  unsigned lanes_;  ///< of a full vector: of doubles if the program has any, else of floats
  llvm::Module& module_;
  std::unique_ptr<Emitter> emit_;
  std::vector<StorageCode> storages_;
  std::optional<Window> window_;
  std::vector<bool> tiles_;                 ///< by storage: several rows in registers
  std::vector<llvm::Value*> extents_;       ///< by index
  std::vector<llvm::Value*> coefficients_;  ///< by number; null: not used
  std::map<loop::StorageId, AppendedCode> appended_;
  std::vector<Begun> begun_;
  std::vector<llvm::Value*> whole_;  ///< by storage: whether products are added to what is there, of one where they may be stored
  std::map<const loop::For*, loop::StorageId> forgetting_;  ///< loops that clear the marks of what they have read
  std::map<loop::AccessId, llvm::Value*> keys_;  ///< of hashed workspaces: memory for the key that is bound
  std::map<loop::AccessId, std::vector<llvm::Value*>> packed_keys_;  ///< likewise, as one number: by the modes that are bound
  std::map<std::pair<loop::AccessId, std::uint32_t>, llvm::Value*> lists_;  ///< tables of levels driven in order
  bool keeps_fingers_ = false;  ///< above loops further out than their own
  std::map<std::pair<const loop::For*, loop::AccessId>, Finger> kept_fingers_;  ///< of loops inside the loops that fingers are kept above
  std::map<const loop::For*, const SideSums*> side_sums_;
  std::map<const loop::For*, AdjacentSums*> adjacent_sums_;  ///< by adjacent loop: those around the loop over its fibers
  std::map<const loop::For*, Batch*> batches_;  ///< nests of loops whose products are put aside
  std::map<const loop::For*, std::vector<const loop::For*>> flat_;  ///< loops marked @flat with those inside that they walk
  std::vector<Scope>* rows_at_product_ = nullptr;  ///< of a lane_loop under way: the scope of each row where it multiplies
  std::map<const loop::For*, Slot> counters_;  ///< by loop, if asked for
  std::vector<const loop::For*> numbered_;     ///< in the order of the text
  llvm::Value* begin_ = nullptr;
  llvm::Value* end_ = nullptr;
};

/// Writes the module: `weft_kernel` and the loops it calls. Attributes are for the target, whose widest vectors have
/// `bits`.
std::unique_ptr<llvm::Module> generate(const loop::Program& program, const Target& target, unsigned bits,
                                       const CodeOptions& options, llvm::LLVMContext& context);

}  // namespace weft
