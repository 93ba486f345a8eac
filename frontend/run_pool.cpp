#include "frontend/run_pool.h"

#include <utility>

#include "runtime/tensor_facts.h"

namespace weft {

/// Keeps what the tensors of a result point into, and gives it back with the last of them.
class RunPool::Lease {
 public:
  Lease(std::shared_ptr<RunPool> pool, std::unique_ptr<Bound> bound)
      : pool_(std::move(pool)), bound_(std::move(bound)) {}
  ~Lease() { pool_->give_back(std::move(bound_)); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  std::shared_ptr<RunPool> pool_;
  std::unique_ptr<Bound> bound_;
};

RunPool::RunPool(CompiledNetwork code, Tensors operands, HostMemory host, const EngineOptions& options,
                 std::optional<Memory> idle)
    : code_(std::move(code)),
      operands_(std::move(operands)),
      host_(std::move(host)),
      resources_(options.resources),
      deterministic_(options.deterministic),
      most_idle_(std::move(idle)) {}

RunPool::~RunPool() {
  for (std::atomic<Bound*>& place : idle_) delete place.load();
}

Expected<std::unique_ptr<RunPool::Bound>> RunPool::take(const Cancellation& cancellation) {
  for (std::atomic<Bound*>& place : idle_) {
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    std::unique_ptr<Bound> bound(place.exchange(nullptr, std::memory_order_acq_rel));
    if (bound == nullptr) continue;
    bound->kept = {};
    return bound;
  }
  auto network = code_.bind(operands_, resources_.with(cancellation), deterministic_, host_);
  if (!network) return std::unexpected(network.error());
  return std::make_unique<Bound>(Bound{std::move(*network)});
}

void RunPool::give_back(std::unique_ptr<Bound> bound) {
  if (most_idle_) {
    auto kept = most_idle_->charge(bound->network.bytes(), "idle");
    if (!kept) return;
    bound->kept = std::move(*kept);
  }
  for (std::atomic<Bound*>& place : idle_) {
    Bound* empty = nullptr;
    if (place.load(std::memory_order_relaxed) != nullptr) continue;
    if (place.compare_exchange_strong(empty, bound.get(), std::memory_order_acq_rel)) {
      (void)bound.release();
      return;
    }
  }
}

Expected<Tensors> RunPool::run(const Cancellation* cancellation) {
  std::unique_lock<std::mutex> turn(turn_, std::defer_lock);
  if (!host_.outputs.empty()) turn.lock();
  const Cancellation& token = cancellation != nullptr ? *cancellation : resources_.cancellation;
  auto bound = take(token);
  if (!bound) return std::unexpected(bound.error());
  BoundNetwork& network = (*bound)->network;
  network.cancel_with(token);
  const auto ran = network.run();
  auto results = ran ? network.results() : std::unexpected(ran.error());
  if (!results) {
    give_back(std::move(*bound));
    return results;
  }
  const auto lease = std::make_shared<Lease>(shared_from_this(), std::move(*bound));
  for (auto& [name, tensor] : *results) {
    tensor = TensorParts::owned_by(tensor, lease);
  }
  return results;
}

}  // namespace weft
