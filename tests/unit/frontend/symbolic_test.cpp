// Sparse results in memory of the host, over patterns that are an operand's or were computed before.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "unit/frontend/host_loop.h"
#include "unit/share.h"
#include "weft/arrays.h"

namespace symbolic_test {

using namespace weft;
using namespace weft::test;

namespace {

/// Coordinates and values in order.
std::pair<std::vector<std::vector<std::uint64_t>>, std::vector<double>> entries(const Tensor& tensor) {
  const auto good = verify(tensor, Resources(), "result");
  REQUIRE_MESSAGE(good, good.error().message);
  auto listed = to_coo(tensor, Resources());
  REQUIRE(listed);
  return {listed->crd, listed->values};
}

/// What an engine that has never seen them computes.
Tensor fresh(const std::string& text, const Tensors& operands, const CompileOptions& options) {
  return results_of(compiled(engine_with(), text, operands, options), bound(operands)).begin()->second;
}

void renew(const Tensor& tensor, std::mt19937_64& random) {
  for (double& value : tensor.writable_values<double>()) value = static_cast<double>(1 + random() % 5);
}

struct Product {
  std::string text;
  std::string format;   ///< of the result
  std::string second;   ///< format of B
};

}  // namespace

TEST_CASE("symbolic: products of sparse matrices written into values of the host, over a pattern computed once") {
  std::mt19937_64 random(3);
  unsigned number = 0;
  for (const Product& product : {Product{"C(i,j) = A(i,k) * B(k,j)", "ds", "ds"}, Product{"C(i,j) = A(i,k) * B(k,j)", "ss", "ss"},
                                 Product{"C(j,i) = A(i,k) * B(k,j)", "ds", "ds:1,0"}, Product{"C(i,j) = A(i,k) * B(k,j)", "uq", "ds"},
                                 Product{"C(i,j) = A(i,k) * B(k,j)", "ds:1,0", "ds"}, Product{"C(i,j) = A(i,k) * B(k,j)", "db", "ds"},
                                 Product{"C(i,j,r) = A(i,k) * B(k,j) * D(r)", "ssd", "ds"}}) {
    for (const unsigned threads : {1U, 2U}) {
      for (const bool large : {false, true}) {
        if (!test::is_drawn_sanitized(number++)) continue;
        CAPTURE(product.text);
        CAPTURE(product.format);
        CAPTURE(threads);
        CAPTURE(large);
        // The large ones pay for several threads; the long run has results of half a million entries.
        const std::string size = !large ? "20x20,nnz=60" : test::is_long_run() ? "2000x2000,nnz=30000" : "500x500,nnz=6000";
        Tensors operands = {{"A", operand("sparse(" + size + ",seed=1)", "ds")},
                            {"B", operand("sparse(" + size + ",seed=2)", product.second)}};
        if (product.text.find("D(r)") != std::string::npos) operands["D"] = operand("ones(3)");
        CompileOptions options;
        options.formats["C"] = *parse_format(product.format);
        const Engine engine = engine_with(threads);
        const Kernel kernel = compiled(engine, product.text, operands, options);
        Bindings bindings = bound(operands);
        const auto symbolic = kernel.symbolic(bindings);
        REQUIRE_MESSAGE(symbolic, symbolic.error().message);
        const Tensor pattern = symbolic->at("C");
        const Kernel other = compiled(engine_with(), product.text, operands, options);
        CHECK(entries(pattern) == entries(results_of(other, bound(operands)).at("C")));
        std::vector<double> values(pattern.values().size_bytes() / 8, -1), others(values.size(), -1);
        std::vector<float> single(values.size(), -1);
        for (int step = 0; step < 4; ++step) {
          CAPTURE(step);
          renew(operands["A"], random);
          bindings.set("A", operands["A"]);
          const Tensor wanted = results_of(other, bound(operands)).at("C");
          bindings.output("C", *same_pattern(pattern, step % 2 == 0 ? values : others));
          const Tensor result = results_of(kernel, bindings).at("C");
          CHECK(result.values().data() == (step % 2 == 0 ? values.data() : others.data()));
          CHECK(entries(result) == entries(wanted));
          bindings.output("C", *same_pattern(pattern, single));
          CHECK(entries(results_of(kernel, bindings).at("C")) == entries(wanted));
          // Added to what is there, by way of a copy.
          std::ranges::fill(others, 1);
          bindings.output("C", *same_pattern(pattern, others), {2, 3});
          results_of(kernel, bindings);
          const auto expected = wanted.values().as<const double>();
          std::size_t wrong = 0;
          for (std::size_t n = 0; n < expected.size(); ++n) wrong += others[n] == 2 * expected[n] + 3 ? 0 : 1;
          CHECK(wrong == 0);
          // Times -2, which makes no -0 where a bitmap has no entry (verify).
          bindings.output("C", *same_pattern(pattern, others), {-2, 0});
          const auto scaled = entries(results_of(kernel, bindings).at("C"));
          const auto plain = entries(wanted);
          CHECK(scaled.first == plain.first);
          for (std::size_t n = 0; n < scaled.second.size(); ++n) wrong += scaled.second[n] == -2 * plain.second[n] ? 0 : 1;
          CHECK(wrong == 0);
          // Without memory of the host the kernel leaves its memory alone.
          std::ranges::fill(values, -1);
          Bindings without = bound(operands);
          CHECK(entries(results_of(kernel, without).at("C")) == entries(wanted));
          CHECK(std::ranges::count(values, -1) == static_cast<std::ptrdiff_t>(values.size()));
        }
      }
    }
  }
}

TEST_CASE("symbolic: results in the levels that an operand is stored in for their sake, and after it is gone") {
  std::mt19937_64 random(4);
  const std::string text = "C(j,i) = A(i,j) * d(i)";
  for (const char* format : {"ss", "ds"}) {
    CAPTURE(format);
    Tensors operands = {{"A", operand("sparse(300x200,nnz=6000,seed=1)", "ds")}, {"d", operand("ones(300)")}};
    CompileOptions options;
    options.calls = 1e6;
    options.formats["C"] = *parse_format(format);
    const Kernel plain = compiled(engine_with(), text, operands, options);
    options.choose_layouts = true;
    Tensor kept;
    std::pair<std::vector<std::vector<std::uint64_t>>, std::vector<double>> wanted;
    {
      const Kernel kernel = compiled(engine_with(), text, operands, options);
      CHECK((kernel.report().explanation.find("A is stored in the levels of C") != std::string::npos));
      Bindings bindings = bound(operands);
      const auto symbolic = kernel.symbolic(bindings);
      REQUIRE_MESSAGE(symbolic, symbolic.error().message);
      const Tensor pattern = symbolic->at("C");
      std::vector<double> values(pattern.values().size_bytes() / 8, -1);
      for (int step = 0; step < 3; ++step) {
        renew(operands["A"], random);
        bindings.set("A", operands["A"]);
        wanted = entries(results_of(plain, bound(operands)).at("C"));
        bindings.output("C", *same_pattern(pattern, values));
        CHECK(entries(results_of(kernel, bindings).at("C")) == wanted);
        Bindings without = bound(operands);
        kept = results_of(kernel, without).at("C");
        CHECK(entries(kept) == wanted);
      }
      operands.clear();
    }
    CHECK(entries(kept) == wanted);
  }
}

TEST_CASE("symbolic: memory that was made for other patterns is refused, naming the operand") {
  const Tensors operands = {{"A", operand("sparse(20x20,nnz=60,seed=1)", "ds")}, {"B", operand("sparse(20x20,nnz=60,seed=2)", "ds")}};
  CompileOptions options;
  options.formats["C"] = *parse_format("ds");
  const Kernel kernel = compiled(engine_with(), "C(i,j) = A(i,k) * B(k,j)", operands, options);
  Bindings bindings = bound(operands);
  const Tensor pattern = kernel.symbolic(bindings)->at("C");
  std::vector<double> values(pattern.nnz());
  bindings.output("C", *same_pattern(pattern, values));
  results_of(kernel, bindings);
  bindings.set("B", operand("sparse(20x20,nnz=60,seed=3)", "ds"));
  Error error = refused(kernel, bindings);
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.code == ErrorCode::pattern_changed);
  CHECK(error.operand == "B");
  CHECK(error.message == "the memory for C was made for another pattern of B");
  // Once more, over the patterns as they are now.
  const auto again = kernel.symbolic(bindings);
  REQUIRE(again);
  std::vector<double> others(again->at("C").nnz());
  bindings.output("C", *same_pattern(again->at("C"), others));
  CHECK(entries(results_of(kernel, bindings).at("C")) == entries(again->at("C")));
  // A pattern from elsewhere.
  std::vector<double> elsewhere(60);
  bindings.output("C", *same_pattern(operands.at("A"), elsewhere));
  CHECK(refused(kernel, bindings).message == "the memory for C has a pattern that Kernel::symbolic did not give for it");
  bindings.output("C", *convert(pattern, *parse_format("ss"), Resources(), "C"));
  CHECK(refused(kernel, bindings).message == "the memory for C is stored as ss:0,1, the result as ds:0,1");
  const Kernel other = compiled(engine_with(), "C(i,j) = B(i,k) * A(k,j)", operands, options);
  bindings.output("C", *same_pattern(again->at("C"), others));
  CHECK(refused(other, bindings).operand == "C");
}

TEST_CASE("symbolic: coordinates that change without a word are found before anything is written beside the memory") {
  std::vector<std::int32_t> pos = {0, 2, 3, 4}, crd = {0, 1, 2, 0};
  std::vector<double> a = {1, 2, 3, 4};
  const Tensors operands = {{"A", *borrow_csr(3, 3, pos, crd, a)}, {"B", operand("sparse(3x9,nnz=9,seed=2)", "ds")}};
  for (const unsigned threads : {1U, 2U}) {
    CompileOptions options;
    options.formats["C"] = *parse_format("ds");
    const Kernel kernel = compiled(engine_with(threads), "C(i,j) = A(i,k) * B(k,j)", operands, options);
    Bindings bindings = bound(operands);
    const Tensor pattern = kernel.symbolic(bindings)->at("C");
    std::vector<double> values(pattern.nnz() + 20, -7);
    bindings.output("C", *same_pattern(pattern, std::span(values).subspan(10, pattern.nnz())));
    results_of(kernel, bindings);
    for (const auto& [rows, columns] : {std::pair(std::vector{0, 1, 1, 1}, std::vector{0, 1, 2, 0}),
                                       std::pair(std::vector{0, 2, 4, 4}, std::vector{0, 1, 0, 2})}) {
      std::ranges::copy(rows, pos.begin());
      std::ranges::copy(columns, crd.begin());
      const auto results = kernel.run(bindings);
      if (!results) CHECK(results.error().code == ErrorCode::pattern_changed);
      for (std::size_t n = 0; n < 10; ++n) CHECK((values[n] == -7 && values[values.size() - 1 - n] == -7));
    }
    pos = {0, 2, 3, 4};
    crd = {0, 1, 2, 0};
  }
}

// The kernel reads a copy without zeros of a dense operand: other values are other coordinates.
TEST_CASE("symbolic: values that decide which coordinates there are may not change which") {
  const std::vector<double> ones = {1, 1, 1};
  const Tensor sparse = operand("sparse(3,nnz=2,seed=1)", "s");
  for (const bool like : {false, true}) {
    CAPTURE(like);
    std::vector<double> dense = {1, 0, 2};
    const Tensors operands = {{"M", *borrow_dense({3}, dense)}, {"N", *borrow_dense({3}, ones)}};
    CompileOptions options;
    if (like) options.patterns["W"] = "M";
    else options.formats["W"] = *parse_format("s");
    const Kernel kernel = compiled(engine_with(), "W(i) = M(i) * N(i)", {{"M", sparse}, {"N", operands.at("N")}}, options);
    Bindings bindings = bound(operands);
    const Tensor pattern = kernel.symbolic(bindings)->at("W");
    std::vector<double> values(pattern.nnz());
    bindings.output("W", *same_pattern(pattern, values));
    const auto run_with = [&](const std::vector<double>& other) {
      std::ranges::copy(other, dense.begin());
      operands.at("M").values_changed();
      return kernel.run(bindings);
    };
    REQUIRE(run_with({5, 0, 7}));
    CHECK(values == std::vector<double>{5, 7});
    for (const std::vector<double>& other : {std::vector<double>{0, 3, 2}, std::vector<double>{1, 3, 2}}) {
      const auto refused = run_with(other);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == ErrorCode::pattern_changed);
      CHECK(refused.error().operand == "W");
    }
    REQUIRE(run_with({4, 0, 1}));
    CHECK(values == std::vector<double>{4, 1});
  }
}

TEST_CASE("symbolic: which tensors were bound before decides nothing about the coordinates of a result") {
  const std::vector<double> all(25, 1);
  const Tensor small = operand("sparse(3x3,nnz=3,seed=1)", "ss");
  const Tensor sparse = operand("sparse(5x5,nnz=5,seed=2)", "ss");
  const Tensor dense = *borrow_dense({5, 5}, all);
  CompileOptions options;
  options.formats["C"] = *parse_format("ss");
  const Kernel kernel = compiled(engine_with(), "C(i,j) = A(i,k) * B(k,j)", {{"A", small}, {"B", small}}, options);
  const auto stored = [&](Bindings& bindings, const Tensor& second) {
    bindings.set("A", sparse);
    bindings.set("B", second);
    return entries(results_of(kernel, bindings).at("C")).first;
  };
  for (const auto& [before, after] : {std::pair(dense, sparse), std::pair(sparse, dense)}) {
    Bindings bindings;
    stored(bindings, before);
    Bindings alone;
    CHECK(stored(bindings, after) == stored(alone, after));
  }
}

TEST_CASE("symbolic: pattern and values in arrays of the host") {
  const Tensors operands = {{"A", operand("sparse(9x8,nnz=20,seed=1)", "ds")}, {"B", operand("sparse(8x7,nnz=20,seed=2)", "ds")}};
  CompileOptions options;
  options.formats["C"] = *parse_format("ds");
  const Kernel kernel = compiled(engine_with(), "C(i,j) = A(i,k) * B(k,j)", operands, options);
  Bindings bindings = bound(operands);
  const Tensor pattern = kernel.symbolic(bindings)->at("C");
  std::vector<std::int32_t> pos(10, -1), crd(pattern.nnz(), -1);
  std::vector<double> values(pattern.nnz(), -1);
  const auto lent = same_pattern(pattern, {{}, {pos, crd}}, values);
  REQUIRE_MESSAGE(lent, lent.error().message);
  bindings.output("C", *lent);
  const Tensor result = results_of(kernel, bindings).at("C");
  CHECK(entries(result) == entries(fresh("C(i,j) = A(i,k) * B(k,j)", operands, options)));
  const auto csr = borrow_csr(9, 7, pos, crd, values);
  REQUIRE(csr);
  CHECK(entries(*csr) == entries(result));
  std::vector<std::int32_t> few(3);
  const auto refusal = same_pattern(pattern, {{}, {few, crd}}, values);
  REQUIRE_FALSE(refusal);
  CHECK(refusal.error().code == ErrorCode::sizes);
  CHECK_FALSE(same_pattern(pattern, {{pos, crd}}, values));
  CHECK_FALSE(same_pattern(operand("sparse(9x8,nnz=20,seed=1)", "hs"), {{pos, crd}, {pos, crd}}, values));
}

TEST_CASE("symbolic: a result at the positions of an operand is read by the next kernel, which is bound once and for all") {
  std::mt19937_64 random(5);
  std::uint64_t number = 0;
  for (const std::string format : {"sss", "uqq", "sss:2,0,1", "hss"}) {
    for (const unsigned threads : {1U, 2U}) {
      if (!test::is_drawn_sanitized(number++)) continue;
      CAPTURE(format);
      const Engine engine = engine_with(threads);
      Tensors operands = {{"T", operand("sparse(30x20x25,nnz=900,seed=1)", format)}, {"A", operand("uniform(30x4)")},
                          {"B", operand("uniform(20x4)")}, {"C", operand("uniform(25x4)")}};
      CompileOptions like;
      like.patterns["S"] = "T";
      like.formats["T"] = *parse_format(format);
      like.calls = 1000;
      const std::string tttp = "S(i,j,k) = T(i,j,k) * A(i,r) * B(j,r) * C(k,r)", mttkrp = "M(i,r) = S(i,j,k) * B(j,r) * C(k,r)";
      const Kernel first = compiled(engine, tttp, operands, like);
      std::vector<double> values(operands["T"].values().size_bytes() / 8);
      const auto S = same_pattern(operands["T"], values);
      REQUIRE(S);
      Bindings one = bound(operands);
      one.output("S", *S);
      Tensors read = {{"S", *S}, {"B", operands["B"]}, {"C", operands["C"]}};
      results_of(first, one);
      CompileOptions often;
      often.calls = 1000;
      const Kernel second = compiled(engine, mttkrp, read, often);
      const Bindings two = bound(read);
      results_of(second, two);
      CacheCounters before = engine.counters();
      for (int step = 0; step < 4; ++step) {
        renew(operands["A"], random);
        const Tensor result = results_of(first, one).at("S");
        CHECK(result.values().data() == values.data());
        const Tensor moved = results_of(second, two).at("M");
        Tensors by_itself = read;
        by_itself["S"] = fresh(tttp, operands, like);
        CHECK(entries(result) == entries(by_itself["S"]));
        CHECK(entries(moved) == entries(fresh(mttkrp, by_itself, {})));
      }
      const CacheCounters after = engine.counters();
      CHECK(after.layouts_made == before.layouts_made);
      CHECK(after.missed_pattern == before.missed_pattern);
      CHECK(after.fallbacks == before.fallbacks);
    }
  }
}

TEST_CASE("symbolic: SDDMM in values of the host, added to, then SpMM") {
  const Engine engine = engine_with(2);
  const Tensors operands = {{"M", operand("sparse(40x30,nnz=200,seed=1)", "ds")}, {"A", operand("uniform(40x5)")},
                            {"B", operand("uniform(30x5)")}};
  for (const bool scaled : {false, true}) {
    CompileOptions like;
    like.patterns["S"] = "M";
    if (scaled) like.scaled = {"S"};
    const std::string text = "S(i,j) = M(i,j) * A(i,k) * B(j,k)";
    const Kernel kernel = compiled(engine, text, operands, like);
    const auto sum = entries(fresh(text, operands, like)).second;
    std::vector<double> values(200, 1);
    Bindings bindings = bound(operands);
    bindings.output("S", *same_pattern(operands.at("M"), values), {1, 1});
    const Tensor S = results_of(kernel, bindings).at("S");
    for (std::size_t n = 0; n < 200; ++n) CHECK(values[n] == sum[n] + 1);
    REQUIRE(bindings.scale_output("S", {-2, 2}));
    results_of(kernel, bindings);
    for (std::size_t n = 0; n < 200; ++n) CHECK(values[n] == 2);
    const CacheCounters before = engine.counters();
    const Tensors read = {{"S", S}, {"B", operands.at("B")}};
    const Kernel spmm = compiled(engine, "O(i,k) = S(i,j) * B(j,k)", read);
    CHECK(entries(results_of(spmm, bound(read)).at("O")) == entries(fresh("O(i,k) = S(i,j) * B(j,k)", read, {})));
    CHECK(engine.counters().layouts_made == before.layouts_made);
    // Another pattern, and no memory of the host for its result.
    Tensors others = operands;
    others["M"] = operand("sparse(40x30,nnz=200,seed=2)", "ds");
    std::ranges::fill(values, -1);
    CHECK(entries(results_of(kernel, bound(others)).at("S")) == entries(fresh(text, others, like)));
    CHECK(std::ranges::count(values, -1) == 200);
    bindings.set("M", operand("sparse(40x30,nnz=201,seed=2)", "ds"));
    const Error error = refused(kernel, bindings);
    CHECK(error.code == ErrorCode::pattern_changed);
    CHECK(error.operand == "M");
  }
}

TEST_CASE("symbolic: a row for each fiber of an operand, in values of the host, added to, and of another operand") {
  const std::string text = "Y(i,j,r) = T(i,j,k) * U(k,r)";
  for (const unsigned threads : {1U, 2U}) {
    for (const bool scaled : {false, true}) {
      const Engine engine = engine_with(threads);
      Tensors operands = {{"T", operand("sparse(30x20x25,nnz=900,seed=1)", "sss")}, {"U", operand("uniform(25x4)")}};
      CompileOptions rows;
      rows.formats["Y"] = *parse_format("ssd");
      if (scaled) rows.scaled = {"Y"};
      const Kernel kernel = compiled(engine, text, operands, rows);
      Bindings bindings = bound(operands);
      const auto pattern = kernel.symbolic(bindings);
      REQUIRE_MESSAGE(pattern, pattern.error().message);
      const auto [coordinates, sum] = entries(fresh(text, operands, rows));
      CHECK(entries(pattern->at("Y")).first == coordinates);
      std::vector<double> values(sum.size(), 1);
      if (scaled)
        bindings.output("Y", *same_pattern(pattern->at("Y"), values), {2, 1});
      else
        bindings.output("Y", *same_pattern(pattern->at("Y"), values));
      for (int run = 0; run < 2; ++run) {
        const Tensor result = results_of(kernel, bindings).at("Y");
        CHECK(result.values().data() == values.data());
        for (std::size_t n = 0; n < values.size(); ++n) CHECK(values[n] == (scaled ? 2 * (run + 1) * sum[n] + 1 : sum[n]));
      }
      // Other fibers: refused where their rows have no memory, right where they get some.
      operands["T"] = operand("sparse(30x20x25,nnz=901,seed=2)", "sss");
      bindings.set("T", operands["T"]);
      const Error error = refused(kernel, bindings);
      CHECK(error.code == ErrorCode::pattern_changed);
      CHECK(error.operand == "T");
      const Bindings other = bound(operands);
      CHECK(entries(results_of(kernel, other).at("Y")) == entries(fresh(text, operands, rows)));
    }
  }
}

TEST_CASE("symbolic: at the positions of an operand that the kernel reads converted") {
  const std::string text = "S(i,j) = M(i,j) * A(i,k) * B(j,k)";
  for (const std::string format : {"ds:1,0", "uq", "hs:1,0"}) {
    CAPTURE(format);
    Tensors operands = {{"M", operand("sparse(40x30,nnz=200,seed=1)", "ds")}, {"A", operand("uniform(40x5)")},
                            {"B", operand("uniform(30x5)")}};
    CompileOptions like;
    like.patterns["S"] = "M";
    const Kernel kernel = compiled(engine_with(), text, operands, like);
    if (format[0] == 'u') operands["M"] = operand("sparse(40x30,nnz=200,seed=1)", "uq");
    else operands["M"] = *convert(operands["M"], *parse_format(format), Resources(), "M");
    std::vector<double> values(operands["M"].values().size_bytes() / 8, -1);
    Bindings bindings = bound(operands);
    bindings.output("S", *same_pattern(operands["M"], values));
    const auto results = kernel.run(bindings);
    if (format[0] == 'h') {
      REQUIRE_FALSE(results);
      CHECK(results.error().kind == ErrorKind::unsupported);
      continue;
    }
    REQUIRE_MESSAGE(results, results.error().message);
    CHECK(results->at("S").values().data() == values.data());
    CHECK(entries(results->at("S")) == entries(fresh(text, operands, like)));
  }
}

TEST_CASE("symbolic: at the positions of an operand whose entries the kernel reads in the same order, from a chain") {
  std::mt19937_64 random(7);
  const std::string text = "S(i,j,k) = T(i,j,k) * A(i,r) * B(j,r) * C(k,r)";
  const auto drawn = [](unsigned seed) {
    return operand("sparse(200x200x200,nnz=60000,seed=" + std::to_string(seed) + ")", "sss");
  };
  for (const unsigned threads : {1U, 2U}) {
    CAPTURE(threads);
    Tensors operands = {{"T", drawn(1)}};
    for (const char* factor : {"A", "B", "C"}) operands[factor] = operand("uniform(200x16)");
    CompileOptions once;
    once.patterns["S"] = "T";
    CompileOptions often = once;
    often.calls = 1e6;
    often.scaled = {"S"};
    const Kernel kernel = compiled(engine_with(threads), text, operands, often);
    CHECK(kernel.report().plan.schedule.find("duq:0,1,2 f64 delivered sss:0,1,2 f64 like T") != std::string::npos);
    Bindings bindings = bound(operands);
    // The next kernel reads T's own coordinates, of which it knows what is known of T.
    const Tensor first = results_of(kernel, bindings).at("S");
    CHECK(first.format().text() == "sss:0,1,2");
    for (std::size_t level = 0; level < 3; ++level) CHECK(first.levels()[level].crd.data() == operands["T"].levels()[level].crd.data());
    CHECK(entries(first) == entries(fresh(text, operands, once)));
    std::vector<double> values(operands["T"].nnz(), -1);
    std::vector<float> single(values.size(), -1);
    for (int step = 0; step < 3; ++step) {
      CAPTURE(step);
      renew(operands["T"], random);
      renew(operands["B"], random);
      const auto wanted = entries(fresh(text, operands, once));
      bindings.output("S", *same_pattern(operands["T"], values));
      CHECK(results_of(kernel, bindings).at("S").values().data() == values.data());
      CHECK(values == wanted.second);
      std::ranges::fill(values, 1);
      bindings.output("S", *same_pattern(operands["T"], values), {2, 3});
      results_of(kernel, bindings);
      std::size_t wrong = 0;
      for (std::size_t n = 0; n < values.size(); ++n) wrong += values[n] == 2 * wanted.second[n] + 3 ? 0 : 1;
      CHECK(wrong == 0);
      bindings.output("S", *same_pattern(operands["T"], single));
      CHECK(entries(results_of(kernel, bindings).at("S")) == wanted);
    }
    // Another pattern, the same one in other levels, and in another order.
    const Tensor other = drawn(2);
    std::vector<double> there(other.nnz());
    for (const std::string format : {"sss", "dss", "uqq", "sss:2,0,1"}) {
      CAPTURE(format);
      operands["T"] = *convert(other, *parse_format(format), Resources(), "T");
      const auto wanted = entries(fresh(text, operands, once));
      std::ranges::fill(there, -1);
      Bindings anew = bound(operands);
      CHECK(entries(results_of(kernel, anew).at("S")) == wanted);
      CHECK(std::ranges::count(there, -1) == static_cast<std::ptrdiff_t>(there.size()));
      for (Bindings* each : {&anew, &bindings}) {
        each->set("T", operands["T"]);
        each->output("S", *same_pattern(operands["T"], there));
        const Tensor result = results_of(kernel, *each).at("S");
        CHECK(result.values().data() == there.data());
        CHECK(entries(result) == wanted);
      }
    }
  }
}

TEST_CASE("symbolic: dense results own their memory, and so do those of dense operands") {
  const Tensors operands = {{"A", operand("uniform(6x5)")}, {"B", operand("uniform(5x7)")}};
  CompileOptions options;
  options.formats["C"] = *parse_format("ss");
  const Kernel sparse = compiled(engine_with(), "C(i,j) = A(i,k) * B(k,j)", operands, options);
  const auto all = sparse.symbolic(bound(operands));
  REQUIRE(all);
  CHECK(all->at("C").nnz() == 42);
  const Kernel dense = compiled(engine_with(), "C(i,j) = A(i,k) * B(k,j)", operands);
  const auto results = dense.symbolic(bound(operands));
  REQUIRE(results);
  CHECK(entries(results->at("C")) == entries(fresh("C(i,j) = A(i,k) * B(k,j)", operands, {})));
  CHECK_FALSE(Kernel().symbolic(Bindings()));
}

TEST_CASE("symbolic: memory takes the values of runs as long as operands are the same, whatever was made of these meanwhile") {
  for (const std::string layout : {"ds", "ds:1,0", "hh", "sd", "upper", "dia", "ell", "vbl"}) {
    for (const std::string& compiled_for : {layout, std::string("ds")}) {
      for (const bool pinned : {false, true}) {
        CAPTURE(layout);
        CAPTURE(compiled_for);
        CAPTURE(pinned);
        const auto matrix = [&](const std::string& format) {
          std::vector<int> rows, columns;
          for (int row = 0; row < 30; ++row)
            for (int column = row; column < 30; column += 7) rows.push_back(row), columns.push_back(column);
          const std::vector<double> values(rows.size(), 3);
          const auto made = from_coo({30, 30}, {rows, columns}, values, *parse_format(format), Resources());
          REQUIRE_MESSAGE(made, made.error().message);
          return *made;
        };
        Tensors operands = {{"A", matrix(compiled_for)}, {"x", operand("ones(30)")}};
        CompileOptions options;
        options.formats["y"] = *parse_format("s");
        if (pinned) options.formats["A"] = *parse_format(layout);
        const std::string text = "y(i) = A(i,j) * x(j)";
        const Engine engine = engine_with(1);
        const Kernel kernel = compiled(engine, text, operands, options);
        operands["A"] = matrix(layout);
        Bindings bindings = bound(operands);
        const auto symbolic = kernel.symbolic(bindings);
        REQUIRE_MESSAGE(symbolic, symbolic.error().message);
        std::vector<double> values(symbolic->at("y").values().size_bytes() / 8);
        bindings.output("y", *same_pattern(symbolic->at("y"), values));
        const std::vector<double> wanted = numbers(symbolic->at("y"));
        const auto is_right = [&](const Kernel& one, const Bindings& others) {
          std::ranges::fill(values, -1);
          const auto results = one.run(others);
          REQUIRE_MESSAGE(results, results.error().message);
          return numbers(results->at("y")) == wanted && std::ranges::equal(values, symbolic->at("y").values().as<const double>());
        };
        CHECK(is_right(kernel, bindings));
        engine.give_back();
        CHECK(is_right(kernel, bindings));
        bindings.set("x", *convert(operands["x"], *parse_format("d"), Resources(), "x"));
        CHECK(is_right(kernel, bindings));
        const auto of_x = operands["x"].values().as<const double>();
        const std::vector<double> lent(of_x.begin(), of_x.end());
        bindings.set("x", *borrow_dense({30}, lent));
        CHECK(is_right(kernel, bindings));
        const Engine second = engine_with(1);
        CHECK(is_right(compiled(second, text, {{"A", operands["A"]}, {"x", operands["x"]}}, options), bindings));
        CHECK(is_right(*engine.load(*kernel.save()), bindings));
        bindings.set("A", matrix(layout));
        CHECK(refused(kernel, bindings).code == ErrorCode::pattern_changed);
      }
    }
  }
}

TEST_CASE("symbolic: results over the levels of layouts are written into values of the host") {
  struct Blocked {
    std::string text, result, format;
    std::map<std::string, std::string> given;   ///< formats of operands
    std::map<std::string, std::string> pinned;  ///< layouts
  };
  std::mt19937_64 random(5);
  const std::map<std::string, std::string> blocks = {{"A", "bcsr(3,3)"}, {"B", "bcsr(3,3)"}}, rows = {{"A", "ds"}, {"B", "ds"}};
  for (const Blocked& one : {Blocked{"y(i) = A(i,j) * x(j)", "y", "s", {{"A", "bcsr(3,3)"}}, {}},
                             Blocked{"y(i) = A(i,j) * x(j)", "y", "s", {{"A", "sell(8)"}}, {}},
                             Blocked{"y(i) = A(i,j) * x(j)", "y", "h", {{"A", "ds"}}, {{"A", "bcsr(2,3)"}}},
                             Blocked{"C(i,j) = A(i,k) * B(k,j)", "C", "ds", blocks, {}},
                             Blocked{"C(i,j) = A(i,k) * B(k,j)", "C", "ds", rows, blocks},
                             Blocked{"C(j,i) = A(i,k) * B(k,j)", "C", "ss", rows, blocks},
                             Blocked{"C(i,j) = A(i,k) * B(k,j)", "C", "db", blocks, {}},
                             Blocked{"C(i,j) = A(i,k) * B(k,j)", "C", "ds", {{"A", "bcsr(4,4)"}, {"B", "ds"}}, {}},
                             Blocked{"C(i,j) = A(i,j) * D(i,j)", "C", "ds", {{"A", "bcsr(3,3)"}}, {}},
                             Blocked{"C(i,j) = A(i,j) * D(i,j)", "C", "uq", {{"A", "ds"}}, {{"A", "bcsr(7,2)"}}}}) {
    for (const unsigned threads : {1U, 2U}) {
      CAPTURE(one.text);
      CAPTURE(one.format);
      CAPTURE(one.given.at("A"));
      CAPTURE(threads);
      Tensors operands = {{"A", operand("sparse(30x30,nnz=90,seed=1)", one.given.at("A"))}};
      if (one.given.contains("B")) operands["B"] = operand("sparse(30x30,nnz=90,seed=2)", one.given.at("B"));
      if (one.text.find("x(j)") != std::string::npos) operands["x"] = operand("ones(30)");
      if (one.text.find("D(i,j)") != std::string::npos) operands["D"] = operand("ones(30x30)");
      CompileOptions plain_options;
      plain_options.formats[one.result] = *parse_format(one.format);
      CompileOptions options = plain_options;
      for (const auto& [name, layout] : one.pinned) options.formats[name] = *parse_format(layout);
      const Kernel kernel = compiled(engine_with(threads), one.text, operands, options);
      Bindings bindings = bound(operands);
      const auto symbolic = kernel.symbolic(bindings);
      REQUIRE_MESSAGE(symbolic, symbolic.error().message);
      const Tensor pattern = symbolic->at(one.result);
      CHECK(pattern.format().text() == parse_format(one.format)->text());
      std::vector<double> values(pattern.values().size_bytes() / 8, -1), scaled(values.size(), 3), others(values.size(), -1);
      const Tensor memory = *same_pattern(pattern, values);
      for (int step = 0; step < 3; ++step) {
        CAPTURE(step);
        // Not those of places that blocks add.
        for (double& value : operands["A"].writable_values<double>())
          if (value != 0) value = static_cast<double>(1 + random() % 5);
        bindings.set("A", operands["A"]);
        bindings.output(one.result, memory);
        const Tensor result = results_of(kernel, bindings).at(one.result);
        CHECK(result.values().data() == values.data());
        CHECK(entries(result) == entries(fresh(one.text, operands, options)));
        bindings.output(one.result, *same_pattern(pattern, scaled), {.alpha = 2, .beta = -1});
        std::vector<double> wanted = scaled;
        const auto has_entry = [&](std::size_t element) { return values[element] != 0; };  // no gap
        for (std::size_t element = 0; element < wanted.size(); ++element)
          if (has_entry(element)) wanted[element] = 2 * values[element] - wanted[element];
        (void)results_of(kernel, bindings);
        for (std::size_t element = 0; element < wanted.size(); ++element)
          if (has_entry(element)) CHECK(scaled[element] == wanted[element]);
      }
      // Kernels of other engines, and one over the plain operands, take the memory too; this one takes what that gives.
      std::vector<Kernel> takers = {compiled(engine_with(1), one.text, operands, options)};
      if (!one.pinned.empty()) takers.push_back(compiled(engine_with(1), one.text, operands, plain_options));
      for (const Kernel& taker : takers) {
        std::ranges::fill(others, -1);
        Bindings again = bound(operands);
        again.output(one.result, *same_pattern(pattern, others));
        CHECK(results_of(taker, again).size() == 1);
        CHECK(others == values);
      }
      const Tensor of_taker = takers.back().symbolic(bound(operands))->at(one.result);
      std::vector<double> its_own(of_taker.values().size_bytes() / 8, -1);
      Bindings over_other = bound(operands);
      over_other.output(one.result, *same_pattern(of_taker, its_own));
      CHECK(numbers(results_of(kernel, over_other).at(one.result)) == numbers(memory));
      // Another pattern of A.
      Bindings changed = bound(operands);
      changed.set("A", operand("sparse(30x30,nnz=90,seed=3)", one.given.at("A")));
      changed.output(one.result, memory);
      const auto refused = kernel.run(changed);
      REQUIRE(!refused);
      CHECK(refused.error().code == ErrorCode::pattern_changed);
      CHECK(refused.error().operand == "A");
      // Memory that has another pattern altogether.
      Bindings foreign = bound(operands);
      std::vector<double> of_another(pattern.values().size_bytes() / 8);
      TensorArrays alone = pattern.arrays();
      alone.values = Buffer::borrow(of_another.data(), of_another.size() * 8);
      foreign.output(one.result, Tensor(std::move(alone), Validity::unknown));
      const auto unknown = kernel.run(foreign);
      REQUIRE(!unknown);
      CHECK(unknown.error().message.find("a pattern that Kernel::symbolic did not give for it") != std::string::npos);
    }
  }
}

TEST_CASE("symbolic: sums over blocks that become 0 keep their place, and those that had none are told") {
  Tensors operands = {{"A", operand("ones(6x6)", "bcsr(3,3)")}, {"x", operand("ones(6)")}};
  for (const auto& [name, tensor] : operands) std::ranges::fill(tensor.writable_values<double>(), 1);
  CompileOptions options;
  options.formats["y"] = *parse_format("s");
  const Kernel kernel = compiled(engine_with(1), "y(i) = A(i,j) * x(j)", operands, options);
  const auto row = [&](std::size_t number, double value) {  // of the first block
    const auto values = operands["A"].writable_values<double>();
    values[3 * number] = value;
    values[3 * number + 1] = -value;
    for (const std::size_t element : {3 * number + 2, 9 + 3 * number, 10 + 3 * number, 11 + 3 * number}) values[element] = 0;
  };
  Bindings bindings = bound(operands);
  const Tensor pattern = kernel.symbolic(bindings)->at("y");
  REQUIRE(pattern.nnz() == 6);
  std::vector<double> values(6, -1);
  bindings.output("y", *same_pattern(pattern, values));
  row(1, 4);
  CHECK(numbers(results_of(kernel, bindings).at("y")) == std::vector<double>{6, 0, 6, 6, 6, 6});
  bindings.output("y", *same_pattern(pattern, values), {.alpha = 1, .beta = 1});
  (void)results_of(kernel, bindings);
  CHECK(values == std::vector<double>{12, 0, 12, 12, 12, 12});
  const Tensor fewer = kernel.symbolic(bindings)->at("y");
  if (fewer.nnz() == 6) return;  // the sum stayed an entry
  std::vector<double> five(5, -1);
  bindings.output("y", *same_pattern(fewer, five));
  CHECK(numbers(results_of(kernel, bindings).at("y")) == std::vector<double>{6, 6, 6, 6, 6});
  operands["A"].writable_values<double>()[3] = 7;
  const auto told = kernel.run(bindings);
  REQUIRE(!told);
  CHECK(told.error().code == ErrorCode::pattern_changed);
  CHECK(told.error().operand == "y");
  CHECK(told.error().message.find("the result y has an entry at (1)") == 0);
}

TEST_CASE("symbolic: a result in a layout has no memory of the host, nor has one of another format") {
  const Tensors operands = {{"A", operand("sparse(30x30,nnz=90,seed=1)", "bcsr(3,3)")}};
  CompileOptions options;
  options.formats["C"] = *parse_format("bcsr(3,3)");
  const std::string text = "C(i,j) = 2 * A(i,j)";
  const auto refused = compiled(engine_with(1), text, operands, options).symbolic(bound(operands));
  REQUIRE(!refused);
  CHECK(refused.error().kind == ErrorKind::unsupported);
  CHECK(refused.error().operand == "C");
  CHECK(refused.error().message.find("it is handed over in the layout (i,j) -> (i/3:d, j/3:s, i%3:d, j%3:d)") != std::string::npos);
  options.formats["C"] = *parse_format("ss");
  const Tensor pattern = compiled(engine_with(1), text, operands, options).symbolic(bound(operands))->at("C");
  std::vector<double> values(pattern.values().size_bytes() / 8);
  options.formats["C"] = *parse_format("ds");
  Bindings bindings = bound(operands);
  bindings.output("C", *same_pattern(pattern, values));
  const auto other = compiled(engine_with(1), text, operands, options).run(bindings);
  REQUIRE(!other);
  CHECK(other.error().message == "the memory for C is stored as ss:0,1, the result as ds:0,1");
}

TEST_CASE("symbolic: values at the positions of an operand that is pinned to blocks") {
  const Tensors operands = {{"A", operand("sparse(30x30,nnz=200,seed=1)", "ds")}, {"D", operand("ones(30x4)")}};
  const std::string text = "C(i,j) = A(i,j) * D(i,r) * D(j,r)";
  CompileOptions options;
  options.patterns["C"] = "A";
  const Tensor plain = fresh(text, operands, options);
  options.formats["A"] = *parse_format("bcsr(3,3)");
  const Kernel kernel = compiled(engine_with(1), text, operands, options);
  Bindings bindings = bound(operands);
  std::vector<double> values(operands.at("A").nnz(), -1);
  bindings.output("C", *same_pattern(operands.at("A"), values));
  CHECK(entries(results_of(kernel, bindings).at("C")) == entries(plain));
  bindings.set("A", operand("sparse(30x30,nnz=200,seed=2)", "ds"));
  CHECK(refused(kernel, bindings).code == ErrorCode::pattern_changed);
  // Without such memory it has the blocks.
  bindings = bound(operands);
  CHECK(results_of(kernel, bindings).at("C").format().layout);
  CHECK(kernel.symbolic(bindings).error().kind == ErrorKind::unsupported);
}

TEST_CASE("symbolic: memory is compared where values decide the coordinates of a layout that an operand is pinned to") {
  Tensors operands = {{"A", operand("ones(6x6)")}, {"x", operand("ones(6)")}};
  const auto element = [&](std::size_t number) -> double& { return operands["A"].writable_values<double>()[number]; };
  for (std::size_t number = 0; number < 18; ++number) element(number) = 0;
  struct Read {
    std::string layout;
    bool pinned = true;
  };
  for (const Read& read : {Read{"ds"}, Read{"ss"}, Read{"ds", false}, Read{"ss", false}}) {
    CAPTURE(read.layout);
    CAPTURE(read.pinned);
    CompileOptions options;
    options.formats["y"] = *parse_format("s");
    if (read.pinned) options.formats["A"] = *parse_format(read.layout);
    const std::string text = "y(i) = A(i,j) * x(j)";
    const Engine engine = engine_with(1);
    Tensors compiled_for = operands;
    compiled_for["A"] = *convert(operands["A"], *parse_format(read.layout), Resources(), "A");
    const Kernel kernel = compiled(engine, text, compiled_for, options);
    Bindings bindings = bound(operands);
    const Tensor pattern = kernel.symbolic(bindings)->at("y");
    std::vector<double> values(pattern.values().size_bytes() / 8);
    bindings.output("y", *same_pattern(pattern, values));
    CHECK(numbers(results_of(kernel, bindings).at("y")) == numbers(pattern));
    element(20) = 2;
    const std::vector<double> wanted = numbers(fresh(text, operands, options));
    CHECK(numbers(results_of(kernel, bindings).at("y")) == wanted);
    element(0) = 1;
    const auto changed = kernel.run(bindings);
    // Either the memory had the coordinate as well, or the run says that it has not.
    if (changed) CHECK(numbers(changed->at("y")) == numbers(fresh(text, operands, options)));
    if (!changed) CHECK(changed.error().code == ErrorCode::pattern_changed);
    element(0) = 0;
    element(20) = 1;
  }
}

}  // namespace symbolic_test
