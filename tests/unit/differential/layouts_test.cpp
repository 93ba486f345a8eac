// Random networks over tensors in random layouts mean what they mean without: given in a layout, pinned to one, results in one.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "compiled_runs.h"
#include "drawn_layouts.h"
#include "long_ranges.h"
#include "oracle/built_network.h"
#include "oracle/random_machine.h"
#include "runtime/layout_entries.h"
#include "runtime/scalar_traits.h"
#include "runs.h"
#include "weft/engine.h"
#include "weft/session.h"

namespace layouts_differential_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;
constexpr std::uint64_t long_memory = std::uint64_t{1} << 29;  // what is dense over 2^31 needs more
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Values where they are not zero.
CoordinateMap nonzeros(const CoordinateMap& all) {
  CoordinateMap some;
  for (const auto& [coordinates, value] : all) {
    if (value != 0) some.emplace(coordinates, value);
  }
  return some;
}

}  // namespace

TEST_CASE("layouts change no result") {
  constexpr RandomLimits limits{.factors = 3, .order = 3, .indices = 5, .extent = 7, .long_extent = 40, .index_space = 5000};
  const Resources resources{.memory = Memory(long_memory), .threads = Threads(1), .cancellation = {}, .progress = {}};
  const Runs drawn = runs(is_sanitized() ? 60 : 500);
  std::size_t over_levels = 0;
  std::size_t over_sums = 0;
  std::size_t located = 0;
  std::size_t long_ones = 0;
  std::size_t long_computed = 0;
  std::size_t long_levels = 0;
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    Dice dice(seed);
    auto made = drawn_layouts(dice, limits, resources);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    const std::string text = reproduction(*made);
    CAPTURE(seed);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    EngineOptions engine_options;
    engine_options.resources.threads = threads_of(dice.percent(50) ? 1 : 4);
    if (made->is_long) engine_options.resources.memory = Memory(long_memory);
    engine_options.calibration = print(random_machine(seed));
    const auto engine = Engine::create(engine_options);
    REQUIRE(engine);
    long_ones += made->is_long;
    const auto kernel = engine->compile(made->random.expression, made->tensors, made->options);
    if (!kernel && made->is_long && kernel.error().kind == ErrorKind::resource) continue;
    REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
    const std::string& explained = kernel->report().explanation;
    const bool exposed = explained.find("planned over the levels") != std::string::npos;
    located += explained.find(" located at (") != std::string::npos;
    over_levels += exposed;
    for (const RandomOperand& operand : made->random.operands)
      over_sums += explained.find(" = " + operand.name + "_") != std::string::npos;
    const auto ran = [&] {
      Bindings bindings;
      for (const auto& [name, tensor] : made->tensors) bindings.set(name, tensor);
      const std::optional<Patience> patience = made->is_long ? std::optional<Patience>(std::in_place) : std::nullopt;
      const auto results = kernel->run(bindings, patience ? patience->over() : nullptr);
      CHECK(defect(*made, results) == "");
      return results.has_value();
    };
    for (unsigned run = 0; run < 2; ++run) {
      const bool computed = ran();
      long_computed += run == 0 && made->is_long && computed;
      long_levels += run == 0 && made->is_long && computed && exposed;
    }
    // Other entries, which some layouts are not made for: then another kernel takes the place.
    const auto other = redraw(*made, dice, limits, resources);
    REQUIRE_MESSAGE(other, (other ? "" : other.error().message));
    CAPTURE(reproduction(*made));
    ran();
  }
  MESSAGE(over_levels << " networks planned over the levels of layouts, " << over_sums << " with modes that are sums of these, "
                      << located << " with operands located through their layouts; of " << long_ones << " over long extents "
                      << long_computed << " computed, " << long_levels << " of them over levels");
  if (drawn.count >= 60) CHECK(over_levels > drawn.count / 8);
  if (drawn.count >= 200) CHECK(2 * long_computed > long_ones);
  if (drawn.count >= 200) CHECK(long_levels > 0);
}

TEST_CASE("a kernel over levels keeps nothing of the host's alive between runs") {
  EngineOptions options;
  options.resources.memory = Memory(std::uint64_t{1} << 30);
  const auto engine = Engine::create(options);
  REQUIRE(engine);
  const Resources& resources = engine->options().resources;
  constexpr std::uint64_t extent = 1 << 20;
  Tensor small = *dense_zeros({6, 6}, dense_format(2), resources, "B");
  std::ranges::fill(small.writable_values<double>(), 1);
  for (const char* const layout : {"bcsr(3,3)", "bcsr(4,4)", "dia"}) {
    CAPTURE(layout);
    Tensors tensors;
    tensors["B"] = *convert(small, *parse_format(layout), resources, "B");
    tensors["x"] = *dense_zeros({6, extent}, dense_format(2), resources, "x");
    tensors["z"] = *dense_zeros({extent}, dense_format(1), resources, "z");
    const auto kernel = engine->compile("y(i) = B(i,j) * x(j,h) * z(h)", tensors);
    REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
    const std::uint64_t before = resources.memory.used();
    {
      Bindings bindings;
      for (const auto& [name, tensor] : tensors) bindings.set(name, tensor);
      REQUIRE(kernel->run(bindings));
    }
    const std::uint64_t after = resources.memory.used();
    tensors.clear();
    const std::uint64_t given_back = after - resources.memory.used();
    CHECK(given_back >= 7 * extent * sizeof(double));
    // Of its own it keeps at most x once more, padded, until memory is short.
    CHECK(after - before < 12 * extent * sizeof(double));
  }
}

TEST_CASE("a format that is asked for is that of a result at the positions of an operand with a layout") {
  const auto engine = Engine::create({});
  REQUIRE(engine);
  std::vector<double> values = {0, 1, 0, 2, 3, 0, 0, 0};
  const Tensor dense = *borrow_dense({4, 2}, values);
  for (const char* const layout : {"(i,j) -> (i/2:d, j-i:s, i%2:d)", "bcsr(2,2)", "ell", "ds"}) {
    CAPTURE(layout);
    const Tensors tensors{{"T", *convert(dense, *parse_format(layout), Resources(), "T")}};
    CompileOptions options;
    options.formats["R"] = *parse_format("ds:1,0");
    const auto kernel = engine->compile("R(l,i) = 2 * T(i,l)", tensors, options);
    REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
    Bindings bindings;
    bindings.set("T", tensors.at("T"));
    for (unsigned run = 0; run < 2; ++run) {
      const auto results = kernel->run(bindings);
      REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
      CHECK(results->at("R").format().text() == options.formats.at("R").text());
      CHECK(wrong_result(results->at("R"), {{{1, 0}, 2}, {{1, 1}, 4}, {{0, 2}, 6}}) == "");
    }
  }
}

TEST_CASE("what stands beyond an extent meets no NaN and no infinity") {
  const auto engine = Engine::create({});
  REQUIRE(engine);
  const auto vector = [](std::vector<double> values) {
    Tensor tensor = *dense_zeros({values.size()}, dense_format(1), Resources(), "x");
    std::ranges::copy(values, tensor.writable_values<double>().begin());
    return tensor;
  };
  Tensors tensors;
  tensors["B"] = *convert(vector({1, 2, 3, 4, 5}), *parse_format("(i) -> (i/3:s, i%3:d)"), Resources(), "B");
  tensors["z"] = vector({infinity, 1});
  {
    const auto kernel = engine->compile("y(k) = B(j) * z(k)", tensors);
    REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
    Bindings bindings;
    for (const auto& [name, tensor] : tensors) bindings.set(name, tensor);
    const auto results = kernel->run(bindings);
    REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
    CHECK(results->at("y").values().as<const double>()[0] == infinity);
    CHECK(results->at("y").values().as<const double>()[1] == 15);
  }
  // Found finite when it was compiled, and infinite in a later run.
  tensors["z"] = vector({2, 1});
  const auto kernel = engine->compile("y(k) = B(j) * z(k)", tensors);
  REQUIRE(kernel);
  Bindings bindings;
  bindings.set("B", tensors.at("B"));
  bindings.set("z", tensors.at("z"));
  CHECK(kernel->run(bindings)->at("y").values().as<const double>()[0] == 30);
  bindings.set("z", vector({-infinity, 3}));
  const auto later = kernel->run(bindings);
  REQUIRE(later);
  CHECK(later->at("y").values().as<const double>()[0] == -infinity);
  CHECK(later->at("y").values().as<const double>()[1] == 45);
}

namespace {

/// Small integers at some places of a matrix, more of them along some diagonals, few enough in a row for slots.
Tensor banded(std::uint64_t rows, std::uint64_t columns, Scalar scalar) {
  std::vector<double> values(rows * columns);
  for (std::uint64_t i = 0; i < rows; ++i) {
    for (std::uint64_t j = 0; j < columns; ++j) {
      const auto distance = static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i);
      const bool is_near = distance >= -2 && distance <= 2 && (i + 2 * j) % 5 != 0;
      if (is_near) values[i * columns + j] = static_cast<double>((3 * i + j) % 7) - 3;
    }
  }
  const Tensor dense = *borrow_dense({rows, columns}, values);
  return *convert(dense, sparse_format(2, scalar), Resources(), "B");
}

/// Small integers; laid out by columns where they are to be.
Tensor small_integers(std::vector<std::uint64_t> extents, bool by_columns) {
  Tensor tensor = *dense_zeros(extents, dense_format(extents.size()), Resources(), "x");
  std::uint64_t n = 3;
  for (double& value : tensor.writable_values<double>()) value = static_cast<double>(n++ * 7 % 11) - 5;
  Format format = dense_format(extents.size());
  if (by_columns) std::ranges::reverse(format.mode_order);
  return *convert(tensor, format, Resources(), "x");
}

}  // namespace

namespace {

/// At most two entries in each group of four columns, in no row as many as in the next.
Tensor paired(std::uint64_t rows, std::uint64_t columns) {
  std::vector<double> values(rows * columns);
  for (std::uint64_t i = 0; i < rows; ++i) {
    for (std::uint64_t group = 0; 4 * group < columns; ++group) {
      for (const std::uint64_t in : {(i + group) % 4, (3 * i + group * group) % 4}) {
        const std::uint64_t j = 4 * group + in;
        if (j < columns && (i + group) % 5 != 4) values[i * columns + j] = static_cast<double>((3 * i + j) % 7) - 3;
      }
    }
  }
  return *convert(*borrow_dense({rows, columns}, values), sparse_format(2), Resources(), "B");
}

}  // namespace

TEST_CASE("slots are levels of fibers, or lanes of a row") {
  const std::vector<std::string> layouts = {"ell",     "(i,j) -> (i:d, *:v, j:q)", "nm(2,4)", "nm(3,4)", "sell(8)",
                                            "sell(3)", "(j,i) -> (i:d, *:d, j:q)"};
  const std::vector<std::string> expressions = {"y(i) = B(i,j) * x(j)", "y(j) = B(i,j) * z(i)", "Y(i,h) = B(i,j) * X(j,h)", "s = B(i,j)",
                                                "y(i) = 2 * B(i,j) * x(j) * z(i)", "R(i,j) = B(i,j) * x(j)", "y(i) = B(i,j) * w(j)",
                                                "y(i) = Z(j,i) * B(i,j)",          "s = Z(j,i) * B(i,j) * z(i)"};
  for (const auto& [rows, columns] : {std::pair(1, 4), std::pair(9, 6), std::pair(16, 31), std::pair(5, 1203)}) {
    const Tensor matrix = paired(rows, columns);
    Tensors all{{"x", small_integers({static_cast<std::uint64_t>(columns)}, false)},
                {"z", small_integers({static_cast<std::uint64_t>(rows)}, false)},
                {"X", small_integers({static_cast<std::uint64_t>(columns), 9}, false)},
                {"Z", small_integers({static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows)}, false)}};
    all["w"] = *convert(all["x"], sparse_format(1), Resources(), "w");
    for (const std::string& text : expressions) {
      const auto engine = Engine::create({});
      REQUIRE(engine);
      std::string loops;
      const auto result_of = [&](const Tensor& given) {
        Tensors tensors{{"B", given}};
        for (const auto& [name, tensor] : all)
          if (text.find(name + "(") != std::string::npos) tensors[name] = tensor;
        CompileOptions options;
        options.formats["B"] = given.format();
        const auto kernel = engine->compile(text, tensors, options);
        REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
        loops = kernel->explain("loops").value_or("");
        Bindings bindings;
        for (const auto& [name, tensor] : tensors) bindings.set(name, tensor);
        const auto results = kernel->run(bindings);
        REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
        CHECK(verify(results->begin()->second, Resources(), "result"));
        return nonzeros(*entries_of(results->begin()->second, Resources()));
      };
      const CoordinateMap expected = result_of(matrix);
      for (const std::string& layout : layouts) {
        CAPTURE(text);
        CAPTURE(layout);
        CAPTURE(columns);
        const auto laid = convert(matrix, *parse_format(layout), Resources(), "B");
        REQUIRE_MESSAGE(laid, (laid ? "" : laid.error().message));
        CHECK(differences(result_of(*laid), expected) == "");
        CHECK_MESSAGE((loops.find("singleton") != std::string::npos) == layout.starts_with("sell"), loops);
      }
    }
  }
}

TEST_CASE("modes that are sums of levels") {
  const std::vector<std::string> layouts = {"dia", "dia(1)", "dia(4)", "dia(64)", "band(2,2)", "bcsr(2,3,unaligned)", "vbl", "skyline",
                                            "(i,j) -> (j-i:s, j:d)", "(i,j) -> (j-i:s unordered, j:d)", "(i,j) -> (i-j:s unordered, i:d)",
                                            "(i,j) -> (j+i:s, i:d)", "(i,j) -> (i:d, j-2*i:s)",
                                            "(i,j) -> (i:d(..40), j:s)", "(i,j) -> (i/4:d, j+2*i:s, i%4:d)", "(i,j) -> (i:d, *:v, j-i:q)"};
  const std::vector<std::string> expressions = {
      "y(i) = B(i,j) * x(j)",          "y(j) = B(i,j) * x(i)",        "Y(i,h) = B(i,j) * X(j,h)",       "Y(h,i) = B(i,j) * X(j,h)",
      "s = B(i,j) * x(j)",             "y(i) = B(i,j) * x(j) * w(i)", "t(i) = B(i,j) * x(j); y(h) = X(i,h) * t(i)",
      "y(i) = 2 * B(i,j) * x(j)",      "Y(i,j) = B(i,j) * w(i)",      "y(h) = B(i,j) * X(j,h) * X(i,h)"};
  std::size_t over_sums = 0;
  for (const std::uint64_t extent : {1, 5, 23}) {
    for (const Scalar scalar : {Scalar::f64, Scalar::f32}) {
      const Tensor matrix = banded(extent, extent, scalar);
      for (const std::string& text : expressions) {
        const bool by_columns = text.size() % 2 == 0;
        Tensors tensors{{"B", matrix}};
        if (text.find("x(") != std::string::npos) tensors["x"] = small_integers({extent}, false);
        if (text.find("w(") != std::string::npos) tensors["w"] = small_integers({extent}, false);
        if (text.find("X(") != std::string::npos) tensors["X"] = small_integers({extent, 6}, by_columns);
        const auto engine = Engine::create({});
        REQUIRE(engine);
        const auto results_of = [&](const Tensors& operands) {
          const auto kernel = engine->compile(text, operands);
          REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
          over_sums += kernel->report().explanation.find(" = B_") != std::string::npos;
          Bindings bindings;
          for (const auto& [name, tensor] : operands) bindings.set(name, tensor);
          std::vector<CoordinateMap> found;
          const auto note = [&] {
            const auto results = kernel->run(bindings);
            REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
            CHECK(verify(results->begin()->second, Resources(), "result"));
            found.push_back(nonzeros(*entries_of(results->begin()->second, Resources())));
            for (auto& [at, value] : found.back()) value = std::isnan(value) ? 1e300 : value;  // which equals itself
          };
          note();
          for (const char* const name : {"x", "w", "X"}) {
            if (!operands.contains(name)) continue;
            const Tensor& before = operands.at(name);
            Tensor other = small_integers(before.extents(), before.order() == 2 && by_columns);
            for (double& value : other.writable_values<double>()) value = value < 0 ? 2 : -value;
            bindings.set(name, other);
            note();
            bindings.set(name, *convert(other, sparse_format(other.order()), Resources(), name));
            note();
            if (name == std::string("w")) {  // what x meets are entries as well as places between them
              other.writable_values<double>()[0] = infinity;
              bindings.set(name, other);
              note();
            }
            bindings.set(name, before);
          }
          return found;
        };
        const std::vector<CoordinateMap> of_entries = results_of(tensors);
        for (const std::string& layout : layouts) {
          CAPTURE(text);
          CAPTURE(layout);
          CAPTURE(extent);
          Format format = *parse_format(layout);
          format.scalar = scalar;
          const auto laid = convert(matrix, format, Resources(), "B");
          if (!laid) continue;  // four rows of a band whose last one it has no place for
          Tensors others = tensors;
          others["B"] = *laid;
          const std::vector<CoordinateMap> found = results_of(others);
          // Infinity meets zeros that building the layout added as it meets any other.
          Tensors as_stored = tensors;
          as_stored["B"] = *build(*entries_with_layout(*laid, Zeros::kept, Resources()), sparse_format(2, scalar), Resources(), "B");
          const std::vector<CoordinateMap> expected = tensors.contains("w") ? results_of(as_stored) : of_entries;
          REQUIRE(found.size() == expected.size());
          for (std::size_t n = 0; n < found.size(); ++n) {
            CAPTURE(n);
            CHECK(differences(found[n], expected[n]) == "");
          }
        }
      }
    }
  }
  CHECK(over_sums >= 150);
}

TEST_CASE("layouts: runs and diagonals in place, of any extents, on any engine, with values that change") {
  const std::vector<std::string> layouts = {"vbl", "(i,j) -> (j-i:s unordered, j:d)", "(i,j) -> (j-i:s, j:d)",
                                            "(i,j) -> (i-j:s unordered, i:d)", "dia", "(j,i) -> (i:d, b:s, j-b:v)"};
  const std::vector<std::string> expressions = {
      "y(i) = B(i,j) * x(j)",     "y(j) = B(i,j) * z(i)",       "Y(i,h) = B(i,j) * X(j,h)",
      "Y(h,j) = B(i,j) * Z(i,h)", "s = B(i,j) * x(j) * z(i)",   "y(i) = 2 * B(i,j) * x(j) * z(i)",
      "y(i) = B(i,j) * w(j)",     "R(i,j) = B(i,j) * x(j)",     "t(i) = B(i,j) * x(j); y(h) = Z(i,h) * t(i)",
      "y(i) = B(i,j)",            "y(h) = B(i,j) * X(j,h)"};
  const Runs drawn = runs(is_sanitized() ? 60 : 200);
  std::size_t adjacent = 0;
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    Dice dice(seed);
    const std::uint64_t rows = 1 + dice.below(80), columns = 1 + dice.below(80);
    const Scalar scalar = dice.percent(50) ? Scalar::f64 : Scalar::f32;
    std::vector<double> values(rows * columns);
    const std::uint64_t share = 1 + dice.below(100);
    for (std::uint64_t offset = 0; offset < rows + columns - 1; ++offset) {
      if (!dice.percent(share)) continue;
      for (std::uint64_t j = 0; j < columns; ++j) {
        const std::uint64_t i = j + rows - 1 - offset;
        if (i < rows && dice.percent(90)) values[i * columns + j] = static_cast<double>(dice.below(9)) - 4;
      }
    }
    const Tensor matrix = *convert(*borrow_dense({rows, columns}, values), sparse_format(2, scalar), Resources(), "B");
    const std::string& text = dice.pick(expressions);
    Format format = *parse_format(dice.pick(layouts));
    format.scalar = scalar;
    auto laid = convert(matrix, format, Resources(), "B");
    REQUIRE_MESSAGE(laid, laid.error().message);
    Tensors others;
    const bool by_columns = dice.percent(50);
    if (text.find("x(") != std::string::npos) others["x"] = small_integers({columns}, false);
    if (text.find("w(") != std::string::npos) others["w"] = *convert(small_integers({columns}, false), sparse_format(1), Resources(), "w");
    if (text.find("z(") != std::string::npos) others["z"] = small_integers({rows}, false);
    if (text.find("X(") != std::string::npos) others["X"] = small_integers({columns, 1 + dice.below(20)}, by_columns);
    if (text.find("Z(") != std::string::npos) others["Z"] = small_integers({rows, 1 + dice.below(20)}, by_columns);
    CAPTURE(seed);
    CAPTURE(text);
    CAPTURE(format.text());
    EngineOptions engine_options;
    engine_options.resources.threads = threads_of(dice.percent(50) ? 1 : 4);
    engine_options.strict_fp = dice.percent(10);
    engine_options.checked = dice.percent(10);
    engine_options.deterministic = dice.percent(20);
    const auto engine = Engine::create(engine_options);
    REQUIRE(engine);
    CompileOptions options;
    options.specialize = std::vector{Specialization::generic, Specialization::profiled, Specialization::baked}[dice.below(3)];
    if (dice.percent(50)) options.changing = {"B"};
    const auto results_of = [&](Tensor B, const CompileOptions& with, bool noted) {
      Tensors tensors = others;
      tensors["B"] = B;
      const auto kernel = engine->compile(text, tensors, with);
      REQUIRE_MESSAGE(kernel, kernel.error().message);
      adjacent += noted && kernel->explain("loops").value_or("").find("adjacent(") != std::string::npos;
      Bindings bindings;
      std::vector<CoordinateMap> found;
      for (unsigned run = 0; run < 3; ++run) {
        for (const auto& [name, tensor] : tensors) bindings.set(name, tensor);
        const auto results = kernel->run(bindings);
        REQUIRE_MESSAGE(results, results.error().message);
        found.push_back(nonzeros(*entries_of(results->at(text[0] == 't' ? "y" : text.substr(0, 1)), Resources())));
        with_element(scalar, [&]<class T>(T) {
          for (T& value : tensors["B"].template writable_values<T>()) value = static_cast<T>(-2) * value;
        });
        tensors["B"].values_changed();
      }
      return found;
    };
    const std::vector<CoordinateMap> expected = results_of(*convert(matrix, matrix.format(), Resources(), "B"), {}, false);
    const std::vector<CoordinateMap> found = results_of(*laid, options, true);
    for (std::size_t n = 0; n < found.size(); ++n) CHECK(differences(found[n], expected[n]) == "");
  }
  MESSAGE(adjacent << " kernels over adjacent fibers");
  if (drawn.count >= 40) CHECK(adjacent > drawn.count / 4);
}

}  // namespace layouts_differential_test
