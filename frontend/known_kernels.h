// KnownKernels: kernels by what was asked for, found without parsing, planning or counting.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cache/memory_cache.h"
#include "runtime/kept.h"
#include "runtime/near_copies.h"
#include "runtime/spread.h"
#include "weft/engine.h"

namespace weft {

/// What a compilation asks for, in parts whose bytes decide: two with the same have the same kernel.
class KernelRequest {
 public:
  KernelRequest(std::string_view text, const Tensors& operands, const CompileOptions& options, const Resources& resources);
  const std::string& key() const { return key_; }
  /// The text, then the options, then the operands by name.
  struct Part {
    std::string name;
    std::string bytes;
  };
  std::vector<Part> parts() const;

 private:
  std::string key_;
  std::vector<std::size_t> ends_;  // of the parts in the key
  std::vector<std::string_view> names_;
};

/// Why a kernel was not known.
enum class Missed : std::uint8_t { text, options, operands, format, extents, pattern, values };
constexpr std::size_t ways_to_miss = 7;

/// Bounded, and forgotten when memory runs short. Thread safe.
class KnownKernels : public Kept {
 public:
  explicit KnownKernels(std::size_t most) : known_(MemoryCacheLimits{.entries = most}), most_(most) {}

  /// A kernel as those who ask again get it, or what `make` makes, which is told to `first` alone; `missed` is told in which part
  /// the request differs from the last one of this text. `make` returns the kernel for others. `apart`: the same kernel as a
  /// handle of its own, so that threads do not count its references where others do.
  template <class Make, class Apart, class Stopped>
  Expected<Kernel> get(const KernelRequest& request, Make&& make, Apart&& apart, Stopped&& stopped) {
    const std::uint64_t version = known_.removals();
    if (std::optional<Kernel> near = near_.find(request.key(), version, [&] { known_.use(request.key()); })) return std::move(*near);
    auto found = known_.get(request.key(), std::forward<Make>(make), std::forward<Stopped>(stopped));
    if (known_.removals() != version) near_.clear();  // what was forgotten is kept nowhere
    if (found) near_.keep(request.key(), version, [&] { return known_.removals(); }, [&] { return apart(*found); });
    return found;
  }
  void give_back() noexcept override;
  /// How a request that is not there differs from the last one with its text; counted, and remembered for the next.
  std::string missed(const KernelRequest& request);
  std::uint64_t missed(Missed why) const { return counts_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed); }
  void hit() {
    hits_.add();
    touch();
  }
  std::uint64_t hits() const { return hits_.total(); }

 private:
  MemoryCache<Kernel> known_;
  std::size_t most_;
  NearCopies<Kernel> near_;
  SpreadCount hits_;
  std::array<std::atomic<std::uint64_t>, ways_to_miss> counts_{};
  std::mutex mutex_;
  std::map<std::string, std::vector<KernelRequest::Part>, std::less<>> last_;  // by text
};

}  // namespace weft
