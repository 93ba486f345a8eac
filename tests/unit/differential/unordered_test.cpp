// Operands whose coordinates fall, or come in no order, below the first level: read as they stand where nothing asks for an order, else
// through plain copies; on any engine, with values and patterns that change.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "compiled_runs.h"
#include "oracle/built_network.h"
#include "oracle/dice.h"
#include "oracle/random_machine.h"
#include "runs.h"
#include "weft/engine.h"
#include "weft/layout.h"

namespace unordered_test {

using namespace weft;
using namespace weft::test;

namespace {

const std::vector<std::vector<std::string>> layouts = {
    {},
    {},
    {"(i,j) -> (i:d, j:s unordered)", "(i,j) -> (i:s, j:s unordered)", "(i,j) -> (j:d, i:s unordered)", "(i,j) -> (i:d, j:s desc)",
     "(i,j) -> (j:s, i:s<64> desc)", "(i,j) -> (i/2:d, j/3:s unordered, i%2:d, j%3:d)", "(i,j) -> (i/3:s, j:s desc, i%3:d)",
     "(i,j) -> (i:s unordered, j:s)", "(i,j) -> (i:s desc, j:s unordered)", "(i,j) -> (j-i:s, j:s unordered)",
     "coo(unordered)", "coo(unordered)", "(i,j) -> (*:d, j:q unordered, i:q unordered)", "(i,j) -> (i:d, *:d, j:q unordered)",
     "(i,j) -> (i/2:d, *:d, j/3:q unordered, i%2:d, j%3:d)"},
    {"(i,j,k) -> (i:d, j:s unordered, k:s)", "(i,j,k) -> (i:s, j:s, k:s desc)", "(i,j,k) -> (k:d, j:s unordered, i:s unordered)",
     "(i,j,k) -> (i:d, j:s unordered, k:d)", "(i,j,k) -> (j:s, i/2:s unordered, k:s, i%2:d)",
     "(i,j,k) -> (*:d, i:q unordered, j:q unordered, k:q unordered)", "(i,j,k) -> (k:d, *:d, i:q unordered, j:q unordered)",
     "(i,j,k) -> (i:d, *:d, j:q unordered, k:d)", "(i,j,k) -> (*:d, j:q unordered, k:q unordered, i:d)"}};

struct Form {
  std::string expression;
  std::size_t order = 2;
  std::map<std::string, std::string> others;  // by name their indices
};

const std::vector<Form> forms = {{"R(i) = A(i,j) * x(j)", 2, {{"x", "j"}}},
                                 {"R(j) = A(i,j) * x(i)", 2, {{"x", "i"}}},
                                 {"R(i,r) = A(i,j) * X(j,r)", 2, {{"X", "jr"}}},
                                 {"R(r,j) = A(i,j) * X(r,i)", 2, {{"X", "ri"}}},
                                 {"R(i,j) = A(i,j) * X(j,i)", 2, {{"X", "ji"}}},
                                 {"R(j,i) = A(i,j) * x(i)", 2, {{"x", "i"}}},
                                 {"R() = A(i,j)", 2, {}},
                                 {"R(i) = 2 * A(i,j)", 2, {}},
                                 {"R(j) = A(i,j)", 2, {}},
                                 {"R(i,j) = A(i,j)", 2, {}},
                                 {"R(i) = A(i,j) * x(i)", 2, {{"x", "i"}}},
                                 {"R() = A(i,j) * x(i) * y(j)", 2, {{"x", "i"}, {"y", "j"}}},
                                 {"R(i) = A(i,j) * A(i,j)", 2, {}},
                                 {"R(i) = A(i,i)", 2, {}},
                                 {"R(r) = A(i,j) * x(j) * X(i,r)", 2, {{"x", "j"}, {"X", "ir"}}},
                                 {"S(i,j) = A(i,j) * X(i,j); R(i) = S(i,j) * x(j)", 2, {{"x", "j"}, {"X", "ij"}}},
                                 {"S(i,j) = A(i,j) * x(j); R(i) = S(i,j) * S(i,j)", 2, {{"x", "j"}}},
                                 {"R(i,r) = A(i,j,k) * X(k,r)", 3, {{"X", "kr"}}},
                                 {"R(i,r) = A(i,j,k) * X(j,r) * Y(k,r)", 3, {{"X", "jr"}, {"Y", "kr"}}},
                                 {"R(j,r) = A(i,j,k) * X(i,r)", 3, {{"X", "ir"}}},
                                 {"R(k) = A(i,j,k) * X(i,j)", 3, {{"X", "ij"}}},
                                 {"R(i,k) = A(i,j,k) * x(j)", 3, {{"x", "j"}}},
                                 {"R() = A(i,j,k) * x(k)", 3, {{"x", "k"}}}};

/// Entries, with what is dense below, in other slots of the same position above, as a host may lend them: built in a layout they ascend.
Tensor with_slots_shuffled(const Tensor& tensor, Dice& dice) {
  const Layout* const layout = tensor.format().layout.get();
  if (layout == nullptr) return tensor;
  const auto found = std::ranges::find(layout->levels, nullptr, &LayoutLevel::value);
  const auto slots = static_cast<std::size_t>(found - layout->levels.begin());
  if (slots == layout->levels.size()) return tensor;
  TensorArrays arrays = tensor.arrays();
  const std::size_t in_fiber = tensor.level_extents()[slots];
  const auto values = arrays.values.as<double>();
  std::size_t behind = slots + 1;
  while (behind < layout->levels.size() && layout->levels[behind].kind == LevelKind::singleton) ++behind;
  std::size_t below = 1;
  for (std::size_t l = behind; l < layout->levels.size(); ++l) below *= tensor.level_extents()[l];
  for (std::size_t first = 0; first < values.size() / below; first += in_fiber) {
    for (std::size_t n = in_fiber; n > 1; --n) {
      const std::size_t one = first + n - 1, other = first + dice.below(n);
      if (one == other) continue;
      std::swap_ranges(&values[one * below], &values[one * below] + below, &values[other * below]);
      for (std::size_t l = slots + 1; l < behind; ++l) {
        const auto crd = arrays.levels[l].crd.as<std::uint32_t>();
        std::swap(crd[one], crd[other]);
      }
    }
  }
  return Tensor(std::move(arrays));
}

/// Distinct coordinates in any order.
Tensor scattered(const std::vector<std::uint64_t>& extents, const Format& format, std::uint64_t count, Dice& dice) {
  std::uint64_t places = 1;
  for (const std::uint64_t extent : extents) places *= extent;
  std::set<std::uint64_t> taken;
  while (taken.size() < std::min(count, places)) taken.insert(dice.below(places));
  std::vector<std::uint64_t> order(taken.begin(), taken.end());
  for (std::size_t n = order.size(); n > 1; --n) std::swap(order[n - 1], order[dice.below(n)]);
  Coordinates list{.extents = extents, .crd = {}, .values = *Buffer::allocate(order.size() * 8, Memory(), "values"), .scalar = Scalar::f64,
                   .count = order.size()};
  for (std::size_t mode = 0; mode < extents.size(); ++mode)
    list.crd.push_back(*Buffer::allocate(order.size() * 4, Memory(), "coordinates"));
  for (std::size_t n = 0; n < order.size(); ++n) {
    std::uint64_t rest = order[n];
    for (std::size_t mode = extents.size(); mode-- > 0;) {
      list.crd[mode].as<std::uint32_t>()[n] = static_cast<std::uint32_t>(rest % extents[mode]);
      rest /= extents[mode];
    }
    list.values.as<double>()[n] = static_cast<double>(dice.below(9)) - 4;
  }
  return with_slots_shuffled(*build(std::move(list), format, Resources(), "A"), dice);
}

Tensor filled(const std::string& indices, const std::map<char, std::uint64_t>& extents, Dice& dice) {
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 1;
  for (const char index : indices) elements *= shape.emplace_back(extents.at(index));
  std::vector<double> values(elements);
  for (double& value : values) value = static_cast<double>(dice.below(9)) - 4;
  const Tensor sparse = *convert(*borrow_dense(shape, values), sparse_format(shape.size()), Resources(), "dense");
  return *convert(sparse, dense_format(shape.size()), Resources(), "dense");
}

Bindings bound(const Tensors& tensors) {
  Bindings bindings;
  for (const auto& [name, tensor] : tensors) bindings.set(name, tensor);
  return bindings;
}

/// Of a result that is dense or sparse.
CoordinateMap nonzeros(const Tensor& result) {
  CoordinateMap entries = *entries_of(result, Resources());
  std::erase_if(entries, [](const auto& entry) { return entry.second == 0; });
  return entries;
}

}  // namespace

TEST_CASE("layouts: coordinates in no order, read as they stand, on any engine, with values and patterns that change") {
  const Runs drawn = runs(is_sanitized() ? 80 : 300);
  std::size_t as_they_stand = 0;
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    Dice dice(seed);
    const Form& form = dice.pick(forms);
    std::map<char, std::uint64_t> extents;
    for (const char index : std::string("ijkr")) extents[index] = 1 + dice.below(form.order == 2 ? 40 : 12);
    if (form.expression.find("(i,i)") != std::string::npos) extents['j'] = extents['i'];
    const std::string& layout = dice.pick(layouts[form.order]);
    CAPTURE(seed);
    CAPTURE(form.expression);
    CAPTURE(layout);
    std::vector<std::uint64_t> shape{extents['i'], extents['j']};
    if (form.order == 3) shape.push_back(extents['k']);
    Tensors operands;
    for (const auto& [name, indices] : form.others) operands[name] = filled(indices, extents, dice);
    EngineOptions engine_options;
    engine_options.resources.threads = threads_of(dice.percent(50) ? 1 : 4);
    engine_options.strict_fp = dice.percent(10);
    engine_options.checked = dice.percent(50);
    engine_options.calibration = print(random_machine(seed));
    engine_options.deterministic = dice.percent(20);
    const auto engine = Engine::create(engine_options);
    REQUIRE(engine);
    CompileOptions options;
    options.specialize = std::vector{Specialization::generic, Specialization::profiled, Specialization::baked}[dice.below(3)];
    options.calls = dice.percent(50) ? 1 : 1000;
    if (dice.percent(30)) options.changing = {"A"};
    if (dice.percent(20)) options.changing_patterns = {"A"};
    const std::size_t result = form.expression.rfind("R(");
    const std::string indices = form.expression.substr(result, form.expression.rfind(") =") - result);
    const auto order = static_cast<std::size_t>(std::ranges::count_if(indices, [](char c) { return c >= 'a' && c <= 'z'; }));
    if (dice.percent(40)) options.formats["R"] = dense_format(order);
    else if (dice.percent(30)) options.formats["R"] = sparse_format(order);
    const auto draw = [&](const Format& format) { return scattered(shape, format, dice.below(dice.percent(10) ? 3 : 150), dice); };
    const Format format = *parse_format(layout);
    const Tensor first = draw(format);
    const auto valid = verify(first, Resources(), "A");
    REQUIRE_MESSAGE(valid, (valid ? "" : valid.error().message));
    // Of the same entries in plain levels.
    const auto expected = [&](const Tensor& A) {
      Tensors plain = operands;
      plain["A"] = *convert(A, sparse_format(form.order), Resources(), "A");
      CompileOptions asked;
      asked.formats = options.formats;
      const auto kernel = engine->compile(form.expression, plain, asked);
      REQUIRE_MESSAGE(kernel, kernel.error().message);
      const auto results = kernel->run(bound(plain));
      REQUIRE_MESSAGE(results, results.error().message);
      return nonzeros(results->at("R"));
    };
    Tensors tensors = operands;
    tensors["A"] = first;
    const auto kernel = engine->compile(form.expression, tensors, options);
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    as_they_stand += kernel->report().explanation.find("to meet these: A from") == std::string::npos;
    CAPTURE(kernel->report().plan.loops);
    Bindings bindings = bound(tensors);
    const auto check = [&](const Tensor& A) {
      const auto results = kernel->run(bindings);
      REQUIRE_MESSAGE(results, results.error().message);
      const Tensor& found = results->at("R");
      CHECK(verify(found, Resources(), "R"));
      CHECK(differences(nonzeros(found), expected(A)) == "");
    };
    check(first);
    Tensor changed = first;
    for (double& value : changed.writable_values<double>()) value = -2 * value;
    bindings.set("A", changed);
    check(changed);
    for (const std::string& other : {layout, dice.pick(layouts[form.order]), std::string(form.order, 's')}) {
      const Tensor next = draw(*parse_format(other));
      bindings.set("A", next);
      CAPTURE(other);
      check(next);
    }
  }
  CHECK(as_they_stand * 10 >= drawn.count);
}

}  // namespace unordered_test
