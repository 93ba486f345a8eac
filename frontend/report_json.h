// The machine-readable report of interface.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/cache/disk_cache.h"
#include "runtime/block_fill.h"
#include "weft/session.h"

namespace weft {

/// One JSON object, ending in a newline. `read_ms` by operand. NaN and Inf are null.
std::string report_json(const Report& report, const std::map<std::string, double>& read_ms, bool ran);
std::string error_json(const Error& error);

/// Stored entries per coordinate; 0 where there is no coordinate.
double density(const Tensor& tensor);

/// What `weft info` tells of one tensor. `layouts`: of a matrix, those that take little memory; null where they are not asked for.
std::string info_json(const Tensor& tensor, const std::string& file, const Threads& threads,
                      const std::vector<BlockFill>* layouts = nullptr);

/// What `weft cache` tells.
std::string cache_json(const DiskCacheStatus& status);

}  // namespace weft
