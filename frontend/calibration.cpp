#include "frontend/calibration.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <sys/stat.h>

namespace weft {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> calibration_path() {
  if (auto given = variable("WEFT_CALIBRATION")) return given;
  if (auto xdg = variable("XDG_CONFIG_HOME"); xdg && xdg->front() == '/') return *xdg + "/weft/calibration";
  if (auto home = variable("HOME")) return *home + "/.config/weft/calibration";
  return std::nullopt;
}

Expected<CalibrationText> calibration_text() {
  const auto path = calibration_path();
  if (!path) return CalibrationText{};
  const auto unreadable = [&](int reason) {
    return input_error(fmt::format("{}: the calibration cannot be read: {}; weft calibrate writes a new one", *path,
                                   std::strerror(reason)));
  };
  struct stat status {};
  if (stat(path->c_str(), &status) != 0) {
    // Without a calibration the constants that ship are used; a file that is named must be there.
    if ((errno == ENOENT || errno == ENOTDIR) && !variable("WEFT_CALIBRATION")) return CalibrationText{};
    return unreadable(errno);
  }
  if (S_ISDIR(status.st_mode)) return unreadable(EISDIR);
  std::ifstream file(*path, std::ios::binary);
  if (!file) return unreadable(errno);
  CalibrationText calibration{{}, *path};
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return unreadable(EIO);
  // An empty file lacks every constant and must not pass for an absent one.
  calibration.text = text.str() + "\n";
  return calibration;
}

}  // namespace weft
