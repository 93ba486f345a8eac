// Memory for workspaces: the account's, or what the host lends.
#include <fmt/format.h>

#include "engine/compiled_state.h"
#include "engine/plan/schedule/widths.h"
#include "runtime/extents.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

constexpr std::uint64_t alignment = 64;

/// The bytes of a buffer and what aligns the next one.
std::uint64_t aligned(std::uint64_t bytes) { return saturating_sum(bytes, alignment - 1) / alignment * alignment; }

}  // namespace

Expected<Buffer> BoundNetwork::State::workspace(std::uint64_t bytes, std::string_view what) {
  if (lent.empty() || !binding) return Buffer::allocate(bytes, resources.memory, what);
  const auto address = reinterpret_cast<std::uintptr_t>(lent.data());
  const std::uint64_t unaligned = aligned(address) - address;
  if (lent_wanted == 0) lent_wanted = unaligned;
  const std::uint64_t begin = lent_wanted;
  lent_wanted = saturating_sum(lent_wanted, aligned(bytes));
  if (begin > lent.size() || bytes > lent.size() - begin) return Buffer();
  return Buffer::borrow(lent.data() + begin, bytes);
}

Expected<void> BoundNetwork::State::lent_suffices() const {
  if (lent.empty() || lent_wanted <= lent.size()) return {};
  return std::unexpected(Error{.kind = ErrorKind::resource,
                               .message = fmt::format("the scratch memory has {} bytes, {} are wanted (Kernel::scratch_bytes)", lent.size(),
                                                      lent_wanted),
                               .code = ErrorCode::memory_limit});
}

Expected<Tensor> BoundNetwork::State::made_or_lent(std::uint32_t number) {
  const ScheduledTensor& scheduled = kernel->plan.schedule.tensors[number];
  const bool lends = !lent.empty() && scheduled.role == TensorRole::intermediate && scheduled.format.all_dense() && !scheduled.like;
  if (!lends) return fresh(scheduled, kernel->network, tensors, resources);
  TensorArrays tensor;
  tensor.format = scheduled.format;
  tensor.extents = extents_of(scheduled, kernel->network);
  tensor.levels.resize(tensor.extents.size());
  std::uint64_t bytes = scalar_bytes(scheduled.format.scalar);
  for (const std::uint64_t extent : tensor.extents) bytes = saturating_product(bytes, extent);
  auto values = workspace(bytes, scheduled.name);
  if (!values) return std::unexpected(values.error());
  tensor.values = std::move(*values);
  return made(std::move(tensor));
}

std::uint64_t BoundNetwork::scratch_bytes() const {
  std::uint64_t bytes = alignment;
  for (const Buffer& buffer : state_->scratch) bytes += aligned(buffer.size_bytes());
  for (const BoundNest& nest : state_->nests) {
    for (const PrivateCopies& copies : nest.copies) {
      for (const Buffer& copy : copies.buffers) bytes += nest.late ? 0 : aligned(copy.size_bytes());
    }
    for (const std::optional<BoundPart>& part : nest.parts) {
      for (const CarriedRow& row : part && !nest.late ? part->rows : std::vector<CarriedRow>()) bytes += aligned(row.sums.size_bytes());
    }
  }
  const std::vector<ScheduledTensor>& scheduled = state_->kernel->plan.schedule.tensors;
  for (std::uint32_t number = 0; number < scheduled.size(); ++number) {
    const bool lends =
        scheduled[number].role == TensorRole::intermediate && scheduled[number].format.all_dense() && !scheduled[number].like;
    if (lends) bytes += aligned(state_->tensors[number].values().size_bytes());
  }
  return bytes;
}

}  // namespace weft
