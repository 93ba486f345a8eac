// Where the constants of the cost model are kept, and reading them.
#pragma once

#include <optional>
#include <string>

#include "weft/error.h"

namespace weft {

/// The file that weft calibrate writes and every plan reads: WEFT_CALIBRATION, else $XDG_CONFIG_HOME/weft/calibration,
/// else ~/.config/weft/calibration; none without any of them. A relative XDG_CONFIG_HOME is ignored, as the XDG base
/// directory specification asks.
std::optional<std::string> calibration_path();

struct CalibrationText {
  std::string text;  ///< empty: the constants that weft ships with
  std::string name;  ///< the file
};

/// The text of that file, or of `file`; empty where there is no file. Input error where it exists and cannot be read, or is named, by
/// WEFT_CALIBRATION too, and missing.
Expected<CalibrationText> calibration_text(const std::optional<std::string>& file = std::nullopt);

}  // namespace weft
