// The records of zip files (PKWARE's APPNOTE 6.3.10): signatures, and sizes without what varies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::zip {

constexpr std::string_view local_signature = "PK\x03\x04";    ///< before every member
constexpr std::string_view central_signature = "PK\x01\x02";  ///< an entry of the directory
constexpr std::string_view end_signature = "PK\x05\x06";      ///< behind the directory
constexpr std::string_view end64_signature = "PK\x06\x06";    ///< the same where numbers have 64 bits
constexpr std::string_view locator_signature = "PK\x06\x07";  ///< where that lies

constexpr std::size_t local_bytes = 30;
constexpr std::size_t central_bytes = 46;
constexpr std::size_t end_bytes = 22;
constexpr std::size_t end64_bytes = 56;
constexpr std::size_t locator_bytes = 20;

constexpr std::uint64_t all_ones32 = 0xFFFFFFFF;  ///< the number stands in the zip64 field
constexpr std::uint64_t zip64_extra = 1;

constexpr std::uint16_t stored = 0;
constexpr std::uint16_t deflated = 8;
constexpr std::uint16_t encrypted = 0xFFFF;  ///< no method: ours for an entry whose flags say so

}  // namespace weft::zip
