// Plans compiled, bound and run in several ways; what differs between tests is the judge of the result R.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/pipeline.h"
#include "oracle/built_network.h"
#include "oracle/sparse_result.h"

namespace weft::test {

/// One arena each: starting threads for every network would take longer than running it.
const Threads& threads_of(unsigned count);

Pipeline pipeline_with(bool checked, bool strict_fp);

/// Has every statement predicted to take so long that the engine cuts root loops for its threads however small the tensors are.
void make_worth_threads(Plan& plan);

/// The plan with every root loop parallel that may be, and worth cutting.
Plan cut_for_threads(Plan plan, const BuiltNetwork& built, const PlanOptions& options);

/// The same, where what is appended is counted first wherever it may be.
Plan counted_for_threads(Plan plan, const BuiltNetwork& built, const PlanOptions& options);

struct Way {
  unsigned threads = 1;
  bool deterministic = false;
};

/// Entries of an operand at so many of 100 of its coordinates, -3 to 3.
void draw_entries(RandomOperand& operand, std::uint64_t percent, Dice& dice);

/// What is wrong with a result; empty if nothing is.
using Judge = std::function<std::string(const Tensor& result, const Resources& resources)>;

/// In the requested format, with exactly the entries of the structural product. `requested` has to last as long.
Judge is_structural(const RequestedNetwork& requested);

/// The options, with the format or pattern that is requested of R.
PlanOptions options_of(const RequestedNetwork& requested, PlanOptions options = {});

/// Compiled, then bound and run twice in every way (the second run finds what the first left behind).
std::string defect_of_runs(const Pipeline& pipeline, const Plan& plan, const std::vector<Way>& ways,
                           const BuiltNetwork& built, const Judge& judge);

}  // namespace weft::test
