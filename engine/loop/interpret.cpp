#include "engine/loop/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "engine/loop/rules.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "runtime/wide.h"

namespace weft::loop {
namespace {

class Interpreter {
 public:
  Interpreter(const Program& program, const Interpretation& values)
      : program_(program),
        values_(values),
        extents_(program.indices.size()),
        coordinates_(program.indices.size()),
        bound_(program.accesses.size()),
        entries_(program.storages.size()) {}

  Expected<std::map<std::string, Entries>> run() {
    if (Expected<void> read = read_extents(); !read) return std::unexpected(read.error());
    if (Expected<void> read = read_inputs(); !read) return std::unexpected(read.error());
    share_patterns();
    run_block(program_.body);
    if (missing_coefficient_)
      return input_error(
          fmt::format("coefficient c{} is missing: {} given", *missing_coefficient_, values_.coefficients.size()));
    std::map<std::string, Entries> outputs;
    for (StorageId id = 0; id < program_.storages.size(); ++id)
      if (program_.storages[id].role == Role::output) {
        for (auto& [coordinates, value] : entries_[id]) value = rounded(id, value);
        outputs[program_.storages[id].name] = std::move(entries_[id]);
      }
    return outputs;
  }

  std::vector<std::uint64_t> iterations() const {
    std::vector<std::uint64_t> counts;
    count(program_.body, counts);
    return counts;
  }

 private:
  void count(const Block& block, std::vector<std::uint64_t>& counts) const {
    for (const Statement& statement : block) {
      if (const For* loop = std::get_if<For>(&statement.node)) {
        const auto ran = iterations_.find(loop);
        counts.push_back(ran == iterations_.end() ? 0 : ran->second);
        count(loop->body, counts);
      } else if (const With* with = std::get_if<With>(&statement.node)) {
        count(with->body, counts);
      } else if (const Bind* bind = std::get_if<Bind>(&statement.node)) {
        count(bind->body, counts);
      }
    }
  }

  // --- the meaning --------------------------------------------------------------------------------------------------
  void run_block(const Block& block) {
    for (const Statement& statement : block) std::visit([&](const auto& node) { run_statement(node); }, statement.node);
  }

  void run_statement(const For& loop) {
    const std::vector<AccessId> leading = leading_accesses(loop);
    for (std::uint64_t c = 0; (c = next_coordinate(loop, leading, c)) < extents_[loop.index]; ++c) {
      coordinates_[loop.index] = c;
      for (const IndexDefinition& each : program_.definitions)
        if (each.is_given_by(loop.index)) coordinates_[each.index] = given_coordinate(each);
      if (run_filtered(loop.steps, loop.body)) ++iterations_[&loop];
    }
  }

  /// The accesses that need an entry at the loop's coordinate below what is bound around the loop.
  std::vector<AccessId> leading_accesses(const For& loop) const {
    const auto changes = [&](IndexId index) {
      const IndexDefinition* const definition = definition_of(program_, index);
      return index == loop.index || (definition != nullptr && definition->is_given_by(loop.index));
    };
    std::vector<AccessId> found;
    for (const Step& step : loop.steps) {
      if (step.use != Use::drive && step.use != Use::locate) continue;
      const Access& access = program_.accesses[step.access];
      const Storage& type = program_.storages[access.storage];
      const std::uint32_t level = bound_[step.access];
      const auto above = access.indices.begin() + static_cast<std::ptrdiff_t>(level);
      if (access.indices[level] != loop.index || std::any_of(access.indices.begin(), above, changes)) continue;
      if (type.role != Role::input || !is_dense(type.levels[level].kind)) found.push_back(step.access);
    }
    return found;
  }

  /// The first coordinate from `c` on at which all of these have an entry, or the extent: long extents are not gone over one by one.
  std::uint64_t next_coordinate(const For& loop, const std::vector<AccessId>& leading, std::uint64_t c) const {
    for (std::size_t agreeing = 0; agreeing < leading.size();) {
      for (const AccessId access : leading) {
        std::vector<std::uint64_t> at = key(access);
        at.push_back(c);
        const Entries& entries = entries_[program_.accesses[access].storage];
        const auto entry = entries.lower_bound(at);
        if (entry == entries.end() || !std::equal(at.begin(), at.end() - 1, entry->first.begin())) return extents_[loop.index];
        const std::uint64_t found = entry->first[at.size() - 1];
        agreeing = found == c ? agreeing + 1 : 1;
        c = found;
      }
    }
    return c;
  }

  /// Of the loops entered; of a sum below 0 none that there is.
  std::uint64_t given_coordinate(const IndexDefinition& definition) const {
    Wide sum = definition.offset;
    for (const Summand& summand : definition.of)
      sum += Wide{summand.factor} * Wide{summand.part.coordinate(coordinates_[summand.index])};
    return sum < 0 ? ~std::uint64_t{0} : definition.part.coordinate(static_cast<std::uint64_t>(sum));
  }

  void run_statement(const Bind& bind) { run_filtered(bind.steps, bind.body); }

  void run_statement(const With& with) {
    entries_[with.workspace].clear();
    run_block(with.body);
  }

  /// A scalar is added up unrounded, as in a register, and rounds when it is read.
  double rounded(StorageId storage, double value) const {
    return rounded_to(program_.storages[storage].scalar, value);
  }

  void run_statement(const Accumulate& accumulate) {
    double product = accumulate.negative ? -1 : 1;
    if (accumulate.coefficient) product *= coefficient(*accumulate.coefficient);
    for (AccessId factor : accumulate.factors) {
      const StorageId storage = program_.accesses[factor].storage;
      const auto entry = entries_[storage].find(key(factor));
      if (entry != entries_[storage].end())
        product *= rounded(storage, entry->second);
      else if (program_.storages[storage].role == Role::input && !program_.storages[storage].levels.empty())
        product *= 0;  // an entry of a dense level that the caller left out
      else
        return;  // nothing contributed to it: absent, and absent annihilates
    }
    const StorageId storage = program_.accesses[accumulate.target].storage;
    double& value = entries_[storage][key(accumulate.target)];
    value += product;
    if (!program_.storages[storage].levels.empty()) value = rounded(storage, value);
  }

  /// Runs the body, and says so, if every drive and locate step has an entry extending what is bound.
  bool run_filtered(const std::vector<Step>& steps, const Block& body) {
    bool has_entries = true;
    for (const Step& step : steps) {
      has_entries = has_entries && finds_start(step.access);
      ++bound_[step.access];
      if (step.use == Use::drive || step.use == Use::locate) has_entries = has_entries && has_entry(step.access);
    }
    if (has_entries) run_block(body);
    for (const Step& step : steps) --bound_[step.access];
    return has_entries;
  }

  /// Where the next level holds starts of blocks: takes the greatest that is not above the sum, and what counts from it. Whether there is
  /// one, and the sum within its width. True at other levels.
  bool finds_start(AccessId access) {
    const std::uint32_t level = bound_[access];
    const IndexDefinition* const start = cover_at(program_, program_.accesses[access], level);
    if (start == nullptr) return true;
    const std::uint64_t wanted = given_coordinate(*start);
    if (wanted == ~std::uint64_t{0}) return false;
    const Entries& entries = entries_[program_.accesses[access].storage];
    std::vector<std::uint64_t> prefix = key(access);
    prefix.push_back(wanted + 1);
    auto entry = entries.lower_bound(prefix);
    if (entry == entries.begin()) return false;
    --entry;
    if (!std::equal(prefix.begin(), prefix.end() - 1, entry->first.begin())) return false;
    const std::uint64_t found = entry->first[level];
    if (*start->cover != 0 && wanted - found >= *start->cover) return false;
    coordinates_[start->index] = found;
    for (const IndexDefinition& each : program_.definitions)
      if (each.is_given_by(start->index)) coordinates_[each.index] = given_coordinate(each);
    return true;
  }

  /// Whether some entry of the storage extends the coordinates bound so far. A dense level of an input has every entry.
  bool has_entry(AccessId access) const {
    const StorageId storage = program_.accesses[access].storage;
    const Storage& type = program_.storages[storage];
    std::vector<std::uint64_t> prefix = key(access);
    for (std::size_t level = 0; level < prefix.size(); ++level)
      if (prefix[level] >= extents_[program_.accesses[access].indices[level]]) return false;
    while (type.role == Role::input && !prefix.empty() && is_dense(type.levels[prefix.size() - 1].kind))
      prefix.pop_back();
    if (prefix.empty() && type.role == Role::input) return true;
    const auto entry = entries_[storage].lower_bound(prefix);
    return entry != entries_[storage].end() && std::equal(prefix.begin(), prefix.end(), entry->first.begin());
  }

  std::vector<std::uint64_t> key(AccessId access) const {
    std::vector<std::uint64_t> key;
    for (std::uint32_t level = 0; level < bound_[access]; ++level)
      key.push_back(coordinates_[program_.accesses[access].indices[level]]);
    return key;
  }

  double coefficient(std::uint32_t word) {
    if (word < values_.coefficients.size()) return values_.coefficients[word];
    missing_coefficient_ = word;
    return 0;
  }

  // --- what the caller gave -----------------------------------------------------------------------------------------
  Expected<void> read_extents() {
    for (IndexId id = 0; id < program_.indices.size(); ++id) {
      if (const IndexDefinition* const definition = definition_of(program_, id)) {
        extents_[id] = given_extent(*definition, definition->is_sum() ? 0 : extents_[definition->of.front().index]);  // listed before
        continue;
      }
      const auto given = values_.extents.find(program_.indices[id]);
      if (given == values_.extents.end())
        return input_error(fmt::format("the extent of index {} is missing", program_.indices[id]));
      extents_[id] = given->second;
    }
    for (const Fact& fact : program_.facts)
      if (const ExtentFact* stated = std::get_if<ExtentFact>(&fact);
          stated && stated->index < extents_.size() && extents_[stated->index] != stated->extent)
        return input_error(fmt::format("fact extent({}) = {}, but its extent is {}", program_.indices[stated->index],
                                       stated->extent, extents_[stated->index]));
    return {};
  }

  Expected<void> read_inputs() {
    for (StorageId id = 0; id < program_.storages.size(); ++id) {
      const Storage& storage = program_.storages[id];
      if (storage.role != Role::input) continue;
      const auto given = values_.inputs.find(storage.name);
      if (given == values_.inputs.end()) return input_error(fmt::format("the input {} is missing", storage.name));
      for (const auto& [coordinates, value] : given->second) {
        if (coordinates.size() != storage.levels.size())
          return input_error(fmt::format("{} has {} levels, but an entry has {} coordinates", storage.name,
                                         storage.levels.size(), coordinates.size()));
        for (const Access& access : program_.accesses)
          for (std::size_t level = 0; access.storage == id && level < coordinates.size(); ++level)
            if (coordinates[level] >= extents_[access.indices[level]])
              return input_error(fmt::format("{} has coordinate {} at level {}, index {} has extent {}", storage.name,
                                             coordinates[level], level, program_.indices[access.indices[level]],
                                             extents_[access.indices[level]]));
        entries_[id][coordinates] = rounded_to(storage.scalar, value);
      }
    }
    return {};
  }

  /// What has the pattern of an operand has all its entries, zero before the run.
  void share_patterns() {
    for (StorageId id = 0; id < program_.storages.size(); ++id)
      if (const std::optional<StorageId> pattern = pattern_of(program_, id))
        for (const auto& entry : entries_[*pattern]) {
          const auto shared = static_cast<std::ptrdiff_t>(appended_levels(program_.storages[id].levels));
          add_block(id, {entry.first.begin(), entry.first.begin() + shared});
        }
  }

  /// Zeros at all coordinates of the levels below.
  void add_block(StorageId id, const std::vector<std::uint64_t>& coordinates) {
    const std::size_t level = coordinates.size();
    if (level == program_.storages[id].levels.size()) {
      entries_[id][coordinates] = 0;
      return;
    }
    const auto access = std::ranges::find(program_.accesses, id, &Access::storage);
    std::vector<std::uint64_t> below = coordinates;
    for (below.push_back(0); below.back() < extents_[access->indices[level]]; ++below.back()) add_block(id, below);
  }

  const Program& program_;
  const Interpretation& values_;
  std::vector<std::uint64_t> extents_;      // per index
  std::vector<std::uint64_t> coordinates_;  // per index, of the loops entered
  std::vector<std::uint32_t> bound_;        // per access: levels bound
  std::vector<Entries> entries_;            // per storage
  std::map<const For*, std::uint64_t> iterations_;
  std::optional<std::uint32_t> missing_coefficient_;
};

Expected<void> runnable(const Program& program) {
  for (const auto rule : {check_definitions, check_binding, check_like, check_completeness})
    if (Expected<void> checked = rule(program); !checked) return checked;
  return {};
}

}  // namespace

Expected<std::map<std::string, Entries>> interpret(const Program& program, const Interpretation& values) {
  if (Expected<void> good = runnable(program); !good) return std::unexpected(good.error());
  return Interpreter(program, values).run();
}

Expected<std::vector<std::uint64_t>> iterations(const Program& program, const Interpretation& values) {
  if (Expected<void> good = runnable(program); !good) return std::unexpected(good.error());
  Interpreter interpreter(program, values);
  if (const auto ran = interpreter.run(); !ran) return std::unexpected(ran.error());
  return interpreter.iterations();
}

}  // namespace weft::loop
