#include "engine/loop/batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/print.h"
#include "engine/loop/walk.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

bool drives(const For& each) { return std::ranges::find(each.steps, Use::drive, &Step::use) != each.steps.end(); }

/// The last statement, inside `with`s that stand last, and for a flat walk inside the loops of its chain.
const For* last_loop(const Block& block, bool flat) {
  if (block.empty()) return nullptr;
  if (const auto* live = std::get_if<With>(&block.back().node)) return last_loop(live->body, flat);
  const auto* each = std::get_if<For>(&block.back().node);
  return each != nullptr && flat && drives(*each) ? last_loop(each->body, flat) : each;
}

std::size_t steps_on(const std::vector<const For*>& loops, AccessId access) {
  std::size_t steps = 0;
  for (const For* each : loops) steps += static_cast<std::size_t>(std::ranges::count(each->steps, access, &Step::access));
  return steps;
}

bool has_index(const Access& access, const std::vector<const For*>& loops) {
  return std::ranges::any_of(loops,
                             [&](const For* each) { return std::ranges::find(access.indices, each->index) != access.indices.end(); });
}

/// Whether an index of the access is that of the loop, or of one of a flat walk that it begins.
bool depends_on(const Access& access, const For& each) {
  if (has_index(access, {&each})) return true;
  const auto* inner = each.marks.flat && !each.body.empty() ? std::get_if<For>(&each.body.back().node) : nullptr;
  for (; inner != nullptr && drives(*inner); inner = inner->body.empty() ? nullptr : std::get_if<For>(&inner->body.back().node))
    if (has_index(access, {inner})) return true;
  return false;
}

bool lives_inside(const Block& block, StorageId workspace) {
  return std::ranges::any_of(block, [&](const Statement& statement) {
    const auto* live = std::get_if<With>(&statement.node);
    if (live != nullptr && live->workspace == workspace) return true;
    return std::visit(
        [&](const auto& nested) {
          if constexpr (requires { nested.body; }) return lives_inside(nested.body, workspace);
          return false;
        },
        statement.node);
  });
}

/// How many accumulations of the block read or write the storage.
std::size_t uses_of(const Program& program, const Block& block, StorageId storage) {
  std::size_t uses = 0;
  const auto is_one = [&](AccessId access) { return program.accesses[access].storage == storage; };
  for (const Statement& statement : block) {
    if (const auto* sum = std::get_if<Accumulate>(&statement.node)) {
      uses += is_one(sum->target) || std::ranges::any_of(sum->factors, is_one) ? 1 : 0;
    } else {
      std::visit(
          [&](const auto& nested) {
            if constexpr (requires { nested.body; }) uses += uses_of(program, nested.body, storage);
          },
          statement.node);
    }
  }
  return uses;
}

std::vector<const For*> nest_of(const BatchedProduct& product) {
  std::vector<const For*> nest = product.columns;
  nest.insert(nest.begin(), product.rows);
  return nest;
}

/// Loops directly in each other, from `rows` down to one accumulation.
Expected<BatchedProduct> nest_below(const For* rows) {
  BatchedProduct found;
  found.rows = rows;
  const For* each = rows;
  while (each->body.size() == 1) {
    found.sum = std::get_if<Accumulate>(&each->body.front().node);
    each = std::get_if<For>(&each->body.front().node);
    if (each == nullptr) break;
    found.columns.push_back(each);
  }
  if (found.sum == nullptr || found.columns.empty())
    return input_error("the last statement is a nest of two loops or more with one accumulation in it and nothing else");
  return found;
}

/// What the nest binds are dense levels, down to the last one, of what it multiplies and adds to.
Expected<void> check_steps(const Program& program, const BatchedProduct& product) {
  const std::vector<const For*> nest = nest_of(product);
  for (const For* each : nest) {
    for (const Step& step : each->steps) {
      const bool used =
          step.access == product.sum->target || std::ranges::find(product.sum->factors, step.access) != product.sum->factors.end();
      const std::vector<Level>& levels = program.storages[program.accesses[step.access].storage].levels;
      const auto first = levels.end() - static_cast<std::ptrdiff_t>(steps_on(nest, step.access));
      for (auto level = static_cast<std::size_t>(first - levels.begin()); level < levels.size(); ++level)
        if (is_at_sum(program, program.accesses[step.access], level))
          return input_error(fmt::format("loop {}: {}: it is at a sum, which may be out of range", program.indices[each->index],
                                         print(program, step)));
      if (has_given(program, program.accesses[step.access], each->index))
        return input_error(fmt::format("loop {}: {}: it is at what {} gives", program.indices[each->index], print(program, step),
                                       program.indices[each->index]));
      if (!used || step.use == Use::append || !std::all_of(first, levels.end(), [](const Level& level) { return is_dense(level); }))
        return input_error(fmt::format("loop {}: {}: the nest goes over dense levels of what it multiplies", program.indices[each->index],
                                       print(program, step)));
    }
  }
  return {};
}

/// Each factor belongs to rows, to columns, or to neither.
Expected<void> divide_factors(const Program& program, BatchedProduct& product) {
  for (const AccessId factor : product.sum->factors) {
    const Access& access = program.accesses[factor];
    const bool of_rows = has_index(access, {product.rows});
    const bool of_columns = has_index(access, product.columns);
    const std::size_t others = (of_rows ? 0 : steps_on({product.rows}, factor)) + (of_columns ? 0 : steps_on(product.columns, factor));
    if ((of_rows && of_columns) || others > 0)
      return input_error(fmt::format("{} is a row of one side of the product alone", print(program, access)));
    if (of_rows) product.row_factors.push_back(factor);
    if (of_columns) product.column_factors.push_back(factor);
  }
  if (product.row_factors.empty() || product.column_factors.empty())
    return input_error("the product has a factor with the index of the outer loop, and one with an index of those inside");
  return {};
}

}  // namespace

Expected<BatchedProduct> batched_product(const Program& program, const For& each, std::span<const std::uint32_t> bound) {
  const For* rows = last_loop(each.body, each.marks.flat);
  if (rows == nullptr) return input_error("the last statement is no loop");
  Expected<BatchedProduct> product = nest_below(rows);
  if (!product) return product;
  if (Expected<void> checked = check_steps(program, *product); !checked) return std::unexpected(checked.error());
  const AccessId target = product->sum->target;
  const Access& block = program.accesses[target];
  const std::vector<const For*> nest = nest_of(*product);
  const bool all_indices = std::ranges::all_of(nest, [&](const For* loop) { return has_index(block, {loop}); });
  if (!all_indices || depends_on(block, each) || bound[target] + steps_on(nest, target) != block.indices.size() ||
      lives_inside(each.body, block.storage))
    return input_error(fmt::format("{} is bound but for all indices of the nest before the loop", print(program, block)));
  if (uses_of(program, each.body, block.storage) != 1)
    return input_error(fmt::format("{} is accumulated into once, and not read", print(program, block)));
  if (Expected<void> divided = divide_factors(program, *product); !divided) return std::unexpected(divided.error());
  return product;
}

}  // namespace weft::loop
