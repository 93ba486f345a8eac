// Verdicts that are kept: asked once, found by the whole text, and never taken from a file that is damaged.
#include "engine/prove/proof_book.h"

#include <doctest/doctest.h>

#include "engine/prove/z3_library.h"
#include "unit/cache/cache_fixture.h"

namespace proof_book_test {

using namespace weft;

namespace {

const std::string x_is_less = "(declare-const x Int)\n(assert (< x 3))\n(assert (< 1 x))\n";

Claim claim_of(const std::string& query) { return {"within", "x is not 2", query, {{{"x", "x"}}}, true}; }
Claim proven_claim() { return claim_of(x_is_less + "(assert (not (= x 2)))\n"); }

std::string with_other_bit(std::string bytes, std::size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
  return bytes;
}

SettledClaim settled_in(ProofBook& book, Claim claim) {
  auto proof = book.settle(std::move(claim));
  REQUIRE_MESSAGE(proof, (proof ? "" : proof.error().message));
  return std::move(*proof);
}

}  // namespace

TEST_CASE("a question is asked once, and another of nearly the same text again") {
  ProofBook book(nullptr);
  const SettledClaim first = settled_in(book, claim_of(x_is_less));
  CHECK(first.verdict == Verdict::refuted);
  CHECK(first.counterexample == "(x=2)");
  CHECK_FALSE(first.cached);
  const SettledClaim again = settled_in(book, claim_of(x_is_less));
  CHECK(again.verdict == Verdict::refuted);
  CHECK(again.counterexample == "(x=2)");
  CHECK(again.cached);
  CHECK_FALSE(settled_in(book, proven_claim()).cached);
  CHECK(settled_in(book, proven_claim()).verdict == Verdict::proven);
}

TEST_CASE("a counterexample that tells more than what is kept is asked for") {
  ProofBook book(nullptr);
  Claim silent = claim_of(x_is_less);
  silent.examples.clear();
  CHECK(settled_in(book, silent).counterexample.empty());
  const SettledClaim told = settled_in(book, claim_of(x_is_less));
  CHECK_FALSE(told.cached);
  CHECK(told.counterexample == "(x=2)");
}

TEST_CASE("verdicts are found on disk by another book, under the version of Z3") {
  const TemporaryDirectory temporary;
  const auto disk = std::make_shared<const DiskCache>(temporary.path().string());
  ProofBook writer(disk);
  settled_in(writer, claim_of(x_is_less));
  settled_in(writer, proven_claim());
  CHECK(disk->status().proofs == 2);
  CHECK(disk->status().plans == 0);
  ProofBook reader(disk);
  const SettledClaim refuted = settled_in(reader, claim_of(x_is_less));
  CHECK(refuted.cached);
  CHECK(refuted.counterexample == "(x=2)");
  const SettledClaim proven = settled_in(reader, proven_claim());
  CHECK(proven.cached);
  CHECK(proven.verdict == Verdict::proven);
  CHECK(disk->load("Z3 " + z3_version() + "\n" + proven_claim().query, EntryForm::verdict) == "proven\n");
  // Another version's is not looked at: nothing is kept of it under this one.
  disk->clear();
  disk->store("Z3 0.0.0.0\n" + x_is_less, "proven\n", EntryForm::verdict);
  ProofBook other(disk);
  CHECK(settled_in(other, claim_of(x_is_less)).verdict == Verdict::refuted);
}

TEST_CASE("a file that is damaged, or holds no verdict, is asked for anew and replaced") {
  const TemporaryDirectory temporary;
  const auto disk = std::make_shared<const DiskCache>(temporary.path().string());
  const std::string key = "Z3 " + z3_version() + "\n" + x_is_less;
  const std::string name = DiskCache::file_name(key, EntryForm::verdict);
  ProofBook writer(disk);
  settled_in(writer, claim_of(x_is_less));
  const std::string whole = contents_of(temporary.path() / name);
  const auto is_miss = [&] {
    ProofBook book(disk);
    const SettledClaim proof = settled_in(book, claim_of(x_is_less));
    return !proof.cached && proof.counterexample == "(x=2)";
  };
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    CAPTURE(at);
    overwrite(temporary.path() / name, with_other_bit(whole, at));
    CHECK(is_miss());
    CHECK(contents_of(temporary.path() / name) == whole);
    overwrite(temporary.path() / name, whole.substr(0, at));
    CHECK(is_miss());
  }
  for (const std::string text :
       {"", "yes\n", "refuted\n", "refuted\nx two\n", "refuted\nx\n", "refuted\ny 2\n", "proven\nx 2\n"}) {
    CAPTURE(text);
    disk->store(key, text, EntryForm::verdict);
    CHECK(is_miss());
  }
}

TEST_CASE("answers as text are read back, and others are none") {
  SmtAnswer answer;
  answer.verdict = SmtVerdict::satisfiable;
  answer.values = {{"c_i_1", "-7"}, {"p_K.1_0", "9223372036854775808"}};
  CHECK(print_answer(answer) == "refuted\nc_i_1 -7\np_K.1_0 9223372036854775808\n");
  const auto read = parse_answer(print_answer(answer));
  REQUIRE(read);
  CHECK(read->verdict == answer.verdict);
  CHECK(read->values == answer.values);
  CHECK(parse_answer("unknown\n")->verdict == SmtVerdict::unknown);
}

}  // namespace proof_book_test
