// The grades of kernels through sessions: results, what programs assume, what happens when it does not hold.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "engine/pipeline.h"
#include "engine/specialize.h"
#include "frontend/operand.h"
#include "frontend/parse.h"
#include "frontend/resolve.h"
#include "unit/share.h"
#include "weft/session.h"

namespace specialization_test {

using namespace weft;

namespace {

constexpr Specialization grades[] = {Specialization::generic, Specialization::profiled, Specialization::baked};

Tensor operand(const std::string& text, const std::string& format = "") {
  std::optional<Format> wanted;
  if (!format.empty()) wanted = *parse_format(format);
  auto tensor = load_operand(text, wanted, Resources(), text);
  REQUIRE_MESSAGE(tensor, tensor.error().message);
  // Small integers, so that every order of summation gives the same.
  if (tensor->format().scalar == Scalar::f64) {
    double value = 0;
    for (double& one : tensor->writable_values<double>()) one = 1 + std::fmod(value++, 5);
  }
  return *tensor;
}

std::vector<double> numbers(const Tensor& tensor) {
  const auto values = tensor.values().as<const double>();
  return {values.begin(), values.end()};
}

struct Made {
  Network network;
  std::vector<OperandFacts> facts;
  std::map<std::string, Tensor> tensors;
  std::optional<CompiledNetwork> kernel;
};

/// A kernel by itself, to bind to other tensors than those it was made for.
Made made(const Pipeline& pipeline, const std::string& text, std::map<std::string, Tensor> tensors, Specialization grade) {
  std::vector<OperandShape> shapes;
  for (const auto& [name, tensor] : tensors) shapes.push_back({name, tensor.extents(), tensor.format().scalar});
  auto network = resolve(*parse_expression(text), shapes);
  REQUIRE(network);
  Made result{*network, pipeline.facts(*network, tensors, {}), std::move(tensors), std::nullopt};
  auto plan = pipeline.plan(result.network, result.facts, {});
  REQUIRE(plan);
  auto kernel = pipeline.compile(result.network, *plan, result.facts, false, {.grade = grade, .tensors = &result.tensors});
  REQUIRE_MESSAGE(kernel, kernel.error().message);
  result.kernel = std::move(*kernel);
  return result;
}

std::vector<double> run(const CompiledNetwork& kernel, const std::map<std::string, Tensor>& tensors, const std::string& result) {
  auto bound = kernel.bind(tensors, Resources(), false);
  REQUIRE_MESSAGE(bound, bound.error().message);
  REQUIRE(bound->run());
  const auto results = bound->results();
  REQUIRE(results);
  REQUIRE(verify(results->at(result), Resources(), result));
  return numbers(results->at(result));
}

bool assumes(const CompiledNetwork& kernel, std::string_view fact) {
  for (const CompiledNest& nest : kernel.nests())
    if (loop::print(nest.nest.program).find(fact) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("specialization: every grade gives the same result") {
  struct Case {
    std::string expression;
    std::map<std::string, std::string> operands;
    std::map<std::string, std::string> formats;
  };
  const Case cases[] = {
      {"y(i) = M(i,j) * x(j)", {{"M", "sparse(30x20,nnz=90)"}, {"x", "ones(20)"}}, {{"M", "ds"}}},
      {"y(i) = M(i,j) * x(j)", {{"M", "sparse(30x20,nnz=90)"}, {"x", "ones(20)"}}, {{"M", "ss"}}},
      {"y(i) = M(i,j) * x(j)", {{"M", "sparse(30x20,nnz=90)"}, {"x", "ones(20)"}}, {{"M", "ss:1,0"}}},
      {"y(i) = M(i,j) * x(j)", {{"M", "sparse(30x20,nnz=0)"}, {"x", "ones(20)"}}, {}},
      {"y(i) = M(i,j) * x(j)", {{"M", "sparse(30x20,nnz=600)"}, {"x", "ones(20)"}}, {}},
      {"y(i) = M(i,j) * x(j)", {{"M", "sparse(1x1,nnz=1)"}, {"x", "ones(1)"}}, {}},
      {"y() = M(i,j) * x(j) * z(i)", {{"M", "sparse(30x20,nnz=90)"}, {"x", "ones(20)"}, {"z", "ones(30)"}}, {}},
      {"y(i,r) = M(i,j) * x(j,r)", {{"M", "sparse(30x20,nnz=90)"}, {"x", "ones(20x37)"}}, {{"M", "ds"}}},
      {"y(i,r) = T(i,j,k) * x(j,r) * z(k,r)", {{"T", "sparse(9x10x11,nnz=200)"}, {"x", "ones(10x16)"}, {"z", "ones(11x16)"}}, {}},
      {"y(i) = M(i,j) * N(i,j)", {{"M", "sparse(30x20,nnz=300)"}, {"N", "sparse(30x20,nnz=250,seed=4)"}}, {}},
      {"y(i,k) = M(i,j) * N(j,k)", {{"M", "sparse(30x20,nnz=100)"}, {"N", "sparse(20x25,nnz=100,seed=4)"}}, {{"y", "ds"}}},
      {"y(i,j) = M(i,j) * A(i,k) * B(j,k)", {{"M", "sparse(30x20,nnz=100)"}, {"A", "ones(30x8)"}, {"B", "ones(20x8)"}}, {{"y", "ss"}}},
      {"y(i) = M(i,j) * x(j)", {{"M", "sparse(40x1,nnz=40)"}, {"x", "ones(1)"}}, {{"M", "ds"}}},
      {"y(i) = M(i,j) * x(j)", {{"M", "sparse(40x3,nnz=70)"}, {"x", "ones(3)"}}, {{"M", "ds"}}},
      {"y(i,r) = M(i,j) * x(j,r)", {{"M", "sparse(40x2,nnz=70)"}, {"x", "ones(2x5)"}}, {{"M", "ss"}}},
      {"y(i) = M(i,j) * N(i,j)", {{"M", "sparse(40x4,nnz=90)"}, {"N", "sparse(40x4,nnz=99,seed=4)"}}, {{"M", "ds"}, {"N", "ds"}}},
      {"y(i,k) = M(i,j) * N(j,k)", {{"M", "sparse(40x3,nnz=30)"}, {"N", "sparse(3x40,nnz=50,seed=4)"}}, {{"y", "ds"}}},
      {"y(i,j) = M(i,j) * A(i,k) * B(j,k)", {{"M", "sparse(40x2,nnz=70)"}, {"A", "ones(40x8)"}, {"B", "ones(2x8)"}}, {{"y", "ss"}}},
      {"y(i,j) = T(i,j,k) * x(k)", {{"T", "sparse(200x4x3,nnz=300)"}, {"x", "ones(3)"}}, {}},
      {"y(i) = M(i,i)", {{"M", "sparse(30x30,nnz=100)"}}, {{"M", "ds"}}},
      // Looked up in rows of which the last are empty: behind the end of what is baked.
      {"y(i,l,j) = A(m) * B(k,j,i) * C(l)", {{"A", "ones(6)"}, {"B", "sparse(5x4x2,nnz=3)"}, {"C", "ones(6)"}},
       {{"B", "dss"}, {"y", "dsd:1,2,0"}}},
      {"y(i,l,j) = A(m) * B(k,j,i) * C(l)", {{"A", "ones(6)"}, {"B", "sparse(5x4x2,nnz=2,seed=3)"}, {"C", "ones(6)"}},
       {{"B", "dss"}, {"y", "dsd:1,2,0"}}},
  };
  for (std::size_t number = 0; number < std::size(cases); ++number) {
    if (!test::is_drawn_sanitized(number, 6)) continue;
    const Case& one = cases[number];
    CAPTURE(one.expression);
    std::vector<double> first;
    for (const unsigned threads : {1U, 2U}) {
      EngineOptions options;
      options.resources.threads = Threads(threads);
      auto session = Session::create(options);
      REQUIRE(session);
      std::vector<std::string> names;
      for (const auto& [name, text] : one.operands) {
        const auto format = one.formats.find(name);
        session->set(name, operand(text, format == one.formats.end() ? "" : format->second));
        names.push_back(name);
      }
      for (const Specialization grade : grades) {
        EvaluateOptions evaluate;
        evaluate.specialize = grade;
        for (const auto& [name, text] : one.formats) evaluate.formats[name] = *parse_format(text);
        const auto evaluation = session->evaluate(one.expression, names, evaluate);
        REQUIRE_MESSAGE(evaluation, evaluation.error().message);
        CHECK(evaluation->report.specialization == name(grade));
        const Tensor& result = evaluation->results.at("y");
        REQUIRE(verify(result, Resources(), "y"));
        if (first.empty()) first = numbers(result);
        CHECK(numbers(result) == first);
      }
    }
  }
}

TEST_CASE("specialization: what each grade assumes, and which kernels are shared") {
  const auto pipeline = Pipeline::create(EngineOptions());
  REQUIRE(pipeline);
  const std::string spmm = "y(i,r) = M(i,j) * x(j,r)";
  const Tensor matrix = operand("sparse(30x20,nnz=90)", "ds");
  for (const char* dense : {"ones(20x32)", "ones(20x48)"}) {
    const Made generic = made(*pipeline, spmm, {{"M", matrix}, {"x", operand(dense)}}, Specialization::generic);
    CHECK_FALSE(assumes(*generic.kernel, "fact"));
    const Made profiled = made(*pipeline, spmm, {{"M", matrix}, {"x", operand(dense)}}, Specialization::profiled);
    CHECK(assumes(*profiled.kernel, "extent(r)"));
    CHECK_FALSE(assumes(*profiled.kernel, "pattern"));
    const Made baked = made(*pipeline, spmm, {{"M", matrix}, {"x", operand(dense)}}, Specialization::baked);
    CHECK(assumes(*baked.kernel, "pattern(M) = " + std::to_string(pattern_digest(matrix))));
  }
  const CacheCounters counters = pipeline->counters();
  CHECK(counters.compiled == 5);  // the generic one serves both extents
  CHECK(counters.memory == 1);
  CHECK(counters.generic == 2);
  CHECK(counters.profiled == 2);
  CHECK(counters.baked == 2);
  CHECK(counters.fallbacks == 0);
}

TEST_CASE("specialization: rows without gaps are walked as vectors, a pattern with gaps falls back") {
  const auto pipeline = Pipeline::create(EngineOptions());
  REQUIRE(pipeline);
  // Rows i of a triangle have columns 0 to i; as many entries with a hole in the last row, whose end lies one further.
  const auto rows = [&](bool hole) {
    Coordinates entries;
    entries.extents = {40, 42};
    entries.count = 40 * 41 / 2;
    for (int mode = 0; mode < 2; ++mode) entries.crd.push_back(*Buffer::allocate(entries.count * 4, Memory(), "M"));
    entries.values = *Buffer::allocate(entries.count * 8, Memory(), "M");
    for (std::uint32_t i = 0, n = 0; i < 40; ++i) {
      for (std::uint32_t j = 0; j <= i; ++j, ++n) {
        entries.crd[0].as<std::uint32_t>()[n] = i;
        entries.crd[1].as<std::uint32_t>()[n] = j + (hole && i == 39 && j > 20 ? 1 : 0);
        entries.values.as<double>()[n] = i % 3 + j % 5 + 1;
      }
    }
    auto tensor = build(std::move(entries), *parse_format("ds"), Resources(), "M");
    REQUIRE_MESSAGE(tensor, tensor.error().message);
    return *tensor;
  };
  const Tensor triangle = rows(false);
  const Tensor holed = rows(true);
  const Tensor x = operand("ones(42)");
  const std::map<std::string, Tensor> given = {{"M", triangle}, {"x", x}};
  const std::string spmv = "y(i) = M(i,j) * x(j)";
  const Made generic = made(*pipeline, spmv, given, Specialization::generic);
  CHECK_FALSE(assumes(*generic.kernel, "adjacent"));
  const Made profiled = made(*pipeline, spmv, given, Specialization::profiled);
  CHECK(assumes(*profiled.kernel, "adjacent(M.1)"));
  CHECK_FALSE(assumes(*made(*pipeline, spmv, {{"M", holed}, {"x", x}}, Specialization::profiled).kernel, "adjacent"));
  // Rows of a dense factor are the loop inside: nothing is walked as a vector, so nothing is assumed.
  const std::map<std::string, Tensor> of_rows = {{"M", triangle}, {"x", operand("ones(42x8)")}};
  CHECK_FALSE(assumes(*made(*pipeline, "y(i,r) = M(i,j) * x(j,r)", of_rows, Specialization::profiled).kernel, "adjacent"));
  CHECK(run(*profiled.kernel, given, "y") == run(*generic.kernel, given, "y"));
  CHECK(pipeline->counters().fallbacks == 0);
  const std::map<std::string, Tensor> others = {{"M", holed}, {"x", x}};
  CHECK(run(*profiled.kernel, others, "y") == run(*generic.kernel, others, "y"));
  CHECK(pipeline->counters().fallbacks == 1);
}

TEST_CASE("specialization: other values fit a baked kernel, another pattern falls back") {
  std::vector<std::string> lines;
  EngineOptions options;
  options.trace = [&](std::string_view line) { lines.emplace_back(line); };
  const auto pipeline = Pipeline::create(options);
  REQUIRE(pipeline);
  const Tensor x = operand("ones(20)");
  const Tensor matrix = operand("sparse(30x20,nnz=90)", "ds");
  const std::string spmv = "y(i) = M(i,j) * x(j)";
  const Made baked = made(*pipeline, spmv, {{"M", matrix}, {"x", x}}, Specialization::baked);
  const auto expected = [&](const Tensor& given) {
    const Made generic = made(*pipeline, spmv, {{"M", given}, {"x", x}}, Specialization::generic);
    return run(*generic.kernel, {{"M", given}, {"x", x}}, "y");
  };
  auto other_values = convert(matrix, *parse_format("ss"), Resources(), "M");
  REQUIRE(other_values);
  other_values = convert(*other_values, matrix.format(), Resources(), "M");
  REQUIRE(other_values);
  for (double& value : other_values->writable_values<double>()) value += 2;
  CHECK(pattern_digest(*other_values) == pattern_digest(matrix));
  CHECK(run(*baked.kernel, {{"M", *other_values}, {"x", x}}, "y") == expected(*other_values));
  CHECK(pipeline->counters().fallbacks == 0);
  std::uint64_t fallbacks = 0;
  for (const char* text : {"sparse(30x20,nnz=90,seed=7)", "sparse(30x20,nnz=40)", "sparse(30x20,nnz=600)", "sparse(30x20,nnz=91)"}) {
    const Tensor other = operand(text, "ds");
    CHECK(run(*baked.kernel, {{"M", other}, {"x", x}}, "y") == expected(other));
    CHECK(pipeline->counters().fallbacks == ++fallbacks);
  }
  CHECK(lines.back().starts_with("weft run "));
  bool said = false;
  for (const std::string& line : lines) said = said || line.find(" # bind: operand M has another pattern") != std::string::npos;
  CHECK(said);
}

TEST_CASE("specialization: full levels are looked up as tables, and one that is not full falls back") {
  const auto pipeline = Pipeline::create(EngineOptions());
  REQUIRE(pipeline);
  const std::string text = "y(i) = M(i,j) * N(i,j)";
  const Tensor thin = operand("sparse(30x20,nnz=40)", "ss");
  const Tensor full = operand("sparse(30x20,nnz=600,seed=2)", "ss");
  const Made profiled = made(*pipeline, text, {{"M", thin}, {"N", full}}, Specialization::profiled);
  CHECK(assumes(*profiled.kernel, "full(N.0)"));
  CHECK(assumes(*profiled.kernel, "full(N.1)"));
  CHECK_FALSE(assumes(*profiled.kernel, "full(M.1)"));
  const Tensor not_full = operand("sparse(30x20,nnz=599,seed=2)", "ss");
  const Made generic = made(*pipeline, text, {{"M", thin}, {"N", not_full}}, Specialization::generic);
  CHECK(run(*profiled.kernel, {{"M", thin}, {"N", not_full}}, "y") == run(*generic.kernel, {{"M", thin}, {"N", not_full}}, "y"));
  CHECK(pipeline->counters().fallbacks == 1);
}

TEST_CASE("specialization: NaN where a kernel assumes finite values never goes unnoticed") {
  const auto pipeline = Pipeline::create(EngineOptions());
  REQUIRE(pipeline);
  const std::string text = "y(i,r) = T(i,j,k) * x(j,r) * z(k,r)";
  std::map<std::string, Tensor> tensors = {
      {"T", operand("sparse(9x10x11,nnz=200)")}, {"x", operand("ones(10x16)")}, {"z", operand("ones(11x16)")}};
  const Made profiled = made(*pipeline, text, tensors, Specialization::profiled);
  Tensor infinite = operand("ones(11x16)");
  infinite.writable_values<double>()[5] = std::numeric_limits<double>::quiet_NaN();
  tensors["z"] = infinite;
  const auto bound = profiled.kernel->bind(tensors, Resources(), false);
  if (assumes(*profiled.kernel, "finite(z)")) {
    if (bound)
      CHECK(pipeline->counters().fallbacks == 1);
    else
      CHECK(bound.error().kind == ErrorKind::input);
  } else {
    CHECK(bound);
  }
}

TEST_CASE("specialization: what is too large or of other levels is not baked in") {
  CHECK(may_be_baked(operand("sparse(30x20,nnz=90)")));
  CHECK(may_be_baked(operand("sparse(4096x20,nnz=4096)", "ds")));
  CHECK_FALSE(may_be_baked(operand("sparse(4096x20,nnz=4097)")));
  CHECK_FALSE(may_be_baked(operand("sparse(5000x20,nnz=10)", "ds")));
  CHECK(may_be_baked(operand("sparse(5000x20,nnz=10)", "ss")));
  CHECK_FALSE(may_be_baked(operand("ones(20)")));
  CHECK_FALSE(may_be_baked(operand("sparse(30x20,nnz=90)", "uq")));
  const auto pipeline = Pipeline::create(EngineOptions());
  REQUIRE(pipeline);
  const Made large = made(*pipeline, "y(i) = M(i,j) * x(j)", {{"M", operand("sparse(300x200,nnz=5000)")}, {"x", operand("ones(200)")}},
                          Specialization::baked);
  CHECK(large.kernel->grade() == Specialization::profiled);
}

TEST_CASE("specialization: patterns of which too much code would come are not baked in") {
  const auto pipeline = Pipeline::create(EngineOptions());
  REQUIRE(pipeline);
  const auto grade = [&](std::uint64_t entries, Specialization asked) {
    const std::string small = "sparse(800x800,nnz=" + std::to_string(entries) + ")";
    const std::map<std::string, Tensor> tensors = {{"M", operand(small, "ds")}, {"N", operand("sparse(800x800,nnz=60000,seed=4)", "ds")}};
    const Made one = made(*pipeline, "y(i) = M(i,j) * N(i,j)", tensors, asked);
    CHECK(assumes(*one.kernel, "pattern(M)") == (one.kernel->grade() == Specialization::baked));
    return one.kernel->grade();
  };
  // Each entry of M is searched for in N.
  CHECK(grade(100, Specialization::baked) == Specialization::baked);
  CHECK(grade(2000, Specialization::baked) == Specialization::profiled);
  CHECK(grade(2000, Specialization::automatic) == Specialization::generic);  // one call
  const CacheCounters counters = pipeline->counters();
  CHECK(counters.baked == 1);
  CHECK(counters.profiled == 1);
}

TEST_CASE("specialization: digests tell patterns apart, and nothing else") {
  const Tensor matrix = operand("sparse(30x20,nnz=90)", "ds");
  CHECK(pattern_digest(matrix) != pattern_digest(operand("sparse(30x20,nnz=90,seed=1)", "ds")));
  CHECK(pattern_digest(matrix) != pattern_digest(operand("sparse(30x20,nnz=90)", "ss")));
  CHECK(pattern_digest(operand("sparse(30x20,nnz=0)", "ss")) != pattern_digest(operand("sparse(30x21,nnz=0)", "ss")));
  CHECK(pattern_digest(matrix) == pattern_digest(operand("sparse(30x20,nnz=90)", "ds:f32")));
  const Pattern pattern = pattern_of(matrix);
  CHECK(pattern.pos[1].size() == 31);
  CHECK(pattern.crd[1].size() == 90);
  CHECK(pattern.pos[0].empty());
}

TEST_CASE("specialization: the policy goes by the time that calls will take") {
  CHECK(choose_specialization(1000, 1, 0) == Specialization::generic);
  CHECK(choose_specialization(1000, 1e6, 0) == Specialization::profiled);
  CHECK(choose_specialization(1000, 1e6, 100) == Specialization::baked);
  CHECK(choose_specialization(1000, 1e4, 4000) == Specialization::profiled);
  CHECK(choose_specialization(1e9, 1, 0) == Specialization::profiled);
  for (const char* text : {"generic", "profiled", "baked", "auto"}) CHECK(name(*parse_specialization(text)) == text);
  CHECK(parse_specialization("automatic") == Specialization::automatic);  // as weft.h calls it
  CHECK_FALSE(parse_specialization("best").has_value());
}

}  // namespace specialization_test
