// Loops over levels whose coordinates nothing asks for are one loop over entries: what the interpreter says, and no other loop is written.
#include <doctest/doctest.h>

#include <random>
#include <string>

#include "engine/codegen/target.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/share.h"

namespace entries_test {

using namespace weft;

namespace {

constexpr std::uint64_t rows = 23, columns = 11, depth = 37;

/// A program over T in these levels: `body` with "T i", "T j" and "T k" for what its loops do to the levels of T. A level with an
/// exclamation mark begins a flat walk.
std::string program_over(const std::vector<std::string>& levels, const std::string& facts, std::string body) {
  const std::vector<std::string> loops = {"T i", "T j", "T k"};
  std::string kinds;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const bool flat = levels[level].ends_with('!');
    kinds += (level == 0 ? "" : ", ") + levels[level].substr(0, levels[level].size() - (flat ? 1 : 0));
    const std::string step = levels[level] == "dense" ? "locate T" : "drive T";
    for (std::size_t at = body.find(loops[level]); at != std::string::npos; at = body.find(loops[level])) {
      if (flat) body.insert(body.find('\n', at), " @flat");
      body.replace(at, 3, step);
    }
  }
  return "program sums\n  index  i, j, k, r\n  input  T : f64 {" + kinds + "}   access T[i,j,k]\n" + facts + body;
}

const std::string x = "  input  x : f64 {dense}   access x[k]\n";
const std::string z = "  input  z : f64 {dense}   access z[j]\n";
const std::string B = "  input  B : f64 {dense, dense}   access B[k,r]\n";

const std::vector<std::vector<std::string>> layouts = {
    {"compressed<32,32>", "compressed<32,32>", "compressed<32,32>"}, {"dense", "compressed<32,32>", "compressed<64,32>"},
    {"compressed<32,32>", "dense", "compressed<32,32>"},             {"dense", "dense", "compressed<32,64>"},
    {"dense", "nonunique<32,32>", "singleton<32>"},                  {"compressed<32,32>", "nonunique<32,32>", "singleton<32>"},
    {"nonunique<32,32>", "singleton<32>", "singleton<32>"},          {"compressed<32,32>", "compressed<32,32>", "dense"},
    {"dense", "nonunique<32,32>!", "singleton<32>"},                 {"compressed<32,32>", "nonunique<32,32>!", "singleton<32>"},
    {"nonunique<32,32>!", "singleton<32>", "singleton<32>"}};

const std::vector<std::string> bodies = {
    "  output s : f64 {}   access s[]\n  for i: T i @parallel(s: private)\n    for j: T j\n      for k: T k\n        s += T * T\n",
    "  output s : f32 {}   access s[]\n  for i: T i @parallel(s: private)\n    for j: T j\n      for k: T k\n        s -= T\n",
    "  output y : f64 {dense}   access y[i]\n  for i: T i, insert y @parallel(y: owner)\n    for j: T j\n      for k: T k\n"
    "        y += T\n",
    "  output y : f64 {dense}   access y[j]\n  for i: T i @parallel(y: private)\n    for j: T j, insert y\n      for k: T k\n"
    "        y += T\n",
    "  output y : f64 {dense}   access y[k]\n  for i: T i @parallel(y: private)\n    for j: T j\n      for k: T k, insert y\n"
    "        y += T * T\n",
    x + "  output y : f64 {dense}   access y[i]\n  for i: T i, insert y @parallel(y: owner)\n    for j: T j\n      for k: T k, locate x\n"
    "        y += T * x\n",
    z + "  output y : f64 {dense}   access y[i]\n  for i: T i, insert y @parallel(y: owner)\n    for j: T j, locate z\n      for k: T k\n"
    "        y += T * z\n",
    B + "  output Y : f64 {dense, dense}   access Y[i,r]\n  fact   extent(r) = 5\n  for i: T i, insert Y @parallel(Y: owner)\n"
    "    for j: T j\n"
    "      for k: T k, locate B\n        for r: locate B, insert Y @vector\n          Y += T * B\n",
    // What is looked up by a finger begins anew with each fiber, what is searched does not have to.
    "  input  x : f64 {compressed<32,32>}   access x[k]\n  output y : f64 {dense}   access y[i]\n  for i: T i, insert y @parallel(y: owner)\n"
    "    for j: T j\n      for k: T k, locate x(gallop)\n        y += T * x\n",
    "  input  x : f64 {compressed<32,32>}   access x[k]\n  output y : f64 {dense}   access y[i]\n  for i: T i, insert y @parallel(y: owner)\n"
    "    for j: T j\n      for k: T k, locate x(search)\n        y += T * x\n",
    "  output s : f64 {}   access s[]\n  output y : f64 {dense}   access y[i]\n  for i: T i, insert y @parallel(s: private, y: owner)\n"
    "    for j: T j\n      for k: T k\n        s += T\n        y += T * T\n"};

const std::string few = "  fact   fiber(T.2) <= 4\n", two = "  fact   fiber(T.2) = 2\n", adjacent = "  fact   adjacent(T.2)\n";

/// As a fact says, or with rows and fibers without entries.
loop::Interpretation values(std::uint64_t seed, const std::string& fact) {
  std::mt19937_64 random(seed);
  loop::Interpretation made;
  made.extents = {{"i", rows}, {"j", columns}, {"k", depth}, {"r", 5}};
  loop::Entries& T = made.inputs["T"];
  T = test::random_entries(random, {rows, columns, depth}, fact.empty() && seed % 2 == 0 ? 0.05 : 0.6);
  const auto is_left_out = [](const auto& entry) { return entry.first[0] % 5 == 2 || (entry.first[0] + entry.first[1]) % 4 == 0; };
  if (fact.empty()) std::erase_if(T, is_left_out);
  if (fact == few) std::erase_if(T, [](const auto& entry) { return entry.first[2] % 8 != 1 || entry.first[2] > 28; });
  if (fact == two || fact == adjacent) {
    T.clear();
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < columns; ++j)
        for (std::uint64_t n = 0; n < (fact == two ? 2 : i * j % 19); ++n)
          T[{i, j, (i + j) % 9 + n * (fact == two ? 3 : 1)}] = static_cast<double>(random() % 9) - 4;
  }
  made.inputs["x"] = test::random_entries(random, {depth}, 0.8);
  made.inputs["z"] = test::random_entries(random, {columns}, 1);
  made.inputs["B"] = test::random_entries(random, {depth, 5}, 1);
  return made;
}

/// Elements of dense outputs that nothing was added to are zeros.
std::map<std::string, loop::Entries> nonzeros(std::map<std::string, loop::Entries> outputs) {
  for (auto& [name, entries] : outputs) std::erase_if(entries, [](const auto& entry) { return entry.second == 0; });
  return outputs;
}

}  // namespace

TEST_CASE("sums over levels whose coordinates nothing asks for are those of the interpreter") {
  std::uint64_t turn = 0;
  for (const std::vector<std::string>& levels : layouts) {
    for (const std::string& body : bodies) {
      // Facts of single fibers say nothing of several.
      const bool packed = levels[2].starts_with("compressed");
      for (const std::string& facts : {std::string(), few, two, adjacent}) {
        if (!facts.empty() && !packed) continue;
        const std::string text = program_over(levels, facts, body);
        CAPTURE(text);
        const auto parsed = loop::parse(text);
        REQUIRE_MESSAGE(parsed, parsed.error().message);
        if (!loop::verify(*parsed)) {
          CHECK(body.find("(gallop)") != std::string::npos);  // a finger where coordinates do not rise
          continue;
        }
        const loop::Interpretation given = values(turn, facts);
        const auto expected = loop::interpret(*parsed, given);
        REQUIRE_MESSAGE(expected, expected.error().message);
        for (const unsigned bits : {512U, 256U, 128U}) {
          if (bits > vector_bits(host_target())) continue;
          for (const CodeOptions& options : {CodeOptions{}, CodeOptions{.strict_fp = true}, CodeOptions{.checked = true}}) {
            // 5 and 11 have no factor in common with the machines and options.
            if (!test::is_drawn(++turn, test::is_sanitized() ? 11 : 5)) continue;
            const auto jit = Jit::create();
            REQUIRE(jit);
            const auto found = test::run_native(*jit, *parsed, given, test::host_with_bits(bits), options, {0, 3, 3, 14});
            REQUIRE_MESSAGE(found, found.error().message);
            CHECK(nonzeros(*found) == nonzeros(*expected));
          }
        }
      }
    }
  }
}

TEST_CASE("of levels whose coordinates nothing asks for one loop is written, of vectors of values where none is") {
  const auto code = [](std::size_t layout, std::size_t body, const CodeOptions& options = {}) {
    const loop::Program program = test::program_of(program_over(layouts[layout], "", bodies[body]));
    const auto text = llvm_text(program, test::host_with_bits(256), options);
    REQUIRE_MESSAGE(text.has_value(), text.error().message);
    return *text;
  };
  const auto writes = [](const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; };
  for (const std::size_t layout : {0U, 1U, 2U, 3U, 4U, 8U}) {
    const std::string read_j = "ptr %\"crd T.1\", i64", read_k = "ptr %\"crd T.2\", i64";
    CHECK_FALSE(writes(code(layout, 0), read_k));  // s += T * T
    CHECK(writes(code(layout, 0), "llvm.masked.load"));
    CHECK_FALSE(writes(code(layout, 2), read_j));
    CHECK_FALSE(writes(code(layout, 5), read_j));  // y += T * x: where k are read, j are not
    CHECK(writes(code(layout, 5), read_k));
    CHECK_FALSE(writes(code(layout, 0, {.strict_fp = true}), "llvm.masked.load"));
    CHECK(test::count(code(layout, 5), "for j:") == 0);
    // Where iterations are counted every loop is written.
    CHECK(test::count(code(layout, 5, {.count = true}), "for j:") > 0);
  }
}

}  // namespace entries_test
