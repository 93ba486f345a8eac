// The host in C of tests/embedding, in this process: the sanitizers watch it too. It ends the process where an expectation fails.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "weft.h"

namespace c_api_test {

extern "C" int c_host_main(int arguments, char** argument);

TEST_CASE("the C API does what its header says, and refuses what it must") {
  std::string name = "c_host";
  std::string directory = (std::filesystem::temp_directory_path() / "weft-c-api-XXXXXX").string();
  REQUIRE(mkdtemp(directory.data()) != nullptr);
  char* argument[] = {name.data(), directory.data(), nullptr};
  CHECK(c_host_main(2, argument) == 0);
  std::filesystem::remove_all(directory);
}

TEST_CASE("the C API and the command count kinds of errors alike") {
  weft_tensor* tensor = nullptr;
  weft_error* error = nullptr;
  CHECK(weft_tensor_load(nullptr, "ones(3)", nullptr, &tensor, &error) == 2);
  CHECK(weft_error_kind(error) == 2);
  weft_error_free(error);
}

}  // namespace c_api_test
