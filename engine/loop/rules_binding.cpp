#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/loop/overloaded.h"
#include "engine/loop/print.h"
#include "engine/loop/rules.h"
#include "engine/loop/walk.h"
#include "engine/loop/words.h"
#include "engine/text/names.h"

namespace weft::loop {
namespace {

/// A name that may have dots inside, as in K.1.
bool is_access_name(std::string_view text) {
  if (text.empty() || !starts_name(text.front()) || text.back() == '.') return false;
  return text.find("..") == std::string_view::npos &&
         std::ranges::all_of(text, [](char c) { return continues_name(c) || c == '.'; });
}

template <class Range, class Name>
Expected<void> check_names(const Range& range, std::string_view what, bool dots, Name name_of) {
  std::set<std::string_view> seen;
  for (const auto& each : range) {
    const std::string& name = name_of(each);
    if (dots ? !is_access_name(name) : !is_name(name))
      return input_error(fmt::format("binding: \"{}\" is no name of {}: use letters, digits and _", name, what));
    if (!seen.insert(name).second) return input_error(fmt::format("binding: {} {} is declared twice", what, name));
  }
  return {};
}

Expected<void> check_declarations(const Program& program) {
  if (Expected<void> named = check_names(
          program.indices, "index", false, [](const std::string& n) -> auto& { return n; });
      !named)
    return named;
  if (Expected<void> named = check_names(
          program.storages, "storage", false, [](const Storage& s) -> auto& { return s.name; });
      !named)
    return named;
  if (Expected<void> named = check_names(
          program.accesses, "access", true, [](const Access& a) -> auto& { return a.name; });
      !named)
    return named;
  for (const Access& access : program.accesses) {
    if (access.storage >= program.storages.size())
      return input_error(fmt::format("binding: access {} is of storage number {}, there are {}", access.name,
                                     access.storage, program.storages.size()));
    for (IndexId index : access.indices)
      if (index >= program.indices.size())
        return input_error(fmt::format("binding: access {} has index number {}, there are {}", access.name, index,
                                       program.indices.size()));
    const Storage& storage = program.storages[access.storage];
    if (access.indices.size() != storage.levels.size())
      return input_error(fmt::format("binding: access {} has {} indices, but storage {} has {} levels",
                                     print(program, access), access.indices.size(), storage.name,
                                     storage.levels.size()));
  }
  return {};
}

Expected<void> check_access(const Program& program, AccessId access) {
  if (access < program.accesses.size()) return {};
  return input_error(fmt::format("binding: access number {}, there are {}", access, program.accesses.size()));
}

/// Whether an index, or all that give it, are bound on the path or by the loop.
bool is_bound(const Program& program, const Path& path, const For* loop, IndexId index) {
  const auto bound = [&](IndexId each) {
    return (loop != nullptr && each == loop->index) || path.depth_of_loop(each) < path.enclosing.size();
  };
  const IndexDefinition* const definition = definition_of(program, index);
  if (definition == nullptr) return bound(index);
  // A start is found by its own level's step, and what counts from it stands below (the rule "definition").
  return std::ranges::all_of(definition->of, [&](const Summand& summand) {
    return definition_of(program, summand.index) != nullptr || bound(summand.index);
  });
}

/// `loop`: the For the steps stand in, nullptr for a Bind.
Expected<void> check_steps(const Program& program, const Path& path, const For* loop, const std::vector<Step>& steps) {
  const std::string place = loop == nullptr
                                ? "a bind " + where(program, path)
                                : fmt::format("loop {} {}", program.indices[loop->index], where(program, path));
  std::vector<std::size_t> bound(program.accesses.size());
  for (const Step& step : steps) {
    if (Expected<void> exists = check_access(program, step.access); !exists) return exists;
    const Access& access = program.accesses[step.access];
    if (step.home && *step.home >= program.indices.size())
      return input_error(fmt::format("binding: {}: {}: a finger kept above loop number {}, there are {} indices", place,
                                     program.accesses[step.access].name, *step.home, program.indices.size()));
    const std::size_t level = path.bound[step.access].size() + bound[step.access];
    if (level >= access.indices.size())
      return input_error(fmt::format("binding: {}: {}: all {} levels of {} are already bound", place,
                                     print(program, step), access.indices.size(), print(program, access)));
    const std::string what = fmt::format("{}: {}: level {} of {} has index {}", place, print(program, step), level,
                                         print(program, access), program.indices[access.indices[level]]);
    const bool own = loop != nullptr && access.indices[level] == loop->index;
    if (!is_bound(program, path, loop, access.indices[level]))
      return input_error(fmt::format("binding: {}, which no loop around has bound yet", what));
    if (!own && step.use != Use::locate && step.use != Use::insert)
      return input_error(fmt::format("binding: {}, bound outside: such a late step can only locate or insert", what));
    if (step.use == Use::drive && bound[step.access] > 0)
      return input_error(
          fmt::format("binding: {}: only the first level bound in a loop can drive it, locate the others", what));
    ++bound[step.access];
  }
  return {};
}

}  // namespace

Expected<void> check_binding(const Program& program) {
  if (Expected<void> declared = check_declarations(program); !declared) return declared;
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    // Every later pass recurses over the statements, and the stack is the host's.
    if (path.enclosing.size() > deepest_nesting)
      return input_error(fmt::format("binding: statements nest deeper than {}", deepest_nesting));
    return std::visit(
        Overloaded{[&](const For& loop) -> Expected<void> {
                     if (loop.index >= program.indices.size())
                       return input_error(fmt::format("binding: a loop over index number {}, there are {}", loop.index,
                                                      program.indices.size()));
                     if (definition_of(program, loop.index) != nullptr)
                       return input_error(
                           fmt::format("definition: a loop over {}, which another index gives", program.indices[loop.index]));
                     if (path.depth_of_loop(loop.index) != path.enclosing.size())
                       return input_error(fmt::format("binding: loop {} stands {}: the index is already bound",
                                                      program.indices[loop.index], where(program, path)));
                     for (const ParallelTarget& target : loop.marks.parallel)
                       if (target.storage >= program.storages.size())
                         return input_error(
                             fmt::format("binding: @parallel of loop {} names storage number {}, there are {}",
                                         program.indices[loop.index], target.storage, program.storages.size()));
                     return check_steps(program, path, &loop, loop.steps);
                   },
                   [&](const Bind& bind) { return check_steps(program, path, nullptr, bind.steps); },
                   [&](const With& with) -> Expected<void> {
                     if (with.workspace >= program.storages.size())
                       return input_error(fmt::format("binding: with storage number {}, there are {}", with.workspace,
                                                      program.storages.size()));
                     return {};
                   },
                   [&](const Accumulate& accumulate) -> Expected<void> {
                     if (Expected<void> exists = check_access(program, accumulate.target); !exists) return exists;
                     for (AccessId factor : accumulate.factors)
                       if (Expected<void> exists = check_access(program, factor); !exists) return exists;
                     return {};
                   }},
        statement.node);
  });
}

Expected<void> check_completeness(const Program& program) {
  const auto check = [&](const Accumulate& accumulate, AccessId id, const Path& path, bool target) -> Expected<void> {
    const Access& access = program.accesses[id];
    const std::string what = fmt::format("completeness: {} {}: {}", print(program, accumulate), where(program, path),
                                         print(program, access));
    const std::vector<BoundLevel>& bound = path.bound[id];
    if (bound.size() < access.indices.size())
      return input_error(fmt::format("{} is bound up to level {} only: index {} has no step", what, bound.size(),
                                     program.indices[access.indices[bound.size()]]));
    for (std::size_t level = 0; level < bound.size(); ++level) {
      const Use use = bound[level].step.use;
      if ((use == Use::insert || use == Use::append) != target)
        return input_error(fmt::format("{}: level {} is bound by {}, but a {}", what, level, word(use_words, use),
                                       target ? "target inserts or appends" : "factor is driven or located"));
    }
    return {};
  };
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    if (const Accumulate* accumulate = std::get_if<Accumulate>(&statement.node)) {
      for (AccessId factor : accumulate->factors)
        if (Expected<void> checked = check(*accumulate, factor, path, false); !checked) return checked;
      return check(*accumulate, accumulate->target, path, true);
    }
    const bool empty = std::visit(
        Overloaded{[](const Accumulate&) { return false; }, [](const auto& nested) { return nested.body.empty(); }},
        statement.node);
    if (!empty) return {};
    const For* loop = std::get_if<For>(&statement.node);
    return input_error(fmt::format("completeness: {} {} has an empty body",
                                   loop != nullptr ? "loop " + program.indices[loop->index] : "a bind or with",
                                   where(program, path)));
  });
}

}  // namespace weft::loop
