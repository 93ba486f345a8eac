#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/print.h"
#include "engine/loop/products.h"
#include "engine/loop/rules.h"

namespace weft::loop {
namespace {

bool has_symbol(const ExpandedProduct& product, const Symbol& symbol) {
  const auto has = [&](const std::vector<Symbol>& symbols) {
    return std::ranges::any_of(symbols, [&](const Symbol& one) { return one.is_of(symbol); });
  };
  return has(product.target) || std::ranges::any_of(product.factors, has, &ExpandedAccess::symbols);
}

/// A filter leaves out only zeros if one of the factors has the filter's entries as the beginnings of its own.
bool is_factor(const ExpandedProduct& product, const ExpandedAccess& prefix) {
  const auto extends = [&](const ExpandedAccess& access) {
    return access.storage == prefix.storage &&
           std::ranges::mismatch(prefix.symbols, access.symbols).in1 == prefix.symbols.end();
  };
  return std::ranges::any_of(product.factors, extends) || std::ranges::any_of(product.through, extends);
}

}  // namespace

Expected<void> check_coverage(const Program& program) {
  const std::vector<PlacedAccumulate> all = accumulates(program);
  const Expected<std::vector<ExpandedProduct>> products = expand(program, all);
  if (!products) return std::unexpected(products.error());
  for (const ExpandedProduct& product : *products) {
    const std::string what =
        fmt::format("coverage: {} {}", print(program, *product.root->accumulate), where(program, product.root->path));
    for (const Symbol& loop : product.loops)
      if (!has_symbol(product, loop))
        return input_error(
            fmt::format("{}: neither the target nor a factor has index {}, so that the same product would be added "
                        "once per iteration",
                        what, program.indices[loop.index]));
    for (const Filter& filter : product.filters)
      if (!is_factor(product, filter.prefix))
        return input_error(
            fmt::format("{}: level {} of {} leaves out coordinates by {}, but {} is no factor of the product", what,
                        filter.prefix.symbols.size() - 1, print(program, program.accesses[filter.step.access]),
                        print(program, filter.step), program.accesses[filter.step.access].name));
  }
  return {};
}

}  // namespace weft::loop
