#include <doctest/doctest.h>

#include "engine/plan/schedule/check.h"
#include "unit/plan/networks.h"
#include "unit/replaced.h"

namespace check_forest_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

const std::map<char, std::uint64_t> extents = {{'h', 3}, {'i', 10}, {'j', 12}, {'k', 4}};

const std::string stored_text =
    "schedule\n"
    "  tree S = (M * A)\n"
    "  tree O = (S * D)\n"
    "  layout M ss:0,1 f64\n"
    "  layout A d:0 f64\n"
    "  result S d:0 f64\n"
    "  layout D dd:0,1 f64\n"
    "  result O dd:0,1 f64\n"
    "  S[i] += M[i,j] * A[j]   loops i,j\n"
    "  O[i,h] += S[i] * D[i,h]   loops i,h   vector h\n"
    "  parallel i owner\n"
    "  parallel i owner\n";

std::string changed(const std::string& from, const std::string& to) { return test::replaced(stored_text, from, to); }

OwnedProblem rows() {
  OwnedProblem made = forest_problem("S = M:ij:ss:9 A:j -> i; O = S:i D:ih -> ih", extents);
  made.options.results = {"S"};
  return made;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("results that are wanted are stored as results, and no others") {
  OwnedProblem made = rows();
  CHECK(defect(made, stored_text) == "");
  CHECK(contains(defect(made, changed("result S", "intermediate S[i]")), "the result S is not stored"));
  const std::string fused =
      "schedule\n"
      "  tree ((M * A) * D)\n"
      "  layout M ss:0,1 f64\n"
      "  layout A d:0 f64\n"
      "  layout D dd:0,1 f64\n"
      "  intermediate x[i] d:0 f64\n"
      "  result O dd:0,1 f64\n"
      "  x[i] += M[i,j] * A[j]   loops i,j\n"
      "  O[i,h] += x[i] * D[i,h]   loops i,h   fused 1   vector h\n"
      "  parallel i owner\n";
  CHECK(contains(defect(made, fused), "the result S is not stored"));
  made.options.results.clear();
  CHECK(defect(made, fused) == "");
  CHECK(contains(defect(made, stored_text), "nobody asked for it"));
  CHECK(defect(made, changed("result S", "intermediate S[i]")) == "");
  made.options.result_formats["S"] = dense_format(1);
  CHECK(contains(defect(made, fused), "the result S is not stored"));
}

TEST_CASE("each assignment obeys the rules of one") {
  const OwnedProblem made = rows();
  CHECK(contains(defect(made, changed("loops i,j\n", "loops i,j   vector j\n")), "in the assignment to S"));
  CHECK(contains(defect(made, changed("loops i,h   vector h", "loops i,h   vector i")), "in the assignment to O"));
  CHECK(contains(defect(made, changed("S[i] * D[i,h]", "D[i,h]")), "in the assignment to O"));
  CHECK(contains(defect(made, changed("parallel i owner\n  parallel i owner", "parallel i owner")), "parallel"));
  Schedule more = schedule_of(made, stored_text);
  more.roots.push_back(RootReduction::serial);
  CHECK(contains(check(more, made).error().message, "parallel"));
}

TEST_CASE("beside NaN and Inf an intermediate between assignments must be written everywhere, a result need not") {
  OwnedProblem made = rows();
  OperandFacts& d = made.operands.back();
  d.statistics = Statistics(d.statistics.extents(), d.format, d.statistics.nnz(), {}, false);
  // A dense result stores every entry, zeros included, whatever was accumulated.
  CHECK(defect(made, stored_text) == "");
  made.options.results.clear();
  CHECK(contains(defect(made, changed("result S", "intermediate S[i]")), "NaN or Inf"));
}

TEST_CASE("a later assignment reads what is handed over, zeros of dense levels included") {
  OwnedProblem made = forest_problem("S = M:ij:ss:9 -> ij; O = S:ij D:jh -> ih", extents);
  made.options.result_formats = {{"S", *parse_format("hd")}, {"O", sparse_format(2)}};
  const auto text = [](const std::string& computed) {
    return "schedule\n  tree S = M\n  tree O = (S * D)\n  layout M ss:0,1 f64\n  result S " + computed + " f64 delivered hd:0,1 f64\n"
           "  layout D dd:0,1 f64\n  result O ss:0,1 f64\n  S[i,j] += M[i,j]   loops i,j\n"
           "  O[i,h] += S[i,j] * D[j,h]   loops i,j,h   drained accumulator\n  parallel i owner\n  parallel i owner\n";
  };
  CHECK(defect(made, text("sd:0,1")) == "");
  CHECK(contains(defect(made, text("ss:0,1")), "S computed as ss:0,1 lacks the zeros that hd:0,1 stores, and a later assignment reads it"));
  made.options.result_formats["S"] = *parse_format("hh");
  std::string gaps = text("ss:0,1");
  gaps.replace(gaps.find("hd:0,1"), 6, "hh:0,1");
  CHECK(defect(made, gaps) == "");
}

TEST_CASE("what is stored between assignments may share a pattern, and its text says so") {
  const OwnedProblem made = forest_problem("S = M:ij:ss:9 A:j -> ij; O = S:ij D:jh -> ih", extents);
  const std::string text =
      "schedule\n  tree S = (M * A)\n  tree O = (S * D)\n  layout M ss:0,1 f64\n  layout A d:0 f64\n"
      "  intermediate S[i,j] ss:0,1 f64 like M\n"
      "  layout D dd:0,1 f64\n  result O dd:0,1 f64\n  S[i,j] += M[i,j] * A[j]   loops i,j\n"
      "  O[i,h] += S[i,j] * D[j,h]   loops i,j,h   vector h\n"
      "  parallel i owner\n  parallel i owner\n";
  CHECK(defect(made, text) == "");
  CHECK(print(schedule_of(made, text), made.network) == text);
}

TEST_CASE("what a scalar is made from has to be known if any of its readers makes entries") {
  OwnedProblem made = forest_problem("S = M:ij:ss:9 A:j -> i; u = S:i E:i -> ; P = u: D:ih -> h; O = u: M:ij -> ij", extents);
  made.options.results = {"P"};
  made.options.result_formats["O"] = sparse_format(2);
  const auto text = [](const std::string& kind) {
    return "schedule\n  tree S = (M * A)\n  tree u = (S * E)\n  tree P = (u * D)\n  tree O = (u * M)\n"
           "  layout M ss:0,1 f64\n  layout A d:0 f64\n  intermediate S[i] " + kind + ":0 f64\n  layout E d:0 f64\n"
           "  intermediate u[] f64\n  layout D dd:0,1 f64\n  result P d:0 f64\n  result O ss:0,1 f64\n"
           "  S[i] += M[i,j] * A[j]   loops i,j\n  u[] += S[i] * E[i]   loops i\n"
           "  P[h] += u[] * D[i,h]   loops i,h\n  O[i,j] += u[] * M[i,j]   loops i,j\n"
           "  parallel i owner\n  parallel i serial\n  parallel i serial\n  parallel i owner\n";
  };
  CHECK(contains(defect(made, text("d")), "S is dense and may be read where nothing was accumulated"));
  CHECK(defect(made, text("s")) == "");
}

}  // namespace check_forest_test
