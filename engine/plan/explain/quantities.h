// Figures for people: three or four significant digits and a unit.
#pragma once

#include <string>

namespace weft {

std::string bytes_text(double bytes);  ///< "12.3 MB": decimal units
std::string time_text(double ns);      ///< "1.34 ms"
std::string count_text(double count);  ///< "2.608M"; up to 9999 as it is

}  // namespace weft
