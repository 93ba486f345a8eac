// What writing entries takes: filling a workspace with a key and draining it, by its kind; a target with compressed levels: appending, the
// workspace that is drained into it, assembling what threads appended, converting the result.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "engine/plan/estimate/joins.h"
#include "engine/plan/estimate/product_estimate.h"
#include "engine/plan/machine.h"
#include "engine/plan/schedule/contractions.h"
#include "weft/format.h"

namespace weft {

/// Of one filling: expected figures.
struct KeyedWorkspace {
  double keys = 1;       ///< combinations of coordinates of the key
  double entries = 0;    ///< distinct ones that are touched
  double inserts = 0;    ///< accumulations
  double block = 1;      ///< values per entry
  double scalar_bytes = 8;
  double fillings = 1;   ///< in a run, by all threads
  double runs = 1;       ///< with the same memory
  bool one_mode = true;  ///< else no bitmap, and keys are made of several coordinates
  bool ordered = true;   ///< drained in order
};

struct KeyedPrice {
  LevelKind kind = LevelKind::accumulator;
  double ns = 0;     ///< resetting, filling and draining it once
  double bytes = 0;  ///< of one thread
};

KeyedPrice keyed_price(const Machine& machine, const KeyedWorkspace& workspace, LevelKind kind);

/// The cheapest of accumulator, bitmap and hash table.
KeyedPrice cheapest_keyed(const Machine& machine, const KeyedWorkspace& workspace);

class SparseTarget {
 public:
  /// A tensor that is not dense, written with these indices. The product is what flows into it. `next` is the index of the level that an
  /// operand whose leading levels are shared has behind them.
  SparseTarget(const ContractedTensor& tensor, const std::vector<IndexId>& indices, ProductEstimate product,
               std::optional<IndexId> next = std::nullopt);

  /// Positions of a pattern are shared: nothing is appended.
  bool shares_pattern() const { return shares_pattern_; }
  double entries() const { return entries_; }
  double bytes() const { return bytes_; }
  double block() const { return block_; }  ///< values per entry
  IndexSet modes() const { return modes_; }
  const std::vector<IndexId>& order() const { return order_; }  ///< of the appended levels
  const ProductEstimate& product() const { return product_; }
  /// The first loops bind the appended levels, in their order unless it is that of the loops. Whether `index`, below loops over `bound`
  /// that did so, is not the next one.
  bool departs(IndexSet bound, IndexId index) const;
  /// Whether `index` below `bound` is the last appended level: an entry is made in every iteration.
  bool completes(IndexSet bound, IndexId index) const;
  /// Whether the loop over `index` below `bound` comes too early: the positions of shared levels are known in the loop that binds the last
  /// of them, which binds the level behind them as well where the loop over that one's index is outside. R[l,i,n] at the levels n, l of
  /// T[n,l,i] as dsd: i below n alone.
  bool hides_positions(IndexSet bound, IndexId index) const { return next_ == index && (key_ & ~bound) != 0; }

  /// The workspace inside the loops over `bound`, filled `inserts` times.
  KeyedWorkspace workspace(IndexSet bound, double inserts) const;

  /// After the last loop of the first run: copying what chunks appended; of one thread, a call's part.
  double finishing_ns(double calls) const;
  /// Converting all of it after every run where it is handed over in another format, all threads together.
  double converting_ns(const Machine& machine) const;

 private:
  ProductEstimate product_;
  std::vector<IndexId> order_;
  IndexSet modes_ = 0;
  IndexSet key_ = 0;
  double block_ = 1;
  double entries_ = 0;
  double bytes_ = 0;
  double scalar_bytes_ = 8;
  bool shares_pattern_ = false;
  std::optional<IndexId> next_;  ///< behind the shared levels
  bool any_order_ = false;
  double converted_share_ = 0;  ///< after the run
};

/// The accesses, of all those of a network, whose product a step writes.
JoinSet product_join(Steps steps, std::size_t writer, const std::vector<Occurrence>& all);

/// Of these the modes that it keeps: which of its coordinates they let through.
JoinSet written_join(Steps steps, std::size_t writer, const std::vector<Occurrence>& all);

/// What flows into a tensor that a step writes; of a network of one assignment with what was counted, as in PlanOptions.
ProductEstimate estimate_of(Steps steps, std::size_t writer, const Network& network, const std::vector<OperandFacts>& operands,
                            const std::map<JoinSet, double>& joins = {}, const std::map<std::string, double>& entries = {});

}  // namespace weft
