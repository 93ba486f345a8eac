// What code generation must know about the shape of a Program before it writes any code: which loops become vector
// code, which workspaces live in registers, which targets are kept in registers across a loop. Pure functions of the
// Program (and of how many levels are bound where a loop stands), without LLVM: the Signature depends on them too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/loop/program.h"
#include "engine/network/code_forms.h"
#include "runtime/level_traits.h"

namespace weft {

/// Of a row whose extent is not known: so many vectors at a time.
constexpr std::uint64_t window_vectors = 4;
/// Vectors of rows in windows that are in registers together at most, which leaves some for what is added to them.
constexpr std::uint64_t row_registers(unsigned vector_bits) { return vector_bits >= 512 ? 16 : 8; }

/// How many levels of each access are bound at some point of a Program.
using Depths = std::vector<std::uint32_t>;

/// A target that a loop accumulates into without binding any of its levels but, at most, the last one in an unrolled
/// vector loop, or one that is written out: it is added up in registers across the loop.
struct Hold {
  loop::AccessId access = 0;
  std::optional<loop::IndexId> row;  ///< the index of the vector loops inside; none: the target is one scalar
  bool scalars = false;              ///< loops over that index are written out instead, each element a scalar
  bool operator==(const Hold&) const = default;
};

std::optional<std::uint64_t> known_extent(const loop::Program& program, loop::IndexId index);
bool is_full(const loop::Program& program, loop::StorageId storage, std::uint32_t level);
/// Extent known and small: vector loops over the index are unrolled.
bool is_unrolled(const loop::Program& program, loop::IndexId index);

bool contains_loop(const loop::Block& block);

/// The loop is marked @vector and has the form vector code is written for: nothing but dense steps and accumulates,
/// every target contiguous in the index or independent of it, no target read in the same body.
bool is_vector_loop(const loop::Program& program, const loop::For& each);

/// The fact that coordinates of the storage's last level follow each other; null: there is none.
const loop::AdjacentFact* adjacent_fact(const loop::Program& program, loop::StorageId storage);
/// The loop is driven by the last level of one input, of whose fibers the coordinates follow each other by a fact, and every other access
/// used inside is dense along it or independent of it: nothing but accumulates, and no target is read.
bool is_adjacent_loop(const loop::Program& program, const loop::For& each);

/// A loop over values of an input, side by side, whose coordinates nothing asks for.
bool adds_up_values(const loop::Program& program, const loop::For& each);

/// A loop over a few coordinates, known by a fact, around vector loops and accumulates alone: its iterations are written one after the
/// other.
bool is_written_out(const loop::Program& program, const loop::For& each);
/// Of these, one over rows that have one entry each, whose products are added to a dense row side by side.
bool is_lane_loop(const loop::Program& program, const loop::For& each);
/// Whether an access in such a loop finds values of neighbouring rows side by side: all above the rows' level is bound outside, and behind
/// it every position has one entry. Not B(j,i) beside A(i,j), which is at another j in every row.
bool stands_side_by_side(const loop::Program& program, loop::AccessId access, const loop::For& lane_loop);

/// The workspace needs no memory: it is a scalar, one row of small known extent touched by vector loops only, several such rows, one for
/// each iteration of loops that are written out, or a longer row that is gone through in blocks.
bool in_registers(const loop::Program& program, loop::StorageId storage);
/// One row that is longer than the registers, or of an extent that is not known, of which blocks are in registers: all that stands in its
/// `with` is added in vector loops over its index, so that the `with` may run once for each block of it.
bool is_blocked_row(const loop::Program& program, loop::StorageId storage);
/// One of an extent that is not known, of which the part in registers is a window.
bool is_windowed_row(const loop::Program& program, loop::StorageId storage);
/// Several rows that are in registers whole.
bool is_register_tile(const loop::Program& program, loop::StorageId storage);

/// True if some iterations of the loop, or of one inside, may reach no accumulate. `own` are its steps but those that are taken before it,
/// and `depths` is the state between the two.
bool may_skip(const loop::Program& program, const loop::For& each, std::span<const loop::Step> own, const Depths& depths);

/// The targets to keep in registers across the loop; `own` and `depths` likewise.
std::vector<Hold> holds(const loop::Program& program, const loop::For& each, std::span<const loop::Step> own, const Depths& depths);

/// A row of an input that does not change while the loop runs: all levels of the access but the last are bound before it, where `depths` is
/// the state before its steps, and unrolled vector loops inside go through the last one.
struct SteadyRow {
  loop::AccessId access = 0;
  loop::IndexId row = 0;
};
std::vector<SteadyRow> steady_rows(const loop::Program& program, const loop::For& each, const Depths& depths);

/// The loop that reads the workspace of the `with` last, if it alone visits all its entries, once, and nothing looks
/// entries up under it: what it has read it may forget. Null: there is none.
const loop::For* last_drain(const loop::Program& program, const loop::With& live);

/// The body is one loop: the kernel takes a range of it.
bool is_ranged(const loop::Program& program);
/// The steps with those on entries that are made, an append or an insert into a sparse level and all others of their
/// accesses, behind those that may leave something out.
std::vector<loop::Step> makers_last(const loop::Program& program, std::span<const loop::Step> steps,
                                    const Depths& depths);

/// The level a step binds, given how many are bound already.
const Level& next_level(const loop::Program& program, loop::AccessId access, const Depths& depths);

/// Chain levels, a key of several modes among them, have a range of entries per coordinate unless they are the last of their chain.
bool is_run_level(const loop::Storage& storage, std::uint32_t level);

/// An output with compressed levels of its own, written by appending: without the pattern of an operand.
bool is_appended(const loop::Program& program, loop::StorageId storage);
/// How many levels of a workspace, from the first on, are the key of an accumulator or hash table, or a bitmap above dense
/// levels, which is read like one; 0: it has none.
std::uint32_t key_levels(const loop::Storage& storage);
bool is_hashed(const loop::Storage& storage);
/// No statement looks keys of the workspace up, and those that read them do so in order.
bool is_read_in_order_only(const loop::Program& program, loop::StorageId storage);
/// Bytes of an element of the list of touched coordinates, which are linear in the key.
std::uint32_t touched_bytes(const loop::Storage& storage);

/// Every access the block accumulates into, and every access it multiplies; each once.
struct BlockUses {
  std::vector<loop::AccessId> targets;
  std::vector<loop::AccessId> factors;
  std::vector<loop::StorageId> workspaces;  ///< whose With is inside
};
BlockUses uses(const loop::Block& block);
/// The statement accumulates into the storage and reads nothing of it.
bool only_adds_to(const loop::Program& program, const loop::Statement& statement, loop::StorageId storage);
/// Whether all that the block accumulates into is the storage, or a workspace that lives in the block.
bool accumulates_only_into(const loop::Program& program, const loop::Block& block, loop::StorageId storage);

}  // namespace weft
