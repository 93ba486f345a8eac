#include "engine/loop/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "engine/loop/print.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

/// A program with 40 workspaces, each the square of the one before, is a page of text and 2^40 factors.
constexpr std::size_t most_substitutions = 10000;

/// The symbols of the loops that one Accumulate stands in.
using Environment = std::map<IndexId, Symbol>;

class Expansion {
 public:
  Expansion(const Program& program, const std::vector<PlacedAccumulate>& all) : program_(program), all_(all) {}

  Expected<std::vector<ExpandedProduct>> outputs() {
    std::map<StorageId, const Access*> first;  // of every output: its symbols name the result's indices
    std::vector<ExpandedProduct> products;
    for (const PlacedAccumulate& each : all_) {
      const Access& target = program_.accesses[each.accumulate->target];
      if (program_.storages[target.storage].role != Role::output) continue;
      const Access& named = *first.try_emplace(target.storage, &target).first->second;
      ExpandedProduct start;
      start.root = &each;
      Environment environment;
      for (std::size_t level = 0; level < target.indices.size(); ++level) {
        start.target.push_back({named.indices[level], 0});
        start.loops.push_back(start.target.back());
        environment.emplace(target.indices[level], start.target.back());
      }
      for (ExpandedProduct& product : expand(each, std::move(environment), start))
        products.push_back(std::move(product));
    }
    if (unsupported_) return unsupported(*unsupported_);
    return products;
  }

 private:
  /// `start` times what `each` accumulates; `environment` holds the symbols that are given, the other loops get new
  /// ones.
  std::vector<ExpandedProduct> expand(const PlacedAccumulate& each, Environment environment, ExpandedProduct start) {
    if (++substitutions_ > most_substitutions) {
      unsupported_ =
          fmt::format("coverage: the workspaces expand to more than {} products: not yet", most_substitutions);
      return {};
    }
    for (std::size_t depth = 0; depth < each.path.enclosing.size(); ++depth)
      if (const For* loop = each.path.loop(depth)) {
        const auto [entry, is_new] = environment.try_emplace(loop->index, Symbol{loop->index, 0});
        if (is_new)
          while (std::ranges::find(start.loops, entry->second) != start.loops.end()) ++entry->second.copy;
        if (std::ranges::find(start.loops, entry->second) == start.loops.end()) start.loops.push_back(entry->second);
      }
    add_filters(each, environment, start);
    start.negative = start.negative != each.accumulate->negative;
    if (each.accumulate->coefficient) start.coefficients.push_back(*each.accumulate->coefficient);
    std::vector<ExpandedProduct> products{std::move(start)};
    for (AccessId factor : each.accumulate->factors) {
      const ExpandedAccess access = expanded(factor, program_.accesses[factor].indices.size(), environment);
      if (program_.storages[access.storage].role == Role::input) {
        for (ExpandedProduct& product : products) product.factors.push_back(access);
        continue;
      }
      std::vector<ExpandedProduct> substituted;
      for (ExpandedProduct& product : products) {
        product.through.push_back(access);
        for (const PlacedAccumulate& writer : all_)
          if (program_.accesses[writer.accumulate->target].storage == access.storage)
            for (ExpandedProduct& more : expand(writer, seen_by(writer, access, environment), product))
              substituted.push_back(std::move(more));
      }
      products = std::move(substituted);
    }
    return products;
  }

  /// The reader's symbols as the writer's loops see them: those around the With are shared, those of the workspace's
  /// levels are the reader's, all others are the writer's own.
  Environment seen_by(const PlacedAccumulate& writer, const ExpandedAccess& read, const Environment& reader) {
    Environment environment;
    const std::size_t with = writer.path.depth_of_with(read.storage);
    for (std::size_t depth = 0; depth < with; ++depth)
      if (const For* loop = writer.path.loop(depth)) environment.emplace(loop->index, reader.at(loop->index));
    const Access& target = program_.accesses[writer.accumulate->target];
    for (std::size_t level = 0; level < target.indices.size(); ++level) {
      const auto [entry, is_new] = environment.emplace(target.indices[level], read.symbols[level]);
      if (!is_new && entry->second != read.symbols[level])
        unsupported_ = fmt::format(
            "coverage: workspace {} is written at {}, where two levels have one index or a level has an outer loop's, "
            "and "
            "read elsewhere: not yet",
            program_.storages[read.storage].name, print(program_, target));
    }
    return environment;
  }

  void add_filters(const PlacedAccumulate& each, const Environment& environment, ExpandedProduct& product) const {
    for (AccessId access = 0; access < each.path.bound.size(); ++access) {
      const std::vector<BoundLevel>& bound = each.path.bound[access];
      for (std::size_t level = 0; level < bound.size(); ++level) {
        const Step& step = bound[level].step;
        if (step.use != Use::drive && step.use != Use::locate) continue;
        if (leaves_out(program_, program_.accesses[access], level))
          product.filters.push_back({expanded(access, level + 1, environment), step});
      }
    }
  }

  ExpandedAccess expanded(AccessId id, std::size_t levels, const Environment& environment) const {
    const Access& access = program_.accesses[id];
    ExpandedAccess result{access.storage, {}};
    for (std::size_t level = 0; level < levels; ++level) {
      const IndexDefinition* const definition = definition_of(program_, access.indices[level]);
      const auto has_loops = [&](const Summand& summand) { return definition_of(program_, summand.index) == nullptr; };
      const Summand* const first = definition == nullptr ? nullptr : &*std::ranges::find_if(definition->of, has_loops);
      Symbol symbol = environment.at(definition == nullptr ? access.indices[level] : first->index);
      if (definition != nullptr) {
        symbol.part = definition->part;
        symbol.factor = first->factor;
        symbol.own_part = first->part;
        symbol.offset = definition->offset;
        symbol.extent = definition->extent;
        symbol.cover = definition->cover;
        for (const Summand& other : definition->of) {
          if (&other == first) continue;
          if (!has_loops(other)) {
            const auto start = static_cast<std::size_t>(std::ranges::find(access.indices, other.index) - access.indices.begin());
            symbol.starts.push_back({start, other.factor});
            continue;
          }
          const Symbol& loop = environment.at(other.index);
          symbol.others.push_back({loop.index, loop.copy, other.factor, other.part});
        }
      }
      result.symbols.push_back(std::move(symbol));
    }
    return result;
  }

  const Program& program_;
  const std::vector<PlacedAccumulate>& all_;
  std::size_t substitutions_ = 0;
  std::optional<std::string> unsupported_;
};

}  // namespace

bool leaves_out(const Program& program, const Access& access, std::size_t level) {
  const StorageId storage = access.storage;
  const Storage& type = program.storages[storage];
  if (is_at_sum(program, access, level)) return true;
  if (type.role == Role::input && is_dense(type.levels[level].kind)) return false;
  return std::ranges::none_of(program.facts, [&](const Fact& fact) {
    const FullFact* full = std::get_if<FullFact>(&fact);
    return full != nullptr && full->storage == storage && full->level == level;
  });
}

Expected<std::vector<ExpandedProduct>> expand(const Program& program, const std::vector<PlacedAccumulate>& all) {
  return Expansion(program, all).outputs();
}

}  // namespace weft::loop
