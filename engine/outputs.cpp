// Results and intermediates: made, put into memory of the host, and handed over.
#include <fmt/format.h>

#include <algorithm>

#include "engine/compiled_state.h"
#include "engine/computed_pattern.h"
#include "engine/plan/schedule/widths.h"
#include "runtime/dense_levels.h"
#include "runtime/elapsed.h"
#include "runtime/copied.h"
#include "runtime/extents.h"
#include "runtime/gaps.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

/// The positions of `pattern`, or of its first levels with dense ones below, without values; its modes may stand in another order.
TensorArrays positions_like(const Tensor& pattern, const ScheduledTensor& scheduled, std::vector<std::uint64_t> extents) {
  TensorArrays tensor;
  tensor.format = scheduled.format;
  tensor.extents = std::move(extents);
  tensor.levels = pattern.levels();
  tensor.levels.resize(appended_levels(scheduled.format.levels));
  tensor.levels.resize(tensor.order());
  return tensor;
}

/// How many values there are at these; gaps of hashed and bitmap levels have some too.
std::uint64_t values_like(const Tensor& pattern, const ScheduledTensor& scheduled, const std::vector<std::uint64_t>& extents) {
  const std::size_t shared = appended_levels(scheduled.format.levels);
  std::uint64_t values = pattern.positions(shared - 1);
  for (std::size_t level = shared; level < extents.size(); ++level)
    values = saturating_product(values, extents[scheduled.format.mode_order[level]]);
  return values;
}

/// Values at positions of `pattern` that has as many in the same order.
Tensor at_positions(const Tensor& pattern, const ScheduledTensor& result, const Tensor& computed) {
  TensorArrays tensor;
  tensor.format = *result.delivered;
  tensor.extents = computed.extents();
  tensor.levels = pattern.levels();
  tensor.values = computed.values();
  return made(std::move(tensor));
}

/// With values of its own.
Expected<Tensor> like(const Tensor& pattern, const ScheduledTensor& scheduled, std::vector<std::uint64_t> extents,
                      const Resources& resources) {
  const std::uint64_t count = values_like(pattern, scheduled, extents);
  TensorArrays tensor = positions_like(pattern, scheduled, std::move(extents));
  auto values = Buffer::allocate(saturating_product(count, scalar_bytes(scheduled.format.scalar)), resources.memory, scheduled.name);
  if (!values) return std::unexpected(values.error());
  tensor.values = std::move(*values);
  return made(std::move(tensor));
}

/// With the distances of neighbours, which kernels read whose results may have strides, whether they have or not.
Tensor with_strides(TensorArrays result, const std::vector<std::uint64_t>& by_mode) {
  for (std::size_t level = 0; level < result.order(); ++level) result.levels[level].stride = by_mode[result.format.mode_order[level]];
  return made(std::move(result));
}

/// A dense result computed where the host wants it.
Tensor in_place(const Tensor& memory, const Format& format) {
  TensorArrays result;
  result.format = format;
  result.extents = memory.extents();
  result.levels.resize(memory.order());
  if (is_packed(memory, format)) {
    std::uint64_t bytes = scalar_bytes(format.scalar);
    const std::uint64_t first = memory.offset() * bytes;
    for (const std::uint64_t extent : memory.extents()) bytes = saturating_product(bytes, extent);
    result.values = Buffer::borrow(memory.values().as<const std::byte>().data() + first, bytes);
  } else {
    for (Level& level : result.format.levels) level.strided = true;
    result.values = memory.values();
    result.offset = memory.offset();
  }
  return with_strides(std::move(result), strides_by_mode(memory));
}

/// Whether the pattern of memory was put together from levels of layouts, so that what a kernel computes is to be compared with it.
bool is_put_together_pattern(const Tensor& memory) {
  const PatternFacts* const facts = TensorParts::pattern_facts(memory);
  return facts != nullptr && facts->computed && facts->computed->over_levels;
}

const Format& handed_over_in(const ScheduledTensor& result) { return result.delivered ? *result.delivered : result.format; }

bool writes(const CompiledNest& nest, std::uint32_t tensor) {
  for (std::size_t storage = 0; storage < nest.nest.tensors.size(); ++storage) {
    if (nest.nest.tensors[storage] == tensor && nest.nest.program.storages[storage].role == loop::Role::output) return true;
  }
  return false;
}

std::uint64_t stored_elements(const Tensor& tensor) { return tensor.values().size_bytes() / scalar_bytes(tensor.format().scalar); }

}  // namespace

Tensor as_row(const Tensor& tensor) {
  TensorArrays row;
  row.format = dense_format(1, tensor.format().scalar);
  row.extents = {stored_elements(tensor)};
  row.levels.resize(1);
  row.values = tensor.values();
  return made(std::move(row));
}

std::unexpected<Error> no_result(const std::string& name) {
  return fail(ErrorKind::input, ErrorCode::unknown_name, name,
              fmt::format("memory is given for {}, which is no result of the kernel", name));
}

std::unexpected<Error> stored_otherwise(const std::string& name, const Format& memory, const Format& result) {
  return fail(ErrorKind::input, ErrorCode::other, name,
              fmt::format("the memory for {} is stored as {}, the result as {}", name, memory.text(), result.text()));
}

BoundArrays arrays_of(const Tensor& tensor) {
  const PatternFacts* const pattern = TensorParts::pattern_facts(tensor);
  const ValueFacts* const values = TensorParts::value_facts(tensor);
  return {pattern ? pattern->number : 0, values ? values->number : 0, values ? values->version() : 0};
}

bool used_by_nests(const std::vector<CompiledNest>& nests, std::uint32_t tensor) {
  return std::ranges::any_of(
      nests, [&](const CompiledNest& nest) { return std::ranges::find(nest.nest.tensors, tensor) != nest.nest.tensors.end(); });
}

Expected<Tensor> fresh(const ScheduledTensor& scheduled, const Network& network, const std::vector<Tensor>& tensors,
                       const Resources& resources) {
  std::vector<std::uint64_t> extents = extents_of(scheduled, network);
  if (scheduled.delivered && !scheduled.like) {  // converted after every run, when intermediates are gone: refused before the first
    auto room = room_for_gaps(*scheduled.delivered, extents, {.given_back = resources.memory.used()}, resources, scheduled.name);
    if (!room) return std::unexpected(room.error());
  }
  if (scheduled.like) return like(tensors[*scheduled.like], scheduled, std::move(extents), resources);
  if (scheduled.format.all_dense()) {
    auto zeros = dense_zeros(std::move(extents), scheduled.format, resources, scheduled.name);
    return zeros ? Expected<Tensor>(with_strides(zeros->arrays(), strides_by_mode(*zeros))) : zeros;
  }
  TensorArrays tensor;
  tensor.format = scheduled.format;
  tensor.levels.resize(extents.size());
  tensor.extents = std::move(extents);
  return made(std::move(tensor));
}

void scale_values(const Tensor& tensor, double factor, const Threads* threads) {
  scale_dense(tensor.format().all_dense() ? tensor : as_row(tensor), factor, threads);
}

Expected<void> BoundNetwork::State::check_output(const std::string& name, const Tensor& memory, const Network& given) const {
  const std::vector<ScheduledTensor>& scheduled = kernel->plan.schedule.tensors;
  const auto result = std::ranges::find_if(
      scheduled, [&](const ScheduledTensor& each) { return each.role == TensorRole::result && each.name == name; });
  if (result == scheduled.end())
    return no_result(name);
  const std::vector<std::uint64_t> extents = extents_of(*result, kernel->network);
  if (memory.extents() != extents)
    return fail(ErrorKind::input, ErrorCode::extents_disagree, name,
                fmt::format("the memory for {} has extents {}, the result {}", name, fmt::join(memory.extents(), "x"),
                            fmt::join(extents, "x")));
  if (memory.format().all_dense()) return {};
  if (!result->like && memory.format().text() != handed_over_in(*result).text())
    return stored_otherwise(name, memory.format(), handed_over_in(*result));
  return check_pattern(*result, memory, given);
}

Expected<void> BoundNetwork::State::check_pattern(const ScheduledTensor& result, const Tensor& memory, const Network& given) const {
  const PatternFacts* const facts = TensorParts::pattern_facts(memory);
  const auto changed = [&](const std::string& operand) {
    return fail(ErrorKind::input, ErrorCode::pattern_changed, operand,
                fmt::format("the memory for {} was made for another pattern of {}", result.name, operand));
  };
  // Where the kernel reads a copy in another format, Kernel::symbolic gives a pattern of its own.
  if (has_whole_pattern(result) && !facts->computed) {
    const std::string& operand = kernel->network.tensors[kernel->plan.schedule.tensors[*result.like].tensor].name;
    if (!has_pattern(*facts, given_patterns[*result.like])) return changed(operand);
    const bool gaps = std::ranges::any_of(memory.format().levels, [](const Level& level) { return has_gaps(level.kind); });
    if (gaps && !over_levels && !has_pattern_as_given(result))
      return unsupported(fmt::format("{} cannot be written at the positions of {}: the kernel reads a converted copy of it; pin its format",
                                     result.name, operand));
    return {};
  }
  const ComputedPattern* const computed = facts->computed.get();
  if (computed == nullptr || computed->result != result.name || computed->network != print(given))
    return fail(ErrorKind::input, ErrorCode::other, result.name,
                fmt::format("the memory for {} has a pattern that Kernel::symbolic did not give for it", result.name));
  const std::vector<ScheduledTensor>& scheduled = kernel->plan.schedule.tensors;
  for (std::uint32_t number = 0; number < scheduled.size(); ++number) {
    if (scheduled[number].role != TensorRole::operand) continue;
    const std::string& operand = kernel->network.tensors[scheduled[number].tensor].name;
    const auto then = computed->operands.find(operand);
    if (then == computed->operands.end() || then->second != given_patterns[number]) return changed(operand);
  }
  return {};
}

bool BoundNetwork::State::has_whole_pattern(const ScheduledTensor& result) const {
  if (!result.like) return false;
  const ScheduledTensor& operand = kernel->plan.schedule.tensors[*result.like];
  if (operand.format.order() != result.format.order()) return false;
  const std::vector<std::uint64_t> has = extents_of(operand, kernel->network);
  const std::vector<std::uint64_t> wanted = extents_of(result, kernel->network);
  for (std::size_t level = 0; level < has.size(); ++level) {
    const bool same = operand.format.levels[level].kind == result.format.levels[level].kind &&
                      has[operand.format.mode_order[level]] == wanted[result.format.mode_order[level]];
    if (!same) return false;
  }
  return true;
}

bool BoundNetwork::State::has_pattern_as_given(const ScheduledTensor& result) const {
  if (!has_whole_pattern(result)) return false;
  if (result.delivered) {
    const Tensor* const lender = lender_of(result);
    return lender != nullptr && lender->format().mode_order == result.delivered->mode_order &&
           extents_of(result, kernel->network) == lender->extents();
  }
  const ScheduledTensor& operand = kernel->plan.schedule.tensors[*result.like];
  const bool as_given = operand.role == TensorRole::operand && laid[*result.like] == arrays[*result.like];
  return as_given && operand.format.mode_order == result.format.mode_order &&
         extents_of(result, kernel->network) == tensors[*result.like].extents();
}

const Tensor* BoundNetwork::State::lender_of(const ScheduledTensor& result) const {
  const auto found = result.like ? lenders.find(*result.like) : lenders.end();
  if (found == lenders.end() || !result.delivered) return nullptr;
  const Tensor& given = found->second;
  const Tensor& copy = tensors[*result.like];
  const bool as_planned = given.order() == result.delivered->order() && given.format().layout == nullptr &&
                          std::ranges::equal(given.format().levels, result.delivered->levels);
  if (!as_planned || TensorParts::pattern_facts(given)->place_bits > 0) return nullptr;
  const std::vector<std::uint32_t>& order = given.format().mode_order;
  const bool same_order = order == copy.format().mode_order && given.extents() == copy.extents();
  return same_order && given.positions(given.order() - 1) == copy.positions(copy.order() - 1) ? &given : nullptr;
}

// Of an exposed operand the positions are the given ones only where it is read as it was given.
bool BoundNetwork::State::is_handed_over_like(const ScheduledTensor& result, const std::string& operand) const {
  const std::optional<Format>& format = over_levels->exposure->tensors[result.tensor].handed_over;
  const auto given = given_formats.find(operand);
  const bool same = !format || (given != given_formats.end() && format->text() == given->second.text());
  const TensorId pattern = kernel->plan.schedule.tensors[*result.like].tensor;
  const bool same_modes = over_levels->exposure->tensors[result.tensor].parts == over_levels->exposure->tensors[pattern].parts;
  return same && same_modes && exposed_operands.as_given(operand);
}

void BoundNetwork::State::note_patterns() {
  patterns.clear();
  for (const ScheduledTensor& result : kernel->plan.schedule.tensors) {
    if (result.role != TensorRole::result || !has_pattern_as_given(result)) continue;
    const std::string& operand = kernel->network.tensors[kernel->plan.schedule.tensors[*result.like].tensor].name;
    if (over_levels && !is_handed_over_like(result, operand)) continue;
    patterns[result.name] = operand;
  }
}

bool BoundNetwork::State::computes_in(const HostOutput& output, std::uint32_t number) const {
  const ScheduledTensor& scheduled = kernel->plan.schedule.tensors[number];
  const Tensor& memory = output.memory;
  const auto& [alpha, beta] = output.scaling;
  if (is_put_together_pattern(memory)) return false;
  if ((scheduled.delivered && !scheduled.like) || memory.format().scalar != scheduled.format.scalar || alpha == 0) return false;
  const bool dense = memory.format().all_dense();
  if (dense != scheduled.format.all_dense()) return false;
  const bool is_like = scheduled.like.has_value();
  if (!dense && !is_like) return output.scaling == Scaling{};
  // Values may decide how many positions the operand has: no more are written than there is room for.
  const bool as_its_own = is_like && !has_whole_pattern(scheduled) && memory.format() == scheduled.format &&
                          values_like(tensors[*scheduled.like], scheduled, memory.extents()) == stored_elements(memory);
  if (is_like && !as_its_own && !has_pattern_as_given(scheduled)) return false;
  // Memory over the operand that a layout was made of has its values in another order, perhaps.
  if (!dense && !as_its_own && !has_pattern(*TensorParts::pattern_facts(memory), arrays[*scheduled.like].pattern)) return false;
  const bool packed = !dense || is_packed(memory, scheduled.format);
  const std::uint64_t last = packed ? 1 : strides_by_mode(memory)[scheduled.format.mode_order.back()];
  for (const CompiledNest& nest : kernel->nests) {
    if (output.scaling != Scaling{} && reads(nest, number)) return false;
    if (alpha != 1 && writes(nest, number) && std::ranges::find(nest.nest.scaled, number) == nest.nest.scaled.end()) return false;
    if (packed) continue;
    const loop::Program& program = nest.nest.program;
    for (std::size_t storage = 0; storage < program.storages.size(); ++storage) {
      const std::vector<Level>& levels = program.storages[storage].levels;
      if (nest.nest.tensors[storage] != number) continue;
      if (levels.empty() || !levels.front().strided || (levels.size() > 1 && last != 1)) return false;
    }
    // Private copies are summed as a whole, what lies between the elements included.
    const loop::For* const root = root_loop(program);
    if (root == nullptr) continue;
    for (const loop::ParallelTarget& target : root->marks.parallel) {
      if (target.reduction == loop::Reduction::private_copies && nest.nest.tensors[target.storage] == number) return false;
    }
  }
  return true;
}

Expected<void> BoundNetwork::State::take_outputs(const HostMemory& from, Replaced& replaced) {
  const Schedule& schedule = kernel->plan.schedule;
  if (from.outputs.empty() && written_to.empty() && !writes_to_host) return {};
  for (const auto& [name, output] : from.outputs) {
    if (auto right = check_output(name, output.memory, from.network ? *from.network : kernel->given); !right) return right;
  }
  writes_to_host = !from.outputs.empty();
  for (std::uint32_t number = 0; number < schedule.tensors.size(); ++number) {
    const ScheduledTensor& scheduled = schedule.tensors[number];
    if (scheduled.role != TensorRole::result) continue;
    const auto found = from.outputs.find(scheduled.name);
    const HostOutput* const output = found == from.outputs.end() ? nullptr : &found->second;
    BoundArrays now = output ? arrays_of(output->memory) : BoundArrays{};
    now.version = 0;  // runs change it
    const Scaling scaling = output ? output->scaling : Scaling{};
    if (now == arrays[number] && scaling == asked[number]) continue;
    arrays[number] = now;
    asked[number] = scaling;
    written_to.erase(number);
    scaled[number] = {};
    if (!used_by_nests(kernel->nests, number)) continue;
    if (output) written_to[number] = *output;
    const bool in_host_memory = output && computes_in(*output, number);
    replaced.values[number] = true;
    replaced.any_values = true;
    const bool is_appended = !scheduled.like && !scheduled.format.all_dense();
    const bool was_own = tensors[number].order() == scheduled.format.order() && !tensors[number].values().borrowed() &&
                         tensors[number].values().size_bytes() > 0;
    if (in_host_memory && !is_appended) {
      const Tensor& memory = output->memory;
      if (has_whole_pattern(scheduled)) {
        tensors[number] = TensorParts::with_values(tensors[*scheduled.like], memory.values(), 0, scheduled.format.scalar);
      } else if (scheduled.like) {
        TensorArrays there = positions_like(tensors[*scheduled.like], scheduled, memory.extents());
        there.values = memory.values();
        tensors[number] = made(std::move(there));
      } else {
        tensors[number] = in_place(memory, scheduled.format);
      }
      scaled[number] = scaling;
    } else if (!was_own && (!is_appended || tensors[number].order() != scheduled.format.order())) {
      auto tensor = fresh(scheduled, kernel->network, tensors, resources);
      if (!tensor) return std::unexpected(tensor.error());
      tensors[number] = std::move(*tensor);
    }
  }
  return {};
}

Expected<std::optional<Tensor>> BoundNetwork::State::placed(AppendedTarget& target, const std::vector<Chunk>& chunks,
                                                               std::optional<Tensor> left) {
  const auto output = written_to.find(target.tensor);
  const bool wanted = output != written_to.end() && !output->second.memory.format().all_dense() &&
                      computes_in(output->second, target.tensor);
  // What the last run left may have its values where the host wanted those.
  const bool borrowed = left && left->values().borrowed();
  if (!wanted) return borrowed ? std::nullopt : left;
  const Tensor& memory = output->second.memory;
  if (!left) {
    const ComputedPattern* const computed = TensorParts::pattern_facts(memory)->computed.get();
    if (computed == nullptr || computed->chunks != chunks || computed->entries.empty()) return std::nullopt;
    target.entries = computed->entries;
    auto sized = weft::sized(target.shape, target.entries, resources.memory);
    if (!sized) return std::unexpected(sized.error());
    left = std::move(*sized);
  }
  std::uint64_t elements = 0;
  for (const std::vector<std::uint64_t>& of_chunk : target.entries) elements += of_chunk[target.shape.last_compressed()];
  elements = saturating_product(elements, target.shape.block_bytes() / scalar_bytes(memory.format().scalar));
  if (elements != stored_elements(memory)) return borrowed ? std::nullopt : left;
  TensorArrays arrays_there = left->arrays();
  arrays_there.values = memory.values();
  return made(std::move(arrays_there));
}

namespace {

bool same_numbers(const Buffer& one, unsigned bits, const Buffer& other, unsigned other_bits) {
  if (one.data() == other.data()) return true;
  if (bits == other_bits) return std::ranges::equal(one.as<const std::byte>(), other.as<const std::byte>());
  const Indices left(one, bits);
  const Indices right(other, other_bits);
  if (left.size() != right.size()) return false;
  for (std::uint64_t number = 0; number < left.size(); ++number)
    if (left[number] != right[number]) return false;
  return true;
}

}  // namespace

bool same_coordinates(const Tensor& one, const Tensor& other) {
  for (std::size_t level = 0; level < one.order(); ++level) {
    const Level& kind = one.format().levels[level];
    const Level& other_kind = other.format().levels[level];
    const LevelArrays& arrays = one.levels()[level];
    const LevelArrays& other_arrays = other.levels()[level];
    if (has_pos(kind.kind) && !same_numbers(arrays.pos, kind.pos_bits, other_arrays.pos, other_kind.pos_bits)) return false;
    if (has_coordinates(kind.kind) && !same_numbers(arrays.crd, kind.crd_bits, other_arrays.crd, other_kind.crd_bits)) return false;
  }
  return true;
}

bool BoundNetwork::State::knows_pattern(const Tensor& memory) const {
  if (std::ranges::find(from_values, true) != from_values.end()) return false;
  if (std::ranges::find(made_from_values, true) == made_from_values.end()) return true;
  const ComputedPattern* const computed = TensorParts::pattern_facts(memory)->computed.get();
  for (std::uint32_t number = 0; number < made_from_values.size(); ++number) {
    if (!made_from_values[number]) continue;
    if (computed == nullptr) return false;
    const auto then = computed->layouts.find(kernel->network.tensors[kernel->plan.schedule.tensors[number].tensor].name);
    if (then == computed->layouts.end() || then->second != arrays[number].pattern) return false;
  }
  return true;
}

// Where values decide which coordinates there are, what was computed in place may stand at others than the memory says.
Expected<void> BoundNetwork::State::write_out(const ScheduledTensor& result, const HostOutput& output, const Tensor& computed) const {
  const auto& [memory, scaling] = output;
  if (memory.format().all_dense()) {
    const auto first = [](const Tensor& tensor) {
      return tensor.values().as<const std::byte>().data() + tensor.offset() * scalar_bytes(tensor.format().scalar);
    };
    if (computed.format().all_dense() && computed.values().borrowed() && first(computed) == first(memory)) return {};
    return write_dense(computed, memory, resources, result.name, scaling);
  }
  const bool there = computed.values().data() == memory.values().data() && computed.values().size_bytes() == memory.values().size_bytes();
  const bool known = knows_pattern(memory);
  if (there && known) return {};
  Expected<Tensor> stored = computed;
  // At the positions of an operand, but of the copy that the kernel read.
  if (computed.format().text() != memory.format().text()) stored = convert(computed, memory.format(), resources, result.name);
  if (stored && is_put_together_pattern(memory)) stored = over_pattern(*stored, memory, resources, result.name);
  if (!stored) return std::unexpected(stored.error());
  const bool as_many = stored_elements(*stored) == stored_elements(memory);
  if (!as_many || !same_coordinates(*stored, memory)) {
    const std::string what = as_many ? "its values at other coordinates than the memory for it"
                                     : fmt::format("{} values, the memory for it {}", stored_elements(*stored), stored_elements(memory));
    const char* const why = known ? "coordinates of an operand have changed without a word"
                                  : "coordinates of an operand have changed, or which values of it a sparse copy leaves out as zeros";
    return fail(ErrorKind::input, ErrorCode::pattern_changed, result.name,
                fmt::format("the result {} stores {}: {}", result.name, what, why));
  }
  if (there) return {};
  return write_dense(as_row(*stored), as_row(memory), resources, result.name, scaling);
}

Expected<std::map<std::string, Tensor>> BoundNetwork::level_results() {
  std::map<std::string, Tensor> results;
  State& state = *state_;
  const Schedule& schedule = state.kernel->plan.schedule;
  // Most runs hand over what is there, for which a look at the clock would be a tenth of a short one.
  const auto is_delivered = [](const ScheduledTensor& each) { return each.delivered.has_value(); };
  const bool timed = !state.written_to.empty() || std::ranges::any_of(schedule.tensors, is_delivered);
  const auto start = timed ? Clock::now() : Clock::time_point();
  for (std::uint32_t number = 0; number < schedule.tensors.size(); ++number) {
    const ScheduledTensor& scheduled = schedule.tensors[number];
    if (scheduled.role != TensorRole::result) continue;
    const Tensor& computed = state.tensors[number];
    const auto output = state.written_to.find(number);
    for (std::size_t level = 0; level < computed.order(); ++level) {
      if (is_compressed(computed.format().levels[level].kind) && computed.levels()[level].pos.size_bytes() == 0)
        return input_error(fmt::format("there is no result {}: no run has finished", scheduled.name));
    }
    // Dense memory of the host takes dense elements in whatever order they are.
    const bool straight = output != state.written_to.end() && computed.format().all_dense() && output->second.memory.format().all_dense();
    if (scheduled.delivered && straight) {
      Format there = *scheduled.delivered;
      there.scalar = output->second.memory.format().scalar;
      state.delivered[number] = in_place(output->second.memory, there);
    } else if (scheduled.delivered && !state.delivered.contains(number)) {
      if (const Tensor* const lender = state.lender_of(scheduled)) {
        state.delivered[number] = at_positions(*lender, scheduled, computed);
      } else {
        auto converted = convert(computed, *scheduled.delivered, state.resources, scheduled.name);
        if (!converted) return std::unexpected(converted.error());
        state.delivered[number] = std::move(*converted);
      }
    }
    const Tensor& result = scheduled.delivered ? state.delivered[number] : computed;
    results[scheduled.name] = result;
    if (output == state.written_to.end()) continue;
    if (!state.handed_over) {
      const Tensor& from = straight ? computed : result;
      if (auto written = state.write_out(scheduled, output->second, from); !written) return std::unexpected(written.error());
      output->second.memory.values_changed();
    }
    const bool host_memory = !output->second.memory.format().all_dense() || output->second.scaling != Scaling{};
    if (host_memory) results[scheduled.name] = output->second.memory;
  }
  state.handed_over = true;
  if (timed) state.convert_ms += milliseconds_since(start);
  return results;
}

// Values have no part in it: check() refuses results that would store zeros which are absent, or leave out others.
std::shared_ptr<const ComputedPattern> BoundNetwork::computed_pattern(const std::string& result) const {
  const std::vector<ScheduledTensor>& scheduled = state_->kernel->plan.schedule.tensors;
  auto computed = std::make_shared<ComputedPattern>();
  computed->network = print(state_->over_levels ? state_->over_levels->exposure->given : state_->kernel->given);
  computed->result = result;
  computed->over_levels = is_over_levels(result);
  for (std::uint32_t number = 0; number < scheduled.size(); ++number) {
    const ScheduledTensor& each = scheduled[number];
    if (each.role == TensorRole::operand) {
      const std::string& operand = state_->kernel->network.tensors[each.tensor].name;
      computed->operands[operand] = state_->given_patterns[number];
      if (state_->made_from_values[number]) computed->layouts[operand] = state_->arrays[number].pattern;
    }
    if (each.role != TensorRole::result || each.name != result) continue;
    for (const BoundNest& nest : state_->nests) {
      for (const AppendedTarget& target : nest.appended) {
        if (target.tensor != number || each.delivered || computed->over_levels) continue;
        computed->chunks = target.chunks;
        computed->entries = target.entries;
      }
    }
  }
  return computed;
}

Expected<Tensor> BoundNetwork::kept(const std::string& name, const Tensor& result) const {
  TensorArrays copy = result.arrays();
  auto values = copied(result.values(), state_->resources.memory, name);
  if (!values) return std::unexpected(values.error());
  copy.values = std::move(*values);
  for (LevelArrays& level : copy.levels) {
    for (Buffer* array : {&level.pos, &level.crd}) {
      auto other = copied(*array, state_->resources.memory, name);
      if (!other) return std::unexpected(other.error());
      *array = std::move(*other);
    }
  }
  if (result.format().all_dense()) return made(std::move(copy));
  Tensor tensor = made(std::move(copy));
  TensorParts::pattern_facts(tensor)->computed = computed_pattern(name);
  return tensor;
}

}  // namespace weft
