// Loops over fibers that a fact bounds to a few entries.
#include "engine/codegen/generate.h"
#include "engine/loop/short_fiber.h"

namespace weft {

/// Straight code where the body is small, and at most one entry is no loop either. What is not known to be there is asked
/// for one after the other, which the processor predicts; nothing looks at the cancellation flag.
bool Generator::walk_short_fiber(const loop::For& each, const Driver& driver, std::span<const loop::Step> rest,
                                 std::span<const Finger> fingers, const Scope& scope) {
  const StorageCode& storage = storage_of(driver.access);
  const LevelCode& level = storage.levels[scope.cursors[driver.access].bound];
  if (level.longest == 0 || !loop::is_short_loop(program_, each) || scope.cursors[driver.access].end != nullptr) return false;
  if (level.longest > 1 && has_running_loop(each.body)) return false;
  const auto step = [&](std::uint64_t n) {
    step_one_driver(each, driver, emit_->add(driver.range.begin, emit_->constant(n)), rest, fingers, scope);
  };
  if (level.constant) {
    for (std::uint64_t n = 0; n < level.longest; ++n) step(n);
    return true;
  }
  const std::function<void(std::uint64_t)> from = [&](std::uint64_t n) {
    if (n == level.longest) return;
    llvm::Value* position = emit_->add(driver.range.begin, emit_->constant(n));
    emit_->if_then(emit_->ir().CreateICmpULT(position, driver.range.end), [&] {
      step(n);
      from(n + 1);
    });
  };
  from(0);
  return true;
}

}  // namespace weft
