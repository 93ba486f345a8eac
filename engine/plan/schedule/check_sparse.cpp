// The rules of results and intermediates with levels that are not dense.
#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/statements.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

constexpr double most_accumulated_keys = 0x1p48;
constexpr double most_coordinates = 0x1p32;  // of one mode: lists of touched ones are 32 bits wide, and so is a bitmap's extent

Expected<void> check_delivered(const ScheduledTensor& result) {
  const Format& delivered = *result.delivered;
  const bool known = delivered.order() == result.format.order() && delivered.scalar == result.format.scalar &&
                     std::ranges::all_of(delivered.levels, [](const Level& level) {
                       return !is_listed(level.kind) && !level.strided;
                     });
  if (!known) {
    return illegal(fmt::format("{} cannot be delivered as {}: that is no format of a result with {} modes", result.name,
                               delivered.text(), result.format.order()));
  }
  if (same_layout(delivered, result.format)) {
    return illegal(fmt::format("{} is computed as {} already: nothing is to be delivered otherwise", result.name,
                               delivered.text()));
  }
  if (may_be_delivered(result.format, delivered)) return {};
  return illegal(fmt::format("{} computed as {} and delivered as {} would store zeros that are absent: compute it with "
                             "compressed levels", result.name, result.format.text(), delivered.text()));
}

Expected<void> check_like(const Schedule& schedule, const ScheduledTensor& result, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (*result.like >= schedule.tensors.size() || schedule.tensors[*result.like].role != TensorRole::operand)
    return illegal(fmt::format("{} can only be like an operand", result.name));
  const ScheduledTensor& operand = schedule.tensors[*result.like];
  if (result.delivered) {
    const Format& given = facts_of(operands, operand.tensor).format;
    const auto as_given = pattern_format(network, operand.tensor, given);
    if (!as_given || !same_layout(*as_given, *result.delivered) || result.delivered->scalar != result.format.scalar) {
      return illegal(fmt::format("{} is like {} and delivered in another format than {} has: choose one", result.name,
                                 operand.name, operand.name));
    }
    if (!operand.converted || result.format.mode_order != result.delivered->mode_order || !keeps_order(operand.format, given)) {
      return illegal(fmt::format("{} as {} has its entries in another order than {} as {}: {} cannot be handed over at the "
                                 "positions that {} has", operand.name, operand.format.text(), operand.name, given.text(),
                                 result.name, operand.name));
    }
  }
  if (operand.format.all_dense()) {
    return illegal(fmt::format("{} cannot be like {}, whose layout is {}: all its levels are dense, so there is no pattern to "
                               "share", result.name, operand.name, operand.format.text()));
  }
  const auto writer = writer_of(schedule, static_cast<std::uint32_t>(&result - schedule.tensors.data()));
  if (writer == schedule.statements.size() || !is_bound_beside(schedule, writer, *result.like)) {
    return illegal(fmt::format("{} cannot be like {}: no access of {} with the same indices, level by level, is bound by the "
                               "loops around the statement that writes {}", result.name, operand.name, operand.name,
                               result.name));
  }
  const auto requested = options.result_patterns.find(result.name);
  if (requested != options.result_patterns.end() && requested->second == operand.name) return {};
  if (has_pattern_of(network, operand.tensor, operands)) return {};
  const auto leading = leading_format(network, operand.tensor, operands);
  if (leading && same_layout(*leading, result.format)) return {};
  return illegal(fmt::format("{} may have fewer entries than {}: only a request makes it like {}", result.name, operand.name,
                             operand.name));
}

// Kinds of the levels that are not bound by the loops that writer and reader share: one key, then dense levels.
Expected<void> check_workspace(const Schedule& schedule, const Network& network, std::size_t writer) {
  const ScheduledAccess& target = schedule.statements[writer].target;
  const ScheduledTensor& tensor = schedule.tensors[target.tensor];
  if (tensor.format.all_dense()) return {};
  const std::size_t reader = reader_of(schedule, target.tensor);
  const IndexSet outside = shared_indices(schedule, writer, reader);
  std::vector<LevelKind> kinds;
  double keys = 1;
  for (std::size_t level = 0; level < tensor.format.order(); ++level) {
    const LevelKind kind = tensor.format.levels[level].kind;
    const IndexId index = target.indices[tensor.format.mode_order[level]];
    if (contains(outside, index)) {
      if (is_dense(kind)) continue;
      return illegal(fmt::format("intermediate {} is not stored over {}, which its writer and its reader share: that level is "
                                 "written d", tensor.name, network.indices[index].name));
    }
    const auto extent = static_cast<double>(network.indices[index].extent);
    if (is_listed(kind)) keys *= extent;
    if ((is_listed(kind) || has_bits(kind)) && extent > most_coordinates) {
      return illegal(fmt::format("a table of all {:.3g} coordinates of {} for {}: use h", extent, network.indices[index].name,
                                 tensor.name));
    }
    kinds.push_back(kind);
  }
  const auto end = std::ranges::find_if(kinds, [](LevelKind kind) { return is_dense(kind); });
  const bool one_key = is_of_workspaces(kinds.front()) &&
                       std::all_of(kinds.begin(), end, [&](LevelKind kind) { return kind == kinds.front(); });
  const bool dense_below = std::all_of(end, kinds.end(), [](LevelKind kind) { return is_dense(kind); });
  const bool one_bitmap = !has_bits(kinds.front()) || end - kinds.begin() == 1;
  if (!one_key || !dense_below || !one_bitmap) {
    return illegal(fmt::format("intermediate {} lives inside a loop nest, where its levels are dense, below one key of kind a or "
                               "h, or b over one mode; its layout is {}", tensor.name, tensor.format.text()));
  }
  if (keys > most_accumulated_keys)
    return illegal(fmt::format("an accumulator over {:.3g} keys for {}: use h", keys, tensor.name));
  const ScheduledStatement& reading = schedule.statements[reader];
  for (const ScheduledAccess& factor : reading.factors) {
    if (factor.tensor != target.tensor) continue;
    const std::vector<BoundLevel> bound = bind_levels(factor.indices, tensor.format, reading.loops);
    for (std::size_t level = 0; level < bound.size(); ++level) {
      if (bound[level].direct || !is_sparse(tensor.format.levels[level].kind)) continue;
      return illegal(reader, fmt::format("{} is read in another order than that of its key {}", tensor.name,
                                         tensor.format.text()));
    }
  }
  return {};
}

// A sparse access that takes part in a loop, and how.
struct LoopParticipant {
  std::uint32_t tensor = 0;
  bool unordered = false;
  bool several_modes = false;
  bool drive = true;
  bool gallop = false;
};

std::vector<LoopParticipant> participants(const Schedule& schedule, std::size_t number, std::size_t loop) {
  const std::vector<Intersection>& intersections = schedule.statements[number].intersections;
  const auto intersection = std::ranges::find(intersections, schedule.statements[number].loops[loop], &Intersection::index);
  std::vector<LoopParticipant> found;
  for (std::size_t sharer = number; sharer <= last_sharer(schedule, number, loop); ++sharer) {
    const ScheduledStatement& statement = schedule.statements[sharer];
    for (const SparseLevel& met : sparse_levels(schedule, statement, loop)) {
      if (!met.direct) continue;
      const std::uint32_t number_met = statement.factors[met.factor].tensor;
      const ScheduledTensor& tensor = schedule.tensors[number_met];
      LoopParticipant one{number_met, !is_ordered(met.kind),
                      tensor.role == TensorRole::intermediate &&
                          std::ranges::count(tensor.format.levels, met.kind, &Level::kind) > 1};
      if (intersection != intersections.end()) {
        for (const Intersection::Part& part : intersection->parts) {
          if (part.statement != sharer || part.factor != met.factor) continue;
          one.drive = part.drive;
          one.gallop = part.gallop;
        }
      }
      found.push_back(one);
    }
  }
  return found;
}

// Entries that come in no particular order are not merged with others nor followed by a finger; of a key of several
// modes every level drives.
Expected<void> check_unordered(const Schedule& schedule, const Network& network, std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  for (std::size_t loop = statement.fused; loop < statement.loops.size(); ++loop) {
    const std::vector<LoopParticipant> parts = participants(schedule, number, loop);
    const std::string& index = network.indices[statement.loops[loop]].name;
    const auto drivers = std::ranges::count(parts, true, &LoopParticipant::drive);
    const auto gallops = std::ranges::count(parts, true, &LoopParticipant::gallop);
    for (const LoopParticipant& part : parts) {
      const std::string& name = schedule.tensors[part.tensor].name;
      if (!part.unordered) continue;
      if (part.drive && (drivers > 1 || gallops > 0))
        return illegal(number, fmt::format("{} drives 'meet {}' in no particular order: the others are searched", name, index));
      if (!part.drive && part.several_modes)
        return illegal(number, fmt::format("{} has a key of several modes: it drives 'meet {}'", name, index));
    }
  }
  return {};
}

Expected<void> check_target(const Schedule& schedule, const Network& network, std::size_t number) {
  const ScheduledStatement& statement = schedule.statements[number];
  const ScheduledTensor& tensor = schedule.tensors[statement.target.tensor];
  const bool leaves = leaves_nest(schedule, number);
  if (!leaves || tensor.like || tensor.format.all_dense()) {
    if (statement.drained)
      return illegal(number, fmt::format("{} is not appended to, so that nothing is drained into it", tensor.name));
    return leaves ? Expected<void>{} : check_workspace(schedule, network, number);
  }
  if (!may_be_computed(tensor.format)) {
    return illegal(fmt::format("{} is computed as {}: kernels write dense and compressed levels only", tensor.name,
                               tensor.format.text()));
  }
  const AppendOrder order = append_order(statement.target.indices, tensor.format, statement.loops);
  if (order.needs_drain() && !statement.drained) {
    return illegal(number, fmt::format("{} is not appended to in the order of its levels {}: the first loops do not bind them in "
                                       "this order, so that it needs a workspace: add 'drained accumulator'", tensor.name,
                                       tensor.format.text()));
  }
  if (!statement.drained) return {};
  if (!order.needs_drain())
    return illegal(number, fmt::format("{} is appended to in the order of its levels: nothing is to be drained", tensor.name));
  const std::vector<IndexId> key = drained_key(statement.target.indices, tensor.format, order);
  if (has_bits(*statement.drained) && key.size() > 1) {
    return illegal(number, fmt::format("a bitmap has one mode, but {} are drained: use accumulator or hashed",
                                       print_indices(key, network)));
  }
  double keys = 1;
  for (const IndexId index : key) keys *= static_cast<double>(network.indices[index].extent);
  const bool bitmap = has_bits(*statement.drained);
  if (has_slots(*statement.drained) || keys <= (bitmap ? most_coordinates : most_accumulated_keys)) return {};
  return illegal(number, fmt::format("{} over {:.3g} keys: use hashed", bitmap ? "a bitmap" : "an accumulator", keys));
}

}  // namespace

Expected<void> check_result(const Schedule& schedule, const ScheduledTensor& result, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const Format& handed_over = result.delivered ? *result.delivered : result.format;
  const auto requested = options.result_formats.find(result.name);
  if (requested != options.result_formats.end() && !same_layout(requested->second, handed_over)) {
    return illegal(fmt::format("result {} is stored as {} but {} was requested", result.name, handed_over.text(),
                               requested->second.text()));
  }
  if (result.delivered && !result.like) {
    if (auto done = check_delivered(result); !done) return done;
  }
  if (result.like) return check_like(schedule, result, problem);
  const auto pattern = options.result_patterns.find(result.name);
  if (pattern == options.result_patterns.end()) return {};
  const auto operand = std::ranges::find(network.tensors, pattern->second, &TensorDeclaration::name);
  const auto tensor = static_cast<TensorId>(operand - network.tensors.begin());
  if (tensor < network.tensors.size() && facts_of(operands, tensor).format.all_dense() && result.format.all_dense()) return {};
  return illegal(fmt::format("result {} was requested like {}", result.name, pattern->second));
}

Expected<void> check_sparse(const Schedule& schedule, const Network& network) {
  const bool unordered = std::ranges::any_of(schedule.tensors, [](const ScheduledTensor& tensor) {
    return !std::ranges::all_of(tensor.format.levels, is_ordered, &Level::kind);
  });
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    if (auto done = check_target(schedule, network, number); !done) return done;
    if (!unordered) continue;
    if (auto done = check_unordered(schedule, network, number); !done) return done;
  }
  return {};
}

}  // namespace weft
