// The words of reports as enumerations.
#include <array>

#include "runtime/guarded.h"
#include "weft/engine.h"

namespace weft {
namespace {

template <class Value>
struct NamedValue {
  std::string_view word;
  Value value;
};

template <class Value, std::size_t Count>
Value meant(std::string_view word, const std::array<NamedValue<Value>, Count>& words, Value otherwise) {
  for (const NamedValue<Value>& known : words) {
    if (known.word == word) return known.value;
  }
  return otherwise;
}

}  // namespace

PlanProducer Report::producer() const {
  constexpr std::array<NamedValue<PlanProducer>, 5> words = {{{"dp", PlanProducer::dp},
                                                        {"z3", PlanProducer::z3},
                                                        {"baseline", PlanProducer::baseline},
                                                        {"enumerated", PlanProducer::enumerated},
                                                        {"user", PlanProducer::user}}};
  return meant(plan.producer, words, PlanProducer::unknown);
}

PlanOptimal Report::optimal() const {
  constexpr std::array<NamedValue<PlanOptimal>, 3> words = {
      {{"false", PlanOptimal::none}, {"tree", PlanOptimal::tree}, {"all", PlanOptimal::all}}};
  return meant(plan.optimal, words, PlanOptimal::unknown);
}

PlanSource Report::plan_source() const {
  constexpr std::array<NamedValue<PlanSource>, 2> words = {{{"miss", PlanSource::made}, {"hit", PlanSource::remembered}}};
  return plan.producer.empty() ? PlanSource::unknown : meant(plan_cache, words, PlanSource::unknown);
}

KernelSource Report::kernel_source() const {
  constexpr std::array<NamedValue<KernelSource>, 3> words = {
      {{"memory", KernelSource::memory}, {"disk", KernelSource::disk}, {"compiled", KernelSource::compiled}}};
  return meant(kernel_cache, words, KernelSource::unknown);
}

std::optional<Specialization> Report::specialised() const {
  using Grade = std::optional<Specialization>;
  constexpr std::array<NamedValue<Grade>, 3> words = {{{"generic", Specialization::generic},
                                                 {"profiled", Specialization::profiled},
                                                 {"baked", Specialization::baked}}};
  return meant(specialization, words, Grade());
}

}  // namespace weft
