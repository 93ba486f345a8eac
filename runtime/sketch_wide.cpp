// Compiled for AVX-512 and called only where the processor has it: nothing here may be a function that other files share,
// or the linker could choose this file's copy for them.
#include "runtime/sketch_wide.h"

#include <immintrin.h>

namespace weft {
namespace {

constexpr std::size_t lanes = 8;

inline __m512i wide_mix(__m512i word) {
  word = _mm512_xor_si512(word, _mm512_srli_epi64(word, 33));
  word = _mm512_mullo_epi64(word, _mm512_set1_epi64(static_cast<long long>(0xFF51AFD7ED558CCD)));
  word = _mm512_xor_si512(word, _mm512_srli_epi64(word, 33));
  word = _mm512_mullo_epi64(word, _mm512_set1_epi64(static_cast<long long>(0xC4CEB9FE1A85EC53)));
  return _mm512_xor_si512(word, _mm512_srli_epi64(word, 33));
}

inline __mmask8 lanes_below(std::size_t left) { return static_cast<__mmask8>(left >= lanes ? 0xFF : (1U << left) - 1); }

// `Number` of columns, 0 for any. Without a branch on what passes: that is guessed wrong too often.
template <std::size_t Number>
inline std::size_t mixed_sums(const std::uint64_t* const* columns, std::size_t number, std::size_t length, unsigned skipped,
                              std::uint64_t most, std::uint64_t* hashes) {
  const __m512i limit = _mm512_set1_epi64(static_cast<long long>(most));
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(skipped));
  std::size_t found = 0;
  for (std::size_t n = 0; n < length; n += lanes) {
    const __mmask8 there = lanes_below(length - n);
    __m512i sum = _mm512_maskz_loadu_epi64(there, columns[0] + n);
    for (std::size_t column = 1; column < (Number == 0 ? number : Number); ++column)
      sum = _mm512_add_epi64(sum, _mm512_maskz_loadu_epi64(there, columns[column] + n));
    const __m512i hash = wide_mix(sum);
    const __mmask8 passed = _mm512_mask_cmple_epu64_mask(there, _mm512_sll_epi64(hash, shift), limit);
    // Compressed in a register: into memory it takes some processors a hundred cycles.
    _mm512_storeu_si512(hashes + found, _mm512_maskz_compress_epi64(passed, hash));
    found += static_cast<std::size_t>(__builtin_popcount(passed));
  }
  return found;
}

}  // namespace

void wide_mixed(const std::uint64_t* words, std::uint64_t added, std::size_t length, std::uint64_t* hashes) {
  const __m512i more = _mm512_set1_epi64(static_cast<long long>(added));
  for (std::size_t n = 0; n < length; n += lanes) {
    const __mmask8 there = lanes_below(length - n);
    const __m512i word = _mm512_maskz_loadu_epi64(there, words + n);
    _mm512_mask_storeu_epi64(hashes + n, there, wide_mix(_mm512_add_epi64(word, more)));
  }
}

std::size_t wide_mixed_sums(const std::uint64_t* const* columns, std::size_t number, std::size_t length, unsigned skipped,
                            std::uint64_t most, std::uint64_t* hashes) {
  if (number == 1) return mixed_sums<1>(columns, number, length, skipped, most, hashes);
  if (number == 2) return mixed_sums<2>(columns, number, length, skipped, most, hashes);
  if (number == 3) return mixed_sums<3>(columns, number, length, skipped, most, hashes);
  return mixed_sums<0>(columns, number, length, skipped, most, hashes);
}

}  // namespace weft
