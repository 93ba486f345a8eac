#include "frontend/calibration.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

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

Expected<CalibrationText> calibration_text(const std::optional<std::string>& given) {
  const auto path = given ? given : calibration_path();
  if (!path) return CalibrationText{};
  const auto unreadable = [&](int reason) {
    return input_error(fmt::format("{}: the calibration cannot be read: {}; weft calibrate writes a new one", *path,
                                   std::strerror(reason)));
  };
  struct stat status {};
  if (stat(path->c_str(), &status) != 0) {
    // Without a calibration the constants that ship are used; a file that is named must be there.
    if ((errno == ENOENT || errno == ENOTDIR) && !given && !variable("WEFT_CALIBRATION")) return CalibrationText{};
    return unreadable(errno);
  }
  if (S_ISDIR(status.st_mode)) return unreadable(EISDIR);
  std::ifstream file(*path, std::ios::binary);
  if (!file) return unreadable(errno);
  CalibrationText calibration{{}, *path};
  constexpr std::size_t most = 1 << 16;  // bytes: more is no calibration, and may have no end
  calibration.text.resize(most);
  file.read(calibration.text.data(), most);
  if (file.bad()) return unreadable(EIO);
  if (static_cast<std::size_t>(file.gcount()) == most) return unreadable(EFBIG);
  calibration.text.resize(static_cast<std::size_t>(file.gcount()));
  if (calibration.text.starts_with("\xEF\xBB\xBF")) calibration.text.erase(0, 3);
  // An empty file lacks every constant and must not pass for an absent one.
  calibration.text += "\n";
  return calibration;
}

}  // namespace weft
