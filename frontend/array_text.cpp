#include "frontend/array_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/number_text.h"
#include "frontend/stored.h"
#include "runtime/gaps.h"

namespace weft {
namespace {

constexpr std::size_t line_width = 75;
constexpr std::uint64_t threshold = 1000;    // elements that are printed without "..."
constexpr std::uint64_t most_printed = 8000;  // elements; more can only be of many short modes
constexpr std::uint64_t edge_entries = 10;   // of a sparse tensor, at both ends

/// Elements of each mode that are printed at either end; 0: all.
std::uint64_t edge_items(const std::vector<std::uint64_t>& extents) {
  const auto printed = [&](std::uint64_t edge) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : extents) {
      const std::uint64_t shown = edge == 0 ? extent : std::min(extent, 2 * edge);
      if (shown > 0 && count > most_printed / shown) return most_printed + 1;
      count *= shown;
    }
    return count;
  };
  if (printed(0) <= threshold) return 0;
  std::uint64_t edge = 3;
  while (edge > 1 && printed(edge) > most_printed) --edge;
  return edge;
}

class ArrayText {
 public:
  explicit ArrayText(const DenseView& view) : view_(view), edge_(edge_items(view.extents)), numbers_(shown(), view.scalar) {}

  std::string text() { return part(0, 1, line_width); }

 private:
  bool abbreviated(std::size_t mode) const { return edge_ > 0 && view_.extents[mode] > 2 * edge_; }

  /// Calls body with every coordinate that is printed; `gap` where others are left out.
  template <class Body, class Gap>
  void for_shown(std::size_t mode, const Body& body, const Gap& gap) const {
    const std::uint64_t extent = view_.extents[mode];
    if (!abbreviated(mode)) {
      for (std::uint64_t c = 0; c < extent; ++c) body(c);
      return;
    }
    for (std::uint64_t c = 0; c < edge_; ++c) body(c);
    gap();
    for (std::uint64_t c = extent - edge_; c < extent; ++c) body(c);
  }

  void collect(std::size_t mode, std::vector<double>& values) {
    if (values.size() > most_printed) return;
    if (mode == view_.extents.size()) {
      values.push_back(view_.at(at_));
      return;
    }
    for_shown(mode, [&](std::uint64_t c) {
      at_[mode] = c;
      collect(mode + 1, values);
    }, [] {});
  }

  std::vector<double> shown() {
    at_.assign(view_.extents.size(), 0);
    std::vector<double> values;
    if (!view_.empty()) collect(0, values);
    return values;
  }

  std::string part(std::size_t mode, std::size_t indent, std::size_t width) {
    if (mode == view_.extents.size()) return numbers_.text(view_.at(at_));
    return mode + 1 == view_.extents.size() ? row(mode, indent, width) : block(mode, indent, width);
  }

  /// Numbers side by side, wrapped where a line is full.
  std::string row(std::size_t mode, std::size_t indent, std::size_t width) {
    std::string text;
    std::string line(indent, ' ');
    bool first = true;
    const auto add = [&](const std::string& word) {
      if (!first) line += ' ';
      first = false;
      if (line.size() + word.size() > width - 1 && line.size() > indent) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
        line.assign(indent, ' ');
      }
      line += word;
    };
    for_shown(mode, [&](std::uint64_t c) {
      at_[mode] = c;
      add(part(mode + 1, indent + 1, width - 1));
    }, [&] { add("..."); });
    text += line;
    return '[' + text.substr(std::min(indent, text.size())) + ']';
  }

  std::string block(std::size_t mode, std::size_t indent, std::size_t width) {
    const std::string between(view_.extents.size() - mode - 1, '\n');
    std::string text;
    const auto add = [&](const std::string& nested) {
      if (!text.empty()) text += between + std::string(indent, ' ');
      text += nested;
    };
    for_shown(mode, [&](std::uint64_t c) {
      at_[mode] = c;
      add(part(mode + 1, indent + 1, width - 1));
    }, [&] { add("..."); });
    return '[' + text + ']';
  }

  const DenseView& view_;
  std::uint64_t edge_;
  std::vector<std::uint64_t> at_;  // the element being printed
  ArrayNumbers numbers_;
};

std::string entry_text(std::span<const std::uint64_t> coordinates, double value, Scalar scalar) {
  return fmt::format("  ({})  {}\n", fmt::join(coordinates, ", "), number_text(value, scalar));
}

}  // namespace

std::string array_text(const DenseView& view) {
  if (view.extents.empty()) return number_text(view.at({}), view.scalar);
  if (view.empty()) return "[]";
  std::uint64_t shortest_print = 1;
  for (const std::uint64_t extent : view.extents) shortest_print *= std::min<std::uint64_t>(extent, 2);
  if (shortest_print > most_printed) {
    return fmt::format("[... {} modes are too many to print: take a slice]", view.extents.size());
  }
  return ArrayText(view).text();
}

std::string entries_text(const Tensor& tensor) {
  if (tensor.format().layout) {
    const auto plain = plain_entries(tensor, Resources{Memory(), Threads(1), Cancellation(), {}}, "entries in a layout");
    return plain ? entries_text(*plain) : fmt::format("  ... {}\n", plain.error().message);
  }
  const std::uint64_t stored = tensor.nnz();
  const bool positions_are_entries = !has_gaps(tensor.format());
  const std::uint64_t first = stored <= 2 * edge_entries ? stored : edge_entries;
  std::string text;
  std::uint64_t shown = 0;
  const auto visit = [&](std::span<const std::uint64_t> coordinates, double value) {
    if (shown == first) return false;
    text += entry_text(coordinates, value, tensor.format().scalar);
    return ++shown < first;
  };
  // No cancellation: the visit ends after a few entries.
  if (stored > 0) (void)visit_entries(tensor, select_all(tensor.extents()), Cancellation(), visit);
  if (first == stored) return text;
  const std::uint64_t last = positions_are_entries ? edge_entries : 0;
  text += fmt::format("  ... {} more\n", stored - first - last);
  for (std::uint64_t position = stored - last; position < stored; ++position) {
    const StoredEntry entry = entry_at(tensor, position);
    text += entry_text(entry.coordinates, entry.value, tensor.format().scalar);
  }
  return text;
}

std::string tensor_text(const Tensor& tensor, const std::string& name) {
  if (tensor.format().all_dense()) return array_text(dense_view(tensor, select_all(tensor.extents()))) + '\n';
  return fmt::format("{}: {}\n{}", name, tensor.summary(), entries_text(tensor));
}

}  // namespace weft
