#include "engine/plan/schedule.h"

#include "engine/plan/plan.h"

namespace weft {

Schedule::Schedule() = default;
Schedule::Schedule(const Schedule&) = default;
Schedule::Schedule(Schedule&&) noexcept = default;
Schedule& Schedule::operator=(const Schedule&) = default;
Schedule& Schedule::operator=(Schedule&&) noexcept = default;
Schedule::~Schedule() = default;

PlanOptions::PlanOptions() = default;
PlanOptions::PlanOptions(const PlanOptions&) = default;
PlanOptions::PlanOptions(PlanOptions&&) noexcept = default;
PlanOptions& PlanOptions::operator=(const PlanOptions&) = default;
PlanOptions& PlanOptions::operator=(PlanOptions&&) noexcept = default;
PlanOptions::~PlanOptions() = default;

Cost::Cost() = default;
Cost::Cost(const Cost&) = default;
Cost::Cost(Cost&&) noexcept = default;
Cost& Cost::operator=(const Cost&) = default;
Cost& Cost::operator=(Cost&&) noexcept = default;
Cost::~Cost() = default;

Plan::Plan() = default;
Plan::Plan(const Plan&) = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(const Plan&) = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

}  // namespace weft
