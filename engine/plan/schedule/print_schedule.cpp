#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/statements.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

// Kinds and mode order as --format has them. Widths that are not 32 and strides are facts of a storage which the text
// must keep, or the schedule read back would differ from the printed one.
std::string print_format(const Format& format) {
  std::string text = format.order() == 0 ? std::string() : format.text() + " ";
  text += name(format.scalar);
  const bool narrow = std::all_of(format.levels.begin(), format.levels.end(), [](const Level& level) {
    return level.pos_bits == 32 && level.crd_bits == 32;
  });
  if (!narrow) {
    std::vector<std::string> widths;
    for (const Level& level : format.levels) widths.push_back(fmt::format("{}/{}", level.pos_bits, level.crd_bits));
    text += fmt::format(" bits {}", fmt::join(widths, ","));
  }
  if (!format.levels.empty() && format.levels.front().strided) text += format.levels.back().strided ? " strided" : " strided rows";
  return text;
}

std::string like(const Schedule& schedule, const ScheduledTensor& tensor) {
  return tensor.like ? fmt::format(" like {}", label(schedule, *tensor.like)) : std::string();
}

std::string print_tensor(const Schedule& schedule, std::size_t number, const Network& network) {
  const ScheduledTensor& tensor = schedule.tensors[number];
  const std::string name = label(schedule, number);
  switch (tensor.role) {
    case TensorRole::operand:
      return fmt::format("  layout {} {}{}\n", name, print_format(tensor.format),
                         tensor.opened ? " opened" : tensor.converted ? " converted" : "");
    case TensorRole::intermediate:
      return fmt::format("  intermediate {} {}{}\n", print_access(schedule, {static_cast<std::uint32_t>(number), tensor.modes}, network),
                         print_format(tensor.format), like(schedule, tensor));
    case TensorRole::result: {
      std::string text = fmt::format("  result {} {}", name, print_format(tensor.format));
      if (tensor.delivered) text += fmt::format(" delivered {}", print_format(*tensor.delivered));
      return text + like(schedule, tensor) + "\n";
    }
  }
  return {};
}

std::string print_intersection(const Schedule& schedule, const Intersection& intersection, const Network& network) {
  std::vector<std::string> parts;
  for (const Intersection::Part& part : intersection.parts) {
    parts.push_back(fmt::format("{}@{}.{}", print_met(schedule, part), part.statement + 1, part.factor + 1));
  }
  return fmt::format("    meet {}: {}\n", network.indices[intersection.index].name, fmt::join(parts, ", "));
}

}  // namespace

std::string label(Steps steps, std::size_t tensor) {
  const std::string& name = steps.tensor(tensor).name;
  std::size_t before = 0;
  std::size_t all = 0;
  for (std::size_t other = 0; other < steps.tensors(); ++other) {
    if (steps.tensor(other).name != name) continue;
    ++all;
    if (other < tensor) ++before;
  }
  return all == 1 ? name : fmt::format("{}.{}", name, before + 1);
}

std::vector<std::string> names_of(const std::vector<IndexId>& indices, const Network& network) {
  std::vector<std::string> names;
  for (const IndexId index : indices) names.push_back(network.indices[index].name);
  return names;
}

std::string print_indices(const std::vector<IndexId>& indices, const Network& network) {
  return indices.empty() ? "()" : fmt::format("{}", fmt::join(names_of(indices, network), ","));
}

std::string print_access(Steps steps, const ScheduledAccess& access, const Network& network) {
  return fmt::format("{}[{}]", label(steps, access.tensor), fmt::join(names_of(access.indices, network), ","));
}

std::string print_met(const Schedule& schedule, const Intersection::Part& part) {
  const std::uint32_t tensor = schedule.statements[part.statement].factors[part.factor].tensor;
  return fmt::format("{} {}", part.drive ? "drive" : part.gallop ? "gallop" : "search", label(schedule, tensor));
}

std::string print_product(Steps steps, const Contraction& step, const Network& network) {
  std::vector<std::string> parts;
  if (step.coefficient != 1 || step.factors.empty()) parts.push_back(fmt::format("{}", step.coefficient));
  for (const ScheduledAccess& factor : step.factors) parts.push_back(print_access(steps, factor, network));
  return fmt::format("{} += {}", print_access(steps, step.target, network), fmt::join(parts, " * "));
}

std::vector<std::string> factor_names(const Network& network, std::size_t assignment) {
  std::vector<std::string> names;
  if (assignment >= network.assignments.size() || network.assignments[assignment].terms.empty()) return names;
  for (const TensorAccess& factor : network.assignments[assignment].terms[0].factors) {
    names.push_back(network.tensors[factor.tensor].name);
  }
  return names;
}

std::string_view drain_word(LevelKind kind) {
  return has_slots(kind) ? "hashed" : has_bits(kind) ? "bitmap" : "accumulator";
}

std::string_view reduction_word(RootReduction reduction) {
  switch (reduction) {
    case RootReduction::owner: return "owner";
    case RootReduction::private_copies: return "private";
    case RootReduction::counted: return "counted";
    case RootReduction::serial: break;
  }
  return "serial";
}

namespace {

std::vector<std::string> tree_texts(const Schedule& schedule, const Network& network) {
  if (network.assignments.size() == 1) return {print(schedule.tree, factor_names(network))};
  std::vector<std::string> texts;
  for (std::size_t number = 0; number < network.assignments.size(); ++number) {
    const bool last = number + 1 == network.assignments.size();
    if (!last && number >= schedule.earlier_trees.size()) continue;
    texts.push_back(fmt::format("{} = {}", network.tensors[network.assignments[number].result.tensor].name,
                                print(last ? schedule.tree : schedule.earlier_trees[number], factor_names(network, number))));
  }
  return texts;
}

std::string print_statement(const Schedule& schedule, std::size_t number, const Network& network) {
  const ScheduledStatement& statement = schedule.statements[number];
  std::string text = fmt::format("  {}   loops {}", print_product(schedule, statement, network), print_indices(statement.loops, network));
  if (statement.fused > 0) text += fmt::format("   fused {}", statement.fused);
  if (statement.vector) text += fmt::format("   vector {}", network.indices[*statement.vector].name);
  if (statement.drained) text += fmt::format("   drained {}", drain_word(*statement.drained));
  text += "\n";
  for (const Intersection& intersection : statement.intersections) text += print_intersection(schedule, intersection, network);
  return text;
}

std::string print_roots(const Schedule& schedule, const Network& network) {
  std::string text;
  const std::vector<StatementRange> nests = nests_of(schedule);
  for (std::size_t nest = 0; nest < std::min(nests.size(), schedule.roots.size()); ++nest) {
    const std::vector<IndexId>& loops = schedule.statements[nests[nest].first].loops;
    text += fmt::format("  parallel {} {}\n", loops.empty() ? "()" : network.indices[loops.front()].name,
                        reduction_word(schedule.roots[nest]));
  }
  return text;
}

// The text in parts of some lines each.
std::size_t parts(const Schedule& schedule) { return schedule.tensors.size() + schedule.statements.size() + 2; }

std::string print_part(const Schedule& schedule, std::size_t part, const Network& network) {
  if (part == 0) {
    std::string text = "schedule\n";
    for (const std::string& tree : tree_texts(schedule, network)) text += fmt::format("  tree {}\n", tree);
    return text;
  }
  const std::size_t tensor = part - 1;
  if (tensor < schedule.tensors.size()) return print_tensor(schedule, tensor, network);
  const std::size_t statement = tensor - schedule.tensors.size();
  if (statement < schedule.statements.size()) return print_statement(schedule, statement, network);
  return print_roots(schedule, network);
}

// Whether that needs no printing to be known. Everything behind the trees calls tensors by their labels.
bool is_same_part(const Schedule& left, const Schedule& right, std::size_t part, bool same_tensors) {
  if (part == 0) return left.tree == right.tree && left.earlier_trees == right.earlier_trees;
  if (!same_tensors || part <= left.tensors.size()) return same_tensors;
  const std::size_t statement = part - 1 - left.tensors.size();
  const std::size_t both = std::min(left.statements.size(), right.statements.size());
  return statement < both && left.statements[statement] == right.statements[statement];
}

std::string print_scheduled(const Schedule& schedule, const Network& network) {
  std::string text;
  for (std::size_t part = 0; part < parts(schedule); ++part) text += print_part(schedule, part, network);
  return text;
}

std::string take_line(std::string& text) {
  const std::size_t end = text.find('\n') + 1;
  std::string line = text.substr(0, end);
  text.erase(0, end);
  return line;
}

}  // namespace

std::string print_trees(const Schedule& schedule, const Network& given) {
  if (given.assignments.size() < 2) return print(schedule.tree, factor_names(given));
  const Network network = scheduled_network(schedule, given);
  return fmt::format("{}", fmt::join(tree_texts(schedule, network), "; "));
}

std::string print(const Schedule& schedule, const Network& given) {
  if (given.assignments.size() < 2) return print_scheduled(schedule, given);
  return print_scheduled(schedule, scheduled_network(schedule, given));
}

std::string with_stated_formats(std::string text, const std::map<std::string, StatedFormat>& formats) {
  std::string lines;
  for (const auto& [name, stated] : formats) {
    const std::string_view read = stated.read_by == ReadBy::location ? " located" : stated.read_by == ReadBy::copy ? " copied" : "";
    lines += fmt::format("  stored {} {} {}{}{}\n", name, stated.format.text(), weft::name(stated.format.scalar),
                         stated.chosen ? " chosen" : "", read);
  }
  return text.insert(text.find('\n') + 1, lines);
}

std::pair<std::string, std::string> first_different_lines(const Schedule& left, const Schedule& right, const Network& given) {
  // Each has its own network where parts are shared or computed before.
  const auto network_of = [&](const Schedule& schedule) {
    return given.assignments.size() < 2 ? given : scheduled_network(schedule, given);
  };
  const Network left_network = network_of(left);
  const Network right_network = network_of(right);
  std::string left_text;
  std::string right_text;
  const bool same_tensors = left.tensors == right.tensors;
  for (std::size_t part = 0; part < std::max(parts(left), parts(right)); ++part) {
    if (left_text.empty() && right_text.empty() && is_same_part(left, right, part, same_tensors)) continue;
    if (part < parts(left)) left_text += print_part(left, part, left_network);
    if (part < parts(right)) right_text += print_part(right, part, right_network);
    while (!left_text.empty() && !right_text.empty()) {
      std::pair<std::string, std::string> lines{take_line(left_text), take_line(right_text)};
      if (lines.first != lines.second) return lines;
    }
  }
  if (!left_text.empty()) return {take_line(left_text), {}};
  return {{}, right_text.empty() ? std::string() : take_line(right_text)};
}

}  // namespace weft
