#include "engine/lower/loops.h"

#include <algorithm>

#include "engine/loop/overloaded.h"

namespace weft {
namespace {

LevelsBound below(const std::vector<loop::Step>& steps, LevelsBound bound) {
  for (const loop::Step& step : steps) ++bound[step.access];
  return bound;
}

void visit_block(loop::Block& block, const LevelsBound& bound, const std::function<void(loop::For&, const LevelsBound&)>& visit) {
  for (loop::Statement& statement : block) {
    std::visit(loop::Overloaded{[&](loop::For& each) {
                                  visit(each, bound);
                                  visit_block(each.body, below(each.steps, bound), visit);
                                },
                                [&](loop::Bind& late) { visit_block(late.body, below(late.steps, bound), visit); },
                                [&](loop::With& live) { visit_block(live.body, bound, visit); }, [](loop::Accumulate&) {}},
               statement.node);
  }
}

}  // namespace

void for_each_loop(loop::Program& program, const std::function<void(loop::For&, const LevelsBound&)>& visit) {
  visit_block(program.body, LevelsBound(program.accesses.size(), 0), visit);
}

std::optional<std::uint64_t> fixed_extent(const loop::Program& program, loop::IndexId index) {
  for (const loop::Fact& fact : program.facts) {
    const auto* known = std::get_if<loop::ExtentFact>(&fact);
    if (known && known->index == index) return known->extent;
  }
  return std::nullopt;
}

std::optional<double> fiber_entries(const LoweredNest& nest, const loop::For& each, const LevelsBound& bound,
                                    const std::vector<std::vector<double>>& means) {
  std::optional<double> entries;
  for (const loop::Step& step : each.steps) {
    if (step.use != loop::Use::drive) continue;
    const std::uint32_t tensor = nest.tensors[nest.program.accesses[step.access].storage];
    const std::uint32_t level = bound[step.access];
    const double mean = tensor < means.size() && level < means[tensor].size() ? means[tensor][level] : 0;
    entries = std::min(entries.value_or(mean), mean);
  }
  return entries;
}

}  // namespace weft
