// The entries of a tensor: looked up, visited, chosen; tensors cut and put together along a mode.
//
// `resources` lends threads, memory account and cancellation. Borrowed arrays are verified first, once for all copies
// of a tensor. Tensors made here own their arrays and keep mode order, kinds and scalar type of what they were made
// from.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "weft/tensor.h"

namespace weft {

/// The element at coordinates: 0 where nothing is stored. All elements of dense levels are stored.
struct Element {
  double value = 0;
  bool stored = false;
  bool operator==(const Element&) const = default;
};

/// One coordinate per mode. Errors: input, of code order for another number of them, out_of_range beyond an extent, and
/// what verify() tells of borrowed arrays; resource. A binary search per sparse level, but slots, blocks that begin
/// anywhere and coordinates in no order are looked through; any thread.
Expected<Element> at(const Tensor& tensor, std::span<const std::uint64_t> coordinates);
inline Expected<Element> at(const Tensor& tensor, std::initializer_list<std::uint64_t> coordinates) {
  return at(tensor, std::span(coordinates.begin(), coordinates.size()));
}

/// Coordinates by mode and the value.
using VisitEntry = std::function<bool(std::span<const std::uint64_t> coordinates, double value)>;

/// Visits the stored entries in the order of the levels, on the calling thread, until `visit` returns false; zeros and
/// all elements of dense levels are among them. Errors: resource, cancelled, input for arrays that are not valid.
Expected<void> for_each_entry(const Tensor& tensor, const VisitEntry& visit, const Resources& resources);

/// Who may call a function of the host's.
enum class Calls : std::uint8_t {
  one_at_a_time,  ///< the calling thread, entry by entry in the order of the levels
  at_once,        ///< the threads of the resources, in any order
};

/// The entries for which `keep` returns true, of a tensor of the same extents. What is left out below a dense last
/// level is stored as 0; convert() to a sparse format leaves it out. Errors: as above; input where a singleton level
/// would have positions without an entry. `keep` is called once for each entry; all else is done on the threads of the
/// resources, like range(), append() and split() as a whole, and the same for any number of them.
Expected<Tensor> filter(const Tensor& tensor, const VisitEntry& keep, const Resources& resources);
Expected<Tensor> filter(const Tensor& tensor, const VisitEntry& keep, const Resources& resources, Calls calls);

/// The entries whose coordinate in `mode` is in [begin, end), counted from `begin`: that mode has the extent
/// end - begin. Input error of code out_of_range for a mode that it has not, or a range that is not within its extent.
Expected<Tensor> range(const Tensor& tensor, std::uint32_t mode, std::uint64_t begin, std::uint64_t end,
                       const Resources& resources);

/// The tensors one behind the other along `mode`, in the format of the first; f64 if one of them is. Input error for
/// none, other orders (code order), other extents in another mode (extents_disagree), or a sum of extents above
/// 2^63 - 1.
Expected<Tensor> append(std::span<const Tensor> tensors, std::uint32_t mode, const Resources& resources);

/// The ranges [0, places[0]), [places[0], places[1]), … up to the extent: one more than there are places, which ascend;
/// append() puts them together again. Errors as of range().
Expected<std::vector<Tensor>> split(const Tensor& tensor, std::uint32_t mode, const std::vector<std::uint64_t>& places,
                                    const Resources& resources);

}  // namespace weft
