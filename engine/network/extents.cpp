#include "engine/network/extents.h"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace weft {

Expected<Network> with_extents(const Network& network, const std::map<TensorId, std::vector<std::uint64_t>>& operands) {
  Network changed = network;
  for (const auto& [tensor, extents] : operands) changed.tensors[tensor].extents = extents;
  std::set<IndexId> settled;  // by an earlier assignment
  for (Assignment& assignment : changed.assignments) {
    // Where an index of this assignment got its extent. Another assignment may use its name with another extent, and may
    // only now do so: then it gets an index of its own.
    std::map<IndexId, std::pair<TensorId, std::size_t>> from;
    std::map<IndexId, IndexId> renamed;
    for (Term& term : assignment.terms) {
      for (TensorAccess& factor : term.factors) {
        const TensorDeclaration& declared = changed.tensors[factor.tensor];
        for (std::size_t mode = 0; mode < factor.indices.size(); ++mode) {
          const std::uint64_t extent = declared.extents[mode];
          const auto [first, is_new] = from.try_emplace(factor.indices[mode], factor.tensor, mode);
          const auto [id, is_own] = renamed.try_emplace(factor.indices[mode], factor.indices[mode]);
          if (is_own && settled.contains(id->second) && changed.indices[id->second].extent != extent) {
            id->second = static_cast<IndexId>(changed.indices.size());
            changed.indices.push_back({changed.indices[id->first].name, extent});
          }
          if (is_new) changed.indices[id->second].extent = extent;
          const Index& index = changed.indices[id->second];
          if (index.extent != extent) {
            return fail(ErrorKind::input, ErrorCode::extents_disagree, declared.name,
                        fmt::format("index {} is {} in {} (mode {}) but {} in {} (mode {})", index.name, index.extent,
                                    changed.tensors[first->second.first].name, first->second.second, extent, declared.name, mode),
                        index.name);
          }
          factor.indices[mode] = id->second;
        }
      }
    }
    TensorDeclaration& result = changed.tensors[assignment.result.tensor];
    for (std::size_t mode = 0; mode < assignment.result.indices.size(); ++mode) {
      IndexId& index = assignment.result.indices[mode];
      index = renamed.at(index);
      result.extents[mode] = changed.indices[index].extent;
    }
    for (const auto& [old, now] : renamed) settled.insert(now);
  }
  return changed;
}

}  // namespace weft
