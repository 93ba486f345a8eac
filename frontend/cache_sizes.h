// What the caches of this machine hold, as the system tells.
#pragma once

#include <array>
#include <string>

namespace weft {

/// Bytes of the first, second and third data cache that the CPU which the description is of reaches; 0 where it has none or
/// nothing is known. `directory` is laid out as Linux does below /sys/devices/system/cpu: folders index0, index1, ... with the
/// files level, type and size ("512K").
std::array<double, 3> cache_sizes(const std::string& directory = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace weft
