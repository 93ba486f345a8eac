#include "engine/lower/registers.h"

#include "engine/network/code_forms.h"
#include "runtime/level_traits.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace weft {
namespace {

/// Rows of unknown extents, each of which takes a window of registers.
constexpr std::ptrdiff_t windowed_rows = 3;

std::uint64_t row_bytes(const Network& network, IndexId index, Scalar scalar) {
  const std::uint64_t extent = network.indices[index].extent;
  return extent > register_row_bytes ? register_row_bytes + 1 : extent * scalar_bytes(scalar);
}

bool has(const NestAccess& access, IndexId index) { return first_level_of(access, index) < access.indices.size(); }

bool is_row_workspace(const Nest& nest, const NestAccess& access, IndexId vector) {
  const NestStorage& storage = nest.storages[access.storage];
  return storage.storage.role == loop::Role::workspace && storage.indices == std::vector<IndexId>{vector};
}

/// Rows that are in registers anyway.
std::uint64_t bytes_in_rows(const Nest& nest, const Network& network) {
  std::uint64_t bytes = 0;
  for (const NestStatement& statement : nest.statements) {
    if (statement.vector && is_row_workspace(nest, statement.target, *statement.vector)) {
      bytes += row_bytes(network, *statement.vector, nest.storages[statement.target.storage].storage.scalar);
    }
  }
  return bytes;
}

bool is_dense_inside(const Nest& nest, const NestStatement& statement, IndexId vector) {
  auto dense = [&](const NestAccess& access) {
    const std::vector<Level>& levels = nest.storages[access.storage].storage.levels;
    return std::all_of(levels.begin() + static_cast<std::ptrdiff_t>(first_level_of(access, vector)), levels.end(),
                       [](const Level& level) { return is_dense(level.kind); });
  };
  return dense(statement.target) && std::ranges::all_of(statement.factors, dense);
}

/// The outermost of the loops directly around the vector loop that the target does not have; the depth of the vector
/// loop itself if there is none.
std::size_t first_reduction(const NestStatement& statement) {
  std::size_t depth = statement.loops.size() - 1;
  while (depth > 1 && !has(statement.target, statement.loops[depth - 1])) --depth;
  return depth;
}

/// Loops over a few coordinates, all of whose accesses are dense from there on, are written out.
bool is_few(const Nest& nest, const Network& network, const NestStatement& statement, IndexId index) {
  return network.indices[index].extent <= written_iterations && is_dense_inside(nest, statement, index);
}

/// What a statement sums in registers: a row over its vector index, or a tile of several, inside so many of its loops.
struct SummedRows {
  std::size_t depth = 0;
  std::vector<IndexId> indices;  ///< of the workspace, the vector index last
};

/// How many of its loops the statement shares with the one before or after it.
std::size_t shared_depth(const Nest& nest, std::size_t number) {
  const std::size_t after = number + 1 < nest.statements.size() ? nest.statements[number + 1].fused : 0;
  return std::max<std::size_t>(nest.statements[number].fused, after);
}

/// Of a workspace over these indices, the vector index last: bytes, or vectors of 64 of them, each row beginning a new one.
struct Size {
  std::uint64_t bytes = 0;
  std::uint64_t vectors = 0;
};

Size size(const Nest& nest, const Network& network, const NestStatement& statement, const std::vector<IndexId>& indices) {
  const std::uint64_t row = row_bytes(network, indices.back(), nest.storages[statement.target.storage].storage.scalar);
  std::uint64_t rows = 1;
  for (std::size_t n = 0; n + 1 < indices.size(); ++n) rows *= network.indices[indices[n]].extent;
  return {rows * row, rows * ((row + 63) / 64)};
}

/// The rows of the loops of a few iterations that stand around the `inner` loops of the statement, directly inside loops that the target
/// does not have: with loops i, j, r, s those of r. Nothing where no such loop is around them.
std::optional<SummedRows> tile_around(const Nest& nest, const Network& network, std::size_t number, std::size_t inner) {
  const NestStatement& statement = nest.statements[number];
  SummedRows tile{inner, {*statement.vector}};
  for (; tile.depth > 1 && has(statement.target, statement.loops[tile.depth - 1]); --tile.depth) {
    const IndexId index = statement.loops[tile.depth - 1];
    if (!is_few(nest, network, statement, index)) return std::nullopt;
    tile.indices.insert(tile.indices.begin(), index);
  }
  const std::size_t written = tile.depth;
  // Loops around the tile may be those of other statements, but none of its own.
  const std::size_t outermost = std::max<std::size_t>(1, shared_depth(nest, number));
  while (tile.depth > outermost && !has(statement.target, statement.loops[tile.depth - 1])) --tile.depth;
  if (tile.depth >= written || tile.depth < outermost) return std::nullopt;
  return tile;
}

/// In Y[i,r,s] += B[i,j,r,c] * X[j,c,s] with loops i, j, r, c, s the loops over r and c are written out where they have a few iterations,
/// so that a tile over r and s stays in registers while j goes on.
SummedRows summed_rows(const Nest& nest, const Network& network, std::size_t number) {
  const NestStatement& statement = nest.statements[number];
  const SummedRows row{first_reduction(statement), {*statement.vector}};
  std::uint64_t iterations = 1;
  for (std::size_t inner = row.depth; inner + 1 < statement.loops.size(); ++inner) {
    if (!is_few(nest, network, statement, statement.loops[inner])) return row;
    iterations *= network.indices[statement.loops[inner]].extent;
  }
  const std::optional<SummedRows> tile = tile_around(nest, network, number, row.depth);
  if (!tile || tile->indices.size() == 1) return row;
  const Size taken = size(nest, network, statement, tile->indices);
  return taken.bytes <= register_row_bytes && iterations * taken.vectors <= written_parts ? *tile : row;
}

/// In y[i,r] += B[i,j,r,c] * x[j,c] with loops i, j, r, c and vectors over c what j adds is summed in whole vectors, a tile over r and c,
/// and the rows of the tile are added up once j is through.
std::optional<SummedRows> partial_sums(const Nest& nest, const Network& network, std::size_t number) {
  const NestStatement& statement = nest.statements[number];
  const std::optional<SummedRows> tile = tile_around(nest, network, number, statement.loops.size() - 1);
  return tile && 64 * size(nest, network, statement, tile->indices).vectors <= register_row_bytes ? tile : std::nullopt;
}

/// The depth of the flat walk that the statement is in: its own, or that of a statement before it that shares those loops.
std::optional<std::size_t> flat_walk_of(const Nest& nest, std::size_t number) {
  for (std::size_t first = 0; first <= number; ++first) {
    const auto& flat = nest.statements[first].flat;
    if (flat && last_sharer(nest.statements, first, *flat) >= number) return *flat;
  }
  return std::nullopt;
}

/// The statement adds a vector in a loop of its own, over dense levels, below two loops and more.
bool adds_vector(const Nest& nest, std::size_t number) {
  const NestStatement& statement = nest.statements[number];
  return statement.vector && statement.loops.size() >= 3 && statement.loops.back() == *statement.vector &&
         shared_depth(nest, number) < statement.loops.size() && is_dense_inside(nest, statement, *statement.vector);
}

/// Nothing stands between the loops of a flat walk.
bool is_inside_flat_walk(const Nest& nest, std::size_t number, std::size_t depth) {
  const auto flat = flat_walk_of(nest, number);
  return flat && depth > *flat;
}

/// What the statement is to sum in registers, if anything.
std::optional<SummedRows> wanted_rows(const Nest& nest, const Network& network, std::size_t number) {
  const NestStatement& statement = nest.statements[number];
  if (!adds_vector(nest, number)) return std::nullopt;
  std::optional<SummedRows> rows;
  if (!has(statement.target, *statement.vector)) {
    rows = partial_sums(nest, network, number);
  } else if (!is_row_workspace(nest, statement.target, *statement.vector)) {
    rows = summed_rows(nest, network, number);
    if (rows->depth + 1 == statement.loops.size()) rows.reset();
  }
  if (rows && is_inside_flat_walk(nest, number, rows->depth)) rows.reset();
  return rows;
}

/// All statements that share the loop at `depth` with this one add vectors over its index, in loops of their own.
bool adds_vectors_alone(const Nest& nest, std::size_t number, std::size_t depth) {
  std::size_t first = number;
  while (nest.statements[first].fused > depth) --first;
  const std::size_t last = last_sharer(nest.statements, first, depth);
  for (std::size_t other = first; other <= last; ++other) {
    const NestStatement& statement = nest.statements[other];
    const bool adds = statement.vector == nest.statements[number].vector && statement.loops.back() == *statement.vector;
    if (!adds || statement.drained) return false;
  }
  return true;
}

std::string name_of_sum(const Nest& nest, const std::string& target, const char* what) {
  std::set<std::string> used;
  for (const NestStorage& storage : nest.storages) used.insert(storage.storage.name);
  std::string name = target + what;
  for (int number = 2; used.contains(name); ++number) name = fmt::format("{}{}{}", target, what, number);
  return name;
}

void give_row(Nest& nest, std::size_t number, const SummedRows& rows) {
  const auto& [depth, indices] = rows;
  // Who reads the target comes after its sums; statements inside the loops of this one stay there.
  const bool is_alone = shared_depth(nest, number) <= depth;
  NestStatement& statement = nest.statements[number];

  NestStorage row;
  row.storage.name = name_of_sum(nest, nest.storages[statement.target.storage].storage.name, indices.empty() ? "_sum" : "_row");
  row.storage.role = loop::Role::workspace;
  row.storage.scalar = nest.storages[statement.target.storage].storage.scalar;
  row.storage.levels.resize(indices.size());
  row.indices = indices;
  const NestAccess access{static_cast<loop::StorageId>(nest.storages.size()), indices};

  NestStatement copy;
  copy.target = statement.target;
  copy.factors = {access};
  copy.loops.assign(statement.loops.begin(), statement.loops.begin() + static_cast<std::ptrdiff_t>(depth));
  copy.loops.insert(copy.loops.end(), indices.begin(), indices.end());
  copy.fused = static_cast<std::uint32_t>(depth);
  if (!indices.empty()) copy.vector = statement.vector;
  statement.target = access;
  nest.storages.push_back(std::move(row));
  const std::size_t end = is_alone ? number + 1 : last_sharer(nest.statements, number, depth) + 1;
  nest.statements.insert(nest.statements.begin() + static_cast<std::ptrdiff_t>(end), std::move(copy));
}

}  // namespace

Nest with_register_rows(Nest nest, const Network& network) {
  std::uint64_t in_rows = bytes_in_rows(nest, network);
  for (std::size_t number = 0; number < nest.statements.size(); ++number) {
    const std::optional<SummedRows> rows = wanted_rows(nest, network, number);
    if (!rows) continue;
    std::uint64_t more = size(nest, network, nest.statements[number], rows->indices).bytes;
    const bool blocked = rows->indices.size() == 1 && network.indices[rows->indices[0]].extent <= blocked_elements;
    if (blocked) more = std::min(more, register_row_bytes);
    if (in_rows + more > register_row_bytes) continue;
    in_rows += more;
    give_row(nest, number, *rows);
  }
  return nest;
}

Nest with_register_sums(Nest nest) {
  for (std::size_t number = 0; number < nest.statements.size(); ++number) {
    const NestStatement& statement = nest.statements[number];
    const NestStorage& target = nest.storages[statement.target.storage];
    if (!target.like || !statement.vector || statement.loops.back() != *statement.vector) continue;
    if (has(statement.target, *statement.vector)) continue;
    const std::size_t depth = statement.loops.size() - 1;
    if (depth < 1 || shared_depth(nest, number) > depth || !is_dense_inside(nest, statement, *statement.vector)) continue;
    if (has(statement.target, statement.loops[depth - 1])) give_row(nest, number, {depth, {}});
  }
  return nest;
}

Nest with_windowed_rows(Nest nest) {
  auto rows = std::ranges::count_if(nest.statements, [&](const NestStatement& statement) {
    return statement.vector && is_row_workspace(nest, statement.target, *statement.vector);
  });
  for (std::size_t number = 0; number < nest.statements.size() && rows < windowed_rows; ++number) {
    const NestStatement& statement = nest.statements[number];
    if (!adds_vector(nest, number) || !has(statement.target, *statement.vector)) continue;
    const std::size_t depth = first_reduction(statement);
    if (depth + 1 == statement.loops.size() || is_row_workspace(nest, statement.target, *statement.vector)) continue;
    if (is_inside_flat_walk(nest, number, depth) || !adds_vectors_alone(nest, number, depth)) continue;
    give_row(nest, number, {depth, {*statement.vector}});
    ++rows;
  }
  return nest;
}

}  // namespace weft
