#include "frontend/file_text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace weft {

Expected<std::string> file_text(const std::string& path) {
  errno = 0;  // the standard streams say that they failed, the system why
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // Nothing put into a stream is an error of that stream, not of an empty file.
  const bool empty = file.good() && file.peek() == std::ifstream::traits_type::eof() && !file.bad();
  if (!empty && (!file || !(text << file.rdbuf()))) {
    return fail(ErrorKind::input, ErrorCode::file, {},
                fmt::format("cannot read {}{}{}", path, errno != 0 ? ": " : "", errno != 0 ? std::strerror(errno) : ""));
  }
  std::string read = std::move(text).str();
  if (read.starts_with("\xEF\xBB\xBF")) read.erase(0, 3);
  return read;
}

}  // namespace weft
