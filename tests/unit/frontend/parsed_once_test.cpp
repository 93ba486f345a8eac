// Every call of parse_expression from another file of the frontend is counted (--wrap in tests/CMakeLists.txt).
#include <doctest/doctest.h>

#include <atomic>

#include "frontend/request_text.h"
#include "weft.h"
#include "weft/file.h"
#include "weft/session.h"

namespace {

std::atomic<int> parsed{0};

}  // namespace

// The names are those that the linker gives what it wraps.
weft::Expected<weft::ParsedExpression> parse_really(std::string_view text, const weft::IsGiven& is_given)
    __asm__("__real__ZN4weft16parse_expressionESt17basic_string_viewIcSt11char_traitsIcEERKSt8functionIFbS3_EE");
weft::Expected<weft::ParsedExpression> parse_counted(std::string_view text, const weft::IsGiven& is_given)
    __asm__("__wrap__ZN4weft16parse_expressionESt17basic_string_viewIcSt11char_traitsIcEERKSt8functionIFbS3_EE");
weft::Expected<weft::ParsedExpression> parse_counted(std::string_view text, const weft::IsGiven& is_given) {
  ++parsed;
  return parse_really(text, is_given);
}

namespace weft::parsed_once_test {
namespace {

constexpr const char* text = "y(i) = M(i,j) * x(j)";

Tensors operands() {
  Tensors tensors;
  tensors["M"] = *generate_tensor("sparse(7x9,nnz=20,seed=1)", std::nullopt, Resources(), "M");
  tensors["x"] = *generate_tensor("ones(9)", std::nullopt, Resources(), "x");
  return tensors;
}

Session session() {
  auto made = Session::create();
  REQUIRE(made);
  for (const auto& [name, tensor] : operands()) made->set(name, tensor);
  return *made;
}

/// How often a text was parsed meanwhile.
template <class Act>
int parses(Act&& act) {
  const int before = parsed;
  act();
  return parsed - before;
}

}  // namespace

TEST_CASE("a request is parsed when its text is first asked for, and once") {
  const RequestText request(text);
  CHECK(request.parse_ms() == 0);
  CHECK(parses([&] { CHECK(request.parsed()); }) == 1);
  CHECK(parses([&] { CHECK(*request.operands() == std::vector<std::string>{"M", "x"}); }) == 0);
  CHECK(&request.parsed() == &request.parsed());
  CHECK(*RequestText("ij,j->i").operands() == std::vector<std::string>{"T0", "T1"});
  CHECK(*RequestText("S(i) = M(i,j) * M(i,j); y = S(i) * x(i)").operands() == std::vector<std::string>{"M", "x"});
}

TEST_CASE("a text that is wrong is parsed once, and is wrong whenever asked") {
  const RequestText wrong("y(i = M(i,j)");
  std::string message;
  CHECK(parses([&] { message = wrong.parsed().error().message; }) == 1);
  CHECK(parses([&] { CHECK(wrong.operands().error().message == message); }) == 0);
}

TEST_CASE("engines parse a text once, and one they know not at all") {
  const auto engine = Engine::create({});
  REQUIRE(engine);
  const Tensors tensors = operands();
  CHECK(parses([&] { CHECK(engine->compile(text, tensors)); }) == 1);
  CHECK(parses([&] { CHECK(engine->compile(text, tensors)); }) == 0);
  CHECK(parses([&] { CHECK(engine->compile("z(i) = M(i,j) * x(j)", tensors)); }) == 1);
  CHECK(parses([&] { CHECK(engine->compile_async("w(i) = M(i,j) * x(j)", tensors).get()); }) == 1);
}

TEST_CASE("sessions parse a text once from the request to the result") {
  const Session one = session();
  CHECK(parses([&] { CHECK(one.evaluate(text)); }) == 1);
  CHECK(parses([&] { CHECK(one.evaluate(text)); }) == 0);
  CHECK(parses([&] { CHECK(one.evaluate(text, {"M", "x"})); }) == 1);
  const RequestText request(text);
  REQUIRE(request.parsed());
  CHECK(parses([&] { CHECK(evaluate(one, request, {"M", "x"})); }) == 0);
}

TEST_CASE("the soonest answer is parsed once, and once more by what improves it in the background") {
  const int times = parses([&] { CHECK(session().evaluate(text, Answer::soonest)); });
  CHECK(times >= 1);
  CHECK(times <= 2);
}

}  // namespace weft::parsed_once_test
