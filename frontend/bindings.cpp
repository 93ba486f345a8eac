// Bindings: tensors of the host, verified once, and the memory of the runs over them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "frontend/engine_state.h"
#include "runtime/guarded.h"
#include "weft/host.h"

namespace weft {
namespace {

bool overlap(const Buffer& a, const Buffer& b) {
  const auto begin = [](const Buffer& buffer) { return static_cast<const std::byte*>(buffer.data()); };
  if (a.size_bytes() == 0 || b.size_bytes() == 0) return false;
  const std::less<const std::byte*> before;
  return before(begin(a), begin(b) + b.size_bytes()) && before(begin(b), begin(a) + a.size_bytes());
}

bool overlap(const Tensor& tensor, const Buffer& memory) {
  return overlap(tensor.values(), memory) || std::ranges::any_of(tensor.levels(), [&](const LevelArrays& level) {
           return overlap(level.pos, memory) || overlap(level.crd, memory);
         });
}

}  // namespace

Bindings::Bindings() {
  failed_ = !had_memory_for([&] { state_ = std::make_shared<State>(); });
}

std::optional<Error> Bindings::failure() const {
  if (!failed_ && !state_) return input_error("the bindings are empty: they were moved from").error();
  if (!failed_) return std::nullopt;
  return out_of_memory({"operands and outputs were set"});
}

// Whoever changes bindings gets tables of its own: copies, and runs under way, keep theirs.
void Bindings::separate() {
  auto own = std::make_shared<State>();
  if (state_) {
    const std::shared_lock lock(state_->mutex);
    own->operands = state_->operands;
    own->outputs = state_->outputs;
    own->idle = state_->idle;
  }
  state_ = std::move(own);
}

void Bindings::put(const std::string& name, Tensor tensor, OperandUse use) {
  separate();
  state_->operands[name] = {std::move(tensor), use};
}

// Of bindings of which something is missing nothing runs, so nothing more is set either.
void Bindings::set(const std::string& name, Tensor tensor, OperandUse use) {
  failed_ = failed_ || !had_memory_for([&] { put(name, std::move(tensor), use); });
}

void Bindings::output(const std::string& name, Tensor memory) {
  failed_ = failed_ || !had_memory_for([&] {
    separate();
    state_->outputs[name] = std::move(memory);
  });
}

Expected<void> Bindings::State::verify(const Resources& resources) {
  for (auto& [name, operand] : operands) {
    if (operand.use.trusted || operand.verified) continue;
    // Arrays that are not borrowed may have been filled by the host all the same.
    auto right = operand.tensor.borrowed() ? verify_once(operand.tensor, resources, name) : weft::verify(operand.tensor, resources, name);
    if (!right) return right;
    operand.verified = true;
  }
  for (const auto& [name, memory] : outputs) {
    if (auto right = weft::verify(memory, resources, name); !right) return right;
    for (const auto& [operand, stored] : operands) {
      if (overlap(stored.tensor, memory.values()))
        return input_error(fmt::format("the memory for {} overlaps the operand {}", name, operand));
    }
    for (const auto& [other, second] : outputs) {
      if (other != name && overlap(second.values(), memory.values()))
        return input_error(fmt::format("the memory for {} overlaps that for {}", name, other));
    }
  }
  return {};
}

Expected<std::shared_ptr<RunPool>> Bindings::State::pool(const std::shared_ptr<const Kernel::State>& kernel,
                                                         const Cancellation* cancellation) {
  const auto known = [&] { return std::ranges::find(runs, kernel, &Run::kernel); };
  {
    const std::shared_lock lock(mutex);
    if (const auto found = known(); found != runs.end()) return found->pool;
  }
  const std::unique_lock lock(mutex);
  if (const auto found = known(); found != runs.end()) return found->pool;
  const Resources& resources = kernel->options.resources;
  if (auto right = verify(cancellation ? resources.with(*cancellation) : resources); !right) return std::unexpected(right.error());
  Tensors tensors;
  HostMemory host{outputs, {}};
  for (const auto& [name, operand] : operands) {
    tensors[name] = operand.use.trusted ? trusted(operand.tensor) : operand.tensor;
    if (operand.use.changes) host.changing.insert(name);
  }
  auto pool = std::make_shared<RunPool>(kernel->code, std::move(tensors), std::move(host), kernel->options, idle);
  if (runs.size() == most_runs) runs.pop_back();
  runs.insert(runs.begin(), {kernel, pool});
  return pool;
}

}  // namespace weft
