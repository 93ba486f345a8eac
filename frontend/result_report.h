// What a report tells of a result.
#pragma once

#include <string>

#include "weft/report.h"
#include "weft/tensor.h"

namespace weft {

/// The figures of a report; empty ones where it has none.
const Explanation& explanation_of(const Report& report);

/// "dd": the mode order is told only where it is not 0, 1, ….
std::string result_format(const Format& format);

/// Sum and norm are over the stored entries.
ResultReport result_report(const Tensor& tensor);

}  // namespace weft
