#include "frontend/file_text.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace file_text_test {

using namespace weft;

TEST_CASE("all of a file, byte by byte; what cannot be read is named") {
  const auto path = std::filesystem::temp_directory_path() / "weft_file_text_test";
  std::ofstream(path, std::ios::binary) << "a\r\n" << std::string(1, '\0') << "c";
  const auto text = file_text(path.string());
  REQUIRE(text);
  CHECK(*text == std::string("a\r\n") + std::string(1, '\0') + "c");
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << "\xEF\xBB\xBFtree A";  // as editors of Windows write it
  CHECK(*file_text(path.string()) == "tree A");
  std::filesystem::remove(path);
  const auto missing = file_text(path.string());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::input);
  CHECK(missing.error().message.find(path.string()) != std::string::npos);
}

}  // namespace file_text_test
