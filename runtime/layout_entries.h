// Tensors with a layout to and from coordinates of modes.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "weft/tensor.h"

namespace weft {

class Placement;

/// build() in a format with a layout: coordinates of modes become those of levels, and these are stored where their places are
/// computed (computed_places.h), else sorted and assembled as ever. `distinct`: no coordinates come twice. Three things look at
/// sorted entries before: starts are chosen (the first entry that no block holds opens one, moved back where the extent ends,
/// runs without a gap where lengths are stored), entries of a slot are numbered and filled up with zeros at the least unused
/// coordinates, entries of unordered levels are ranked by their first place in the input. An exact +0 without a place is left
/// out. Input errors: other data without a place, naming it; slots for which there are too few coordinates.
Expected<Tensor> build_with_layout(Coordinates coordinates, bool distinct, const Format& format, const Resources& resources,
                                   std::string_view name);

/// What becomes of zeros in a list of entries.
enum class Zeros : std::uint8_t {
  kept,
  without_sign_left_out,  ///< those that building adds are +0
  left_out,
};
template <class T>
bool is_left_out(T value, Zeros zeros) {
  if (zeros == Zeros::kept || value != T{0}) return false;
  return zeros == Zeros::left_out || !std::signbit(value);
}

/// What is stored, by levels and by modes, in the order of the levels. The tensor is verified, as far as its levels go.
struct StoredPlaces {
  Coordinates levels;
  Coordinates modes;  ///< without a meaning where `keep` is 0
  Buffer keep;        ///< a byte for each: whether its levels are coordinates of modes
};
Expected<StoredPlaces> stored_places(const Tensor& tensor, const Placement& placement, Zeros zeros, const Resources& resources);

/// The stored entries that are coordinates of modes, in the order of the levels.
Expected<Coordinates> entries_with_layout(const Tensor& tensor, Zeros zeros, const Resources& resources);

}  // namespace weft
