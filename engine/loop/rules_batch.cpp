#include <fmt/format.h>

#include "engine/loop/batch.h"
#include "engine/loop/rules.h"
#include "engine/loop/walk.h"

namespace weft::loop {

Expected<void> check_batch(const Program& program) {
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    const For* loop = std::get_if<For>(&statement.node);
    if (loop == nullptr || loop->marks.batch == 0) return {};
    std::vector<std::uint32_t> bound;
    for (const std::vector<BoundLevel>& levels : path.bound) bound.push_back(static_cast<std::uint32_t>(levels.size()));
    if (const auto found = batched_product(program, *loop, bound); !found)
      return input_error(fmt::format("batch: loop {} {}: {}", program.indices[loop->index], where(program, path), found.error().message));
    return {};
  });
}

}  // namespace weft::loop
