#include "frontend/result_report.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/plan/explain/explained.h"
#include "runtime/scalar_traits.h"

namespace weft {
namespace {

template <class Element>
ResultReport summed(std::span<const Element> values) {
  ResultReport report;
  double scale = 0;
  for (const Element value : values) {
    report.sum += static_cast<double>(value);
    scale = std::max(scale, std::abs(static_cast<double>(value)));
  }
  // Scaled, so that squares of huge or tiny values neither overflow nor vanish.
  if (scale > 0 && std::isfinite(scale)) {
    double squares = 0;
    for (const Element value : values) {
      const double scaled = static_cast<double>(value) / scale;
      squares += scaled * scaled;
    }
    report.norm = scale * std::sqrt(squares);
  } else {
    report.norm = scale;
  }
  for (const Element value : values) {
    if (std::isnan(value)) report.norm = value;
  }
  return report;
}

}  // namespace

const Explanation& explanation_of(const Report& report) {
  static const Explanation nothing;
  return report.explained ? *report.explained : nothing;
}

std::string result_format(const Format& format) {
  if (format.layout) return format.text();
  std::string text;
  for (const Level& level : format.levels) text += letter(level.kind);
  for (std::size_t level = 0; level < format.order(); ++level) {
    if (format.mode_order[level] != level) return format.text();
  }
  return text;
}

ResultReport result_report(const Tensor& tensor) {
  ResultReport report = with_element(tensor.format().scalar, [&]<class T>(T) { return summed(tensor.values().as<const T>()); });
  report.extents = tensor.extents();
  report.format = result_format(tensor.format());
  report.scalar = name(tensor.format().scalar);
  report.nnz = tensor.nnz();
  report.bytes = tensor.bytes();
  return report;
}

}  // namespace weft
