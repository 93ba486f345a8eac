// What a text cannot say: ids out of range, names that are none. The rules themselves are tested by
// tests/files/loop/errors.
#include <doctest/doctest.h>

#include "engine/loop/program.h"
#include "unit/share.h"

namespace verify_test {

using namespace weft;
using namespace weft::loop;

namespace {

Program valid() {
  return parse(R"(program p
  index  i, j
  input  M : f64 {dense, compressed<32,32>}   access M[i,j]
  output y : f64 {dense}                      access y[i]
  fact   extent(i) = 3
  for i: drive M, insert y @parallel(y: owner)
    with x[] : f64 {}
      for j: drive M
        x += M
      y += x
)")
      .value();
}

std::string refusal(const Program& program) {
  const Expected<void> verified = verify(program);
  if (verified) return "verified";
  CHECK(verified.error().kind == ErrorKind::input);
  CHECK(!print(program).empty());
  return verified.error().message;
}

For& outer(Program& program) { return std::get<For>(program.body[0].node); }
With& with(Program& program) { return std::get<With>(outer(program).body[0].node); }
Accumulate& last(Program& program) { return std::get<Accumulate>(with(program).body[1].node); }

}  // namespace

TEST_CASE("the program that is damaged below is valid") { CHECK(refusal(valid()) == "verified"); }

TEST_CASE("every id is checked before it is used") {
  const auto damaged = [](auto damage) {
    Program program = valid();
    damage(program);
    return refusal(program);
  };
  CHECK(damaged([](Program& p) { p.accesses[0].storage = 9; }) ==
        "binding: access M is of storage number 9, there are 3");
  CHECK(damaged([](Program& p) { p.accesses[0].indices[1] = 9; }) ==
        "binding: access M has index number 9, there are 2");
  CHECK(damaged([](Program& p) { outer(p).index = 9; }) == "binding: a loop over index number 9, there are 2");
  CHECK(damaged([](Program& p) { outer(p).steps[0].access = 9; }) == "binding: access number 9, there are 3");
  CHECK(damaged([](Program& p) { last(p).target = 9; }) == "binding: access number 9, there are 3");
  CHECK(damaged([](Program& p) { last(p).factors[0] = 9; }) == "binding: access number 9, there are 3");
  CHECK(damaged([](Program& p) { with(p).workspace = 9; }) == "binding: with storage number 9, there are 3");
  CHECK(damaged([](Program& p) { outer(p).marks.parallel[0].storage = 9; }) ==
        "binding: @parallel of loop i names storage number 9, there are 3");
  CHECK(damaged([](Program& p) {
          p.facts.push_back(ExtentFact{9, 1});
        }) == "facts: extent of index number 9, there are 2");
  CHECK(damaged([](Program& p) { p.facts.push_back(FiniteFact{9}); }) ==
        "facts: finite of storage number 9, there are 3");
  CHECK(damaged([](Program& p) { p.facts.push_back(LikeFact{9, 0}); }) == "like: storage number 9, there are 3");
  CHECK(damaged([](Program& p) { p.facts.push_back(LikeFact{1, 9}); }) == "like: storage number 9, there are 3");
}

TEST_CASE("names are what the text can hold, each once") {
  const auto named = [](auto rename) {
    Program program = valid();
    rename(program);
    return refusal(program);
  };
  CHECK(named([](Program& p) { p.indices[0] = ""; }) == "binding: \"\" is no name of index: use letters, digits and _");
  CHECK(named([](Program& p) { p.indices[0] = "1i"; }).starts_with("binding: \"1i\" is no name"));
  CHECK(named([](Program& p) { p.storages[0].name = "M.1"; }).starts_with("binding: \"M.1\" is no name of storage"));
  CHECK(named([](Program& p) { p.accesses[0].name = "M 1"; }).starts_with("binding: \"M 1\" is no name of access"));
  CHECK(named([](Program& p) { p.indices[0] = "j"; }) == "binding: index j is declared twice");
  CHECK(named([](Program& p) { p.storages[0].name = "y"; }) == "binding: storage y is declared twice");
  CHECK(named([](Program& p) { p.accesses[0].name = "y"; }) == "binding: access y is declared twice");
}

TEST_CASE("a workspace may not stand in two with, nor another role in one") {
  Program program = valid();
  Program twice = program;
  twice.body.push_back({With{2, {}}});
  std::get<With>(twice.body[1].node).body.push_back({Accumulate{2, {}, false, 0}});
  CHECK(refusal(twice) == "life cycle: workspace x stands in two with");
  with(program).workspace = 1;
  CHECK(refusal(program) == "life cycle: y is no workspace, but stands in a with");
}

TEST_CASE("a key goes on with levels like its first") {
  const auto keyed = [](auto damage) {
    Program program = parse("program p\n  input  M : f64 {dense, dense}   access M[i,j]\n  output s : f64 {} access s[]\n"
                            "  with w[i,j] : f64 {hashed(2)<32>}\n    for i: drive M, insert w\n"
                            "      for j: drive M, insert w\n        w += M\n    for i: drive w(sort)\n"
                            "      for j: drive w\n        s += w\n")
                          .value();
    damage(program.storages[2].levels);
    return refusal(program);
  };
  CHECK(keyed([](std::vector<Level>&) {}) == "verified");
  const std::string other = "a key goes on with a level of the same kind and widths, accumulator or hashed";
  CHECK(keyed([](std::vector<Level>& levels) { levels[0].joined = true; }) == "capability: level 0 of w is hashed: " + other);
  CHECK(keyed([](std::vector<Level>& levels) { levels[1].crd_bits = 64; }) == "capability: level 1 of w is hashed: " + other);
  CHECK(keyed([](std::vector<Level>& levels) { levels[1].kind = LevelKind::accumulator; }) ==
        "capability: level 1 of w is accumulator: " + other);
  CHECK(keyed([](std::vector<Level>& levels) { levels[0].kind = levels[1].kind = LevelKind::bitmap; }) ==
        "capability: level 1 of w is bitmap: " + other);
}

TEST_CASE("what would take for ever is refused") {
  std::string text = "program squares\n  output s : f64 {}   access s[]\n";
  const auto name = [](int n) { return "x" + std::to_string(n); };
  for (int n = 0; n < 40; ++n) text += std::string(2 + 2 * n, ' ') + "with " + name(n) + "[] : f64 {}\n";
  text += std::string(82, ' ') + "x0 += 1\n";
  for (int n = 1; n < 40; ++n)
    text += std::string(82, ' ') + name(n) + " += " + name(n - 1) + " * " + name(n - 1) + "\n";
  text += std::string(82, ' ') + "s += x39\n";
  if (test::is_drawn_sanitized(0)) {
    const Expected<void> verified = verify(parse(text).value());
    REQUIRE(!verified);
    CHECK(verified.error().kind == ErrorKind::unsupported);
    CHECK(verified.error().message.starts_with("coverage: the workspaces expand to more than"));
  }

  Program deep{"deep", {}, {}, {}, {}, {}};
  for (int n = 0; n < 300; ++n) {
    Bind bind;
    bind.body = std::move(deep.body);
    deep.body.clear();
    deep.body.push_back({std::move(bind)});
  }
  CHECK(refusal(deep) == "binding: statements nest deeper than 256");
}

TEST_CASE("a program without statements is valid: its outputs are zero") {
  CHECK(verify(parse("program zero\n  output s : f64 {}   access s[]\n").value()).has_value());
}

}  // namespace verify_test
