#include "engine/plan/cost/alternative_models.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace weft {

AlternativeModels::AlternativeModels(const Problem& problem)
    : network_(problem.network),
      operands_(problem.operands),
      formats_(result_formats(problem)),
      models_(std::make_shared<StatementModels>(problem)) {}

std::uint64_t AlternativeModels::number_of(const AccessPath& path) {
  const auto known = std::ranges::find(known_paths_, path);
  if (known != known_paths_.end()) return static_cast<std::uint64_t>(known - known_paths_.begin());
  known_paths_.push_back(path);
  return known_paths_.size() - 1;
}

// A digit for every path to these factors, 10 of which fill a word.
std::uint64_t AlternativeModels::variant_of(std::uint64_t factors, const AccessPaths& paths) {
  constexpr std::uint64_t base = 64;
  static_assert(2 * most_convertible_modes + 3 * std::size(dense_fill_limits) + 2 <= base);
  std::vector<std::uint64_t> full;
  std::uint64_t variant = 0;
  for (std::size_t digits = 0; factors != 0; factors &= factors - 1, ++digits) {
    if (digits != 0 && digits % 10 == 0) full.push_back(std::exchange(variant, 0));
    variant = variant * base + number_of(path_of(paths, static_cast<std::size_t>(std::countr_zero(factors))));
  }
  if (full.empty()) return variant;
  full.push_back(variant);
  return long_variants_.try_emplace(std::move(full), long_variants_.size() + 1).first->second;
}

// By what flows into them, and how the factors are reached that they read.
std::vector<std::uint32_t> AlternativeModels::numbers(const PricedOrder& order, const AccessPaths& paths) {
  std::vector<std::uint32_t> found;
  found.reserve(order.contents.size());
  for (std::size_t number = 0; number < order.contents.size(); ++number) {
    const auto [content, read] = order.contents[number];
    const std::uint64_t variant = paths.empty() ? 0 : variant_of(read, paths);
    const std::uint32_t* known = variants_.find(variant, content);
    const std::uint32_t model = known != nullptr ? *known : models_->add(order.contractions, number, found, paths);
    if (known == nullptr) {
      variants_.insert(variant, content, model);
      ++described_;
    }
    found.push_back(model);
  }
  return found;
}

// Every product of the whole term has the same entries, whatever its tree is.
std::shared_ptr<const SparseTarget> AlternativeModels::result_of(const Contractions& contractions) {
  const ContractedTensor& tensor = weft::result_of(contractions);
  if (tensor.dense()) return nullptr;
  const ResultFormat format{tensor.layout, tensor.delivered, tensor.like, tensor.storage, tensor.block};
  const auto known = std::ranges::find(results_, format, [](const auto& result) { return result.first; });
  if (known != results_.end()) return known->second;
  results_.emplace_back(format, sparse_target(contractions, Problem{network_, operands_, models_->options()}));
  return results_.back().second;
}

namespace {

// An intermediate, read or written: its modes, as one operand may be summed over some of its own or be copied with all of them, and how
// it is stored if it is no workspace.
void append_intermediate(const ContractedTensor& tensor, const ScheduledAccess& access, bool written, std::vector<std::uint64_t>& content) {
  constexpr std::uint64_t storage = std::uint64_t{1} << 33;
  content.push_back(index_set(access.indices));
  if (tensor.dense()) return;
  content.push_back(storage | static_cast<std::uint64_t>(written) << 32 | static_cast<std::uint64_t>(tensor.storage) << 16);
  for (std::size_t level = 0; level < tensor.layout.order(); ++level) {
    content.push_back(storage | static_cast<std::uint64_t>(tensor.layout.levels[level].kind) << 8 | tensor.layout.mode_order[level]);
  }
}

}  // namespace

// By the factors of the term that flow into each of their factors.
PricedOrder AlternativeModels::order_of(Contractions contractions) {
  PricedOrder order;
  const std::vector<ContractedTensor>& tensors = contractions.tensors;
  std::vector<std::uint64_t> leaves(tensors.size());
  std::vector<bool> copies(tensors.size());
  order.contents.reserve(contractions.steps.size());
  for (std::size_t number = 0; number < contractions.steps.size(); ++number) {
    const Contraction& step = contractions.steps[number];
    std::vector<std::uint64_t> content;
    content.reserve(3 * step.factors.size() + 1);
    std::uint64_t all = 0;
    std::uint64_t reads = 0;
    for (const ScheduledAccess& factor : step.factors) {
      const bool read = tensors[factor.tensor].role == TensorRole::operand;
      const std::uint64_t from = read ? std::uint64_t{1} << factor.tensor : leaves[factor.tensor];
      content.push_back(from);
      content.push_back(read);
      if (!read) append_intermediate(tensors[factor.tensor], factor, false, content);
      all |= from;
      // A copy filters as the levels of the operand do.
      if (read || copies[factor.tensor]) reads |= from;
    }
    const ContractedTensor& target = tensors[step.target.tensor];
    if (target.role == TensorRole::intermediate) append_intermediate(target, step.target, true, content);
    if (formats_.size() > 1 && target.role == TensorRole::result) {
      const auto format = std::ranges::find_if(formats_, [&](const ResultFormat& one) {
        return one.format == target.layout && one.storage == target.storage && one.block == target.block &&
               one.delivered == target.delivered && one.like.has_value() == target.like.has_value();
      });
      content.push_back(std::uint64_t{1} << 32 | static_cast<std::uint64_t>(format - formats_.begin()));
    }
    leaves[step.target.tensor] = all;
    copies[step.target.tensor] = is_mark_array_copy(contractions, number);
    const auto next = static_cast<std::uint32_t>(contents_.size());
    order.contents.emplace_back(contents_.try_emplace(std::move(content), next).first->second, reads);
  }
  order.flow = std::make_shared<const StatementFlow>(StatementFlow::of(contractions, operands_));
  order.result = result_of(contractions);
  order.contractions = std::move(contractions);
  return order;
}

Cost AlternativeModels::cost_of(const Schedule& schedule) {
  const Problem problem{network_, operands_, models_->options()};
  const std::size_t accesses = network_.assignments.front().terms.front().factors.size();
  const bool described = schedule.tensors.size() == accesses + schedule.statements.size() &&
                         std::ranges::all_of(schedule.tensors, [](const ScheduledTensor& tensor) {
                           return tensor.role == TensorRole::operand ? !tensor.converted : tensor.format.all_dense();
                         });
  if (!described) return cost(schedule, problem);
  const PricedOrder order = order_of(contractions_of(schedule));
  return with_memory(time_cost(schedule, problem, model(order, numbers(order, {}))), schedule, problem);
}

}  // namespace weft
