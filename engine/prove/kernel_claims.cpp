#include "engine/prove/kernel_claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/level_traits.h"

namespace weft {
namespace {

using namespace logic;
using loop::Algorithm;
using loop::Program;
using loop::Step;
using loop::Use;

/// The indices of the loops from one depth to before another: "i j", "none".
std::string loops_text(const Program& program, const loop::Path& path, std::size_t first, std::size_t last) {
  std::vector<std::string> names;
  for (std::size_t depth = first; depth < last; ++depth)
    if (const loop::For* each = path.loop(depth)) names.push_back(program.indices[each->index]);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, " "));
}

/// A level of an access bound by a step of the last statement on a path.
struct BoundHere {
  const Step* step = nullptr;
  std::size_t level = 0;
};

std::vector<BoundHere> bound_here(const loop::Path& inside) {
  std::vector<BoundHere> found;
  const std::size_t depth = inside.enclosing.size() - 1;
  std::vector<std::size_t> next(inside.bound.size());
  for (std::size_t access = 0; access < next.size(); ++access)
    next[access] = static_cast<std::size_t>(std::ranges::count_if(inside.bound[access], [&](const auto& each) { return each.depth < depth; }));
  for (const Step& step : loop::steps_of(*inside.enclosing.back())) found.push_back({&step, next[step.access]++});
  return found;
}

class KernelClaims {
 public:
  KernelClaims(const Program& program, const AssumedOfArrays& assumed) : program_(program), assumed_(assumed) {}

  std::vector<Claim> all() {
    const Expected<void> walked = loop::walk(program_, [&](const loop::Statement& statement, const loop::Path& path) -> Expected<void> {
      if (!std::holds_alternative<loop::For>(statement.node) && !std::holds_alternative<loop::Bind>(statement.node)) return {};
      const loop::Path inside = entered(statement, path);
      for (const BoundHere& here : bound_here(inside)) claim_lookup(inside, here);
      return {};
    });
    static_cast<void>(walked);  // this visitor has no error
    return std::move(claims_);
  }

 private:
  const Level& level_of(const Step& step, std::size_t level) const {
    return program_.storages[program_.accesses[step.access].storage].levels[level];
  }

  void add(Claim claim) {
    if (asked_.emplace(claim.kind, claim.says, claim.query).second) claims_.push_back(std::move(claim));
  }

  void claim_lookup(const loop::Path& inside, const BoundHere& here) {
    if (here.step->algorithm == Algorithm::gallop) claim_cursor(inside, here);
  }

  /// The finger of a loop starts anew with every run of it: what is around it is the state.
  void claim_cursor(const loop::Path& inside, const BoundHere& here) {
    const std::size_t home = inside.enclosing.size() - 1;
    if (inside.loop(home) == nullptr) return;  // the verifier refuses a finger without a loop
    const loop::Access& access = program_.accesses[here.step->access];
    const loop::IndexId index = access.indices[here.level];
    Query query;
    Iteration a(query, program_, inside, home, "_1", assumed_);
    Iteration b(query, program_, inside, home, "_2", assumed_);
    query.require(comes_before(a.times(home, home), b.times(home, home)));
    query.require(any_of({negated(equal(a.parent(here.step->access, here.level), b.parent(here.step->access, here.level))),
                          less(b.coordinate(index), a.coordinate(index))}));
    std::vector<std::vector<ClaimValue>> examples = {a.told(), b.told()};
    relate(query, program_, a, b, assumed_);
    add({"cursor",
         fmt::format("{} at {} never moves back, loops {}, state {}", access.name, program_.indices[index],
                     loops_text(program_, inside, 0, home + 1), loops_text(program_, inside, 0, home)),
         query.text(), std::move(examples), true, fmt::format("cursor {}", program_.indices[inside.loop(home)->index])});
  }

  const Program& program_;
  const AssumedOfArrays& assumed_;
  std::vector<Claim> claims_;
  std::set<std::tuple<std::string, std::string, std::string>> asked_;
};

}  // namespace

std::vector<Claim> kernel_claims(const Program& program, const AssumedOfArrays& assumed) { return KernelClaims(program, assumed).all(); }

}  // namespace weft
