#include <doctest/doctest.h>

#include <tuple>

#include "engine/loop/program.h"

namespace parse_test {

using namespace weft;
using namespace weft::loop;

namespace {

const std::string mttkrp =
    R"(program mttkrp
  index  i, j, k, r
  input  T : f64 {compressed<32,32>, compressed<32,32>, compressed<32,32>}   access T[i,j,k]
  input  B : f64 {dense, dense}                                              access B[j,r]
  input  C : f64 {dense, dense}                                              access C[k,r]
  output A : f64 {dense, dense}                                              access A[i,r]
  fact   extent(r) = 32
  for i: drive T, insert A                  @parallel(A: owner)
    for j: drive T, locate B
      with x[r] : f64 {dense}
        for k: drive T, locate C
          for r: locate C, insert x         @vector
            x += T * C
        for r: locate x, locate B, insert A @vector
          A += x * B
)";

std::string error_of(const std::string& text, ErrorKind kind = ErrorKind::input) {
  const Expected<Program> program = parse(text);
  if (program) return "parsed";
  CHECK(program.error().kind == kind);
  return program.error().message;
}

}  // namespace

TEST_CASE("the example of the design prints as it is read") {
  const Expected<Program> program = parse(mttkrp);
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  CHECK(print(*program) == mttkrp);
  CHECK(program->indices == std::vector<std::string>{"i", "j", "k", "r"});
  CHECK(program->storages.size() == 5);
  CHECK(program->storages[4].role == Role::workspace);
  CHECK(program->accesses[4] == Access{"x", 4, {3}});
  const For& i = std::get<For>(program->body.at(0).node);
  CHECK(i.steps == std::vector<Step>{{Use::drive, 0}, {Use::insert, 3}});
  CHECK(i.marks.parallel == std::vector<ParallelTarget>{{3, Reduction::owner}});
  CHECK(program->facts == std::vector<Fact>{ExtentFact{3, 32}});
}

TEST_CASE("without an index line the indices stand in the order of their first use") {
  std::string text = mttkrp;
  text.erase(text.find("  index"), text.find("  input") - text.find("  index"));
  CHECK(parse(text).value() == parse(mttkrp).value());
}

TEST_CASE("every form of the language prints as it is read") {
  const std::string text =
      R"(program forms
  index  u, v, w, b
  input  K : f32 {nonunique<64,32>, singleton<32>, singleton<64>} places<64>   access K.1[u,v,b] access K.2[v,w,b]
  input  D : f64 {dense<strided>, dense<strided>}                   access D[u,v]
  input  s : f64 {}                                                 access s[]
  input  c0 : f64 {dense}                                           access c0[u]
  output A : f64 {compressed<64,64>, dense}                         access A[b,w]
  output y : f64 {hashed<32>, bitmap}                               access y[b,w]
  output z : f32 {nonunique<64,32>, singleton<32>, singleton<64>}   access z[u,v,b]
  fact   extent(b) = 4294967296
  fact   full(K.0)
  fact   fiber(K.2) <= 4
  fact   finite(D)
  fact   like(z, K)
  with h : f64 {accumulator<64>}   access h.1[u] access h.2[v]
    with t[u,v,b] : f64 {hashed(2)<32>, dense}
      for u: drive K.1(merge), drive K.2(merge) @unroll(4) @prefetch(16)
        for v:                                  @parallel(A: append, y: private)
          bind locate D(table), locate D(search):
            t += coefficient(0) * c0 * K.1
            t -= c1
          t += 1
          t -= 1
        for v: drive t(sort)
          t += 1
        for w: locate K.2(gallop), locate K.1(probe)
          A -= c2 * K.1 * K.2
)";
  const Expected<Program> program = parse(text);
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  CHECK(program->storages[4].levels[0] == Level{LevelKind::compressed, 64, 64});
  CHECK(program->storages[8].levels ==
        std::vector<Level>{{LevelKind::hashed, 32, 32}, {LevelKind::hashed, 32, 32, false, true}, {LevelKind::dense}});
  CHECK(program->storages[0].place_bits == 64);
  CHECK(program->facts.back() == Fact(LikeFact{6, 0}));
  const std::string printed = print(*program);
  const Expected<Program> again = parse(printed);
  REQUIRE_MESSAGE(again.has_value(), again.error().message);
  CHECK(*again == *program);
  CHECK(print(*again) == printed);
}

TEST_CASE("ids in another order than the text's come back through the order line") {
  Program program = parse(mttkrp).value();
  // x first, then A, T, B, C: what a pass that numbers its own way would make.
  Program other = program;
  const std::vector<StorageId> place{2, 3, 4, 1, 0};
  for (StorageId id = 0; id < 5; ++id) {
    other.storages[place[id]] = program.storages[id];
    other.accesses[id].storage = place[id];
  }
  std::get<For>(other.body[0].node).marks.parallel[0].storage = place[3];
  For& i = std::get<For>(other.body[0].node);
  std::get<With>(std::get<For>(i.body[0].node).body[0].node).workspace = place[4];
  const std::string printed = print(other);
  CHECK(printed.find("  order  x, A, T, B, C | T, B, C, A, x\n") != std::string::npos);
  const Expected<Program> again = parse(printed);
  REQUIRE_MESSAGE(again.has_value(), again.error().message);
  CHECK(*again == other);
}

TEST_CASE("a keyword may be a name") {
  const std::string text =
      "program with\n"
      "  input  for : f64 {dense}   access for[in]\n"
      "  output bind : f64 {}       access bind[]\n"
      "  for in: drive for\n"
      "    bind += for\n";
  const Expected<Program> program = parse(text);
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  CHECK(parse(print(*program)).value() == *program);
}

TEST_CASE("errors name the line and point at the place") {
  CHECK(error_of("") == "line 1: expected \"program NAME\", the text is empty");
  CHECK(error_of("program p\n  input T : f64 {dense}  access T[i]\n  for i: drve T\n") ==
        "line 3: expected a step, one of: drive, locate, insert, append\n    for i: drve T\n           ^");
  CHECK(error_of("program p\n  for i: drive Q\n").starts_with("line 2: unknown access Q"));
  CHECK(error_of("program p\n  index i, i\n").starts_with("line 2: this index is already listed"));
  CHECK(error_of("program p\n  index i\n  input T : f64 {dense} access T[j]\n")
            .starts_with("line 3: index j is not in the line"));
  CHECK(error_of("program p\n  input T : f16 {dense}\n").starts_with("line 2: expected a scalar type"));
  CHECK(error_of("program p\n  input T : f64 {dens}\n").starts_with("line 2: expected a level kind"));
  CHECK(error_of("program p\n  with w[i,j] : f64 {bitmap(2)}\n")
            .starts_with("line 2: only accumulator and hashed levels have a key of several modes"));
  CHECK(error_of("program p\n  with w[i] : f64 {hashed(1)}\n").starts_with("line 2: expected a number of at least 2"));
  CHECK(error_of("program p\n  with w[i] : f64 {hashed(65)}\n").starts_with("line 2: expected a number of at most 64"));
  CHECK(error_of("program p\n  output y : f64 {}\n  fact like(y, t)\n").starts_with("line 3: unknown storage t"));
  CHECK(error_of("program p\n  input T : f64 {compressed<32,32,32>}\n").starts_with("line 2: a level has at most two"));
  CHECK(error_of("program p\n  input T : f64 {compressed<32,320>}\n").starts_with("line 2: expected a number of at"));
  CHECK(error_of("program p\n  input T : f64 {}\n  input T : f64 {}\n")
            .starts_with("line 3: storage T is declared twice"));
  CHECK(
      error_of("program p\n  input T : f64 {} access T[] access T[]\n").starts_with("line 2: access T is declared tw"));
  CHECK(error_of("program p\n  fact holds(T)\n").starts_with("line 2: expected a fact"));
  CHECK(error_of("program p\n  fact full(T)\n").starts_with("line 2: expected a storage and a level"));
  CHECK(error_of("program p\n  fact finite(T)\n").starts_with("line 2: unknown storage T"));
  CHECK(error_of("program p\n  for i:\n      for j:\n    for k:\n").starts_with("line 4: this line is indented more"));
  CHECK(error_of("program p\n  for i:\n for j:\n").starts_with("line 3: this line is indented less"));
  CHECK(error_of("program p\n  for i:\n  index i\n").starts_with("line 3: declarations stand before"));
  CHECK(error_of("program p\n  for i: @vectr\n").starts_with("line 2: expected a mark"));
  CHECK(error_of("program p\n  for i: @unroll(0)\n").starts_with("line 2: expected a number of at least 1"));
  CHECK(error_of("program p\n\tfor i:\n").starts_with("line 2: a tab"));
  CHECK(error_of("program p\n  index j, J = j / 0\n").starts_with("line 2: expected a number of at least 1"));
  CHECK(error_of("program p\n  index J = j / 4, j\n").starts_with("line 2: index j is not listed before this one"));
  CHECK(error_of("program p\n  index j, J = j\n").starts_with("line 2: expected \"/\" or \"%\", and a number"));
  CHECK(error_of("program p\n  index i, j, d = j - i\n").starts_with("line 2: expected \"below\""));
  CHECK(error_of("program p\n  index i, j, d = j + 3 - i below 2\n").starts_with("line 2: a number ends the sum"));
  CHECK(error_of("program p\n  index i, d = 3*k below 2\n").starts_with("line 2: index k is not listed before this one"));
  CHECK(error_of("program p\n  index i, d = (i - 1 / 2 below 2\n").starts_with("line 2: expected \")\""));
  CHECK(error_of("program p\n  for i: ~\n").starts_with("line 2: '~' stands for nothing here"));
  CHECK(error_of("program p\n  order T | T\n").starts_with("line 2: \"order\" lists every storage"));
  std::string deep = "program p\n";
  for (std::size_t depth = 0; depth < 300; ++depth) deep += std::string(depth + 1, ' ') + "for i:\n";
  CHECK(error_of(deep).find("statements nest deeper than 256") != std::string::npos);
  CHECK(error_of("program p extra\n").starts_with("line 1: expected the end of the line"));
  CHECK(error_of("program p\n  output a : f64 {} access a[]\n  a += 2\n").starts_with("line 3: expected an access"));
}

TEST_CASE("reserved forms are refused by name") {
  const std::string head =
      "program p\n  input T : f64 {compressed<32,32>}  access T[i]\n  output a : f64 {} access a[]\n";
  for (const char* body :
       {"  for i: drive T | T\n", "  for i in window(3):\n", "  with x[i] : f64 {sorted(3)}\n", "  semiring min_plus\n"}) {
    CAPTURE(body);
    CHECK(error_of(head + body, ErrorKind::unsupported).find(": not yet\n") != std::string::npos);
  }
}

TEST_CASE("a pattern is a fact about an input of dense and compressed levels") {
  const auto text = [](const std::string& levels, const std::string& fact) {
    return "program y\n  input  M : f64 {" + levels + "}   access M[i,j]\n  output y : f64 {dense}   access y[i]\n  fact   " + fact +
           "\n  for i: drive M, insert y\n    for j: drive M\n      y += M\n";
  };
  const std::string good = text("compressed<32,32>, compressed<32,32>", "pattern(M) = 18446744073709551615");
  const auto program = weft::loop::parse(good);
  REQUIRE_MESSAGE(program, program.error().message);
  REQUIRE(weft::loop::verify(*program));
  CHECK(*weft::loop::parse(weft::loop::print(*program)) == *program);
  CHECK(std::get<weft::loop::PatternFact>(program->facts.front()).digest == ~std::uint64_t{0});
  const auto canonical = weft::loop::canonical(*program).program;
  CHECK(weft::loop::print(canonical).find("pattern(t0) = 18446744073709551615") != std::string::npos);
  for (const auto& [levels, fact, wrong] :
       {std::tuple("compressed<32,32>, compressed<32,32>", "pattern(y) = 1", "only an input"),
        std::tuple("nonunique<32,32>, singleton<32>", "pattern(M) = 1", "dense or compressed"),
        std::tuple("compressed<32,32>, compressed<32,32>", "pattern(M) = 1\n  fact   pattern(M) = 2", "stated twice")}) {
    const auto parsed = weft::loop::parse(text(levels, fact));
    REQUIRE_MESSAGE(parsed, parsed.error().message);
    const auto verified = weft::loop::verify(*parsed);
    REQUIRE_FALSE(verified);
    CHECK(verified.error().message.find(wrong) != std::string::npos);
  }
}

TEST_CASE("that coordinates follow each other is a fact about a last level that is compressed") {
  const auto text = [](const std::string& levels, const std::string& fact) {
    return "program y\n  input  M : f64 {" + levels + "}   access M[i,j]\n  output y : f64 {dense}   access y[i]\n  fact   " + fact +
           "\n  for i: drive M, insert y\n    for j: drive M\n      y += M\n";
  };
  for (const bool from_zero : {false, true}) {
    const auto program = weft::loop::parse(text("compressed<32,32>, compressed<32,32>", from_zero ? "adjacent(M.1) = 0" : "adjacent(M.1)"));
    REQUIRE_MESSAGE(program, program.error().message);
    REQUIRE(weft::loop::verify(*program));
    CHECK(*weft::loop::parse(weft::loop::print(*program)) == *program);
    CHECK(program->facts == std::vector<Fact>{AdjacentFact{0, 1, from_zero}});
    const std::string canonical = weft::loop::print(weft::loop::canonical(*program).program);
    CHECK(canonical.find(from_zero ? "adjacent(t0.1) = 0\n" : "adjacent(t0.1)\n") != std::string::npos);
  }
  for (const auto& [levels, fact, wrong] :
       {std::tuple("compressed<32,32>, compressed<32,32>", "adjacent(y.0)", "only an input"),
        std::tuple("compressed<32,32>, compressed<32,32>", "adjacent(M.0)", "a last level that is compressed"),
        std::tuple("compressed<32,32>, dense", "adjacent(M.1)", "a last level that is compressed"),
        std::tuple("compressed<32,32>, compressed<32,32>", "adjacent(M.1)\n  fact   adjacent(M.1) = 0", "stated twice")}) {
    const auto parsed = weft::loop::parse(text(levels, fact));
    REQUIRE_MESSAGE(parsed, parsed.error().message);
    const auto verified = weft::loop::verify(*parsed);
    REQUIRE_FALSE(verified);
    CHECK(verified.error().message.find(wrong) != std::string::npos);
  }
}

}  // namespace parse_test
