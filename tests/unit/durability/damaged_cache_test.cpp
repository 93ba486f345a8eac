// The files of a real cache directory, every byte of them damaged in turn, and two builds that share one: what is not
// exactly what was stored is a miss, and results are the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/cache/disk_cache.h"
#include "engine/cache/entry.h"
#include "unit/cache/cache_fixture.h"
#include "weft/engine.h"
#include "weft/host.h"

namespace damaged_cache_test {

namespace fs = std::filesystem;
using namespace weft;

namespace {

Engine engine_over(const fs::path& directory, std::vector<std::string>* said = nullptr) {
  EngineOptions options;
  options.resources.threads = Threads(1);
  options.cache_directory = directory.string();
  if (said != nullptr) options.trace = [said](std::string_view line) { said->emplace_back(line); };
  auto engine = Engine::create(options);
  REQUIRE_MESSAGE(engine.has_value(), engine.error().message);
  return *engine;
}

struct Matrix {
  std::vector<std::uint32_t> pos = {0, 2, 3, 5};
  std::vector<std::uint32_t> crd = {0, 3, 1, 0, 2};
  std::vector<double> values = {1, 2, 3, 4, 5};
  std::vector<double> x = {1, 10, 100, 1000};
};

/// y = M x, of a kernel that the engine takes from its caches or makes.
std::vector<double> product(const Engine& engine, const Matrix& matrix) {
  const auto m = borrow_csr(3, 4, matrix.pos, matrix.crd, matrix.values);
  const auto x = borrow_dense({4}, matrix.x);
  REQUIRE(m.has_value());
  REQUIRE(x.has_value());
  const auto kernel = engine.compile("y(i) = M(i,j) * x(j)", {{"M", *m}, {"x", *x}});
  REQUIRE_MESSAGE(kernel.has_value(), kernel.error().message);
  Bindings bindings;
  bindings.set("M", *m);
  bindings.set("x", *x);
  const auto results = kernel->run(bindings);
  REQUIRE_MESSAGE(results.has_value(), results.error().message);
  const auto values = results->at("y").values().as<double>();
  return {values.begin(), values.end()};
}

const std::vector<double> expected = {2001, 30, 504};

std::map<std::string, std::string> files_of(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& file : fs::directory_iterator(directory))
    if (is_entry_name(file.path().filename().string()))
      files[file.path().filename().string()] = contents_of(file.path());
  return files;
}

std::string flipped(std::string bytes, std::size_t at, unsigned bit) {
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
  return bytes;
}

/// WEFT_DAMAGE=all: every byte; else so many.
std::size_t tries(std::size_t usual, std::size_t all) {
  const char* const given = std::getenv("WEFT_DAMAGE");
  return given != nullptr && std::string_view(given) == "all" ? all : std::min(usual, all);
}

/// The key that an entry is of, which only an entry that is whole tells.
std::string key_of(const std::string& file, EntryForm form) {
  if (form == EntryForm::binary) {
    std::uint64_t bytes = 0;
    std::copy_n(file.data() + 16, sizeof(bytes), reinterpret_cast<char*>(&bytes));
    return file.substr(40, bytes);
  }
  // Lines that begin with "# ".
  const std::size_t bytes = std::stoull(file.substr(file.find(", key ") + 6));
  const std::string commented = file.substr(file.find('\n') + 1, bytes);
  std::string key;
  for (std::size_t at = 2; at + 1 < commented.size(); ++at) {
    key += commented[at];
    if (commented[at] == '\n') at += 2;
  }
  return key;
}

}  // namespace

TEST_CASE("damaged cache: every byte of every entry flipped, and every truncation, is a miss") {
  const TemporaryDirectory temporary;
  CHECK(product(engine_over(temporary.path()), {}) == expected);
  const auto files = files_of(temporary.path());
  REQUIRE(files.size() >= 2);
  std::mt19937 random(1);
  std::size_t damaged = 0;
  for (const auto& [name, whole] : files) {
    const EntryForm form = *entry_form(name);
    const std::string key = key_of(whole, form);
    REQUIRE(entry_name(key, form) == name);
    REQUIRE(unpack_entry(whole, key, form).has_value());
    for (std::size_t at = 0; at < whole.size(); ++at) {
      CHECK_FALSE(unpack_entry(flipped(whole, at, random() % 8), key, form).has_value());
      CHECK_FALSE(unpack_entry(whole.substr(0, at), key, form).has_value());
      damaged += 2;
    }
    CHECK_FALSE(unpack_entry(whole + '\0', key, form).has_value());
  }
  MESSAGE(damaged << " damaged entries");
  CHECK(damaged > 4000);
}

TEST_CASE("damaged cache: engines over damaged files compute the same and repair them") {
  const TemporaryDirectory temporary;
  CHECK(product(engine_over(temporary.path()), {}) == expected);
  const auto files = files_of(temporary.path());
  std::mt19937 random(std::random_device{}());
  std::size_t number = 0;
  for (const auto& [name, whole] : files) {
    const std::size_t count = tries(25, whole.size());
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t at = count == whole.size() ? n : random() % whole.size();
      const bool cut = number++ % 4 == 0;
      const unsigned bit = random() % 8;
      CAPTURE(name);
      CAPTURE(at);
      CAPTURE(cut);
      CAPTURE(bit);
      overwrite(temporary.path() / name, cut ? whole.substr(0, at) : flipped(whole, at, bit));
      std::vector<std::string> said;
      const Engine engine = engine_over(temporary.path(), &said);
      CHECK(product(engine, {}) == expected);
      const CacheCounters counters = engine.counters();
      CHECK(counters.compiled + counters.plans_made == 1);
      CHECK(std::ranges::any_of(said, [&](const std::string& line) { return line.find(name) != std::string::npos; }));
      // What is stored anew is what was there.
      CHECK(contents_of(temporary.path() / name) == whole);
    }
  }
}

TEST_CASE("damaged cache: entries of another version or build are misses, and stay for those who made them") {
  const TemporaryDirectory temporary;
  CHECK(product(engine_over(temporary.path()), {}) == expected);
  const auto files = files_of(temporary.path());
  // The keys begin with the version and the build: those of another one have other names.
  for (const auto& [name, whole] : files) {
    const EntryForm form = *entry_form(name);
    const std::string key = key_of(whole, form);
    const auto contents = unpack_entry(whole, key, form);
    REQUIRE(contents.has_value());
    std::string other = key;
    const std::size_t version = other.find(WEFT_VERSION);
    REQUIRE(version != std::string::npos);
    other.replace(version, std::string_view(WEFT_VERSION).size(), "99.0");
    DiskCache(temporary.path().string()).store(other, *contents, form);
  }
  REQUIRE(files_of(temporary.path()).size() == 2 * files.size());
  // Each finds its own, whatever the other does.
  const Engine engine = engine_over(temporary.path());
  CHECK(product(engine, {}) == expected);
  CHECK(engine.counters().compiled == 0);
  CHECK(engine.counters().plans_made == 0);
  // A layout of the file that this version does not know is a miss too, and is replaced.
  for (const auto& [name, whole] : files) {
    std::string later = whole;
    if (*entry_form(name) == EntryForm::binary)
      later[8] = static_cast<char>(later[8] + 1);
    else
      later.replace(later.find("entry "), 7, "entry 9");
    overwrite(temporary.path() / name, later);
  }
  const Engine second = engine_over(temporary.path());
  CHECK(product(second, {}) == expected);
  CHECK(second.counters().compiled > 0);
  CHECK(second.counters().plans_made == 1);
  CHECK(files_of(temporary.path()).size() == 2 * files.size());
}

}  // namespace damaged_cache_test
