// Running a binding: results cleared, nests in order, chunks over threads, private copies summed in slot order.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "engine/kernel_state.h"

namespace weft {
namespace {

constexpr std::uint64_t block_bytes = 256 * 1024;

// One piece for each thread: memset passes by the caches only when it sees that the piece is larger than they are
// (64 MB on one thread: 0.72 ms at once, 1.0 ms in blocks of 256 KiB).
void zero(const Threads& threads, std::span<std::byte> bytes) {
  if (bytes.size() <= 4 * block_bytes || threads.count() == 1) {
    if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
    return;
  }
  const std::size_t piece = (bytes.size() / threads.count() + block_bytes) & ~std::size_t{block_bytes - 1};
  threads.for_each((bytes.size() + piece - 1) / piece, [&](std::size_t number, unsigned) {
    const std::size_t begin = number * piece;
    std::memset(bytes.data() + begin, 0, std::min(piece, bytes.size() - begin));
  });
}

template <class Element>
void add_in_order(const Threads& threads, std::span<Element> sum, const std::vector<Buffer>& copies) {
  const std::size_t block = block_bytes / sizeof(Element);
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
  if (blocks <= 1) {
    for (std::size_t number = 0; number < blocks; ++number) add_block(number);
  } else {
    threads.for_each(blocks, [&](std::size_t number, unsigned) { add_block(number); });
  }
}

}  // namespace

void Binding::State::clear(const BoundNest& nest) {
  for (const std::uint32_t target : nest.targets) zero(resources.threads, tensors[target].values.as<std::byte>());
  for (const PrivateCopies& copies : nest.copies) {
    for (Buffer copy : copies.buffers) zero(resources.threads, copy.as<std::byte>());
  }
}

Expected<void> Binding::State::run_nest(std::size_t number) {
  const BoundNest& nest = nests[number];
  const CompiledNest& compiled = kernel->nests[number];
  std::vector<Worker> workers(resources.threads.count());
  std::vector<std::vector<std::uint64_t>> counted;  // by worker, of a kernel that counts
  if (kernel->code.count) counted.assign(workers.size(), std::vector<std::uint64_t>(counts[number].size(), 0));
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    workers[worker].cancelled = reinterpret_cast<const std::uint8_t*>(resources.cancellation.flag());
    if (kernel->code.count) workers[worker].counts = counted[worker].data();
    if (worker < scratch.size()) workers[worker].scratch = static_cast<unsigned char*>(scratch[worker].data());
  }
  std::atomic<std::int32_t> status{0};
  std::atomic<std::size_t> failed_worker{0};
  const auto run_chunk = [&](std::size_t chunk, unsigned slot) {
    if (status.load(std::memory_order_relaxed) != 0) return;
    if (resources.cancellation.cancelled()) {
      status = static_cast<std::int32_t>(KernelStatus::cancelled);
      return;
    }
    const std::vector<std::uint64_t>& frame = nest.frames[nest.private_copies ? chunk : 0];
    const Chunk range = nest.chunks[chunk];
    const std::int32_t result = compiled.code.function()(frame.data(), range.begin, range.end, &workers[slot]);
    std::int32_t done = 0;
    if (result != 0 && status.compare_exchange_strong(done, result)) failed_worker = slot;
  };
  if (nest.chunks.size() <= 1) {
    for (std::size_t chunk = 0; chunk < nest.chunks.size(); ++chunk) run_chunk(chunk, 0);
  } else {
    resources.threads.for_each(nest.chunks.size(), run_chunk);
  }
  switch (static_cast<KernelStatus>(status.load())) {
    case KernelStatus::done:
      break;
    case KernelStatus::cancelled:
      return fail(ErrorKind::cancelled, "interrupted");
    case KernelStatus::out_of_memory:
    case KernelStatus::limit:
      return resource_error("a kernel ran out of memory");
    case KernelStatus::failed_check: {
      const Worker& worker = workers[failed_worker];
      return internal_error(fmt::format("a checked access failed: storage {} level {} value {} in\n{}",
                                        worker.failed_storage, worker.failed_level, worker.failed_value,
                                        loop::print(compiled.canonical.program)));
    }
  }
  for (const std::vector<std::uint64_t>& of_worker : counted) {
    for (std::size_t loop = 0; loop < of_worker.size(); ++loop) counts[number][loop] += of_worker[loop];
  }
  for (const PrivateCopies& copies : nest.copies) {
    Tensor& sum = tensors[copies.tensor];
    if (sum.format.scalar == Scalar::f64) {
      add_in_order(resources.threads, sum.values.as<double>(), copies.buffers);
    } else {
      add_in_order(resources.threads, sum.values.as<float>(), copies.buffers);
    }
  }
  return {};
}

Binding::Binding(std::unique_ptr<State> state) : state_(std::move(state)) {}
Binding::Binding(Binding&&) noexcept = default;
Binding& Binding::operator=(Binding&&) noexcept = default;
Binding::~Binding() = default;

Expected<void> Binding::run() {
  for (std::size_t number = 0; number < state_->nests.size(); ++number) {
    state_->clear(state_->nests[number]);
    if (auto ran = state_->run_nest(number); !ran) return ran;
  }
  return {};
}

std::map<std::string, Tensor> Binding::results() const {
  std::map<std::string, Tensor> results;
  const Schedule& schedule = state_->kernel->plan.schedule;
  for (std::size_t number = 0; number < schedule.tensors.size(); ++number) {
    if (schedule.tensors[number].role != TensorRole::result) continue;
    results[schedule.tensors[number].name] = state_->tensors[number];
  }
  return results;
}

const std::vector<std::vector<std::uint64_t>>& Binding::counts() const { return state_->counts; }
double Binding::convert_ms() const { return state_->convert_ms; }
unsigned Binding::threads() const { return state_->resources.threads.count(); }

}  // namespace weft
