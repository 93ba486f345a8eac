// The header of NumPy's .npy files (numpy.lib.format, versions 1.0 to 3.0).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/error.h"

namespace weft {

/// What the elements of the file are.
struct NpyHeader {
  char kind = 'f';     ///< f real, i signed, u unsigned, b bool; S bytes and U text (UCS-4) where allowed
  unsigned bytes = 8;  ///< of one element
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

/// Whether elements may be texts, such as the one that says a sparse matrix's format.
enum class NpyText { refused, allowed };

/// Parses the Python dictionary of the header. Errors have the bare reason; `unsupported` for complex data, records,
/// objects and refused text.
Expected<NpyHeader> parse_npy_header(std::string_view dictionary, NpyText text = NpyText::refused);

/// The bytes before the data: magic, version 1.0, the dictionary padded to 64 bytes.
std::string npy_preamble(const NpyHeader& header);

}  // namespace weft
