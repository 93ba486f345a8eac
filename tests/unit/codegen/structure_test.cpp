#include "engine/codegen/structure.h"

#include <doctest/doctest.h>

#include "engine/codegen/codegen.h"
#include "tests/unit/codegen/jit_run.h"

namespace structure_test {

using namespace weft;
using namespace weft::loop;

namespace {

// Of all of its steps, none taken before it.
std::vector<Hold> holds(const Program& program, const For& each, const Depths& depths) {
  return weft::holds(program, each, each.steps, depths);
}
bool may_skip(const Program& program, const For& each, const Depths& depths) { return weft::may_skip(program, each, each.steps, depths); }

Program program_of(const std::string& text) {
  const Expected<Program> program = parse(text);
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  const Expected<void> verified = verify(*program);
  REQUIRE_MESSAGE(verified.has_value(), verified.error().message);
  return *program;
}

Program mttkrp(const std::string& fact) {
  return program_of(
      "program mttkrp\n"
      "  index  i, j, k, r\n"
      "  input  T : f64 {compressed<32,32>, compressed<32,32>, compressed<32,32>}   access T[i,j,k]\n"
      "  input  B : f64 {dense, dense}   access B[j,r]\n"
      "  input  C : f64 {dense, dense}   access C[k,r]\n"
      "  output A : f64 {dense, dense}   access A[i,r]\n" +
      fact +
      "  for i: drive T, insert A\n"
      "    for j: drive T, locate B\n"
      "      with x[r] : f64 {dense}\n"
      "        for k: drive T, locate C\n"
      "          for r: locate C, insert x @vector\n"
      "            x += T * C\n"
      "        for r: locate x, locate B, insert A @vector\n"
      "          A += x * B\n");
}

const For& loop_at(const Program& program, std::initializer_list<std::size_t> path) {
  const loop::Block* block = &program.body;
  const For* found = nullptr;
  for (const std::size_t place : path) {
    const Statement& statement = (*block)[place];
    if (const auto* with = std::get_if<With>(&statement.node)) {
      block = &with->body;
      continue;
    }
    found = &std::get<For>(statement.node);
    block = &found->body;
  }
  return *found;
}

}  // namespace

TEST_CASE("a workspace of small known extent under vector loops lives in registers") {
  const Program small = mttkrp("  fact extent(r) = 128\n");
  CHECK(in_registers(small, 4));
  CHECK_FALSE(in_registers(small, 3));  // an output
  CHECK_FALSE(is_blocked_row(small, 4));
  CHECK(is_blocked_row(mttkrp("  fact extent(r) = 129\n"), 4));  // a part of it at a time
  CHECK(in_registers(mttkrp("  fact extent(r) = 129\n"), 4));
  CHECK_FALSE(in_registers(mttkrp("  fact extent(r) = 513\n"), 4));
  CHECK(in_registers(mttkrp(""), 4));  // a window at a time, whatever the extent
  CHECK(known_extent(small, 3) == 128);
  CHECK_FALSE(known_extent(small, 0).has_value());
}

TEST_CASE("vector loops, and what makes a marked loop an ordinary one") {
  const Program program = mttkrp("");
  CHECK(is_vector_loop(program, loop_at(program, {0, 0, 0, 0, 0})));
  CHECK_FALSE(is_vector_loop(program, loop_at(program, {0, 0, 0, 0})));
  CHECK(contains_loop(loop_at(program, {0, 0}).body));
  CHECK_FALSE(contains_loop(loop_at(program, {0, 0, 0, 0, 0}).body));
  const auto marked = [](const std::string& input, const std::string& drive, const std::string& output,
                         const std::string& steps) {
    const Program vector =
        program_of("program p\n  index i, r\n  input B : f64 {" + input + "} access B[r]\n  output A : f64 {" + output +
                   "\n  for i:" + (steps.empty() ? " insert A" : "") + "\n    for r: " + drive + " B" + steps +
                   " @vector\n      A += B\n");
    return is_vector_loop(vector, loop_at(vector, {0, 0}));
  };
  CHECK(marked("dense", "locate", "dense} access A[i]", ""));
  CHECK(marked("dense<strided>", "locate", "dense} access A[i]", ""));
  CHECK_FALSE(marked("compressed<32,32>", "drive", "dense} access A[i]", ""));
  // The target's lanes are not neighbours.
  CHECK_FALSE(marked("dense", "locate", "dense, dense} access A[r,i]", ", insert A, insert A"));
}

TEST_CASE("targets held across a loop") {
  const Program program = mttkrp("  fact extent(r) = 32\n");
  Depths depths(program.accesses.size(), 0);
  CHECK(holds(program, loop_at(program, {0}), depths).empty());
  depths[0] = depths[3] = 1;  // T and A under i
  CHECK(holds(program, loop_at(program, {0, 0}), depths) == std::vector<Hold>{{3, 3}});
  CHECK_FALSE(may_skip(program, loop_at(program, {0, 0}), depths));
  const Program wide = mttkrp("");
  CHECK(holds(wide, loop_at(wide, {0, 0}), depths).empty());

  const Program merged = program_of(
      "program p\n  index i, j\n"
      "  input a : f64 {dense, compressed<32,32>} access a[i,j]\n"
      "  input b : f64 {compressed<32,32>} access b[j]\n"
      "  output y : f64 {dense} access y[i]\n"
      "  for i: drive a, insert y\n    for j: drive a, drive b\n      y += a * b\n");
  CHECK(holds(merged, loop_at(merged, {0, 0}), {1, 0, 1}) == std::vector<Hold>{{2, std::nullopt}});
  CHECK(may_skip(merged, loop_at(merged, {0, 0}), {1, 0, 1}));
}

TEST_CASE("runs of a chain") {
  const Program coo = program_of(
      "program p\n  index i, j, k\n"
      "  input T : f64 {nonunique<32,32>, singleton<32>, singleton<32>} access T[i,j,k]\n"
      "  output s : f64 {} access s[]\n"
      "  for i: drive T\n    for j: drive T\n      for k: drive T\n        s += T\n");
  CHECK(is_run_level(coo.storages[0], 0));
  CHECK(is_run_level(coo.storages[0], 1));
  CHECK_FALSE(is_run_level(coo.storages[0], 2));
  CHECK_FALSE(is_run_level(mttkrp("").storages[0], 0));
}

TEST_CASE("what no code is written for is named") {
  const Expected<Program> inserting = parse(
      "program p\n  index i\n  input a : f64 {compressed<32,32>} access a[i]\n"
      "  output y : f64 {bitmap} access y[i]\n  for i: drive a, insert y\n    y += a\n");
  REQUIRE(inserting.has_value());
  const auto object = compile(*inserting, test::host_with_bits(512), {});
  REQUIRE_FALSE(object.has_value());
  CHECK(object.error().kind == ErrorKind::unsupported);
  CHECK(object.error().message == "built: level 0 of output y is bitmap: no code is written for that yet");
}

TEST_CASE("the loop that forgets what it reads") {
  const auto with_body = [](const std::string& body) {
    return program_of(
        "program p\n  index i, j\n  input M : f64 {dense, compressed<32,32>} access M[i,j]\n"
        "  output y : f64 {dense} access y[j]\n  output z : f64 {dense} access z[j]\n"
        "  with w[j] : f64 {accumulator<32>} access w.1[j] access w.2[j]\n" + body);
  };
  const auto last = [](const Program& program) {
    return last_drain(program, std::get<loop::With>(program.body[0].node));
  };
  const std::string fill = "    for i: drive M\n      for j: drive M, insert w.1\n        w.1 += M\n";
  const std::string drain = "    for j: drive w.1, insert y\n      y += w.1\n";
  const Program one = with_body(fill + drain);
  CHECK(last(one) == &std::get<For>(std::get<loop::With>(one.body[0].node).body[1].node));
  CHECK(last(with_body(fill + drain + drain)) != nullptr);
  CHECK(last(with_body(fill)) == nullptr);
  CHECK(last(with_body(fill + "    for i: drive M\n      for j: drive M, locate w.1, insert y\n        y += M * w.1\n")) == nullptr);
  CHECK(last(with_body(fill + "    for j: drive w.1, locate w.2, insert y\n      y += w.1 * w.2\n")) == nullptr);
}

TEST_CASE("elements of a row over a few coordinates are held across the loops around it, from four on as vectors") {
  const auto lanes = [](const std::string& extent, const std::string& last, const std::string& body) {
    return program_of("program sell\n  index  i, s, r, j\n  input  B : f64 {dense, compressed<32,32>, dense, " + last +
                      "}   access B[i,s,r,j]\n  input  x : f64 {dense}   access x[j]\n  output y : f64 {dense, dense}   access y[i,r]\n" +
                      extent + "  for i: locate B, insert y @parallel(y: owner)\n    for s: drive B\n      for r: locate B, insert y\n" +
                      body);
  };
  const std::string scalar = "        for j: drive B, locate x\n          y += B * x\n";
  const std::string four = "  fact   extent(r) = 4\n";
  const Program sell = lanes(four, "singleton<32>", scalar);
  const Depths depths = {1, 0, 1};
  CHECK(holds(sell, loop_at(sell, {0, 0}), depths) == std::vector<Hold>{{2, 2, false}});
  const Program narrow = lanes("  fact   extent(r) = 3\n", "singleton<32>", scalar);
  CHECK(holds(narrow, loop_at(narrow, {0, 0}), depths) == std::vector<Hold>{{2, 2, true}});
  // Of more elements than are written out, over fibers that are loops, and under vectors each element is summed for itself.
  const Program many = lanes("  fact   extent(r) = 9\n", "singleton<32>", scalar);
  CHECK(holds(many, loop_at(many, {0, 0}), depths).empty());
  const Program fibers = lanes(four, "compressed<32,32>", scalar);
  CHECK(holds(fibers, loop_at(fibers, {0, 0}), depths).empty());
  const Program vectors =
      lanes(four + "  fact   extent(j) = 8\n", "dense", "        for j: locate B, locate x @vector\n          y += B * x\n");
  CHECK(holds(vectors, loop_at(vectors, {0, 0}), depths).empty());
}

}  // namespace structure_test
