#include "tests/unit/codegen/jit_run.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>

#include "runtime/dense_levels.h"
#include "tests/unit/codegen/appended_chunk.h"

namespace weft::test {

namespace {

template <class T>
void push(std::vector<unsigned char>& bytes, T value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

void push_index(std::vector<unsigned char>& bytes, std::uint64_t value, unsigned bits) {
  if (bits == 32)
    push(bytes, static_cast<std::uint32_t>(value));
  else
    push(bytes, value);
}

using Entry = std::pair<std::vector<std::uint64_t>, double>;

/// A position: the coordinates bound so far and the entries below.
struct Node {
  std::vector<std::uint64_t> coordinates;
  std::vector<Entry> entries;
};

/// How many levels, from `level` on, share one position per tuple: a nonunique level and the singletons below it.
std::size_t chain_length(const loop::Storage& storage, std::size_t level) {
  std::size_t length = 1;
  if (storage.levels[level].kind == LevelKind::compressed_nonunique)
    while (level + length < storage.levels.size() && storage.levels[level + length].kind == LevelKind::singleton)
      ++length;
  return length;
}

std::uint64_t stored_bits(double value, Scalar scalar) {
  return scalar == Scalar::f64 ? std::bit_cast<std::uint64_t>(value)
                               : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

double stored_value(const unsigned char* bytes, Scalar scalar) {
  if (scalar == Scalar::f32) {
    float value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
  }
  double value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

StoredArrays store_strided(const loop::Storage& storage, const std::vector<std::uint64_t>& extents,
                           const loop::Entries& entries) {
  // Column-major with a gap behind every column: nothing is contiguous in the last level.
  StoredArrays arrays;
  std::uint64_t size = 2;
  for (std::size_t level = 0; level < extents.size(); ++level) {
    arrays.strides.push_back(size);
    size = size * std::max<std::uint64_t>(extents[level], 1) + 1;
  }
  const unsigned bytes = scalar_bytes(storage.scalar);
  arrays.values.assign(size * bytes, 0xFF);  // NaN where nothing belongs
  std::vector<std::uint64_t> coordinates(extents.size(), 0);
  if (std::ranges::find(extents, 0u) != extents.end()) return arrays;
  for (bool more = true; more;) {
    std::uint64_t position = 0;
    for (std::size_t level = 0; level < extents.size(); ++level) position += coordinates[level] * arrays.strides[level];
    const auto found = entries.find(coordinates);
    const std::uint64_t bits = stored_bits(found == entries.end() ? 0 : found->second, storage.scalar);
    std::memcpy(arrays.values.data() + position * bytes, &bits, bytes);
    more = false;
    for (std::size_t level = extents.size(); level-- > 0 && !more;) {
      more = ++coordinates[level] < extents[level];
      if (!more) coordinates[level] = 0;
    }
  }
  return arrays;
}

/// The entries of a node by their coordinate at a level.
std::map<std::uint64_t, Node> by_coordinate(const Node& node, std::size_t level) {
  std::map<std::uint64_t, Node> children;
  for (const Entry& entry : node.entries) {
    Node& child = children.try_emplace(entry.first[level], Node{node.coordinates, {}}).first->second;
    if (child.entries.empty()) child.coordinates.push_back(entry.first[level]);
    child.entries.push_back(entry);
  }
  return children;
}

/// A word for every 64 coordinates, and a position for each of them.
void add_bitmap(const Node& node, std::size_t level, std::uint64_t extent, StoredArrays& arrays, std::vector<Node>& positions) {
  std::map<std::uint64_t, Node> children = by_coordinate(node, level);
  for (std::uint64_t begin = 0; begin < extent; begin += 64) {
    std::uint64_t word = 0;
    for (std::uint64_t coordinate = begin; coordinate < std::min(begin + 64, extent); ++coordinate) {
      if (children.contains(coordinate)) word |= std::uint64_t{1} << (coordinate - begin);
      positions.push_back(children[coordinate]);
    }
    push(arrays.crd[level], word);
  }
}

/// Slots of which every third is free at least, the first one a coordinate is looked for at told by its product with the
/// golden ratio.
void add_slots(const Node& node, std::size_t level, const Level& type, StoredArrays& arrays, std::vector<Node>& positions) {
  const std::map<std::uint64_t, Node> children = by_coordinate(node, level);
  std::uint64_t slots = children.empty() ? 0 : 1;
  unsigned bits = 0;
  for (; slots < children.size() + children.size() / 2 + 1 && slots > 0; slots *= 2) ++bits;
  std::vector<std::uint64_t> coordinates(slots, ~std::uint64_t{0});
  std::vector<Node> nodes(slots);
  for (const auto& [coordinate, child] : children) {
    std::uint64_t slot = (coordinate * 0x9E3779B97F4A7C15u) >> (64 - bits);
    while (coordinates[slot] != ~std::uint64_t{0}) slot = (slot + 1) % slots;
    coordinates[slot] = coordinate;
    nodes[slot] = child;
  }
  for (const std::uint64_t coordinate : coordinates) push_index(arrays.crd[level], coordinate, type.crd_bits);
  positions.insert(positions.end(), nodes.begin(), nodes.end());
}

/// The values in another order, every other one first, behind one that no place names.
void place_elsewhere(const loop::Storage& storage, StoredArrays& arrays) {
  const std::vector<unsigned char> values = arrays.values;
  const std::size_t bytes = scalar_bytes(storage.scalar);
  const std::size_t count = values.size() / bytes;
  arrays.values.assign((count + 1) * bytes, 0xFF);
  for (std::size_t position = 0; position < count; ++position) {
    const std::size_t element = 1 + (position % 2 == 0 ? position / 2 : (count + 1) / 2 + position / 2);
    std::memcpy(arrays.values.data() + element * bytes, values.data() + position * bytes, bytes);
    push_index(arrays.places, element + 1, storage.place_bits);
  }
}

}  // namespace

Target host_with_bits(unsigned bits) {
  Target target = host_target();
  if (bits < 512) target.cpu = bits < 256 ? "x86-64" : "x86-64-v3";
  if (bits < 512) target.features.clear();
  return target;
}

StoredArrays store(const loop::Storage& storage, const std::vector<std::uint64_t>& extents,
                   const loop::Entries& entries) {
  if (std::ranges::any_of(storage.levels, &Level::strided)) return store_strided(storage, extents, entries);
  StoredArrays arrays;
  arrays.pos.resize(storage.levels.size());
  arrays.crd.resize(storage.levels.size());
  arrays.strides.resize(storage.levels.size());
  std::vector<Node> nodes{{{}, {entries.begin(), entries.end()}}};
  for (std::size_t level = 0; level < storage.levels.size(); ++level) {
    const Level& each = storage.levels[level];
    std::vector<Node> children;
    if (each.kind == LevelKind::compressed || each.kind == LevelKind::compressed_nonunique || each.kind == LevelKind::hashed)
      push_index(arrays.pos[level], 0, each.pos_bits);
    for (const Node& node : nodes) {
      if (each.kind == LevelKind::dense) {
        std::map<std::uint64_t, Node> stored = by_coordinate(node, level);
        for (std::uint64_t coordinate = 0; coordinate < extents[level]; ++coordinate) {
          Node& child = stored[coordinate];
          if (child.entries.empty()) {
            child.coordinates = node.coordinates;
            child.coordinates.push_back(coordinate);
          }
          children.push_back(std::move(child));
        }
        continue;
      }
      if (each.kind == LevelKind::bitmap) {
        add_bitmap(node, level, extents[level], arrays, children);
        continue;
      }
      if (each.kind == LevelKind::hashed) {
        add_slots(node, level, each, arrays, children);
        push_index(arrays.pos[level], children.size(), each.pos_bits);
        continue;
      }
      const std::size_t first = children.size();
      const std::size_t before = arrays.crd[level].size();
      const auto length = static_cast<std::ptrdiff_t>(level + chain_length(storage, level));
      for (const Entry& entry : node.entries) {
        const bool same = children.size() > first && std::equal(entry.first.begin(), entry.first.begin() + length,
                                                                children.back().entries.front().first.begin());
        if (!same) {
          children.push_back({node.coordinates, {}});
          children.back().coordinates.push_back(entry.first[level]);
          push_index(arrays.crd[level], entry.first[level], each.crd_bits);
        }
        children.back().entries.push_back(entry);
      }
      if (storage.falls(level) || storage.is_unordered(level)) {
        const auto begin = children.begin() + static_cast<std::ptrdiff_t>(first);
        if (storage.falls(level)) std::reverse(begin, children.end());
        // The second half first: neither rising nor falling.
        else std::rotate(begin, begin + (children.end() - begin) / 2, children.end());
        arrays.crd[level].resize(before);
        for (std::size_t n = first; n < children.size(); ++n) push_index(arrays.crd[level], children[n].coordinates.back(), each.crd_bits);
      }
      if (each.kind != LevelKind::singleton) push_index(arrays.pos[level], children.size(), each.pos_bits);
    }
    nodes = std::move(children);
  }
  for (const Node& node : nodes) {
    const double value = node.entries.empty() ? 0 : node.entries.front().second;
    if (storage.scalar == Scalar::f64)
      push(arrays.values, value);
    else
      push(arrays.values, static_cast<float>(value));
    arrays.coordinates.push_back(node.coordinates);
  }
  if (storage.place_bits > 0) place_elsewhere(storage, arrays);
  return arrays;
}

namespace {

std::vector<std::uint64_t> extents_of(const loop::Program& program, const loop::Interpretation& values,
                                      loop::StorageId id) {
  std::vector<std::uint64_t> extents(program.storages[id].levels.size());
  for (const loop::Access& access : program.accesses)
    if (access.storage == id)
      for (std::size_t level = 0; level < extents.size(); ++level)
        extents[level] = values.extents.at(program.indices[access.indices[level]]);
  return extents;
}

/// An entry at each position that an output shares with a pattern of these entries; dense levels below are whole anyway.
loop::Entries zeros_like(const loop::Storage& output, const loop::Entries& pattern) {
  const std::size_t shared = appended_levels(output.levels);
  loop::Entries zeros;
  for (const auto& entry : pattern) {
    std::vector<std::uint64_t> coordinates(output.levels.size());
    std::copy_n(entry.first.begin(), shared, coordinates.begin());
    zeros.emplace(std::move(coordinates), 0);
  }
  return zeros;
}

}  // namespace

void PreparedRun::fill(const loop::Program& program, const loop::Interpretation& values) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t scratch_bytes = 0;
  const Signature words = signature(program);
  const auto extent = [&](loop::IndexId index) { return values.extents.at(program.indices[index]); };
  for (loop::StorageId id = 0; id < program.storages.size(); ++id) {
    const loop::Storage& storage = program.storages[id];
    if (storage.role == loop::Role::workspace || std::ranges::find(words.appended, id) != words.appended.end())
      continue;
    const std::vector<std::uint64_t> extents = extents_of(program, values, id);
    const auto pattern = loop::pattern_of(program, id);
    const auto input = values.inputs.find(pattern ? program.storages[*pattern].name : storage.name);
    loop::Entries entries = input == values.inputs.end() ? loop::Entries{} : input->second;
    if (pattern) entries = zeros_like(storage, entries);
    arrays[id] = store(storage, extents, entries);
  }
  // What the kernel begins itself holds anything: NaN.
  for (std::size_t n = 0; n < words.begun.size(); ++n) {
    worker.fresh |= std::uint64_t{1} << n;
    std::ranges::fill(arrays.at(words.begun[n]).values, 0xFF);
  }
  for (const ScratchDemand& demand : words.scratch) {
    offsets.push_back(scratch_bytes);
    std::uint64_t elements = 1;
    for (const loop::IndexId index : demand.indices) elements *= extent(index);
    const std::uint64_t bytes = (elements + demand.extra_elements) * demand.element_bytes;
    scratch_bytes += (bytes + 63) / 64 * 64;
  }
  scratch.assign(scratch_bytes + 64, 0xFF);  // NaN: a workspace must be emptied before it is read
  for (const Word& word : words.words) {
    const auto address = [](const std::vector<unsigned char>& bytes) {
      return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(bytes.data()));
    };
    switch (word.kind) {
      case Word::Kind::pos:
        frame.push_back(address(arrays.at(word.storage).pos[word.level]));
        break;
      case Word::Kind::crd:
        frame.push_back(address(arrays.at(word.storage).crd[word.level]));
        break;
      case Word::Kind::values:
        frame.push_back(address(arrays.at(word.storage).values));
        break;
      case Word::Kind::places:
        frame.push_back(address(arrays.at(word.storage).places));
        break;
      case Word::Kind::elements:
        frame.push_back(arrays.at(word.storage).values.size() / scalar_bytes(program.storages[word.storage].scalar));
        break;
      case Word::Kind::stride:
        frame.push_back(arrays.at(word.storage).strides[word.level]);
        break;
      case Word::Kind::extent:
        frame.push_back(extent(word.number));
        break;
      case Word::Kind::coefficient:
        frame.push_back(std::bit_cast<std::uint64_t>(values.coefficients.at(word.number)));
        break;
      case Word::Kind::scratch:
        frame.push_back(offsets.at(word.number));
        break;
    }
  }
  const auto start = reinterpret_cast<std::uintptr_t>(scratch.data());
  worker.scratch = scratch.data() + (64 - start % 64) % 64;
  worker.cancelled = &cancelled;
  if (program.body.size() == 1)
    if (const auto* root = std::get_if<loop::For>(&program.body[0].node)) root_extent = extent(root->index);
}

std::map<std::string, loop::Entries> PreparedRun::results(const loop::Program& program) const {
  std::map<std::string, loop::Entries> found;
  for (const auto& [id, stored] : arrays) {
    const loop::Storage& storage = program.storages[id];
    if (storage.role != loop::Role::output) continue;
    loop::Entries& entries = found[storage.name];
    const unsigned bytes = scalar_bytes(storage.scalar);
    const std::vector<std::uint32_t> told = signature(program).told;
    const auto bit = std::ranges::find(told, id) - told.begin();
    if (loop::tells_presence(program, id) && (worker.present >> bit & 1) == 0) continue;
    for (std::size_t n = 0; n < stored.coordinates.size(); ++n)
      // Gaps have fewer coordinates, or none.
      if (stored.coordinates[n].size() == storage.levels.size())
        entries[stored.coordinates[n]] = stored_value(stored.values.data() + n * bytes, storage.scalar);
  }
  for (const auto& [id, entries] : appended) found[program.storages[id].name] = entries;
  return found;
}

Expected<void> PreparedRun::run_chunk(KernelFunction* kernel, const loop::Program& program,
                                      const loop::Interpretation& values, std::uint64_t begin, std::uint64_t end,
                                      std::uint64_t calls) {
  const Signature words = signature(program);
  const bool ranged = program.body.size() == 1 && std::holds_alternative<loop::For>(program.body[0].node);
  std::vector<std::unique_ptr<AppendedChunk>> chunks;
  std::vector<AppendedOutput> outputs;
  for (const loop::StorageId id : words.appended) {
    const std::vector<std::uint64_t> extents = extents_of(program, values, id);
    chunks.push_back(std::make_unique<AppendedChunk>(program.storages[id], extents, ranged ? begin : 0,
                                                     ranged ? end - begin : extents[0]));
    chunks.back()->calls_left = calls;
    outputs.push_back(chunks.back()->output());
  }
  worker.appended = outputs.data();
  while (tables.size() < words.hashed.size() + words.sorted.size()) {
    memories.push_back(std::make_unique<HashedMemory>(Memory(), "table"));
    tables.push_back(memories.back()->table());
  }
  worker.tables = tables.data();
  worker.grow = &AppendedChunk::grow;
  const std::int32_t status = kernel(frame.data(), begin, end, &worker);
  if (status != 0)
    return internal_error("status " + std::to_string(status) + ", storage " + std::to_string(worker.failed_storage) +
                          ", level " + std::to_string(worker.failed_level) + ", value " +
                          std::to_string(worker.failed_value));
  for (std::size_t n = 0; n < chunks.size(); ++n)
    if (const std::string defect = chunks[n]->read(appended[words.appended[n]]); !defect.empty())
      return internal_error(program.storages[words.appended[n]].name + ": " + defect);
  return {};
}

namespace {

/// Where the root range is cut, its ends among them.
std::vector<std::uint64_t> ends_of_pieces(const std::vector<std::uint64_t>& cuts, std::uint64_t extent) {
  std::vector<std::uint64_t> places{0};
  for (const std::uint64_t cut : cuts) places.push_back(std::min(cut, extent));
  std::ranges::sort(places);
  places.push_back(extent);
  return places;
}

Expected<void> run_pieces(const Jit& jit, const loop::Program& program, const loop::Interpretation& values,
                          const Target& target, const CodeOptions& options, const std::vector<std::uint64_t>& cuts,
                          PreparedRun& run) {
  const Expected<ObjectCode> object = compile(program, target, options);
  if (!object) return std::unexpected(object.error());
  const Expected<LoadedCode> code = jit.load(*object, program.name);
  if (!code) return std::unexpected(code.error());
  run.fill(program, values);
  run.counts.assign(64, 0);
  run.worker.counts = run.counts.data();
  const std::vector<std::uint64_t> places = ends_of_pieces(cuts, run.root_extent);
  for (std::size_t n = 0; n + 1 < places.size(); ++n) {
    if (auto ran = run.run_chunk(code->function(), program, values, places[n], places[n + 1]); !ran) return ran;
  }
  return {};
}

}  // namespace

Expected<std::map<std::string, loop::Entries>> run_native(const Jit& jit, const loop::Program& program,
                                                          const loop::Interpretation& values, const Target& target,
                                                          const CodeOptions& options,
                                                          const std::vector<std::uint64_t>& cuts) {
  PreparedRun run;
  if (const auto ran = run_pieces(jit, program, values, target, options, cuts, run); !ran) return std::unexpected(ran.error());
  return run.results(program);
}

Expected<std::vector<std::uint64_t>> count_native(const Jit& jit, const loop::Program& program,
                                                  const loop::Interpretation& values, const Target& target,
                                                  CodeOptions options, const std::vector<std::uint64_t>& cuts) {
  PreparedRun run;
  options.count = true;
  if (const auto ran = run_pieces(jit, program, values, target, options, cuts, run); !ran) return std::unexpected(ran.error());
  return run.counts;
}

Expected<std::map<std::string, std::vector<std::uint64_t>>> symbolic_sizes(const Jit& jit, const loop::Program& program,
                                                                           const loop::Interpretation& values,
                                                                           const Target& target, CodeOptions options,
                                                                           const std::vector<std::uint64_t>& cuts) {
  options.symbolic = true;
  const Expected<ObjectCode> object = compile(program, target, options);
  if (!object) return std::unexpected(object.error());
  const Expected<LoadedCode> code = jit.load(*object, program.name);
  if (!code) return std::unexpected(code.error());
  PreparedRun run;
  run.fill(program, values);
  const Signature words = signature(program);
  for (std::size_t number = 0; number < words.hashed.size() + words.sorted.size(); ++number) {
    run.memories.push_back(std::make_unique<HashedMemory>(Memory(), "table"));
    run.tables.push_back(run.memories.back()->table());
  }
  run.worker.tables = run.tables.data();
  std::map<std::string, std::vector<std::uint64_t>> sizes;
  const std::vector<std::uint64_t> places = ends_of_pieces(cuts, run.root_extent);
  for (std::size_t n = 0; n + 1 < places.size(); ++n) {
    std::vector<std::vector<AppendedLevel>> levels;
    std::vector<AppendedOutput> outputs(words.appended.size());
    for (const loop::StorageId id : words.appended) levels.emplace_back(program.storages[id].levels.size());
    for (std::size_t output = 0; output < outputs.size(); ++output) outputs[output].levels = levels[output].data();
    run.worker.appended = outputs.data();
    const std::int32_t status = code->function()(run.frame.data(), places[n], places[n + 1], &run.worker);
    if (status != 0) return internal_error("status " + std::to_string(status));
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      std::vector<std::uint64_t>& sum = sizes[program.storages[words.appended[output]].name];
      sum.resize(levels[output].size());
      for (std::size_t level = 0; level < sum.size(); ++level) sum[level] += levels[output][level].size;
    }
  }
  return sizes;
}

}  // namespace weft::test
