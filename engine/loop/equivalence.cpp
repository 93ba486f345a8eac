#include "engine/loop/equivalence.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/loop/products.h"
#include "engine/loop/rules.h"
#include "engine/network/mode_sum.h"

namespace weft::loop {
namespace {

/// `symbols`: of the levels of the access.
std::string name_of(const Program& program, const Symbol& symbol, const std::vector<Symbol>& symbols) {
  const auto name = [&](IndexId index, std::uint32_t copy) { return program.indices[index] + std::string(copy, '\''); };
  std::vector<std::pair<std::string, std::int64_t>> summands{{name(symbol.index, symbol.copy) + symbol.own_part.text(), symbol.factor}};
  for (const Symbol::Other& other : symbol.others) summands.emplace_back(name(other.index, other.copy) + other.part.text(), other.factor);
  for (const Symbol::Start& start : symbol.starts) summands.emplace_back(name_of(program, symbols[start.level], symbols), start.factor);
  const std::string sum = sum_text(summands, symbol.offset, false);
  if (symbol.cover) return cover_text(sum, *symbol.cover, false);
  const bool grouped = !symbol.part.is_whole() && (symbol.factor != 1 || !symbol.others.empty() || symbol.offset != 0);
  return (grouped ? "(" + sum + ")" : sum) + symbol.part.text();
}

std::vector<std::string> names_of(const Program& program, const std::vector<Symbol>& symbols) {
  std::vector<std::string> names;
  for (const Symbol& symbol : symbols) names.push_back(name_of(program, symbol, symbols));
  return names;
}

bool before(const Product& a, const Product& b) {
  return std::tie(a.factors, a.coefficients, a.negative) < std::tie(b.factors, b.coefficients, b.negative);
}

}  // namespace

Expected<std::vector<Definition>> definitions(const Program& program) {
  for (const auto rule : {check_definitions, check_binding, check_completeness, check_life_cycle})
    if (Expected<void> checked = rule(program); !checked) return internal_error(checked.error().message);
  const std::vector<PlacedAccumulate> all = accumulates(program);
  const Expected<std::vector<ExpandedProduct>> products = expand(program, all);
  if (!products) return std::unexpected(products.error());

  std::map<StorageId, Definition> by_output;
  for (StorageId id = 0; id < program.storages.size(); ++id)
    if (program.storages[id].role == Role::output) by_output[id].output = program.storages[id].name;
  for (const ExpandedProduct& each : *products) {
    Definition& definition = by_output[program.accesses[each.root->accumulate->target].storage];
    definition.indices = names_of(program, each.target);
    Product product{{}, each.negative, each.coefficients};
    for (const ExpandedAccess& factor : each.factors)
      product.factors.emplace_back(program.storages[factor.storage].name, names_of(program, factor.symbols));
    std::ranges::sort(product.factors);
    std::ranges::sort(product.coefficients);
    definition.products.push_back(std::move(product));
  }
  std::vector<Definition> result;
  for (auto& [id, definition] : by_output) {
    std::ranges::sort(definition.products, before);
    result.push_back(std::move(definition));
  }
  return result;
}

}  // namespace weft::loop
