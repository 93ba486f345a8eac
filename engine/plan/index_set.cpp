#include "engine/plan/index_set.h"

namespace weft {

IndexMembers::operator std::vector<IndexId>() const {
  std::vector<IndexId> result;
  result.reserve(size());
  for (const IndexId index : *this) result.push_back(index);
  return result;
}

}  // namespace weft
