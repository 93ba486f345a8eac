// The cost models of a search's alternatives, of which most statements are shared: equal ones are made once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/cost/interval_table.h"
#include "engine/plan/schedule/result_format.h"

namespace weft {

/// Contractions, and what all choices of layouts have in common of them.
struct PricedOrder {
  Contractions contractions;
  std::shared_ptr<const StatementFlow> flow;
  std::shared_ptr<const SparseTarget> result;  ///< none if it is dense
  /// Per step: equal ones have one number, wherever they stand; and the factors of the term that it reads.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> contents;
};

class AlternativeModels {
 public:
  /// Of one term. Refers to all of its arguments.
  explicit AlternativeModels(const Problem& problem);

  /// That the result may be computed in.
  const std::vector<ResultFormat>& formats() const { return formats_; }

  PricedOrder order_of(Contractions contractions);
  /// The models of the steps, with a path per tensor: equal numbers have equal factors on equal paths, as interval tables want them.
  std::vector<std::uint32_t> numbers(const PricedOrder& order, const AccessPaths& paths);
  /// Statements described so far.
  std::uint64_t described() const { return described_; }
  CostModel model(const PricedOrder& order, const std::vector<std::uint32_t>& numbers) const {
    return CostModel(order.flow, order.result, models_, numbers);
  }
  /// cost() of a schedule of the term, by models of its statements made before where these read the operands as they are given and
  /// write dense tensors.
  Cost cost_of(const Schedule& schedule);
  /// What interval programs over these models, all of them fused or none, found.
  IntervalTable& table() { return table_; }
  bool is_full() const { return table_.bytes() + models_->bytes() > table_.most_bytes; }

 private:
  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  std::vector<ResultFormat> formats_;
  std::shared_ptr<StatementModels> models_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> contents_;
  IndexSetTable<std::uint32_t> variants_;  // models by content
  std::map<std::vector<std::uint64_t>, std::uint64_t> long_variants_;  // of statements that read many factors
  std::vector<AccessPath> known_paths_{AccessPath{}};  // by their numbers
  std::uint64_t described_ = 0;
  std::vector<std::pair<ResultFormat, std::shared_ptr<const SparseTarget>>> results_;  // with compressed levels
  IntervalTable table_;

  std::shared_ptr<const SparseTarget> result_of(const Contractions& contractions);
  std::uint64_t number_of(const AccessPath& path);
  std::uint64_t variant_of(std::uint64_t factors, const AccessPaths& paths);
};

}  // namespace weft
