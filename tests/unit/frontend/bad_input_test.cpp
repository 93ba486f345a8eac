// What a host may get wrong around a kernel in a loop, one by one: each is an error that names the operand, or documented, the
// state stays usable, and nothing beside the arrays is touched.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "unit/frontend/host_loop.h"
#include "weft/arrays.h"

namespace bad_input_test {

using namespace weft;
using namespace weft::test;

namespace {

const std::string matrix_vector = "y(i) = M(i,j) * x(j)";

/// 3 x 4, in arrays of the host: rows {0: 1, 3: 2}, {}, {1: 3, 2: 4}.
struct HostMatrix {
  std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2};
  std::vector<double> values = {1, 2, 3, 4}, x = {1, 10, 100, 1000};
  Tensors operands() { return {{"M", *borrow_csr(3, 4, pos, crd, values)}, {"x", *borrow_dense({4}, x)}}; }
};

/// Why the options are refused for y(i) = M(i,j) * x(j), by an engine that knows kernels and by one that does not.
Error refused_options(const CompileOptions& options) {
  HostMatrix host;
  Error error;
  for (const bool use_cache : {false, true}) {
    EngineOptions with;
    with.resources.threads = Threads(1);
    with.use_cache = use_cache;
    const auto kernel = Engine::create(with)->compile(matrix_vector, host.operands(), options);
    REQUIRE_FALSE(kernel);
    error = kernel.error();
  }
  return error;
}

using Names = std::pair<std::string, std::string>;

Level level_of(LevelKind kind) { return {.kind = kind}; }

}  // namespace

TEST_CASE("bad input: a format made by hand that no tensor has is refused by the compilation") {
  const Level dense = level_of(LevelKind::dense), compressed = level_of(LevelKind::compressed);
  Level narrow = compressed;
  narrow.pos_bits = 13;
  const std::pair<const char*, Format> wrong[] = {
      {"y", {.mode_order = {}, .levels = {dense}}},
      {"y", {.mode_order = {0, 1}, .levels = {dense}}},
      {"y", {.mode_order = {5}, .levels = {dense}}},
      {"y", {.mode_order = {5}, .levels = {compressed}}},
      {"y", {.mode_order = {0}, .levels = {level_of(LevelKind::variable)}}},
      {"y", {.mode_order = {0}, .levels = {level_of(LevelKind::accumulator)}}},
      {"y", {.mode_order = {0}, .levels = {level_of(LevelKind::singleton)}}},
      {"y", {.mode_order = {0}, .levels = {level_of(static_cast<LevelKind>(77))}}},
      {"y", {.mode_order = {0}, .levels = {{.strided = true}}}},
      {"y", {.mode_order = {0}, .levels = {narrow}}},
      {"y", {.scalar = static_cast<Scalar>(9), .mode_order = {0}, .levels = {dense}}},
      {"M", {.mode_order = {}, .levels = {dense, compressed}}},
      {"M", {.mode_order = {0, 7}, .levels = {dense, compressed}}},
      {"M", {.mode_order = {1, 1}, .levels = {dense, compressed}}},
      {"M", {.mode_order = {0, 1}, .levels = {level_of(LevelKind::compressed_nonunique), compressed}}},
      {"M", {.mode_order = {0, 1}, .levels = {level_of(LevelKind::singleton), compressed}}},
      {"M", {.mode_order = {0, 1}, .levels = {dense, level_of(static_cast<LevelKind>(8))}}},
  };
  for (const auto& [name, format] : wrong) {
    CAPTURE(format.text());
    CompileOptions options;
    options.formats[name] = format;
    const Error error = refused_options(options);
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.code == ErrorCode::option);
    CHECK(error.operand == name);
    CHECK(error.option == "formats");
  }
  CompileOptions options;
  options.formats["M"] = {.mode_order = {0, 1}, .levels = {{.strided = true}, {.strided = true}}};  // as a dense M of the host would be
  CHECK(engine_with().compile(matrix_vector, HostMatrix().operands(), options));
}

TEST_CASE("bad input: options that mean nothing are named") {
  const auto of = [](const auto& set) {
    CompileOptions options;
    set(options);
    const Error error = refused_options(options);
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.code == ErrorCode::option);
    return Names(error.option, error.operand);
  };
  for (const double calls : {-1.0, 0.0, 0.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CAPTURE(calls);
    CHECK(of([&](CompileOptions& options) { options.calls = calls; }) == Names("calls", ""));
  }
  CHECK(of([](CompileOptions& options) { options.specialize = static_cast<Specialization>(9); }) == Names("specialize", ""));
  for (const char* format : {"s", "h", "(i) -> (i/2:s, i%2:d)"}) {
    CAPTURE(format);
    CHECK(of([&](CompileOptions& options) {
            options.formats["y"] = *parse_format(format);
            options.strided = {"y"};
          }) == Names("strided", "y"));
  }
  CompileOptions like;
  like.patterns["S"] = "M";
  like.strided = {"S"};
  const auto kernel = engine_with().compile("S(i,j) = M(i,j) * x(j)", HostMatrix().operands(), like);
  REQUIRE_FALSE(kernel);
  CHECK(kernel.error().option == "strided");
  CHECK(kernel.error().operand == "S");
  CompileOptions options;
  options.formats["y"] = dense_format(1);
  options.scaled = options.strided = {"y"};
  options.calls = std::numeric_limits<double>::max();
  CHECK(engine_with().compile(matrix_vector, HostMatrix().operands(), options));
}

TEST_CASE("bad input: figures that no tensor has are refused, and the operand is named") {
  const auto compile = [](const Statistics& figures) {
    const Statistics x({4}, dense_format(1), 4);
    return engine_with().compile(matrix_vector, std::map<std::string, Statistics>{{"M", figures}, {"x", x}});
  };
  const auto refused_as = [&](const Statistics& figures) {
    const auto kernel = compile(figures);
    REQUIRE_FALSE(kernel);
    CHECK(kernel.error().kind == ErrorKind::input);
    CHECK(kernel.error().operand == "M");
    return kernel.error().code;
  };
  const Format csr = *parse_format("ds");
  for (const double entries : {-3.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CAPTURE(entries);
    CHECK(refused_as(Statistics({3, 4}, csr, entries)) == ErrorCode::sizes);
  }
  CHECK(refused_as(Statistics({3}, csr, 3)) == ErrorCode::order);
  Format wrong = csr;
  wrong.mode_order = {0};
  CHECK(refused_as(Statistics({3, 4}, wrong, 3)) == ErrorCode::invalid_tensor);
  wrong.mode_order = {0, 5};
  CHECK(refused_as(Statistics({3, 4}, wrong, 3)) == ErrorCode::invalid_tensor);
  wrong = csr;
  wrong.levels[1].kind = static_cast<LevelKind>(77);
  CHECK(refused_as(Statistics({3, 4}, wrong, 3)) == ErrorCode::invalid_tensor);
  CHECK(compile(Statistics({3, 4}, csr, 0)));
  CHECK(compile(Statistics({3, 4}, csr, 5)));
}

TEST_CASE("bad input: values that change without a word are read where the operand lies as the kernel reads it, in a copy once announced") {
  HostMatrix host;
  const Tensors operands = host.operands();
  for (const char* layout : {"ds", "ss:1,0", "uq"}) {
    CAPTURE(layout);
    host.values = {1, 2, 3, 4};
    host.x = {1, 10, 100, 1000};
    CompileOptions options;
    options.formats["M"] = *parse_format(layout);
    options.calls = 100;
    const Kernel kernel = compiled(engine_with(), matrix_vector, operands, options);
    const Bindings bindings = bound(operands);
    CHECK(numbers(results_of(kernel, bindings).at("y")) == std::vector<double>{2001, 0, 430});
    host.x[3] = 2000;
    CHECK(numbers(results_of(kernel, bindings).at("y")) == std::vector<double>{4001, 0, 430});
    host.values[3] = 5;
    const std::vector<double> unannounced = numbers(results_of(kernel, bindings).at("y"));
    CHECK((unannounced == std::vector<double>{4001, 0, 530} || unannounced == std::vector<double>{4001, 0, 430}));
    if (std::string(layout) == "ds") CHECK(unannounced[2] == 530);
    operands.at("M").values_changed();
    CHECK(numbers(results_of(kernel, bindings).at("y")) == std::vector<double>{4001, 0, 530});
  }
}

TEST_CASE("bad input: an operand that is missing beside one of other extents, orders and extents that disagree") {
  const auto matrix = [](std::uint64_t rows, std::uint64_t columns, const char* format) {
    const std::vector<double> ones(rows * columns, 1);
    return *convert(*from_dense({rows, columns}, ones, Resources()), *parse_format(format), Resources(), "X");
  };
  const Tensors operands = {{"A", matrix(6, 3, "ds")}, {"B", matrix(5, 3, "ds")}};
  for (const char* layout : {"", "bcsr(2,2)"}) {
    CAPTURE(layout);
    CompileOptions options;
    if (*layout != 0) options.formats["B"] = *parse_format(layout);
    const Kernel kernel = compiled(engine_with(), "R(k,j) = A(j,i) * B(k,i)", operands, options);
    for (const auto& [rows, columns] : {std::pair(5, 3), std::pair(7, 3), std::pair(5, 2)}) {
      Bindings bindings;
      bindings.set("B", matrix(rows, columns, "ds"));
      const Error error = refused(kernel, bindings);
      CHECK(error.code == ErrorCode::missing_operand);
      CHECK(error.operand == "A");
      CHECK(error.message.starts_with("operand A is missing"));
    }
    const Error disagree = refused(kernel, bound({{"A", matrix(6, 3, "ds")}, {"B", matrix(5, 2, "ds")}}));
    CHECK(disagree.code == ErrorCode::extents_disagree);
    CHECK(disagree.operand == "B");
    CHECK(disagree.index == "i");
    const Tensor vector = *from_dense({5}, std::vector<double>(5, 1), Resources());
    const Error order = refused(kernel, bound({{"A", matrix(6, 3, "ds")}, {"B", vector}}));
    CHECK(order.code == ErrorCode::order);
    CHECK(order.operand == "B");
    CHECK(results_of(kernel, bound(operands)).contains("R"));
  }
}

TEST_CASE("bad input: memory over the pattern that Kernel::symbolic gave is taken, whatever format the operand was bound in") {
  const std::vector<double> values = {0, 1, 0, 2, 3, 0};
  const Tensor vector = *convert(*from_dense({6}, values, Resources()), *parse_format("s"), Resources(), "A");
  for (const char* format : {"s", "u", "h", "b", "s:f32"}) {
    CAPTURE(format);
    CompileOptions options;
    options.formats["R"] = *parse_format("s");
    const Kernel kernel = compiled(engine_with(), "R(i) = 2 * A(i)", {{"A", vector}}, options);
    Bindings bindings = bound({{"A", *convert(vector, *parse_format(format), Resources(), "A")}});
    const auto pattern = kernel.symbolic(bindings);
    REQUIRE_MESSAGE(pattern, pattern.error().message);
    std::vector<double> memory(3);
    bindings.output("R", *same_pattern(pattern->at("R"), memory));
    for (int run = 0; run < 2; ++run) {
      const auto found = kernel.run(bindings);
      REQUIRE_MESSAGE(found, found.error().message);
      CHECK(memory == std::vector<double>{2, 4, 6});
    }
  }
}

TEST_CASE("bad input: a changed pattern that was not announced is found by a checked engine and by who says that it changes") {
  for (const bool checked : {false, true}) {
    CAPTURE(checked);
    HostMatrix host;
    const Tensors operands = host.operands();
    CompileOptions options;
    if (!checked) options.changing_patterns = {"M"};
    const Kernel kernel = compiled(engine_with(1, Memory(), checked), matrix_vector, operands, options);
    const Bindings bindings = bound(operands);
    CHECK(numbers(results_of(kernel, bindings).at("y")) == std::vector<double>{2001, 0, 430});
    host.crd[3] = 1'000'000;
    const Error error = refused(kernel, bindings);
    CHECK(error.kind == (checked ? ErrorKind::internal : ErrorKind::input));
    CHECK(error.operand == (checked ? "" : "M"));
    CHECK(error.code == (checked ? ErrorCode::other : ErrorCode::out_of_range));
    CHECK(error.message.find(checked ? "a checked access failed" : "coordinate 1000000 at position 3") != std::string::npos);
    host.crd[3] = 2;
    CHECK(numbers(results_of(kernel, bindings).at("y")) == std::vector<double>{2001, 0, 430});
  }
}

TEST_CASE("bad input: one workspace for two runs at once is not to be had: runs over one binding take turns or take another") {
  const Tensors operands = {{"M", operand("sparse(300x200,nnz=6000,seed=1)", "ds")}, {"x", operand("uniform(200)")}};
  const Kernel kernel = compiled(engine_with(), matrix_vector, operands);
  const Bindings bindings = bound(operands);
  const std::vector<double> right = numbers(results_of(kernel, bindings).at("y"));
  std::vector<double> y(300);
  Bindings written = bound(operands);
  written.output("y", *borrow_dense({300}, y));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&] {
      for (int run = 0; run < 200; ++run) {
        const auto results = kernel.run(bindings);
        if (!results || !std::ranges::equal(results->at("y").values().as<const double>(), right)) ++wrong;
        if (!kernel.run(written)) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(y == right);
}

TEST_CASE("bad input: values of the wrong length are refused, and those of before stay") {
  HostMatrix host;
  const Tensors operands = host.operands();
  const Kernel kernel = compiled(engine_with(), matrix_vector, operands);
  Bindings bindings = bound(operands);
  for (const std::size_t count : {0U, 3U, 5U}) {
    CAPTURE(count);
    const std::vector<double> values(count, 7);
    const auto replaced = bindings.replace_values("M", values);
    REQUIRE_FALSE(replaced);
    CHECK(replaced.error().kind == ErrorKind::input);
    CHECK(replaced.error().code == ErrorCode::sizes);
    CHECK(replaced.error().operand == "M");
    CHECK(numbers(results_of(kernel, bindings).at("y")) == std::vector<double>{2001, 0, 430});
  }
}

TEST_CASE("bad input: prepare beyond the limit is a resource error, and kernel, bindings and engine go on") {
  const Memory memory(1 << 20);
  const Tensors operands = {{"M", operand("sparse(300x200,nnz=6000,seed=1)", "ds")}, {"x", operand("uniform(200)")}};
  CompileOptions options;
  options.formats["M"] = *parse_format("ds:1,0");
  options.calls = 1000;
  const Engine engine = engine_with(1, memory);
  const Kernel kernel = compiled(engine, matrix_vector, operands, options);
  const Bindings bindings = bound(operands);
  {
    engine.give_back();
    const auto all = Buffer::allocate((1 << 20) - 4096 - memory.used(), memory, "the host's");
    REQUIRE(all);
    const auto prepared = kernel.prepare(bindings);
    REQUIRE_FALSE(prepared);
    CHECK(prepared.error().kind == ErrorKind::resource);
    CHECK(prepared.error().code == ErrorCode::memory_limit);
    CHECK(refused(kernel, bindings).kind == ErrorKind::resource);
  }
  REQUIRE(kernel.prepare(bindings));
  const Kernel other = compiled(engine_with(), matrix_vector, operands);
  CHECK(numbers(results_of(kernel, bindings).at("y")) == numbers(results_of(other, bindings).at("y")));
}

TEST_CASE("bad input: memory for a result that overlaps an operand is refused, whichever part it is") {
  HostMatrix host;
  const Tensors operands = host.operands();
  const Kernel kernel = compiled(engine_with(), matrix_vector, operands);
  Bindings bindings = bound(operands);
  bindings.output("y", *borrow_dense({3}, std::span(host.x).subspan(1, 3)));
  CHECK(refused(kernel, bindings).message == "the memory for y overlaps the operand x");
  CHECK(refused(kernel, bindings).operand == "y");
  bindings.output("y", *borrow_dense({3}, std::span(host.values).first(3)));
  CHECK(refused(kernel, bindings).message == "the memory for y overlaps the operand M");
  std::vector<double> y(3);
  bindings.output("y", *borrow_dense({3}, y));
  results_of(kernel, bindings);
  CHECK(y == std::vector<double>{2001, 0, 430});
  CHECK(host.x == std::vector<double>{1, 10, 100, 1000});
}

TEST_CASE("bad input: a pattern that changed under a kept symbolic result is told by its operand, and the memory stays as it was") {
  Tensors operands = {{"A", operand("sparse(20x20,nnz=60,seed=1)", "ds")}, {"B", operand("sparse(20x20,nnz=60,seed=2)", "ds")}};
  CompileOptions options;
  options.formats["C"] = *parse_format("ds");
  const Kernel kernel = compiled(engine_with(), "C(i,j) = A(i,k) * B(k,j)", operands, options);
  Bindings bindings = bound(operands);
  const auto symbolic = kernel.symbolic(bindings);
  REQUIRE(symbolic);
  const Tensor pattern = symbolic->at("C");
  std::vector<double> values(pattern.nnz());
  bindings.output("C", *same_pattern(pattern, values));
  results_of(kernel, bindings);
  for (const std::string name : {"A", "B"}) {
    CAPTURE(name);
    Bindings changed = bindings;
    changed.set(name, operand("sparse(20x20,nnz=60,seed=9)", "ds"));
    const std::vector<double> before = values;
    const Error error = refused(kernel, changed);
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.code == ErrorCode::pattern_changed);
    CHECK(error.operand == name);
    CHECK(values == before);
  }
  CHECK(numbers(results_of(kernel, bindings).at("C")) == numbers(results_of(kernel, bound(operands)).at("C")));
}

TEST_CASE("bad input: memory over a pattern of an operand whose coordinates may change before each run is refused as that") {
  HostMatrix host;
  const Tensors operands = {{"M", *borrow_csr(3, 4, host.pos, host.crd, host.values)}, {"N", operand("sparse(4x4,nnz=9,seed=1)", "ds")}};
  CompileOptions options;
  options.changing_patterns = {"M"};
  options.formats["C"] = *parse_format("ds");
  const Kernel product = compiled(engine_with(), "C(i,j) = M(i,k) * N(k,j)", operands, options);
  options.formats.clear();
  options.patterns["C"] = "M";
  const Kernel like = compiled(engine_with(), "C(i,j) = 2 * M(i,j) * M(i,j)", {{"M", operands.at("M")}}, options);
  for (const Kernel& kernel : {product, like}) {
    Bindings bindings = kernel.report().operands.size() == 1 ? bound({{"M", operands.at("M")}}) : bound(operands);
    const auto symbolic = kernel.symbolic(bindings);
    REQUIRE_MESSAGE(symbolic, symbolic.error().message);
    std::vector<double> memory(symbolic->at("C").nnz(), 7);
    bindings.output("C", *same_pattern(symbolic->at("C"), memory));
    for (int run = 0; run < 2; ++run) {
      const Error error = refused(kernel, bindings);
      CHECK(error.kind == ErrorKind::input);
      CHECK(error.code == ErrorCode::option);
      CHECK(error.option == "changing_patterns");
      CHECK(error.operand == "M");
      CHECK(std::ranges::all_of(memory, [](double value) { return value == 7; }));
    }
    std::vector<double> dense(12, 7);
    bindings.output("C", *borrow_dense({3, 4}, dense));
    const std::vector<double> right = numbers(results_of(kernel, bindings).at("C"));
    CHECK(dense == right);
    host.crd = {1, 2, 0, 3};  // other coordinates, as many
    CHECK(numbers(results_of(kernel, bindings).at("C")) != right);
    host.crd = {0, 3, 1, 2};
    CHECK(numbers(results_of(kernel, bindings).at("C")) == right);
  }
}

}  // namespace bad_input_test
