// Compiled for AVX-512 and called only where the processor has it: nothing here may be a function that other files share,
// or the linker could choose this file's copy for them.
#include <immintrin.h>

#include "runtime/sort_keys.h"
#include "runtime/sorting_network.h"

namespace weft {
namespace {

// Orders lanes with their partners; `upper` has the lanes that keep the larger key.
inline __m512i exchange(__m512i keys, __m512i partners, __mmask16 upper) {
  return _mm512_mask_max_epu32(_mm512_min_epu32(keys, partners), upper, keys, partners);
}

inline __m512i neighbours(__m512i keys) { return exchange(keys, _mm512_shuffle_epi32(keys, _MM_PERM_CDAB), 0xAAAA); }
inline __m512i pairs(__m512i keys) { return exchange(keys, _mm512_shuffle_epi32(keys, _MM_PERM_BADC), 0xCCCC); }
inline __m512i quarters(__m512i keys) { return exchange(keys, _mm512_shuffle_i32x4(keys, keys, 0b10'11'00'01), 0xF0F0); }
inline __m512i halves(__m512i keys) { return exchange(keys, _mm512_shuffle_i32x4(keys, keys, 0b01'00'11'10), 0xFF00); }

inline __m512i reversed(__m512i keys) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), keys);
}
inline __m512i reversed_eights(__m512i keys) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8), keys);
}

// A bitonic vector becomes ordered.
inline __m512i merged(__m512i keys) { return neighbours(pairs(quarters(halves(keys)))); }

inline __m512i sorted(__m512i keys) {
  keys = neighbours(keys);
  keys = neighbours(exchange(keys, _mm512_shuffle_epi32(keys, _MM_PERM_ABCD), 0xCCCC));
  keys = neighbours(pairs(exchange(keys, reversed_eights(keys), 0xF0F0)));
  return neighbours(pairs(quarters(exchange(keys, reversed(keys), 0xFF00))));
}

// The same for keys of 64 bits, eight in a vector.
inline __m512i exchange_long(__m512i keys, __m512i partners, __mmask8 upper) {
  return _mm512_mask_max_epu64(_mm512_min_epu64(keys, partners), upper, keys, partners);
}
inline __m512i neighbours_long(__m512i keys) { return exchange_long(keys, _mm512_permutex_epi64(keys, 0b10'11'00'01), 0xAA); }
inline __m512i pairs_long(__m512i keys) { return exchange_long(keys, _mm512_permutex_epi64(keys, 0b01'00'11'10), 0xCC); }
inline __m512i halves_long(__m512i keys) { return exchange_long(keys, _mm512_shuffle_i64x2(keys, keys, 0b01'00'11'10), 0xF0); }
inline __m512i reversed_long(__m512i keys) { return _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), keys); }

inline __m512i sorted_long(__m512i keys) {
  keys = neighbours_long(keys);
  keys = neighbours_long(exchange_long(keys, _mm512_permutex_epi64(keys, 0b00'01'10'11), 0xCC));
  return neighbours_long(pairs_long(exchange_long(keys, reversed_long(keys), 0xF0)));
}

inline __mmask16 first_lanes(unsigned count) { return static_cast<__mmask16>((1U << count) - 1U); }

/// Keys of 32 bits as sorting networks want them.
struct Keys {
  using Key = std::uint32_t;
  using Vector = __m512i;
  static constexpr int lanes = 16;
  static __m512i sort(__m512i keys) { return sorted(keys); }
  static __m512i merge(__m512i keys) { return merged(keys); }
  static __m512i reverse(__m512i keys) { return reversed(keys); }
  static __m512i least(__m512i a, __m512i b) { return _mm512_min_epu32(a, b); }
  static __m512i most(__m512i a, __m512i b) { return _mm512_max_epu32(a, b); }
  static __m512i load(unsigned live, const Key* from) {
    return _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), first_lanes(live), from);
  }
  static void store(unsigned live, Key* to, __m512i keys) { _mm512_mask_storeu_epi32(to, first_lanes(live), keys); }
};

struct LongKeys {
  using Key = std::uint64_t;
  using Vector = __m512i;
  static constexpr int lanes = 8;
  static __m512i sort(__m512i keys) { return sorted_long(keys); }
  static __m512i merge(__m512i keys) { return neighbours_long(pairs_long(halves_long(keys))); }
  static __m512i reverse(__m512i keys) { return reversed_long(keys); }
  static __m512i least(__m512i a, __m512i b) { return _mm512_min_epu64(a, b); }
  static __m512i most(__m512i a, __m512i b) { return _mm512_max_epu64(a, b); }
  static __m512i load(unsigned live, const Key* from) {
    return _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), static_cast<__mmask8>(first_lanes(live)), from);
  }
  static void store(unsigned live, Key* to, __m512i keys) {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(first_lanes(live)), keys);
  }
};

}  // namespace

void wide_sort(std::uint32_t* keys, std::uint64_t count) { sorting_network::sort_fitting<Keys, 16>(keys, count); }
void wide_sort(std::uint64_t* keys, std::uint64_t count) { sorting_network::sort_fitting<LongKeys, 32>(keys, count); }

namespace {

/// Which of 64 columns from `column` on have a mark.
inline std::uint64_t marks_of(const std::uint8_t* marks, std::uint64_t column, std::uint64_t extent) {
  const std::uint64_t left = extent - column;
  const __mmask64 inside = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
  const __m512i some = _mm512_maskz_loadu_epi8(inside, marks + column);
  return _mm512_test_epi8_mask(some, some);
}

}  // namespace

/// Sixteen columns at a time, without a branch that depends on what is marked.
std::uint64_t wide_marked_by_words(const std::uint8_t* marks, std::uint64_t extent, std::uint32_t* keys) {
  const std::uint32_t* const first_key = keys;
  const __m512i offsets = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (std::uint64_t column = 0; column < extent; column += 64) {
    const std::uint64_t found = marks_of(marks, column, extent);
    for (unsigned quarter = 0; quarter < 64; quarter += Keys::lanes) {
      const auto mask = static_cast<__mmask16>(found >> quarter);
      const auto count = static_cast<unsigned>(_mm_popcnt_u32(mask));
      const __m512i numbers = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(column + quarter)), offsets);
      _mm512_mask_storeu_epi32(keys, static_cast<__mmask16>((1U << count) - 1U), _mm512_maskz_compress_epi32(mask, numbers));
      keys += count;
    }
  }
  return static_cast<std::uint64_t>(keys - first_key);
}

/// 64 columns at a time: their numbers are compressed as bytes, which branches only where more than 16 are marked.
__attribute__((target("avx512vbmi2"))) std::uint64_t wide_marked_by_bytes(const std::uint8_t* marks, std::uint64_t extent,
                                                                         std::uint32_t* keys) {
  alignas(64) constexpr std::uint8_t numbers[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
                                                    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
  const std::uint32_t* const first_key = keys;
  const __m512i all = _mm512_load_si512(numbers);
  for (std::uint64_t column = 0; column < extent; column += 64) {
    const std::uint64_t found = marks_of(marks, column, extent);
    auto count = static_cast<unsigned>(_mm_popcnt_u64(found));
    const __m512i first = _mm512_set1_epi32(static_cast<int>(column));
    __m512i listed = _mm512_maskz_compress_epi8(found, all);
    for (;; listed = _mm512_shuffle_i32x4(listed, listed, 0b00'11'10'01)) {
      const __m512i columns = _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(listed)));
      const unsigned stored = count < Keys::lanes ? count : Keys::lanes;
      _mm512_mask_storeu_epi32(keys, static_cast<__mmask16>((1U << stored) - 1U), columns);
      keys += stored;
      count -= stored;
      if (count == 0) break;
    }
  }
  return static_cast<std::uint64_t>(keys - first_key);
}

}  // namespace weft
