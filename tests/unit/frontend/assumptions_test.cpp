// What kernels assume of their operands, and tensors for which it does not hold: always the right answer, never an error.
#include "engine/assumptions.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "unit/frontend/host_loop.h"
#include "unit/share.h"
#include "weft.h"
#include "weft/session.h"

namespace assumptions_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

/// Values of NaN as text, so that they compare.
std::vector<std::string> numbers(const Tensor& tensor) {
  std::vector<std::string> texts;
  for (const double value : tensor.values().as<const double>()) texts.push_back(std::isnan(value) ? "nan" : std::to_string(value));
  return texts;
}

struct Traced {
  std::mutex one_at_a_time;
  std::vector<std::string> lines;
  Engine engine = made();

  Engine made() {
    EngineOptions options;
    options.resources.threads = Threads(1);
    options.trace = [this](std::string_view line) {
      const std::lock_guard lock(one_at_a_time);
      lines.emplace_back(line);
    };
    auto engine_made = Engine::create(options);
    REQUIRE(engine_made);
    return *engine_made;
  }
  std::size_t fallbacks() const {
    std::size_t count = 0;
    for (const std::string& line : lines) count += line.find(" # bind: ") != std::string::npos;
    return count;
  }
};

Tensor ran(const Kernel& kernel, const Bindings& bindings) {
  const auto results = kernel.run(bindings);
  REQUIRE_MESSAGE(results, results.error().message);
  REQUIRE(results->size() == 1);
  REQUIRE(verify(results->begin()->second, Resources(), "result"));
  return results->begin()->second;
}

Tensor ran(const Kernel& kernel, const Tensors& operands) {
  Bindings bindings = bound(operands);
  return ran(kernel, bindings);
}

bool same(const Tensor& a, const Tensor& b) {
  const auto arrays = [](const Buffer& buffer) {
    const auto bytes = buffer.as<const std::byte>();
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  if (a.extents() != b.extents() || a.format() != b.format() || numbers(a) != numbers(b)) return false;
  for (std::size_t level = 0; level < a.levels().size(); ++level) {
    if (arrays(a.levels()[level].pos) != arrays(b.levels()[level].pos) || arrays(a.levels()[level].crd) != arrays(b.levels()[level].crd))
      return false;
  }
  return true;
}

struct Case {
  std::string text;
  std::string fact;  ///< that a nest of the kernel states
  Tensors made_for;
  Tensors bound;  ///< for which it does not hold
  CompileOptions options = {};
};

std::vector<Case> cases() {
  const Tensor matrix = operand("sparse(30x20,nnz=90)", "ds");
  const Tensor tensor = operand("sparse(9x10x11,nnz=200)");
  const Tensor full = operand("sparse(30x20,nnz=600,seed=2)", "ss");
  const std::string mttkrp = "y(i,r) = T(i,j,k) * x(j,r) * z(k,r)";
  const Tensors factors = {{"T", tensor}, {"x", operand("ones(10x16)")}, {"z", operand("ones(11x16)")}};
  // Rows of M without an entry leave what is summed over them absent, and zero in its place would not do beside NaN.
  const Tensor empty_rows = operand("sparse(30x20,nnz=30)", "ds");
  const std::string chain = "y(i,l) = (M(i,j) * x(j,k)) * z(k,l)";
  const Tensors links = {{"M", empty_rows}, {"x", operand("ones(20x25)")}, {"z", operand("ones(25x6)")}};
  const Tensors scaled = {{"M", empty_rows}, {"x", operand("ones(20)")}, {"d", operand("ones(30)")}};
  std::vector<Case> all = {
      {"y(i,r) = M(i,j) * x(j,r)", "extent(r) = 16", {{"M", matrix}, {"x", operand("ones(20x16)")}},
       {{"M", matrix}, {"x", operand("ones(20x48)")}}},
      {"y(i,r) = M(i,j) * x(j,r)", "extent(r) = 16", {{"M", matrix}, {"x", operand("ones(20x16)")}},
       {{"M", operand("sparse(50x70,nnz=200)", "ds")}, {"x", operand("ones(70x1)")}}},
      {"y(i,r) = M(i,j) * x(j,r)", "extent(r) = 16", {{"M", matrix}, {"x", operand("ones(20x16)")}},
       {{"M", operand("sparse(50x0,nnz=0)", "ds")}, {"x", operand("ones(0x1)")}}},
      {mttkrp, "extent(r) = 16", factors,
       {{"T", operand("sparse(4x5x600,nnz=300)")}, {"x", operand("ones(5x7)")}, {"z", operand("ones(600x7)")}}},
      {chain, "finite(z)", links, {{"M", empty_rows}, {"x", links.at("x")}, {"z", with_value(links.at("z"), 5, not_a_number)}}},
      {chain, "finite(z)", links, {{"M", empty_rows}, {"x", links.at("x")}, {"z", with_value(links.at("z"), 7, infinite)}}},
      {"y(i) = (M(i,j) * x(j)) * d(i)", "finite(d)", scaled,
       {{"M", empty_rows}, {"x", scaled.at("x")}, {"d", with_value(scaled.at("d"), 3, infinite)}}},
      {"y(i) = M(i,j) * N(i,j)", "full(N.1)", {{"M", operand("sparse(30x20,nnz=40)")}, {"N", full}},
       {{"M", operand("sparse(30x20,nnz=40)")}, {"N", operand("sparse(30x20,nnz=599,seed=2)", "ss")}}},
      {"y(i) = M(i,j) * x(j)", "pattern(M)", {{"M", matrix}, {"x", operand("ones(20)")}},
       {{"M", operand("sparse(30x20,nnz=90,seed=7)", "ds")}, {"x", operand("ones(20)")}}},
      {"S(i,j) = M(i,j) * a(i,k) * b(j,k)", "like(S, M)", {{"M", matrix}, {"a", operand("ones(30x8)")}, {"b", operand("ones(20x8)")}},
       {{"M", operand("sparse(30x20,nnz=120,seed=7)", "ds")}, {"a", operand("ones(30x8)")}, {"b", operand("ones(20x8)")}}},
  };
  // Rows of P have one entry, of Q at most two.
  const Tensor one_each = operand("sparse(40x1,nnz=40)", "ds"), other_ones = operand("sparse(40x1,nnz=39)", "ds");
  const Tensor few = operand("sparse(30x2,nnz=50)", "ds"), many = operand("sparse(40x20,nnz=300)", "ds");
  all.push_back({"y(i) = P(i,j) * x(j)", "fiber(P.1) = 1", {{"P", one_each}, {"x", operand("ones(1)")}},
                 {{"P", other_ones}, {"x", operand("ones(1)")}}});
  all.push_back({"y(i) = P(i,j) * x(j)", "fiber(P.1) = 1", {{"P", one_each}, {"x", operand("ones(1)")}},
                 {{"P", many}, {"x", operand("ones(20)")}}});
  all.push_back({"y(i) = Q(i,j) * x(j)", "fiber(Q.1) <= 2", {{"Q", few}, {"x", operand("ones(2)")}},
                 {{"Q", many}, {"x", operand("ones(20)")}}});
  all.push_back({"y(i) = M(i,j) * Q(i,j)", "fiber(Q.1) <= 2", {{"M", few}, {"Q", few}}, {{"M", many}, {"Q", many}}});
  all[2].options.formats["y"] = *parse_format("dd");  // else as dense as the result is expected to be
  all[8].options.specialize = Specialization::baked;
  all[9].options.patterns["S"] = "M";
  return all;
}

/// Of another sort: what one nest stores for the next.
Case stored_between_nests() {
  Case one{"y(i,l) = M(i,j) * x(j,k) * z(k,l)",
           "",
           {{"M", operand("sparse(30x20,nnz=30)", "ds")}, {"x", operand("ones(20x25)")}, {"z", operand("ones(25x6)")}},
           {},
           {}};
  one.options.unfused = true;
  one.options.tree = "((M * x) * z)";
  one.bound = one.made_for;
  one.bound["z"] = with_value(one.made_for.at("z"), 11, not_a_number);
  return one;
}

std::vector<Case> all_cases() {
  std::vector<Case> all = cases();
  all.push_back(stored_between_nests());
  return all;
}

}  // namespace

TEST_CASE("assumptions: a kernel bound to tensors for which one does not hold gives what theirs gives") {
  const std::vector<Case> all = all_cases();
  for (std::size_t number = 0; number < all.size(); ++number) {
    if (!test::is_drawn_sanitized(number)) continue;
    const Case& one = all[number];
    CAPTURE(one.text);
    CAPTURE(one.fact);
    Traced traced;
    const Kernel kernel = compiled(traced.engine, one.text, one.made_for, one.options);
    CHECK(kernel.explain("loops")->find(one.fact) != std::string::npos);
    const Tensor right = ran(compiled(traced.engine, one.text, one.bound, one.options), one.bound);
    const bool holds_anyway = one.fact.starts_with("like");
    CHECK(traced.fallbacks() == 0);
    for (int run = 0; run < 2; ++run) CHECK(same(ran(kernel, one.bound), right));
    CHECK((traced.fallbacks() > 0) == !holds_anyway);
    // It was made for these, and still is.
    CHECK(same(ran(kernel, one.made_for), ran(compiled(traced.engine, one.text, one.made_for, one.options), one.made_for)));
  }
}

TEST_CASE("assumptions: the kernel that takes the place is made once") {
  const Case one = cases().front();
  Traced traced;
  const Kernel kernel = compiled(traced.engine, one.text, one.made_for, one.options);
  ran(kernel, one.bound);
  const auto compiled_lines = [&] {
    std::size_t count = 0;
    for (const std::string& line : traced.lines) count += line.find(" # compile ") != std::string::npos;
    return count;
  };
  const std::size_t before = compiled_lines();
  for (const char* text : {"ones(20x48)", "ones(20x3)", "ones(20x100)"})
    ran(kernel, Tensors{{"M", one.bound.at("M")}, {"x", operand(text)}});
  CHECK(compiled_lines() == before);
}

TEST_CASE("assumptions: extents that do not agree, and other orders, are the host's mistake") {
  const Case one = cases().front();
  Traced traced;
  const Kernel kernel = compiled(traced.engine, one.text, one.made_for, one.options);
  const auto message = [&](const Tensor& x) {
    Bindings bindings;
    bindings.set("M", one.made_for.at("M"));
    bindings.set("x", x);
    const auto results = kernel.run(bindings);
    REQUIRE_FALSE(results);
    CHECK(results.error().kind == ErrorKind::input);
    return results.error().message;
  };
  CHECK(message(operand("ones(21x16)")) == "index j is 20 in M (mode 1) but 21 in x (mode 0)");
  CHECK(message(operand("ones(20)")).find("has extents 20, the kernel was made for 20x16") != std::string::npos);
}

TEST_CASE("assumptions: several assignments follow the extents of their operands") {
  Traced traced;
  // j has the same extent in both for the operands of the kernel, and others for those that are bound.
  const std::string text = "s(i) = M(i,j) * x(j); t(k) = N(k,j) * u(j) * v(k)";
  CompileOptions options;
  options.results = {"s"};
  const auto tensors = [](const char* m, const char* x, const char* n, const char* u, const char* v) {
    return Tensors{{"M", operand(m, "ds")}, {"x", operand(x)}, {"N", operand(n, "ds")}, {"u", operand(u)}, {"v", operand(v)}};
  };
  const Tensors first = tensors("sparse(9x8,nnz=30)", "ones(8)", "sparse(9x8,nnz=30)", "ones(8)", "ones(9)");
  const Tensors second = tensors("sparse(7x8,nnz=30)", "ones(8)", "sparse(9x12,nnz=30)", "ones(12)", "ones(9)");
  const Kernel kernel = compiled(traced.engine, text, first, options);
  Bindings bindings;
  for (const auto& [name, tensor] : second) bindings.set(name, tensor);
  const auto results = kernel.run(bindings);
  REQUIRE_MESSAGE(results, results.error().message);
  const auto right = compiled(traced.engine, text, second, options).run(bindings);
  REQUIRE(right);
  for (const char* name : {"s", "t"}) CHECK(same(results->at(name), right->at(name)));
}

TEST_CASE("assumptions: values that change may turn NaN and back") {
  const std::vector<Case> all = all_cases();
  for (const Case& one : all) {
    if (one.text.find("z(k") == std::string::npos || one.bound.at("z").extents() != one.made_for.at("z").extents()) continue;
    CAPTURE(one.text);
    Traced traced;
    Tensors tensors = one.made_for;
    const auto stored = tensors.at("z").values().as<const double>();
    std::vector<double> values(stored.begin(), stored.end());
    const std::vector<double> finite = values;
    tensors["z"] = *borrow_dense(tensors.at("z").extents(), values);
    const Kernel kernel = compiled(traced.engine, one.text, tensors, one.options);
    std::vector<double> out(ran(kernel, tensors).values().as<const double>().size());
    Bindings bindings;
    for (const auto& [name, tensor] : tensors) bindings.set(name, tensor, {.changes = name == "z"});
    Bindings written = bindings;
    const Tensor shape = ran(kernel, tensors);
    written.output("y", *borrow_dense(shape.extents(), out));
    const auto check = [&](std::size_t fallbacks) {
      Tensors now = tensors;
      now["z"].values_changed();
      const Tensor right = ran(compiled(traced.engine, one.text, now, one.options), now);
      CHECK(same(ran(kernel, bindings), right));
      CHECK(traced.fallbacks() == fallbacks);
      std::vector<std::string> texts;
      REQUIRE(kernel.run(written));
      for (const double value : out) texts.push_back(std::isnan(value) ? "nan" : std::to_string(value));
      CHECK(texts == numbers(right));
    };
    check(0);
    values[11] = not_a_number;
    check(1);
    values[11] = infinite;
    check(1);  // the kernel that took the place goes on
    values = finite;
    check(1);
  }
}

TEST_CASE("assumptions: sessions answer for tensors of other sizes with the kernel that is there") {
  Traced traced;
  const Session session(traced.engine);
  const std::string text = "y(i,r) = M(i,j) * x(j,r)";
  const auto set = [&](const char* matrix, const char* x) {
    session.set("M", operand(matrix, "ds"));
    session.set("x", operand(x));
  };
  set("sparse(30x20,nnz=90)", "ones(20x16)");
  REQUIRE(session.evaluate(text));
  CHECK(traced.fallbacks() == 0);
  set("sparse(40x50,nnz=90)", "ones(50x17)");
  const auto soon = session.evaluate(text, Answer::soonest);
  REQUIRE_MESSAGE(soon, soon.error().message);
  CHECK(traced.fallbacks() == 1);
  const Tensors now = *session.tensors();
  CHECK(same(soon->at("y"), ran(compiled(traced.engine, text, now, {}), now)));
}

namespace {

/// What went wrong, as a message of doctest.
struct Told {
  weft_error* error = nullptr;
  ~Told() { weft_error_free(error); }
  std::string text() const { return weft_error_message(error); }
};

weft_tensor* through_c(const weft_engine* engine, const Tensor& tensor) {
  Told told;
  weft_tensor* made = nullptr;
  if (tensor.format().all_dense()) {
    const auto status = weft_tensor_dense(engine, WEFT_F64, static_cast<std::uint32_t>(tensor.order()), tensor.extents().data(), nullptr,
                                          tensor.values().data(), WEFT_COPY, &made, &told.error);
    REQUIRE_MESSAGE(status == WEFT_OK, told.text());
    return made;
  }
  std::vector<const void*> pos, crd;
  std::vector<std::uint64_t> pos_counts, crd_counts;
  for (const LevelArrays& level : tensor.levels()) {
    pos.push_back(level.pos.data()), crd.push_back(level.crd.data());
    pos_counts.push_back(level.pos.size_bytes() / 4), crd_counts.push_back(level.crd.size_bytes() / 4);
  }
  const auto status = weft_tensor_levels(engine, tensor.format().text().c_str(), tensor.extents().data(), 32, pos.data(), pos_counts.data(),
                                         crd.data(), crd_counts.data(), tensor.values().data(), tensor.values().size_bytes() / 8, WEFT_COPY,
                                         &made, &told.error);
  REQUIRE_MESSAGE(status == WEFT_OK, told.text());
  return made;
}

weft_bindings* through_c(const weft_engine* engine, const Tensors& operands) {
  weft_bindings* bindings = nullptr;
  REQUIRE(weft_bindings_create(&bindings, nullptr) == WEFT_OK);
  for (const auto& [name, tensor] : operands) {
    weft_tensor* handle = through_c(engine, tensor);
    REQUIRE(weft_bindings_set(bindings, name.c_str(), handle, 0, nullptr) == WEFT_OK);
    weft_tensor_free(handle);
  }
  return bindings;
}

weft_request* through_c(const CompileOptions& options) {
  weft_request* request = nullptr;
  REQUIRE(weft_request_create(&request, nullptr) == WEFT_OK);
  if (options.specialize == Specialization::baked) REQUIRE(weft_request_set_specialization(request, "baked", nullptr) == WEFT_OK);
  if (!options.tree.empty()) REQUIRE(weft_request_set_tree(request, options.tree.c_str(), nullptr) == WEFT_OK);
  if (options.unfused) REQUIRE(weft_request_set_unfused(request, 1, nullptr) == WEFT_OK);
  for (const auto& [name, format] : options.formats)
    REQUIRE(weft_request_set_format(request, name.c_str(), format.text().c_str(), nullptr) == WEFT_OK);
  for (const auto& [name, pattern] : options.patterns)
    REQUIRE(weft_request_set_format(request, name.c_str(), ("like(" + pattern + ")").c_str(), nullptr) == WEFT_OK);
  return request;
}

/// The values of the only result, NaN as text.
std::vector<std::string> numbers(const weft_kernel* kernel, const weft_bindings* bindings) {
  Told told;
  weft_evaluation* evaluation = nullptr;
  const auto status = weft_kernel_run(kernel, bindings, nullptr, &evaluation, &told.error);
  REQUIRE_MESSAGE(status == WEFT_OK, told.text());
  REQUIRE(weft_evaluation_count(evaluation) == 1);
  weft_tensor* result = nullptr;
  REQUIRE(weft_evaluation_result(evaluation, weft_evaluation_name(evaluation, 0), &result, nullptr) == WEFT_OK);
  const void* values = nullptr;
  std::uint64_t count = 0;
  REQUIRE(weft_tensor_values(result, &values, &count, nullptr) == WEFT_OK);
  std::vector<std::string> texts;
  for (std::uint64_t number = 0; number < count; ++number) {
    const double value = static_cast<const double*>(values)[number];
    texts.push_back(std::isnan(value) ? "nan" : std::to_string(value));
  }
  weft_tensor_free(result);
  weft_evaluation_free(evaluation);
  return texts;
}

std::uint64_t fallbacks(const weft_engine* engine) {
  std::uint64_t count = 0;
  REQUIRE(weft_engine_counter(engine, "fallbacks", &count, nullptr) == WEFT_OK);
  return count;
}

}  // namespace

TEST_CASE("assumptions: each of them through the C API, for tensors for which it does not hold") {
  const std::vector<Case> all = all_cases();
  for (std::size_t number = 0; number < all.size(); ++number) {
    if (!test::is_drawn_sanitized(number + 1)) continue;  // others than above
    const Case& one = all[number];
    CAPTURE(one.text);
    CAPTURE(one.fact);
    Traced traced;
    const auto right = [&](const Tensors& operands) {
      return numbers(ran(compiled(traced.engine, one.text, operands, one.options), operands));
    };
    weft_engine* engine = nullptr;
    REQUIRE(weft_engine_create(nullptr, &engine, nullptr) == WEFT_OK);
    weft_bindings* made_for = through_c(engine, one.made_for);
    weft_bindings* bound = through_c(engine, one.bound);
    weft_request* request = through_c(one.options);
    Told told;
    weft_kernel* kernel = nullptr;
    const auto status = weft_engine_compile(engine, one.text.c_str(), made_for, request, &kernel, &told.error);
    REQUIRE_MESSAGE(status == WEFT_OK, told.text());
    const char* loops = nullptr;
    REQUIRE(weft_kernel_stage(kernel, "loops", &loops, nullptr, nullptr) == WEFT_OK);
    CHECK(std::string(loops).find(one.fact) != std::string::npos);
    CHECK(numbers(kernel, made_for) == right(one.made_for));
    CHECK(fallbacks(engine) == 0);
    CHECK(numbers(kernel, bound) == right(one.bound));
    CHECK((fallbacks(engine) > 0) == !one.fact.starts_with("like"));
    const std::uint64_t before = fallbacks(engine);
    CHECK(numbers(kernel, made_for) == right(one.made_for));
    CHECK(fallbacks(engine) == before);
    weft_kernel_free(kernel);
    weft_request_free(request);
    weft_bindings_free(made_for);
    weft_bindings_free(bound);
    weft_engine_free(engine);
  }
}

TEST_CASE("a result at the positions of a dense operand stays dense where a sparse one takes its place") {
  const auto engine = Engine::create({});
  REQUIRE(engine);
  const Tensor matrix = operand("sparse(30x20,nnz=90)", "ds");
  const Tensor dense = operand("ones(30)");
  CompileOptions options;
  options.patterns["y"] = "d";
  const auto kernel = engine->compile("y(i) = M(i,j) * d(i)", Tensors{{"M", matrix}, {"d", dense}}, options);
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
  const Tensor expected = ran(*kernel, {{"M", matrix}, {"d", dense}});
  CHECK(same(ran(*kernel, {{"M", matrix}, {"d", *convert(dense, *parse_format("s"), Resources(), "d")}}), expected));
}

}  // namespace assumptions_test
