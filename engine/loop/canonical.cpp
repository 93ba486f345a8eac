#include <algorithm>
#include <map>
#include <string>

#include "engine/loop/overloaded.h"
#include "engine/loop/program.h"
#include "engine/loop/text_order.h"
#include "runtime/level_traits.h"

namespace weft::loop {
namespace {

/// Ids in the order in which they are first met.
class Order {
 public:
  explicit Order(std::size_t count) : known_(count) {}
  void meet(std::uint32_t id) {
    if (id >= known_.size() || known_[id]) return;
    known_[id] = true;
    order_.push_back(id);
  }
  /// Those never met come last, as they were.
  std::vector<std::uint32_t> all() {
    for (std::uint32_t id = 0; id < known_.size(); ++id) meet(id);
    return order_;
  }

 private:
  std::vector<bool> known_;
  std::vector<std::uint32_t> order_;
};

/// What the body meets first, in text order.
struct Meeting {
  Order storages;
  Order accesses;
  Order indices;
  std::vector<std::uint32_t> coefficients;

  explicit Meeting(const Program& program)
      : storages(program.storages.size()),
        accesses(program.accesses.size()),
        indices(program.indices.size()),
        program_(program) {
    block(program.body);
    defined_indices();
  }

 private:
  /// Those that others give, behind all that may give them, met in a loop or not, in the order of the accesses.
  void defined_indices() {
    if (program_.definitions.empty()) return;
    for (IndexId index = 0; index < program_.indices.size(); ++index)
      if (definition_of(program_, index) == nullptr) indices.meet(index);
    for (const std::uint32_t id : Order(accesses).all())
      for (const IndexId index : program_.accesses[id].indices)
        if (definition_of(program_, index) != nullptr) indices.meet(index);
  }
  void access(AccessId id) {
    accesses.meet(id);
    if (id < program_.accesses.size()) storages.meet(program_.accesses[id].storage);
  }
  void steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) access(step.access);
  }
  void block(const Block& body) {
    for (const Statement& statement : body)
      std::visit(Overloaded{[&](const For& loop) {
                              indices.meet(loop.index);
                              steps(loop.steps);
                              block(loop.body);
                            },
                            [&](const Bind& bind) {
                              steps(bind.steps);
                              block(bind.body);
                            },
                            [&](const With& with) {
                              storages.meet(with.workspace);
                              block(with.body);
                            },
                            [&](const Accumulate& accumulate) {
                              access(accumulate.target);
                              for (AccessId factor : accumulate.factors) access(factor);
                              if (accumulate.coefficient &&
                                  std::ranges::find(coefficients, *accumulate.coefficient) == coefficients.end())
                                coefficients.push_back(*accumulate.coefficient);
                            }},
                 statement.node);
  }

  const Program& program_;
};

/// Puts indices and coefficient words in their new places.
struct Renaming {
  std::map<std::uint32_t, std::uint32_t> indices;
  std::map<std::uint32_t, std::uint32_t> coefficients;

  void index(IndexId& id) const {
    if (const auto place = indices.find(id); place != indices.end()) id = place->second;
  }
  void block(Block& body) const {
    for (Statement& statement : body)
      std::visit(Overloaded{[&](For& loop) {
                              index(loop.index);
                              for (Step& step : loop.steps)
                                if (step.home) index(*step.home);
                              std::ranges::sort(loop.marks.parallel, {}, &ParallelTarget::storage);
                              block(loop.body);
                            },
                            [&](Accumulate& accumulate) {
                              if (accumulate.coefficient)
                                accumulate.coefficient = coefficients.at(*accumulate.coefficient);
                            },
                            [&](auto& nested) { block(nested.body); }},
                 statement.node);
  }
};

std::map<std::uint32_t, std::uint32_t> places(const std::vector<std::uint32_t>& order) {
  std::map<std::uint32_t, std::uint32_t> place;
  for (std::size_t n = 0; n < order.size(); ++n) place[order[n]] = static_cast<std::uint32_t>(n);
  return place;
}

/// Widths of arrays that a kind does not have are ignored, so they are no part of the canonical form.
void drop_ignored_widths(Level& level, Role role) {
  const bool has_pos = is_packed(level.kind) || (has_slots(level.kind) && role != Role::workspace);
  const bool has_crd = has_pos || has_coordinates(level.kind);
  if (!has_pos) level.pos_bits = 32;
  if (!has_crd) level.crd_bits = 32;
}

void rename(Program& program) {
  program.name = "kernel";
  for (std::size_t n = 0; n < program.indices.size(); ++n)
    program.indices[n] = std::string("i").append(std::to_string(n));
  for (std::size_t n = 0; n < program.storages.size(); ++n) {
    program.storages[n].name = std::string("t").append(std::to_string(n));
    for (Level& level : program.storages[n].levels) drop_ignored_widths(level, program.storages[n].role);
  }
  std::vector<std::size_t> uses(program.storages.size());
  for (const Access& access : program.accesses) ++uses[access.storage];
  std::vector<std::size_t> seen(program.storages.size());
  for (Access& access : program.accesses) {
    access.name = program.storages[access.storage].name;
    if (uses[access.storage] > 1) access.name.append(".").append(std::to_string(++seen[access.storage]));
  }
}

using FactKey = std::tuple<std::size_t, std::uint32_t, std::uint32_t, std::uint64_t>;
FactKey key(const Fact& fact) {
  return std::visit(Overloaded{[&](const ExtentFact& f) {
                                 return FactKey{fact.index(), f.index, 0, f.extent};
                               },
                               [&](const FullFact& f) {
                                 return FactKey{fact.index(), f.storage, f.level, 0};
                               },
                               [&](const FiberFact& f) {
                                 return FactKey{fact.index(), f.storage, f.level, f.maximum};  // a level has one bound
                               },
                               [&](const AdjacentFact& f) {
                                 return FactKey{fact.index(), f.storage, f.level, f.from_zero ? 1 : 0};
                               },
                               [&](const FiniteFact& f) {
                                 return FactKey{fact.index(), f.storage, 0, 0};
                               },
                               [&](const PatternFact& f) {
                                 return FactKey{fact.index(), f.storage, 0, f.digest};
                               },
                               [&](const PresenceFact& f) {
                                 return FactKey{fact.index(), f.storage, 0, 0};
                               },
                               [&](const LikeFact& f) {
                                 return FactKey{fact.index(), f.storage, f.pattern, 0};
                               }},
                    fact);
}

}  // namespace

Canonical canonical(const Program& program) {
  Meeting meeting(program);
  Canonical result;
  // Two renumberings: by first meeting, then into the order of the text, where workspaces come last and accesses stand
  // with their storages, so that the canonical text needs no line "order".
  const TextOrder met{meeting.storages.all(), meeting.accesses.all()};
  result.program = renumbered(program, met);
  const TextOrder text = text_order(result.program);
  result.program = renumbered(result.program, text);
  for (StorageId id : text.storages) result.storages.push_back(met.storages[id]);
  result.indices = meeting.indices.all();
  result.coefficients = meeting.coefficients;

  const Renaming renaming{places(result.indices), places(result.coefficients)};
  renaming.block(result.program.body);
  for (Access& access : result.program.accesses)
    for (IndexId& index : access.indices) renaming.index(index);
  for (IndexDefinition& definition : result.program.definitions) {
    renaming.index(definition.index);
    for (Summand& summand : definition.of) renaming.index(summand.index);
    std::ranges::sort(definition.of);
  }
  std::ranges::sort(result.program.definitions, {}, &IndexDefinition::index);
  for (Fact& fact : result.program.facts)
    if (ExtentFact* extent = std::get_if<ExtentFact>(&fact)) renaming.index(extent->index);
  std::ranges::sort(result.program.facts, {}, key);
  const auto repeated = std::ranges::unique(result.program.facts);
  result.program.facts.erase(repeated.begin(), repeated.end());
  rename(result.program);
  return result;
}

Program with_names(const Canonical& canonical, const Program& program) {
  Program named = canonical.program;
  for (StorageId id = 0; id < named.storages.size(); ++id) named.storages[id].name = program.storages[canonical.storages[id]].name;
  for (Access& access : named.accesses) {
    // "t2.1" of the storage t2 is "B.1".
    const std::size_t point = access.name.find('.');
    access.name = named.storages[access.storage].name + (point == std::string::npos ? "" : access.name.substr(point));
  }
  for (IndexId index = 0; index < named.indices.size(); ++index) named.indices[index] = program.indices[canonical.indices[index]];
  return named;
}

}  // namespace weft::loop
