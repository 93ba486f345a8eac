// Eight elements of a table at eight places, in one instruction where the machine has it.
#pragma once

#include <cstdint>

#include "bench/row.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#include <immintrin.h>
#endif

namespace weft::bench {

#if defined(__AVX512F__) && defined(__AVX512VL__)

// The masked forms: those without let GCC 12 warn of what they leave undefined.
inline Vector gathered(const double* table, const std::uint32_t* places) {
  constexpr __mmask8 all = 0xff;
  const __m512i wide = _mm512_maskz_cvtepu32_epi64(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places)));
  return {Register(_mm512_mask_i64gather_pd(_mm512_setzero_pd(), all, wide, table, 8))};
}

/// sum += values * gathered, of the first `count` lanes, 0 to 8.
inline void add_gathered(Vector& sum, const double* values, const double* table, const std::uint32_t* places, std::uint32_t count) {
  const auto mask = static_cast<__mmask8>((1U << count) - 1);
  const __m512i wide = _mm512_maskz_cvtepu32_epi64(mask, _mm256_maskz_loadu_epi32(mask, places));
  const __m512d elements = _mm512_mask_i64gather_pd(_mm512_setzero_pd(), mask, wide, table, 8);
  sum.part[0] += Register(_mm512_maskz_loadu_pd(mask, values)) * Register(elements);
}

#else

inline Vector gathered(const double* table, const std::uint32_t* places) {
  double elements[8];
  for (int lane = 0; lane < 8; ++lane) elements[lane] = table[places[lane]];
  return loaded(elements);
}

inline void add_gathered(Vector& sum, const double* values, const double* table, const std::uint32_t* places, std::uint32_t count) {
  double products[8] = {};
  for (std::uint32_t lane = 0; lane < count; ++lane) products[lane] = values[lane] * table[places[lane]];
  sum += loaded(products);
}

#endif

}  // namespace weft::bench
