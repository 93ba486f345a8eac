// Binding a compiled network: operands checked and converted, results, intermediates, copies and scratch allocated, frames filled.
#include <fmt/format.h>

#include <algorithm>

#include "engine/assumptions.h"
#include "engine/compiled_state.h"
#include "engine/loop/dense_product.h"
#include "engine/network/extents.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/widths.h"
#include "runtime/elapsed.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/layouts.h"
#include "runtime/level_traits.h"
#include "runtime/sparse_levels.h"
#include "runtime/succession.h"
#include "runtime/tensor_facts.h"
#include "runtime/widths.h"

namespace weft {
namespace {

// Enough chunks that a worker which starts late still finds work, few enough and long enough that starting them costs nothing
// (a chunk takes 0.15 us to start and disturbs what others have in their caches).
constexpr std::size_t chunks_per_thread = 32;
constexpr double least_chunks = 4;
// Of a dense product: every chunk copies the other matrix (codegen/dense_tiles.cpp), which few rows do not pay for.
constexpr std::uint64_t usual_product_rows = 96;
constexpr std::uint64_t least_product_rows = 24;
// From here on one thread takes several chunks too, between which it tells how far it is: each about as long, if there are coordinates.
constexpr double told_nanoseconds = 50e6;
constexpr double most_told = 1024;

/// What is bound and no operand of the kernel may serve another kernel; where one is missing it may be that, misspelt.
std::unexpected<Error> missing_operand(const std::string& name, const Network& network,
                                       const std::map<std::string, Tensor>& operands) {
  std::vector<std::string> others;
  for (const auto& [other, tensor] : operands) {
    if (std::ranges::find(network.tensors, other, &TensorDeclaration::name) == network.tensors.end()) others.push_back(other);
  }
  return fail(ErrorKind::input, ErrorCode::missing_operand, name,
              fmt::format("operand {} is missing{}{}", name, others.empty() ? "" : "; bound, but no operand of the kernel: ",
                          fmt::join(others, ", ")));
}

bool goes_over_rows_of_product(const loop::Program& program, const loop::For& root) {
  const auto product = loop::dense_product(program, root, std::vector<std::uint32_t>(program.accesses.size(), 0));
  return product && product->row == &root;
}

/// A few for each thread, while they have the least rows, and more only if they have the usual ones.
std::size_t product_chunks(std::uint64_t rows, std::uint64_t threads) {
  return std::max({threads, rows / usual_product_rows, std::min(2 * threads, rows / least_product_rows)});
}

/// Chunks of an appended result are opened and put together by one thread, which may take a fifth of the time of all.
std::size_t appended_chunks(double serial_ns, unsigned threads) {
  constexpr double alone_ns = 300;  // a chunk
  return std::max<std::size_t>(std::size_t{2} * threads, static_cast<std::size_t>(serial_ns / threads / 5 / alone_ns));
}

/// Private copies of the nest's targets, one per chunk after the first, kept from the run before where there are as many.
/// A limit that binds only through them lowers their number and that of the chunks, not the schedule.
template <class Allocate>
Expected<std::size_t> allocate_copies(BoundNest& bound, const CompiledNest& nest, const loop::For& root, std::size_t slots,
                                      const Schedule& schedule, const std::vector<Tensor>& tensors,
                                      const Allocate& allocate, bool deterministic) {
  if (!bound.copies.empty() && bound.copies.front().buffers.size() + 1 == slots) return slots;
  bound.copies.clear();
  if (slots <= 1) return slots;
  for (const loop::ParallelTarget& target : root.marks.parallel) {
    if (target.reduction != loop::Reduction::private_copies) continue;
    PrivateCopies copies{nest.nest.tensors[target.storage], {}};
    const Buffer& shared = tensors[copies.tensor].values();
    while (copies.buffers.size() + 1 < slots) {
      auto buffer = allocate(shared.size_bytes(), fmt::format("private copy of {}", schedule.tensors[copies.tensor].name));
      if (!buffer && deterministic) return std::unexpected(buffer.error());
      if (!buffer) slots = copies.buffers.size() + 1;
      if (buffer) copies.buffers.push_back(*buffer);
    }
    bound.copies.push_back(std::move(copies));
  }
  for (PrivateCopies& copies : bound.copies) copies.buffers.resize(slots - 1);
  return slots;
}

bool appended(const ScheduledTensor& tensor) {
  return tensor.role != TensorRole::operand && !tensor.like && !tensor.format.all_dense();
}

BoundNest bound_nest(std::size_t number, const std::vector<CompiledNest>& nests, const Schedule& schedule,
                     const Network& network) {
  BoundNest bound;
  const CompiledNest& nest = nests[number];
  const std::vector<ScheduledTensor>& scheduled = schedule.tensors;
  const loop::Program& program = nest.nest.program;
  for (std::size_t storage = 0; storage < program.storages.size(); ++storage) {
    const loop::Role role = program.storages[storage].role;
    if (role == loop::Role::workspace) continue;
    const std::uint32_t tensor = nest.nest.tensors[storage];
    if (role == loop::Role::output && !appended(scheduled[tensor])) bound.targets.push_back(tensor);
    if (role != loop::Role::input || !appended(scheduled[tensor])) continue;
    bound.late = true;
    // After the last nest nothing else is made, and a repetition writes into what is there.
    const bool last = number + 1 == nests.size();
    const bool read_again = std::any_of(nests.begin() + static_cast<std::ptrdiff_t>(number) + 1, nests.end(),
                                        [&](const CompiledNest& later) { return reads(later, tensor); });
    if (scheduled[tensor].role == TensorRole::intermediate && !last && !read_again) bound.read_last.push_back(tensor);
  }
  bound.ranged = root_loop(program) != nullptr;
  bound.appended = appended_targets(nest, nests, schedule, network);
  bound.scratch_bytes = scratch_layout(nest, network).bytes;
  return bound;
}

/// Clearing on one thread, as predicted: at the rate of a third cache.
double clearing_ns(std::uint64_t bytes) {
  constexpr double cleared_per_ns = 40;
  return static_cast<double>(bytes) / cleared_per_ns;
}

/// The loops of a nest on one thread, as predicted.
double loops_ns(const CompiledNest& nest, const Cost& cost) {
  std::uint32_t first = ~0u;
  std::uint32_t last = 0;
  for (const LoopOrigin& origin : nest.nest.loops) {
    if (origin.statement == ~0u) continue;
    first = std::min(first, origin.statement);
    last = std::max(last, origin.statement);
  }
  double ns = 0;
  for (const LoopCost& loop : cost.loops) {
    if (loop.statement >= first && loop.statement <= last) ns += loop.ns;
  }
  return ns;
}

/// Values that stand elsewhere, by position: for kernels that were not made for places.
Expected<Tensor> in_order(const Tensor& tensor, const Resources& resources, const std::string& name) {
  const PatternFacts& facts = *TensorParts::pattern_facts(tensor);
  const unsigned bytes = scalar_bytes(tensor.format().scalar);
  auto values = Buffer::allocate(tensor.nnz() * bytes, resources.memory, name);
  if (!values) return std::unexpected(values.error());
  const Indices places(facts.places, facts.place_bits);
  with_width(8 * bytes, [&]<class T>(T) {  // moved as bits, whatever the scalar is
    const auto given = tensor.values().as<const T>();
    const auto to = values->as<T>();
    for (std::uint64_t position = 0; position < places.size(); ++position) to[position] = given[places[position] - 1];
  });
  const Tensor pattern = TensorParts::pattern_alone(tensor);
  return TensorParts::with_values(pattern, std::move(*values), 0, tensor.format().scalar);
}

/// Places of another width than the kernel reads.
std::optional<std::string> other_places(const std::vector<std::uint8_t>& bits, const Schedule& schedule,
                                        const std::vector<BoundPlaces>& places) {
  for (std::size_t number = 0; number < places.size(); ++number) {
    if (bits[number] == 0 || bits[number] == places[number].bits) continue;
    return fmt::format("values of operand {} are counted with {} bits, the kernel was made for {}", schedule.tensors[number].name,
                       places[number].bits, bits[number]);
  }
  return std::nullopt;
}

}  // namespace

std::optional<loop::StorageId> walked_storage(const LoweredNest& nest, const std::vector<Tensor>& tensors) {
  const loop::For* root = root_loop(nest.program);
  const Tensor* largest = nullptr;
  std::optional<loop::StorageId> walked;
  for (const loop::Step& step : root != nullptr ? root->steps : std::vector<loop::Step>()) {
    const loop::StorageId storage = nest.program.accesses[step.access].storage;
    if (nest.program.storages[storage].role != loop::Role::input) continue;
    const Tensor& tensor = tensors[nest.tensors[storage]];
    if (tensor.order() == 0 || tensor.format().all_dense()) continue;
    // Chunks are cut where coordinates rise.
    if (nest.program.storages[storage].falls(0) || nest.program.storages[storage].is_unordered(0)) continue;
    if (largest != nullptr && tensor.nnz() <= largest->nnz()) continue;
    largest = &tensor;
    walked = storage;
  }
  return walked;
}

bool reads(const CompiledNest& nest, std::uint32_t tensor) {
  for (std::size_t storage = 0; storage < nest.nest.tensors.size(); ++storage) {
    if (nest.nest.program.storages[storage].role == loop::Role::input && nest.nest.tensors[storage] == tensor) return true;
  }
  return false;
}

std::vector<AppendedTarget> appended_targets(const CompiledNest& nest, const std::vector<CompiledNest>& nests,
                                             const Schedule& schedule, const Network& network) {
  std::vector<AppendedTarget> targets;
  for (const std::uint32_t storage : nest.signature.appended) {
    const std::uint32_t number = nest.nest.tensors[nest.canonical.storages[storage]];
    const ScheduledTensor& scheduled = schedule.tensors[number];
    AppendedShape shape{scheduled.format, extents_of(scheduled, network), scheduled.name};
    // Widths are the programs': of crd those that this kernel writes, of pos those that a later one reads.
    shape.format.levels = nest.canonical.program.storages[storage].levels;
    for (std::size_t level = 0; level < shape.format.order(); ++level)
      shape.format.levels[level].pos_bits = scheduled.format.levels[level].pos_bits;
    for (const CompiledNest& reader : nests) {
      const loop::Program& program = reader.nest.program;
      for (std::size_t read = 0; read < program.storages.size(); ++read) {
        if (program.storages[read].role == loop::Role::input && reader.nest.tensors[read] == number)
          shape.format.levels = program.storages[read].levels;
      }
    }
    targets.push_back({number, std::move(shape)});
  }
  return targets;
}

Expected<void> BoundNetwork::State::bind_chunks(std::size_t number) {
  BoundNest& bound = nests[number];
  const CompiledNest& nest = kernel->nests[number];
  const loop::For* root = root_loop(nest.nest.program);
  if (const auto other = other_widths(nest.nest, kernel->plan.schedule, tensors, false)) return internal_error(*other);
  for (std::size_t n = 0; n < bound.appended.size(); ++n) {
    const AppendedTarget& target = bound.appended[n];
    const std::vector<Level>& written = nest.canonical.program.storages[nest.signature.appended[n]].levels;
    for (std::size_t level = 0; level < written.size(); ++level) {
      if (!has_coordinates(written[level].kind) || written[level].crd_bits == target.shape.format.levels[level].crd_bits) continue;
      return internal_error(fmt::format("level {} of {} is written with {}-bit coordinates and read with {}", level, target.shape.name,
                                        written[level].crd_bits, target.shape.format.levels[level].crd_bits));
    }
  }
  bound.distributes = false;
  bound.parts.clear();
  bound.frame_of.clear();
  std::uint64_t cleared_bytes = 0;
  std::uint64_t cleared_by_all = 0;
  for (const std::uint32_t target : bound.targets) {
    const std::uint64_t bytes = tensors[target].values().size_bytes();
    cleared_bytes += bytes;
    if (bytes > cleared_alone_bytes) cleared_by_all += bytes;
  }
  const double serial_ns = loops_ns(nest, kernel->plan.cost) + clearing_ns(cleared_bytes);
  if (root == nullptr) {
    bound.chunks = {{0, 1}};
  } else {
    const std::uint64_t extent = kernel->network.indices[nest.nest.indices[root->index]].extent;
    const std::optional<loop::StorageId> walked_input = walked_storage(nest.nest, tensors);
    const Tensor* walked = walked_input ? &tensors[nest.nest.tensors[*walked_input]] : nullptr;
    const unsigned threads = resources.threads.count();
    std::uint64_t copy_bytes = 0;
    bool copied = false;
    for (const loop::ParallelTarget& target : root->marks.parallel) {
      if (target.reduction != loop::Reduction::private_copies) continue;
      copied = true;
      copy_bytes += tensors[nest.nest.tensors[target.storage]].values().size_bytes();
    }
    std::size_t count = 1;
    bool shared = false;  // as threads share it, or as they would
    // Copies are cleared and added up in any case.
    if (!root->marks.parallel.empty() && serial_ns > (copied ? Succession::waking_ns : Succession::least_ns)) {
      const bool told = threads == 1 && kernel->plan.cost.ns > told_nanoseconds;
      const auto in_turn =
          static_cast<std::size_t>(std::clamp(kernel->plan.cost.ns / told_nanoseconds, double{chunks_per_thread}, most_told));
      if (copied) count = private_chunks(copy_bytes, walked != nullptr ? walked->bytes() : 0, threads, deterministic, serial_ns);
      if (!copied && threads > 1) {
        const double most = static_cast<double>(threads * chunks_per_thread);
        count = static_cast<std::size_t>(std::clamp(serial_ns / least_chunk_ns, least_chunks, most));
        if (!bound.appended.empty()) count = std::min(count, appended_chunks(serial_ns, threads));
      }
      if (!copied && told && resources.progress) count = in_turn;
      if (copied && count == 1 && told) {
        // One thread adds up in one place however many chunks it takes. Whether somebody listens must not change sums.
        count = in_turn;
        copied = false;
      }
      shared = (deterministic || threads > 1) && !kernel->code.strict_fp && !kernel->code.count;
    }
    if (!copied && goes_over_rows_of_product(nest.nest.program, *root))
      count = std::min(count, product_chunks(extent, threads));
    std::optional<SliceCut> cut = walked != nullptr && shared ? slice_cut(nest.nest.program, *walked_input) : std::nullopt;
    if (cut && (cut->copied != copied || (copied && count == 1))) cut.reset();
    const auto cut_into = [&](std::size_t most) {
      std::vector<Chunk> chunks = cut_root(extent, most, walked);
      return cut ? cut_parts(std::move(chunks), most, nest, *walked, *cut, serial_ns) : chunks;
    };
    bound.chunks = cut_into(count);
    if (copied) {
      const auto allocate = [this](std::uint64_t bytes, const std::string& what) { return workspace(bytes, what); };
      // Where all may have to be computed anew, the result itself is none of the copies.
      bound.distributes = cut && cut->distributes && std::ranges::any_of(bound.chunks, &Chunk::is_part);
      const std::size_t wanted = bound.chunks.size() + (bound.distributes ? 1 : 0);
      const auto slots = allocate_copies(bound, nest, *root, wanted, kernel->plan.schedule, tensors, allocate, deterministic);
      if (!slots) return std::unexpected(slots.error());
      if (*slots < wanted) {
        cut.reset();
        bound.distributes = false;
        bound.chunks = cut_into(*slots);
      }
      bound.private_copies = bound.chunks.size() > 1 || bound.distributes;
    }
    if (cut) {
      if (auto made = bind_parts(number, *cut, nest.nest.tensors[*walked_input]); !made) {
        if (deterministic) return made;
        // Without memory for parts slices stay whole.
        cut.reset();
        bound.distributes = false;
        bound.parts.clear();
        bound.frame_of.clear();
        bound.chunks = cut_into(bound.private_copies ? bound.chunks.size() : count);
      }
    }
  }
  const bool alone = resources.threads.count() == 1;
  bound.shared_ns = alone ? 0 : bound.chunks.size() > 1 ? serial_ns : clearing_ns(cleared_by_all);
  bound.frames.clear();
  const std::size_t frames = std::max<std::size_t>(bound.parts.size(), bound.private_copies ? bound.chunks.size() : 1);
  for (std::size_t each = 0; each < frames; ++each) bound.frames.push_back(frame(number, each));
  return {};
}

Expected<void> BoundNetwork::State::lay_out(std::uint32_t number, const Tensor& tensor, bool same, const HostMemory& from) {
  const ScheduledTensor& scheduled = kernel->plan.schedule.tensors[number];
  const std::string& name = kernel->network.tensors[scheduled.tensor].name;
  if (const PatternFacts* const own = TensorParts::pattern_facts(tensor); own != nullptr && own->place_bits > 0) {
    if (kernel->place_bits[number] == own->place_bits && tensor.format() == scheduled.format) {
      tensors[number] = from.lent ? TensorParts::unowned(tensor) : tensor;
      places[number] = {own->places, own->place_bits};
      return {};
    }
    auto moved = in_order(tensor, resources, name);
    return moved ? lay_out(number, *moved, same, from) : std::unexpected(moved.error());
  }
  if (kernel->place_bits[number] > 0) {
    auto placed = laid_out_through_places(tensor, scheduled.format, from.changing.contains(name), resources, name);
    if (!placed) return std::unexpected(placed.error());
    const bool given = placed->origin == LayoutOrigin::given;
    tensors[number] = given && from.lent ? TensorParts::unowned(tensor) : std::move(placed->tensor);
    places[number] = {std::move(placed->places), placed->bits};
    if (given) return {};
    const bool known = placed->origin == LayoutOrigin::known;
    ++(placed->origin == LayoutOrigin::made ? layouts.made : !known ? layouts.refilled : same ? layouts.known : layouts.read_through);
    return {};
  }
  if (tensor.format() == scheduled.format) {
    // A handle costs as much as a pointer, and those of another binding may be gone.
    tensors[number] = from.lent ? TensorParts::unowned(tensor) : tensor;
    return {};
  }
  auto layout = laid_out(tensor, scheduled.format, from.changing.contains(name), resources, name, std::move(tensors[number]));
  if (!layout) return std::unexpected(layout.error());
  tensors[number] = std::move(layout->tensor);
  ++(layout->origin == LayoutOrigin::made ? layouts.made : layout->origin == LayoutOrigin::known ? layouts.known : layouts.refilled);
  return {};
}

Expected<void> CompiledNetwork::State::all_there(const std::map<std::string, Tensor>& operands) const {
  for (const ScheduledTensor& scheduled : plan.schedule.tensors) {
    if (scheduled.role != TensorRole::operand) continue;
    const std::string& name = network.tensors[scheduled.tensor].name;
    if (!operands.contains(name)) return missing_operand(name, network, operands);
  }
  return {};
}

Expected<Replaced> BoundNetwork::State::take_operands(const std::map<std::string, Tensor>& given, const HostMemory& from) {
  whole = true;
  const std::vector<ScheduledTensor>& scheduled = kernel->plan.schedule.tensors;
  Replaced replaced{std::vector<bool>(scheduled.size()), std::vector<bool>(scheduled.size())};
  for (std::uint32_t number = 0; number < scheduled.size(); ++number) {
    if (scheduled[number].role != TensorRole::operand) continue;
    const std::string& name = kernel->network.tensors[scheduled[number].tensor].name;
    const auto found = given.find(name);
    if (found == given.end()) return missing_operand(name, kernel->network, given);
    const Tensor& tensor = found->second;
    const BoundArrays now = arrays_of(tensor);
    const bool same = now == arrays[number] && now.values != 0;
    const void* const places_before = places[number].numbers.data();
    if (auto done = lay_out(number, tensor, same, from); !done) return std::unexpected(done.error());
    const BoundArrays read = arrays_of(tensors[number]);
    const std::optional<Format>& planned = kernel->made_for[number];
    const bool as_given = read == now && now.values != 0;
    // As many are the same ones, unless a layout has places outside of the tensor.
    const bool outside = tensor.format().layout || tensors[number].format().layout;
    const bool as_many = !outside && tensors[number].nnz() == tensor.nnz();
    const bool lists = !tensor.format().layout && has_sparse_level(tensor.format()) && !is_dense(tensor.format().levels.back().kind);
    from_values[number] = !as_given && !lists && has_sparse_level(tensors[number].format());
    made_from_values[number] = from.from_values.contains(name);
    const auto host_given = from.given != nullptr ? from.given->find(name) : given.end();
    const bool is_layout = from.given != nullptr && host_given != from.given->end();
    const Tensor& identified = is_layout ? host_given->second : tensor;
    given_patterns[number] = identified.format().all_dense() ? 0 : arrays_of(identified).pattern;
    other_entries[number] = !as_given && planned && *planned != tensor.format() && !as_many;
    replaced.patterns[number] = read.pattern != laid[number].pattern || read.pattern == 0;
    replaced.values[number] = !same || replaced.patterns[number] || read.values != laid[number].values ||
                              places[number].numbers.data() != places_before;
    replaced.any_pattern = replaced.any_pattern || replaced.patterns[number];
    replaced.any_values = replaced.any_values || replaced.values[number];
    arrays[number] = now;
    laid[number] = read;
  }
  for (const ScheduledTensor& result : scheduled) {
    if (!result.like || !result.delivered) continue;
    const auto lender = given.find(kernel->network.tensors[scheduled[*result.like].tensor].name);
    if (lender != given.end()) lenders[*result.like] = TensorParts::without_values(lender->second);
  }
  return replaced;
}

void BoundNetwork::State::let_go() {
  if (exposed_operands.let_go()) whole = false;
  if (!lenders.empty()) whole = false;
  lenders.clear();
  const std::vector<ScheduledTensor>& scheduled = kernel->plan.schedule.tensors;
  for (std::uint32_t number = 0; number < scheduled.size(); ++number) {
    // As it was given it is a handle that owns nothing, and what it stood for may be gone by now.
    if (scheduled[number].role != TensorRole::operand || laid[number] == arrays[number]) continue;
    tensors[number] = {};
    places[number] = {};
    whole = false;
  }
}

Expected<bool> BoundNetwork::rebind_levels(const std::map<std::string, Tensor>& operands, const HostMemory& host) {
  State& state = *state_;
  if (host.scratch.data() != state.lent.data() || host.scratch.size() != state.lent.size()) return false;
  for (TensorId tensor = 0; tensor < state.kernel->given.tensors.size(); ++tensor) {
    const TensorDeclaration& declared = state.kernel->given.tensors[tensor];
    const auto given = operands.find(declared.name);
    if (!declared.is_result && given != operands.end() && given->second.extents() != declared.extents) return false;
  }
  const auto start = Clock::now();
  auto taken = state.take_operands(operands, host);
  if (!taken) return std::unexpected(taken.error());
  // What the general kernel was made for may be far from what the one that was asked for is.
  if (state.general && std::ranges::find(state.other_entries, true) != state.other_entries.end()) return false;
  Replaced& replaced = *taken;
  const std::vector<ScheduledTensor>& scheduled = state.kernel->plan.schedule.tensors;
  for (std::uint32_t number = 0; replaced.any_pattern && number < scheduled.size(); ++number) {
    const auto& pattern = scheduled[number].like;
    if (scheduled[number].role == TensorRole::operand || !pattern || !replaced.patterns[*pattern]) continue;
    replaced.patterns[number] = replaced.values[number] = true;
    // Memory of the host that it was bound to is none of this binding's.
    state.arrays[number] = {};
    state.tensors[number] = {};
    state.written_to.erase(number);
    state.scaled[number] = {};
    if (scheduled[number].role == TensorRole::result && host.outputs.contains(scheduled[number].name)) continue;  // taken below
    auto tensor = fresh(scheduled[number], state.kernel->network, state.tensors, state.resources);
    if (!tensor) return std::unexpected(tensor.error());
    state.tensors[number] = std::move(*tensor);
  }
  if (auto written = state.take_outputs(host, replaced); !written) return std::unexpected(written.error());
  if (replaced.any_values) state.convert_ms += milliseconds_since(start);
  if (replaced.any_pattern) state.note_patterns();
  if (!replaced.any_pattern && !replaced.any_values) return true;
  if (broken_assumption(state.kernel->nests, state.kernel->network, state.kernel->plan.schedule, state.kernel->finite, state.other_entries,
                        state.tensors, state.resources.threads, replaced, host.assume_finite) ||
      other_places(state.kernel->place_bits, state.kernel->plan.schedule, state.places))
    return false;
  for (std::size_t number = 0; number < state.nests.size(); ++number) {
    if (state.nests[number].late) continue;
    const std::vector<std::uint32_t>& tensors = state.kernel->nests[number].nest.tensors;
    const bool cut_anew = std::ranges::any_of(tensors, [&](std::uint32_t tensor) {
      return tensor < scheduled.size() && replaced.patterns[tensor] && !scheduled[tensor].format.all_dense();
    });
    if (!cut_anew) {
      state.refill_frames(number, replaced);
    } else if (!state.lent.empty()) {
      return false;  // other copies may lie elsewhere in the host's memory
    } else if (auto bound = state.bind_chunks(number); !bound) {
      return std::unexpected(bound.error());
    }
  }
  return true;
}

Expected<BoundNetwork> CompiledNetwork::in_its_place(Expected<BoundNetwork> bound) {
  if (bound) bound->state_->general = true;
  return bound;
}

Expected<BoundNetwork> CompiledNetwork::bind_levels(const std::map<std::string, Tensor>& operands, const Resources& resources,
                                                    bool deterministic, const HostMemory& host) const {
  const auto other = other_extents(state_->given, operands);
  if (!other) return std::unexpected(other.error());
  if (!other->extents.empty()) {
    if (auto all = state_->all_there(operands); !all) return std::unexpected(all.error());
    const auto network = with_extents(state_->given, other->extents);
    if (!network) return std::unexpected(network.error());
    const auto general = state_->generalise(*network, operands, other->why);
    if (!general) return std::unexpected(general.error());
    return in_its_place(general->bind(operands, resources, deterministic, host));
  }
  auto state = std::make_unique<BoundNetwork::State>();
  state->kernel = state_;
  state->resources = resources;
  state->deterministic = deterministic;
  state->lent = host.scratch;
  state->binding = true;
  const Schedule& schedule = state_->plan.schedule;
  const auto start = Clock::now();
  state->tensors.resize(schedule.tensors.size());
  state->arrays.resize(schedule.tensors.size());
  state->given_patterns.resize(schedule.tensors.size());
  state->laid.resize(schedule.tensors.size());
  state->places.resize(schedule.tensors.size());
  state->other_entries.resize(schedule.tensors.size());
  state->from_values.resize(schedule.tensors.size());
  state->made_from_values.resize(schedule.tensors.size());
  state->asked.resize(schedule.tensors.size());
  state->scaled.resize(schedule.tensors.size());
  auto replaced = state->take_operands(operands, host);
  if (!replaced) return std::unexpected(replaced.error());
  for (std::uint32_t number = 0; number < schedule.tensors.size(); ++number) {
    const ScheduledTensor& scheduled = schedule.tensors[number];
    if (scheduled.role == TensorRole::operand || !used_by_nests(state_->nests, number)) continue;
    if (scheduled.role == TensorRole::result && host.outputs.contains(scheduled.name)) continue;  // taken below
    auto tensor = state->made_or_lent(number);
    if (!tensor) return std::unexpected(tensor.error());
    state->tensors[number] = std::move(*tensor);
  }
  if (auto written = state->take_outputs(host, *replaced); !written) return std::unexpected(written.error());
  state->convert_ms = milliseconds_since(start);
  state->note_patterns();
  auto broken = broken_assumption(state_->nests, state_->network, schedule, state_->finite, state->other_entries, state->tensors,
                                  resources.threads, *replaced, host.assume_finite);
  if (!broken) broken = other_places(state_->place_bits, schedule, state->places);
  if (broken) {
    const auto general = state_->generalise(state_->given, operands, *broken);
    if (!general) return std::unexpected(general.error());
    return in_its_place(general->bind(operands, resources, deterministic, host));
  }
  if (!host.changing.empty() && !host.lent) {
    state->operands = operands;
    state->host = host;
  }
  std::uint64_t scratch_bytes = 0;
  const std::vector<CompiledNest>& nests = state_->nests;
  for (std::size_t number = 0; number < nests.size(); ++number) {
    const CompiledNest& nest = state_->nests[number];
    state->nests.push_back(bound_nest(number, state_->nests, schedule, state_->network));
    state->counts.emplace_back(nest.nest.loops.size(), 0);
    scratch_bytes = std::max(scratch_bytes, state->nests.back().scratch_bytes);
    if (state->nests.back().late) continue;
    if (auto bound = state->bind_chunks(number); !bound) return std::unexpected(bound.error());
  }
  for (unsigned worker = 0; worker < resources.threads.count() && scratch_bytes > 0; ++worker) {
    auto scratch = state->workspace(scratch_bytes, "workspaces");
    if (!scratch) return std::unexpected(scratch.error());
    state->scratch.push_back(*scratch);
  }
  if (auto suffices = state->lent_suffices(); !suffices) return std::unexpected(suffices.error());
  state->binding = false;
  // Memory of the host is left alone until a run.
  for (std::size_t number = 0; number < nests.size(); ++number) {
    if (host.outputs.empty()) state->clear(number, true);
  }
  return BoundNetwork(std::move(state));
}

}  // namespace weft
