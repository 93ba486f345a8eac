// Bindings that change between runs: what is bound again, what stays, and that results are always those of the operands now.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "oracle/long_extents.h"
#include "unit/frontend/host_loop.h"
#include "unit/sanitized.h"
#include "unit/share.h"
#include "weft/arrays.h"

namespace workspaces_test {

using namespace weft;
using namespace weft::test;

namespace {

/// What an engine that has never seen them computes.
std::vector<double> fresh(const std::string& text, const Tensors& operands, const CompileOptions& options = {}) {
  const Engine engine = engine_with();
  const Kernel kernel = compiled(engine, text, operands, options);
  Bindings bindings = bound(operands);
  const auto results = kernel.run(bindings);
  REQUIRE_MESSAGE(results, results.error().message);
  return numbers(results->begin()->second);
}

std::vector<double> ran(const Kernel& kernel, const Bindings& bindings) {
  const auto results = kernel.run(bindings);
  REQUIRE_MESSAGE(results, results.error().message);
  return numbers(results->begin()->second);
}

/// Every entry of a result that is not 0, over extents of any length.
std::map<std::vector<std::uint64_t>, double> entries(const Tensors& results) {
  const Tensor& tensor = results.begin()->second;
  const auto good = verify(tensor, Resources(), "result");
  REQUIRE_MESSAGE(good, good.error().message);
  const auto listed = to_coo(tensor, Resources());
  REQUIRE(listed);
  std::map<std::vector<std::uint64_t>, double> found;
  for (std::size_t n = 0; n < listed->values.size(); ++n) {
    std::vector<std::uint64_t> at;
    for (const auto& coordinates : listed->crd) at.push_back(coordinates[n]);
    if (listed->values[n] != 0) found[at] = listed->values[n];
  }
  return found;
}

struct Run {
  std::string text;
  std::vector<std::string> formats;  ///< of T, that are bound in turn
  CompileOptions options;
};

}  // namespace

TEST_CASE("workspaces: announced changes of what is read through views and padded copies are seen, beside layouts of every kind") {
  unsigned number = 0;
  for (const char* layout : {"bcsr(2,2)", "dia", "dia(4)", "ell", "vbl", "(i,j) -> (i:d, j/2:s, j%2:d)", "ds"}) {
    for (const std::string text : {"y(i) = M(i,j) * x(j)", "y(j) = M(i,j) * x(i)", "y(i,r) = M(i,j) * X(r,j)"}) {
      if (!test::is_drawn_sanitized(number++)) continue;
      CAPTURE(layout);
      CAPTURE(text);
      const bool matrix = text.find('r') != std::string::npos;
      const Tensors operands{{"M", operand("sparse(13x13,nnz=40,seed=1)", layout)},
                             {matrix ? "X" : "x", operand(matrix ? "ones(5x13)" : "ones(13)")}};
      CompileOptions often;
      often.calls = 1000;
      const Engine engine = engine_with();
      const Kernel kernel = compiled(engine, text, operands, often);
      const Bindings bindings = bound(operands);
      for (int change = 0; change < 4; ++change) {
        const auto& [name, dense] = *operands.rbegin();
        const Tensor copied = with_value(dense, 0, dense.values().as<const double>()[0]);  // with facts of its own
        CHECK(ran(kernel, bindings) == fresh(text, {{"M", operands.at("M")}, {name, copied}}));
        Tensor changed = dense;  // the same values
        for (double& value : changed.writable_values<double>()) value = value == 7 ? 1 : value + 1;
        changed.values_changed();
      }
    }
  }
}

TEST_CASE("workspaces: operands whose patterns change live as long as nests that are bound within a run") {
  const Tensors operands{{"M", operand("sparse(9x12,nnz=50,seed=1)", "ds")},
                         {"B", operand("sparse(12x12,nnz=40,seed=2)", "ds")},
                         {"x", operand("ones(12)")}};
  for (const char* format : {"ds", "ds:1,0"}) {
    CompileOptions options;
    options.changing_patterns = {"x"};
    options.formats["D"] = *parse_format(format);
    const std::string text = "D(i,k) = M(i,j) * B(j,k); y(i) = D(i,k) * x(k)";
    const Kernel kernel = compiled(engine_with(), text, operands, options);
    const Bindings bindings = bound(operands);
    const auto first = kernel.run(bindings);
    REQUIRE_MESSAGE(first, first.error().message);
    const std::vector<double> y = numbers(first->at("y"));
    for (int again = 0; again < 3; ++again) CHECK(numbers(kernel.run(bindings)->at("y")) == y);
  }
}

TEST_CASE("workspaces: operands whose patterns change are not looked at after their run, where the kernel rests on finite values") {
  const Tensors operands{{"M", operand("sparse(2x4,nnz=6,seed=1)", "uq")},
                         {"N", operand("sparse(4x3,nnz=3,seed=2)", "uq")},
                         {"x", operand("ones(3)")}};
  CompileOptions options;
  options.changing_patterns = {"N"};
  options.formats["z"] = *parse_format("d");
  for (const std::string text : {"z(i) = M(i,j) * N(j,k) * x(k)", "z(k) = M(i,j) * N(j,k) * x(k)", "z(i) = (N(j,k) * x(k)) * M(i,j)"}) {
    const Kernel kernel = compiled(engine_with(3), text, operands, options);
    const Bindings bindings = bound(operands);
    const std::vector<double> z = ran(kernel, bindings);
    for (int again = 0; again < 3; ++again) CHECK(ran(kernel, bindings) == z);
  }
}

TEST_CASE("workspaces: a kernel that does not fit is replaced though an operand of what is not computed is stored in blocks") {
  CompileOptions options;
  options.formats["N"] = *parse_format("ds");
  const std::string text = "C(i,k) = M(i,j) * N(j,k); y(i) = M(i,j) * x(j)";
  const Tensors operands{{"M", operand("sparse(6x6,nnz=3,seed=1)", "(i,j) -> (i:d, j-i:s)")},
                         {"N", operand("sparse(6x6,nnz=20,seed=2)", "bcsr(2,2)")},
                         {"x", operand("ones(6)")}};
  const Kernel kernel = compiled(engine_with(), text, operands, options);
  Bindings bindings = bound(operands);
  (void)ran(kernel, bindings);
  Tensors others = operands;
  others.at("M") = operand("sparse(6x6,nnz=25,seed=3)", "(i,j) -> (i:d, j-i:s)");
  bindings.set("M", others.at("M"));
  CHECK(ran(kernel, bindings) == fresh(text, others));
}

TEST_CASE("workspaces: operands replaced at random, by others of any format, pattern and size, give what a new engine gives") {
  CompileOptions often;
  often.calls = 1000;
  CompileOptions like = often;
  like.patterns["y"] = "T";
  CompileOptions sparse = often;
  sparse.formats["y"] = *parse_format("ss");
  const std::vector<Run> runs = {{"y(i,r) = T(i,j,k) * B(j,r) * C(k,r)", {"sss", "sss:2,1,0", "uqq", "dss"}, often},
                                 {"y(j,r) = T(i,j,k) * B(i,r) * C(k,r)", {"sss", "sss:1,0,2"}, often},
                                 {"y(i,j,k) = T(i,j,k) * B(j,r) * C(k,r)", {"sss", "sss:1,0,2"}, like},
                                 {"y(i,j) = T(i,j,k) * C(k,r) * D(r)", {"sss", "hss"}, sparse},
                                 {"y(i,r) = T(i,j,k) * B(j,r) * C(k,r); z = y(i,r) * y(i,r)", {"sss"}, {}}};
  std::mt19937_64 random(11);
  const auto below = [&](std::uint64_t most) { return random() % most; };
  unsigned number = 0;
  for (const Run& run : runs) {
    for (const unsigned threads : {1U, 2U}) {
      if (!test::is_drawn_sanitized(number++, 5)) continue;
      CAPTURE(run.text);
      CAPTURE(threads);
      // Where nothing is dense over i.
      const bool may_be_long = !run.options.patterns.empty() || !run.options.formats.empty();
      const Engine engine = engine_with(threads);
      std::uint64_t extents[] = {9, 11, 8};  // i, j, k
      unsigned seed = 1;
      const auto made = [&](const std::string& name) {
        ++seed;
        const auto rows = std::to_string(run.text.find(name + "(i,") != std::string::npos ? extents[0]
                                         : name == "B" ? extents[1] : extents[2]);
        if (name == "D") return operand("ones(4)");
        if (name != "T") return operand("uniform(" + rows + "x4,seed=" + std::to_string(seed) + ")");
        const std::string shape = std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" + std::to_string(extents[2]);
        const std::string nnz = std::to_string(1 + below(300));
        return operand("sparse(" + shape + ",nnz=" + nnz + ",seed=" + std::to_string(seed) + ")", run.formats[below(run.formats.size())]);
      };
      std::vector<std::string> names = {"T"};
      for (const char* name : {"B", "C", "D"}) {
        if (run.text.find(std::string(name) + "(") != std::string::npos) names.emplace_back(name);
      }
      Tensors now;
      for (const std::string& name : names) now[name] = made(name);
      const Kernel kernel = compiled(engine, run.text, now, run.options);
      Bindings bindings;
      for (const auto& [name, tensor] : now) bindings.set(name, tensor);
      std::vector<std::vector<double>> kept;  // values of the host
      for (unsigned step = 0; step < test::scaled(30); ++step) {
        CAPTURE(step);
        const std::string name = names[below(names.size())];
        switch (below(5)) {
          case 0: break;
          case 1:
            if (below(3) == 0) extents[below(3)] += 1;
            if (may_be_long && below(2) == 0) extents[0] = below(3) == 0 ? 9 : long_extents[below(long_extents.size())];
            for (const std::string& each : names) {
              now[each] = made(each);
              bindings.set(each, now[each]);
            }
            break;
          case 2: {
            kept.emplace_back(now[name].values().size_bytes() / sizeof(double), static_cast<double>(1 + below(5)));
            auto other = same_pattern(now[name], kept.back());
            REQUIRE(other);
            now[name] = *other;
            REQUIRE(bindings.replace_values(name, kept.back()));
            break;
          }
          case 3:
            bindings.set(name, now[name]);  // whose values the next line announces to have changed
            for (double& value : now[name].writable_values<double>()) value = static_cast<double>(1 + below(5));
            break;
          default:
            now[name] = made(name);
            bindings.set(name, now[name]);
            break;
        }
        const auto expected = entries(results_of(compiled(engine_with(), run.text, now, run.options), bound(now)));
        CHECK(entries(results_of(kernel, bindings)) == expected);
        const Bindings copy = bindings;
        CHECK(entries(results_of(kernel, copy)) == expected);
      }
    }
  }
}

TEST_CASE("workspaces: results held by the host stay while operands are replaced") {
  const Engine engine = engine_with();
  const Tensors operands = {{"M", operand("sparse(20x30,nnz=90,seed=1)")}, {"x", operand("uniform(30)")}};
  const Kernel kernel = compiled(engine, "y(i) = M(i,j) * x(j)", operands);
  Bindings bindings = bound(operands);
  const auto first = kernel.run(bindings);
  REQUIRE(first);
  const std::vector<double> before = numbers(first->at("y"));
  const std::vector<double> others(30, 3);
  REQUIRE(bindings.replace_values("x", others));
  const auto second = kernel.run(bindings);
  REQUIRE(second);
  CHECK(numbers(first->at("y")) == before);
  CHECK(numbers(second->at("y")) != before);
}

TEST_CASE("workspaces: memory of the host for results comes, moves and goes between runs") {
  const Engine engine = engine_with();
  const Tensors operands = {{"M", operand("sparse(6x30,nnz=90,seed=1)")}, {"x", operand("uniform(30x4)")}};
  const std::string text = "y(i,r) = M(i,j) * x(j,r)";
  const std::vector<double> expected = fresh(text, operands);
  const Kernel kernel = compiled(engine, text, operands);
  Bindings bindings = bound(operands);
  const Bindings without = bindings;
  std::vector<double> row_major(24), column_major(24), other(24);
  for (int round = 0; round < 3; ++round) {
    CHECK(ran(kernel, without) == expected);
    for (std::vector<double>* memory : {&row_major, &other}) {
      std::ranges::fill(*memory, -1);
      bindings.output("y", *borrow_dense({6, 4}, *memory));
      REQUIRE(kernel.run(bindings));
      CHECK(*memory == expected);
    }
    std::ranges::fill(column_major, -1);
    bindings.output("y", *borrow_dense({6, 4}, column_major, {1, 6}));
    REQUIRE(kernel.run(bindings));
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t r = 0; r < 4; ++r) CHECK(column_major[r * 6 + i] == expected[i * 4 + r]);
    CHECK(ran(kernel, without) == expected);
  }
}

TEST_CASE("workspaces: operands and coordinates that change without a word, as the kernel was told when compiled") {
  std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2};
  std::vector<double> values = {1, 2, 3, 4}, x = {1, 10, 100, 1000};
  const Tensors operands = {{"M", *borrow_csr(3, 4, pos, crd, values)}, {"x", *borrow_dense({4}, x)}};
  for (const char* layout : {"ds", "ds:1,0", "ss:1,0", "uq"}) {
    CAPTURE(layout);
    Tensors made_for = operands;
    made_for["M"] = *convert(operands.at("M"), *parse_format(layout), Resources(), "M");
    CompileOptions options;
    options.changing = {"x"};
    options.changing_patterns = {"M"};
    options.calls = 100;
    const Engine engine = engine_with();
    const Kernel kernel = compiled(engine, "y(i) = M(i,j) * x(j)", made_for, options);
    Bindings bindings = bound(operands);
    CHECK(ran(kernel, bindings) == std::vector<double>{2001, 0, 430});
    values[3] = 5;
    x[3] = 2000;
    CHECK(ran(kernel, bindings) == std::vector<double>{4001, 0, 530});
    crd[1] = 2;
    pos[1] = 1;
    pos[2] = 2;
    CHECK(ran(kernel, bindings) == std::vector<double>{1, 200, 530});
    crd[0] = 4;  // beyond the columns
    const auto refused = kernel.run(bindings);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::input);
    CHECK(refused.error().message.find("M") != std::string::npos);
    crd[0] = 0, crd[1] = 3, pos[1] = 2, pos[2] = 2, values[3] = 4, x[3] = 1000;
    CHECK(ran(kernel, bindings) == std::vector<double>{2001, 0, 430});
  }
}

TEST_CASE("workspaces: prepare does what the first run would do, and what it cannot leaves the kernel usable") {
  const Memory memory(4 << 20);
  const Engine engine = engine_with(1, memory);
  Tensors operands = {{"T", operand("sparse(40x50x60,nnz=3000,seed=1)")}, {"B", operand("uniform(50x4)")}, {"C", operand("uniform(60x4)")}};
  const std::string text = "y(i,r) = T(i,j,k) * B(j,r) * C(k,r)";
  Tensors turned = operands;
  turned["T"] = *convert(operands["T"], *parse_format("sss:2,1,0"), Resources(), "T");
  const Kernel kernel = compiled(engine, text, turned);
  Bindings bindings = bound(operands);
  REQUIRE(kernel.prepare(bindings));
  CHECK(engine.counters().layouts_made == 1);
  CHECK(engine.counters().idle_bytes > 0);
  CHECK(ran(kernel, bindings) == fresh(text, operands));
  CHECK(engine.counters().layouts_made == 1);
  Bindings missing;
  missing.set("T", operands["T"]);
  const auto refused = kernel.prepare(missing);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::input);
  {
    engine.give_back();
    CHECK(engine.counters().idle_bytes == 0);
    const auto all = Buffer::allocate((4 << 20) - 4096 - memory.used(), memory, "the host's");
    REQUIRE(all);
    const auto full = kernel.prepare(bindings);
    REQUIRE_FALSE(full);
    CHECK(full.error().kind == ErrorKind::resource);
  }
  CHECK(ran(kernel, bindings) == fresh(text, operands));
}

TEST_CASE("workspaces: those that wait make room while another thread runs a kernel of the engine") {
  constexpr std::uint64_t limit = 64 << 20;
  const Memory memory(limit);
  const Engine engine = engine_with(1, memory);
  const Tensors large = {{"A", operand("sparse(300x300,nnz=4000,seed=1)")}, {"B", operand("uniform(300x1000)")}};
  const Tensors small = {{"v", operand("ones(10)")}};
  const Kernel waits = compiled(engine, "C(i,k) = A(i,j) * B(j,k)", large);
  const Kernel runs = compiled(engine, "s = v(i)", small);
  const Bindings over_large = bound(large), over_small = bound(small);
  std::atomic<bool> enough{false};
  std::thread other([&] {
    while (!enough) (void)runs.run(over_small);
  });
  unsigned refused = 0;
  for (int n = 0; n < 200; ++n) {
    (void)ran(waits, over_large);
    if (!Buffer::allocate(limit - (1 << 20), memory, "the host's")) ++refused;
  }
  enough = true;
  other.join();
  CHECK(refused == 0);
}

TEST_CASE("workspaces: one layout for all kernels over a tensor, and for all values over its pattern") {
  const Engine engine = engine_with();
  const Tensor T = operand("sparse(40x50x60,nnz=3000,seed=1)");
  const Tensor turned = *convert(T, *parse_format("sss:2,1,0"), Resources(), "T");
  for (int rank = 2; rank < 12; ++rank) {
    Tensors operands = {{"T", T},
                        {"B", operand("uniform(50x" + std::to_string(rank) + ")")},
                        {"C", operand("uniform(60x" + std::to_string(rank) + ")")}};
    operands["T"] = turned;
    const Kernel kernel = compiled(engine, "y(i,r) = T(i,j,k) * B(j,r) * C(k,r)", operands);
    operands["T"] = T;
    Bindings bindings = bound(operands);
    (void)ran(kernel, bindings);
  }
  CHECK(engine.counters().layouts_made == 1);
  CHECK(engine.counters().layouts_known >= 9);
}

TEST_CASE("workspaces: many kernels on a tensor hold its arrays once, and each layout once") {
  const Memory memory;
  const Engine engine = engine_with(1, memory);
  const Resources& resources = engine.options().resources;
  auto T = generate_tensor("sparse(40x50x60,nnz=3000,seed=1)", {}, resources, "T");
  REQUIRE(T);
  for (double value = 1; double& one : T->writable_values<double>()) one = value = value == 7 ? 1 : value + 1;
  const Tensor B = operand("uniform(40x4)"), C = operand("uniform(50x4)");
  const Tensors operands = {{"T", *T}, {"B", B}, {"C", C}};
  const Format layouts[] = {*parse_format("sss:2,1,0"), *parse_format("dss:2,0,1")};
  const unsigned kernel_count = test::is_sanitized() ? 20 : 300;
  std::vector<Kernel> kernels;
  std::vector<Bindings> bindings;  // alive to the end, as the kernels are
  std::uint64_t with_two = 0;
  std::vector<double> first;
  for (unsigned n = 0; n < kernel_count; ++n) {
    CompileOptions options;
    options.formats["T"] = layouts[n % 2];
    kernels.push_back(compiled(engine, "A(k,r) = " + std::to_string(n / 2 + 1) + " * T(i,j,k) * B(i,r) * C(j,r)", operands, options));
    Bindings& own = bindings.emplace_back();
    for (const auto& [name, tensor] : operands) own.set(name, tensor);
    const std::vector<double> result = ran(kernels.back(), own);
    if (n == 0) first = result;
    std::vector<double> expected = first;
    for (double& value : expected) value *= n / 2 + 1;
    CHECK(result == expected);
    const std::uint64_t held = memory.used() - engine.counters().idle_bytes;
    if (n == 1) with_two = held;
    if (n > 1) CHECK(held == with_two);
  }
  const CacheCounters counters = engine.counters();
  CHECK(counters.layouts_made == 0);  // compilations have made the two
  CHECK(counters.layouts_known == kernel_count);
  std::uint64_t layout_bytes = 0;
  for (const Format& layout : layouts) layout_bytes += convert(*T, layout, Resources(), "T")->bytes();
  CHECK(with_two >= T->bytes() + layout_bytes);
  CHECK(with_two < T->bytes() + layout_bytes + 4096);
}

TEST_CASE("workspaces: operands are read in the layouts that they are pinned to, whatever they are stored in") {
  const Engine engine = engine_with();
  const Tensor T = operand("sparse(40x50x60,nnz=3000,seed=1)");
  const Tensors operands = {{"T", T}, {"B", operand("uniform(40x4)")}, {"C", operand("uniform(50x4)")}};
  const std::string text = "A(k,r) = T(i,j,k) * B(i,r) * C(j,r)";
  CompileOptions options;
  options.formats["T"] = *parse_format("sss:2,1,0");
  const Kernel kernel = compiled(engine, text, operands, options);
  const auto schedule = kernel.explain("schedule");
  REQUIRE(schedule);
  CHECK(schedule->find("layout T sss:2,1,0") != std::string::npos);
  Bindings bindings = bound(operands);
  CHECK(ran(kernel, bindings) == fresh(text, operands));
  CHECK(engine.counters().layouts_made == 0);  // the compilation has left it with the tensor
  CHECK(engine.counters().layouts_known == 1);
  options.formats["T"] = *parse_format("ss");
  const auto refused = engine.compile(text, operands, options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().operand == "T");
}

TEST_CASE("workspaces: a result at the positions of an operand is the operand's pattern to the next kernel") {
  const Engine engine = engine_with();
  const Tensor T = operand("sparse(40x50x60,nnz=3000,seed=1)");
  const Tensor turned = *convert(T, *parse_format("sss:2,1,0"), Resources(), "T");
  const Tensor B = operand("uniform(50x4)");
  const Tensor C = operand("uniform(60x4)");
  CompileOptions like;
  like.patterns["y"] = "T";
  const Kernel products = compiled(engine, "y(i,j,k) = T(i,j,k) * B(j,r) * C(k,r)", {{"T", T}, {"B", B}, {"C", C}}, like);
  const Kernel sums = compiled(engine, "z(i,r) = T(i,j,k) * B(j,r) * C(k,r)", {{"T", turned}, {"B", B}, {"C", C}});
  Bindings bindings;
  for (const auto& [name, tensor] : Tensors{{"T", T}, {"B", B}, {"C", C}}) bindings.set(name, tensor);
  (void)ran(sums, bindings);
  CHECK(engine.counters().layouts_made == 1);
  const auto y = products.run(bindings);
  REQUIRE(y);
  Bindings next = bindings;
  next.set("T", y->at("y"));
  CHECK(ran(sums, next) == fresh("z(i,r) = T(i,j,k) * B(j,r) * C(k,r)", {{"T", y->at("y")}, {"B", B}, {"C", C}}));
  CHECK(engine.counters().layouts_made == 1);
  CHECK(engine.counters().layouts_refilled == 1);
  const std::vector<double> before = numbers(y->at("y"));
  (void)ran(products, bindings);
  CHECK(numbers(y->at("y")) == before);
}

TEST_CASE("workspaces: replaced values of the wrong number, and names that are not there, change nothing") {
  const Engine engine = engine_with();
  const Tensors operands = {{"M", operand("sparse(6x30,nnz=90,seed=1)")}, {"x", operand("uniform(30)")}};
  const Kernel kernel = compiled(engine, "y(i) = M(i,j) * x(j)", operands);
  Bindings bindings = bound(operands);
  const std::vector<double> before = ran(kernel, bindings);
  const std::vector<double> short_of_one(89);
  const auto refused = bindings.replace_values("M", short_of_one);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "operand M: 89 values for a pattern that stores 90");
  CHECK_FALSE(bindings.replace_values("N", short_of_one));
  CHECK(ran(kernel, bindings) == before);
}

TEST_CASE("workspaces: many threads run one kernel over bindings of their own that they change") {
  const Engine engine = engine_with();
  const Tensor M = operand("sparse(50x30,nnz=400,seed=1)");
  const std::string text = "y(i) = M(i,j) * x(j)";
  const Kernel kernel =
      compiled(engine, text, {{"M", *convert(M, *parse_format("ds:1,0"), Resources(), "M")}, {"x", operand("ones(30)")}});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&, n] {
      Bindings bindings;
      bindings.set("M", M);
      std::vector<double> x(30);
      const auto ones = [&] {
        std::ranges::fill(x, 1.0);
        bindings.set("x", *borrow_dense({30}, x));
        return kernel.run(bindings);
      };
      const auto unit = ones();
      for (int round = 1; round < 200; ++round) {
        std::ranges::fill(x, static_cast<double>(round + n));
        bindings.set("x", *borrow_dense({30}, x));
        const auto results = kernel.run(bindings);
        if (!unit || !results) {
          ++wrong;
          continue;
        }
        const auto got = results->at("y").values().as<const double>();
        const auto one = unit->at("y").values().as<const double>();
        for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != one[i] * (round + n);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace workspaces_test
