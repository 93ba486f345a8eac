// Values are looked through for NaN and Inf where something rests on it, and nowhere else.
#include "runtime/tensor_facts.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "unit/frontend/host_loop.h"
#include "weft.h"
#include "weft/session.h"

namespace finiteness_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

std::optional<bool> known(const Tensor& tensor) { return TensorParts::value_facts(tensor)->known_finite(); }

std::string looked_at(const Tensors& tensors) {
  std::string names;
  for (const auto& [name, tensor] : tensors) names += known(tensor) ? name : "";
  return names;
}

std::vector<std::string> ran(const Kernel& kernel, const Tensors& operands, OperandUse use = {}) {
  Bindings bindings;
  for (const auto& [name, tensor] : operands) bindings.set(name, tensor, use);
  std::vector<std::string> texts;
  for (int run = 0; run < 2; ++run) {
    const auto results = kernel.run(bindings);
    REQUIRE_MESSAGE(results, results.error().message);
    texts.clear();
    for (const double value : results->begin()->second.values().as<const double>())
      texts.push_back(std::isnan(value) ? "nan" : std::to_string(value));
  }
  return texts;
}

const std::string mttkrp = "y(i,r) = T(i,j,k) * x(j,r) * z(k,r)";
Tensors factors() { return {{"T", operand("sparse(9x10x11,nnz=200)")}, {"x", operand("ones(10x16)")}, {"z", operand("ones(11x16)")}}; }

// Rows of M without an entry leave what is summed over them absent, where they are multiplied first.
const std::string chain = "y(i,l) = (M(i,j) * x(j,k)) * z(k,l)";
Tensors links() {
  return {{"M", operand("sparse(30x20,nnz=30)", "ds")}, {"x", operand("ones(20x25)")}, {"z", operand("ones(25x6)")}};
}

}  // namespace

TEST_CASE("finiteness: an operand is looked through only where a plan or its code rests on it") {
  const Engine engine = engine_with();
  const Tensors some = factors();
  ran(compiled(engine, mttkrp, some), some);
  ran(compiled(engine, mttkrp, some), some, {.changes = true});
  CHECK(looked_at(some) == "");
  const Tensors others = links();
  ran(compiled(engine, chain, others), others);
  CHECK(looked_at(others) == "z");
}

TEST_CASE("finiteness: NaN and Inf where nothing rests on it run in the same kernel, and give what they give") {
  const Engine engine = engine_with();
  const Tensors finite = factors();
  const Kernel kernel = compiled(engine, mttkrp, finite);
  CompileOptions generic;
  generic.specialize = Specialization::generic;
  for (const std::string name : {"T", "x", "z"}) {
    for (const double value : {not_a_number, infinite}) {
      Tensors spoiled = finite;
      spoiled[name] = with_value(finite.at(name), 3, value);
      CHECK(ran(kernel, spoiled) == ran(compiled(engine_with(), mttkrp, spoiled, generic), spoiled));
    }
  }
  CHECK(engine.counters().fallbacks == 0);
}

TEST_CASE("finiteness: a kernel for operands that are not finite is known as that") {
  const Engine engine = engine_with();
  const Tensors finite = links();
  Tensors spoiled = finite;
  spoiled["z"] = with_value(finite.at("z"), 7, not_a_number);
  const std::vector<std::string> right = ran(compiled(engine_with(), chain, spoiled), spoiled);
  CHECK(ran(compiled(engine, chain, finite), finite) != right);
  // Found first as if it were finite, then not.
  CHECK(ran(compiled(engine, chain, spoiled), spoiled) == right);
  CHECK(engine.counters().fallbacks == 0);
  const auto made_so_far = engine.counters().known;
  CHECK(ran(compiled(engine, chain, spoiled), spoiled) == right);
  CHECK(ran(compiled(engine, chain, finite), finite) != right);
  CHECK(engine.counters().known == made_so_far + 2);
  CHECK(engine.counters().fallbacks == 0);
}

TEST_CASE("finiteness: the first who asks with values that are not finite spoils nothing for others") {
  const Engine engine = engine_with();
  const Tensors finite = links();
  Tensors spoiled = finite;
  spoiled["z"] = with_value(finite.at("z"), 7, not_a_number);
  const Kernel general = compiled(engine, chain, spoiled);
  const Kernel special = compiled(engine, chain, finite);
  CHECK(general.report().plan.loops.find("finite(z)") == std::string::npos);
  CHECK(special.report().plan.loops.find("finite(z)") != std::string::npos);
  CHECK(engine.counters().known == 0);
  compiled(engine, chain, spoiled);
  compiled(engine, chain, finite);
  CHECK(engine.counters().known == 2);
}

TEST_CASE("finiteness: what the host vouches for is looked through by nothing") {
  for (const bool all : {false, true}) {
    const Engine engine = engine_with();
    const Tensors finite = links();
    CompileOptions options;
    options.assume_all_finite = all;
    if (!all) options.assume_finite = {"z"};
    const std::vector<std::string> right = ran(compiled(engine_with(), chain, links()), links());
    const Kernel kernel = compiled(engine, chain, finite, options);
    CHECK(ran(kernel, finite) == right);
    CHECK(ran(kernel, finite, {.changes = true}) == right);
    CHECK(looked_at(finite) == "");
    // It may be lost or spread, and that is all.
    Tensors spoiled = finite;
    spoiled["z"] = with_value(finite.at("z"), 7, not_a_number);
    CHECK(ran(kernel, spoiled).size() == right.size());
    CHECK(engine.counters().fallbacks == 0);
  }
}

TEST_CASE("finiteness: of one binding, too") {
  const Engine engine = engine_with();
  const Kernel kernel = compiled(engine, chain, links());
  const Tensors vouched = links();
  const std::vector<std::string> right = ran(kernel, links());
  CHECK(ran(kernel, vouched, {.changes = true, .assume_finite = true}) == right);
  CHECK(looked_at(vouched) == "");
  CHECK(ran(kernel, vouched, {.changes = true}) == right);
  CHECK(looked_at(vouched) == "z");
}

TEST_CASE("finiteness: values that change in place are looked at again once that is announced, in the binding that was run before") {
  Tensors tensors = links();
  std::vector<double> z(25 * 6, 2), out(30 * 6);
  tensors["z"] = *borrow_dense({25, 6}, z);
  const Engine engine = engine_with();
  const Kernel kernel = compiled(engine, chain, tensors);
  Bindings bindings;
  for (const auto& [name, tensor] : tensors) bindings.set(name, tensor);
  const auto texts = [&] {
    std::vector<std::string> all;
    const auto results = kernel.run(bindings);
    REQUIRE_MESSAGE(results, results.error().message);
    for (const double value : results->at("y").values().as<const double>())
      all.push_back(std::isnan(value) ? "nan" : std::to_string(value));
    return all;
  };
  for (const bool into_host : {false, true}) {
    CAPTURE(into_host);
    if (into_host) bindings.output("y", *borrow_dense({30, 6}, out));
    for (const double value : {2.0, not_a_number, 3.0, infinite, 4.0}) {
      CAPTURE(value);
      z[7] = value;
      tensors.at("z").values_changed();
      Tensors now = tensors;
      now["z"] = with_value(tensors.at("z"), 7, value);
      CHECK(texts() == ran(compiled(engine_with(), chain, now), now));
      CHECK(texts() == ran(compiled(engine_with(), chain, now), now));
    }
  }
}

TEST_CASE("finiteness: a large operand that changes is not looked through in every run of a small kernel") {
  const std::string text = "a = M(i,j) * x(j,r) * N(i,k) * z(k,r)";
  const Tensors large = {{"M", operand("sparse(20x20000,nnz=100)", "ds")},
                         {"x", operand("ones(20000x8)")},
                         {"N", operand("sparse(20x20000,nnz=100,seed=2)", "ds")},
                         {"z", operand("ones(20000x8)")}};
  CompileOptions changing;
  changing.changing = {"M", "x", "N", "z"};
  const Engine engine = engine_with();
  const Kernel staying = compiled(engine, text, large);
  const Kernel kernel = compiled(engine, text, large, changing);
  const auto rests_on_large = [](const Kernel& one) {
    const std::string& loops = one.report().plan.loops;
    return loops.find("finite(x)") != std::string::npos || loops.find("finite(z)") != std::string::npos;
  };
  CHECK(rests_on_large(staying));
  CHECK_FALSE(rests_on_large(kernel));
  const std::vector<std::string> right = ran(staying, large);
  CHECK(ran(kernel, large) == right);
  for (const std::string name : {"x", "z"}) {
    Tensors spoiled = large;
    for (const std::size_t row : {0U, 5000U, 19999U}) spoiled[name] = with_value(spoiled.at(name), row * 8, not_a_number);
    const std::vector<std::string> wanted = ran(compiled(engine_with(), text, spoiled), spoiled);  // which looks at them
    CHECK(ran(kernel, spoiled) == wanted);
    CHECK(known(spoiled.at(name)) == std::nullopt);
  }
  CHECK(engine.counters().fallbacks == 0);
  changing.assume_finite = {"x", "z"};
  CHECK(rests_on_large(compiled(engine, text, large, changing)));
}

TEST_CASE("finiteness: only operands can be vouched for") {
  const Engine engine = engine_with();
  for (const std::string name : {"y", "nothing"}) {
    CompileOptions options;
    options.assume_finite = {name};
    const auto refused = engine.compile(chain, links(), options);
    REQUIRE(!refused);
    CHECK(refused.error().kind == ErrorKind::input);
    CHECK(refused.error().code == ErrorCode::unknown_name);
    CHECK(refused.error().operand == name);
    CHECK(refused.error().message == name + " is said to be finite, but is no operand");
  }
}

TEST_CASE("finiteness: what an operand has entries for is decided by its own format, whatever a kernel was made for") {
  const Tensor dense = operand("ones(3)"), held = with_value(operand("ones(3)"), 1, 0);
  Tensor weights = with_value(operand("ones(3)"), 1, infinite);
  const Tensor entry = *convert(with_value(with_value(held, 0, 5), 2, 0), *parse_format("s"), Resources(), "entry");  // 5 at 0
  const std::string product = "z(i) = A(i) * Y(i)";
  const auto texts = [](const Expected<Tensors>& results) {
    REQUIRE_MESSAGE(results, results.error().message);
    std::string all;
    for (const double value : results->at("z").values().as<const double>())
      all += std::isnan(value) ? " nan" : " " + std::to_string(int(value));
    return all;
  };
  REQUIRE(entry.nnz() == 1);
  for (const Specialization grade : {Specialization::generic, Specialization::profiled, Specialization::baked}) {
    for (const Tensor& made_for : {entry, dense}) {
      CompileOptions options;
      options.specialize = grade;
      const Kernel kernel = compiled(engine_with(), product, {{"A", made_for}, {"Y", weights}}, options);
      Bindings bindings;
      bindings.set("Y", weights);
      for (int round = 0; round < 2; ++round) {
        bindings.set("A", entry);
        CHECK(texts(kernel.run(bindings)) == " 10 0 0");
        bindings.set("A", held);
        CHECK(texts(kernel.run(bindings)) == " 4 nan 16");
      }
      Bindings finite;
      finite.set("A", held);
      finite.set("Y", operand("ones(3)"));
      CHECK(texts(kernel.run(finite)) == " 4 0 16");
    }
  }
  Session session(engine_with());
  session.set("Y", weights);
  for (const Answer answer : {Answer::best, Answer::soonest, Answer::best, Answer::soonest}) {
    session.set("A", entry);
    CHECK(texts(session.evaluate(product, answer)) == " 10 0 0");
    session.set("A", held);
    CHECK(texts(session.evaluate(product, answer)) == " 4 nan 16");
  }
}

}  // namespace finiteness_test
