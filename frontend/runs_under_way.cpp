#include "frontend/runs_under_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "runtime/overlap.h"
#include "runtime/tensor_facts.h"
#include "runtime/waiting.h"

namespace weft {
namespace {

/// Of the process: engines know nothing of each other. Never destroyed, for threads may run to the end of it.
template <class Use>
struct UnderWay {
  std::mutex mutex;
  std::vector<Use> all;

  static UnderWay& of_process() {
    static auto* const uses = new UnderWay;
    return *uses;
  }
};
using ScratchInUse = UnderWay<std::span<const std::byte>>;
using WatchedRuns = UnderWay<const RunOperands*>;

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<const std::byte*> before;
  return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

bool takes_turns(const Tensor& a, const Tensor& b) {
  return TensorParts::value_facts(a) != nullptr && TensorParts::value_facts(a) == TensorParts::value_facts(b);
}

std::unexpected<Error> meets(const std::string& name, const std::string& what, const std::string& other) {
  return fail(ErrorKind::input, ErrorCode::other, name, fmt::format("{} overlaps {} of another run that is under way", what, other));
}

/// Whether a run writes to what another one uses.
Expected<void> apart(const RunOperands& run, const RunOperands& other) {
  for (const auto& [name, output] : run.host.outputs) {
    const std::string memory = fmt::format("the memory for {}", name);
    for (const auto& [operand, tensor] : other.tensors)
      if (may_overlap(tensor, output.memory)) return meets(name, memory, fmt::format("the operand {}", operand));
    for (const auto& [second, written] : other.host.outputs)
      if (!takes_turns(output.memory, written.memory) && may_overlap(written.memory, output.memory))
        return meets(name, memory, fmt::format("the memory for {}", second));
  }
  for (const auto& [name, tensor] : run.tensors) {
    for (const auto& [written, output] : other.host.outputs)
      if (may_overlap(tensor, output.memory))
        return meets(name, fmt::format("the operand {}", name), fmt::format("the memory for {}", written));
  }
  return {};
}

}  // namespace

Expected<Turns> Turns::of(const RunOperands& operands, const Cancellation& cancellation) {
  Turns turns;
  std::vector<std::timed_mutex*> all;
  for (const auto& [name, output] : operands.host.outputs)
    if (ValueFacts* const facts = TensorParts::value_facts(output.memory)) all.push_back(&facts->writing);
  // In one order for all, so that none waits for another that waits for it; memory given twice is refused later.
  std::ranges::sort(all, std::less<>());
  const auto twice = std::ranges::unique(all);
  all.erase(twice.begin(), twice.end());
  for (std::timed_mutex* const one : all) {
    turns.locks_.push_back(locked_unless(*one, [&] { return cancellation.cancelled(); }));
    if (!turns.locks_.back().owns_lock()) return fail(ErrorKind::cancelled, "interrupted while another run writes into the same memory");
  }
  return turns;
}

Expected<ScratchLease> ScratchLease::of(std::span<const std::byte> memory) {
  if (memory.empty()) return ScratchLease(memory);
  ScratchInUse& uses = ScratchInUse::of_process();
  const std::lock_guard lock(uses.mutex);
  if (std::ranges::any_of(uses.all, [&](const auto& other) { return overlap(memory, other); }))
    return input_error("the scratch memory is used by another run");
  uses.all.push_back(memory);
  return ScratchLease(memory);
}

ScratchLease::ScratchLease(ScratchLease&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}

ScratchLease::~ScratchLease() {
  if (memory_.empty()) return;
  ScratchInUse& uses = ScratchInUse::of_process();
  const std::lock_guard lock(uses.mutex);
  const auto place = std::ranges::find(uses.all, memory_.data(), [](const auto& each) { return each.data(); });
  if (place != uses.all.end()) uses.all.erase(place);
}

Expected<WatchedRun> WatchedRun::of(const RunOperands& operands, bool checked) {
  if (!checked) return WatchedRun(nullptr);
  WatchedRuns& runs = WatchedRuns::of_process();
  const std::lock_guard lock(runs.mutex);
  for (const RunOperands* const other : runs.all)
    if (auto right = apart(operands, *other); !right) return std::unexpected(right.error());
  runs.all.push_back(&operands);
  return WatchedRun(&operands);
}

WatchedRun::~WatchedRun() {
  if (operands_ == nullptr) return;
  WatchedRuns& runs = WatchedRuns::of_process();
  const std::lock_guard lock(runs.mutex);
  runs.all.erase(std::ranges::find(runs.all, operands_));
}

}  // namespace weft
