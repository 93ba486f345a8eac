#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/print.h"
#include "engine/loop/rules.h"
#include "engine/loop/walk.h"

namespace weft::loop {
namespace {

/// Something a statement does with a workspace; `chain` is the statements around it and itself, outermost first.
struct Event {
  bool write = false;
  std::vector<const Statement*> chain;
  std::string text;
};

/// One step or factor: is the role right, and is the workspace alive?
Expected<void> check_use(const Program& program, AccessId id, bool write, const Path& path, const std::string& text) {
  const StorageId storage_id = program.accesses[id].storage;
  const Storage& storage = program.storages[storage_id];
  const auto wrong = [&](std::string_view why) {
    return input_error(fmt::format("life cycle: {} {}: {} {}", text, where(program, path), storage.name, why));
  };
  if (storage.role == Role::input && write) return wrong("is an input and cannot be written");
  if (storage.role == Role::output && !write) return wrong("is an output and cannot be read");
  if (storage.role == Role::workspace && path.depth_of_with(storage_id) == path.enclosing.size())
    return wrong("is a workspace used outside its with");
  return {};
}

Expected<void> check_order(const Program& program, StorageId workspace, const std::vector<Event>& events) {
  const std::string& name = program.storages[workspace].name;
  const auto is_write = [](const Event& event) { return event.write; };
  if (!events.empty() && std::ranges::none_of(events, is_write))
    return input_error(fmt::format("life cycle: workspace {} is read by {} but never written", name, events[0].text));
  for (std::size_t w = 0; w < events.size(); ++w)
    for (std::size_t r = 0; r < events.size(); ++r) {
      if (!events[w].write || events[r].write) continue;
      const auto [at_write, at_read] = std::ranges::mismatch(events[w].chain, events[r].chain);
      const bool inside = at_write == events[w].chain.end() || at_read == events[r].chain.end();
      // What both stand in, below the With: a loop there would read before its next iteration writes.
      bool shared_loop = false;
      bool below_with = false;
      for (auto each = events[w].chain.begin(); each != at_write; ++each) {
        const With* with = std::get_if<With>(&(*each)->node);
        shared_loop = shared_loop || (below_with && std::holds_alternative<For>((*each)->node));
        below_with = below_with || (with != nullptr && with->workspace == workspace);
      }
      if (inside || shared_loop)
        return input_error(
            fmt::format("life cycle: workspace {} is written by {} and read by {} in the same loop: it is read before "
                        "it is complete",
                        name, events[w].text, events[r].text));
      if (w > r)
        return input_error(fmt::format("life cycle: workspace {} is read by {} before {} writes it", name,
                                       events[r].text, events[w].text));
    }
  return {};
}

}  // namespace

Expected<void> check_life_cycle(const Program& program) {
  std::vector<std::size_t> withs(program.storages.size());
  std::vector<std::vector<Event>> events(program.storages.size());
  const auto record = [&](AccessId id, bool write, const Statement& statement, const Path& path, std::string text) {
    Event event{write, path.enclosing, std::move(text)};
    event.chain.push_back(&statement);
    events[program.accesses[id].storage].push_back(std::move(event));
  };
  const Expected<void> walked = walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    if (const With* with = std::get_if<With>(&statement.node)) {
      const Storage& storage = program.storages[with->workspace];
      if (storage.role != Role::workspace)
        return input_error(fmt::format("life cycle: {} is no workspace, but stands in a with", storage.name));
      if (++withs[with->workspace] > 1)
        return input_error(fmt::format("life cycle: workspace {} stands in two with", storage.name));
    }
    for (const Step& step : steps_of(statement)) {
      const bool write = step.use == Use::insert || step.use == Use::append;
      if (Expected<void> used = check_use(program, step.access, write, path, print(program, step)); !used) return used;
      if (!write) record(step.access, false, statement, path, print(program, step));
    }
    if (const Accumulate* accumulate = std::get_if<Accumulate>(&statement.node)) {
      const std::string text = print(program, *accumulate);
      if (Expected<void> used = check_use(program, accumulate->target, true, path, text); !used) return used;
      record(accumulate->target, true, statement, path, text);
      for (AccessId factor : accumulate->factors) {
        if (Expected<void> used = check_use(program, factor, false, path, text); !used) return used;
        record(factor, false, statement, path, text);
      }
    }
    return {};
  });
  if (!walked) return walked;
  for (StorageId id = 0; id < program.storages.size(); ++id) {
    if (program.storages[id].role != Role::workspace) continue;
    if (withs[id] == 0)
      return input_error(fmt::format("life cycle: workspace {} has no with", program.storages[id].name));
    if (Expected<void> ordered = check_order(program, id, events[id]); !ordered) return ordered;
  }
  return {};
}

}  // namespace weft::loop
