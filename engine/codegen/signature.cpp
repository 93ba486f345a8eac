#include "engine/codegen/signature.h"

#include <algorithm>

#include "engine/codegen/begun.h"
#include "engine/codegen/structure.h"
#include "engine/loop/overloaded.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

void coefficients_of(const loop::Block& block, std::vector<std::uint32_t>& numbers) {
  for (const loop::Statement& statement : block)
    std::visit(loop::Overloaded{[&](const loop::For& each) { coefficients_of(each.body, numbers); },
                                [&](const loop::Bind& bind) { coefficients_of(bind.body, numbers); },
                                [&](const loop::With& with) { coefficients_of(with.body, numbers); },
                                [&](const loop::Accumulate& sum) {
                                  if (sum.coefficient) numbers.push_back(*sum.coefficient);
                                }},
               statement.node);
}

void sorted_levels(const loop::Program& program, const loop::Block& block, const Depths& bound, std::vector<SortedLevel>& found) {
  const auto of_steps = [&](const std::vector<loop::Step>& steps, Depths& depths) {
    for (const loop::Step& step : steps) {
      const std::uint32_t level = depths[step.access]++;
      const bool sorted = step.use == loop::Use::drive && step.algorithm == loop::Algorithm::sort;
      if (sorted && program.storages[program.accesses[step.access].storage].role == loop::Role::input)
        found.push_back({step.access, level});
    }
  };
  for (const loop::Statement& statement : block)
    std::visit(loop::Overloaded{[&](const loop::For& each) {
                                  Depths inner = bound;
                                  of_steps(each.steps, inner);
                                  sorted_levels(program, each.body, inner, found);
                                },
                                [&](const loop::Bind& late) {
                                  Depths inner = bound;
                                  of_steps(late.steps, inner);
                                  sorted_levels(program, late.body, inner, found);
                                },
                                [&](const loop::With& live) { sorted_levels(program, live.body, bound, found); },
                                [](const loop::Accumulate&) {}},
               statement.node);
}

/// What a workspace of memory is made of.
void workspace_words(const loop::Program& program, loop::StorageId id, Signature& result) {
  using Part = ScratchDemand::Part;
  const loop::Storage& storage = program.storages[id];
  const auto access = std::ranges::find(program.accesses, id, &loop::Access::storage);
  if (in_registers(program, id) || access == program.accesses.end()) return;
  if (is_hashed(storage)) {
    result.hashed.push_back(id);
    return;
  }
  const auto demand = [&](Part part, std::uint32_t level, std::size_t levels, std::uint32_t bytes,
                          std::uint32_t extra = 0) {
    result.words.push_back({Word::Kind::scratch, id, level, static_cast<std::uint32_t>(result.scratch.size())});
    result.scratch.push_back(
        {id, {access->indices.begin(), access->indices.begin() + static_cast<std::ptrdiff_t>(levels)}, bytes, part, level,
         extra});
  };
  demand(Part::values, 0, storage.levels.size(), scalar_bytes(storage.scalar));
  for (std::uint32_t level = key_levels(storage); level < storage.levels.size(); ++level)
    if (has_bits(storage.levels[level].kind)) demand(Part::marks, level, level + 1, 1);
  if (const std::uint32_t key = key_levels(storage); key > 0) {
    demand(Part::marks, key - 1, key, 1);
    demand(Part::touched, 0, key, touched_bytes(storage), 1);  // written before it is known to be new
    for (std::uint32_t level = 0; key > 1 && level < key; ++level)
      demand(Part::crd, level, key, storage.levels[level].crd_bits / 8);
  }
}

std::string name_of(const ScratchDemand& demand, const loop::Program& program) {
  const std::string& name = program.storages[demand.storage].name;
  switch (demand.part) {
    case ScratchDemand::Part::values:
      return name;
    case ScratchDemand::Part::marks:
      return "marks " + name + "." + std::to_string(demand.level);
    case ScratchDemand::Part::touched:
      return "touched " + name;
    case ScratchDemand::Part::crd:
      return "crd " + name + "." + std::to_string(demand.level);
  }
  return name;
}

}  // namespace

std::string name_of(const Word& word, const loop::Program& program) {
  const auto level = [&] { return program.storages[word.storage].name + "." + std::to_string(word.level); };
  switch (word.kind) {
    case Word::Kind::pos:
      return "pos " + level();
    case Word::Kind::crd:
      return "crd " + level();
    case Word::Kind::values:
      return "values " + program.storages[word.storage].name;
    case Word::Kind::places:
      return "places " + program.storages[word.storage].name;
    case Word::Kind::elements:
      return "elements " + program.storages[word.storage].name;
    case Word::Kind::stride:
      return "stride " + level();
    case Word::Kind::extent:
      return "extent " + program.indices[word.number];
    case Word::Kind::coefficient:
      return "coefficient c" + std::to_string(word.number);
    case Word::Kind::scratch:
      return "scratch " + program.storages[word.storage].name;
  }
  return "";
}

Signature signature(const loop::Program& program) {
  Signature result;
  for (loop::StorageId id = 0; id < program.storages.size(); ++id) {
    const loop::Storage& storage = program.storages[id];
    if (storage.role == loop::Role::workspace) {
      workspace_words(program, id, result);
      continue;
    }
    if (is_appended(program, id)) {
      result.appended.push_back(id);
      continue;
    }
    if (loop::tells_presence(program, id)) result.told.push_back(id);
    if (loop::pattern_of(program, id)) {  // the positions are the operand's
      result.words.push_back({Word::Kind::values, id, 0, 0});
      continue;
    }
    for (std::uint32_t level = 0; level < storage.levels.size(); ++level) {
      const Level& each = storage.levels[level];
      if (has_pos(each.kind))
        result.words.push_back({Word::Kind::pos, id, level, 0});
      if (is_sparse(each.kind)) result.words.push_back({Word::Kind::crd, id, level, 0});
      if (each.strided) result.words.push_back({Word::Kind::stride, id, level, 0});
    }
    result.words.push_back({Word::Kind::values, id, 0, 0});
    if (storage.place_bits == 0) continue;
    result.words.push_back({Word::Kind::places, id, 0, 0});
    result.words.push_back({Word::Kind::elements, id, 0, 0});
  }
  for (loop::IndexId index = 0; index < program.indices.size(); ++index)
    if (!known_extent(program, index) && loop::definition_of(program, index) == nullptr)
      result.words.push_back({Word::Kind::extent, 0, 0, index});
  for (const BegunOutput& output : begun_outputs(program))
    if (result.begun.size() < 64) result.begun.push_back(output.storage);
  sorted_levels(program, program.body, Depths(program.accesses.size(), 0), result.sorted);
  std::vector<std::uint32_t> numbers;
  coefficients_of(program.body, numbers);
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::unique(numbers);
  numbers.erase(repeated.begin(), repeated.end());
  for (const std::uint32_t number : numbers) result.words.push_back({Word::Kind::coefficient, 0, 0, number});
  return result;
}

std::string print(const Signature& signature, const loop::Program& program) {
  std::string text;
  for (std::size_t n = 0; n < signature.words.size(); ++n) {
    const Word& word = signature.words[n];
    text += "word " + std::to_string(n) + ": " +
            (word.kind == Word::Kind::scratch ? "scratch " + name_of(signature.scratch[word.number], program)
                                              : name_of(word, program)) +
            "\n";
  }
  for (const ScratchDemand& demand : signature.scratch) {
    text += "scratch " + name_of(demand, program) + "[";
    for (std::size_t n = 0; n < demand.indices.size(); ++n)
      text += (n > 0 ? "," : "") + program.indices[demand.indices[n]];
    text += "]: " + std::to_string(demand.element_bytes) + " bytes each\n";
  }
  for (const std::uint32_t storage : signature.appended) text += "appended " + program.storages[storage].name + "\n";
  for (const std::uint32_t storage : signature.hashed) text += "hashed " + program.storages[storage].name + "\n";
  for (const std::uint32_t storage : signature.told) text += "presence of " + program.storages[storage].name + "\n";
  for (const std::uint32_t storage : signature.begun) text += "begun " + program.storages[storage].name + "\n";
  for (const SortedLevel& level : signature.sorted)
    text += "sorted " + program.accesses[level.access].name + "." + std::to_string(level.level) + "\n";
  return text;
}

}  // namespace weft
