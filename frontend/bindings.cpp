// Bindings: tensors of the host by name, and host memory for results.
#include <fmt/format.h>

#include "frontend/engine_state.h"
#include "runtime/guarded.h"
#include "weft/host.h"

namespace weft {

Bindings::Bindings() {
  failed_ = !had_memory_for([&] { state_ = std::make_shared<State>(); });
}

std::optional<Error> Bindings::failure() const {
  if (!failed_ && !state_) return input_error("the bindings are empty: they were moved from").error();
  if (!failed_) return std::nullopt;
  return out_of_memory({"operands and outputs were set"});
}

// Copies, and runs under way, keep the tables that they have; those of these bindings alone are changed in place.
void Bindings::separate() {
  if (state_ && state_.use_count() == 1) {
    state_->stamp = State::next_stamp();
    state_->verified.store(false, std::memory_order_relaxed);
    state_->known.store(false, std::memory_order_relaxed);
    return;
  }
  state_ = state_ ? std::make_shared<State>(*state_) : std::make_shared<State>();
}

void Bindings::put(const std::string& name, Tensor tensor, OperandUse use) {
  separate();
  if (use.trusted) tensor = trusted(std::move(tensor));
  state_->tensors[name] = std::move(tensor);
  if (use.changes) {
    state_->host.changing.insert(name);
  } else if (!state_->host.changing.empty()) {
    state_->host.changing.erase(name);
  }
  if (use.assume_finite) {
    state_->host.assume_finite.insert(name);
  } else if (!state_->host.assume_finite.empty()) {
    state_->host.assume_finite.erase(name);
  }
}

// Of bindings of which something is missing nothing runs, so nothing more is set either.
void Bindings::set(const std::string& name, Tensor tensor, OperandUse use) {
  failed_ = failed_ || !had_memory_for([&] { put(name, std::move(tensor), use); });
}

Expected<void> Bindings::replace_values(const std::string& name, HostValues values) {
  if (auto failed = failure()) return std::unexpected(std::move(*failed));
  return guarded({"replacing the values of ", name}, [&]() -> Expected<void> {
    const auto known = state_->tensors.find(name);
    if (known == state_->tensors.end())
      return fail(ErrorKind::input, ErrorCode::unknown_name, name,
                  fmt::format("no operand {} is set whose values could be replaced", name));
    auto replaced = same_pattern(known->second, values);
    if (!replaced)
      return fail(replaced.error().kind, replaced.error().code, name,
                  fmt::format("operand {}: {}", name, replaced.error().message));
    separate();
    state_->tensors.find(name)->second = std::move(*replaced);
    return {};
  });
}

void Bindings::scratch(std::span<std::byte> memory) {
  failed_ = failed_ || !had_memory_for([&] {
    separate();
    state_->host.scratch = memory;
  });
}

void Bindings::output(const std::string& name, Tensor memory) { output(name, std::move(memory), {}); }

void Bindings::output(const std::string& name, Tensor memory, OutputUse use) {
  failed_ = failed_ || !had_memory_for([&] {
    separate();
    state_->host.outputs[name] = {std::move(memory), {use.alpha, use.beta}};
  });
}

Expected<void> Bindings::scale_output(const std::string& name, OutputUse use) {
  if (auto failed = failure()) return std::unexpected(std::move(*failed));
  return guarded({"scaling ", name}, [&]() -> Expected<void> {
    if (!state_->host.outputs.contains(name))
      return fail(ErrorKind::input, ErrorCode::unknown_name, name, fmt::format("no memory is set for {} that could be scaled", name));
    const bool verified = state_->verified.load(std::memory_order_relaxed);
    separate();
    state_->verified.store(verified, std::memory_order_relaxed);
    state_->host.outputs.find(name)->second.scaling = {use.alpha, use.beta};
    return {};
  });
}

}  // namespace weft
