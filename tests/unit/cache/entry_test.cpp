#include "engine/cache/entry.h"

#include <doctest/doctest.h>

#include <cstring>

namespace entry_test {

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

TEST_CASE("entry: as text it stays readable, and any change of it is noticed") {
  using weft::EntryForm;
  CHECK(weft::pack_entry("key", "proven\n", EntryForm::verdict).starts_with("# weft proof, entry 1, "));
  CHECK(weft::entry_form(weft::entry_name("key", EntryForm::verdict)) == EntryForm::verdict);
  CHECK_FALSE(weft::unpack_entry(weft::pack_entry("key", "proven\n", EntryForm::verdict), "key", EntryForm::text).has_value());
  const std::string key = "network\nformats";
  const std::string contents = "# remark\nschedule\n";
  const std::string file = weft::pack_entry(key, contents, EntryForm::text);
  CHECK(file.starts_with("# weft plan, entry 1, "));
  CHECK(file.find("\n# network\n# formats\n# remark\nschedule\n") != std::string::npos);
  CHECK(weft::unpack_entry(file, key, EntryForm::text).value() == contents);
  CHECK(weft::entry_name(key, EntryForm::text).ends_with(".plan"));
  CHECK(weft::entry_form(weft::entry_name(key, EntryForm::text)) == EntryForm::text);
  for (std::size_t place = 0; place < file.size(); ++place) {
    std::string flipped = file;
    flipped[place] = static_cast<char>(flipped[place] ^ 1);
    CAPTURE(place);
    CHECK_FALSE(weft::unpack_entry(flipped, key, EntryForm::text).has_value());
    CHECK_FALSE(weft::unpack_entry(file.substr(0, place), key, EntryForm::text).has_value());
  }
  CHECK_FALSE(weft::unpack_entry(file + "x", key, EntryForm::text).has_value());
  CHECK(weft::unpack_entry(file, "network\nformatz", EntryForm::text).error() ==
        "holds another key of the same hash, or is damaged");
  std::string foreign = file;
  foreign[foreign.find("entry 1") + 6] = '2';
  CHECK(weft::unpack_entry(foreign, key, EntryForm::text).error() == "written by another version");
  CHECK(weft::unpack_entry(weft::pack_entry(key, contents), key, EntryForm::text).error() != "");
  CHECK(weft::unpack_entry(weft::pack_entry("", "", EntryForm::text), "", EntryForm::text).value().empty());
}

}  // namespace entry_test
