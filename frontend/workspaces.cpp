#include "frontend/workspaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/handed_out.h"
#include "frontend/named_operands.h"
#include "frontend/runs_under_way.h"
#include "runtime/elapsed.h"
#include "runtime/overlap.h"
#include "runtime/tensor_facts.h"

namespace weft {

namespace {

/// Whether a result is the very tensor that the host gave as memory.
bool in_host_memory(const RunOperands& operands, const std::string& name, const Tensor& result) {
  const auto output = operands.host.outputs.find(name);
  return output != operands.host.outputs.end() && TensorParts::values(output->second.memory) == TensorParts::values(result);
}

}  // namespace

std::uint64_t RunOperands::next_stamp() { return next_number<RunOperands>(); }

Expected<void> RunOperands::verify(const Resources& resources) const {
  if (verified.load(std::memory_order_acquire)) return {};
  for (const auto& [name, tensor] : tensors) {
    if (auto right = verify_once(tensor, resources, name); !right) return right;
  }
  for (const auto& [name, output] : host.outputs) {
    if (output.memory.format().layout)
      return fail(ErrorKind::unsupported, ErrorCode::option, name,
                  fmt::format("the memory for {} has the layout {}: results are written into plain formats", name,
                              output.memory.format().text()));
    if (auto right = verify_once(output.memory, resources, name); !right) return right;
    if (repeats_elements(output.memory))
      return fail(ErrorKind::input, ErrorCode::sizes, name,
                  fmt::format("the memory for {} has strides that lead to one element on several ways", name));
    for (const auto& [operand, stored] : tensors) {
      if (may_overlap(stored, output.memory))
        return fail(ErrorKind::input, ErrorCode::other, name,
                    fmt::format("the memory for {} overlaps the operand {}", name, operand));
    }
    for (const auto& [other, second] : host.outputs) {
      if (other != name && may_overlap(second.memory, output.memory))
        return fail(ErrorKind::input, ErrorCode::other, name,
                    fmt::format("the memory for {} overlaps that for {}", name, other));
    }
  }
  const Buffer lent = Buffer::borrow(host.scratch.data(), host.scratch.size());
  for (const auto& [name, tensor] : tensors) {
    if (may_overlap(tensor, lent))
      return fail(ErrorKind::input, ErrorCode::other, name, fmt::format("the scratch memory overlaps the operand {}", name));
  }
  for (const auto& [name, output] : host.outputs) {
    if (may_overlap(output.memory, lent))
      return fail(ErrorKind::input, ErrorCode::other, name, fmt::format("the scratch memory overlaps the memory for {}", name));
  }
  verified.store(true, std::memory_order_release);
  return {};
}

void IdleWorkspaces::enlist(const std::shared_ptr<Workspaces>& one, const Memory& memory) {
  list_.enlist(one);
  weft::enlist(memory, one);
}

void IdleWorkspaces::make_room_for(std::uint64_t bytes) noexcept {
  if (bytes_.load(std::memory_order_relaxed) <= most_) return;
  list_.make_room([&] {
    const std::uint64_t waiting = this->bytes();
    return waiting == 0 || waiting + bytes <= most_;
  });
}

std::uint64_t IdleWorkspaces::bytes() const noexcept {
  std::uint64_t bytes = 0;
  list_.for_each([&](const Kept& one) { bytes += static_cast<const Workspaces&>(one).idle_bytes(); });
  return bytes;
}

/// Keeps what the tensors of a result point into, and puts it back with the last of them.
class Workspaces::Lease {
 public:
  explicit Lease(std::unique_ptr<Bound> bound) : bound_(std::move(bound)) {}
  ~Lease() { put_back(std::move(bound_)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  std::unique_ptr<Bound> bound_;
};

Workspaces::Workspaces(CompiledNetwork code, const EngineOptions& options, std::set<std::string> changing,
                       std::set<std::string> changing_patterns, std::set<std::string> shared,
                       std::shared_ptr<IdleWorkspaces> idle, std::shared_ptr<LayoutTotals> totals)
    : code_(std::move(code)),
      resources_(options.resources),
      deterministic_(options.deterministic),
      checked_(options.checked),
      changing_(std::move(changing)),
      changing_patterns_(std::move(changing_patterns)),
      shared_(std::move(shared)),
      idle_(std::move(idle)),
      totals_(std::move(totals)) {}

std::shared_ptr<Workspaces> Workspaces::of(CompiledNetwork code, const EngineOptions& options, std::set<std::string> changing,
                                           std::set<std::string> changing_patterns, std::set<std::string> shared,
                                           std::shared_ptr<IdleWorkspaces> idle, std::shared_ptr<LayoutTotals> totals) {
  auto made = std::make_shared<Workspaces>(std::move(code), options, std::move(changing), std::move(changing_patterns),
                                           std::move(shared), std::move(idle), std::move(totals));
  Workspaces* const all = made.get();
  return {all, [kept = std::move(made)](Workspaces* closing) mutable {
            closing->close();
            kept.reset();  // lists may know the handle for longer
          }};
}

Workspaces::Bound* Workspaces::closed() noexcept {
  alignas(Bound) static constinit std::byte nothing[sizeof(Bound)] = {};
  return reinterpret_cast<Bound*>(nothing);
}

std::unique_ptr<Workspaces::Bound> Workspaces::Place::taken() noexcept {
  Bound* there = bound.load(std::memory_order_relaxed);
  if (there == nullptr || there == closed()) return nullptr;
  return std::unique_ptr<Bound>(bound.compare_exchange_strong(there, nullptr, std::memory_order_acq_rel) ? there : nullptr);
}

void Workspaces::close() noexcept {
  for (Place& each : places_) {
    Bound* const there = each.bound.exchange(closed(), std::memory_order_acq_rel);
    if (there != closed()) delete there;
  }
}

void Workspaces::give_back() noexcept {
  for (Place& each : places_) (void)each.taken();
}

std::uint64_t Workspaces::idle_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Place& each : places_) {
    const Bound* const there = each.bound.load(std::memory_order_relaxed);
    if (there != nullptr && there != closed()) bytes += each.bytes.load(std::memory_order_relaxed);
  }
  return bytes;
}

std::unique_ptr<Workspaces::Bound> Workspaces::taken(const RunOperands& operands) noexcept {
  const bool known = operands.known.load(std::memory_order_relaxed);
  for (const bool any : {false, true}) {
    if (!any && !known) continue;
    for (std::size_t others = 0; others < places; ++others) {
      Place& each = place(others);
      if (!any && each.stamp.load(std::memory_order_relaxed) != operands.stamp) continue;
      if (auto bound = each.taken()) return bound;
    }
  }
  return nullptr;
}

void Workspaces::put_back(std::unique_ptr<Bound> bound) noexcept {
  Workspaces& all = *bound->owner;
  bound->network.let_go();
  bound->renewed.clear();
  const std::uint64_t bytes = bound->network.bytes();
  all.idle_->resize(std::exchange(bound->counted_bytes, bytes), bytes);
  all.idle_->make_room_for(bytes);
  all.touch();
  for (std::size_t others = 0; others < places; ++others) {
    Place& each = all.place(others);
    if (each.bound.load(std::memory_order_relaxed) != nullptr) continue;
    each.stamp.store(bound->stamp, std::memory_order_relaxed);
    each.bytes.store(bytes, std::memory_order_relaxed);
    Bound* empty = nullptr;
    // From here on another thread may end it, and with it these.
    Bound* const waiting = bound.release();
    if (each.bound.compare_exchange_strong(empty, waiting, std::memory_order_acq_rel)) return;
    bound.reset(waiting);
  }
}

void Workspaces::count(Bound& bound) noexcept {
  const LayoutCounters now = bound.network.layouts();
  if (now.made != bound.told.made) totals_->made.fetch_add(now.made - bound.told.made, std::memory_order_relaxed);
  if (now.known != bound.told.known) totals_->known.fetch_add(now.known - bound.told.known, std::memory_order_relaxed);
  if (now.refilled != bound.told.refilled)
    totals_->refilled.fetch_add(now.refilled - bound.told.refilled, std::memory_order_relaxed);
  if (now.read_through != bound.told.read_through)
    totals_->read_through.fetch_add(now.read_through - bound.told.read_through, std::memory_order_relaxed);
  bound.told = now;
}

Expected<std::unique_ptr<Workspaces::Bound>> Workspaces::bound_to(const RunOperands& operands, const Cancellation& cancellation) {
  const bool changes = !changing_.empty() || !changing_patterns_.empty() || !operands.host.changing.empty();
  auto bound = operands.verified.load(std::memory_order_acquire) ? taken(operands) : nullptr;
  // Where something changes, the network has handles of tensors that ended when it was put back.
  if (!changes && bound && bound->stamp == operands.stamp && bound->network.whole() && bound->network.is_current(operands.tensors)) {
    bound->network.cancel_with(cancellation);
    return bound;
  }
  return bound_anew(std::move(bound), operands, cancellation);
}

Expected<std::unique_ptr<Workspaces::Bound>> Workspaces::bound_anew(std::unique_ptr<Bound> bound, const RunOperands& operands,
                                                                    const Cancellation& cancellation) {
  const Resources resources = resources_.with(cancellation);
  if (auto right = operands.verify(resources); !right) return std::unexpected(right.error());
  const bool changes = !changing_.empty() || !changing_patterns_.empty() || !operands.host.changing.empty();
  if (!bound) bound = taken(operands);
  const Tensors* tensors = &operands.tensors;
  const HostMemory* host = &operands.host;
  Tensors renewed;
  HostMemory with_changing;
  if (changes) {
    with_changing = operands.host;
    with_changing.changing.insert(changing_.begin(), changing_.end());
    with_changing.changing.insert(changing_patterns_.begin(), changing_patterns_.end());
    host = &with_changing;
    if (!changing_patterns_.empty()) {
      renewed = operands.tensors;
      for (auto& [name, tensor] : renewed) {
        if (!changing_patterns_.contains(name)) continue;
        tensor = Tensor(tensor.arrays(), Validity::unknown);
        if (auto right = verify_once(tensor, resources, name); !right) return std::unexpected(right.error());
      }
      tensors = &renewed;
    }
    for (const auto& [name, tensor] : *tensors) {
      if (with_changing.changing.contains(name)) tensor.values_changed();
    }
  }
  // Those operands have a new pattern in each run, whether their coordinates have changed or not.
  const auto refused = [&](Error error) {
    if (error.code != ErrorCode::pattern_changed || !changing_patterns_.contains(error.operand)) return std::unexpected(std::move(error));
    error.code = ErrorCode::option;
    error.option = "changing_patterns";
    error.message = fmt::format("a sparse result cannot be written into memory that was made for a pattern of {}, whose coordinates may "
                                "change before each run (changing_patterns): nothing compares them with those of before; take the results "
                                "that runs return, or leave {} out there and set it anew where its coordinates change",
                                error.operand, error.operand);
    return std::unexpected(std::move(error));
  };
  if (bound) {
    bound->network.cancel_with(cancellation);
    bound->owned.clear();
    bound->stamp = 0;
    auto taken = bound->network.rebind(*tensors, *host);
    if (!taken) return refused(std::move(taken.error()));
    if (!*taken) bound.reset();
  }
  if (!bound) {
    auto network = code_.bind(*tensors, resources, deterministic_, *host);
    if (!network) return refused(std::move(network.error()));
    bound = std::make_unique<Bound>(shared_from_this(), std::move(*network));
  }
  bound->stamp = operands.stamp;
  bound->renewed = std::move(renewed);
  operands.known.store(true, std::memory_order_relaxed);
  count(*bound);
  return bound;
}

Expected<std::uint64_t> Workspaces::scratch_bytes(const RunOperands& operands, const Cancellation* cancellation) {
  RunOperands without(operands);
  without.host.scratch = {};
  auto bound = bound_to(without, cancellation != nullptr ? *cancellation : resources_.cancellation);
  if (!bound) return std::unexpected(bound.error());
  const std::uint64_t bytes = (*bound)->network.scratch_bytes();
  put_back(std::move(*bound));
  // A run over memory that was not lent before binds anew, and may take another kernel for these operands than was bound already.
  const Resources resources = cancellation != nullptr ? resources_.with(*cancellation) : resources_;
  auto anew = code_.bind(without.tensors, resources, deterministic_, without.host);
  if (!anew) return std::unexpected(anew.error());
  return std::max(bytes, anew->scratch_bytes());
}

Expected<void> Workspaces::prepare(const RunOperands& operands, const Cancellation* cancellation) {
  const auto scratch = ScratchLease::of(operands.host.scratch);
  if (!scratch) return std::unexpected(scratch.error());
  auto bound = bound_to(operands, cancellation != nullptr ? *cancellation : resources_.cancellation);
  if (!bound) return std::unexpected(bound.error());
  put_back(std::move(*bound));
  return {};
}

Expected<Tensors> Workspaces::symbolic(const RunOperands& operands, const Cancellation* cancellation) {
  const auto scratch = ScratchLease::of(operands.host.scratch);
  if (!scratch) return std::unexpected(scratch.error());
  RunOperands alone(operands);
  alone.host.outputs.clear();  // memory that was made for patterns of before, perhaps
  auto bound = bound_to(alone, cancellation != nullptr ? *cancellation : resources_.cancellation);
  if (!bound) return std::unexpected(bound.error());
  BoundNetwork& network = (*bound)->network;
  const auto ran = network.run();
  auto results = ran ? network.results() : std::unexpected(ran.error());
  const RunOrigin origin{(*bound)->operands(alone), network.patterns(), {}, changing_patterns_};
  for (auto result = results ? results->begin() : Tensors::iterator(); results && result != results->end(); ++result) {
    auto& [name, tensor] = *result;
    if (tensor.format().layout && !tensor.format().all_dense() && network.is_over_levels(name)) {
      results = fail(ErrorKind::unsupported, ErrorCode::other, name,
                     fmt::format("memory over the pattern of {0}: it is handed over in the layout {1}, and memory for it has to be in a "
                                 "plain format; ask for one, or take the results that runs return",
                                 name, tensor.format().text()));
      break;
    }
    auto kept = network.kept(name, tensor);
    if (kept && network.patterns().contains(name)) kept = handed_out(name, *kept, origin, nullptr, resources_);
    if (!kept) {
      results = std::unexpected(kept.error());
      break;
    }
    tensor = std::move(*kept);
  }
  put_back(std::move(*bound));
  return results;
}

Expected<void> Workspaces::run_bound(Bound& bound) {
  constexpr double long_ns = 50'000;  // two looks at the clock for each nest are a thousandth of it
  const bool timed = code_.plan().cost.ns >= long_ns || bound.runs % 64 == 0;
  ++bound.runs;
  bound.network.time_nests(timed);
  if (!timed) return bound.network.run();
  const auto start = Clock::now();
  if (auto ran = bound.network.run(); !ran) return ran;
  const double ms = milliseconds_since(start);
  const std::vector<double>& nest_ms = bound.network.nest_ms();
  // Others that end at the same moment are not waited for.
  const std::unique_lock lock(measuring_, std::try_to_lock);
  if (!lock || nest_ms.size() != code_.nests().size()) return {};
  if (measured_.timed++ > 0 && measured_.ms <= ms) return {};
  measured_.ms = ms;
  measured_.nest_ms = nest_ms;
  return {};
}

MeasuredRun Workspaces::measured() const {
  const std::lock_guard lock(measuring_);
  return measured_;
}

Expected<Tensors> Workspaces::run(const RunOperands& operands, const Cancellation* cancellation) {
  const auto turns = Turns::of(operands, cancellation != nullptr ? *cancellation : resources_.cancellation);
  if (!turns) return std::unexpected(turns.error());
  const auto watched = WatchedRun::of(operands, checked_);
  if (!watched) return std::unexpected(watched.error());
  const auto scratch = ScratchLease::of(operands.host.scratch);
  if (!scratch) return std::unexpected(scratch.error());
  auto bound = bound_to(operands, cancellation != nullptr ? *cancellation : resources_.cancellation);
  if (!bound) return std::unexpected(bound.error());
  BoundNetwork& network = (*bound)->network;
  const auto ran = run_bound(**bound);
  auto results = ran ? network.results() : std::unexpected(ran.error());
  if (!results) {
    put_back(std::move(*bound));
    return results;
  }
  const RunOrigin origin{(*bound)->operands(operands), network.patterns(), shared_, changing_patterns_, &(*bound)->owned};
  const auto lease = std::make_shared<Lease>(std::move(*bound));
  for (auto& [name, tensor] : *results) {
    if (in_host_memory(operands, name, tensor)) continue;  // nothing of it is the workspace's
    auto handed = handed_out(name, tensor, origin, lease, resources_);
    if (!handed) return std::unexpected(std::move(handed.error()));
    tensor = std::move(*handed);
  }
  return results;
}

}  // namespace weft
