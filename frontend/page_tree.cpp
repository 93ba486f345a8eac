// The contraction tree drawn: every subtree takes the width it needs, parents stand above the middle of their children.
#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/explain/quantities.h"
#include "frontend/page.h"

namespace weft {
namespace {

constexpr double character = 7.6;   // of the monospaced labels, in pixels
constexpr double small_character = 6.0;
constexpr double padding = 18;
constexpr double gap = 16;
constexpr double box_height = 40;
constexpr double level_height = 84;
constexpr double margin = 6;

constexpr std::size_t longest_label = 30;

/// With an ellipsis, and the closing bracket, where it would be too long.
std::string shortened(const std::string& label) {
  if (label.size() <= longest_label) return label;
  return label.substr(0, longest_label - 4) + "..." + label.back();
}

struct Node {
  std::int32_t statement = -1;  ///< of an inner node
  std::string name;   ///< in full
  std::string label;  ///< as it is drawn
  std::string note;
  std::vector<Node> children;
  double own_width = 0;
  double width = 0;  ///< of the subtree
  double x = 0;      ///< of the middle
  std::size_t depth = 0;
};

class Picture {
 public:
  explicit Picture(const Explanation& explanation) : explained_(explanation), total_(work_ns(explanation)) {}

  std::string draw() {
    std::vector<bool> is_root(explained_.statements.size(), true);
    for (const ExplainedStatement& statement : explained_.statements) {
      for (const std::int32_t writer : statement.written_by) {
        if (writer >= 0) is_root[static_cast<std::size_t>(writer)] = false;
      }
    }
    double left = margin;
    std::size_t levels = 0;
    std::string shapes;
    for (std::size_t number = 0; number < is_root.size(); ++number) {
      if (!is_root[number]) continue;
      Node root = product(number, 0);
      place(root, left);
      left += root.width + 2 * gap;
      levels = std::max(levels, height(root));
      shapes += edges(root) + boxes(root) + labels(root);
    }
    const double width = std::max(left - 2 * gap, margin) + margin;
    const double tall = static_cast<double>(levels) * level_height - (level_height - box_height) + 2 * margin;
    return fmt::format("<svg role=\"img\" aria-label=\"contraction tree\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                       "viewBox=\"0 0 {0:.0f} {1:.0f}\">{2}</svg>",
                       width, std::max(tall, 0.0), shapes);
  }

 private:
  Node product(std::size_t number, std::size_t depth) {
    const ExplainedStatement& statement = explained_.statements[number];
    Node node;
    node.statement = static_cast<std::int32_t>(number);
    node.name = statement.text;
    node.label = shortened(statement.target);
    node.note = total_ > 0 ? fmt::format("{} · {}", percent_text(statement.ns / total_), time_text(statement.ns)) : "";
    node.depth = depth;
    for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
      const std::int32_t writer = statement.written_by[factor];
      node.children.push_back(writer >= 0 ? product(static_cast<std::size_t>(writer), depth + 1)
                                          : leaf(statement.factors[factor], depth + 1));
    }
    measure(node);
    return node;
  }

  Node leaf(const std::string& access, std::size_t depth) {
    Node node;
    node.name = access;
    node.label = shortened(access);
    node.depth = depth;
    const std::string name = access.substr(0, access.find('['));
    const auto layout = std::ranges::find(explained_.layouts, name, &ExplainedLayout::name);
    if (layout != explained_.layouts.end()) {
      node.note = (layout->format.empty() ? "scalar" : layout->format) + (layout->converted ? " converted" : "");
    }
    measure(node);
    return node;
  }

  static void measure(Node& node) {
    node.own_width = std::max(character * static_cast<double>(node.label.size()),
                              small_character * static_cast<double>(node.note.size())) + padding;
    double below = 0;
    for (const Node& child : node.children) below += child.width + (below > 0 ? gap : 0);
    node.width = std::max(node.own_width, below);
  }

  static void place(Node& node, double left) {
    double below = 0;
    for (const Node& child : node.children) below += child.width + (below > 0 ? gap : 0);
    double at = left + (node.width - below) / 2;
    for (Node& child : node.children) {
      place(child, at);
      at += child.width + gap;
    }
    const double centre = left + node.width / 2;
    const double aside = node.children.empty() ? 0 : (node.children.front().x + node.children.back().x) / 2 - centre;
    const double most_aside = (node.width - node.own_width) / 2;
    node.x = centre + std::clamp(aside, -most_aside, most_aside);
  }

  static std::size_t height(const Node& node) {
    std::size_t most = 0;
    for (const Node& child : node.children) most = std::max(most, height(child));
    return most + 1;
  }

  static double top(const Node& node) { return margin + static_cast<double>(node.depth) * level_height; }

  /// How many loops a product shares with the one that reads it.
  std::size_t shared(std::int32_t writer, std::int32_t reader) const {
    std::size_t loops = explained_.statements[static_cast<std::size_t>(writer)].loops.size();
    for (std::int32_t number = writer + 1; number <= reader; ++number) {
      loops = std::min<std::size_t>(loops, explained_.statements[static_cast<std::size_t>(number)].fused);
    }
    return loops;
  }

  std::string edges(const Node& node) const {
    std::string text;
    for (const Node& child : node.children) {
      const double from = top(node) + box_height;
      const double to = top(child);
      const double middle = (from + to) / 2;
      std::string kind = "edge leaf";
      if (child.statement >= 0) {
        const bool fused = shared(child.statement, node.statement) > 0;
        kind = fused ? "edge shared " + colour_class(static_cast<std::size_t>(child.statement)) : "edge";
      }
      text += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"/>", kind,
                          node.x, from, node.x, middle, child.x, middle, child.x, to);
      text += edges(child);
    }
    return text;
  }

  // Written last, with a halo, so that no edge runs through them.
  std::string labels(const Node& node) const {
    std::string text;
    for (const Node& child : node.children) {
      if (child.statement >= 0) {
        const std::size_t loops = shared(child.statement, node.statement);
        const std::vector<std::string>& names = explained_.statements[static_cast<std::size_t>(child.statement)].loops;
        const auto end = names.begin() + static_cast<std::ptrdiff_t>(loops);
        text += fmt::format("<text class=\"small halo\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", (node.x + child.x) / 2,
                            (top(node) + box_height + top(child)) / 2 + 4,
                            loops > 0 ? escaped(fmt::format("shares {}", fmt::join(names.begin(), end, ", ")))
                                      : "stored between nests");
      }
      text += labels(child);
    }
    return text;
  }

  std::string boxes(const Node& node) const {
    const bool inner = node.statement >= 0;
    std::string text = fmt::format(
        "<g class=\"{}\"><title>{}</title><rect class=\"box{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" rx=\"7\"/>",
        inner ? colour_class(static_cast<std::size_t>(node.statement)) : "plain", escaped(node.name), inner ? " product" : "",
        node.x - node.own_width / 2, top(node), node.own_width, box_height);
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text><text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>",
                        node.x, top(node) + 17, escaped(node.label), node.x, top(node) + 33, escaped(node.note));
    for (const Node& child : node.children) text += boxes(child);
    return text;
  }

  const Explanation& explained_;
  double total_ = 0;
};

}  // namespace

std::string tree_picture(const Explanation& explanation) { return Picture(explanation).draw(); }

}  // namespace weft
