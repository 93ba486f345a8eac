// Results outlive what the host lent with an operand, and what it writes there.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tensor_facts.h"
#include "unit/frontend/host_loop.h"
#include "weft/session.h"

namespace handed_out_test {

using namespace weft;
using namespace weft::test;

namespace {

/// A matrix of 3 x 3 in memory of the host.
struct Lent {
  std::vector<int> pos{0, 1, 3, 4}, crd{2, 0, 1, 1};
  std::vector<double> values{1, 2, 3, 4};
  Tensor A = *borrow_csr(3, 3, pos, crd, values);

  bool has(const Tensor& result) const {
    return std::ranges::any_of(result.levels(), [&](const LevelArrays& level) {
      return level.pos.data() == pos.data() || level.crd.data() == crd.data();
    });
  }
};

struct Asked {
  std::string text;
  std::string format = "ds";  ///< of C; "like": at the positions of A
};

const std::vector<Asked>& all_asked() {
  static const std::vector<Asked> asked = {{"C(i,j) = A(i,j)"},
                                           {"C(i,j) = 2 * A(i,j)"},
                                           {"C(i,j) = 2 * A(i,j)", "ss"},
                                           {"C(i,j) = 2 * A(i,j)", "ds:1,0"},
                                           {"C(i,j) = A(i,j) * x(j)"},
                                           {"C(j,i) = A(i,j)"},
                                           {"C(j,i) = A(i,j)", "ds:1,0"},
                                           {"C(i,j) = A(i,j) * D(i,k) * D(j,k)"},
                                           {"C(i,j,k) = A(i,j) * D(j,k)", "dsd"},
                                           {"C(i,k) = A(i,j) * D(j,k)", "ds"},
                                           {"Y(i,j) = A(i,j); C(i,j) = 3 * Y(i,j)"},
                                           {"C(i,j) = 2 * A(i,j)", "like"}};
  return asked;
}

Tensors operands_of(const Asked& asked, const Lent& lent) {
  Tensors operands{{"A", lent.A}};
  if (asked.text.find("x(") != std::string::npos) operands["x"] = operand("uniform(3,seed=1)");
  if (asked.text.find("D(") != std::string::npos) operands["D"] = operand("uniform(3x2,seed=2)");
  return operands;
}

CompileOptions options_of(const Asked& asked) {
  CompileOptions options;
  if (asked.format == "like") options.patterns["C"] = "A";
  if (asked.format != "like") options.formats["C"] = *parse_format(asked.format);
  return options;
}

}  // namespace

TEST_CASE("handed out: a kept result stays what it is when coordinates are changed in place before the next run") {
  for (const Asked& asked : all_asked()) {
    CAPTURE(asked.text);
    CAPTURE(asked.format);
    Lent lent;
    CompileOptions options = options_of(asked);
    options.changing_patterns = {"A"};
    const Tensors operands = operands_of(asked, lent);
    const Kernel kernel = compiled(engine_with(1), asked.text, operands, options);
    const Bindings bindings = bound(operands);
    const Tensor kept = results_of(kernel, bindings).at("C");
    const Tensor symbolic = kernel.symbolic(bindings)->at("C");
    const std::vector<double> before = numbers(kept);
    lent.crd = {0, 1, 2, 0};
    const std::vector<double> after = numbers(results_of(kernel, bindings).at("C"));
    CHECK(after != before);
    CHECK(numbers(kept) == before);
    CHECK(numbers(symbolic) == before);
    const Lent changed{.crd = {0, 1, 2, 0}};
    CHECK(after == numbers(results_of(compiled(engine_with(1), asked.text, operands, options_of(asked)),
                                      bound(operands_of(asked, changed))).at("C")));
  }
}

TEST_CASE("handed out: results that were not asked for at the positions of an operand lend nothing of the host's, and are copied once") {
  for (const Asked& asked : all_asked()) {
    CAPTURE(asked.text);
    CAPTURE(asked.format);
    const bool shares = asked.format == "like";
    Tensor ran, again, symbolic, evaluated;
    std::vector<double> wanted;
    {
      const Lent lent;
      const Tensors operands = operands_of(asked, lent);
      const Kernel kernel = compiled(engine_with(1), asked.text, operands, options_of(asked));
      const Bindings bindings = bound(operands);
      ran = results_of(kernel, bindings).at("C");
      wanted = numbers(ran);
      again = results_of(kernel, bindings).at("C");
      symbolic = kernel.symbolic(bindings)->at("C");
      const Session session = *Session::create();
      for (const auto& [name, tensor] : operands) session.set(name, tensor);
      EvaluateOptions options;
      static_cast<CompileOptions&>(options) = options_of(asked);
      std::vector<std::string> names;
      for (const auto& [name, tensor] : operands) names.push_back(name);
      auto evaluation = session.evaluate(asked.text, names, options);
      REQUIRE_MESSAGE(evaluation, evaluation.error().message);
      evaluated = evaluation->results.at("C");
      CHECK(lent.has(ran) == shares);
      CHECK(lent.has(again) == shares);
      CHECK(lent.has(evaluated) == shares);
      CHECK_FALSE(lent.has(symbolic));
      CHECK_FALSE(symbolic.borrowed());
      // As long as the pattern is the same, so is the copy.
      for (const char* own : {"C(i,j) = A(i,j)", "C(i,j) = 2 * A(i,j)"}) {
        if (asked.text != own || asked.format != "ds") continue;
        CHECK(again.levels()[1].crd.data() == ran.levels()[1].crd.data());
        CHECK(TensorParts::pattern_facts(again)->kept_for_others);
      }
    }
    CHECK(numbers(symbolic) == wanted);
    if (shares) continue;
    for (const Tensor* const kept : {&ran, &again, &evaluated}) {
      CHECK_FALSE(kept->borrowed());
      CHECK(numbers(*kept) == wanted);
    }
  }
}

TEST_CASE("handed out: memory over the copy of an operand's pattern is memory over that pattern") {
  for (const std::string format : {"ds", "like"}) {
    CAPTURE(format);
    const Asked asked{"C(i,j) = 2 * A(i,j)", format};
    const Lent lent;
    const Tensors operands = operands_of(asked, lent);
    const Kernel kernel = compiled(engine_with(1), asked.text, operands, options_of(asked));
    Bindings bindings = bound(operands);
    const std::vector<double> wanted = numbers(results_of(kernel, bindings).at("C"));
    std::vector<double> values;
    for (const Tensor& pattern : {kernel.symbolic(bindings)->at("C"), results_of(kernel, bindings).at("C"), lent.A}) {
      values.assign(4, 0);
      bindings.output("C", *same_pattern(pattern, values));
      CHECK(results_of(kernel, bindings).at("C").values().data() == values.data());
      CHECK(values == std::vector<double>{2, 4, 6, 8});
      CHECK(numbers(results_of(kernel, bindings).at("C")) == wanted);
    }
    const Lent other;
    bindings.set("A", other.A);
    CHECK(refused(kernel, bindings).code == ErrorCode::pattern_changed);
  }
}

TEST_CASE("handed out: copies of what the host lent are given back with what is kept, and made anew") {
  const Lent lent;
  const Engine engine = engine_with(1);
  CompileOptions options;
  options.formats["C"] = *parse_format("ds");
  const Kernel kernel = compiled(engine, "C(i,j) = 2 * A(i,j)", {{"A", lent.A}}, options);
  const Bindings bindings = bound({{"A", lent.A}});
  Tensor kept = results_of(kernel, bindings).at("C");
  const std::vector<double> wanted = numbers(kept);
  engine.give_back();
  CHECK(numbers(kept) == wanted);
  CHECK(numbers(results_of(kernel, bindings).at("C")) == wanted);
  kept = {};
  engine.give_back();
  CHECK(numbers(results_of(kernel, bindings).at("C")) == wanted);
}

}  // namespace handed_out_test
