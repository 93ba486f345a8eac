// Integers of 128 bits, which products and squares of 64-bit numbers fit into. Pedantic compilers want to be told.
#pragma once

namespace weft {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

}  // namespace weft
