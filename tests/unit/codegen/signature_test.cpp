#include "engine/codegen/signature.h"

#include <doctest/doctest.h>

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
      "        for r: locate B, insert x   @vector\n"
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
        "word 16: coefficient c0\nword 17: coefficient c1\nscratch x[r]: 8 bytes each\n");
  CHECK(words.scratch == std::vector<ScratchDemand>{{4, {2}, 8}});
  CHECK(signature(*program) == words);

  loop::Program known = *program;
  known.facts.emplace_back(loop::ExtentFact{2, 16});
  CHECK(signature(known).scratch.empty());  // the workspace is in registers now
  CHECK(signature(known).words.size() == words.words.size() - 2);
}
