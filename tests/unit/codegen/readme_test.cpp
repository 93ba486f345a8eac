// The small program of the README, its C and its code belong together.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "tests/unit/codegen/jit_run.h"

namespace readme_test {

using namespace weft;

namespace {

/// The text between the first "```" behind `heading` and the next.
std::string block_after(const std::string& text, const std::string& heading) {
  const std::size_t place = text.find(heading);
  REQUIRE_MESSAGE(place != std::string::npos, "no '", heading, "' in the README");
  const std::size_t begin = text.find("```\n", place) + 4;
  return text.substr(begin, text.find("```", begin) - begin);
}

}  // namespace

TEST_CASE("the README shows the code that is generated") {
  std::ifstream file(WEFT_SOURCE_DIR "/engine/codegen/README.md");
  std::stringstream readme;
  readme << file.rdbuf();
  const Expected<loop::Program> program = loop::parse(block_after(readme.str(), "## One small program"));
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  const Expected<std::string> text = llvm_text(*program, host_target(), {});
  REQUIRE_MESSAGE(text.has_value(), text.error().message);
  const std::string shown = block_after(readme.str(), "The inner loop as it is generated");
  CHECK_MESSAGE(text->find(shown) != std::string::npos, *text);

  const Expected<Jit> jit = Jit::create();
  REQUIRE(jit.has_value());
  const loop::Interpretation values{
      {{"i", 4}}, {{"d", {{{0}, 1}, {{1}, 2}, {{2}, 3}, {{3}, 4}}}, {"x", {{{1}, 5}, {{3}, 6}}}}, {}};
  const auto found = test::run_native(*jit, *program, values, host_target(), {}, {2});
  REQUIRE_MESSAGE(found.has_value(), found.error().message);
  CHECK(found->at("y") == loop::Entries{{{0}, 0}, {{1}, 10}, {{2}, 0}, {{3}, 24}});
}

}  // namespace readme_test
