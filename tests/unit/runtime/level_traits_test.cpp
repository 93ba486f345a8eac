#include "runtime/level_traits.h"

#include <doctest/doctest.h>

#include <string>

#include "runtime/gaps.h"
#include "weft/file.h"
#include "weft/tensor.h"

namespace weft::level_traits_test {

TEST_CASE("what a kind is follows from the table, and sets of kinds from its columns") {
  std::string sparse, pos, crd, gaps, ordered, unique, appendable, workspace, key;
  for (const LevelTraits& each : level_kinds) {
    CHECK(&traits(each.kind) == &each);
    CHECK(letter(each.kind) == each.letter);
    if (is_sparse(each.kind)) sparse += each.letter;
    CHECK(is_dense(each.kind) == !is_sparse(each.kind));
    if (has_pos(each.kind)) pos += each.letter;
    if (has_coordinates(each.kind)) crd += each.letter;
    if (has_gaps(each.kind)) gaps += each.letter;
    if (is_ordered(each.kind)) ordered += each.letter;
    if (is_unique(each.kind)) unique += each.letter;
    if (is_appendable(each.kind)) appendable += each.letter;
    if (is_of_workspaces(each.kind)) workspace += each.letter;
    if (may_be_key(each.kind)) key += each.letter;
  }
  CHECK(sparse == "suqhbav");
  CHECK(pos == "suhv");
  CHECK(crd == "suqha");
  CHECK(gaps == "hb");
  CHECK(ordered == "dsuqbv");
  CHECK(unique == "dshbav");
  CHECK(appendable == "ds");
  CHECK(workspace == "dhba");
  CHECK(key == "ha");
}

TEST_CASE("formats have every kind that a tensor may have, and no other") {
  for (const LevelTraits& each : level_kinds) {
    const std::string text{each.letter};
    const auto format = parse_format(each.per_parent ? "u" + text : text);
    CHECK(format.has_value() == (!each.listed && !each.lengths));
    if (format) CHECK(format->levels.back().kind == each.kind);
  }
  CHECK(parse_format("x").error().message.starts_with("format 'x': unknown level kind 'x'; one of d, s, u, q, h, b per level"));
}

TEST_CASE("arrays of tensors are as the table says") {
  for (const LevelTraits& each : level_kinds) {
    if (each.listed || each.per_parent || each.lengths) continue;
    const auto tensor = generate_tensor("sparse(9,nnz=4,seed=1)", parse_format(std::string{each.letter}).value(), Resources(), "T");
    REQUIRE(tensor);
    CHECK((tensor->levels()[0].pos.size_bytes() > 0) == has_pos(each.kind));
    CHECK((tensor->levels()[0].crd.size_bytes() > 0) == (has_coordinates(each.kind) || has_bits(each.kind)));
    CHECK((tensor->positions(0) > entries_of_level(*tensor, 0)) == has_gaps(each.kind));
  }
}

}  // namespace weft::level_traits_test
