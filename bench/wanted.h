// Which of the things that are measured a command line asks for.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace weft::bench {

/// Whether one of the texts occurs in the name; without any, everything is wanted.
inline bool wanted(const std::string& name, const std::vector<std::string>& filters) {
  return filters.empty() || std::ranges::any_of(filters, [&](const std::string& filter) {
           return name.find(filter) != std::string::npos;
         });
}

}  // namespace weft::bench
