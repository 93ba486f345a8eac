// Binding a kernel: operands checked and converted, results, intermediates, copies and scratch allocated, frames filled.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>

#include "engine/kernel_state.h"
#include "weft/statistics.h"

namespace weft {
namespace {

constexpr std::uint64_t scratch_alignment = 64;
// Enough chunks that a worker which starts late still finds work, few enough that starting them costs nothing.
constexpr std::size_t chunks_per_thread = 32;
// The number of private copies that a plan counts memory for; that of a deterministic run, and of one whose copies are
// small against the operand it walks: then a thread that is ahead takes another slot instead of waiting.
constexpr std::uint64_t usual_slots = 8;
constexpr std::uint64_t small_copies = 16;
// Below this a second thread cannot pay for being woken.
constexpr double serial_nanoseconds = 30'000;

Expected<Tensor> bound_operand(const ScheduledTensor& scheduled, const Network& network,
                               const std::map<std::string, Tensor>& operands, const Resources& resources) {
  const TensorDeclaration& declared = network.tensors[scheduled.tensor];
  const auto found = operands.find(declared.name);
  if (found == operands.end()) return input_error(fmt::format("operand {} is missing", declared.name));
  if (found->second.extents != declared.extents) {
    return input_error(fmt::format("operand {} has extents {}, the kernel was made for {}", declared.name,
                                   fmt::join(found->second.extents, "x"), fmt::join(declared.extents, "x")));
  }
  return convert(found->second, scheduled.format, resources, declared.name);
}

Expected<Tensor> fresh(const ScheduledTensor& scheduled, const Network& network, const Resources& resources) {
  std::vector<std::uint64_t> extents;
  if (scheduled.role == TensorRole::result) {
    extents = network.tensors[scheduled.tensor].extents;
  } else {
    for (const IndexId index : scheduled.modes) extents.push_back(network.indices[index].extent);
  }
  return dense_zeros(std::move(extents), scheduled.format, resources, scheduled.name);
}

bool used_by_nests(const std::vector<CompiledNest>& nests, std::uint32_t tensor) {
  return std::ranges::any_of(
      nests, [&](const CompiledNest& nest) { return std::ranges::find(nest.nest.tensors, tensor) != nest.nest.tensors.end(); });
}

std::uint64_t private_slots(std::uint64_t copy_bytes, const Tensor* walked, unsigned threads, bool deterministic) {
  if (deterministic) return usual_slots;
  if (threads == 1 || walked == nullptr) return threads;
  const bool small = copy_bytes * usual_slots <= walked->bytes() / small_copies;
  return small ? std::max<std::uint64_t>(threads, usual_slots) : threads;
}

/// Facts shape code, so they are checked against the tensors actually bound.
Expected<void> recheck(const LoweredNest& nest, const Network& network, const Schedule& schedule,
                       const std::vector<Tensor>& tensors, const Threads& threads) {
  for (const loop::Fact& fact : nest.program.facts) {
    if (const auto* extent = std::get_if<loop::ExtentFact>(&fact)) {
      const Index& index = network.indices[nest.indices[extent->index]];
      if (index.extent != extent->extent) {
        return internal_error(
            fmt::format("the kernel assumes extent({}) = {}, it is {}", index.name, extent->extent, index.extent));
      }
      continue;
    }
    const auto storage = std::visit(
        [](const auto& one) -> loop::StorageId {
          if constexpr (requires { one.storage; }) return one.storage;
          return 0;
        },
        fact);
    const std::uint32_t number = nest.tensors[storage];
    if (number >= tensors.size() || schedule.tensors[number].role != TensorRole::operand) continue;
    const Tensor& tensor = tensors[number];
    const std::string& name = schedule.tensors[number].name;
    const Statistics& known = statistics(tensor, threads);
    if (std::holds_alternative<loop::FiniteFact>(fact) && !known.finite()) {
      return input_error(fmt::format("operand {} holds NaN or Inf, the kernel was made for finite values", name));
    }
    if (const auto* fiber = std::get_if<loop::FiberFact>(&fact)) {
      if (known.fibers(fiber->level).maximum > fiber->maximum) {
        return input_error(fmt::format("operand {} has a fiber longer than {} in level {}", name, fiber->maximum,
                                       fiber->level));
      }
    }
    if (const auto* full = std::get_if<loop::FullFact>(&fact)) {
      const std::uint64_t parents = full->level == 0 ? 1 : tensor.positions(full->level - 1);
      if (tensor.positions(full->level) != parents * tensor.extent_of_level(full->level)) {
        return input_error(fmt::format("level {} of operand {} is not full", full->level, name));
      }
    }
  }
  return {};
}

/// The operand whose entries the root loop walks: the largest sparse one bound there by its first level.
const Tensor* root_tensor(const LoweredNest& nest, const loop::For& root, const std::vector<Tensor>& tensors) {
  const Tensor* largest = nullptr;
  for (const loop::Step& step : root.steps) {
    const loop::StorageId storage = nest.program.accesses[step.access].storage;
    if (nest.program.storages[storage].role != loop::Role::input) continue;
    const Tensor& tensor = tensors[nest.tensors[storage]];
    if (tensor.order() == 0 || tensor.format.all_dense()) continue;
    if (largest == nullptr || tensor.nnz() > largest->nnz()) largest = &tensor;
  }
  return largest;
}

struct Scratch {
  std::map<std::uint32_t, std::uint64_t> offsets;  ///< by canonical storage
  std::uint64_t bytes = 0;
};

Scratch scratch_layout(const CompiledNest& nest, const Network& network) {
  Scratch scratch;
  for (const ScratchDemand& demand : nest.signature.scratch) {
    std::uint64_t bytes = demand.element_bytes;
    for (const loop::IndexId index : demand.indices) {
      bytes *= network.indices[nest.nest.indices[nest.canonical.indices[index]]].extent;
    }
    scratch.offsets[demand.storage] = scratch.bytes;
    scratch.bytes += (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
  }
  return scratch;
}

std::uint64_t word_value(const Word& word, const CompiledNest& nest, const Network& network,
                         const std::vector<Tensor>& tensors, const Scratch& scratch,
                         const std::map<std::uint32_t, const void*>& replaced) {
  const auto address = [](const void* pointer) { return std::bit_cast<std::uint64_t>(pointer); };
  if (word.kind == Word::Kind::extent) {
    return network.indices[nest.nest.indices[nest.canonical.indices[word.number]]].extent;
  }
  if (word.kind == Word::Kind::coefficient) {
    return std::bit_cast<std::uint64_t>(nest.nest.coefficients[nest.canonical.coefficients[word.number]]);
  }
  if (word.kind == Word::Kind::scratch) return scratch.offsets.at(word.storage);
  const std::uint32_t number = nest.nest.tensors[nest.canonical.storages[word.storage]];
  const Tensor& tensor = tensors[number];
  switch (word.kind) {
    case Word::Kind::pos:
      return address(tensor.levels[word.level].pos.data());
    case Word::Kind::crd:
      return address(tensor.levels[word.level].crd.data());
    case Word::Kind::stride:
      return tensor.levels[word.level].stride;
    default: {
      const auto copy = replaced.find(number);
      if (copy != replaced.end()) return address(copy->second);
      const auto* values = static_cast<const std::byte*>(tensor.values.data());
      return address(values + tensor.offset * scalar_bytes(tensor.format.scalar));
    }
  }
}

Expected<BoundNest> bind_nest(const CompiledNest& nest, const Network& network, const Plan& plan,
                              const std::vector<Tensor>& tensors, const Resources& resources, bool deterministic) {
  BoundNest bound;
  const loop::Program& program = nest.nest.program;
  for (std::size_t storage = 0; storage < program.storages.size(); ++storage) {
    if (program.storages[storage].role == loop::Role::output) bound.targets.push_back(nest.nest.tensors[storage]);
  }
  const loop::For* root = root_loop(program);
  bound.ranged = root != nullptr;
  if (root == nullptr) {
    bound.chunks = {{0, 1}};
  } else {
    const std::uint64_t extent = network.indices[nest.nest.indices[root->index]].extent;
    const Tensor* walked = root_tensor(nest.nest, *root, tensors);
    bound.private_copies = std::ranges::any_of(root->marks.parallel, [](const loop::ParallelTarget& target) {
      return target.reduction == loop::Reduction::private_copies;
    });
    const unsigned threads = resources.threads.count();
    const bool worthwhile = plan.cost.ns > serial_nanoseconds;
    if (root->marks.parallel.empty()) {
      bound.chunks = cut_root(extent, 1, nullptr);
    } else if (bound.private_copies) {
      std::uint64_t copy_bytes = 0;
      for (const loop::ParallelTarget& target : root->marks.parallel) {
        if (target.reduction != loop::Reduction::private_copies) continue;
        copy_bytes += tensors[nest.nest.tensors[target.storage]].values.size_bytes();
      }
      const std::uint64_t slots = private_slots(copy_bytes, walked, threads, deterministic);
      bound.chunks = cut_root(extent, worthwhile ? slots : 1, walked);
    } else {
      bound.chunks = cut_root(extent, threads > 1 && worthwhile ? threads * chunks_per_thread : 1, walked);
    }
    if (bound.chunks.size() <= 1) bound.private_copies = false;
    if (bound.private_copies) {
      for (const loop::ParallelTarget& target : root->marks.parallel) {
        if (target.reduction != loop::Reduction::private_copies) continue;
        PrivateCopies copies{nest.nest.tensors[target.storage], {}};
        const Buffer& shared = tensors[copies.tensor].values;
        for (std::size_t slot = 1; slot < bound.chunks.size(); ++slot) {
          auto buffer = Buffer::allocate(shared.size_bytes(), resources.memory,
                                         fmt::format("private copy of {}", plan.schedule.tensors[copies.tensor].name));
          // A limit that binds only through private copies lowers their number, not the schedule.
          if (!buffer) {
            if (deterministic) return std::unexpected(buffer.error());
            bound.chunks = cut_root(extent, slot, walked);
            break;
          }
          copies.buffers.push_back(*buffer);
        }
        bound.copies.push_back(std::move(copies));
      }
      for (PrivateCopies& copies : bound.copies) copies.buffers.resize(std::max<std::size_t>(bound.chunks.size(), 1) - 1);
      bound.private_copies = bound.chunks.size() > 1;
    }
  }
  const Scratch scratch = scratch_layout(nest, network);
  bound.scratch_bytes = scratch.bytes;
  const std::size_t frames = bound.private_copies ? bound.chunks.size() : 1;
  for (std::size_t slot = 0; slot < frames; ++slot) {
    std::map<std::uint32_t, const void*> replaced;
    for (const PrivateCopies& copies : bound.copies) {
      if (slot > 0) replaced[copies.tensor] = copies.buffers[slot - 1].data();
    }
    std::vector<std::uint64_t> frame;
    for (const Word& word : nest.signature.words) {
      frame.push_back(word_value(word, nest, network, tensors, scratch, replaced));
    }
    bound.frames.push_back(std::move(frame));
  }
  return bound;
}

}  // namespace

Expected<Binding> Kernel::bind(const std::map<std::string, Tensor>& operands, const Resources& resources,
                               bool deterministic) const {
  auto state = std::make_unique<Binding::State>();
  state->kernel = state_;
  state->resources = resources;
  const Schedule& schedule = state_->plan.schedule;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint32_t number = 0; number < schedule.tensors.size(); ++number) {
    const ScheduledTensor& scheduled = schedule.tensors[number];
    Expected<Tensor> tensor = Tensor{};
    if (scheduled.role == TensorRole::operand) {
      tensor = bound_operand(scheduled, state_->network, operands, resources);
    } else if (used_by_nests(state_->nests, number)) {
      tensor = fresh(scheduled, state_->network, resources);
    }
    if (!tensor) return std::unexpected(tensor.error());
    state->tensors.push_back(std::move(*tensor));
  }
  state->convert_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::uint64_t scratch_bytes = 0;
  for (const CompiledNest& nest : state_->nests) {
    if (auto facts = recheck(nest.nest, state_->network, schedule, state->tensors, resources.threads); !facts) {
      return std::unexpected(facts.error());
    }
    auto bound = bind_nest(nest, state_->network, state_->plan, state->tensors, resources, deterministic);
    if (!bound) return std::unexpected(bound.error());
    scratch_bytes = std::max(scratch_bytes, bound->scratch_bytes);
    state->nests.push_back(std::move(*bound));
    state->counts.emplace_back(nest.nest.loops.size(), 0);
  }
  for (unsigned worker = 0; worker < resources.threads.count() && scratch_bytes > 0; ++worker) {
    auto scratch = Buffer::allocate(scratch_bytes, resources.memory, "workspaces");
    if (!scratch) return std::unexpected(scratch.error());
    state->scratch.push_back(*scratch);
  }
  for (const BoundNest& nest : state->nests) state->clear(nest);
  return Binding(std::move(state));
}

}  // namespace weft
