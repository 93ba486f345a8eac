#include <fmt/format.h>

#include <algorithm>

#include "engine/loop/flat_walk.h"
#include "engine/loop/rules.h"
#include "engine/loop/walk.h"

namespace weft::loop {
namespace {

bool appends(const Block& block) {
  return std::ranges::any_of(block, [](const Statement& statement) {
    if (std::ranges::find(steps_of(statement), Use::append, &Step::use) != steps_of(statement).end()) return true;
    return std::visit(
        [](const auto& nested) {
          if constexpr (requires { nested.body; }) return appends(nested.body);
          return false;
        },
        statement.node);
  });
}

}  // namespace

Expected<void> check_flat(const Program& program) {
  return walk(program, [&](const Statement& statement, const Path& path) -> Expected<void> {
    const For* loop = std::get_if<For>(&statement.node);
    if (loop == nullptr || !loop->marks.flat) return {};
    std::vector<std::uint32_t> bound;
    for (const std::vector<BoundLevel>& levels : path.bound) bound.push_back(static_cast<std::uint32_t>(levels.size()));
    const std::string what = fmt::format("flat: loop {} {}", program.indices[loop->index], where(program, path));
    if (const auto found = flat_walk(program, *loop, bound); !found)
      return input_error(fmt::format("{}: {}", what, found.error().message));
    if (appends(loop->body)) return input_error(fmt::format("{}: nothing appends in a flat walk", what));
    return {};
  });
}

}  // namespace weft::loop
