// Files of the disk cache: any bytes are a miss, unless they are what was stored under the key.
#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "engine/cache/disk_cache.h"
#include "engine/cache/entry.h"
#include "fuzz/scratch.h"
#include "fuzz/target.h"

namespace weft::fuzz {

/// First line: the key. Below: a file.
void cache_entry(Bytes bytes) {
  const TwoTexts texts = cut_first_line(bytes);
  const std::string& key = texts.first;
  const std::string directory = scratch_directory() + "/cache";
  static const int made = ::mkdir(directory.c_str(), 0700);
  require(made == 0, "no directory for the cache");
  for (const EntryForm form : {EntryForm::binary, EntryForm::text, EntryForm::verdict}) {
    const auto contents = unpack_entry(texts.rest, key, form);
    // A file that is an entry is the one that is made of its contents.
    if (contents) require(pack_entry(key, *contents, form) == texts.rest, "two files stand for one entry");
    const std::string packed = pack_entry(key, texts.rest, form);
    require(packed.size() == entry_size(key.size(), texts.rest.size()) || form != EntryForm::binary,
            "an entry of another size");
    const auto unpacked = unpack_entry(packed, key, form);
    require(unpacked.has_value() && *unpacked == texts.rest, "what was packed is not unpacked");
    require(!unpack_entry(packed, key + "x", form), "an entry of another key");

    std::string said;
    const DiskCache cache(directory, DiskCache::default_cap, [&](std::string_view line) { said = line; });
    scratch_file("cache/" + entry_name(key, form), texts.rest);
    require(::chmod((directory + "/" + entry_name(key, form)).c_str(), 0600) == 0, "the mode of a file cannot be set");
    const auto loaded = cache.load(key, form);
    require(loaded.has_value() == contents.has_value(), "the cache loads what is no entry");
    require(loaded.has_value() || !said.empty(), "a damaged file is a miss that nobody hears of");
    cache.store(key, texts.rest, form);
    const auto stored = cache.load(key, form);
    require(stored.has_value() && *stored == texts.rest, "what was stored is not loaded");
    require(cache.clear() > 0, "what was stored is not cleared");
  }
}

}  // namespace weft::fuzz
