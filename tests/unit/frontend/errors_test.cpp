#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "weft/engine.h"
#include "weft/entries.h"
#include "weft/host.h"
#include "weft/session.h"

namespace weft::errors_test {
namespace {

Engine engine_with(Memory memory = Memory()) {
  EngineOptions options;
  options.resources.threads = Threads(1);
  options.resources.memory = std::move(memory);
  auto engine = Engine::create(options);
  REQUIRE(engine);
  return *engine;
}

/// 1 . . 2 / . . . . / . 3 4 .
struct Host {
  std::vector<std::int32_t> pos = {0, 2, 2, 4}, crd = {0, 3, 1, 2};
  std::vector<double> values = {1, 2, 3, 4}, x = {1, 10, 100, 1000}, y = {0, 0, 0};
  Tensor matrix = *borrow_csr(3, 4, pos, crd, values);
  Tensor vector = *borrow_dense({4}, x);
  Tensors operands() const { return {{"M", matrix}, {"x", vector}}; }
};

constexpr std::string_view product = "y(i) = M(i,j) * x(j)";

Error refused(std::string_view text, const Tensors& operands, const CompileOptions& options = {}) {
  const auto kernel = engine_with().compile(text, operands, options);
  REQUIRE_FALSE(kernel);
  CHECK(kernel.error().kind == ErrorKind::input);
  return kernel.error();
}

Error refused(const Bindings& bindings) {
  const auto kernel = engine_with().compile(product, Host().operands());
  REQUIRE(kernel);
  const auto results = kernel->run(bindings);
  REQUIRE_FALSE(results);
  return results.error();
}

using Names = std::pair<std::string, std::string>;

bool has(const Error& error, std::string_view words) { return error.message.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("a text that cannot be read is told with its place") {
  const Error error = refused("y(i) = M(i,j)\n  * x(j", Host().operands());
  CHECK(error.code == ErrorCode::syntax);
  REQUIRE(error.position);
  CHECK(error.position->line == 2);
  CHECK(error.position->offset == 14 + error.position->column - 1);
}

TEST_CASE("a missing operand is named, and what may be it, misspelt") {
  const Host host;
  Tensors operands = host.operands();
  operands["xx"] = operands.extract("x").mapped();
  const Error error = refused(product, operands);
  CHECK(error.code == ErrorCode::missing_operand);
  CHECK(error.operand == "x");
  CHECK(has(error, "xx"));
  REQUIRE(error.position);
  CHECK(*error.position == TextPosition{16, 1, 17});
}

TEST_CASE("an operand that is missing among bindings is named, and those that the kernel does not know") {
  const Host host;
  Bindings bindings;
  bindings.set("M", host.matrix);
  bindings.set("xx", host.vector);
  const Error error = refused(bindings);
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.code == ErrorCode::missing_operand);
  CHECK(error.operand == "x");
  CHECK(has(error, "xx"));
}

TEST_CASE("tensors that the expression does not use are reported, each time") {
  const Host host;
  const Engine engine = engine_with();
  Tensors operands = host.operands();
  for (const std::vector<std::string>& unused : {std::vector<std::string>{}, {"z"}, {}, {"z"}}) {
    operands.erase("z");
    for (const std::string& name : unused) operands[name] = host.vector;
    const auto kernel = engine.compile(product, operands);
    REQUIRE(kernel);
    CHECK(kernel->report().unused == unused);
  }
}

TEST_CASE("more operands than an expression has, and one that a session was told to use and does not") {
  const Host host;
  const auto session = Session::create();
  REQUIRE(session);
  session->set("M", host.matrix);
  session->set("x", host.vector);
  const auto more = session->evaluate("i->", {"x", "x"});
  REQUIRE_FALSE(more);
  CHECK(more.error().code == ErrorCode::surplus_operand);
  const auto unused = session->evaluate("a = x(i)", {"x", "M"});
  REQUIRE_FALSE(unused);
  CHECK(unused.error().code == ErrorCode::surplus_operand);
  CHECK(unused.error().operand == "M");
}

TEST_CASE("names that are neither operand nor result") {
  const Host host;
  CompileOptions options;
  options.results = {"z"};
  const Error wanted = refused(product, host.operands(), options);
  CHECK(wanted.code == ErrorCode::unknown_name);
  CHECK(wanted.operand == "z");
  options = {};
  options.changing = {"z"};
  const Error changing = refused(product, host.operands(), options);
  CHECK(changing.code == ErrorCode::unknown_name);
  CHECK(changing.operand == "z");
  Bindings bindings;
  const auto replaced = bindings.replace_values("M", host.values);
  REQUIRE_FALSE(replaced);
  CHECK(replaced.error().code == ErrorCode::unknown_name);
  CHECK(replaced.error().operand == "M");
}

TEST_CASE("extents that disagree name operand and index, other orders the operand") {
  Host host;
  const Tensor longer = *borrow_dense({3}, host.y);
  const Error extents = refused(product, {{"M", host.matrix}, {"x", longer}});
  CHECK(extents.code == ErrorCode::extents_disagree);
  CHECK(extents.operand == "x");
  CHECK(extents.index == "j");
  CHECK(extents.position);
  const Error order = refused(product, {{"M", host.vector}, {"x", host.vector}});
  CHECK(order.code == ErrorCode::order);
  CHECK(order.operand == "M");
}

TEST_CASE("coordinates beyond an extent, and arrays of wrong sizes") {
  Host host;
  const auto far = at(host.matrix, {3, 0});
  REQUIRE_FALSE(far);
  CHECK(far.error().code == ErrorCode::out_of_range);
  const auto few = at(host.matrix, {3});
  REQUIRE_FALSE(few);
  CHECK(few.error().code == ErrorCode::order);
  const auto other = same_pattern(host.matrix, host.x);
  REQUIRE(other);
  const auto shorter = same_pattern(host.matrix, host.y);
  REQUIRE_FALSE(shorter);
  CHECK(shorter.error().code == ErrorCode::sizes);
  Bindings bindings;
  bindings.set("M", host.matrix);
  const auto replaced = bindings.replace_values("M", host.y);
  REQUIRE_FALSE(replaced);
  CHECK(replaced.error().code == ErrorCode::sizes);
  CHECK(replaced.error().operand == "M");
}

TEST_CASE("an option that cannot be is named as the API calls it") {
  CompileOptions options;
  options.objective = "beauty";
  const Error error = refused(product, Host().operands(), options);
  CHECK(error.code == ErrorCode::option);
  CHECK(error.option == "objective");
  CHECK_FALSE(has(error, "--"));
  options = {};
  options.formats["z"] = dense_format(1);
  const Error format = refused(product, Host().operands(), options);
  CHECK(format.code == ErrorCode::option);
  CHECK(format.option == "formats");
  CHECK(format.operand == "z");
}

TEST_CASE("a tree and a schedule that cannot be read are told with their place, those that do not fit as options") {
  CompileOptions options;
  options.tree = "\n y = ((M * x";
  const Error open = refused(product, Host().operands(), options);
  CHECK(open.code == ErrorCode::syntax);
  CHECK(open.option == "tree");
  CHECK(open.position == TextPosition{7, 2, 7});
  options.tree = "(M * z)";
  const Error unknown = refused(product, Host().operands(), options);
  CHECK(unknown.option == "tree");
  CHECK(unknown.position == TextPosition{5, 1, 6});
  options = {};
  options.schedule = "schedule\n  tree (M * z)\n";
  options.schedule_name = "s.txt";
  const Error tree = refused(product, Host().operands(), options);
  CHECK(has(tree, "s.txt: schedule, line 2: z in the contraction tree"));
  CHECK(tree.code == ErrorCode::syntax);
  CHECK(tree.option == "schedule");
  CHECK(tree.position == TextPosition{21, 2, 13});
  options.schedule = "schedule\nfoo";
  const Error word = refused(product, Host().operands(), options);
  CHECK(word.code == ErrorCode::syntax);
  CHECK(word.option == "schedule");
  CHECK(word.position == TextPosition{9, 2, 1});
  options.schedule = "schedule\n";
  const Error empty = refused(product, Host().operands(), options);
  CHECK(empty.code == ErrorCode::option);
  CHECK(empty.option == "schedule");
}

TEST_CASE("formats and patterns that do not fit name the option and the tensor") {
  const auto of = [](const CompileOptions& options) {
    const Error error = refused(product, Host().operands(), options);
    return std::tuple(error.code, error.option, error.operand);
  };
  CompileOptions options;
  options.formats["y"] = *parse_format("ss");
  CHECK(of(options) == std::tuple(ErrorCode::order, "formats", "y"));
  options.formats = {{"x", *parse_format("bcsr(2,2)")}};
  CHECK(of(options) == std::tuple(ErrorCode::order, "formats", "x"));
  options.formats = {{"M", *parse_format("(i,j) -> (i/2:d, j:s)")}};  // rows 0 and 1 in one
  CHECK(of(options) == std::tuple(ErrorCode::option, "formats", "M"));
  options.formats = {};
  options.patterns["y"] = "M";
  CHECK(of(options) == std::tuple(ErrorCode::option, "patterns", "y"));
}

TEST_CASE("what is wrong with a result names it, and its index") {
  const auto of = [](std::string_view text) {
    const Error error = refused(text, Host().operands());
    CHECK(error.code == ErrorCode::syntax);
    CHECK(error.position);
    return Names(error.operand, error.index);
  };
  CHECK(of("y(k) = M(i,j) * x(j)") == Names("y", "k"));
  CHECK(of("y(i,i) = M(i,j) * x(j)") == Names("y", "i"));
  CHECK(of("y(i) = M(i,j) * x(j); y(i) = M(i,j)") == Names("y", ""));
  CHECK(of("M(i) = M(i,j) * x(j)") == Names("M", ""));
}

TEST_CASE("memory for a result that overlaps an operand, or is no result's") {
  Host host;
  Bindings bindings;
  bindings.set("M", host.matrix);
  bindings.set("x", host.vector);
  Bindings overlapping = bindings;
  overlapping.output("y", *borrow_dense({3}, std::span(host.x).first(3)));
  CHECK(refused(overlapping).operand == "y");
  bindings.output("z", *borrow_dense({3}, host.y));
  const Error unknown = refused(bindings);
  CHECK(unknown.code == ErrorCode::unknown_name);
  CHECK(unknown.operand == "z");
}

TEST_CASE("a limit of memory is told apart") {
  const auto made = dense_zeros({1000}, dense_format(1), engine_with(Memory(100)).options().resources, "zeros");
  REQUIRE_FALSE(made);
  CHECK(made.error().kind == ErrorKind::resource);
  CHECK(made.error().code == ErrorCode::memory_limit);
}

}  // namespace weft::errors_test
