#include "frontend/file_text.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace weft {

Expected<std::string> file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return input_error(fmt::format("{}: cannot be read", path));
  return text.str();
}

}  // namespace weft
