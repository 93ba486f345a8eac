#include "engine/specialize.h"

#include <algorithm>
#include <map>
#include <set>

#include <xxhash.h>

#include "engine/loop/short_fiber.h"
#include "engine/placed_values.h"
#include "runtime/gaps.h"
#include "runtime/level_traits.h"
#include "runtime/sparse_levels.h"
#include "runtime/tensor_facts.h"
#include "weft/statistics.h"

namespace weft {
namespace {

// Measured by weft-bench engine: a profiled kernel saves a third and more of the time of a generic one, so making it (3 ms)
// pays from some ten milliseconds of runs on; baking saves about a quarter of that of a profiled one at 50 to 130 us per entry,
// and loses where the code outgrows the caches.
constexpr double profiled_pays_from_ns = 10e6;
constexpr double compile_ns_per_baked_entry = 80e3;
constexpr double saved_by_baking = 0.25;
constexpr std::uint64_t most_entries_worth_baking = 2048;

constexpr std::string_view names[] = {"generic", "profiled", "baked", "auto"};

/// Whether the code of a statement would be too much with patterns in it. Each iteration over their entries is code of its own, and where
/// several sparse operands meet it looks them up, and inserts: A(i,k) * B(k,j) of 1100 entries each, over 100 x 100, took 2.5 s to compile,
/// of 300, some 900 products, 0.6. Their number is that of independence.
bool writes_too_much(const ScheduledStatement& statement, const Network& network, const Schedule& schedule,
                     const std::vector<OperandFacts>& operands) {
  constexpr double most_met = 1024;
  double met = 1;
  std::set<std::pair<TensorId, std::vector<IndexId>>> sparse;  // A(i,k) * A(k,j) are two
  std::map<IndexId, std::size_t> uses;
  for (const ScheduledAccess& factor : statement.factors) {
    const ScheduledTensor& tensor = schedule.tensors[factor.tensor];
    if (tensor.role != TensorRole::operand || !has_sparse_level(tensor.format)) continue;
    const auto known = std::ranges::find(operands, tensor.tensor, &OperandFacts::tensor);
    if (!sparse.emplace(tensor.tensor, factor.indices).second) continue;
    met *= known == operands.end() ? 1 : known->statistics.nnz();
    for (const IndexId index : factor.indices)
      if (uses[index]++ > 0) met /= static_cast<double>(std::max<std::uint64_t>(network.indices[index].extent, 1));
  }
  return sparse.size() > 1 && met > most_met;
}

std::vector<std::uint64_t> numbers(const Buffer& buffer, std::uint8_t bits) {
  if (bits == 64) {
    const auto all = buffer.as<const std::uint64_t>();
    return {all.begin(), all.end()};
  }
  const auto all = buffer.as<const std::uint32_t>();
  return {all.begin(), all.end()};
}

}  // namespace

std::vector<bool> full_levels(const Statistics& statistics, const Format& format, const std::vector<std::uint64_t>& extents) {
  std::vector<bool> full;
  ModeSet prefix = 0;
  double above = 1;
  for (std::size_t level = 0; level < format.order(); ++level) {
    prefix |= ModeSet{1} << format.mode_order[level];
    const double here = statistics.distinct(prefix);
    const double most = above * static_cast<double>(extents[format.mode_order[level]]);
    full.push_back(above > 0 && here == most && !below_gaps(format.levels, level));  // gaps have fibers, too, empty ones
    above = is_dense(format.levels[level].kind) ? most : here;  // positions, with children or without
  }
  return full;
}

std::vector<double> run_lengths(const Statistics& statistics, const Format& format) {
  std::vector<double> runs(format.order());
  ModeSet prefix = 0;
  for (std::size_t level = 0; level < format.order(); ++level) {
    prefix |= ModeSet{1} << format.mode_order[level];
    if (is_dense(format.levels[level].kind) || is_unique(format.levels[level].kind)) continue;
    const double distinct = statistics.distinct(prefix);
    if (distinct > 0) runs[level] = statistics.nnz() / distinct;
  }
  return runs;
}

std::vector<double> fiber_means(const Statistics& statistics, const Format& format) {
  std::vector<double> means(format.order());
  ModeSet prefix = 0;
  for (std::size_t level = 0; level < format.order(); ++level) {
    const double fibers = prefix == 0 ? 1 : statistics.distinct(prefix);
    prefix |= ModeSet{1} << format.mode_order[level];
    if (is_sparse(format.levels[level].kind) && fibers > 0) means[level] = statistics.distinct(prefix) / fibers;
  }
  return means;
}

std::vector<LoweringFacts::Fiber> short_fibers(const Tensor& tensor, const Threads& threads) {
  std::vector<LoweringFacts::Fiber> fibers(tensor.order());
  for (std::uint32_t level = 1; level < tensor.order(); ++level) {
    if (!is_compressed(tensor.format().levels[level].kind)) continue;
    const FiberLengths lengths = statistics(tensor, threads).fibers(level);
    if (lengths.maximum == 0 || lengths.maximum > short_fiber_entries) continue;
    const bool exact = tensor.positions(level) == lengths.maximum * tensor.positions(level - 1);
    fibers[level] = {lengths.maximum, exact};
  }
  return fibers;
}

bool may_be_baked(const Tensor& tensor) {
  bool sparse = false;
  std::uint64_t dense = 1;
  for (std::size_t level = 0; level < tensor.order(); ++level) {
    const Level& kind = tensor.format().levels[level];
    if (kind.strided || kind.joined) return false;
    if (is_compressed(kind.kind)) {
      sparse = true;
    } else if (is_dense(kind.kind)) {
      const std::uint64_t extent = tensor.extent_of_level(level);
      if (extent > most_baked_entries || dense * extent > most_baked_entries) return false;
      dense *= std::max<std::uint64_t>(extent, 1);
    } else {
      return false;
    }
  }
  return sparse && tensor.nnz() <= most_baked_entries;
}

Pattern pattern_of(const Tensor& tensor) {
  Pattern pattern;
  for (std::size_t level = 0; level < tensor.order(); ++level) {
    const Level& kind = tensor.format().levels[level];
    const bool sparse = is_compressed(kind.kind);
    pattern.pos.push_back(sparse ? numbers(tensor.levels()[level].pos, kind.pos_bits) : std::vector<std::uint64_t>());
    pattern.crd.push_back(sparse ? numbers(tensor.levels()[level].crd, kind.crd_bits) : std::vector<std::uint64_t>());
  }
  return pattern;
}

std::uint64_t pattern_digest(const Tensor& tensor) {
  const auto digest = [](const std::vector<std::uint64_t>& words, std::uint64_t seed) {
    return XXH3_64bits_withSeed(words.data(), words.size() * sizeof(std::uint64_t), seed);
  };
  std::uint64_t all = digest(tensor.extents(), tensor.order());
  const Pattern pattern = pattern_of(tensor);
  for (std::size_t level = 0; level < tensor.order(); ++level) {
    all = digest({static_cast<std::uint64_t>(tensor.format().levels[level].kind), tensor.format().mode_order[level]}, all);
    all = digest(pattern.pos[level], all);
    all = digest(pattern.crd[level], all);
  }
  return all;
}

Expected<Specialized> specialized(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                  const std::map<std::string, Tensor>& tensors, Specialization grade, const Machine& machine,
                                  const Resources& resources) {
  Specialized made;
  made.facts.grade = grade == Specialization::automatic ? Specialization::profiled : grade;
  made.facts.caches = caches_of(machine);
  made.facts.full.resize(plan.schedule.tensors.size());
  made.facts.fibers.resize(plan.schedule.tensors.size());
  made.facts.runs.resize(plan.schedule.tensors.size());
  made.facts.means.resize(plan.schedule.tensors.size());
  made.facts.patterns.resize(plan.schedule.tensors.size());
  made.facts.place_bits.resize(plan.schedule.tensors.size());
  for (const PlacedValues& placed : placed_values(network, plan, operands, machine))
    if (placed.reads_through()) made.facts.place_bits[placed.tensor] = placed.place_bits;
  made.facts.adjacent.resize(plan.schedule.tensors.size());
  std::map<std::size_t, std::uint64_t> baked;  // entries, by tensor of the schedule
  for (std::size_t number = 0; number < plan.schedule.tensors.size(); ++number) {
    const ScheduledTensor& scheduled = plan.schedule.tensors[number];
    if (scheduled.role != TensorRole::operand) continue;
    const auto known = std::ranges::find(operands, scheduled.tensor, &OperandFacts::tensor);
    const auto tensor = tensors.find(network.tensors[scheduled.tensor].name);
    if (known != operands.end() && !scheduled.converted) {
      const bool of_layout = tensor != tensors.end() && TensorParts::pattern_facts(tensor->second) != nullptr &&
                             TensorParts::pattern_facts(tensor->second)->adjacent != Adjacency::none;
      if (of_layout || grade != Specialization::generic) made.facts.adjacent[number] = known->adjacent;
      if (known->place_bits > 0) made.facts.place_bits[number] = known->place_bits;
    }
    // As quantised as the plan's: what decides here may not differ where plans do not.
    if (known != operands.end()) made.facts.runs[number] = run_lengths(known->statistics, scheduled.format);
    if (grade == Specialization::generic) continue;
    // Counts of what is stored in this order are exact; those of other orders are estimated.
    if (known != operands.end() && known->format.text() == scheduled.format.text() && !known->format.all_dense()) {
      const Statistics& statistics = known->counted ? known->counted->statistics : known->statistics;
      made.facts.full[number] = full_levels(statistics, scheduled.format, network.tensors[scheduled.tensor].extents);
    }
    if (known != operands.end()) made.facts.means[number] = fiber_means(known->statistics, scheduled.format);
    // Runs are walked a vector at a time, however short they are.
    if (tensor != tensors.end() && tensor->second.format().text() == scheduled.format.text() &&
        made.facts.adjacent[number] == Adjacency::none)
      made.facts.fibers[number] = short_fibers(tensor->second, resources.threads);
    if (made.facts.place_bits[number] > 0 && known != operands.end() && known->place_bits > 0) continue;
    if (grade != Specialization::baked || tensor == tensors.end() || tensor->second.nnz() > most_baked_entries) continue;
    const auto stored = convert(tensor->second, scheduled.format, resources, scheduled.name);
    if (!stored) return std::unexpected(stored.error());
    if (!may_be_baked(*stored)) continue;
    const std::uint64_t digest = pattern_digest(*stored);
    made.facts.patterns[number] = digest;
    made.patterns[digest] = pattern_of(*stored);
    baked[number] = stored->nnz();
  }
  for (const ScheduledStatement& statement : plan.schedule.statements) {
    if (baked.empty() || !writes_too_much(statement, network, plan.schedule, operands)) continue;
    for (const ScheduledAccess& factor : statement.factors) {
      made.facts.patterns[factor.tensor] = {};
      baked.erase(factor.tensor);
    }
  }
  std::erase_if(made.patterns, [&](const auto& one) { return std::ranges::count(made.facts.patterns, std::optional(one.first)) == 0; });
  for (const auto& [number, entries] : baked) made.baked_entries += entries;
  return made;
}

Specialization choose_specialization(double predicted_ns, double calls, std::uint64_t baked_entries) {
  const double total_ns = predicted_ns * calls;
  if (baked_entries > 0 && baked_entries <= most_entries_worth_baking &&
      total_ns * saved_by_baking > compile_ns_per_baked_entry * static_cast<double>(baked_entries))
    return Specialization::baked;
  return total_ns < profiled_pays_from_ns ? Specialization::generic : Specialization::profiled;
}

std::string_view name(Specialization grade) { return names[static_cast<std::size_t>(grade)]; }

std::optional<Specialization> parse_specialization(std::string_view text) {
  if (text == "automatic") return Specialization::automatic;
  const auto found = std::ranges::find(names, text);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Specialization>(found - std::begin(names));
}

}  // namespace weft
