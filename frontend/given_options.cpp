#include "frontend/given_options.h"

#include <fmt/format.h>

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
  return {};
}

}  // namespace weft
