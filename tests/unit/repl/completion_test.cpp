#include "frontend/repl/completion.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace weft::completion_test {
namespace {

const std::vector<std::string> tensors{"Alpha", "Albert", "b"};
using Words = std::vector<std::string>;
const Words tensors_in_order{"Albert", "Alpha", "b"};

TEST_CASE("names of tensors") {
  CHECK(complete("Al", tensors) == Completion{0, {"Albert", "Alpha"}});
  CHECK(complete("X(i) = Alp", tensors) == Completion{7, {"Alpha"}});
  CHECK(complete("X(i) = b(i) * A", tensors) == Completion{14, {"Albert", "Alpha"}});
  CHECK(complete("ij,jk->ik Alp", tensors) == Completion{10, {"Alpha"}});
  CHECK(complete("x = 2; Alp", tensors) == Completion{7, {"Alpha"}});
  CHECK(complete("", tensors).candidates.size() == 3);
  CHECK(complete("zz", tensors).candidates.empty());
}

TEST_CASE("commands and what follows them") {
  CHECK(complete(":pl", {}) == Completion{1, {"plan"}});
  CHECK(complete(":l", {}).candidates == Words{"list", "llvm", "load", "loops"});
  CHECK(complete("b; :qu", tensors) == Completion{4, {"quit"}});
  CHECK(complete(":drop Alp", tensors) == Completion{6, {"Alpha"}});
  CHECK(complete(":time X(i) = Alp", tensors) == Completion{13, {"Alpha"}});
  CHECK(complete(":write Alp", tensors) == Completion{7, {"Alpha="}});
  CHECK(complete(":help sch", tensors) == Completion{6, {"schedule"}});
  CHECK(complete(":set str", tensors) == Completion{5, {"strict-fp"}});
  CHECK(complete(":set strict-fp o", tensors) == Completion{15, {"off", "on"}});
  CHECK(complete(":set specialize ba", tensors) == Completion{16, {"baked"}});
  CHECK(complete(":set objective=", tensors).candidates == Words{"time", "workspace-order"});
  CHECK(complete(":set calls 1", tensors).candidates.empty());
  CHECK(complete(":html p.html X(i) = Alp", tensors) == Completion{20, {"Alpha"}});
  CHECK(complete(":cache ", tensors).candidates == Words{"clear", "path", "status"});
  CHECK(complete(":quit x", tensors).candidates.empty());
  CHECK(complete(":unknown x", tensors).candidates.empty());
}

TEST_CASE("files of tensors, directories and generators after NAME =") {
  std::string directory = (std::filesystem::temp_directory_path() / "weft-completion-XXXXXX").string();
  REQUIRE(mkdtemp(directory.data()) != nullptr);
  for (const char* name : {"x.tns", "x.mtx.gz", "x.npy", "x.npz", "x.txt", ".x.tns"})
    std::ofstream(directory + '/' + name) << '\n';
  std::filesystem::create_directory(directory + "/xs");
  const std::string path = directory + "/x";
  CHECK(complete("T = " + path, {}) ==
        Completion{4, {path + ".mtx.gz", path + ".npy", path + ".npz", path + ".tns", path + "s/"}});
  CHECK(complete(":load T=" + path + ".t", {}) == Completion{8, {path + ".tns"}});
  CHECK(complete(":source " + path + ".tx", {}) == Completion{8, {path + ".txt"}});
  CHECK(complete(":write T=" + path + ".t", {}) == Completion{9, {path + ".tns"}});
  CHECK(complete(":spy T " + path + ".t", {}) == Completion{7, {path + ".tns"}});
  CHECK(complete("T = " + directory + "/nowhere/", {}).candidates.empty());
  CHECK(complete("T = uni", {}) == Completion{4, {"uniform("}});
  CHECK(complete("T = uniform(2x3,s", {}) == Completion{16, {"seed="}});
  CHECK(complete("T = sparse(2x3, ", {}) == Completion{16, {"nnz=", "seed="}});
  CHECK(complete(":load T=sparse(2x3,nnz=2,s", {}) == Completion{25, {"seed="}});
  CHECK(complete("T = ones(2x3,", {}).candidates.empty());
  CHECK(complete("A(i) = sparse(i,", tensors).candidates == tensors_in_order);
  CHECK(complete("T = Alp", tensors) == Completion{4, {"Alpha"}});
  std::filesystem::remove_all(directory);
}

TEST_CASE("paths with blanks and others stand in quotes") {
  std::string directory = (std::filesystem::temp_directory_path() / "weft-completion-XXXXXX").string();
  REQUIRE(mkdtemp(directory.data()) != nullptr);
  const std::string path = directory + "/x";
  std::filesystem::create_directory(path + " y");
  for (const char* name : {"x y/a b.tns", "x y/a;c.tns", "z=1.tns", "w.tns"}) std::ofstream(directory + '/' + name) << '\n';
  const std::string quoted = '"' + path;
  for (const std::string before : {":source ", "T = ", ":load T=", ":write T=", ":html ", ":output ", "s = 2; T = "}) {
    CAPTURE(before);
    const std::size_t begin = before.size();
    CHECK(complete(before + path, tensors) == Completion{begin, {quoted + " y/"}});
    CHECK(complete(before + quoted, tensors) == Completion{begin, {quoted + " y/"}});
    CHECK(complete(before + quoted + " y/", tensors) == Completion{begin, {quoted + " y/a b.tns\"", quoted + " y/a;c.tns\""}});
    CHECK(complete(before + quoted + " y/a;", tensors) == Completion{begin, {quoted + " y/a;c.tns\""}});
    CHECK(complete(before + '"' + directory + "/w", tensors) == Completion{begin, {'"' + directory + "/w.tns\""}});
    CHECK(complete(before + directory + "/z", tensors) == Completion{begin, {'"' + directory + "/z=1.tns\""}});
    CHECK(complete(before + quoted + '"', tensors).candidates.empty());
  }
  CHECK(complete("T = \"Al", tensors).candidates.empty());
  CHECK(complete(":html \"p q.html\" X(i) = Alp", tensors) == Completion{24, {"Alpha"}});
  std::filesystem::remove_all(directory);
}

TEST_CASE("the start that candidates share") {
  CHECK(common_start({}) == "");
  CHECK(common_start({"list"}) == "list");
  CHECK(common_start({"list", "llvm", "load"}) == "l");
  CHECK(common_start({"a", "b"}) == "");
}

}  // namespace
}  // namespace weft::completion_test
