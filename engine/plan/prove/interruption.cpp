#include "engine/plan/prove/interruption.h"

#include <chrono>
#include <utility>

namespace weft {
namespace {

constexpr std::chrono::milliseconds period{5};

}  // namespace

Interruption::Interruption(const std::vector<Cancellation>& tokens, std::function<void()> interrupt)
    : tokens_(tokens), interrupt_(std::move(interrupt)) {
  thread_ = Thread([this] { watch(); });
}

Interruption::~Interruption() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Interruption::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, period, [&] { return ended_; })) {
    if (asking_ && any_cancelled(tokens_)) interrupt_();
  }
}

}  // namespace weft
