#include "weft/engine.h"

#include <doctest/doctest.h>

#include <cmath>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "frontend/operand.h"
#include "unit/frontend/host_loop.h"
#include "weft/file.h"
#include "weft/host.h"

namespace weft::engine_test {
namespace {

Engine engine_with(unsigned threads = 1, Memory memory = Memory()) {
  EngineOptions options;
  options.resources.threads = Threads(threads);
  options.resources.memory = std::move(memory);
  auto engine = Engine::create(options);
  REQUIRE(engine);
  return *engine;
}

std::vector<double> values_of(const Tensor& tensor) {
  const auto values = tensor.values().as<const double>();
  return {values.begin(), values.end()};
}

/// 1 . . 2 / . . . . / . 3 4 .
struct Host {
  std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2};
  std::vector<double> values = {1, 2, 3, 4}, x = {1, 10, 100, 1000};
  Tensor matrix = *borrow_csr(3, 4, pos, crd, values);
  Tensor vector = *borrow_dense({4}, x);
};

constexpr std::string_view product = "y(i) = M(i,j) * x(j)";
const std::vector<double> expected = {2001, 0, 430};

Kernel compiled(const Engine& engine, std::string_view text, const Tensors& operands, const CompileOptions& options = {}) {
  auto kernel = engine.compile(text, operands, options);
  if (!kernel) MESSAGE(kernel.error().message);
  REQUIRE(kernel);
  return *kernel;
}

Bindings bound(const Tensors& operands) {
  Bindings bindings;
  for (const auto& [name, tensor] : operands) bindings.set(name, tensor);
  return bindings;
}

Tensor ran(const Kernel& kernel, const Bindings& bindings, const std::string& name) {
  auto results = kernel.run(bindings);
  if (!results) MESSAGE(results.error().message);
  REQUIRE(results);
  REQUIRE(verify(results->at(name), Resources(), name));
  return results->at(name);
}

}  // namespace

TEST_CASE("a kernel runs over borrowed arrays, in any layout, again and again") {
  const Host host;
  const Engine engine = engine_with();
  const std::vector<std::int64_t> wide_pos(host.pos.begin(), host.pos.end()), wide_crd(host.crd.begin(), host.crd.end());
  const std::vector<std::uint32_t> rows = {0, 0, 2, 2}, columns = {0, 3, 1, 2};
  const std::vector<std::int32_t> csc_pos = {0, 1, 2, 3, 4}, csc_crd = {0, 2, 2, 0};
  const std::vector<double> csc_values = {1, 3, 4, 2};
  const std::vector<std::int32_t> top_crd = {0, 2}, below_pos = {0, 2, 4};
  for (const Tensor& matrix : {host.matrix, *borrow_csr(3, 4, wide_pos, wide_crd, host.values),
                               *borrow_csr(3, 4, host.pos, wide_crd, host.values),
                               *borrow_csc(3, 4, csc_pos, csc_crd, csc_values),
                               *borrow_coo({3, 4}, {rows, columns}, host.values),
                               *borrow(sparse_format(2), {3, 4}, {{{}, top_crd}, {below_pos, host.crd}}, host.values)}) {
    CAPTURE(matrix.summary());
    const Tensors operands = {{"M", matrix}, {"x", host.vector}};
    const Kernel kernel = compiled(engine, product, operands);
    const Bindings bindings = bound(operands);
    for (int run = 0; run < 3; ++run) CHECK(values_of(ran(kernel, bindings, "y")) == expected);
  }
}

TEST_CASE("dense host memory has any strides") {
  const Host host;
  const Engine engine = engine_with();
  const std::vector<double> spread = {-1, 1, -1, 10, -1, 100, -1, 1000}, backward = {1000, 100, 10, 1};
  const std::vector<double> columns = {1, 2, 3, 4, 5, 6};  // 2 x 3, column-major
  for (const Tensor& x : {*borrow_dense({4}, spread, {2}, 1), *borrow_dense({4}, backward, {-1}, 3)}) {
    const Tensors operands = {{"M", host.matrix}, {"x", x}};
    CHECK(values_of(ran(compiled(engine, product, operands), bound(operands), "y")) == expected);
  }
  const Tensors operands = {{"D", *borrow_dense({2, 3}, columns, {1, 2})}};
  CHECK(values_of(ran(compiled(engine, "r(i) = D(i,j)", operands), bound(operands), "r")) == std::vector<double>{9, 12});
  CHECK_FALSE(borrow_dense({2, 3}, columns, {1}));
}

TEST_CASE("dense host memory without gaps is known by the order of its modes") {
  std::vector<double> values(30);
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n);
  const auto format = [&](std::vector<std::uint64_t> extents, std::vector<std::int64_t> strides, std::uint64_t offset = 0) {
    const auto tensor = borrow_dense(std::move(extents), values, strides, offset);
    REQUIRE(tensor);
    return tensor->format().text() + (tensor->format().levels.front().strided ? " strided" : "");
  };
  CHECK(format({2, 3}, {3, 1}) == "dd:0,1");
  CHECK(format({2, 3}, {1, 2}) == "dd:1,0");
  CHECK(format({2, 3, 4}, {1, 8, 2}) == "ddd:1,2,0");
  CHECK(format({2, 1, 4}, {1, 99, 2}) == "ddd:1,2,0");  // of one coordinate a stride says nothing
  CHECK(format({2, 3}, {1, 3}) == "dd:0,1 strided");    // a gap
  CHECK(format({2, 3}, {1, 2}, 1) == "dd:0,1 strided");
  CHECK(format({2, 3}, {-1, 2}, 1) == "dd:0,1 strided");
  // Memory may go on behind the last; kernels for either take the other.
  const std::vector<double> sums = {1 + 3 + 5, 2 + 4 + 6};
  const std::vector<double> by_columns = {1, 2, 3, 4, 5, 6, 7, 7}, by_rows = {1, 3, 5, 2, 4, 6}, spread = {1, 2, 0, 3, 4, 0, 5, 6};
  const std::vector<Tensor> all = {*borrow_dense({2, 3}, by_columns, {1, 2}), *borrow_dense({2, 3}, by_rows, {3, 1}),
                                   *borrow_dense({2, 3}, spread, {1, 3})};
  const Engine engine = engine_with();
  for (const Tensor& first : all) {
    const Kernel kernel = compiled(engine, "r(i) = D(i,j)", {{"D", first}});
    for (const Tensor& then : all) CHECK(values_of(ran(kernel, bound({{"D", then}}), "r")) == sums);
  }
}

TEST_CASE("arrays that lie are found before they are used, once, unless trusted") {
  const Host host;
  const Engine engine = engine_with();
  const Kernel kernel = compiled(engine, product, {{"M", host.matrix}, {"x", host.vector}});
  const auto message = [&](const Tensor& matrix, OperandUse use = {}) {
    Bindings bindings;
    bindings.set("M", matrix, use);
    bindings.set("x", host.vector);
    const auto results = kernel.run(bindings);
    if (results) return std::string();
    CHECK(results.error().kind == ErrorKind::input);
    return results.error().message;
  };
  const std::vector<std::int32_t> twice = {0, 0, 1, 2}, falling = {3, 0, 1, 2}, outside = {0, 4, 1, 2}, negative = {-1, 3, 1, 2};
  const std::vector<std::int32_t> short_pos = {0, 2, 4}, falling_pos = {0, 2, 1, 4}, late_pos = {1, 2, 2, 4};
  CHECK(message(*borrow_csr(3, 4, host.pos, twice, host.values)).find("repeats") != std::string::npos);
  CHECK(message(*borrow_csr(3, 4, host.pos, falling, host.values)).find("precedes") != std::string::npos);
  CHECK(message(*borrow_csr(3, 4, host.pos, outside, host.values)).find("not below the extent 4") != std::string::npos);
  CHECK(message(*borrow_csr(3, 4, host.pos, negative, host.values)).find("not below the extent 4") != std::string::npos);
  CHECK(message(*borrow_csr(3, 4, short_pos, host.crd, host.values)).find("pos has 12 bytes") != std::string::npos);
  CHECK(message(*borrow_csr(3, 4, falling_pos, host.crd, host.values)).find("pos falls") != std::string::npos);
  CHECK(message(*borrow_csr(3, 4, late_pos, host.crd, host.values)).find("begins with 1") != std::string::npos);
  CHECK(message(*borrow_csr(3, 4, host.pos, falling, host.values), {.trusted = true}).empty());
  const std::vector<std::int32_t> first = {0, 1, 2}, last = {0, 0, 0};
  const std::vector<double> three = {1, 2, 3};
  CHECK(message(*borrow_coo({3, 4, 1}, {first, first, last}, three)).find("extents 3x4x1, the kernel was made for 3x4") !=
        std::string::npos);
  CHECK(kernel.run(Bindings()).error().message.find("missing") != std::string::npos);
}

TEST_CASE("results live on, and what nobody holds is used again") {
  const Memory memory;
  const Host host;
  const Tensors operands = {{"M", host.matrix}, {"x", host.vector}};
  std::optional<Kernel> kernel = compiled(engine_with(1, memory), product, operands);
  std::optional<Bindings> bindings = bound(operands);
  std::optional<Tensor> first = ran(*kernel, *bindings, "y");
  const void* place = first->values().data();
  const Tensor second = ran(*kernel, *bindings, "y");
  CHECK(second.values().data() != place);
  CHECK(values_of(*first) == expected);
  first.reset();
  const std::uint64_t used = memory.used();
  CHECK(ran(*kernel, *bindings, "y").values().data() == place);
  CHECK(memory.used() == used);
  kernel.reset();
  bindings.reset();
  CHECK(values_of(second) == expected);
}

TEST_CASE("results go to memory of the host, in place where they can") {
  const Host host;
  const Engine engine = engine_with();
  const Tensors operands = {{"M", host.matrix}, {"x", host.vector}};
  const Kernel kernel = compiled(engine, product, operands);
  std::vector<double> packed(3, -1), spread(6, -1);
  std::vector<float> narrow(3, -1);
  Bindings bindings = bound(operands);
  bindings.output("y", *borrow_dense({3}, packed));
  const Tensor y = ran(kernel, bindings, "y");
  CHECK(y.values().data() == packed.data());
  CHECK(packed == expected);
  bindings.output("y", *borrow_dense({3}, spread, {2}, 1));
  ran(kernel, bindings, "y");
  CHECK(spread == std::vector<double>{-1, 2001, -1, 0, -1, 430});
  bindings.output("y", *borrow_dense({3}, narrow));
  ran(kernel, bindings, "y");
  CHECK(narrow == std::vector<float>{2001, 0, 430});

  bindings.output("y", *borrow_dense({6}, spread));
  CHECK(kernel.run(bindings).error().message.find("extents 6, the result 3") != std::string::npos);
  Bindings overlapping = bound(operands);
  overlapping.output("y", *borrow_dense({3}, std::span(host.x).subspan(1)));
  CHECK(kernel.run(overlapping).error().message.find("overlaps the operand x") != std::string::npos);
  Bindings unknown = bound(operands);
  unknown.output("z", *borrow_dense({3}, packed));
  CHECK(kernel.run(unknown).error().message.find("no result") != std::string::npos);
}

TEST_CASE("values that change are read anew, also where they are converted") {
  Host host;
  const Engine engine = engine_with();
  const std::vector<std::int32_t> csc_pos = {0, 1, 2, 3, 4}, csc_crd = {0, 2, 2, 0};
  std::vector<double> values = {1, 3, 4, 2};
  const Tensors operands = {{"M", *borrow_csc(3, 4, csc_pos, csc_crd, values)}, {"x", host.vector}};
  CompileOptions options;
  options.calls = 1e6;
  options.schedule = R"(schedule
  tree (M * x)
  layout M ds:0,1 f64 converted
  layout x d:0 f64
  result y d:0 f64
  y[i] += M[i,j] * x[j]   loops i,j
  parallel i owner
)";
  const Kernel kernel = compiled(engine, product, operands, options);
  Bindings bindings;
  bindings.set("M", operands.at("M"), {.changes = true});
  bindings.set("x", host.vector, {.changes = true});
  CHECK(values_of(ran(kernel, bindings, "y")) == expected);
  values = {2, 6, 8, 4};
  CHECK(values_of(ran(kernel, bindings, "y")) == std::vector<double>{4002, 0, 860});
  host.x[0] = 0;
  CHECK(values_of(ran(kernel, bindings, "y")) == std::vector<double>{4000, 0, 860});
}

TEST_CASE("a kernel is compiled from figures alone, and for several assignments or an einsum") {
  const Host host;
  const Engine engine = engine_with();
  const std::map<std::string, Statistics> figures = {{"M", Statistics({3, 4}, host.matrix.format(), 4)},
                                                     {"x", Statistics({4}, host.vector.format(), 4)}};
  const auto kernel = engine.compile(product, figures);
  REQUIRE(kernel);
  CHECK(values_of(ran(*kernel, bound({{"M", host.matrix}, {"x", host.vector}}), "y")) == expected);
  CHECK(kernel->report().operands.at("M").bytes == host.matrix.bytes());
  CHECK(kernel->explain("loops")->find("for i") != std::string::npos);
  const auto proofs = kernel->explain("proofs");
  REQUIRE_MESSAGE(proofs, (proofs ? "" : proofs.error().message));
  CHECK(proofs->find("; within: x is looked up within its extents\n; proven, taken: table\n(push 1)\n") != std::string::npos);
  CHECK_FALSE(kernel->report().proofs.has_value());
  CHECK(kernel->explain("nothing").error().kind == ErrorKind::input);

  const Tensors operands = {{"T0", host.matrix}, {"T1", host.vector}};
  CHECK(values_of(ran(compiled(engine, "ij,j->i", operands), bound(operands), "out")) == expected);
  const Tensors named = {{"M", host.matrix}, {"x", host.vector}};
  CHECK(values_of(ran(compiled(engine, "y(i) = M(i,j) * x(j); s = y(i) * y(i)", named), bound(named), "s")) ==
        std::vector<double>{2001.0 * 2001 + 430 * 430});
  CHECK(engine.compile("y(i) = M(i,j) * z(j)", named).error().message.find("z") != std::string::npos);
  CHECK(engine.compile("y(i) = M(i,j", named).error().kind == ErrorKind::input);
}

TEST_CASE("one kernel and one set of bindings serve many threads; they outlive the engine") {
  const Host host;
  const Tensors operands = {{"M", host.matrix}, {"x", host.vector}};
  std::optional<Engine> engine = engine_with(2);
  const Kernel kernel = compiled(*engine, product, operands);
  engine.reset();
  const Bindings bindings = bound(operands);
  std::vector<int> wrong(8, 0);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int run = 0; run < 200; ++run) {
        const auto results = kernel.run(bindings);
        if (!results || values_of(results->at("y")) != expected) ++wrong[static_cast<std::size_t>(thread)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(8, 0));
}

TEST_CASE("a run is cancelled by its own token, and the next one is right") {
  const Host host;
  const Tensors operands = {{"M", host.matrix}, {"x", host.vector}};
  const Kernel kernel = compiled(engine_with(), product, operands);
  const Host unverified;  // of the others compilation has verified all copies
  const Bindings bindings = bound({{"M", unverified.matrix}, {"x", unverified.vector}});
  const Cancellation cancellation;
  cancellation.cancel();
  // Not only the loops: what comes before them asks the same token.
  CHECK(kernel.run(bindings, &cancellation).error() == Error{ErrorKind::cancelled, "cancelled while verifying M"});
  CHECK(values_of(ran(kernel, bindings, "y")) == expected);
  CHECK(kernel.run(bindings, &cancellation).error() == Error{ErrorKind::cancelled, "interrupted"});
  Bindings other;
  other.set("M", *convert(host.matrix, *parse_format("ss:1,0"), Resources(), "M"), {.trusted = true});
  other.set("x", host.vector, {.trusted = true});
  CHECK(kernel.run(other, &cancellation).error().message.starts_with("cancelled while "));
  CHECK(values_of(ran(kernel, other, "y")) == expected);
}

TEST_CASE("kernels compile in the background: future, callback, cancellation, end of the engine") {
  const Host host;
  const Tensors operands = {{"M", host.matrix}, {"x", host.vector}};
  std::optional<Engine> engine = engine_with(2);
  std::promise<bool> called;
  const auto future = engine->compile_async(std::string(product), operands, {},
                                            [&](const Expected<Kernel>& kernel) { called.set_value(kernel.has_value()); });
  CHECK(called.get_future().get());
  REQUIRE(future.get());
  CHECK(values_of(ran(*future.get(), bound(operands), "y")) == expected);
  CHECK(engine->compile_async("y(i) = ", operands).get().error().kind == ErrorKind::input);

  const Cancellation cancellation;
  cancellation.cancel();
  CHECK(engine->compile_async(std::string(product), operands, {}, {}, cancellation).get().error().kind == ErrorKind::cancelled);

  std::vector<std::shared_future<Expected<Kernel>>> futures;
  for (int number = 1; number < 30; ++number)
    futures.push_back(engine->compile_async("y(i) = " + std::to_string(number) + " * M(i,j) * x(j)", operands));
  engine.reset();
  for (const auto& one : futures) CHECK((one.get() || one.get().error().kind == ErrorKind::cancelled));
}

TEST_CASE("the engine may end within a callback of its own") {
  const Host host;
  const Tensors operands = {{"M", host.matrix}, {"x", host.vector}};
  auto engine = std::make_shared<std::optional<Engine>>(engine_with(2));
  std::promise<void> ended;
  const Engine& used = **engine;
  std::promise<void> go;
  used.compile_async(std::string(product), operands, {}, [engine, &ended, &go](const Expected<Kernel>&) {
    go.get_future().wait();
    engine->reset();
    ended.set_value();
  });
  go.set_value();
  ended.get_future().wait();
}

TEST_CASE("engine: an operand that comes in another layout than the one that is pinned is converted, and the report says so") {
  const auto M = load_operand("sparse(30x20,nnz=90,seed=1)", *parse_format("ds"), Resources(), "M");
  const auto x = load_operand("uniform(20)", std::nullopt, Resources(), "x");
  REQUIRE((M && x));
  // Small integers, so that every order of summation gives the same.
  for (const Tensor* tensor : {&*M, &*x})
    for (double& value : tensor->writable_values<double>()) value = std::round(8 * value) + 1;
  EngineOptions of_engine;
  of_engine.resources.threads = Threads(1);
  const auto engine = Engine::create(of_engine);
  REQUIRE(engine);
  const auto plain = engine->compile("y(i) = M(i,j) * x(j)", {{"M", *M}, {"x", *x}});
  REQUIRE(plain);
  Bindings bindings;
  bindings.set("M", *M);
  bindings.set("x", *x);
  const auto as_given = plain->run(bindings);
  REQUIRE(as_given);
  const auto numbers = [](const Tensors& results) {
    const auto values = results.at("y").values().as<const double>();
    return std::vector<double>(values.begin(), values.end());
  };
  CHECK(plain->report().explanation.find("pinned") == std::string::npos);
  for (const std::string layout : {"ss:1,0", "uq", "ds:1,0", "dd", "hs"}) {
    CAPTURE(layout);
    CompileOptions options;
    options.formats["M"] = *parse_format(layout);
    const Tensors operands = {{"M", *M}, {"x", *x}};
    auto kernel = engine->compile("y(i) = M(i,j) * x(j)", operands, options);
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    CHECK(kernel->explain(Stage::schedule)->find("layout M " + options.formats["M"].text() + " f64") != std::string::npos);
    CHECK(kernel->report().explanation.find("as their layouts are pinned: M from ds:0,1 to " +
                                             options.formats["M"].text()) != std::string::npos);
    const CacheCounters before = engine->counters();
    const auto results = kernel->run(bindings);
    REQUIRE_MESSAGE(results, results.error().message);
    CHECK(numbers(*results) == numbers(*as_given));
    CHECK(engine->counters().layouts_made == before.layouts_made);  // the one that planning looked at
    CHECK(engine->counters().layouts_known == before.layouts_known + 1);
    CHECK(engine->counters().fallbacks == before.fallbacks);
    // Figures alone, and operands of another size, for which another kernel takes the place.
    std::map<std::string, Statistics> figures = {{"M", Statistics({30, 20}, *parse_format("ds"), 90)},
                                                 {"x", Statistics({20}, dense_format(1), 20)}};
    const auto figured = engine->compile("y(i) = M(i,j) * x(j)", figures, options);
    REQUIRE_MESSAGE(figured, figured.error().message);
    CHECK(figured->explain(Stage::schedule)->find("layout M " + options.formats["M"].text() + " f64") != std::string::npos);
    CHECK(numbers(*figured->run(bindings)) == numbers(*as_given));
    const auto larger = load_operand("sparse(31x20,nnz=95,seed=2)", *parse_format("ds"), Resources(), "M");
    REQUIRE(larger);
    for (double& value : larger->writable_values<double>()) value = std::round(8 * value) + 1;
    Bindings others;
    others.set("M", *larger);
    others.set("x", *x);
    const auto of_larger = kernel->run(others);
    REQUIRE_MESSAGE(of_larger, of_larger.error().message);
    CHECK(numbers(*of_larger) == numbers(*plain->run(others)));
  }
  CompileOptions wrong;
  wrong.formats["M"] = *parse_format("s");
  const auto refused = engine->compile("y(i) = M(i,j) * x(j)", {{"M", *M}, {"x", *x}}, wrong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::order);
}

TEST_CASE("the token of a compilation ends no later run that compiles for other extents") {
  const auto blocks = [](const std::string& text) {
    return *convert(test::operand(text, "ds"), *parse_format("bcsr(4,4)"), Resources(), "M");
  };
  const Tensors operands = {{"M", blocks("sparse(40x40,nnz=200,seed=1)")}, {"x", test::operand("ones(40)")}};
  const Engine engine = test::engine_with();
  const Cancellation mine;
  const auto first = engine.compile("y(i) = M(i,j) * x(j)", operands, {}, &mine);
  REQUIRE_MESSAGE(first, first.error().message);
  mine.cancel();
  const auto again = engine.compile("y(i) = M(i,j) * x(j)", operands);
  REQUIRE(again);
  Bindings bindings;
  bindings.set("M", blocks("sparse(42x41,nnz=200,seed=1)"));
  bindings.set("x", test::operand("ones(41)"));
  const auto results = again->run(bindings);
  CHECK_MESSAGE(results, (results ? "" : results.error().message));
}

}  // namespace weft::engine_test
