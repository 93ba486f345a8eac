#include "frontend/command_line.h"

#include <doctest/doctest.h>

namespace command_line_test {

using namespace weft;

namespace {

using Words = std::vector<std::string>;

Words read_as(const Words& given) {
  const auto words = command_words(given);
  REQUIRE(words);
  return *words;
}

std::string defect(const Words& given) {
  const auto words = command_words(given);
  REQUIRE_FALSE(words);
  CHECK(words.error().kind == ErrorKind::input);
  return words.error().message;
}

}  // namespace

TEST_CASE("an expression means run") {
  for (const char* expression : {"ij->i", "i,i", "y(i) = x(i)", "[", "a b", "->", "s=2", ".x"}) {
    CHECK(read_as({expression, "x"}) == Words{"run", expression, "x"});
    CHECK(read_as({"plan", expression}) == Words{"plan", expression});
  }
  CHECK(read_as({"--quiet", "ij->i", "x"}) == Words{"run", "--quiet", "ij->i", "x"});
  CHECK(read_as({"--", "-x(i)"}) == Words{"run", "--", "-x(i)"});
}

TEST_CASE("help and version") {
  CHECK(read_as({}) == Words{});
  CHECK(read_as({"help"}) == Words{"--help"});
  CHECK(read_as({"help", "--json"}) == Words{"--help"});
  CHECK(read_as({"help", "run", "x"}) == Words{"run", "--help"});
  CHECK(read_as({"version"}) == Words{"--version"});
  CHECK(read_as({"help", "help"}) == Words{"--help"});
  CHECK(read_as({"-help"}) == Words{"--help"});
  CHECK(read_as({"-?"}) == Words{"--help"});
  CHECK(read_as({"-V"}) == Words{"-V"});
}

TEST_CASE("words that are no command") {
  CHECK(defect({"runn"}).starts_with("weft has no command runn; did you mean run?"));
  CHECK(defect({"calibarte"}).find("did you mean calibrate?") != std::string::npos);
  CHECK(defect({"ijk"}).starts_with("weft has no command ijk; commands are"));
  CHECK(defect({"ij", "a b.tns"}).find("weft run ij 'a b.tns'; commands are") != std::string::npos);
  CHECK(defect({"y", "=", "T(i,j)", "T=x"}) == "quotes make one word of an expression: weft 'y = T(i,j)'");
  CHECK(defect({"trace", "x", "y"}).find("weft run trace x ...; commands are") != std::string::npos);
  CHECK(defect({"help", "pan"}).find("did you mean plan?") != std::string::npos);
  CHECK(defect({"-q", "run", "x->"}) == "options follow the command: weft run -q");
}

TEST_CASE("lines for TACO are translated") {
  CHECK(defect({"a(i) = b(i,j)", "-f=b:ds", "-i=b:my b.mtx", "-o=a:a.tns"}).ends_with(
      "\n  weft run 'a(i) = b(i,j)' 'b=my b.mtx' --format b:ds --out a=a.tns"));
  CHECK(read_as({"a(i) = b(i)", "-o=a.npy"}).size() == 3);  // a path of our own
}

TEST_CASE("options that are not known") {
  CHECK(unknown_option("--reapeat=3", "run", {"--repeat", "--out"}) == "--reapeat is no option of weft run; did you mean --repeat?");
  CHECK(unknown_option("-x", "info", {"--json", "-q"}) == "-x is no option of weft info; weft info --help lists them");
  CHECK(unknown_option("-x.tns", "info", {"--json"}) ==
        "-x.tns is no option of weft info; a file of that name is ./-x.tns");
  CHECK(long_option_with_one_dash({"run", "x", "-out", "y"}, "run", {"--out", "-o"}) ==
        "-out is no option of weft run; did you mean --out?");
  CHECK(long_option_with_one_dash({"run", "-quiet=1"}, "run", {"--quiet"}));
  CHECK(!long_option_with_one_dash({"run", "-oy.npy", "--out", "-", "-q", "--", "-out"}, "run", {"--out", "-o"}));
}

}  // namespace command_line_test
