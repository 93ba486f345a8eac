// What a session holds: its tensors, and the texts it has evaluated over them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/unset_names.h"
#include "runtime/near_copies.h"
#include "runtime/spread.h"
#include "weft/session.h"

namespace weft {

/// The kernel of a text. Without bindings it is for tensors that were replaced since.
struct alignas(spread_bytes) KnownText {
  Kernel kernel;
  std::vector<std::string> operands;
  std::optional<Bindings> bindings = {};
  bool best = true;  ///< false: was compiled for other tensors
  mutable std::atomic<std::uint64_t> last_used{0};

  KnownText(Kernel compiled, std::vector<std::string> names) : kernel(std::move(compiled)), operands(std::move(names)) {}
};

/// The tensors of those names that there are.
Tensors chosen(const Tensors& tensors, const std::vector<std::string>& names);

struct alignas(spread_bytes) Session::State : std::enable_shared_from_this<Session::State> {
  explicit State(Engine made);

  /// The tensors and when they were so: what is learnt of them is only kept while none of them has been replaced.
  struct Table {
    std::shared_ptr<const Tensors> tensors;
    std::uint64_t time = 0;
  };
  Table table() const;
  /// Puts a tensor in the place of another, or drops it. What needs memory is made before anything changes.
  void replace(const std::string& name, std::optional<Tensor> tensor);
  /// The same; memory that runs out is kept as a failure, until the name is set again or dropped.
  void set(const std::string& name, std::optional<Tensor> tensor);
  std::optional<Error> failure() const;

  std::shared_ptr<const KnownText> find(std::string_view text) const;
  /// The same, over tables of its own.
  static std::shared_ptr<const KnownText> apart(const KnownText& known);
  /// Evaluates a text whose bindings are not known, and keeps them. `known`: a kernel for earlier tensors, or null.
  Expected<Tensors> evaluate(std::string_view text, Answer answer, const std::shared_ptr<const KnownText>& known,
                             const Cancellation* cancellation);

  const Engine engine;

 private:
  static constexpr std::size_t most_texts = 1024;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  Bindings bound(const Tensors& operands) const;
  void keep(std::string_view text, std::shared_ptr<KnownText> known, const Table& table);
  void forget_oldest(std::vector<std::shared_ptr<KnownText>>& forgotten);
  void improve(const std::string& text, const std::vector<std::string>& operands, const Table& table);

  mutable std::shared_mutex mutex_;
  Table table_;
  UnsetNames unset_;
  std::unordered_map<std::string, std::uint64_t> replaced_;  // when, by name
  std::unordered_map<std::string, std::shared_ptr<KnownText>, Hash, std::equal_to<>> texts_;
  mutable std::atomic<std::uint64_t> uses_{0};
  std::atomic<bool> failed_{false};  ///< whether a name is unset
  // Not written to where texts are found: the version counts what replaces tensors and kernels.
  alignas(spread_bytes) std::atomic<std::uint64_t> version_{0};
  mutable NearCopies<std::shared_ptr<const KnownText>> near_;
};

}  // namespace weft
