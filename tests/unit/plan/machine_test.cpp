#include "engine/plan/machine.h"

#include <doctest/doctest.h>

#include <string>

namespace machine_test {

using namespace weft;

namespace {

std::string without_line(std::string text, const std::string& name) {
  const std::size_t begin = text.find(name + " ");
  REQUIRE(begin != std::string::npos);
  return text.erase(begin, text.find('\n', begin) - begin + 1);
}

}  // namespace

TEST_CASE("the constants of a machine print and parse back equal") {
  Machine machine;
  machine.stream[3] = 17.0 / 3;
  machine.merge_step = 1e-3;
  machine.cache_bytes[2] = 256.0 * 1024 * 1024;
  const auto parsed = parse_machine("# a comment\n\n" + print(machine) + "  \t\n", "file");
  REQUIRE(parsed);
  CHECK(*parsed == machine);
  CHECK(*parsed != Machine{});
  CHECK(print(*parsed) == print(machine));
}

TEST_CASE("defects of a calibration name the file and the line") {
  const std::string text = print(Machine{});
  const auto message = [](const std::string& defective) {
    const auto parsed = parse_machine(defective, "dir/calibration");
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().kind == ErrorKind::input);
    return parsed.error().message;
  };
  CHECK(message("speed 3\n" + text).starts_with("dir/calibration:1: 'speed' is no constant"));
  CHECK(message("\n# x\nmerge_step 1\n" + text).find("merge_step is given twice") != std::string::npos);
  CHECK(message(without_line(text, "gallop_base")).find("gallop_base is missing") != std::string::npos);
  CHECK(message("").find(":1: cache_bytes_l1 is missing") != std::string::npos);
  for (const char* value : {"", " ", " zero", " 0", " -1", " nan", " inf", " 1e999", " 1 2", " 0x10"}) {
    CAPTURE(value);
    const std::string defective = without_line(text, "loop_entry") + "loop_entry" + value + "\n";
    CHECK(message(defective).find("loop_entry wants a number above 0, from 1e-12 to 1e15") != std::string::npos);
  }
}

}  // namespace machine_test
