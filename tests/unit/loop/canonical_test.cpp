#include <doctest/doctest.h>

#include "engine/loop/program.h"

namespace canonical_test {

using namespace weft;
using namespace weft::loop;

namespace {

const char* const first = R"(program first
  index  i, j, r
  input  M : f64 {dense, compressed<32,32>}   access M[i,j]
  input  B : f64 {dense, dense}               access B[j,r]
  output A : f64 {dense, dense}               access A[i,r]
  fact   extent(r) = 4
  fact   finite(B)
  for i: drive M, insert A @parallel(A: owner)
    with x[r] : f64 {dense}
      for j: drive M, locate B
        for r: locate B, insert x @vector
          x += c0 * M * B
      for r: locate x, insert A @vector
        A += c1 * x
)";

// The same under other names, with other numbers of everything, and with facts and coefficients in another order.
const char* const second = R"(program second
  index  w, u, v
  input  F : f64 {dense, dense}               access F[v,w]
  output R : f64 {dense, dense}               access R[u,w]
  input  S : f64 {dense, compressed<32,32>}   access S[u,v]
  fact   finite(F)
  fact   extent(w) = 4
  for u: drive S, insert R @parallel(R: owner)
    with t[w] : f64 {dense}
      for v: drive S, locate F
        for w: locate F, insert t @vector
          t += c1 * S * F
      for w: locate t, insert R @vector
        R += c0 * t
)";

}  // namespace

TEST_CASE("programs equal up to names have one canonical form") {
  const Canonical a = canonical(parse(first).value());
  const Canonical b = canonical(parse(second).value());
  CHECK(a.program == b.program);
  CHECK(print(a.program) == R"(program kernel
  index  i0, i1, i2
  input  t0 : f64 {dense, compressed<32,32>}   access t0[i0,i1]
  output t1 : f64 {dense, dense}               access t1[i0,i2]
  input  t2 : f64 {dense, dense}               access t2[i1,i2]
  fact   extent(i2) = 4
  fact   finite(t2)
  for i0: drive t0, insert t1        @parallel(t1: owner)
    with t3[i2] : f64 {dense}
      for i1: drive t0, locate t2
        for i2: locate t2, insert t3 @vector
          t3 += c0 * t0 * t2
      for i2: locate t3, insert t1   @vector
        t1 += c1 * t3
)");
  CHECK(parse(print(a.program)).value() == a.program);
  CHECK(a.storages == std::vector<StorageId>{0, 2, 1, 3});
  CHECK(a.indices == std::vector<IndexId>{0, 1, 2});
  CHECK(a.coefficients == std::vector<std::uint32_t>{0, 1});
  CHECK(b.storages == std::vector<StorageId>{2, 1, 0, 3});
  CHECK(b.indices == std::vector<IndexId>{1, 2, 0});
  CHECK(b.coefficients == std::vector<std::uint32_t>{1, 0});
}

TEST_CASE("the loop that a finger is kept above is one of the canonical form") {
  const std::string text = R"(program kept
  index  c, J, j = 4*J + c below 15
  input  A : f64 {compressed<32,32>, dense}   access A[J,c]
  input  x : f64 {compressed<32,32>}          access x[j]
  output y : f64 {}                           access y[]
  fact   extent(c) = 4
  for J: drive A
    for c: locate A, locate x(gallop J)
      y += A * x
)";
  const Program kept = parse(text).value();
  CHECK(print(kept) == text);
  REQUIRE(verify(kept));
  const Canonical found = canonical(kept);
  CHECK(print(found.program).find("for i1: locate t0, locate t1(gallop i0)") != std::string::npos);
  CHECK(canonical(found.program).program == found.program);
  std::string own = text;
  own.replace(own.find("(gallop J)"), 10, "");
  CHECK(canonical(parse(own).value()).program != found.program);
}

TEST_CASE("the canonical form of a canonical form is itself") {
  const Canonical once = canonical(parse(first).value());
  const Canonical twice = canonical(once.program);
  CHECK(twice.program == once.program);
  CHECK(twice.storages == std::vector<StorageId>{0, 1, 2, 3});
}

TEST_CASE("what shapes code stays: widths that exist, algorithms, marks, facts, roles") {
  const Canonical base = canonical(parse(first).value());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = first;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    return canonical(parse(text).value()).program != base.program;
  };
  CHECK(changed("compressed<32,32>", "compressed<32,64>"));
  CHECK(changed("compressed<32,32>", "compressed<64,32>"));
  CHECK(changed("drive M, insert A", "drive M, insert A @unroll(2)"));
  CHECK(changed("locate B\n", "locate B(table)\n"));
  CHECK(changed("  fact   finite(B)\n", ""));
  CHECK(changed("extent(r) = 4", "extent(r) = 5"));
  CHECK(changed("x[r] : f64", "x[r] : f32"));
  CHECK(changed("x += c0", "x -= c0"));
  CHECK(changed("A += c1", "A += c0"));
  // What does not: the widths of arrays that a dense level does not have, a fact said twice.
  CHECK(!changed("  input  B : f64 {dense, dense}", "  input  B : f64 {dense<64,64>, dense}"));
  CHECK(!changed("  fact   finite(B)\n", "  fact   finite(B)\n  fact   finite(B)\n"));
}

TEST_CASE("accesses of one storage are numbered, what the body never meets comes last") {
  const Canonical found = canonical(parse(R"(program chain
  index  z, u, v, w
  input  N : f64 {dense}          access N[z]
  input  K : f64 {dense, dense}   access K.b[v,w] access K.a[u,v]
  output s : f64 {}               access s[]
  for u: locate K.a
    for v: locate K.a, locate K.b
      for w: locate K.b
        s += K.a * K.b
)")
                                        .value());
  CHECK(found.program.accesses[0].name == "t0.1");
  CHECK(found.program.accesses[0].indices == std::vector<IndexId>{0, 1});
  CHECK(found.program.accesses[1].name == "t0.2");
  CHECK(found.storages == std::vector<StorageId>{1, 2, 0});
  CHECK(found.indices == std::vector<IndexId>{1, 2, 3, 0});
}

TEST_CASE("indices that others give come last, in the order of the accesses") {
  const std::string_view body = "\n  input B : f64 {dense, dense, dense}   access B[J,i,c]\n  output s : f64 {}   access s[]\n"
                                "  for j: locate B\n    for i: locate B, locate B\n      s += B\n";
  const Canonical a = canonical(parse(std::string("program a\n  index  i, j, J = j / 4, c = j % 4").append(body)).value());
  const Canonical b = canonical(parse(std::string("program b\n  index  j, c = j % 4, J = j / 4, i").append(body)).value());
  CHECK(a.program == b.program);
  CHECK(print(a.program).starts_with("program kernel\n  index  i0, i1, i2 = i0 / 4, i3 = i0 % 4\n"));
  CHECK(a.indices == std::vector<IndexId>{1, 0, 2, 3});
  CHECK(parse(print(a.program)).value() == a.program);
  CHECK(with_names(a, parse(std::string("program a\n  index  i, j, J = j / 4, c = j % 4").append(body)).value()).indices ==
        std::vector<std::string>{"j", "i", "J", "c"});
}

TEST_CASE("sums of indices are the same in any order") {
  const std::string_view body = "\n  input B : f64 {dense, dense}   access B[d,q]\n  output s : f64 {}   access s[]\n"
                                "  for j:\n    for i: locate B, locate B\n      s += B\n";
  const auto read = [&](const std::string& indices) {
    return canonical(parse("program a\n  index " + indices + std::string(body)).value());
  };
  const Canonical a = read("i, j, d = 3*j - i + 4 below 11, q = (j - 2*i) / 2 % 3 below 3");
  const Canonical b = read("j, i, q = (-2*i + j) / 2 % 3 below 3, d = -i + 3*j + 4 below 11");
  CHECK(a.program == b.program);
  CHECK(print(a.program).starts_with("program kernel\n  index  i0, i1, i2 = 3*i0 - i1 + 4 below 11, i3 = (i0 - 2*i1) / 2 % 3 below 3\n"));
  CHECK(parse(print(a.program)).value() == a.program);
}

}  // namespace canonical_test
