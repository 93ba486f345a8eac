// What sketches do with eight words at once, where the processor has AVX-512.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

/// Whether this processor has the instructions of the functions below.
bool has_wide_hashes();
/// hashes[n] = mixed(words[n] + added), as in sketch.h.
void wide_mixed(const std::uint64_t* words, std::uint64_t added, std::size_t length, std::uint64_t* hashes);
/// How many words behind the last that it finds wide_mixed_sums may write to.
constexpr std::size_t wide_hashes = 8;
/// Of mixed(columns[0][n] + columns[1][n] + …) those whose bits below the first `skipped` make at most `most`; how many.
std::size_t wide_mixed_sums(const std::uint64_t* const* columns, std::size_t number, std::size_t length, unsigned skipped,
                            std::uint64_t most, std::uint64_t* hashes);

}  // namespace weft
