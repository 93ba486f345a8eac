// Which operands may be located through their layouts, and the network over whole indices that locates them.
#include "engine/network/exposure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace exposure_test {

using namespace weft;

namespace {

/// y(i) = A(i,j) * B(i,j) * x(j) of 7 x 9.
Network masked() {
  Network network;
  network.indices = {{"i", 7}, {"j", 9}};
  network.tensors = {{"y", {7}, Scalar::f64, true},
                     {"A", {7, 9}, Scalar::f64, false},
                     {"B", {7, 9}, Scalar::f64, false},
                     {"x", {9}, Scalar::f64, false}};
  Term term;
  term.factors = {{1, {0, 1}}, {2, {0, 1}}, {3, {1}}};
  term.pinned = flat_tree(3);
  Assignment assignment;
  assignment.result = {0, {0}};
  assignment.terms = {term};
  network.assignments.push_back(assignment);
  return network;
}

/// {{"y", "i"}, {"A", "ij"}, {"x", "j"}} is y(i) = A(i,j) * x(j), i of 7 and j of 9; several products, one after the other.
using Product = std::vector<std::pair<std::string, std::string>>;
Network network_of(const std::vector<Product>& products) {
  Network network;
  network.indices = {{"i", 7}, {"j", 9}};
  const auto access = [&](const std::string& name, const std::string& indices, bool is_result) {
    TensorAccess made{0, {}};
    std::vector<std::uint64_t> extents;
    for (const char index : indices) {
      made.indices.push_back(index == 'i' ? 0 : 1);
      extents.push_back(network.indices[made.indices.back()].extent);
    }
    const auto known = std::ranges::find(network.tensors, name, &TensorDeclaration::name);
    made.tensor = static_cast<TensorId>(known - network.tensors.begin());
    if (known == network.tensors.end()) network.tensors.push_back({name, extents, Scalar::f64, is_result});
    return made;
  };
  for (const Product& product : products) {
    Assignment& assignment = network.assignments.emplace_back();
    assignment.result = access(product[0].first, product[0].second, true);
    Term& term = assignment.terms.emplace_back();
    for (std::size_t n = 1; n < product.size(); ++n) term.factors.push_back(access(product[n].first, product[n].second, false));
    term.pinned = flat_tree(term.factors.size());
  }
  return network;
}

/// `extents`: of the levels, where there is a layout.
StoredAs stored(const std::string& format, std::vector<std::uint64_t> extents = {}) { return {*parse_format(format), std::move(extents)}; }

const StoredAs blocks = stored("bcsr(4,4)", {2, 3, 4, 4});

}  // namespace

TEST_CASE("blocks beside rows, or beside other blocks, may be located") {
  const Network network = masked();
  CHECK(may_be_located(network, {{}, stored("ds"), blocks, stored("d")}) == std::set<TensorId>{2});
  const StoredAs others = stored("bcsr(2,3)", {4, 3, 2, 3});
  CHECK(may_be_located(network, {{}, others, blocks, stored("d")}) == std::set<TensorId>{1, 2});
  CHECK(may_be_located(network, {{}, blocks, blocks, stored("d")}) == std::set<TensorId>{1, 2});
  CHECK(may_be_located(network, {{}, stored("bcsr(2,2)", {4, 5, 2, 2}), blocks, stored("d")}) == std::set<TensorId>{1, 2});
  CHECK(may_be_located(network, {{}, stored("dd"), blocks, stored("d")}).empty());
  CHECK(may_be_located(network, {{}, stored("ds"), stored("csc", {9, 7}), stored("d")}).empty());
  CHECK(may_be_located(network, {{}, stored("ds"), stored("ell", {7, 2, 9}), stored("d")}).empty());
  CHECK(may_be_located(network, {{}, stored("ds"), stored("ds"), stored("d")}).empty());
}

TEST_CASE("each level of slots is one compressed level with its singleton, whatever stands below") {
  const Network network = masked();
  const StoredAs slices = stored("(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)", {4, 3, 5, 2, 2});
  CHECK(slots_of_fibers(*slices.format->layout) == std::vector<std::uint32_t>{1});
  const auto blocked = exposed(network, {{}, stored("dd"), slices, stored("d")});
  REQUIRE(blocked);
  CHECK(check(blocked->network));
  CHECK(print(blocked->network) == "y(i_0,i_1) = A(i_0,i_1,j_0,j_1) * B(i_0,j_0,i_1,j_1) * x(j_0,j_1)");
  const StoredAs lists = stored("(i,j) -> (*:v, i:q, *:d, j:q)", {3, 7, 4, 9});
  CHECK(slots_of_fibers(*lists.format->layout) == std::vector<std::uint32_t>{0, 2});
  const auto listed = exposed(network, {{}, stored("dd"), lists, stored("d")});
  REQUIRE(listed);
  CHECK(print(listed->network) == "y(i) = A(i,j) * B(i,j) * x(j)");
  CHECK(listed->tensors[2].parts.size() == 2);
  CHECK(listed->tensors[2].read_in->layout);
  // Two singletons of one slot, and levels between, are not one level.
  CHECK(slots_of_fibers(*stored("(i,j) -> (*:d, i:q, j:q)").format->layout).empty());
  CHECK(slots_of_fibers(*stored("(i,j) -> (*:d, i/2:q, *:d, i%2:d, j:q)").format->layout) == std::vector<std::uint32_t>{0});
}

TEST_CASE("a located operand has parts of whole indices") {
  const Network network = masked();
  const auto exposure = exposed(network, {{}, stored("ds"), blocks, stored("d")}, Exposing::all, {2});
  REQUIRE(exposure);
  CHECK(check(exposure->network));
  CHECK(print(exposure->network) == "y(i) = A(i,j) * B(i/4,j/4,i%4,j%4) * x(j)");
  CHECK(exposure->network.tensors[2].extents == std::vector<std::uint64_t>{2, 3, 4, 4});
  CHECK(exposure->tensors[2].located);
  CHECK(!exposure->tensors[1].read_in);
  CHECK(!exposure->tensors[3].read_in);
  CHECK(exposure->finite.empty());
  CHECK(exposure->definitions == std::vector<std::string>{"B located at (i/4, j/4, i%4, j%4)"});
}

TEST_CASE("others that would cut an index of a located operand are read through plain copies") {
  const Network network = masked();
  const StoredAs others = stored("bcsr(2,3)", {4, 3, 2, 3});
  const auto exposure = exposed(network, {{}, others, blocks, stored("d")}, Exposing::all, {2});
  REQUIRE(exposure);
  CHECK(print(exposure->network) == "y(i) = A(i,j) * B(i/4,j/4,i%4,j%4) * x(j)");
  REQUIRE(exposure->tensors[1].read_in);
  CHECK(exposure->tensors[1].read_in->text() == "ds:0,1");
  CHECK(exposure->by_choice);
  CHECK(exposure->finite.empty());  // padding is in the copy
  const auto copies = exposed(network, {{}, others, blocks, stored("d")}, Exposing::copies);
  REQUIRE(copies);
  CHECK(print(copies->network) == "y(i) = A(i,j) * B(i,j) * x(j)");
  CHECK(copies->finite.empty());
  const auto cut = exposed(network, {{}, others, blocks, stored("d")});
  REQUIRE(cut);
  CHECK(!cut->by_choice);
}

namespace {

/// Of masked(), whose B is stored so and located.
Exposure located(const Network& network, const StoredAs& layout) {
  CHECK(may_be_located(network, {{}, stored("ds"), layout, stored("d")}) == std::set<TensorId>{2});
  auto exposure = exposed(network, {{}, stored("ds"), layout, stored("d")}, Exposing::all, {2});
  REQUIRE(exposure);
  const auto checked = check(exposure->network);
  CHECK_MESSAGE(checked, (checked ? "" : checked.error().message));
  std::vector<std::uint64_t> extents = layout.level_extents;  // slots of fibers are one level with what stands in them
  const std::vector<std::uint32_t> slots = slots_of_fibers(*layout.format->layout);
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) extents.erase(extents.begin() + *slot);
  CHECK(exposure->network.tensors[2].extents == extents);
  return std::move(*exposure);
}

}  // namespace

TEST_CASE("a located operand has sums of whole indices") {
  const Network network = masked();
  const auto said = [&](const StoredAs& layout) {
    const Exposure exposure = located(network, layout);
    CHECK(exposure.finite.empty());
    return print(exposure.network);
  };
  CHECK(said(stored("dia", {15, 7})) == "y(i) = A(i,j) * B(j-i+6,i) * x(j)");
  CHECK(said(stored("(i,j) -> (j-i:s, j:d)", {15, 9})) == "y(i) = A(i,j) * B(-i+j+6,j) * x(j)");
  CHECK(said(stored("band(2,1)", {7, 4})) == "y(i) = A(i,j) * B(i,j-i+2) * x(j)");
  CHECK(said(stored("lower", {7, 7})) == "y(i) = A(i,j) * B(i,j) * x(j)");
  CHECK(said(stored("upper", {7, 9})) == "y(i) = A(i,j) * B(i,j-i) * x(j)");
  CHECK(said(stored("(i,j) -> (2*i-j:s, j:d)", {21, 9})) == "y(i) = A(i,j) * B(2*i-j+8,j) * x(j)");
  CHECK(said(stored("(i,j) -> (j/2-i/2:s, i/2:d, i%2:d, j%2:d)", {8, 4, 2, 2})) ==
        "y(i) = A(i,j) * B(-i/2+j/2+3,i/2,i%2,j%2) * x(j)");
  CHECK(said(stored("(i,j) -> (j-i:s desc, j:d)", {15, 9})) == "y(i) = A(i,j) * B(-i+j+6 desc,j) * x(j)");
  CHECK(said(stored("(i,j) -> (j-i:s unordered, j:d)", {15, 9})) == "y(i) = A(i,j) * B(-i+j+6 unordered,j) * x(j)");
  for (const char* const other : {"(i,j) -> (i:d, j:d(i-1..i+2))", "bcsr(2,2,unaligned)"})
    CHECK(may_be_located(network, {{}, stored("ds"), stored(other, {15, 9}), stored("d")}).empty());
}

TEST_CASE("blocks that begin anywhere are located by the start that covers an index") {
  const Network network = masked();
  const auto said = [&](const StoredAs& layout) { return print(located(network, layout).network); };
  CHECK(said(stored("bcsr(2,3,unaligned)", {4, 9, 2, 3})) == "y(i) = A(i,j) * B(i/2,cover(j,3),i%2,j-cover(j,3)) * x(j)");
  CHECK(said(stored("vbl", {7, 9, 9})) == "y(i) = A(i,j) * B(i,cover(j),j-cover(j)) * x(j)");
  CHECK(said(stored("skyline", {7, 9, 9})) == "y(i) = A(i,j) * B(i,cover(j),j-cover(j)) * x(j)");
  CHECK(said(stored("(i,j) -> (j:d, b:s, i-b:d(2))", {9, 7, 2})) == "y(i) = A(i,j) * B(j,cover(i,2),i-cover(i,2)) * x(j)");
  CHECK(said(stored("(i,j) -> (b:s, i:d, j-b:d(3))", {9, 7, 3})) == "y(i) = A(i,j) * B(cover(j,3),i,j-cover(j,3)) * x(j)");
  CHECK(said(stored("(i,j) -> (i:d, b:s desc, j-b:d(3))", {7, 9, 3})) == "y(i) = A(i,j) * B(i,cover(j,3) desc,j-cover(j,3)) * x(j)");
  CHECK(said(stored("(i,j) -> (i:d, b:s unordered, j-b:v)", {7, 9, 9})) == "y(i) = A(i,j) * B(i,cover(j) unordered,j-cover(j)) * x(j)");
  CHECK(said(stored("(i,j) -> (i:d, b:s, j/2-b:d(3), j%2:d)", {7, 5, 3, 2})) ==
        "y(i) = A(i,j) * B(i,cover(j/2,3),j/2-cover(j/2,3),j%2) * x(j)");
  CHECK(said(stored("(i,j) -> (i:d, b:s, j-i-b:d(3))", {7, 15, 3})) == "y(i) = A(i,j) * B(i,cover(j-i+6,3),j-i-cover(j-i+6,3)+6) * x(j)");
}

TEST_CASE("coordinates that fall are read where others walk the index, those in no order located") {
  const Network network = masked();
  const auto said = [&](const StoredAs& layout) { return print(located(network, layout).network); };
  CHECK(said(stored("(i,j) -> (i:d, j:s desc)", {7, 9})) == "y(i) = A(i,j) * B(i,j desc) * x(j)");
  CHECK(said(stored("(i,j) -> (i:s desc, j:s desc)", {7, 9})) == "y(i) = A(i,j) * B(i desc,j desc) * x(j)");
  CHECK(said(stored("(i,j) -> (i/4:d, j/4:s desc, i%4:d, j%4:d)", {2, 3, 4, 4})) == "y(i) = A(i,j) * B(i/4,j/4 desc,i%4,j%4) * x(j)");
  CHECK(said(stored("(i,j) -> (i:d, j:s unordered)", {7, 9})) == "y(i) = A(i,j) * B(i,j unordered) * x(j)");
  CHECK(said(stored("(i,j) -> (i:d, *:d, j:q unordered)", {7, 2, 9})) == "y(i) = A(i,j) * B(i,j unordered) * x(j)");
  CHECK(said(stored("sell(2)", {4, 3, 2, 9})) == "y(i) = A(i,j) * B(i/2,B_slot,i%2,j) * x(j)");
  CHECK(said(stored("nm(2,4)", {7, 3, 2, 4})) == "y(i) = A(i,j) * B(i,j/4,j%4) * x(j)");
  // Of two others nothing else is read as it stands.
  CHECK(may_be_located(network, {{}, stored("dd"), stored("(i,j) -> (i:d, j:s desc)", {7, 9}), stored("d")}) == std::set<TensorId>{2});
  Network results = network;
  results.tensors[0].falling = 1;
  CHECK(check(results).error().message == "network: mode 0 of the result y falls");
  results.tensors[0].falling = 0;
  results.tensors[0].unordered = 1;
  CHECK(check(results).error().message == "network: mode 0 of the result y has no order");
}

TEST_CASE("a start covers the index of the mode that counts from it") {
  Network network = exposed(masked(), {{}, stored("ds"), stored("vbl", {7, 9, 9}), stored("d")}, Exposing::all, {2})->network;
  REQUIRE(check(network));
  network.tensors[2].sums[2].others[0].mode = 2;
  CHECK(check(network).error().message == "network: mode 2 of B is no sum of indices");
  network.tensors[2].sums[2].others[0].mode = 1;
  network.tensors[2].sums[1].others.push_back({1, -1});
  CHECK(check(network).error().message == "network: mode 1 of B is no sum of indices");
}

TEST_CASE("coordinates in no order are read as they stand where nothing asks for one") {
  const auto as_they_stand = [](const std::vector<Product>& products, const std::string& layout, const char* other = "d",
                                const char* result = nullptr) {
    const Network network = network_of(products);
    std::vector<StoredAs> all(network.tensors.size());
    for (TensorId tensor = 0; tensor < network.tensors.size(); ++tensor) {
      if (network.tensors[tensor].name == "A") all[tensor] = stored(layout, {7, 9});
      else if (!network.tensors[tensor].is_result) all[tensor] = stored(other);
      else if (result != nullptr) all[tensor] = stored(result);
    }
    const auto exposure = exposed(network, all);
    REQUIRE(exposure);
    return std::ranges::any_of(exposure->tensors, &ExposedTensor::unordered);
  };
  const std::string rows = "(i,j) -> (i:d, j:s unordered)";
  const Product times_vector{{"y", "i"}, {"A", "ij"}, {"x", "j"}};
  CHECK(as_they_stand({times_vector}, rows));
  CHECK(as_they_stand({times_vector}, "(i,j) -> (i:s, j:s desc)"));
  CHECK(as_they_stand({{{"y", "j"}, {"A", "ij"}, {"x", "i"}}}, rows));
  CHECK(as_they_stand({{{"s", ""}, {"A", "ij"}}}, rows));
  CHECK(as_they_stand({{{"C", "ij"}, {"A", "ij"}, {"x", "j"}}}, rows, "d", "dd"));
  // Where one is: another sparse factor, the operand twice, a result over the same places, one that is read later, an intermediate, a
  // first level, whose coordinates tell chunks apart, and a diagonal.
  CHECK_FALSE(as_they_stand({times_vector}, rows, "s"));
  CHECK_FALSE(as_they_stand({{{"y", "i"}, {"A", "ij"}, {"A", "ij"}}}, rows));
  CHECK_FALSE(as_they_stand({{{"C", "ij"}, {"A", "ij"}, {"x", "j"}}}, rows));
  CHECK_FALSE(as_they_stand({times_vector, {{"s", ""}, {"y", "i"}, {"z", "i"}}}, rows));
  CHECK_FALSE(as_they_stand({{{"y", "i"}, {"A", "ij"}, {"x", "j"}, {"z", "i"}}}, rows));
  CHECK_FALSE(as_they_stand({times_vector}, "(i,j) -> (i:s unordered, j:s)"));
  CHECK_FALSE(as_they_stand({{{"y", "i"}, {"A", "ii"}}}, rows));
}

TEST_CASE("sums of indices are of operands, each index once") {
  Network network = exposed(masked(), {{}, stored("ds"), stored("dia", {15, 7}), stored("d")}, Exposing::all, {2})->network;
  network.tensors[2].sums[0].others[0].mode = 0;
  CHECK(check(network).error().message == "network: mode 0 of B is no sum of indices");
  network.tensors[2].sums[0].others[0].mode = 2;
  CHECK(check(network).error().message == "network: mode 0 of B is no sum of indices");
  network.tensors[2].sums[0].others[0] = {1, 0};
  CHECK(check(network).error().message == "network: mode 0 of B is no sum of indices");
}

TEST_CASE("parts of indices are of operands, and have the extents that they say") {
  Network network = exposed(masked(), {{}, stored("ds"), blocks, stored("d")}, Exposing::all, {2})->network;
  network.tensors[2].extents[0] = 3;
  CHECK(check(network).error().message == "network: index i is 7 but mode 0 of B is 3");
  network.tensors[2].extents[0] = 2;
  network.tensors[2].parts[0].divisor = 0;
  CHECK(check(network).error().message == "network: mode 0 of B is no part of an index");
  network = masked();
  network.tensors[0].parts = {{2, 0}};
  CHECK(check(network).error().message == "network: mode 0 of y is no part of an index");
}

TEST_CASE("a plain operand below digits that others cut may be looked up at their sum") {
  const Network network = network_of({{{"y", "i"}, {"A", "ij"}, {"x", "j"}}});
  const std::vector<StoredAs> sparse{{}, blocks, stored("s")};
  CHECK(may_be_at_digits(network, sparse) == std::set<TensorId>{2});
  const auto exposure = exposed(network, sparse, Exposing::all, {2});
  REQUIRE(exposure);
  REQUIRE(check(exposure->network));
  CHECK(exposure->definitions == std::vector<std::string>{"i = 4*i_0 + i_1", "j = 4*j_0 + j_1", "x located at (j_1+4*j_0)"});
  const TensorDeclaration& x = exposure->network.tensors[2];
  CHECK(x.extents == std::vector<std::uint64_t>{1, 9});
  CHECK(x.parts == std::vector<IndexPart>{{3}, {}});  // j_0 below 3
  CHECK(x.sums[1].others == std::vector<ModeSum::Other>{{0, 4}});
  CHECK(exposure->tensors[2].at_digits);
  CHECK(exposure->tensors[2].read_in->text() == "s:0");
  CHECK(exposure->by_choice);

  const auto none = [&](const StoredAs& matrix, const StoredAs& vector) { return may_be_at_digits(network, {{}, matrix, vector}).empty(); };
  CHECK(none(blocks, stored("d")));
  CHECK(none(blocks, stored("b")));
  CHECK(none(stored("ds"), stored("s")));
  CHECK(none(stored("dia", {15, 7}), stored("s")));
  CHECK(none(stored("bcsr(4,1)", {2, 9, 4}), stored("s")));
  // Below a whole index nothing is cut.
  const auto whole = exposed(network, sparse, Exposing::all, {1, 2});
  REQUIRE(whole);
  CHECK(!whole->tensors[2].at_digits);
}

}  // namespace exposure_test
