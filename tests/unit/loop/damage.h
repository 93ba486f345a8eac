// Random damage to program texts, token by token, so that much of it still parses.
#pragma once

#include <random>
#include <string>

#include "engine/loop/program.h"

namespace weft::test {

/// A text with one to three tokens or lines removed, swapped, copied or moved to another indentation.
std::string damaged(const std::string& text, std::mt19937_64& random);

}  // namespace weft::test
