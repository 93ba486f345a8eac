// Readings: the ways in which operands over layouts are read, each planned and priced with its copies, the cheapest taken.
//
//   y(i) = A(i,j) * B(i,j) * x(j), B in blocks of 4 x 4
//   cut: indices into quotients and remainders, A laid out in blocks too; located: B looked up at (i/4, j/4, i%4, j%4); copied: B as CSR
//
// Cutting needs no reason; what is read otherwise has to be cheaper by a twentieth, a call's part of the copies included.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/network/exposure.h"
#include "engine/plan/machine.h"
#include "engine/plan/schedule/schedule.h"
#include "frontend/named_operands.h"
#include "weft/session.h"
#include "weft/tensor.h"

namespace weft {

/// What may be exposed at most, and which operands are located through their layouts.
struct Reading {
  Exposing exposing = Exposing::all;
  std::set<TensorId> located = {};
  bool locate_all = false;  ///< in place of `located`: all that may_be_located()
  std::set<std::string> located_names = {};  ///< likewise, as a schedule has them
  bool operator==(const Reading&) const = default;

  /// From this one down to what never rests on finite values.
  std::vector<Reading> with_safer_ones() const;
};

/// A call's part of what laying operands out otherwise takes, in nanoseconds; where the operand changes with every call, laying it out
/// again in all calls but the first.
class CopyPrices {
 public:
  CopyPrices(const Machine& machine, const EvaluateOptions& options) : machine_(machine), options_(options) {}

  double of(const std::string& name, const Tensor& from, const Tensor& to) const;
  /// At least, before it is laid out: blocks store the entries, and padding of blocks may be all there is.
  double at_least(const std::string& name, const Tensor& from, const Format& to) const;
  /// The latter of all sparse operands that an exposure reads in another format.
  double at_least(const Exposure& exposure, const std::map<std::string, const Tensor*>& operands) const;

 private:
  double of(const std::string& name, const Format& from, double from_places, const Format& to, double to_places) const;

  const Machine& machine_;
  const EvaluateOptions& options_;
};

class Preparation;

/// A plan over a reading.
struct PlannedReading {
  std::shared_ptr<Preparation> preparation;
  std::shared_ptr<const Exposure> exposure = {};  ///< none: no tensor stands in a layout
  std::map<std::string, const Tensor*> operands = {};  ///< as they are given, where they are
  double plan_ns = 0;     ///< predicted of a call
  double copies_ns = 0;   ///< a call's part of the copies
  std::set<TensorId> may_be_located = {};  ///< operands that others contradict, or are cut for
  std::set<TensorId> may_be_at_digits = {};  ///< plain operands over an index that others cut
  std::size_t schedule_lines = 0;          ///< of a schedule that is given, read without an error
  bool asks_for_order = false;             ///< a level is searched whose coordinates come in no order: no reading
  bool changes_results = false;            ///< places without an entry of layouts that were chosen would be entries of a result
  double cut_copies_ns = 0;                ///< where there are such: `copies_ns` of the reading that cuts, before it is planned
  Reading reading = {};                    ///< as the values of the operands allow it
  bool counts_joins = false;               ///< prices depend on joins, which are counted for each plan
  bool at_least = false;                   ///< planned below a bound, and nothing below it was found
  bool proven = false;                     ///< nothing over this reading takes less, or less than that bound

  double ns() const { return plan_ns + copies_ns; }
  bool gives_results() const { return !asks_for_order && !changes_results; }
};

/// Whether loops search a level of an operand whose coordinates come in no order (ExposedTensor::unordered): j, i over A(i,j) by rows do.
bool asks_for_order(const Exposure& exposure, const Schedule& schedule);

using PlanReading = std::function<Expected<PlannedReading>(const Reading&)>;

/// `reason`: why it is better than cutting; empty of that.
struct ChosenReading {
  PlannedReading reading;
  std::string reason = {};
};

/// Operands in blocks, diagonals, bands and triangles beside others: cut, or copied where they cannot be, each or all located, or all
/// copied. Slots and diagonals, which are walked place by place: those places or copies, unless their layouts are `pinned`. Results:
/// computed in their levels, or in plain ones and converted. Nothing whose copies alone take longer than another way is planned.
/// `first`: with all located that may be, else as asked for.
Expected<ChosenReading> chosen_reading(PlannedReading first, const CopyPrices& prices, const std::map<std::string, Format>& pinned,
                                       const PlanReading& plan);

/// What the lines "stored" of a schedule ask for.
struct StatedRequest {
  EvaluateOptions options;            ///< with their formats as pinned ones
  std::set<std::string> chosen = {};  ///< operands of which these were chosen for their price
  Reading reading = {};
};
/// Nothing where there are none. Input error where they are wrong, speak of no tensor, or contradict a format that the options pin.
Expected<std::optional<StatedRequest>> stated_request(const EvaluateOptions& options, const NamedFacts& operands,
                                                      const std::set<std::string>& results);

/// The first reading under which a schedule of the host is one that has no lines "stored": its text does not say how operands are read, and
/// it was made over one of those that are chosen among. `first`: the reading that cuts. Where none is, the error of the reading under which
/// most of the text is read. `lines`: of the text, read by the last reading.
Expected<PlannedReading> read_as_scheduled(Expected<PlannedReading> first, const std::set<TensorId>& may_be_located,
                                           const std::set<TensorId>& may_be_at_digits, const std::size_t& lines,
                                           const PlanReading& plan);

}  // namespace weft
