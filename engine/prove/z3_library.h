// libz3, looked for when it is first needed, so that what needs none neither loads nor requires it.
#pragma once

#include <string>

namespace weft {

/// Why there is no libz3; empty where there is. Thread safe.
const std::string& z3_missing();

/// "4.8.12.0"; empty where there is none.
std::string z3_version();

/// The function of libz3 with this name; null where it has none, or there is none.
void* z3_function(const char* name);

}  // namespace weft
