// The memory of nests and copies, for the solver.
#include "engine/plan/prove/encoding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/binding.h"

namespace weft {

WorkspaceBytes::WorkspaceBytes(const Alternative& alternative, const Problem& problem)
    : alternative_(alternative), problem_(problem) {
  const auto& [network, operands, options] = problem;
  const Contractions& contractions = alternative.contractions;
  const bool sparse = std::ranges::any_of(contractions.steps, [&](const Contraction& step) {
    return contractions.tensors[step.target.tensor].sparse();
  });
  if (!sparse) return;
  model_.emplace(contractions, problem, alternative.paths);
  for (std::size_t number = 0; number < contractions.steps.size(); ++number) {
    products_.push_back(estimate_of(contractions, number, network, operands, options.joins, options.entries));
  }
}

IndexSet WorkspaceBytes::modes(std::size_t writer) const {
  return index_set(alternative_.contractions.steps[writer].target.indices);
}

Scalar WorkspaceBytes::scalar(std::size_t writer) const {
  const Contractions& contractions = alternative_.contractions;
  return contractions.tensors[contractions.steps[writer].target.tensor].scalar;
}

double WorkspaceBytes::dense(std::size_t writer, IndexSet indices) const {
  return dense_bytes(indices, scalar(writer), problem_.network);
}

// Inside loops over `outside`, some of which may be modes of the key.
double WorkspaceBytes::keyed(std::size_t writer, IndexSet outside, IndexSet whole_key, LevelKind kind) const {
  const IndexSet stored = modes(writer) & ~outside;
  return keyed_bytes(products_[writer], outside, stored & whole_key, stored & ~whole_key, kind, scalar(writer), problem_);
}

double WorkspaceBytes::inside(std::size_t writer, IndexSet shared) const {
  const IndexSet stored = modes(writer) & ~shared;
  if (!model_ || !model_->is_keyed(writer, shared)) return dense(writer, stored);
  const LevelKind kind = model_->workspace(writer, shared).kind;
  return std::min(keyed(writer, shared, model_->key(writer), kind), keyed(writer, shared, modes(writer), kind));
}

double WorkspaceBytes::between(std::size_t writer) const {
  return model_ && model_->key(writer) != 0 ? 0 : dense(writer, modes(writer));
}

double WorkspaceBytes::of_result() const {
  const Contractions& contractions = alternative_.contractions;
  const ContractedTensor& result = result_of(contractions);
  const std::size_t last = contractions.steps.size() - 1;
  if (!result.dense()) return 0;
  const TensorDeclaration& declared = problem_.network.tensors[problem_.network.assignments.front().result.tensor];
  return dense(last, modes(last)) * allocated_copies(declared.name, result.delivered.has_value(), problem_.options);
}

std::optional<double> WorkspaceBytes::drained(std::size_t writer, Outside where, IndexId index, StatementRange range) const {
  if (!model_) return std::nullopt;
  if (writer + 1 == model_->statements()) {
    if (!model_->departs(where, index, range)) return std::nullopt;
    return model_->drain(where, index, range).bytes;
  }
  const IndexSet stored = model_->compressed(writer);
  const IndexSet key = stored != 0 ? stored : model_->key(writer);
  const IndexSet all = modes(writer);
  const IndexSet outside = where.indices;
  const bool departs = !contains(all, index) && (outside & ~all) == 0 && (key & ~outside) != 0;
  if (!departs) return std::nullopt;
  const LevelKind kind = model_->workspace(writer, 0).kind;
  if (stored != 0) return keyed(writer, outside, stored, kind);
  const double with_all = keyed(writer, outside, all, kind);
  // A loop over the block before the key is complete: not provably written, so that all modes are the key.
  return (outside & ~key) != 0 ? with_all : std::min(with_all, keyed(writer, outside, key, kind));
}

// Results for later assignments are not there yet when operands are converted.
void Encoding::encode_memory() {
  for (Encoded& encoded : ways_) encode_workspaces(encoded);
  if (results_.size() > 1) {
    for (StoredResult& result : results_) result.bytes.first = solver_.boolean();
    for (const Encoded& encoded : ways_) {
      std::pair<Literal, double>& result = results_[encoded.assignment].bytes;
      if (encoded.result == 0) continue;
      result.second = encoded.result;
      solver_.clause({!encoded.chosen, result.first}, solver_.family(memory_family));
    }
  }
  for (const Encoded& encoded : ways_) {
    encode_conversions(encoded);
    for (const NestGraph::State& state : encoded.graph.states) {
      if (!state.outside.root()) continue;
      for (const std::uint32_t option : state.options) encode_nest(encoded, option);
    }
  }
}

// Options that need the same workspace of a statement imply the same literal.
void Encoding::encode_workspaces(Encoded& encoded) {
  const Contractions& contractions = encoded.way->alternative.contractions;
  const Family memory = solver_.family(memory_family);
  const WorkspaceBytes sizes(encoded.way->alternative, encoded.way->problem);
  encoded.result = sizes.of_result();
  for (std::size_t writer = 0; writer < contractions.steps.size(); ++writer) encoded.between.push_back(sizes.between(writer));
  std::map<std::tuple<std::size_t, bool, IndexSet>, Literal> known;
  const auto uses = [&](Literal option, std::size_t writer, bool drained, IndexSet outside, double bytes) {
    const auto [found, added] = known.try_emplace({writer, drained, outside});
    if (added) {
      found->second = solver_.boolean();
      encoded.workspaces.push_back({writer, drained, found->second, problem_.options.machine.threads * bytes});
    }
    solver_.clause({!option, found->second}, memory);
  };
  for (std::size_t number = 0; number < encoded.graph.options.size(); ++number) {
    const NestGraph::Option& option = encoded.graph.options[number];
    const NestGraph::State& state = encoded.graph.states[option.state];
    for (std::size_t writer = state.first; writer <= option.end; ++writer) {
      if (!option.body) {
        const auto drained = sizes.drained(writer, state.outside, option.index, {state.first, option.end});
        if (drained) uses(encoded.options[number], writer, true, state.outside.indices, *drained);
      }
      const ScheduledAccess& target = contractions.steps[writer].target;
      const std::size_t reader = reader_of(contractions, target.tensor);
      if (state.outside.root() || reader <= option.end || reader > state.last) continue;
      const IndexSet shared = state.outside.indices & index_set(target.indices);
      uses(encoded.options[number], writer, false, shared, sizes.inside(writer, shared));
    }
  }
}

// The coordinates of one operand at a time are sorted, before any nest runs.
void Encoding::encode_conversions(const Encoded& encoded) {
  const auto& [contractions, paths] = encoded.way->alternative;
  double sorting = 0;
  for (std::size_t number = 0; number < contractions.tensors.size(); ++number) {
    if (!path_of(paths, number).converts()) continue;
    sorting = std::max(sorting, sorting_bytes(facts_of(encoded.way->problem.operands, contractions.tensors[number].tensor)));
  }
  const double result = results_[encoded.assignment].wanted ? encoded.result : 0;
  within(lasting_sizes(encoded, false), left_ - result - sorting, encoded.chosen, solver_.family(memory_family));
}

// What lives while a nest runs: intermediates that come in, pass by or leave, its workspaces (one per thread) and at
// least two private copies of what it writes.
void Encoding::encode_nest(const Encoded& encoded, std::size_t number) {
  const Contractions& contractions = encoded.way->alternative.contractions;
  const NestGraph::Option& option = encoded.graph.options[number];
  const std::size_t first = encoded.graph.states[option.state].first;
  const auto leaves = [&](std::size_t writer) {
    const std::size_t reader = reader_of(contractions, contractions.steps[writer].target.tensor);
    return reader == contractions.steps.size() || reader > option.end;
  };
  double live = 0;
  std::vector<std::string> names;  // of stored intermediates
  for (std::size_t writer = 0; writer <= option.end; ++writer) {
    const ScheduledAccess& target = contractions.steps[writer].target;
    const ContractedTensor& tensor = contractions.tensors[target.tensor];
    if (writer >= first && leaves(writer) && option.reduction == RootReduction::private_copies) {
      live += 2 * dense_bytes(index_set(target.indices), tensor.scalar, problem_.network);
    }
    if (tensor.role != TensorRole::intermediate || reader_of(contractions, target.tensor) < first) continue;
    const bool inside = writer >= first && !leaves(writer);
    if (!inside) live += encoded.between[writer];
    if (inside || encoded.between[writer] > 0) names.push_back(tensor.name);
  }
  Sizes sizes = lasting_sizes(encoded, true);
  for (const Workspace& workspace : encoded.workspaces) {
    if (workspace.writer < first || workspace.writer > option.end || leaves(workspace.writer) != workspace.drained) continue;
    sizes.emplace_back(workspace.used, workspace.bytes);
    if (!workspace.drained) continue;
    const std::string& name = contractions.tensors[contractions.steps[workspace.writer].target.tensor].name;
    std::string drained = fmt::format("the workspace of {}", name);
    if (std::ranges::find(names, drained) == names.end()) names.push_back(std::move(drained));
  }
  within(std::move(sizes), left_ - encoded.result - live, encoded.options[number],
         solver_.family(fmt::format("{}{}", memory_family, fmt::join(names, " and "))));
}

// Copies of all assignments, and results of others.
Encoding::Sizes Encoding::lasting_sizes(const Encoded& encoded, bool running) const {
  Sizes sizes = shared_sizes_;
  for (const std::size_t other : results_[encoded.assignment].live) {
    if (running || results_[other].wanted) sizes.push_back(results_[other].bytes);
  }
  for (const Encoded& other : ways_) {
    if (other.assignment != encoded.assignment || &other == &encoded) sizes.insert(sizes.end(), other.copies.begin(), other.copies.end());
  }
  return sizes;
}

}  // namespace weft
