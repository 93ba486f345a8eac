// A flat walk is one loop, unless iterations are counted; what is between the levels is done for every entry.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "engine/codegen/codegen.h"
#include "engine/loop/program.h"

namespace flat_test {

using namespace weft;

namespace {

constexpr std::string_view text = R"(program sum
  index  i, j, k
  input  T : f64 {dense, nonunique<32,32>, singleton<32>}   access T[i,j,k]
  input  b : f64 {dense}                                    access b[j]
  input  c : f64 {dense}                                    access c[k]
  output y : f64 {dense}                                    access y[i]
  for i: locate T, insert y
    for j: drive T, locate b @flat
      for k: drive T, locate c
        y += T * b * c
)";

std::size_t occurrences(const std::string& where, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = where.find(what); at != std::string::npos; at = where.find(what, at + 1)) ++count;
  return count;
}

std::string code_of(const std::string& program, const CodeOptions& options = {}) {
  const Expected<loop::Program> parsed = loop::parse(program);
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message);
  const Expected<void> verified = loop::verify(*parsed);
  REQUIRE_MESSAGE(verified.has_value(), verified.error().message);
  const Expected<std::string> code = llvm_text(*parsed, host_target(), options);
  REQUIRE_MESSAGE(code.has_value(), code.error().message);
  return *code;
}

}  // namespace

TEST_CASE("a flat walk is one loop") {
  const std::string inner = "for k: drive T, locate c";
  std::string nested(text);
  nested.erase(nested.find(" @flat"), 6);
  CHECK(occurrences(code_of(nested), inner) > 0);
  CHECK(occurrences(code_of(std::string(text)), inner) == 0);
  CHECK(occurrences(code_of(std::string(text), {.count = true}), inner) > 0);
}

}  // namespace flat_test
