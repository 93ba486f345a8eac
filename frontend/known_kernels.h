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
  /// the request differs from the last one of this text. `make` returns the kernel for others.
  template <class Make>
  Expected<Kernel> get(const KernelRequest& request, Make&& make) {
    return known_.get(request.key(), std::forward<Make>(make));
  }
  void give_back() noexcept override;
  /// How a request that is not there differs from the last one with its text; counted, and remembered for the next.
  std::string missed(const KernelRequest& request);
  std::uint64_t missed(Missed why) const { return counts_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed); }
  void hit() {
    hits_.fetch_add(1, std::memory_order_relaxed);
    touch();
  }
  std::uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }

 private:
  MemoryCache<Kernel> known_;
  std::size_t most_;
  std::atomic<std::uint64_t> hits_{0};
  std::array<std::atomic<std::uint64_t>, ways_to_miss> counts_{};
  std::mutex mutex_;
  std::map<std::string, std::vector<KernelRequest::Part>, std::less<>> last_;  // by text
};

}  // namespace weft
