// Claims about loops beside all small arrays: what is proven holds for each of them, what is refuted fails for one.
#include "tests/unit/prove/small_arrays.h"

#include <doctest/doctest.h>

#include <map>

#include "tests/unit/prove/proofs.h"
#include "tests/unit/share.h"

namespace small_arrays_test {

using namespace weft;
using namespace weft::test;

namespace {

struct LeftOut {
  std::string name;
  bool AssumedOfArrays::*property;
};

const std::vector<LeftOut> properties = {{"fibers_in_order", &AssumedOfArrays::fibers_in_order},
                                         {"coordinates_rise", &AssumedOfArrays::coordinates_rise},
                                         {"chains_rise", &AssumedOfArrays::chains_rise},
                                         {"coordinates_differ", &AssumedOfArrays::coordinates_differ},
                                         {"below_extents", &AssumedOfArrays::below_extents}};

struct SmallCase {
  std::string text;
  /// The kinds that do not hold, whatever is assumed, and without the property of that name.
  std::map<std::string, std::set<std::string>> broken;
  std::vector<int> extents;  ///< by index
};

const std::string csr = "{dense, compressed<32,32>}";
const std::string dcsr = "{compressed<32,32>, compressed<32,32>}";
const std::string coo = "{nonunique<32,32>, singleton<32>}";

std::string searched(const std::string& levels, const std::string& first) {
  return "program searched\n  index i, j\n  input A : f64 " + levels +
         " access A[i,j]\n  input x : f64 {compressed<32,32>} access x[j]\n" +
         "  output y : f64 {} access y[]\n  for i: " + first +
         " A\n    for j: drive A, locate x(gallop)\n      y += A * x\n";
}

std::string appended(const std::string& levels, const std::string& target, const std::string& first) {
  return "program appended\n  index i, j\n  input A : f64 " + levels + " access A[i,j]\n  output R : f64 " + target +
         " access R[i,j]\n  for i: " + first + "\n    for j: drive A, append R\n      R += A\n";
}

std::string owned(const std::string& levels, const std::string& first) {
  return "program owned\n  index i, j\n  input A : f64 " + levels +
         " access A[i,j]\n  output y : f64 {dense} access y[i]\n  for i: " + first +
         " A, insert y @parallel(y: owner)\n    for j: drive A\n      y += A\n";
}

std::string like_operand(const std::string& levels, const std::string& first) {
  return "program like_operand\n  index i, j\n  input A : f64 " + levels + " access A[i,j]\n  output S : f64 " +
         levels + " access S[i,j]\n  fact like(S, A)\n  for i: " + first +
         " A, insert S @parallel(S: owner)\n    for j: drive A, insert S\n      S += A\n";
}

/// Searched at what is given by the columns of A.
std::string searched_at(const std::string& levels, const std::string& first, const std::string& given) {
  return "program searched_at\n  index i, j, J = " + given + "\n  input A : f64 " + levels +
         " access A[i,j]\n  input x : f64 {compressed<32,32>} access x[J]\n" +
         "  output y : f64 {} access y[]\n  for i: " + first +
         " A\n    for j: drive A, locate x(gallop)\n      y += A * x\n";
}

/// Looked up in a table at what is given by them.
std::string table_at(const std::string& given) {
  return "program table_at\n  index i, j, J = " + given + "\n  input A : f64 " + csr +
         " access A[i,j]\n  input x : f64 {dense} access x[J]\n" +
         "  output y : f64 {} access y[]\n  fact extent(j) = 4\n  for i: locate A\n    for j: drive A, locate x\n      y += A * x\n";
}

/// By a finger that is kept over all of the loop `home`.
std::string kept(const std::string& levels, const std::string& first, const std::string& given, const std::string& home) {
  return "program kept\n  index i, j, J = " + given + "\n  input A : f64 " + levels +
         " access A[i,j]\n  input x : f64 {compressed<32,32>} access x[J]\n  output y : f64 {} access y[]\n  fact extent(j) = 3\n"
         "  for i: " + first + " A\n    for j: drive A, locate x(gallop " + home + ")\n      y += A * x\n";
}

const std::vector<SmallCase> all = {
    {kept(dcsr, "drive", "2*i + j below 5", "i"), {{"coordinates_rise", {"cursor"}}, {"below_extents", {"cursor"}}}, {2, 3}},
    {kept(csr, "locate", "2*i + j - 1 below 4", "i"), {{"coordinates_rise", {"cursor"}}, {"below_extents", {"cursor"}}}, {2, 3}},
    {kept(coo, "drive", "2*i + j + 1 below 6", "i"), {{"chains_rise", {"cursor"}}, {"below_extents", {"cursor"}}}, {2, 3}},
    {kept(dcsr, "drive", "(4*i + 2*j) / 2 below 5", "i"), {{"coordinates_rise", {"cursor"}}, {"below_extents", {"cursor"}}}, {2, 3}},
    {kept(dcsr, "drive", "i + j below 4", "i"), {{"", {"cursor"}}}, {2, 3}},
    {kept(dcsr, "drive", "2*i - j + 2 below 5", "i"), {{"", {"cursor"}}}, {2, 3}},
    {kept(dcsr, "drive", "3*j below 7", "i"), {{"", {"cursor"}}}, {2, 3}},
    {kept("{hashed<32,32>, compressed<32,32>}", "drive", "2*i + j below 5", "i"), {{"", {"cursor"}}}, {2, 3}},
    {kept("{dense, hashed<32,32>}", "locate", "2*i + j below 5", "i"), {{"", {"cursor"}}}, {2, 3}},
    {searched_at(csr, "locate", "j / 2"), {{"coordinates_rise", {"cursor"}}}, {2, 4}},
    {searched_at(coo, "drive", "j / 2"), {{"chains_rise", {"cursor"}}}, {2, 4}},
    {searched_at(csr, "locate", "j % 2"), {{"", {"cursor"}}}, {2, 4}},
    {searched_at(csr, "locate", "j / 2 % 2"), {{"", {"cursor"}}}, {1, 5}},
    {searched_at(csr, "locate", "j - i + 1 below 5"), {{"coordinates_rise", {"cursor"}}}, {2, 4}},
    {searched_at(coo, "drive", "j - i + 1 below 5"), {{"chains_rise", {"cursor"}}}, {2, 4}},
    {searched_at(csr, "locate", "2*j - i below 5"), {{"coordinates_rise", {"cursor"}}}, {2, 4}},
    {searched_at(csr, "locate", "(j - i + 1) / 2 below 3"), {{"coordinates_rise", {"cursor"}}}, {2, 4}},
    {searched_at(csr, "locate", "i - j + 3 below 5"), {{"", {"cursor"}}}, {2, 4}},
    {searched_at(csr, "locate", "(j - i + 1) % 2 below 2"), {{"", {"cursor"}}}, {2, 4}},
    {searched_at("{dense, hashed<32,32>}", "locate", "j - i + 1 below 5"), {{"", {"cursor"}}}, {2, 4}},
    {searched_at(csr, "locate", "cover(j, 2) below 4"), {{"coordinates_rise", {"cursor"}}}, {2, 4}},
    {searched_at(coo, "drive", "cover(j) below 4"), {{"chains_rise", {"cursor"}}}, {2, 4}},
    {searched_at("{dense, hashed<32,32>}", "locate", "cover(j, 3) below 4"), {{"", {"cursor"}}}, {2, 4}},
    {table_at("j - i + 1 below 3"), {}, {2, 4}},
    {table_at("j / 2"), {{"below_extents", {"within"}}}, {2, 4}},
    {table_at("j % 2"), {}, {2, 4}},
    {table_at("j / 2 % 2"), {}, {2, 4}},
    {searched(csr, "locate"), {{"coordinates_rise", {"cursor"}}}, {2, 3}},
    {searched(dcsr, "drive"), {{"coordinates_rise", {"cursor"}}}, {2, 3}},
    {searched(coo, "drive"), {{"chains_rise", {"cursor"}}}, {2, 3}},
    {searched("{dense, hashed<32,32>}", "locate"), {{"", {"cursor"}}}, {2, 3}},
    {"program parent_moves\n  index i\n  input A : f64 {compressed<32,32>} access A[i]\n  input D : f64 {dense, "
     "compressed<32,32>} access D[i,i]\n"
     "  output y : f64 {} access y[]\n  for i: drive A, locate D, locate D(gallop)\n    y += A * D\n",
     {{"", {"cursor"}}, {"below_extents", {"within"}}},
     {4}},
    {owned(csr, "locate"), {}, {2, 2}},
    {owned(dcsr, "drive"), {{"coordinates_rise", {"owner"}}, {"below_extents", {"within"}}}, {2, 2}},
    {owned(coo, "drive"), {{"chains_rise", {"owner"}}, {"below_extents", {"within"}}}, {2, 2}},
    {owned("{hashed<32,32>, compressed<32,32>}", "drive"),
     {{"coordinates_differ", {"owner"}}, {"below_extents", {"within"}}},
     {2, 2}},
    {"program of_another_index\n  index i, j\n  input A : f64 " + csr +
         " access A[i,j]\n  output y : f64 {dense} access y[j]\n  for i: locate A @parallel(y: owner)\n    for j: "
         "drive A, insert y\n      y += A\n",
     {{"", {"owner"}}, {"below_extents", {"within"}}},
     {2, 2}},
    {like_operand(csr, "locate"), {{"fibers_in_order", {"owner"}}}, {3, 2}},
    {like_operand(dcsr, "drive"), {{"fibers_in_order", {"owner"}}, {"coordinates_rise", {"owner"}}}, {3, 2}},
    {like_operand(coo, "drive"), {{"chains_rise", {"owner"}}}, {2, 2}},
    {appended(csr, "{dense, compressed<64,32>}", "locate A, insert R"), {{"coordinates_rise", {"append"}}}, {2, 3}},
    {appended(dcsr, "{compressed<64,32>, compressed<64,32>}", "drive A, append R"),
     {{"coordinates_rise", {"append"}}},
     {2, 3}},
    {appended(coo, "{compressed<64,32>, compressed<64,32>}", "drive A, append R"),
     {{"chains_rise", {"append"}}},
     {2, 3}},
    {appended("{hashed<32,32>, compressed<32,32>}", "{compressed<64,32>, compressed<64,32>}", "drive A, append R"),
     {{"", {"append"}}},
     {2, 2}},
    {"program crosswise\n  index i, j\n  input A : f64 " + csr +
         " access A[i,j]\n  output R : f64 {compressed<64,32>} access R[j]\n  for i: locate A\n    for j: drive A, "
         "append R\n      R += A\n",
     {{"", {"append"}}},
     {2, 2}},
};

std::string text_of(const std::set<std::string>& kinds) {
  std::string text;
  for (const std::string& kind : kinds) text += kind + " ";
  return text;
}

/// The kinds of which a claim is refuted; none is unknown.
std::set<std::string> refuted_kinds(const loop::Program& program, const AssumedOfArrays& assumed) {
  std::set<std::string> kinds;
  for (const SettledClaim& proof : proofs_of(program, assumed)) {
    CHECK(proof.verdict != Verdict::unknown);
    const bool is_of_loops = std::set<std::string>{"cursor", "owner", "append", "within"}.contains(proof.claim.kind);
    if (proof.verdict == Verdict::refuted && is_of_loops) kinds.insert(proof.claim.kind);
  }
  return kinds;
}

void check(const SmallCase& each, const AssumedOfArrays& assumed, const std::set<std::string>& expected) {
  const loop::Program program = program_of(each.text);
  CHECK(text_of(refuted_kinds(program, assumed)) == text_of(expected));
  std::vector<int> extents;
  for (const loop::IndexId index : program.accesses[0].indices) extents.push_back(each.extents[index]);
  std::set<std::string> broken;
  for_each_arrays(program.storages[0].levels, extents, 3, assumed, [&](const SmallArrays& arrays) {
    for (const std::string& kind : broken_claims(program, arrays, each.extents)) {
      if (!expected.contains(kind)) FAIL_CHECK(kind << " is broken by " << test::print(arrays));
      broken.insert(kind);
    }
  });
  CHECK(text_of(broken) == text_of(expected));
}

}  // namespace

TEST_CASE("claims of loops hold for all small arrays, or fail for one; likewise without each property") {
  std::uint64_t turn = 0;
  for (const SmallCase& each : all) {
    CAPTURE(each.text);
    const auto always = each.broken.find("");
    const std::set<std::string> expected = always == each.broken.end() ? std::set<std::string>() : always->second;
    check(each, {}, expected);
    for (const LeftOut& left_out : properties) {
      if (!test::is_drawn(++turn, 3)) continue;
      CAPTURE(left_out.name);
      AssumedOfArrays assumed;
      assumed.*left_out.property = false;
      std::set<std::string> without = expected;
      if (const auto more = each.broken.find(left_out.name); more != each.broken.end())
        without.insert(more->second.begin(), more->second.end());
      check(each, assumed, without);
    }
  }
}

}  // namespace small_arrays_test
