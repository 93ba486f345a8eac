#include "engine/cache/entry.h"

#include <doctest/doctest.h>

#include <cstring>

TEST_CASE("entry: names are 32 hex digits and a suffix, and differ between keys") {
  const std::string name = weft::entry_name("a key");
  CHECK(name.size() == 37);
  CHECK(weft::is_entry_name(name));
  CHECK(name == weft::entry_name("a key"));
  CHECK(name != weft::entry_name("a kez"));
  // XXH3-128 of nothing with seed 0, from the specification of xxHash.
  CHECK(weft::entry_name("") == "99aa06d3014798d86001c324468d497f.weft");
  for (const char* foreign : {"", "sweep.lock", "99aa06d3014798d86001c324468d497.weft", "99AA06D3014798D86001C324468D497F.weft",
                              "99aa06d3014798d86001c324468d497f.wefT", "99aa06d3014798d86001c324468d497f.weft2"})
    CHECK_FALSE(weft::is_entry_name(foreign));
}

TEST_CASE("entry: unpacking gives back what was packed, to its key only") {
  const std::string contents("\0binary\0", 8);
  const std::string file = weft::pack_entry("key", contents);
  CHECK(file.size() == weft::entry_size(3, 8));
  CHECK(weft::unpack_entry(file, "key").value() == contents);
  CHECK_FALSE(weft::unpack_entry(file, "ke").has_value());
  CHECK_FALSE(weft::unpack_entry(file, "keyy").has_value());
  CHECK(weft::unpack_entry(weft::pack_entry("", ""), "").value().empty());
}

TEST_CASE("entry: sizes that would wrap around are refused") {
  std::string file = weft::pack_entry("key", "contents");
  const std::uint64_t huge = ~std::uint64_t{0};
  std::memcpy(file.data() + 16, &huge, 8);  // key_bytes
  CHECK(weft::unpack_entry(file, "key").error() == "truncated or extended");
  const std::uint64_t wrapping = 3 + 8 - huge;  // key_bytes + content_bytes is right modulo 2^64
  std::memcpy(file.data() + 24, &wrapping, 8);
  CHECK(weft::unpack_entry(file, "key").error() == "truncated or extended");
}
