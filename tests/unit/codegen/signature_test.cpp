#include "engine/codegen/signature.h"

#include <doctest/doctest.h>

namespace signature_test {

using namespace weft;

TEST_CASE("a word for everything a kernel reads, and nothing else") {
  const Expected<loop::Program> program = loop::parse(
      "program p\n"
      "  index  i, j, r\n"
      "  input  T : f64 {compressed<32,32>, compressed<64,32>}   access T[i,j]\n"
      "  input  K : f32 {nonunique<32,64>, singleton<64>}        access K[i,j]\n"
      "  input  B : f64 {dense<strided>, dense<strided>}         access B[j,r]\n"
      "  output A : f64 {dense, dense}                           access A[i,r]\n"
      "  fact   extent(j) = 5\n"
      "  for i: drive T, drive K, insert A\n"
      "    with x[r] : f64 {dense}\n"
      "      for j: drive T, drive K, locate B\n"
      "        for r: locate B, insert x\n"
      "          x += c1 * T * K * B\n"
      "      for r: locate x, insert A     @vector\n"
      "        A += c0 * x\n");
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  const Signature words = signature(*program);
  CHECK(print(words, *program) ==
        "word 0: pos T.0\nword 1: crd T.0\nword 2: pos T.1\nword 3: crd T.1\nword 4: values T\n"
        "word 5: pos K.0\nword 6: crd K.0\nword 7: crd K.1\nword 8: values K\n"
        "word 9: stride B.0\nword 10: stride B.1\nword 11: values B\nword 12: values A\n"
        "word 13: scratch x\nword 14: extent i\nword 15: extent r\n"
        "word 16: coefficient c0\nword 17: coefficient c1\nscratch x[r]: 8 bytes each\nbegun A\n");
  CHECK(words.scratch == std::vector<ScratchDemand>{{4, {2}, 8}});
  CHECK(signature(*program) == words);

  loop::Program known = *program;
  known.facts.emplace_back(loop::ExtentFact{2, 16});
  CHECK(signature(known).words.size() == words.words.size() - 1);
  auto& rows = std::get<loop::With>(std::get<loop::For>(known.body.front().node).body.front().node).body;
  auto& terms = std::get<loop::For>(rows.front().node).body;
  std::get<loop::For>(terms.front().node).marks.vector = true;
  CHECK(signature(known).scratch.empty());  // the workspace is in registers now
  CHECK(signature(known).words.size() == words.words.size() - 2);
}

TEST_CASE("results that grow and workspaces that know their entries") {
  const Expected<loop::Program> program = loop::parse(
      "program p\n  index i, j, k\n"
      "  input  B : f64 {dense, compressed<32,32>}              access B[i,j]\n"
      "  output A : f32 {compressed<64,32>, compressed<64,32>}  access A[j,i]\n"
      "  output L : f64 {dense, compressed<32,32>}              access L[i,j]\n"
      "  fact   like(L, B)\n"
      "  with w[j,i] : f32 {accumulator(2)<32>}\n    with h[j] : f64 {hashed<32>}\n"
      "      for i: drive B, insert w, insert L\n        for j: drive B, insert w, insert L\n"
      "          w += B\n          L += B\n");
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  loop::Program known = *program;
  known.facts.emplace_back(loop::ExtentFact{0, 3});
  known.facts.emplace_back(loop::ExtentFact{1, 4});
  known.facts.emplace_back(loop::ExtentFact{2, 5});
  loop::Program placed = known;
  placed.storages[0].place_bits = 64;
  CHECK(print(signature(placed), placed)
            .starts_with("word 0: pos B.1\nword 1: crd B.1\nword 2: values B\nword 3: places B\nword 4: elements B\nword 5: values L\n"));
  const Signature words = signature(known);
  CHECK(print(words, known) ==
        "word 0: pos B.1\nword 1: crd B.1\nword 2: values B\nword 3: values L\n"
        "word 4: scratch w\nword 5: scratch marks w.1\nword 6: scratch touched w\n"
        "word 7: scratch crd w.0\nword 8: scratch crd w.1\n"
        "scratch w[j,i]: 4 bytes each\nscratch marks w.1[j,i]: 1 bytes each\nscratch touched w[j,i]: 8 bytes each\n"
        "scratch crd w.0[j,i]: 4 bytes each\nscratch crd w.1[j,i]: 4 bytes each\nappended A\nhashed h\n");
  CHECK(words.appended == std::vector<std::uint32_t>{1});
  CHECK(words.hashed == std::vector<std::uint32_t>{4});
  CHECK(words.scratch[2].extra_elements == 1);
}

}  // namespace signature_test
