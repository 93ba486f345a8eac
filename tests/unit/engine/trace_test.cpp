#include "engine/trace.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/pipeline.h"

namespace trace_test {

using namespace weft;

namespace {

std::string contents_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

loop::Program product() {
  const auto program = loop::parse(
      "program A\n  indices i, j\n  input  K : f64 {dense, dense}   access K.1[i,j]  access K.2[j,i]\n"
      "  output A : f64 {dense}   access A[i]\n  for i: locate K.1, insert A\n    for j: locate K.1, locate K.2\n      A += K.1 * K.2\n");
  if (program) return *program;
  loop::Program made;
  made.indices = {"i", "j"};
  made.storages = {{"K", loop::Role::input, Scalar::f64, {}}, {"A", loop::Role::output, Scalar::f64, {}}};
  made.accesses = {{"K.1", 0, {0, 1}}, {"K.2", 0, {1, 0}}, {"A", 1, {0}}};
  return made;
}

}  // namespace

TEST_CASE("trace: words of a shell are quoted where they must be") {
  CHECK(shell_word("A=x.tns") == "A=x.tns");
  CHECK(shell_word("--format") == "--format");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("A(i) = B(i)") == "'A(i) = B(i)'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("$HOME") == "'$HOME'");
  CHECK(shell_word("two\nlines") == "'two\nlines'");
}

TEST_CASE("trace: names of kernels say what they compute, and end in their key") {
  const std::string name = kernel_name(product(), "key");
  CHECK(name.starts_with("weft_A_i_K_ij_K_ji_"));
  CHECK(name.size() == std::string("weft_A_i_K_ij_K_ji_").size() + 8);
  CHECK(name != kernel_name(product(), "kez"));
  loop::Program long_names = product();
  for (std::string& index : long_names.indices) index = std::string(200, 'x');
  long_names.storages[0].name = "K.with-strange letters";
  const std::string cut = kernel_name(long_names, "key");
  CHECK(cut.size() == 96);
  CHECK(cut.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos);
  CHECK(cut.ends_with(name.substr(name.size() - 8)));
}

TEST_CASE("trace: texts of a kernel go into three files, which are replaced") {
  std::string pattern = (std::filesystem::temp_directory_path() / "weft-dump-XXXXXX").string();
  const std::filesystem::path directory = mkdtemp(pattern.data());
  for (const char* version : {"first, which is longer", "second"}) {
    REQUIRE(dump(directory.string(), "kernel", {version, "llvm", "assembly"}));
    CHECK(contents_of(directory / "kernel.loops") == version);
    CHECK(contents_of(directory / "kernel.ll") == "llvm");
    CHECK(contents_of(directory / "kernel.s") == "assembly");
  }
  std::filesystem::remove_all(directory);
  const auto failed = dump(directory.string(), "kernel", {});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message.find("kernel.loops") != std::string::npos);
}

TEST_CASE("trace: a directory to dump into that cannot be made is an error at once") {
  EngineOptions options;
  options.dump_directory = "/proc/nowhere";
  const auto pipeline = Pipeline::create(options);
  REQUIRE_FALSE(pipeline);
  CHECK(pipeline.error().kind == ErrorKind::input);
  CHECK(pipeline.error().message.find("/proc/nowhere") != std::string::npos);
}

}  // namespace trace_test
