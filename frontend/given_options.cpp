#include "frontend/given_options.h"

#include <fmt/format.h>

#include <cmath>

#include "frontend/token.h"
#include "runtime/build.h"

namespace weft {

Expected<void> check_options(const CompileOptions& options) {
  for (const auto& [name, format] : options.formats) {
    const auto checked = check_levels(format, name);
    if (checked) continue;
    auto refused = option_error("formats", checked.error().message, name);
    refused.error().kind = checked.error().kind;
    return refused;
  }
  if (!(options.calls >= 1) || std::isinf(options.calls))
    return option_error("calls", fmt::format("{} expected calls: a number from 1 on is possible", options.calls));
  if (options.specialize > Specialization::automatic)
    return option_error("specialize", fmt::format("there is no specialization {}", static_cast<unsigned>(options.specialize)));
  return {};
}

Expected<void> check_figures(const std::map<std::string, Statistics>& operands) {
  for (const auto& [name, figures] : operands) {
    const Format& format = figures.format();
    const std::size_t order = figures.extents().size();
    if (format.modes() != order)
      return fail(ErrorKind::input, ErrorCode::order, name,
                  fmt::format("figures of {}: the format has {} modes, the extents are {}", name, format.modes(), order));
    auto checked = check_levels(format, name);
    if (checked) checked = check_extents(figures.extents(), name);
    if (!checked) return fail(checked.error().kind, ErrorCode::invalid_tensor, name, std::move(checked.error().message));
    if (!(figures.nnz() >= 0) || std::isinf(figures.nnz()))
      return fail(ErrorKind::input, ErrorCode::sizes, name, fmt::format("figures of {}: {} is no number of entries", name, figures.nnz()));
  }
  return {};
}

}  // namespace weft
