// Compiled for AVX2 and called only where the processor has it: nothing here may be a function that other files share, as in
// sort_keys_wide.cpp.
#include <immintrin.h>

#include "runtime/sort_keys.h"
#include "runtime/sorting_network.h"

namespace weft {
namespace {

/// Lanes that keep the larger key, of the eight of a vector.
constexpr int odd_lanes = 0xAA;
constexpr int upper_pairs = 0xCC;
constexpr int upper_half = 0xF0;

/// Keys of 32 bits as sorting networks want them.
struct Keys {
  using Key = std::uint32_t;
  using Vector = __m256i;
  static constexpr int lanes = 8;

  static __m256i least(__m256i a, __m256i b) { return _mm256_min_epu32(a, b); }
  static __m256i most(__m256i a, __m256i b) { return _mm256_max_epu32(a, b); }
  template <int Upper>
  static __m256i exchange(__m256i keys, __m256i partners) {
    return _mm256_blend_epi32(least(keys, partners), most(keys, partners), Upper);
  }
  static __m256i neighbours(__m256i keys) { return exchange<odd_lanes>(keys, _mm256_shuffle_epi32(keys, 0b10'11'00'01)); }
  static __m256i pairs(__m256i keys) { return exchange<upper_pairs>(keys, _mm256_shuffle_epi32(keys, 0b01'00'11'10)); }
  static __m256i reverse(__m256i keys) { return _mm256_permutevar8x32_epi32(keys, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)); }
  static __m256i merge(__m256i keys) {
    return neighbours(pairs(exchange<upper_half>(keys, _mm256_permute2x128_si256(keys, keys, 1))));
  }
  static __m256i sort(__m256i keys) {
    keys = neighbours(keys);
    keys = neighbours(exchange<upper_pairs>(keys, _mm256_shuffle_epi32(keys, 0b00'01'10'11)));
    return neighbours(pairs(exchange<upper_half>(keys, reverse(keys))));
  }
  static __m256i first_lanes(unsigned count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static __m256i load(unsigned live, const Key* from) {
    const __m256i mask = first_lanes(live);
    return _mm256_or_si256(_mm256_maskload_epi32(reinterpret_cast<const int*>(from), mask), _mm256_xor_si256(mask, _mm256_set1_epi32(-1)));
  }
  static void store(unsigned live, Key* to, __m256i keys) {
    _mm256_maskstore_epi32(reinterpret_cast<int*>(to), first_lanes(live), keys);
  }
};

/// Keys of 64 bits, in registers less 2^63: AVX2 compares them as signed numbers.
struct LongKeys {
  using Key = std::uint64_t;
  using Vector = __m256i;
  static constexpr int lanes = 4;

  static __m256i least(__m256i a, __m256i b) { return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)); }
  static __m256i most(__m256i a, __m256i b) { return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)); }
  template <int Upper>
  static __m256i exchange(__m256i keys, __m256i partners) {
    return _mm256_blend_epi32(least(keys, partners), most(keys, partners), Upper);
  }
  static __m256i neighbours(__m256i keys) { return exchange<upper_pairs>(keys, _mm256_permute4x64_epi64(keys, 0b10'11'00'01)); }
  static __m256i reverse(__m256i keys) { return _mm256_permute4x64_epi64(keys, 0b00'01'10'11); }
  static __m256i merge(__m256i keys) {
    return neighbours(exchange<upper_half>(keys, _mm256_permute2x128_si256(keys, keys, 1)));
  }
  static __m256i sort(__m256i keys) { return neighbours(exchange<upper_half>(neighbours(keys), reverse(neighbours(keys)))); }
  static __m256i first_lanes(unsigned count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static __m256i less_half(__m256i keys) { return _mm256_xor_si256(keys, _mm256_set1_epi64x(static_cast<long long>(1ULL << 63))); }
  static __m256i load(unsigned live, const Key* from) {
    const __m256i mask = first_lanes(live);
    const __m256i keys = _mm256_maskload_epi64(reinterpret_cast<const long long*>(from), mask);
    return less_half(_mm256_or_si256(keys, _mm256_xor_si256(mask, _mm256_set1_epi64x(-1))));
  }
  static void store(unsigned live, Key* to, __m256i keys) {
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(to), first_lanes(live), less_half(keys));
  }
};

/// Which of 32 columns have a mark.
inline std::uint32_t marks_of(const std::uint8_t* marks) {
  const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(marks));
  return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(some, _mm256_setzero_si256())));
}

}  // namespace

void avx2_sort(std::uint32_t* keys, std::uint64_t count) { sorting_network::sort_fitting<Keys, 32>(keys, count); }
void avx2_sort(std::uint64_t* keys, std::uint64_t count) { sorting_network::sort_fitting<LongKeys, 16>(keys, count); }

/// 64 columns at a time; what branches is the number of marks among them.
std::uint64_t avx2_marked(const std::uint8_t* marks, std::uint64_t extent, std::uint32_t* keys) {
  const std::uint32_t* const first_key = keys;
  std::uint64_t column = 0;
  for (; column + 64 <= extent; column += 64) {
    std::uint64_t found = marks_of(marks + column) | std::uint64_t{marks_of(marks + column + 32)} << 32;
    for (; found != 0; found &= found - 1) *keys++ = static_cast<std::uint32_t>(column + _tzcnt_u64(found));
  }
  for (; column < extent; ++column)
    if (marks[column] != 0) *keys++ = static_cast<std::uint32_t>(column);
  return static_cast<std::uint64_t>(keys - first_key);
}

}  // namespace weft
