// Sorting the coordinates that a row of a result has touched: short lists of small integers, one after the other, by the
// million. A comparison sort costs 10 to 30 ns a key there, more than everything else that a sparse product does.
#pragma once

#include <cstdint>

namespace weft {

/// Orders `count` keys below `extent`, distinct ones if there are marks. `scratch` has room for `count` keys and holds nothing afterwards.
///
/// Up to 256 keys of 32 bits are ordered in vector registers (runtime/sorting_network.h), some 1 ns a key where the processor has
/// AVX-512, 3 where it has AVX2; longer lists by their digits, least significant first, 2 to 3 ns a key; short ones elsewhere by
/// comparison.
///
/// `marks`, if not null, has a byte per coordinate below `extent`, not zero for those and only those that are keys. A list
/// that fills the extent well is then not sorted but written anew by reading the marks. Deterministic, allocates nothing.
void sort_keys(std::uint32_t* keys, std::uint32_t* scratch, std::uint64_t count, std::uint64_t extent,
               const std::uint8_t* marks);
void sort_keys(std::uint64_t* keys, std::uint64_t* scratch, std::uint64_t count, std::uint64_t extent,
               const std::uint8_t* marks);

/// Writes the coordinates below `extent` whose mark is not zero, in order; how many.
std::uint64_t list_marked(const std::uint8_t* marks, std::uint64_t extent, std::uint32_t* keys);

/// Orders the keys in vector registers. False, and nothing is done, where there are too many for those that this processor has.
bool sort_in_vectors(std::uint32_t* keys, std::uint64_t count);
bool sort_in_vectors(std::uint64_t* keys, std::uint64_t count);

/// Whether this processor has the instructions of the functions behind it: AVX2 and its bits.
bool has_avx2_sort();
/// The longest list that avx2_sort takes.
constexpr std::uint64_t longest_avx2_sort = 256;
constexpr std::uint64_t longest_long_avx2_sort = 64;  ///< of 64 bits
void avx2_sort(std::uint32_t* keys, std::uint64_t count);
void avx2_sort(std::uint64_t* keys, std::uint64_t count);
/// As list_marked.
std::uint64_t avx2_marked(const std::uint8_t* marks, std::uint64_t extent, std::uint32_t* keys);

/// The same with AVX-512.
bool has_wide_sort();
/// Whether it has AVX-512 VBMI2 too, which compresses bytes.
bool has_byte_compress();
/// The longest list that wide_sort takes.
constexpr std::uint64_t longest_wide_sort = 256;
void wide_sort(std::uint32_t* keys, std::uint64_t count);
void wide_sort(std::uint64_t* keys, std::uint64_t count);
/// As list_marked, 16 columns at a time.
std::uint64_t wide_marked_by_words(const std::uint8_t* marks, std::uint64_t extent, std::uint32_t* keys);
/// The same, 64 at a time, where has_byte_compress() says so.
std::uint64_t wide_marked_by_bytes(const std::uint8_t* marks, std::uint64_t extent, std::uint32_t* keys);

}  // namespace weft
