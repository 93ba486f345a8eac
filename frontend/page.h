// The page of `--html`: one self-contained HTML text of a report. No scripts, nothing loaded from elsewhere.
#pragma once

#include <map>
#include <string>

#include "engine/plan/explain/explained.h"
#include "weft/session.h"

namespace weft {

/// The plan: what costs most, the loop nest with its costs, the contraction tree drawn, why the plan is as it is, layouts,
/// memory, phases; after a run (`ran`) the measured times, and the iterations where they were counted. Light or dark as
/// the reader prefers. `read_ms` by operand. A function of its arguments.
std::string page(const Report& report, const std::map<std::string, double>& read_ms, bool ran);

/// Text as HTML shows it: & < > " ' are written as entities.
std::string escaped(std::string_view text);

/// What every share on a page is of: the time predicted for all loops, on one thread, and for a run's part of the conversions.
double work_ns(const Explanation& explained);

/// "37 %", "< 1 %".
std::string percent_text(double fraction);

/// The contraction trees as one inline SVG: leaves are operands, inner nodes products with their share of the time.
std::string tree_picture(const Explanation& explanation);

/// Class of the colour that stands for a statement everywhere on the page.
std::string colour_class(std::size_t statement);

}  // namespace weft
