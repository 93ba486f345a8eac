#include "engine/assumptions.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/specialize.h"
#include "runtime/adjacency.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"
#include "runtime/widths.h"
#include "weft/statistics.h"

namespace weft {
namespace {

/// Facts shape code, so they are checked against the tensors actually bound: one that does not hold, but for those about values.
std::optional<std::string> broken_fact(const LoweredNest& nest, const Network& network, const Schedule& schedule,
                                       const std::vector<Tensor>& tensors, const Threads& threads, const Replaced& replaced) {
  for (const loop::Fact& fact : nest.program.facts) {
    if (const auto* extent = std::get_if<loop::ExtentFact>(&fact)) {
      const Index& index = network.indices[nest.indices[extent->index]];
      if (index.extent != extent->extent) {
        return fmt::format("the kernel assumes extent({}) = {}, it is {}", index.name, extent->extent, index.extent);
      }
      continue;
    }
    if (std::holds_alternative<loop::FiniteFact>(fact)) continue;
    const auto storage = std::visit(
        [](const auto& one) -> loop::StorageId {
          if constexpr (requires { one.storage; }) return one.storage;
          return 0;
        },
        fact);
    const std::uint32_t number = nest.tensors[storage];
    if (number >= tensors.size() || schedule.tensors[number].role != TensorRole::operand) continue;
    if (!replaced.patterns[number]) continue;
    const Tensor& tensor = tensors[number];
    const std::string& name = schedule.tensors[number].name;
    if (const auto* fiber = std::get_if<loop::FiberFact>(&fact)) {
      if (statistics(tensor, threads).fibers(fiber->level).maximum > fiber->maximum) {
        return fmt::format("operand {} has a fiber longer than {} in level {}", name, fiber->maximum, fiber->level);
      }
      if (fiber->exact && tensor.positions(fiber->level) != fiber->maximum * (fiber->level == 0 ? 1 : tensor.positions(fiber->level - 1))) {
        return fmt::format("operand {} has a fiber shorter than {} in level {}", name, fiber->maximum, fiber->level);
      }
    }
    if (const auto* adjacent = std::get_if<loop::AdjacentFact>(&fact)) {
      const Adjacency least = adjacent->from_zero ? Adjacency::from_zero : Adjacency::from_first;
      if (adjacency(tensor) < least) return fmt::format("operand {} has gaps in the fibers of its last level", name);
    }
    if (const auto* full = std::get_if<loop::FullFact>(&fact)) {
      const std::uint64_t parents = full->level == 0 ? 1 : tensor.positions(full->level - 1);
      if (tensor.positions(full->level) != parents * tensor.extent_of_level(full->level)) {
        return fmt::format("level {} of operand {} is not full", full->level, name);
      }
    }
    if (const auto* pattern = std::get_if<loop::PatternFact>(&fact)) {
      if (!may_be_baked(tensor) || pattern_digest(tensor) != pattern->digest) {
        return fmt::format("operand {} has another pattern than the one that is baked in", name);
      }
    }
  }
  return std::nullopt;
}

std::size_t occurrences(const Network& network, TensorId tensor) {
  std::size_t count = 0;
  for (const Assignment& assignment : network.assignments)
    for (const Term& term : assignment.terms)
      count += static_cast<std::size_t>(std::ranges::count(term.factors, tensor, &TensorAccess::tensor));
  return count;
}

bool lists_entries(const Format& format) { return !format.layout && !format.levels.empty() && is_sparse(format.levels.back().kind); }

}  // namespace

std::optional<std::string> changed_entries(const Network& network, const std::map<std::string, Format>& made_for,
                                           const std::map<std::string, Tensor>& operands, const Threads& threads,
                                           const std::set<std::string>& assume_finite) {
  for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
    const std::string& name = network.tensors[tensor].name;
    const auto planned = made_for.find(name);
    const auto given = operands.find(name);
    if (planned == made_for.end() || given == operands.end() || given->second.format() == planned->second) continue;
    if (lists_entries(given->second.format()) && lists_entries(planned->second)) continue;
    for (const TensorDeclaration& other : network.tensors) {  // what else is bound serves other kernels
      const auto values = operands.find(other.name);
      if (values == operands.end() || (other.name == name && occurrences(network, tensor) < 2)) continue;
      if (assume_finite.contains(other.name) || finite_values(values->second, threads)) continue;
      return fmt::format("operand {} holds NaN or Inf beside {}, which may have other entries in the kernel's format", other.name, name);
    }
  }
  return std::nullopt;
}

std::optional<std::string> other_widths(const LoweredNest& nest, const Schedule& schedule, const std::vector<Tensor>& tensors,
                                        bool operands_only) {
  for (loop::StorageId storage = 0; storage < nest.program.storages.size(); ++storage) {
    const std::uint32_t number = nest.tensors[storage];
    const loop::Role role = nest.program.storages[storage].role;
    if (role == loop::Role::workspace || number >= tensors.size()) continue;
    const bool operand = schedule.tensors[number].role == TensorRole::operand;
    const bool appended = role == loop::Role::output && !schedule.tensors[number].like;  // which is not there yet
    if (appended || (operands_only && !operand)) continue;
    const std::vector<Level>& read = nest.program.storages[storage].levels;
    const std::vector<Level>& stored = tensors[number].format().levels;
    for (std::size_t level = 0; level < stored.size(); ++level) {
      const LevelKind kind = stored[level].kind;
      const bool pos = has_pos(kind) && stored[level].pos_bits != read[level].pos_bits;
      const bool crd = has_coordinates(kind) && stored[level].crd_bits != read[level].crd_bits;
      if (kind == read[level].kind && !pos && !crd) continue;
      return fmt::format("level {} of {} {} is {} with {}-bit positions and {}-bit coordinates, the kernel was made for {}, {} and {} bits",
                         level, operand ? "operand" : "tensor", schedule.tensors[number].name, letter(kind), stored[level].pos_bits,
                         stored[level].crd_bits, letter(read[level].kind), read[level].pos_bits, read[level].crd_bits);
    }
  }
  return std::nullopt;
}

Expected<OtherExtents> other_extents(const Network& network, const std::map<std::string, Tensor>& operands) {
  OtherExtents other;
  for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
    const TensorDeclaration& declared = network.tensors[tensor];
    const auto given = operands.find(declared.name);
    if (declared.is_result || given == operands.end() || given->second.extents() == declared.extents) continue;
    const auto why = fmt::format("operand {} has extents {}, the kernel was made for {}", declared.name,
                                 fmt::join(given->second.extents(), "x"), fmt::join(declared.extents, "x"));
    if (given->second.order() != declared.extents.size()) return fail(ErrorKind::input, ErrorCode::order, declared.name, why);
    if (other.why.empty()) other.why = why;
    other.extents[tensor] = given->second.extents();
  }
  return other;
}

std::optional<std::string> broken_assumption(const std::vector<CompiledNest>& nests, const Network& network, const Schedule& schedule,
                                             const std::vector<bool>& finite, const std::vector<bool>& other_entries,
                                             const std::vector<Tensor>& tensors, const Threads& threads, const Replaced& replaced,
                                             const std::set<std::string>& assume_finite) {
  for (const CompiledNest& nest : nests) {
    if (replaced.any_pattern) {
      if (auto broken = other_widths(nest.nest, schedule, tensors, true)) return broken;
    }
    if (auto broken = broken_fact(nest.nest, network, schedule, tensors, threads, replaced)) return broken;
  }
  const auto is_finite = [&](std::size_t number) {
    return assume_finite.contains(network.tensors[schedule.tensors[number].tensor].name) || finite_values(tensors[number], threads);
  };
  for (std::size_t number = 0; number < tensors.size(); ++number) {
    if (!finite[number] || !replaced.values[number] || is_finite(number)) continue;
    return fmt::format("operand {} holds NaN or Inf, the kernel was made for finite values", schedule.tensors[number].name);
  }
  for (std::size_t number = 0; number < tensors.size(); ++number) {
    if (!other_entries[number]) continue;
    for (std::size_t other = 0; other < tensors.size(); ++other) {
      const bool itself = schedule.tensors[other].tensor == schedule.tensors[number].tensor;
      if (itself && occurrences(network, schedule.tensors[number].tensor) < 2) continue;
      if (schedule.tensors[other].role != TensorRole::operand || is_finite(other)) continue;
      return fmt::format("operand {} holds NaN or Inf beside {}, whose entries in the format of the kernel are others than it has",
                         schedule.tensors[other].name, schedule.tensors[number].name);
    }
  }
  return std::nullopt;
}

}  // namespace weft
