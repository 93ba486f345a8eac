// Running a binding: results cleared, nests in order, chunks over threads, private copies summed in slot order.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "engine/compiled_state.h"
#include "runtime/dense.h"
#include "runtime/elapsed.h"
#include "runtime/hashed_memory.h"
#include "runtime/scalar_traits.h"
#include "runtime/succession.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

constexpr std::uint64_t block_bytes = 256 * 1024;
constexpr std::uint64_t page_bytes = 4096;
/// What a thread takes from others at a time, at least: that many bytes take some 5 us.
constexpr std::uint64_t fetched_alone_bytes = 64 * 1024;

// One piece for each thread: memset passes by the caches only when it sees that the piece is larger than they are
// (64 MB on one thread: 0.72 ms at once, 1.0 ms in blocks of 256 KiB).
void zero(const Threads& threads, bool threaded, std::span<std::byte> bytes) {
  if (!threaded || bytes.size() <= cleared_alone_bytes || threads.count() == 1) {
    if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
    return;
  }
  const std::size_t piece = (bytes.size() / threads.count() + page_bytes) & ~std::size_t{page_bytes - 1};
  threads.for_each((bytes.size() + piece - 1) / piece, [&](std::size_t number, unsigned) {
    const std::size_t begin = number * piece;
    std::memset(bytes.data() + begin, 0, std::min(piece, bytes.size() - begin));
  });
}

/// Each copy lies in the caches of the thread that has added to it, so that one thread alone would wait for nearly every line: 15 copies
/// of 91 KB of 16 threads took it longer than all of them had walked (MTTKRP of flights2001_count, mode 2, R = 64).
template <class Element>
void add_in_order(const Threads* threads, std::span<Element> sum, std::span<const Buffer> copies) {
  const std::uint64_t share = fetched_alone_bytes / std::max<std::uint64_t>(copies.size(), 1) / page_bytes * page_bytes;
  const std::size_t block = std::max(share, page_bytes) / sizeof(Element);
  const std::size_t blocks = (sum.size() + block - 1) / block;
  const auto add_block = [&](std::size_t number) {
    const std::size_t begin = number * block;
    const std::size_t end = std::min(begin + block, sum.size());
    for (const Buffer& copy : copies) {
      const Element* __restrict from = copy.as<Element>().data();
      Element* __restrict to = sum.data();
      for (std::size_t position = begin; position < end; ++position) to[position] += from[position];
    }
  };
  if (blocks <= 1 || threads == nullptr) {
    for (std::size_t number = 0; number < blocks; ++number) add_block(number);
  } else {
    threads->for_each(blocks, [&](std::size_t number, unsigned) { add_block(number); });
  }
}

WorkerTables tables_of(const CompiledNest& nest, const Resources& resources) {
  WorkerTables made;
  const auto add = [&](const std::string& name) {
    made.memories.push_back(std::make_unique<HashedMemory>(resources.memory, name));
    made.tables.push_back(made.memories.back()->table());
  };
  const loop::Program& program = nest.canonical.program;
  for (const std::uint32_t storage : nest.signature.hashed) add("workspace " + program.storages[storage].name);
  for (const SortedLevel& level : nest.signature.sorted) add("sorted slots of " + program.accesses[level.access].name);
  return made;
}

/// The chunks of an output; they write into `place`, what the last run left, where it is given.
std::vector<AppendedChunk> chunks_of(const AppendedTarget& target, const BoundNest& nest, std::optional<Tensor>& place,
                                     const Memory& memory) {
  std::vector<AppendedChunk> chunks;
  std::vector<std::uint64_t> before(target.shape.format.order(), 0);
  for (std::size_t number = 0; number < nest.chunks.size(); ++number) {
    const Chunk& range = nest.chunks[number];
    chunks.emplace_back(target.shape, nest.ranged ? range.end - range.begin : target.shape.extent_of_level(0), memory);
    if (!place) continue;
    const std::vector<std::uint64_t>& entries = target.entries[number];
    chunks.back().place_in(*place, before, entries);
    for (std::size_t level = 0; level < before.size(); ++level) before[level] += entries[level];
  }
  return chunks;
}

std::unexpected<Error> ran_out_of_memory(const std::vector<std::vector<AppendedChunk>>& appended,
                                         const std::vector<WorkerTables>& tables) {
  for (const WorkerTables& worker : tables) {
    for (const std::unique_ptr<HashedMemory>& memory : worker.memories) {
      if (memory->refused()) return std::unexpected(*memory->refused());
    }
  }
  for (const std::vector<AppendedChunk>& output : appended) {
    for (const AppendedChunk& chunk : output) {
      if (chunk.refused()) return std::unexpected(*chunk.refused());
    }
  }
  return resource_error("a kernel ran out of memory");
}

/// How a kernel ended on all chunks: the first that was not done, and whose.
struct Ended {
  KernelStatus status = KernelStatus::done;
  std::size_t worker = 0;
};

std::size_t frame_of(const BoundNest& nest, std::size_t chunk) {
  return !nest.frame_of.empty() ? nest.frame_of[chunk] : nest.private_copies ? chunk : 0;
}

std::int32_t call(const LoadedCode& code, const BoundNest& nest, std::size_t chunk, Worker& worker) {
  const std::size_t number = frame_of(nest, chunk);
  const std::vector<std::uint64_t>& frame = nest.frames[number];
  // By the thread that adds to them.
  if (number < nest.parts.size() && nest.parts[number]) {
    for (const CarriedRow& row : nest.parts[number]->rows)
      if (row.sums.size_bytes() > 0) std::memset(Buffer(row.sums).data(), 0, row.sums.size_bytes());
  }
  if (nest.private_copies && number > 0) {
    for (const PrivateCopies& copies : nest.copies) {
      Buffer copy = copies.buffers[number - 1];
      if (copy.size_bytes() > 0) std::memset(copy.data(), 0, copy.size_bytes());  // an index without coordinates
    }
  }
  return code.function()(frame.data(), nest.chunks[chunk].begin, nest.chunks[chunk].end, &worker);
}

/// `run`: of a chunk and a worker, a KernelStatus.
template <class Run>
Ended over_chunks(const BoundNest& nest, bool threaded, const Resources& resources, std::vector<Worker>& workers, const Run& run) {
  std::atomic<std::int32_t> status{0};
  std::atomic<std::size_t> failed_worker{0};
  const auto run_chunk = [&](std::size_t chunk, unsigned slot) {
    if (status.load(std::memory_order_relaxed) != 0) return;
    if (resources.cancellation.cancelled()) {
      status = static_cast<std::int32_t>(KernelStatus::cancelled);
      return;
    }
    const std::int32_t result = run(chunk, workers[slot]);
    std::int32_t done = 0;
    if (result != 0 && status.compare_exchange_strong(done, result)) failed_worker = slot;
  };
  if (nest.chunks.size() <= 1 || !threaded) {
    for (std::size_t chunk = 0; chunk < nest.chunks.size(); ++chunk) run_chunk(chunk, 0);
  } else {
    resources.threads.for_each(nest.chunks.size(), run_chunk);
  }
  return {static_cast<KernelStatus>(status.load()), failed_worker.load()};
}

Expected<void> judged(const Ended& ended, const CompiledNest& nest, const std::vector<Worker>& workers,
                      const std::vector<std::vector<AppendedChunk>>& appended, const std::vector<WorkerTables>& tables) {
  switch (ended.status) {
    case KernelStatus::done:
      break;
    case KernelStatus::cancelled:
      return fail(ErrorKind::cancelled, "interrupted");
    case KernelStatus::out_of_memory:
    case KernelStatus::limit:
      return ran_out_of_memory(appended, tables);
    case KernelStatus::failed_check: {
      const Worker& worker = workers[ended.worker];
      return internal_error(fmt::format("a checked access failed: storage {} level {} value {} in\n{}",
                                        worker.failed_storage, worker.failed_level, worker.failed_value,
                                        loop::print(nest.canonical.program)));
    }
  }
  return {};
}

}  // namespace

void BoundNetwork::State::release(std::uint32_t tensor) {
  TensorArrays empty{tensors[tensor].format(), tensors[tensor].extents(), std::vector<LevelArrays>(tensors[tensor].order()), {}, 0};
  tensors[tensor] = made(std::move(empty));
}

std::optional<Tensor> BoundNetwork::State::taken(const AppendedTarget& target, const std::vector<Chunk>& chunks) {
  Tensor left = tensors[target.tensor];
  release(target.tensor);
  // Without arrays there is no place; with other chunks the places are others.
  const bool any = left.values().size_bytes() > 0 && !chunks.empty() && target.chunks == chunks;
  return any ? std::optional(std::move(left)) : std::nullopt;
}

void BoundNetwork::State::clean_scratch() {
  for (Buffer& buffer : scratch) zero(resources.threads, true, buffer.as<std::byte>());
}

namespace {

bool has_strides(const Tensor& tensor) { return tensor.order() > 0 && tensor.format().levels.front().strided; }

}  // namespace

std::uint64_t BoundNetwork::State::begun(const CompiledNest& nest) const {
  std::uint64_t bits = 0;
  if (is_annihilated(nest)) return bits;
  for (std::size_t number = 0; number < nest.signature.begun.size(); ++number) {
    const std::uint32_t target = nest.nest.tensors[nest.canonical.storages[nest.signature.begun[number]]];
    if (scaled[target].beta == 0 && !has_strides(tensors[target])) bits |= std::uint64_t{1} << number;
  }
  return bits;
}

bool BoundNetwork::State::begins(const CompiledNest& nest, std::uint64_t fresh, std::uint32_t tensor) const {
  for (std::size_t n = 0; n < nest.signature.begun.size(); ++n) {
    if ((fresh >> n & 1) != 0 && nest.nest.tensors[nest.canonical.storages[nest.signature.begun[n]]] == tensor) return true;
  }
  return false;
}

namespace {

bool all_finite(const Threads& threads, const Buffer& values, Scalar scalar) {
  return with_element(scalar, [&]<class T>(T) {
    const auto elements = values.as<T>();
    constexpr std::size_t block = block_bytes / sizeof(T);
    std::atomic<bool> finite{true};
    const auto look = [&](std::size_t number, unsigned) {
      const auto some = elements.subspan(number * block, std::min(block, elements.size() - number * block));
      if (!std::ranges::all_of(some, [](T value) { return std::isfinite(value); })) finite = false;
    };
    const std::size_t blocks = (elements.size() + block - 1) / block;
    if (blocks > 1)
      threads.for_each(blocks, look);
    else if (blocks == 1)
      look(0, 0);
    return finite.load();
  });
}

}  // namespace

KernelStatus BoundNetwork::State::add_copies(std::size_t number, bool threaded, Worker& worker) {
  BoundNest& nest = nests[number];
  if (!nest.private_copies) return KernelStatus::done;
  const Threads* const sharing = threaded ? &resources.threads : nullptr;
  const auto add = [&](const PrivateCopies& copies, Buffer sum, std::span<const Buffer> buffers) {
    with_element(tensors[copies.tensor].format().scalar, [&]<class T>(T) { add_in_order(sharing, sum.as<T>(), buffers); });
  };
  // There may be more, which no chunk of this run has cleared.
  const auto written = [&](const PrivateCopies& copies) { return std::span<const Buffer>(copies.buffers).first(nest.frames.size() - 1); };
  if (!nest.distributes) {
    for (const PrivateCopies& copies : nest.copies) add(copies, tensors[copies.tensor].values(), written(copies));
    return KernelStatus::done;
  }
  for (const PrivateCopies& copies : nest.copies) add(copies, copies.buffers[0], written(copies).subspan(1));
  const bool finite = std::ranges::all_of(nest.copies, [&](const PrivateCopies& copies) {
    return all_finite(resources.threads, copies.buffers[0], tensors[copies.tensor].format().scalar);
  });
  if (!finite) {
    const LoadedCode& code = kernel->nests[number].code;
    return static_cast<KernelStatus>(code.function()(nest.frames[0].data(), 0, nest.chunks.back().end, &worker));
  }
  for (const PrivateCopies& copies : nest.copies) add(copies, tensors[copies.tensor].values(), written(copies).first(1));
  return KernelStatus::done;
}

KernelStatus BoundNetwork::State::add_parts(std::size_t number, bool threaded, Worker& worker) {
  const CompiledNest& compiled = kernel->nests[number];
  BoundNest& nest = nests[number];
  const auto add = [&](Buffer sum, std::uint64_t element, const Buffer& row, Scalar scalar) {
    with_element(scalar, [&]<class T>(T) {
      add_in_order(threaded ? &resources.threads : nullptr, sum.as<T>().subspan(element, row.as<T>().size()), std::span(&row, 1));
    });
  };
  for (std::size_t first = 1; first < nest.parts.size() && !nest.private_copies;) {
    const std::uint64_t coordinate = nest.chunks[nest.parts[first]->chunk].begin;
    const std::vector<CarriedRow>& rows = nest.parts[first]->rows;
    std::size_t next = first + 1;
    for (; next < nest.parts.size() && nest.chunks[nest.parts[next]->chunk].begin == coordinate; ++next) {
      for (std::size_t row = 0; row < rows.size(); ++row)
        add(rows[row].sums, 0, nest.parts[next]->rows[row].sums, tensors[rows[row].tensor].format().scalar);
    }
    first = next;
    const bool finite = !nest.distributes || std::ranges::all_of(rows, [&](const CarriedRow& row) {
      return all_finite(resources.threads, row.sums, tensors[row.tensor].format().scalar);
    });
    if (!finite) {
      const std::int32_t status = compiled.code.function()(nest.frames[0].data(), coordinate, coordinate + 1, &worker);
      if (status != 0) return static_cast<KernelStatus>(status);
      continue;
    }
    for (const CarriedRow& row : rows) {
      const Scalar scalar = tensors[row.tensor].format().scalar;
      if (begins(compiled, worker.fresh, row.tensor)) {
        const std::span<std::byte> bytes = TensorParts::bytes_of_values(tensors[row.tensor]);
        std::memset(bytes.data() + row.element * scalar_bytes(scalar), 0, row.sums.size_bytes());
      }
      add(tensors[row.tensor].values(), row.element, row.sums, scalar);
    }
  }
  return KernelStatus::done;
}

void BoundNetwork::State::clear(std::size_t number, bool threaded) {
  const CompiledNest& compiled = kernel->nests[number];
  const BoundNest& nest = nests[number];
  const std::uint64_t fresh = begun(compiled);
  for (const std::uint32_t target : nest.targets) {
    if (begins(compiled, fresh, target)) continue;
    const Tensor& result = tensors[target];
    if (scaled[target].beta == 0 && !has_strides(result)) {
      zero(resources.threads, threaded, TensorParts::bytes_of_values(result));
    } else {
      scale_values(result, scaled[target].beta, threaded ? &resources.threads : nullptr);
    }
  }
}

bool BoundNetwork::State::is_annihilated(const CompiledNest& nest) const {
  return std::ranges::any_of(absent, [&](std::uint32_t tensor) { return reads(nest, tensor); });
}

void BoundNetwork::State::note_absent(const CompiledNest& nest, std::uint64_t present) {
  for (std::size_t bit = 0; bit < nest.signature.told.size(); ++bit) {
    if ((present >> bit & 1) == 0) absent.insert(nest.nest.tensors[nest.canonical.storages[nest.signature.told[bit]]]);
  }
}

Expected<void> BoundNetwork::State::leave_empty(std::size_t number) {
  note_absent(kernel->nests[number], 0);
  for (AppendedTarget& target : nests[number].appended) {
    release(target.tensor);
    target.chunks.clear();
    std::vector<AppendedChunk> none;
    auto tensor = concatenated(target.shape, none, resources);
    if (!tensor) return std::unexpected(tensor.error());
    tensors[target.tensor] = std::move(*tensor);
  }
  return {};
}

std::string BoundNetwork::State::what_runs() const {
  std::vector<std::string> names;
  for (const ScheduledTensor& scheduled : kernel->plan.schedule.tensors) {
    if (scheduled.role == TensorRole::result) names.push_back(scheduled.name);
  }
  return fmt::format("computing {}", fmt::join(names, ", "));
}

Expected<void> BoundNetwork::State::count_entries(std::size_t number, bool threaded, std::vector<Worker>& workers,
                                                  const std::vector<WorkerTables>& tables,
                                                  std::vector<std::optional<Tensor>>& results) {
  BoundNest& nest = nests[number];
  const CompiledNest& compiled = kernel->nests[number];
  std::vector<std::vector<std::vector<AppendedLevel>>> levels;  // by output and chunk
  for (const AppendedTarget& target : nest.appended)
    levels.emplace_back(nest.chunks.size(), std::vector<AppendedLevel>(target.shape.format.order()));
  const Ended ended = over_chunks(nest, threaded, resources, workers, [&](std::size_t chunk, Worker& worker) {
    std::vector<AppendedOutput> outputs(levels.size());
    for (std::size_t output = 0; output < levels.size(); ++output) outputs[output].levels = levels[output][chunk].data();
    worker.appended = outputs.data();
    return call(*compiled.counting, nest, chunk, worker);
  });
  if (auto good = judged(ended, compiled, workers, {}, tables); !good) return good;
  for (std::size_t output = 0; output < levels.size(); ++output) {
    if (results[output]) continue;
    AppendedTarget& target = nest.appended[output];
    target.entries.clear();
    for (const std::vector<AppendedLevel>& of_chunk : levels[output]) {
      target.entries.emplace_back();
      for (const AppendedLevel& level : of_chunk) target.entries.back().push_back(level.size);
    }
    auto tensor = sized(target.shape, target.entries, resources.memory);
    if (!tensor) return std::unexpected(tensor.error());
    results[output] = std::move(*tensor);
  }
  for (Worker& worker : workers) worker.clean = 0;  // another kernel comes
  return {};
}

Expected<void> BoundNetwork::State::run_nest(std::size_t number, bool threaded, RunProgress& progress) {
  BoundNest& nest = nests[number];
  progress.begin(number, nest.chunks.size());
  const CompiledNest& compiled = kernel->nests[number];
  if (is_annihilated(compiled)) return leave_empty(number);
  std::vector<Worker> workers(resources.threads.count());
  // Several nests hand the memory of their tables to each other.
  std::vector<WorkerTables> own;
  std::vector<WorkerTables>& tables = nests.size() == 1 ? nest.tables : own;
  if (tables.empty())
    for (std::size_t worker = 0; worker < workers.size(); ++worker) tables.push_back(tables_of(compiled, resources));
  for (const WorkerTables& worker : tables)
    for (const std::unique_ptr<HashedMemory>& memory : worker.memories) memory->forget_refusal();
  const std::uint64_t fresh = begun(compiled);
  const auto* cancelled = reinterpret_cast<const std::uint8_t*>(resources.cancellation.flag());
  // Tables may be kept from a run with another token, which is gone by now.
  for (WorkerTables& worker : tables)
    for (HashedTable& table : worker.tables) table.cancelled = cancelled;
  std::vector<std::vector<std::uint64_t>> counted;  // by worker, of a kernel that counts
  if (kernel->code.count) counted.assign(workers.size(), std::vector<std::uint64_t>(counts[number].size(), 0));
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    workers[worker].grow = grow_appended;
    workers[worker].tables = tables[worker].tables.data();
    workers[worker].cancelled = cancelled;
    workers[worker].fresh = fresh;
    if (kernel->code.count) workers[worker].counts = counted[worker].data();
    if (worker < scratch.size()) workers[worker].scratch = static_cast<unsigned char*>(scratch[worker].data());
  }
  std::vector<std::optional<Tensor>> before;  // what the outputs are written into: the last run left it, or it was counted
  for (AppendedTarget& target : nest.appended) {
    auto there = placed(target, nest.chunks, taken(target, nest.chunks));
    if (!there) return std::unexpected(there.error());
    before.push_back(std::move(*there));
  }
  // A single chunk is not copied, so that nothing is to be gained for it.
  if (compiled.counting && nest.chunks.size() > 1 && !std::ranges::all_of(before, &std::optional<Tensor>::has_value)) {
    if (auto counting = count_entries(number, threaded, workers, tables, before); !counting) return counting;
  }
  std::vector<std::vector<AppendedChunk>> appended;  // by output and chunk
  for (std::size_t output = 0; output < before.size(); ++output)
    appended.push_back(chunks_of(nest.appended[output], nest, before[output], resources.memory));
  Ended ended = over_chunks(nest, threaded, resources, workers, [&](std::size_t chunk, Worker& worker) {
    std::vector<AppendedOutput> outputs;
    std::int32_t result = 0;
    for (std::vector<AppendedChunk>& output : appended) {
      const auto opened = output[chunk].open();
      if (!opened) result = static_cast<std::int32_t>(KernelStatus::limit);
      outputs.push_back(opened.value_or(AppendedOutput{}));
    }
    worker.appended = outputs.data();
    if (result == 0) result = call(compiled.code, nest, chunk, worker);
    for (std::vector<AppendedChunk>& output : appended) output[chunk].close();
    progress.chunk_done();
    return result;
  });
  if (ended.status == KernelStatus::done) ended = {add_parts(number, threaded, workers.front()), 0};
  if (ended.status == KernelStatus::done) ended = {add_copies(number, threaded, workers.front()), 0};
  if (auto good = judged(ended, compiled, workers, appended, tables); !good) return good;
  for (const std::vector<std::uint64_t>& of_worker : counted) {
    for (std::size_t loop = 0; loop < of_worker.size(); ++loop) counts[number][loop] += of_worker[loop];
  }
  std::uint64_t present = 0;
  for (const Worker& worker : workers) present |= worker.present;
  note_absent(compiled, present);
  for (std::size_t output = 0; output < appended.size(); ++output) {
    AppendedTarget& target = nest.appended[output];
    std::vector<std::vector<std::uint64_t>> entries;
    for (const AppendedChunk& chunk : appended[output]) {
      entries.emplace_back();
      for (std::size_t level = 0; level < target.shape.format.order(); ++level)
        entries.back().push_back(chunk.entries(level));
    }
    auto tensor = concatenated(target.shape, appended[output], resources, std::move(before[output]));
    if (!tensor) return std::unexpected(tensor.error());
    tensors[target.tensor] = std::move(*tensor);
    target.entries = std::move(entries);
    target.chunks = nest.chunks;
  }
  return {};
}

BoundNetwork::BoundNetwork(std::unique_ptr<State> state) : state_(std::move(state)) {}
BoundNetwork::BoundNetwork(BoundNetwork&&) noexcept = default;
BoundNetwork& BoundNetwork::operator=(BoundNetwork&&) noexcept = default;
BoundNetwork::~BoundNetwork() = default;

Expected<void> BoundNetwork::run() {
  state_->delivered.clear();
  state_->given_results.clear();
  state_->handed_over = false;
  if (!state_->host.changing.empty()) {
    for (const auto& [name, tensor] : state_->operands) {
      if (state_->host.changing.contains(name)) tensor.values_changed();
    }
    const auto taken = rebind(state_->operands, state_->host);
    if (!taken) return std::unexpected(taken.error());
    if (!*taken) {
      CompiledNetwork kernel;
      kernel.state_ = state_->pinned_by ? state_->pinned_by : state_->over_levels ? state_->over_levels : state_->kernel;
      auto bound = kernel.bind(state_->operands, state_->resources, state_->deterministic, state_->host);
      if (!bound) return std::unexpected(bound.error());
      bound->state_->timed = state_->timed;
      *this = std::move(*bound);
    }
  }
  // The host may have written there since.
  if (!state_->lent.empty()) state_->clean_scratch();
  state_->absent.clear();
  Succession& succession = state_->resources.threads.succession();
  RunProgress progress(state_->resources.progress, state_->resources.progress ? state_->what_runs() : std::string(),
                       state_->nests.size());
  if (state_->timed) state_->nest_ms.assign(state_->nests.size(), 0);
  for (std::size_t number = 0; number < state_->nests.size(); ++number) {
    const auto start = state_->timed ? Clock::now() : Clock::time_point();
    if (state_->nests[number].late) {
      if (auto bound = state_->bind_chunks(number); !bound) return bound;
    }
    const bool threaded = succession.threads_pay(state_->nests[number].shared_ns);
    state_->clear(number, threaded);
    if (auto ran = state_->run_nest(number, threaded, progress); !ran) {
      state_->clean_scratch();
      return ran;
    }
    succession.end(state_->nests[number].shared_ns);
    for (const std::uint32_t tensor : state_->nests[number].read_last) state_->release(tensor);
    if (state_->timed) state_->nest_ms[number] = milliseconds_since(start);
  }
  return {};
}

const std::vector<std::vector<std::uint64_t>>& BoundNetwork::counts() const { return state_->counts; }
const std::vector<double>& BoundNetwork::nest_ms() const { return state_->nest_ms; }
void BoundNetwork::time_nests(bool timed) { state_->timed = timed; }
void BoundNetwork::cancel_with(const Cancellation& cancellation) {
  // Handles of a token are counted where all threads that have it count theirs.
  if (state_->resources.cancellation.flag() != cancellation.flag()) state_->resources.cancellation = cancellation;
}

std::uint64_t BoundNetwork::bytes() const {
  const std::vector<ScheduledTensor>& scheduled = state_->kernel->plan.schedule.tensors;
  std::uint64_t bytes = 0;
  for (std::size_t number = 0; number < scheduled.size(); ++number) {
    const bool own = scheduled[number].role != TensorRole::operand || !(state_->laid[number] == state_->arrays[number]);
    if (!own) continue;
    bytes += state_->tensors[number].bytes();
    if (state_->tensors[number].values().borrowed()) bytes -= state_->tensors[number].values().size_bytes();
  }
  for (std::size_t number = 0; number < scheduled.size(); ++number) {
    const BoundPlaces& places = state_->places[number];
    bytes += places.numbers.size_bytes();
    const bool shares_values = places.bits > 0 && !(state_->laid[number] == state_->arrays[number]) &&
                               state_->laid[number].values == state_->arrays[number].values;
    if (shares_values && !state_->tensors[number].values().borrowed()) bytes -= state_->tensors[number].values().size_bytes();
  }
  for (const auto& [number, tensor] : state_->delivered) {
    const bool shares_values = tensor.values().data() == state_->tensors[number].values().data();
    if (!shares_values && !tensor.values().borrowed()) bytes += tensor.bytes();
  }
  for (const BoundNest& nest : state_->nests) {
    for (const PrivateCopies& copies : nest.copies) {
      for (const Buffer& copy : copies.buffers) bytes += copy.borrowed() ? 0 : copy.size_bytes();
    }
    for (const std::optional<BoundPart>& part : nest.parts) {
      if (!part) continue;
      bytes += part->levels.memory.size_bytes();
      for (const CarriedRow& row : part->rows) bytes += row.sums.borrowed() ? 0 : row.sums.size_bytes();
    }
  }
  for (const Buffer& buffer : state_->scratch) bytes += buffer.borrowed() ? 0 : buffer.size_bytes();
  return bytes + state_->exposed_operands.padded_bytes();
}

const std::map<std::string, std::string>& BoundNetwork::patterns() const { return state_->patterns; }
void BoundNetwork::let_go() { state_->let_go(); }
bool BoundNetwork::whole() const { return state_->whole; }

bool BoundNetwork::is_current(const std::map<std::string, Tensor>& operands) const {
  if (state_->over_levels && !state_->exposed_operands.current(operands)) return false;
  const std::vector<bool>& finite = state_->kernel->finite;
  for (std::size_t number = 0; number < finite.size(); ++number) {
    if (finite[number] && arrays_of(state_->tensors[number]).version != state_->laid[number].version) return false;
  }
  return true;
}

const LayoutCounters& BoundNetwork::layouts() const { return state_->layouts; }
double BoundNetwork::convert_ms() const { return state_->convert_ms; }
unsigned BoundNetwork::threads() const { return state_->resources.threads.count(); }

}  // namespace weft
