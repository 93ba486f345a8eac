#include "engine/network/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "engine/text/names.h"

namespace weft {
namespace {

Expected<void> check_names(const Network& network) {
  for (const Index& index : network.indices) {
    if (!is_name(index.name)) return input_error(fmt::format("network: \"{}\" is not a name of an index", index.name));
  }
  std::set<std::string_view> names;
  for (const TensorDeclaration& tensor : network.tensors) {
    if (!is_name(tensor.name)) return input_error(fmt::format("network: \"{}\" is not a name of a tensor", tensor.name));
    if (!names.insert(tensor.name).second) {
      return input_error(fmt::format("network: two tensors are named {}", tensor.name));
    }
  }
  return {};
}

/// A mode that is a sum has as many coordinates as it says: at other values there is nothing.
Expected<void> check_sum(const Network& network, const TensorAccess& access, std::size_t mode) {
  const TensorDeclaration& tensor = network.tensors[access.tensor];
  std::set<IndexId> summed{access.indices[mode]};
  bool good = !tensor.is_result && tensor.sums[mode].factor != 0 && tensor.sums[mode].part.divisor != 0;
  good = good && (mode >= tensor.parts.size() || tensor.parts[mode].is_whole());
  for (const ModeSum::Other& other : tensor.sums[mode].others) {
    good = good && other.factor != 0 && other.part.divisor != 0 && other.mode < access.indices.size();
    // A start is of the index itself, found before, and by none else.
    const bool counts = !tensor.is_cover(mode) && other.mode < mode && access.indices[other.mode] == access.indices[mode];
    good = good && (tensor.is_cover(other.mode) ? counts
                                                : summed.insert(access.indices[other.mode]).second);
  }
  if (!good) return input_error(fmt::format("network: mode {} of {} is no sum of indices", mode, tensor.name));
  return {};
}

Expected<void> check_access(const Network& network, const TensorAccess& access) {
  if (access.tensor >= network.tensors.size()) {
    return input_error(fmt::format("network: tensor {} of {} is accessed", access.tensor, network.tensors.size()));
  }
  const TensorDeclaration& tensor = network.tensors[access.tensor];
  if (access.indices.size() != tensor.extents.size()) {
    return input_error(fmt::format("network: {} has {} modes but is accessed with {} indices", tensor.name,
                                   tensor.extents.size(), access.indices.size()));
  }
  for (std::size_t mode = 0; mode < access.indices.size(); ++mode) {
    if (access.indices[mode] >= network.indices.size()) {
      return input_error(fmt::format("network: index {} of {} is used in {}", access.indices[mode],
                                     network.indices.size(), tensor.name));
    }
    const Index& index = network.indices[access.indices[mode]];
    if (tensor.is_sum(mode)) {
      if (auto good = check_sum(network, access, mode); !good) return good;
      continue;
    }
    const IndexPart part = mode < tensor.parts.size() ? tensor.parts[mode] : IndexPart{};
    if ((tensor.falls(mode) || tensor.is_unordered(mode)) && tensor.is_result)
      return input_error(fmt::format("network: mode {} of the result {} {}", mode, tensor.name,
                                     tensor.falls(mode) ? "falls" : "has no order"));
    if (part.divisor == 0 || (tensor.is_result && !part.is_whole()))
      return input_error(fmt::format("network: mode {} of {} is no part of an index", mode, tensor.name));
    if (part.extent(index.extent) != tensor.extents[mode]) {
      return input_error(fmt::format("network: index {} is {} but mode {} of {} is {}", index.name, index.extent, mode,
                                     tensor.name, tensor.extents[mode]));
    }
  }
  return {};
}

// Two indices of one name are different variables in different assignments; within one the text could not tell them.
Expected<void> check_scope(const Network& network, const Assignment& assignment) {
  std::set<IndexId> used(assignment.result.indices.begin(), assignment.result.indices.end());
  for (const Term& term : assignment.terms) {
    for (const TensorAccess& factor : term.factors) used.insert(factor.indices.begin(), factor.indices.end());
  }
  std::set<std::string_view> names;
  for (const IndexId index : used) {
    if (!names.insert(network.indices[index].name).second) {
      return input_error(fmt::format("network: two indices of the assignment to {} are named {}",
                                     network.tensors[assignment.result.tensor].name, network.indices[index].name));
    }
  }
  return {};
}

Expected<void> check_term(const Network& network, const Term& term, const TensorAccess& result,
                          const std::vector<bool>& assigned) {
  const std::string& result_name = network.tensors[result.tensor].name;
  if (!std::isfinite(term.coefficient)) {
    return input_error(fmt::format("network: a coefficient of {} is not finite", result_name));
  }
  std::set<IndexId> bound;
  for (const TensorAccess& factor : term.factors) {
    if (auto good = check_access(network, factor); !good) return good;
    const TensorDeclaration& tensor = network.tensors[factor.tensor];
    if (tensor.is_result && !assigned[factor.tensor]) {
      return input_error(fmt::format("network: {} is used before it is assigned", tensor.name));
    }
    bound.insert(factor.indices.begin(), factor.indices.end());
  }
  for (const IndexId index : result.indices) {
    if (!bound.contains(index)) {
      return input_error(fmt::format("network: index {} of {} is in no factor of a term", network.indices[index].name,
                                     result_name));
    }
  }
  if (auto good = check(term.pinned, term.factors.size()); !good) {
    return fail(good.error().kind, fmt::format("network: in a term of {}: {}", result_name, good.error().message));
  }
  return {};
}

std::string print_access(const Network& network, const TensorAccess& access) {
  const TensorDeclaration& tensor = network.tensors[access.tensor];
  std::vector<std::string> indices;
  for (std::size_t mode = 0; mode < access.indices.size(); ++mode) {
    indices.push_back(located_text(network, access, mode) + tensor.order_text(mode));
  }
  return fmt::format("{}({})", tensor.name, fmt::join(indices, ","));
}

std::string print_number(double value) {
  if (value == 0) return "0";  // -0 and 0 are equal, so they print alike
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);  // the shortest text that reads back equal
  return error == std::errc() ? std::string(text, end) : fmt::format("{}", value);
}

std::string print_product(const Network& network, const Term& term) {
  // The parentheses of the tree's text are the network's, but for those of the root: only a pinned root keeps them, and one of two
  // children only if both are factors, for else the other parentheses say that it is pinned.
  std::vector<std::string> texts(term.pinned.nodes.size());
  for (std::size_t number = 0; number < term.pinned.nodes.size(); ++number) {
    const ContractionTree::Node& node = term.pinned.nodes[number];
    if (node.children.empty()) {
      texts[number] = print_access(network, term.factors[node.factor]);
      continue;
    }
    std::vector<std::string_view> parts;
    for (const std::uint32_t child : node.children) parts.push_back(texts[child]);
    const bool is_root = number + 1 == term.pinned.nodes.size();
    const bool free_root = is_root && (term.open || (node.children.size() == 2 && term.pinned.nodes.size() > 3));
    texts[number] = free_root ? fmt::format("{}", fmt::join(parts, " * ")) : fmt::format("({})", fmt::join(parts, " * "));
  }
  return texts.empty() ? std::string() : texts.back();
}

std::string print_term(const Network& network, const Term& term) {
  const std::string product = print_product(network, term);
  if (product.empty()) return print_number(term.coefficient);
  const bool is_one = term.coefficient == 1;
  return is_one ? product : fmt::format("{} * {}", print_number(term.coefficient), product);
}

}  // namespace

std::string located_text(const Network& network, const TensorAccess& access, std::size_t mode) {
  return located_text(network.tensors[access.tensor], mode, [&](std::size_t at) { return network.indices[access.indices[at]].name; });
}

std::string located_text(const TensorDeclaration& tensor, std::size_t mode, const std::function<std::string(std::size_t)>& name) {
  if (!tensor.is_sum(mode)) return name(mode) + (mode < tensor.parts.size() ? tensor.parts[mode].text() : "");
  const ModeSum& sum = tensor.sums[mode];
  std::vector<std::pair<std::string, std::int64_t>> summands{{name(mode) + sum.part.text(), sum.factor}};
  for (const ModeSum::Other& other : sum.others) {
    const bool counts = tensor.is_cover(other.mode);
    summands.emplace_back(counts ? located_text(tensor, other.mode, name) : name(other.mode) + other.part.text(), other.factor);
  }
  const std::string text = sum_text(summands, sum.offset, false);
  return sum.cover ? cover_text(text, *sum.cover, false) : text;
}

Network::Network() = default;
Network::Network(const Network&) = default;
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(const Network&) = default;
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

Expected<void> check(const Network& network) {
  if (network.assignments.empty()) return input_error("network: there is no assignment");
  if (auto good = check_names(network); !good) return good;
  std::vector<bool> assigned(network.tensors.size());
  for (const Assignment& assignment : network.assignments) {
    const TensorAccess& result = assignment.result;
    if (auto good = check_access(network, result); !good) return good;
    const TensorDeclaration& tensor = network.tensors[result.tensor];
    if (!tensor.is_result) return input_error(fmt::format("network: {} is assigned but is an operand", tensor.name));
    if (assigned[result.tensor]) return input_error(fmt::format("network: {} is assigned twice", tensor.name));
    std::set<IndexId> distinct;
    for (const IndexId index : result.indices) {
      if (!distinct.insert(index).second) {
        return input_error(
            fmt::format("network: index {} is twice in the result {}", network.indices[index].name, tensor.name));
      }
    }
    if (assignment.terms.empty()) return input_error(fmt::format("network: {} has no term", tensor.name));
    for (const Term& term : assignment.terms) {
      if (auto good = check_term(network, term, result, assigned); !good) return good;
    }
    if (auto good = check_scope(network, assignment); !good) return good;
    assigned[result.tensor] = true;
  }
  for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
    if (network.tensors[tensor].is_result && !assigned[tensor]) {
      return input_error(fmt::format("network: the result {} is never assigned", network.tensors[tensor].name));
    }
  }
  return {};
}

std::string print(const Network& network) {
  std::string text;
  for (const Assignment& assignment : network.assignments) {
    if (!text.empty()) text += '\n';
    std::vector<std::string> terms;
    for (const Term& term : assignment.terms) terms.push_back(print_term(network, term));
    text += fmt::format("{} = {}", print_access(network, assignment.result), fmt::join(terms, " + "));
  }
  return text;
}

}  // namespace weft
