#include "frontend/repl/history.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace weft::history_test {
namespace {

struct Directory {
  std::string path;
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-history-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Directory() { std::filesystem::remove_all(path); }
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

using Entries = std::vector<std::string>;

TEST_CASE("entries outlive the session, for the user's eyes only") {
  const Directory directory;
  const std::string path = directory.path + "/state/weft/history";
  History first(path);
  CHECK(first.entries().empty());
  first.add("A(i) =\n B(i)");
  first.add("A(i) =  B(i)");
  first.add("  ");
  first.add(" :list ");
  CHECK(first.entries() == Entries{"A(i) =  B(i)", ":list"});
  History second(path);
  CHECK(second.entries() == Entries{"A(i) =  B(i)", ":list"});
  first.add("x");
  second.add("y");
  CHECK(History(path).entries() == Entries{"A(i) =  B(i)", ":list", "x", "y"});
  CHECK(mode_of(path) == 0600);
  CHECK(mode_of(directory.path + "/state/weft") == 0700);
}

TEST_CASE("a long file is cut") {
  const Directory directory;
  const std::string path = directory.path + "/history";
  {
    std::ofstream file(path);
    for (int n = 0; n < 2500; ++n) file << "line " << n << '\n';
  }
  CHECK(History(path).entries().size() == History::most);
  const History again(path);
  CHECK(again.entries().front() == "line 1500");
  CHECK(again.entries().back() == "line 2499");
  CHECK(mode_of(path) == 0600);
  CHECK(std::filesystem::file_size(path) == 10 * History::most);
}

TEST_CASE("without a place there is only this session") {
  History nowhere{std::nullopt};
  nowhere.add("x");
  CHECK(nowhere.entries() == Entries{"x"});
  History refused("/proc/weft/history");
  refused.add("x");
  CHECK(refused.entries() == Entries{"x"});
}

}  // namespace
}  // namespace weft::history_test
