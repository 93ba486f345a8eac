#include "engine/network/contraction_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "engine/text/error_at.h"
#include "engine/text/picture.h"
#include "engine/text/scanner.h"

namespace weft {
namespace {

// Which occurrence of its name a factor is, from 1, and how many there are.
struct Occurrence {
  std::size_t number = 1;
  std::size_t of = 1;
};

std::vector<Occurrence> occurrences(const std::vector<std::string>& names) {
  std::map<std::string_view, std::size_t> count;
  std::vector<Occurrence> result;
  for (const std::string& name : names) result.push_back({++count[name], 0});
  for (std::size_t factor = 0; factor < names.size(); ++factor) result[factor].of = count[names[factor]];
  return result;
}

// Depth first, children in their order: the order in which a text names the leaves and closes the groups.
void append_post_order(const ContractionTree& tree, std::uint32_t node, std::vector<std::uint32_t>& order) {
  for (const std::uint32_t child : tree.nodes[node].children) append_post_order(tree, child, order);
  order.push_back(node);
}

std::vector<std::uint32_t> post_order(const ContractionTree& tree) {
  std::vector<std::uint32_t> order;
  if (!tree.nodes.empty()) append_post_order(tree, static_cast<std::uint32_t>(tree.nodes.size() - 1), order);
  return order;
}

class TreeParser {
 public:
  TreeParser(std::string_view text, const std::vector<std::string>& names)
      : scanner_(text, " \t\r\n"), names_(names), occurrences_(occurrences(names)), used_(names.size()) {}

  Expected<ContractionTree> parse() {
    scanner_.skip_blanks();
    if (names_.empty() && scanner_.at_end()) return tree_;
    const auto root = parse_product(0);
    if (!root) return std::unexpected(root.error());
    if (!scanner_.at_end()) return wrong(fmt::format("unexpected {}", next_character()));
    std::string missing;
    for (std::size_t factor = 0; factor < names_.size(); ++factor) {
      if (!used_[factor]) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", spelled(factor));
    }
    if (!missing.empty()) {
      return wrong(fmt::format("the contraction tree lacks {}: every factor stands in it once", missing));
    }
    return tree_;
  }

 private:
  Expected<std::uint32_t> parse_product(std::size_t depth) {
    if (depth > deepest_nesting) {
      return wrong(fmt::format("parentheses of a contraction tree are nested deeper than {}", deepest_nesting));
    }
    ContractionTree::Node node;
    while (true) {
      const auto child = parse_primary(depth);
      if (!child) return child;
      node.children.push_back(*child);
      if (!scanner_.take("*")) break;
      scanner_.skip_blanks();
    }
    if (node.children.size() == 1) return node.children.front();
    tree_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  }

  Expected<std::uint32_t> parse_primary(std::size_t depth) {
    if (scanner_.at_end()) return wrong("the contraction tree ends where a factor or '(' should stand");
    const Span open = scanner_.next_character();
    if (!scanner_.take("(")) return parse_factor();
    scanner_.skip_blanks();
    const auto inner = parse_product(depth + 1);
    if (!inner) return inner;
    if (!scanner_.take(")")) return wrong("'(' is not closed", {open, scanner_.here()});
    scanner_.skip_blanks();
    return inner;
  }

  Expected<std::uint32_t> parse_factor() {
    const std::size_t begin = scanner_.position();
    if (!starts_name(scanner_.next())) {
      return wrong(fmt::format("unexpected {} where a factor or '(' should stand", next_character()));
    }
    const std::string_view name = scanner_.take_name();
    std::optional<std::size_t> number;
    const Span dot = scanner_.here();
    if (scanner_.take(".")) {
      number = scanner_.take_number<std::size_t>();
      if (number.value_or(0) == 0) {
        return wrong(fmt::format("'.' after {} must be followed by the number of its occurrence, from 1", name), {dot});
      }
    }
    const Span span = scanner_.since(begin);
    scanner_.skip_blanks();
    return find_factor(name, number, span);
  }

  Expected<std::uint32_t> find_factor(std::string_view name, std::optional<std::size_t> number, Span span) {
    const auto first = std::find(names_.begin(), names_.end(), name);
    if (first == names_.end()) {
      return wrong(fmt::format("{} in the contraction tree is not a factor of the expression", name), {span});
    }
    for (std::size_t factor = 0; factor < names_.size(); ++factor) {
      if (names_[factor] != name || used_[factor]) continue;
      if (number && occurrences_[factor].number != *number) continue;
      used_[factor] = true;
      tree_.nodes.push_back({{}, static_cast<std::uint32_t>(factor)});
      return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
    }
    const std::size_t of = occurrences_[static_cast<std::size_t>(first - names_.begin())].of;
    const std::string times = of == 1 ? std::string("once") : fmt::format("{} times", of);
    if (number && *number > of) {
      return wrong(fmt::format("there is no {}.{}: {} occurs {} in the expression", name, *number, name, times), {span});
    }
    if (number) {
      return wrong(fmt::format("{}.{} is used twice in the contraction tree", name, *number), {span});
    }
    return wrong(fmt::format("{} is used too often in the contraction tree: it occurs {} in the expression", name, times), {span});
  }

  std::string spelled(std::size_t factor) const {
    const Occurrence occurrence = occurrences_[factor];
    return occurrence.of == 1 ? names_[factor] : fmt::format("{}.{}", names_[factor], occurrence.number);
  }

  std::unexpected<Error> wrong(std::string message) const { return wrong(std::move(message), {scanner_.here()}); }
  std::unexpected<Error> wrong(std::string message, const std::vector<Span>& places) const {
    return error_at(ErrorKind::input, scanner_.text(), std::move(message), places);
  }
  std::string next_character() const { return name_character(scanner_.text(), scanner_.position()); }

  Scanner scanner_;
  const std::vector<std::string>& names_;
  std::vector<Occurrence> occurrences_;
  std::vector<bool> used_;
  ContractionTree tree_;
};

}  // namespace

ContractionTree flat_tree(std::size_t factors) {
  ContractionTree tree;
  for (std::uint32_t factor = 0; factor < factors; ++factor) tree.nodes.push_back({{}, factor});
  if (factors < 2) return tree;
  ContractionTree::Node root;
  for (std::uint32_t factor = 0; factor < factors; ++factor) root.children.push_back(factor);
  tree.nodes.push_back(std::move(root));
  return tree;
}

Expected<void> check(const ContractionTree& tree, std::size_t factors) {
  std::vector<bool> present(factors);
  std::vector<bool> has_parent(tree.nodes.size());
  for (std::size_t number = 0; number < tree.nodes.size(); ++number) {
    const ContractionTree::Node& node = tree.nodes[number];
    if (node.children.empty()) {
      if (node.factor >= factors) {
        return input_error(fmt::format("contraction tree: leaf {} is factor {} of {}", number, node.factor, factors));
      }
      if (present[node.factor]) {
        return input_error(fmt::format("contraction tree: factor {} is in two leaves", node.factor));
      }
      present[node.factor] = true;
      continue;
    }
    if (node.children.size() < 2) {
      return input_error(fmt::format("contraction tree: node {} contracts a single child", number));
    }
    for (const std::uint32_t child : node.children) {
      if (child >= number) {
        return input_error(fmt::format("contraction tree: child {} does not stand before node {}", child, number));
      }
      if (has_parent[child]) return input_error(fmt::format("contraction tree: node {} has two parents", child));
      has_parent[child] = true;
    }
  }
  for (std::size_t factor = 0; factor < factors; ++factor) {
    if (!present[factor]) return input_error(fmt::format("contraction tree: factor {} is missing", factor));
  }
  for (std::size_t number = 0; number + 1 < tree.nodes.size(); ++number) {
    if (!has_parent[number]) {
      return input_error(fmt::format("contraction tree: node {} has no parent and is not the last", number));
    }
  }
  return {};
}

std::string print(const ContractionTree& tree, const std::vector<std::string>& names) {
  const std::vector<Occurrence> occurrence = occurrences(names);
  const std::vector<std::uint32_t> order = post_order(tree);
  // A bare name is read as the next occurrence in the order of the expression; where the tree has another order, the
  // occurrences of that name are numbered.
  std::map<std::string_view, std::size_t> last;
  std::map<std::string_view, bool> numbered;
  for (const std::uint32_t number : order) {
    if (!tree.nodes[number].children.empty()) continue;
    const std::uint32_t factor = tree.nodes[number].factor;
    if (occurrence[factor].number < last[names[factor]]) numbered[names[factor]] = true;
    last[names[factor]] = occurrence[factor].number;
  }
  std::vector<std::string> texts(tree.nodes.size());
  for (const std::uint32_t number : order) {
    const ContractionTree::Node& node = tree.nodes[number];
    if (node.children.empty()) {
      const std::string& name = names[node.factor];
      texts[number] = numbered[name] ? fmt::format("{}.{}", name, occurrence[node.factor].number) : name;
      continue;
    }
    std::string text(1, '(');
    for (const std::uint32_t child : node.children) {
      if (text.size() > 1) text.append(" * ");
      text.append(texts[child]);
    }
    text.push_back(')');
    texts[number] = std::move(text);
  }
  return tree.nodes.empty() ? std::string() : texts.back();
}

Expected<ContractionTree> parse_tree(const std::string& text, const std::vector<std::string>& names) {
  return TreeParser(text, names).parse();
}

ContractionTree canonical(const ContractionTree& tree) {
  ContractionTree ordered = tree;
  std::vector<std::uint32_t> smallest(tree.nodes.size());
  for (std::size_t number = 0; number < ordered.nodes.size(); ++number) {
    ContractionTree::Node& node = ordered.nodes[number];
    std::sort(node.children.begin(), node.children.end(),
              [&](std::uint32_t left, std::uint32_t right) { return smallest[left] < smallest[right]; });
    smallest[number] = node.children.empty() ? node.factor : smallest[node.children.front()];
    if (!node.children.empty()) node.factor = 0;
  }
  const std::vector<std::uint32_t> order = post_order(ordered);
  std::vector<std::uint32_t> renumbered(tree.nodes.size());
  for (std::size_t number = 0; number < order.size(); ++number) {
    renumbered[order[number]] = static_cast<std::uint32_t>(number);
  }
  ContractionTree result;
  for (const std::uint32_t number : order) {
    ContractionTree::Node node = ordered.nodes[number];
    for (std::uint32_t& child : node.children) child = renumbered[child];
    result.nodes.push_back(std::move(node));
  }
  return result;
}

}  // namespace weft
