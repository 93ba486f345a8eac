#include "engine/loop/text_order.h"

#include <algorithm>

#include "engine/loop/overloaded.h"

namespace weft::loop {
namespace {

bool is_natural(const std::vector<std::uint32_t>& ids) {
  for (std::size_t n = 0; n < ids.size(); ++n)
    if (ids[n] != n) return false;
  return true;
}

void collect_workspaces(const Block& block, std::vector<StorageId>& found) {
  for (const Statement& statement : block)
    std::visit(Overloaded{[&](const For& loop) { collect_workspaces(loop.body, found); },
                          [&](const Bind& bind) { collect_workspaces(bind.body, found); },
                          [&](const With& with) {
                            if (std::ranges::find(found, with.workspace) == found.end())
                              found.push_back(with.workspace);
                            collect_workspaces(with.body, found);
                          },
                          [](const Accumulate&) {}},
               statement.node);
}

/// Where each id went.
std::vector<std::uint32_t> inverse(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> place(order.size());
  for (std::size_t n = 0; n < order.size(); ++n) place[order[n]] = static_cast<std::uint32_t>(n);
  return place;
}

struct Renumbering {
  std::vector<std::uint32_t> storage;
  std::vector<std::uint32_t> access;

  // An id out of range stays as it is: the verifier is there to say so.
  void move(const std::vector<std::uint32_t>& place, std::uint32_t& id) const {
    if (id < place.size()) id = place[id];
  }
  void steps(std::vector<Step>& steps) const {
    for (Step& step : steps) move(access, step.access);
  }
  void block(Block& body) const {
    for (Statement& statement : body)
      std::visit(Overloaded{[&](For& loop) {
                              steps(loop.steps);
                              for (ParallelTarget& target : loop.marks.parallel) move(storage, target.storage);
                              block(loop.body);
                            },
                            [&](Bind& bind) {
                              steps(bind.steps);
                              block(bind.body);
                            },
                            [&](With& with) {
                              move(storage, with.workspace);
                              block(with.body);
                            },
                            [&](Accumulate& accumulate) {
                              move(access, accumulate.target);
                              for (AccessId& factor : accumulate.factors) move(access, factor);
                            }},
                 statement.node);
  }
};

}  // namespace

bool TextOrder::natural() const { return is_natural(storages) && is_natural(accesses); }

std::vector<StorageId> workspaces_in_order(const Block& body) {
  std::vector<StorageId> found;
  collect_workspaces(body, found);
  return found;
}

TextOrder text_order(const Program& program) {
  std::vector<StorageId> workspaces = workspaces_in_order(program.body);
  std::erase_if(workspaces, [&](StorageId id) { return id >= program.storages.size(); });
  TextOrder order;
  for (StorageId id = 0; id < program.storages.size(); ++id)
    if (std::ranges::find(workspaces, id) == workspaces.end()) order.storages.push_back(id);
  order.storages.insert(order.storages.end(), workspaces.begin(), workspaces.end());
  for (StorageId storage : order.storages)
    for (AccessId id = 0; id < program.accesses.size(); ++id)
      if (program.accesses[id].storage == storage) order.accesses.push_back(id);
  for (AccessId id = 0; id < program.accesses.size(); ++id)
    if (program.accesses[id].storage >= program.storages.size()) order.accesses.push_back(id);
  return order;
}

Program renumbered(const Program& program, const TextOrder& order) {
  const Renumbering renumbering{inverse(order.storages), inverse(order.accesses)};
  Program result{program.name, program.indices, {}, {}, program.facts, program.body, program.definitions};
  for (StorageId id : order.storages) result.storages.push_back(program.storages[id]);
  for (AccessId id : order.accesses) {
    result.accesses.push_back(program.accesses[id]);
    renumbering.move(renumbering.storage, result.accesses.back().storage);
  }
  for (Fact& fact : result.facts)
    std::visit(Overloaded{[](ExtentFact&) {},
                          [&](LikeFact& like) {
                            renumbering.move(renumbering.storage, like.storage);
                            renumbering.move(renumbering.storage, like.pattern);
                          },
                          [&](auto& about_storage) { renumbering.move(renumbering.storage, about_storage.storage); }},
               fact);
  renumbering.block(result.body);
  return result;
}

}  // namespace weft::loop
