// Parts of a Program as text, for messages.
#pragma once

#include <string>

#include "engine/loop/program.h"

namespace weft::loop {

std::string print(const Program& program, const Accumulate& accumulate);  ///< "A += c0 * T * B"
std::string print(const Program& program, const Step& step);              ///< "drive T(merge)"
std::string print(const Program& program, const Access& access);          ///< "T[i,j,k]"

}  // namespace weft::loop
