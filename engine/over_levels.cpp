// Kernels over exposed levels: bound to the tensors of the network as it was given.
#include <fmt/format.h>

#include <algorithm>

#include "engine/assumptions.h"
#include "engine/compiled_state.h"
#include "runtime/convert.h"
#include "runtime/elapsed.h"
#include "runtime/indices.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {

CompiledNetwork CompiledNetwork::over(std::shared_ptr<const Exposure> exposure, PlainKernel plain,
                                      std::map<std::string, Format> formats) const {
  auto state = std::make_shared<State>(*state_);
  state->exposure = std::move(exposure);
  state->plain = std::move(plain);
  state->given_for = std::move(formats);
  return CompiledNetwork(std::move(state));
}

CompiledNetwork CompiledNetwork::with_pinned_layouts(std::map<std::string, Format> layouts) const {
  if (layouts.empty()) return *this;
  auto state = std::make_shared<State>(*state_);
  state->pinned_layouts = std::move(layouts);
  return CompiledNetwork(std::move(state));
}

CompiledNetwork CompiledNetwork::with_stated_formats(std::map<std::string, StatedFormat> formats) const {
  if (formats.empty()) return *this;
  auto state = std::make_shared<State>(*state_);
  state->stated = std::move(formats);
  return CompiledNetwork(std::move(state));
}

const Exposure* CompiledNetwork::exposure() const { return state_->exposure.get(); }

namespace {

Expected<std::map<std::string, Tensor>> in_layouts(std::map<std::string, Tensor> operands, const std::map<std::string, Format>& layouts,
                                                   const HostMemory& host, const Resources& resources) {
  for (const auto& [name, layout] : layouts) {
    const auto given = operands.find(name);
    if (given == operands.end() || given->second.extents().size() != layout.modes()) continue;
    Format format = layout;
    format.scalar = given->second.format().scalar;
    auto stored = laid_out(given->second, format, host.changing.contains(name), resources, name);
    if (!stored) return std::unexpected(stored.error());
    given->second = std::move(stored->tensor);
  }
  return operands;
}

/// Layouts of operands, which may be let go of while the operands live, are held.
HostMemory with_handles(HostMemory host, const std::map<std::string, Tensor>& given, const std::map<std::string, Tensor>& stored) {
  host.lent = false;
  if (host.given == nullptr) host.given = &given;
  for (const auto& [name, tensor] : given) {
    if (values_decide_pattern(TensorParts::as_stored(tensor), stored.at(name).format())) host.from_values.insert(name);
  }
  return host;
}

/// The same for kernels over exposed levels, which read operands that are stored as they are to be read where they stand.
void note_given(HostMemory& host, const std::map<std::string, Tensor>& given, const Exposure& exposure,
                const ExposedOperands& exposed_operands) {
  if (host.given == nullptr) host.given = &given;
  for (TensorId operand = 0; operand < exposure.tensors.size(); ++operand) {
    const std::optional<Format>& read_in = exposure.tensors[operand].read_in;
    const std::string& name = exposure.given.tensors[operand].name;
    const auto tensor = given.find(name);
    if (!read_in || tensor == given.end() || exposed_operands.as_given(name)) continue;
    if (values_decide_pattern(TensorParts::as_stored(tensor->second), *read_in)) host.from_values.insert(name);
  }
}

/// Results at the positions of operands have those of the layouts, which are not the host's, but the formats that these come in.
void tell_given(const std::map<std::string, Tensor>& given, const std::map<std::string, Tensor>& stored,
                std::map<std::string, std::string>& patterns, std::map<std::string, Format>& formats) {
  for (const auto& [name, tensor] : given) {
    if (tensor.format() == stored.at(name).format()) continue;
    std::erase_if(patterns, [&](const auto& one) { return one.second == name; });
    if (const auto known = formats.find(name); known != formats.end()) known->second = tensor.format();
  }
}

/// Whether a result is not handed over as it is computed.
bool is_put_together(const ExposedTensor& result) { return !result.parts.empty() || result.handed_over; }

/// Takes the memory for results that are not computed as they are handed over out of the host's.
Expected<std::map<std::string, HostOutput>> taken_outputs(const Exposure& exposure, HostMemory& host) {
  std::map<std::string, HostOutput> taken;
  for (TensorId tensor = 0; tensor < exposure.tensors.size(); ++tensor) {
    const TensorDeclaration& declared = exposure.given.tensors[tensor];
    const auto output = host.outputs.find(declared.name);
    if (output == host.outputs.end() || !is_put_together(exposure.tensors[tensor])) continue;
    const Tensor& memory = output->second.memory;
    if (memory.extents() != declared.extents)
      return fail(ErrorKind::input, ErrorCode::extents_disagree, declared.name,
                  fmt::format("the memory for {} has extents {}, the result {}", declared.name, fmt::join(memory.extents(), "x"),
                              fmt::join(declared.extents, "x")));
    taken.insert(host.outputs.extract(output));
  }
  return taken;
}

/// "(3,0)": the first entry of one tensor, in its order, that another with less of the same order has not.
std::string first_beyond(const Coordinates& all, const Coordinates& some) {
  const auto coordinate = [](const Coordinates& of, std::size_t mode, std::uint64_t entry) {
    return Indices(of.crd[mode], static_cast<unsigned>(of.crd[mode].size_bytes() / of.count * 8))[entry];
  };
  std::string place;
  for (std::uint64_t entry = 0; entry < all.count && place.empty(); ++entry) {
    bool same = entry < some.count;
    for (std::size_t mode = 0; mode < all.crd.size() && same; ++mode) same = coordinate(all, mode, entry) == coordinate(some, mode, entry);
    for (std::size_t mode = 0; mode < all.crd.size() && !same; ++mode)
      place += fmt::format("{}{}", mode == 0 ? "" : ",", coordinate(all, mode, entry));
  }
  return '(' + place + ')';
}

/// One array behind the other.
Expected<Buffer> joined(const Buffer& one, const Buffer& other, const Memory& memory, const std::string& name) {
  auto both = Buffer::allocate(one.size_bytes() + other.size_bytes(), memory, name);
  if (!both) return both;
  const auto bytes = both->as<std::byte>();
  std::ranges::copy(one.as<const std::byte>(), bytes.begin());
  std::ranges::copy(other.as<const std::byte>(), bytes.begin() + static_cast<std::ptrdiff_t>(one.size_bytes()));
  return both;
}

/// Into memory of the host, unless that was done before in this run.
Expected<void> write_once(const Tensor& result, HostOutput& output, bool written, const Resources& resources, const std::string& name) {
  if (written) return {};
  const bool dense = output.memory.format().all_dense();
  const auto there = dense ? Expected<Tensor>(result) : over_pattern(result, output.memory, resources, name);
  if (!there) return std::unexpected(there.error());
  const Tensor from = dense ? *there : as_row(*there), to = dense ? output.memory : as_row(output.memory);
  if (auto done = write_dense(from, to, resources, name, output.scaling); !done) return done;
  output.memory.values_changed();
  return {};
}

}  // namespace

Expected<Tensor> over_pattern(const Tensor& result, const Tensor& memory, const Resources& resources, const std::string& name) {
  if (result.format().text() == memory.format().text() && same_coordinates(result, memory)) return result;
  auto places = entries(memory, false, resources);
  if (!places) return std::unexpected(places.error());
  auto stored = entries(result, true, resources);
  if (!stored) return std::unexpected(stored.error());
  Coordinates both{result.extents(), {}, {}, result.format().scalar, places->count + stored->count};
  for (std::size_t mode = 0; mode < result.order(); ++mode) {
    auto crd = joined(places->crd[mode], stored->crd[mode], resources.memory, name);
    if (!crd) return std::unexpected(crd.error());
    both.crd.push_back(std::move(*crd));
  }
  auto zeros = Buffer::allocate(places->count * scalar_bytes(both.scalar), resources.memory, name);
  if (!zeros) return std::unexpected(zeros.error());
  auto values = joined(*zeros, stored->values, resources.memory, name);
  if (!values) return std::unexpected(values.error());
  both.values = std::move(*values);
  Format format = memory.format();
  format.scalar = both.scalar;
  auto there = build(std::move(both), format, resources, name);
  if (!there || same_coordinates(*there, memory)) return there;
  const auto all = entries(*there, false, resources);
  if (!all) return std::unexpected(all.error());
  return fail(ErrorKind::input, ErrorCode::pattern_changed, name,
              fmt::format("the result {0} has an entry at {1}, for which the memory for it has no place: coordinates of an operand have "
                          "changed, or a sum was 0 when Kernel::symbolic gave the pattern and is not now",
                          name, first_beyond(*all, *places)));
}

Expected<BoundNetwork> CompiledNetwork::bind(const std::map<std::string, Tensor>& operands, const Resources& resources,
                                             bool deterministic, const HostMemory& host) const {
  if (state_->pinned_layouts.empty()) return bind_given(operands, resources, deterministic, host);
  const auto stored = in_layouts(operands, state_->pinned_layouts, host, resources);
  if (!stored) return std::unexpected(stored.error());
  auto bound = bind_given(*stored, resources, deterministic, with_handles(host, operands, *stored));
  if (!bound) return bound;
  BoundNetwork::State& state = *bound->state_;
  state.pinned_by = state_;
  tell_given(operands, *stored, state.patterns, state.given_formats);
  const bool takes_again = !host.changing.empty() && !host.lent;
  state.operands = takes_again ? operands : std::map<std::string, Tensor>();
  state.host = takes_again ? host : HostMemory();
  return bound;
}

Expected<BoundNetwork> CompiledNetwork::bind_given(const std::map<std::string, Tensor>& operands, const Resources& resources,
                                                   bool deterministic, const HostMemory& host) const {
  if (!state_->exposure) return bind_levels(operands, resources, deterministic, host);
  if (auto all = state_->all_there(operands); !all) return std::unexpected(all.error());
  const auto start = Clock::now();
  ExposedOperands exposed_operands;
  auto other = exposed_operands.take(*state_->exposure, operands, host, resources);
  if (!other) return std::unexpected(other.error());
  if (!*other) *other = changed_entries(state_->exposure->given, state_->given_for, operands, resources.threads, host.assume_finite);
  if (*other) {
    const auto plain = state_->plain(operands, **other);
    if (!plain) return std::unexpected(plain.error());
    return plain->bind(operands, resources, deterministic, host);
  }
  HostMemory left = host;
  auto outputs = taken_outputs(*state_->exposure, left);
  if (!outputs) return std::unexpected(outputs.error());
  note_given(left, operands, *state_->exposure, exposed_operands);
  left.network = &state_->exposure->given;
  const double read_ms = milliseconds_since(start);
  auto bound = bind_levels(exposed_operands.read(), resources, deterministic, left);
  if (!bound) return bound;
  BoundNetwork::State& state = *bound->state_;
  state.over_levels = state_;
  state.exposed_operands = std::move(exposed_operands);
  state.exposed_outputs = std::move(*outputs);
  state.convert_ms += read_ms;
  for (const auto& [name, tensor] : operands) state.given_formats[name] = tensor.format();
  if (auto suit = state.check_exposed_outputs(); !suit) return std::unexpected(suit.error());
  state.note_patterns();
  if (!host.changing.empty() && !host.lent) {
    state.operands = operands;
    state.host = host;
  }
  return bound;
}

Expected<bool> BoundNetwork::rebind(const std::map<std::string, Tensor>& operands, const HostMemory& host) {
  const State& state = *state_;
  if (!state.pinned_by) return rebind_given(operands, host);
  const auto stored = in_layouts(operands, state.pinned_by->pinned_layouts, host, state.resources);
  if (!stored) return std::unexpected(stored.error());
  auto bound = rebind_given(*stored, with_handles(host, operands, *stored));
  tell_given(operands, *stored, state_->patterns, state_->given_formats);
  return bound;
}

Expected<bool> BoundNetwork::rebind_given(const std::map<std::string, Tensor>& operands, const HostMemory& host) {
  State& state = *state_;
  if (!state.over_levels) return rebind_levels(operands, host);
  const auto start = Clock::now();
  const auto other = state.exposed_operands.take(*state.over_levels->exposure, operands, host, state.resources);
  if (!other) return std::unexpected(other.error());
  if (*other || changed_entries(state.over_levels->exposure->given, state.over_levels->given_for, operands, state.resources.threads,
                                host.assume_finite))
    return false;
  HostMemory left = host;
  auto outputs = taken_outputs(*state.over_levels->exposure, left);
  if (!outputs) return std::unexpected(outputs.error());
  state.exposed_outputs = std::move(*outputs);
  note_given(left, operands, *state.over_levels->exposure, state.exposed_operands);
  left.network = &state.over_levels->exposure->given;
  for (const auto& [name, tensor] : operands) {
    if (Format& known = state.given_formats[name]; !(known == tensor.format())) known = tensor.format();
  }
  state.convert_ms += milliseconds_since(start);
  auto bound = rebind_levels(state.exposed_operands.read(), left);
  if (!bound || !*bound) return bound;
  if (auto suit = state.check_exposed_outputs(); !suit) return std::unexpected(suit.error());
  state.note_patterns();
  return bound;
}

Expected<void> BoundNetwork::State::check_exposed_outputs() const {
  const Schedule& schedule = kernel->plan.schedule;
  for (const auto& [name, output] : exposed_outputs) {
    const auto result = std::ranges::find_if(
        schedule.tensors, [&](const ScheduledTensor& each) { return each.role == TensorRole::result && each.name == name; });
    if (result == schedule.tensors.end()) return no_result(name);
    const Format& stored = output.memory.format();
    if (stored.all_dense()) continue;
    const Format& computed = result->delivered ? *result->delivered : result->format;
    const Format handed = format_handed_over(*over_levels->exposure, schedule, *result, computed, given_formats);
    if (!result->like && stored.text() != handed.text()) return stored_otherwise(name, stored, handed);
    if (auto same = check_pattern(*result, output.memory, over_levels->exposure->given); !same) return same;
  }
  return {};
}

bool BoundNetwork::is_over_levels(const std::string& result) const {
  if (!state_->over_levels) return false;
  const Exposure& exposure = *state_->over_levels->exposure;
  const auto declared = std::ranges::find(exposure.given.tensors, result, &TensorDeclaration::name);
  return declared != exposure.given.tensors.end() &&
         is_put_together(exposure.tensors[static_cast<std::size_t>(declared - exposure.given.tensors.begin())]);
}

Expected<std::map<std::string, Tensor>> BoundNetwork::results() {
  State& state = *state_;
  const bool written = state.handed_over;
  auto results = level_results();
  if (!results || !state.over_levels) return results;
  const auto start = Clock::now();
  const Exposure& exposure = *state.over_levels->exposure;
  for (const ScheduledTensor& scheduled : state.kernel->plan.schedule.tensors) {
    if (scheduled.role != TensorRole::result) continue;
    Tensor& result = results->at(scheduled.name);
    if (const auto known = state.given_results.find(scheduled.name); known != state.given_results.end()) {
      const auto output = state.exposed_outputs.find(scheduled.name);
      result = output == state.exposed_outputs.end() ? known->second : output->second.memory;
      continue;
    }
    const Format format = format_handed_over(exposure, state.kernel->plan.schedule, scheduled, result.format(), state.given_formats);
    const auto memory = state.exposed_outputs.find(scheduled.name);
    const bool is_written = memory != state.exposed_outputs.end() && format.all_dense() && format.scalar == result.format().scalar;
    if (const auto shown = is_written ? dense_as_given(exposure, scheduled.tensor, result) : std::nullopt) {
      if (auto done = write_once(*shown, memory->second, written, state.resources, scheduled.name); !done)
        return std::unexpected(done.error());
      result = memory->second.memory;
      state.given_results[scheduled.name] = result;
      continue;
    }
    auto given = handed_over(exposure, scheduled.tensor, result, format, state.resources);
    if (!given) return std::unexpected(given.error());
    result = std::move(*given);
    state.given_results[scheduled.name] = result;
    if (memory == state.exposed_outputs.end()) continue;
    if (auto done = write_once(result, memory->second, written, state.resources, scheduled.name); !done)
      return std::unexpected(done.error());
    result = memory->second.memory;
  }
  state.convert_ms += milliseconds_since(start);
  return results;
}

}  // namespace weft
