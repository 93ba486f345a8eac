#include "engine/lower/lower.h"

#include <doctest/doctest.h>

#include "lowered_case.h"

namespace lower_test {

using namespace weft;
using namespace weft::test;

namespace {

const std::map<char, std::uint64_t> small = {{'i', 3}, {'j', 4}, {'k', 5}, {'l', 3}, {'r', 4}};

Case mttkrp() {
  return {{{'i', 3}, {'j', 4}, {'k', 5}, {'r', 32}},
          "A ir",
          {"T ijk", "B jr", "C kr"},
          R"(  layout T sss:0,1,2 f64
  layout B dd:0,1 f64
  layout C dd:0,1 f64
  intermediate x[i,j,r] ddd:0,1,2 f64
  result A dd:0,1 f64
  x[i,j,r] += T[i,j,k] * C[k,r]   loops i,j,k,r   vector r
  A[i,r] += x[i,j,r] * B[j,r]     loops i,j,r   fused 2   vector r
  parallel i owner
)"};
}

}  // namespace

TEST_CASE("a fused MTTKRP becomes the nest one would write by hand") {
  CHECK(programs(mttkrp()) == R"(program A
  index  i, j, k, r
  input  T : f64 {compressed<32,32>, compressed<32,32>, compressed<32,32>}   access T[i,j,k]
  input  C : f64 {dense, dense}                                              access C[k,r]
  input  B : f64 {dense, dense}                                              access B[j,r]
  output A : f64 {dense, dense}                                              access A[i,r]
  fact   extent(r) = 32
  for i: drive T, insert A                        @parallel(A: owner)
    with A_row[r] : f64 {dense}
      for j: drive T, locate B
        with x[r] : f64 {dense}
          for k: drive T, locate C
            for r: locate C, insert x             @vector
              x += T * C
          for r: locate x, locate B, insert A_row @vector
            A_row += x * B
      for r: locate A_row, insert A               @vector
        A += A_row
)");
  CHECK(defect(mttkrp()) == "");
}

TEST_CASE("a result with compressed levels is appended to where the loops follow its order") {
  const Case tttp{small,
                  "R ijk",
                  {"T ijk", "U ir", "V jr", "W kr"},
                  R"(  layout T sss:0,1,2 f64
  layout U dd:0,1 f64
  layout V dd:0,1 f64
  layout W dd:0,1 f64
  result R sss:0,1,2 f64
  R[i,j,k] += T[i,j,k] * U[i,r] * V[j,r] * W[k,r]   loops i,j,k,r   vector r
  parallel i owner
)"};
  const std::string text = programs(tttp);
  CHECK(text.find("R : f64 {compressed<64,32>, compressed<64,32>, compressed<64,32>}") != std::string::npos);
  CHECK(text.find("for i: drive T, locate U, append R") != std::string::npos);
  CHECK(text.find("@parallel(R: append)") != std::string::npos);
}

TEST_CASE("other modes of MTTKRP keep the stored order and add to private copies") {
  const Case mode1{small,
                   "A jr",
                   {"T ijk", "B ir", "C kr"},
                   R"(  layout T sss:0,1,2 f64
  layout B dd:0,1 f64
  layout C dd:0,1 f64
  intermediate x[i,j,r] ddd:0,1,2 f64
  result A dd:0,1 f64
  x[i,j,r] += T[i,j,k] * C[k,r]   loops i,j,k,r   vector r
  A[j,r] += x[i,j,r] * B[i,r]     loops i,j,r   fused 2   vector r
  parallel i private
)"};
  CHECK(programs(mode1).find("@parallel(A: private)") != std::string::npos);
  CHECK(defect(mode1) == "");
}

TEST_CASE("products without intermediates") {
  const std::string layouts = "  layout A ss:0,1 f64\n  layout B dd:0,1 f64\n";
  for (const char* rest :
       {"  result C dd:0,1 f64\n  C[i,r] += A[i,k] * B[k,r]   loops i,k,r   vector r\n",
        "  result C dd:1,0 f64\n  C[i,r] += A[i,k] * B[k,r]   loops r,i,k\n",
        "  result C dd:0,1 f64\n  C[i,r] += A[i,k] * B[k,r]   loops k,i,r   vector r\n",
        "  result C dd:0,1 f64\n  C[i,r] += A[i,k] * B[k,r]   loops r,k,i\n  parallel r owner\n",
        "  result C dd:0,1 f64\n  C[i,r] += A[i,k] * B[k,r]   loops k,r,i\n  parallel k private\n"}) {
    CAPTURE(rest);
    CHECK(defect({small, "C ir", {"A ik", "B kr"}, layouts + rest}) == "");
  }
}

TEST_CASE("a row that several loops add to is summed in a workspace") {
  const Case spmm{small,
                  "C ir",
                  {"A ik", "B kr"},
                  "  layout A ds:0,1 f64\n  layout B dd:0,1 f64\n  result C dd:0,1 f64\n"
                  "  C[i,r] += A[i,k] * B[k,r]   loops i,k,r   vector r\n  parallel i owner\n"};
  CHECK(programs(spmm).find("with C_row[r]") != std::string::npos);
  Case wide = spmm;
  wide.extents['r'] = 513;
  CHECK(programs(wide).find("with C_row[r]") == std::string::npos);
  CHECK(defect(wide) == "");
  SUBCASE("not around the root loop, which has to stay outermost") {
    Case root = spmm;
    root.schedule =
        "  layout A ds:0,1 f64\n  layout B dd:0,1 f64\n  result C d:0 f64\n"
        "  C[r] += A[i,k] * B[k,r]   loops i,k,r   vector r\n  parallel i private\n";
    root.result = "C r";
    CHECK(programs(root).find("@parallel(C: private)\n    with C_row[r]") != std::string::npos);
    CHECK(defect(root) == "");
  }
}

TEST_CASE("what was accumulated is put in order where entries are appended in that order, and only there") {
  const auto reading = [](const std::string& result, const std::string& statement) {
    return Case{small,
                "R " + result,
                {"A ij", "B jk", "C kr"},
                "  layout A ss:0,1 f64\n  layout B ss:0,1 f64\n  layout C dd:0,1 f64\n  intermediate x[i,k] da:0,1 f64\n"
                "  result R ss:0,1 f64\n  x[i,k] += A[i,j] * B[j,k]   loops i,j,k\n  " + statement + "   fused 1\n"};
  };
  // A sum over k for each r: sorted for each of them before, flights2001_count times a matrix took 56 ms instead of 20.
  const Case sums = reading("ir", "R[i,r] += x[i,k] * C[k,r]   loops i,r,k");
  CHECK(programs(sums).find("for k: drive x") != std::string::npos);
  CHECK(programs(sums).find("(sort)") == std::string::npos);
  CHECK(defect(sums) == "");
  const Case appends = reading("ik", "R[i,k] += x[i,k] * C[k,r]   loops i,k,r");
  CHECK(programs(appends).find("for k: drive x(sort)") != std::string::npos);
  CHECK(defect(appends) == "");
}

TEST_CASE("several sparse operands: merged, searched, galloped") {
  const std::string layouts =
      "  layout A sss:0,1,2 f64\n  layout B sss:0,1,2 f64\n  layout C sss:0,1,2 f64\n  layout D ss:0,1 f64\n"
      "  result R ddd:0,1,2 f64\n";
  for (const char* rest : {"loops j,k,r,p,q,i\n", "loops i,p,q,j,r,k\n", "loops r,k,j,q,p,i\n",
                           "loops j,k,r,p,q,i\n  meet j: drive D@1.4, search B@1.2\n",
                           "loops j,r,p,q,k,i\n  meet p: drive B@1.2, gallop A@1.1\n"}) {
    CAPTURE(rest);
    const Case four{{{'i', 3}, {'j', 3}, {'k', 3}, {'p', 3}, {'q', 3}, {'r', 3}},
                    "R ijk",
                    {"A ipq", "B jpr", "C kqr", "D jk"},
                    layouts + "  R[i,j,k] += A[i,p,q] * B[j,p,r] * C[k,q,r] * D[j,k]   " + rest};
    CHECK(defect(four) == "");
  }
}

TEST_CASE("levels whose index is bound further out are located late") {
  const Case discordant{small,
                        "a",
                        {"T ijk", "B jr"},
                        "  layout T sss:0,1,2 f64\n  layout B dd:1,0 f64\n  result a f64\n"
                        "  a[] += T[i,j,k] * B[j,r]   loops k,j,r,i\n"};
  CHECK(programs(discordant).find("for i: drive T, locate T, locate T") != std::string::npos);
  CHECK(defect(discordant) == "");
}

TEST_CASE("diagonals bind two levels at one loop") {
  const Case trace{small, "a", {"T ii"}, "  layout T ss:0,1 f64\n  result a f64\n  a[] += T[i,i]   loops i\n"};
  CHECK(programs(trace).find("for i: drive T, locate T") != std::string::npos);
  CHECK(defect(trace) == "");
  CHECK(defect({small,
                "d j",
                {"T iji"},
                "  layout T dsd:2,1,0 f64\n  result d d:0 f64\n  d[j] += T[i,j,i]   loops j,i\n"}) == "");
}

TEST_CASE("a filter of one statement filters all that share its loop") {
  const Case sddmm_spmm{small,
                        "O ir",
                        {"M ij", "A ik", "B jk", "D jr", "E j"},
                        R"(  layout M ss:0,1 f64
  layout A dd:0,1 f64
  layout B dd:0,1 f64
  layout D dd:0,1 f64
  layout E s:0 f64
  intermediate S[i,j] dd:0,1 f64
  result O dd:0,1 f64
  S[i,j] += M[i,j] * A[i,k] * B[j,k]   loops i,j,k   vector k
  O[i,r] += S[i,j] * D[j,r] * E[j]     loops i,j,r   fused 2   vector r
  parallel i owner
)"};
  CHECK(programs(sddmm_spmm).find("for j: drive M, drive E") != std::string::npos);
  CHECK(defect(sddmm_spmm) == "");
}

TEST_CASE("workspaces that live side by side and inside each other") {
  const Case chain{small,
                   "R i",
                   {"A ij", "B jk", "C kl", "D lr"},
                   R"(  layout A ss:0,1 f64
  layout B ss:0,1 f64
  layout C ss:0,1 f64
  layout D dd:0,1 f64
  intermediate x[i,k] dd:0,1 f64
  intermediate y[k] d:0 f64
  intermediate z[l] d:0 f64
  result R d:0 f64
  x[i,k] += A[i,j] * B[j,k]   loops i,j,k
  z[l] += D[l,r]              loops l,r
  y[k] += C[k,l] * z[l]       loops k,l
  R[i] += x[i,k] * y[k]       loops i,k
)"};
  const auto nests = lowered(chain);
  REQUIRE(nests);
  CHECK(nests->size() == 4);
  CHECK(defect(chain) == "");

  const Case overlapping{small,
                         "R ir",
                         {"A ij", "B jr", "C ik", "D kr"},
                         R"(  layout A ss:0,1 f64
  layout B dd:0,1 f64
  layout C ss:0,1 f64
  layout D dd:0,1 f64
  intermediate x[i,r] dd:0,1 f64
  intermediate y[i,r] dd:0,1 f64
  result R dd:0,1 f64
  x[i,r] += A[i,j] * B[j,r]   loops i,j,r   vector r
  y[i,r] += C[i,k] * D[k,r]   loops i,k,r   fused 1   vector r
  R[i,r] += x[i,r] * y[i,r]   loops i,r   fused 1   vector r
  parallel i owner
)"};
  CHECK(defect(overlapping) == "");
}

TEST_CASE("coefficients: a sign, or a word of the frame, once") {
  for (const double coefficient : {1.0, -1.0, 2.5, 0.0}) {
    CAPTURE(coefficient);
    Case given{small,
               "a i",
               {"A ij", "B jk"},
               "  layout A ss:0,1 f64\n  layout B ss:0,1 f64\n  intermediate y[j] d:0 f64\n  result a d:0 f64\n"
               "  y[j] += B[j,k]   loops j,k\n  a[i] += "};
    given.coefficient = coefficient;
    given.schedule += coefficient == 1 ? "" : coefficient == -1 ? "-1 * " : coefficient == 0 ? "0 * " : "2.5 * ";
    given.schedule += "A[i,j] * y[j]   loops i,j\n";
    CHECK(defect(given) == "");
    const auto nests = lowered(given);
    REQUIRE(nests);
    CHECK(nests->back().coefficients.size() == (coefficient == 1 || coefficient == -1 ? 0 : 1));
  }
}

TEST_CASE("a storage used twice has two accesses") {
  const Case twice{small,
                   "O j",
                   {"K ij", "K ik"},
                   "  layout K ss:0,1 f64\n  result O d:0 f64\n  O[j] += K[i,j] * K[i,k]   loops i,j,k\n"};
  Case square = twice;
  square.extents['k'] = square.extents.at('j');
  CHECK(programs(square).find("access K.1[i,j] access K.2[i,k]") != std::string::npos);
  CHECK(defect(square) == "");
}

TEST_CASE("factors that are the same element of a tensor are one access, whichever drives") {
  const std::string kinds[] = {"ss", "ds", "uq", "hs", "bs"};
  for (const std::string& kind : kinds) {
    CAPTURE(kind);
    const std::string layouts = "  layout K " + kind + ":0,1 f64\n  layout L ss:0,1 f64\n  result a f64\n";
    const Case square{small, "a", {"K ij", "K ij"}, layouts.substr(0, layouts.find("  layout L")) + "  result a f64\n" +
                      "  a[] += K[i,j] * K[i,j]   loops i,j\n"};
    CHECK(programs(square).find("access K[i,j]") != std::string::npos);
    CHECK(programs(square).find("a += K * K") != std::string::npos);
    CHECK(defect(square) == "");
    const Case between{small, "a", {"K ij", "L ij", "K ij"}, layouts + "  a[] += K[i,j] * L[i,j] * K[i,j]   loops i,j\n"};
    CHECK(programs(between).find("a += K * L * K") != std::string::npos);  // in the order of the factors
    CHECK(defect(between) == "");
  }
  const std::string head = "  layout K ss:0,1 f64\n  layout L ss:0,1 f64\n  result a f64\n  a[] += K[i,j] * K[i,j] * L[i,j]   loops i,j\n";
  const auto met = [&](const std::string& how) {
    return Case{small, "a", {"K ij", "K ij", "L ij"}, head + "    meet i: " + how + "\n    meet j: " + how + "\n"};
  };
  for (const std::string how : {"drive K@1.1, gallop K@1.2, gallop L@1.3", "search K@1.1, drive K@1.2, search L@1.3",
                                "gallop K@1.1, search K@1.2, drive L@1.3"}) {
    CAPTURE(how);
    CHECK(defect(met(how)) == "");
  }
  CHECK(programs(met("search K@1.1, drive K@1.2, search L@1.3")).find("drive K, locate L") != std::string::npos);
  CHECK(programs(met("gallop K@1.1, search K@1.2, drive L@1.3")).find("drive L, locate K(gallop)") != std::string::npos);
}

TEST_CASE("scalars, statements without loops, extents 0 and 1") {
  CHECK(defect({small,
                "a",
                {"s", "t"},
                "  layout s f64\n  layout t f64\n  result a f64\n  a[] += s[] * t[]   loops ()\n"}) == "");
  for (const std::uint64_t extent : {0u, 1u}) {
    Case given = mttkrp();
    given.extents['r'] = extent;
    CHECK(defect(given) == "");
    given.extents['k'] = extent;
    CHECK(defect(given) == "");
    given.extents['i'] = extent;
    CHECK(defect(given) == "");
  }
}

TEST_CASE("rows gathered from a factor beyond the caches are prefetched") {
  auto prefetching = [](std::uint64_t rows) {
    Case given = mttkrp();
    given.extents['k'] = rows;
    return programs(given);
  };
  CHECK(prefetching(4096).find("@prefetch") == std::string::npos);  // 1 MiB
  CHECK(prefetching(4097).find("@prefetch(12)") != std::string::npos);
  CHECK(prefetching(131073).find("@prefetch(24)") != std::string::npos);
}

TEST_CASE("long rows gathered from two factors by turns are prefetched where both together push each other out of the second cache") {
  auto prefetching = [](std::uint64_t rows, std::uint64_t others, std::uint64_t rank) {
    Case given = mttkrp();
    given.extents['j'] = others;
    given.extents['k'] = rows;
    given.extents['r'] = rank;
    return programs(given);
  };
  CHECK(prefetching(513, 513, 64).find("@prefetch(12)") != std::string::npos);  // 256 KiB each
  CHECK(prefetching(512, 512, 64).find("@prefetch") == std::string::npos);
  CHECK(prefetching(1025, 1025, 32).find("@prefetch(12)") != std::string::npos);
  CHECK(prefetching(2000, 512, 64).find("@prefetch") == std::string::npos);    // the second one stays where it is
  CHECK(prefetching(4000, 4000, 16).find("@prefetch") == std::string::npos);   // 500 KiB each, short rows
}

TEST_CASE("what is fetched ahead goes by the caches of the machine") {
  auto prefetching = [](CacheBytes caches, std::uint64_t others, std::uint64_t rows) {
    Case given = mttkrp();
    given.caches = caches;
    given.extents['j'] = others;
    given.extents['k'] = rows;
    return programs(given);
  };
  const CacheBytes little{512 << 10, 4 << 20}, large{2 << 20, 256 << 20};
  CHECK(prefetching(little, 3, 2048).find("@prefetch") == std::string::npos);  // 512 KiB
  CHECK(prefetching(little, 3, 2049).find("@prefetch(12)") != std::string::npos);
  CHECK(prefetching(little, 3, 16385).find("@prefetch(24)") != std::string::npos);
  CHECK(prefetching(large, 3, 8192).find("@prefetch") == std::string::npos);
  CHECK(prefetching(large, 3, 131073).find("@prefetch(12)") != std::string::npos);
  CHECK(prefetching(large, 2000, 2000).find("@prefetch") == std::string::npos);  // 500 KiB each
  CHECK(prefetching({}, 2000, 2000).find("@prefetch(12)") != std::string::npos);
  CHECK(caches_of(Machine()) == CacheBytes());
}

TEST_CASE("what a vector loop sums into an entry at the positions of an operand is summed in registers") {
  Case given;
  given.extents = {{'i', 3}, {'j', 4}, {'r', 16}};
  given.factors = {"M ij", "A ir", "B jr"};
  given.result = "S ij";
  const std::string before = "  layout M ss:0,1 f64\n  layout A dd:0,1 f64\n  layout B dd:0,1 f64\n  result S ";
  const std::string after = "  S[i,j] += M[i,j] * A[i,r] * B[j,r]   loops i,j,r   ";
  given.schedule = before + "ss:0,1 f64 like M\n" + after + "vector r\n";
  CHECK(programs(given).find("with S_sum[]") != std::string::npos);
  given.schedule = before + "ss:0,1 f64 like M\n" + after + "\n";
  CHECK(programs(given).find("S_sum") == std::string::npos);
  given.schedule = before + "dd:0,1 f64\n" + after + "vector r\n";
  CHECK(programs(given).find("S_sum") == std::string::npos);
}

TEST_CASE("rows that are added to are prefetched where they come from memory") {
  const auto scattering = [](std::uint64_t columns) {
    Case given;
    given.extents = {{'i', 3}, {'k', columns}, {'r', 16}};
    given.factors = {"M ik", "C ir"};
    given.result = "Y kr";
    given.schedule =
        "  layout M ss:0,1 f64\n  layout C dd:0,1 f64\n  result Y dd:0,1 f64\n  Y[k,r] += M[i,k] * C[i,r]   loops i,k,r   vector r\n";
    return programs(given);
  };
  CHECK(scattering(65536).find("@prefetch") == std::string::npos);  // 8 MiB
  CHECK(scattering(65537).find("@prefetch(12)") != std::string::npos);
}

TEST_CASE("elements whose further coordinates are bound outside are not prefetched: what stands ahead is another row") {
  Case given;
  given.extents = {{'i', 65537}, {'k', 200}};
  given.factors = {"M ik", "c k"};
  given.result = "Y ik";
  given.schedule = "  layout M ds:1,0 f64\n  layout c d:0 f64\n  result Y dd:0,1 f64\n  Y[i,k] += M[i,k] * c[k]   loops k,i\n";
  CHECK(programs(given).find("insert Y, insert Y") != std::string::npos);
  CHECK(programs(given).find("@prefetch") == std::string::npos);
}

TEST_CASE("what is no schedule is refused") {
  auto message = [](const std::string& from, const std::string& to) {
    Case given = mttkrp();
    given.schedule.replace(given.schedule.find(from), from.size(), to);
    return programs(given);
  };
  CHECK(message("fused 2", "fused 3").find("do not share 3 loops") != std::string::npos);
  CHECK(message("loops i,j,k,r", "loops i,j,r").find("has an index without a loop") != std::string::npos);
}

}  // namespace lower_test
