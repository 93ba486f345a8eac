// The kernels that weft calibrate times.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/machine.h"
#include "frontend/operand.h"

namespace weft {

/// A kernel whose schedule is fixed: what of it is measured, its network, operands and schedule as texts.
struct Probe {
  std::string what;
  std::string expression;
  std::vector<OperandText> operands;
  std::string schedule;
};

/// Some twenty kernels, among them rows and elements gathered from tables that lie in each of the caches and, as far as the
/// bytes of a table are bounded, in none. Whatever the caches are said to hold, the operands can be made and are of bounded size.
std::vector<Probe> calibration_probes(const Machine& machine);

}  // namespace weft
