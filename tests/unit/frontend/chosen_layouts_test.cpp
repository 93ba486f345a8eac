// Blocks that weft chooses for a matrix: where they pay, where they would change results, and what is said of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "runtime/block_fill.h"
#include "weft/file.h"
#include "weft/session.h"

namespace weft::chosen_layouts_test {
namespace {

Tensor matrix_of(std::uint64_t extent, const std::vector<std::uint32_t>& rows, const std::vector<std::uint32_t>& columns,
                 const std::vector<double>& values, std::string_view format) {
  const auto copied = [](const auto& from) {
    using Element = typename std::remove_reference_t<decltype(from)>::value_type;
    Buffer buffer = *Buffer::allocate(from.size() * sizeof(Element), Memory(), "entries");
    std::ranges::copy(from, buffer.as<Element>().begin());
    return buffer;
  };
  Coordinates coordinates{{extent, extent}, {copied(rows), copied(columns)}, copied(values), Scalar::f64, rows.size()};
  return *build(std::move(coordinates), *parse_format(format), Resources(), "B");
}

/// Blocks of `side` by `side` around the diagonal of a square matrix, with small integers.
Tensor blocks(std::uint64_t extent, std::uint64_t side, std::string_view format = "ds") {
  std::vector<std::uint32_t> rows, columns;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < extent; ++i) {
    for (std::uint64_t block = 0; block < 5; ++block) {
      for (std::uint64_t j = 0; j < side; ++j) {
        rows.push_back(static_cast<std::uint32_t>(i));
        columns.push_back(static_cast<std::uint32_t>((i / side + 7 * block) * side % extent / side * side + j));
        values.push_back(static_cast<double>((i + j) % 5) + 1);
      }
    }
  }
  return matrix_of(extent, rows, columns, values, format);
}

/// Five diagonals, one of them broken in two.
Tensor diagonals(std::uint64_t extent) {
  std::vector<std::uint32_t> rows, columns;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < extent; ++i) {
    for (const std::int64_t distance : {-70, -1, 0, 1, i < extent / 2 ? 33 : 71}) {
      const std::int64_t j = static_cast<std::int64_t>(i) + distance;
      if (j < 0 || j >= static_cast<std::int64_t>(extent)) continue;
      rows.push_back(static_cast<std::uint32_t>(i));
      columns.push_back(static_cast<std::uint32_t>(j));
      values.push_back(static_cast<double>((2 * i + 3) % 5) + 1);
    }
  }
  return matrix_of(extent, rows, columns, values, "ds");
}

/// Of every four rows two have an entry at each coordinate that any has: one coordinate, or sixty, so that slices are half empty.
Tensor half_full_groups(std::uint64_t extent) {
  std::vector<std::uint32_t> rows, columns;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < extent; ++i) {
    const std::uint64_t group = i / 4;
    for (std::uint64_t n = 0; n < (group % 2 == 0 ? 60 : 2); ++n) {
      if (i % 2 != n % 2) continue;
      rows.push_back(static_cast<std::uint32_t>(i));
      columns.push_back(static_cast<std::uint32_t>((group * 37 + n * 3) % extent));
      values.push_back(static_cast<double>((i + n) % 5) + 1);
    }
  }
  return matrix_of(extent, rows, columns, values, "ds");
}

Tensor vector(std::uint64_t extent, double last) {
  Tensor tensor = *dense_zeros({extent}, dense_format(1), Resources(), "x");
  const auto values = tensor.writable_values<double>();
  for (std::uint64_t n = 0; n < extent; ++n) values[n] = static_cast<double>(n % 7) - 3;
  values[extent - 1] = last;
  return tensor;
}

struct Evaluated {
  std::vector<double> y;
  std::string explanation;
};
Evaluated evaluated(const Tensor& matrix, const Tensor& x, double calls, bool choose, std::map<std::string, Format> formats = {}) {
  const auto session = Session::create();
  REQUIRE(session);
  session->set("B", matrix);
  session->set("x", x);
  EvaluateOptions options;
  options.calls = calls;
  options.choose_layouts = choose;
  options.formats = std::move(formats);
  const auto evaluation = session->evaluate("y(i) = B(i,j) * x(j)", {"B", "x"}, options);
  REQUIRE_MESSAGE(evaluation, (evaluation ? "" : evaluation.error().message));
  const auto y = *convert(evaluation->results.at("y"), dense_format(1), Resources(), "y");
  const auto values = y.values().as<const double>();
  return {{values.begin(), values.end()}, evaluation->report.explanation};
}

/// A layout with places without an entry.
bool chose(const Evaluated& one) {
  const std::size_t found = one.explanation.find("B is stored in ");
  return found != std::string::npos && found != one.explanation.find("B is stored in the levels of ");
}

}  // namespace

TEST_CASE("full blocks are chosen for many calls, and change no result") {
  for (const std::uint64_t extent : {3000, 3001}) {
    const Tensor matrix = blocks(extent / 3 * 3, 3);
    const Tensor x = vector(extent / 3 * 3, 2);
    const Evaluated plain = evaluated(matrix, x, 1e6, false);
    const Evaluated chosen = evaluated(matrix, x, 1e6, true);
    CHECK(chose(chosen));
    CHECK(!chose(plain));
    CHECK(chosen.y == plain.y);
    CHECK(chosen.explanation.find("% full") != std::string::npos);
    CHECK(!chose(evaluated(matrix, x, 1, true)));
    CHECK(!chose(evaluated(matrix, x, 1e6, true, {{"B", *parse_format("ds")}})));
    // A dense result is one whether or not it is asked for.
    const Evaluated asked = evaluated(matrix, x, 1e6, true, {{"y", *parse_format("d")}});
    CHECK(chose(asked));
    CHECK(asked.y == plain.y);
  }
}

TEST_CASE("rows that share coordinates are stored in groups, half empty as these may be") {
  const Tensor matrix = half_full_groups(20'000);
  const Tensor x = vector(20'000, 2);
  const Evaluated plain = evaluated(matrix, x, 1e6, false);
  const Evaluated chosen = evaluated(matrix, x, 1e6, true);
  CHECK_MESSAGE(chosen.explanation.find("B is stored in blocks of 4 by 1, some 50 % full") != std::string::npos, chosen.explanation);
  CHECK(chosen.y == plain.y);
}

TEST_CASE("diagonals are stored in strips") {
  const Tensor matrix = diagonals(5000);
  const Tensor x = vector(5000, 2);
  const Evaluated plain = evaluated(matrix, x, 1e6, false);
  const Evaluated chosen = evaluated(matrix, x, 1e6, true);
  CHECK(chosen.explanation.find("B is stored in diagonals in strips of ") != std::string::npos);
  CHECK(chosen.y == plain.y);
}

TEST_CASE("hosts have layouts chosen, for matrices like those they compile for") {
  const auto engine = Engine::create({});
  REQUIRE(engine);
  CompileOptions options;
  options.calls = 1e6;
  options.choose_layouts = true;
  const Tensor x = vector(5000, 2);
  const auto ran = [&](const Tensor& matrix, std::string_view chosen) {
    const auto kernel = engine->compile("y(i) = B(i,j) * x(j)", {{"B", matrix}, {"x", x}}, options);
    REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
    CHECK((kernel->report().explanation.find(chosen) != std::string::npos));
    Bindings bindings;
    bindings.set("B", matrix);
    bindings.set("x", x);
    const auto plain = engine->compile("y(i) = B(i,j) * x(j)", {{"B", matrix}, {"x", x}});
    REQUIRE(plain);
    for (const double last : {2.0, -3.0}) {
      bindings.set("x", vector(5000, last));
      const auto results = kernel->run(bindings);
      REQUIRE_MESSAGE(results, (results ? "" : results.error().message));
      const auto expected = plain->run(bindings);
      REQUIRE(expected);
      const auto y = *convert(results->at("y"), dense_format(1), Resources(), "y");
      CHECK(std::ranges::equal(y.values().as<const double>(), expected->at("y").values().as<const double>()));
    }
  };
  ran(diagonals(5000), "B is stored in diagonals in strips of ");
  // As many entries in as many rows, elsewhere: what was chosen for the other matrix is not known for this one.
  ran(blocks(5000, 1), "chosen by");
  const std::uint64_t entries = diagonals(5000).nnz();
  CHECK(entries > 24'000);
}

TEST_CASE("slots that are walked one by one are copied, so that rows lie together, where the calls pay for it") {
  const Tensor matrix = blocks(6000, 3);
  const Tensor given = *convert(matrix, *parse_format("sell(16)"), Resources(), "B");
  const Tensor x = vector(6000, 2);
  const Evaluated plain = evaluated(matrix, x, 1, false);
  // A plain copy, or its levels with the slots of a row one behind the other.
  const auto says = [](const Evaluated& one) {
    return one.explanation.find("B is read through a plain copy") != std::string::npos ||
           one.explanation.find("B ddds:0,2,1,3 f64  converted") != std::string::npos;
  };
  const Evaluated often = evaluated(given, x, 1e6, false);
  CAPTURE(often.explanation);
  CHECK(says(often));
  CHECK(often.y == plain.y);
  const Evaluated once = evaluated(given, x, 1, false);
  CHECK(!says(once));
  CHECK(once.y == plain.y);
  CHECK(!says(evaluated(matrix, x, 1e6, false, {{"B", *parse_format("sell(16)")}})));
  // Eight rows side by side are written out, and take no longer than rows one by one whose ends are not foreseen.
  const Tensor larger = blocks(60'000, 3);
  CHECK(!says(evaluated(*convert(larger, *parse_format("sell(8)"), Resources(), "B"), vector(60'000, 2), 1e6, false)));
}

TEST_CASE("a sparse vector is made dense where that is cheaper than to look it up") {
  const Tensor matrix = blocks(6000, 3);
  const Tensor sparse = *convert(vector(6000, 2), *parse_format("s"), Resources(), "x");
  const Evaluated plain = evaluated(matrix, sparse, 1e6, false);
  const Evaluated chosen = evaluated(matrix, sparse, 1e6, true);
  CHECK(chosen.explanation.find("x is stored in a dense vector") != std::string::npos);
  CHECK(chosen.y == plain.y);
}

TEST_CASE("an operand is stored in the levels of a sparse result, which then shares them, where the calls pay for that") {
  const auto session = Session::create();
  REQUIRE(session);
  session->set("B", blocks(3000, 3));
  session->set("x", vector(3000, std::numeric_limits<double>::infinity()));
  session->set("w", vector(3000, 4));
  const auto summed = [&](double calls, bool choose, const char* format) {
    EvaluateOptions options;
    options.calls = calls;
    options.choose_layouts = choose;
    if (*format != 0) options.formats.emplace("R", *parse_format(format));
    const auto evaluation = session->evaluate("R(j,i) = B(i,j) * x(i)", {"B", "x"}, options);
    REQUIRE_MESSAGE(evaluation, (evaluation ? "" : evaluation.error().message));
    CHECK(verify(evaluation->results.at("R"), Resources(), "R"));
    session->set("R", evaluation->results.at("R"));
    const auto sums = session->evaluate("z(j) = R(j,i) * w(i)", {"R", "w"});
    REQUIRE(sums);
    const auto values = sums->results.at("z").values().as<const double>();
    return Evaluated{{values.begin(), values.end()}, evaluation->report.explanation};
  };
  for (const char* format : {"ss", "ds"}) {
    CAPTURE(format);
    const Evaluated plain = summed(1e6, false, format);
    const Evaluated shared = summed(1e6, true, format);
    CHECK(shared.explanation.find("B is stored in the levels of R") != std::string::npos);
    CHECK(shared.y == plain.y);
    CHECK(summed(1, true, format).explanation.find("B is stored in") == std::string::npos);
  }
  // Asked for where the operand stands, or in any layout: it shares them as they are given.
  CHECK(summed(1e6, true, "ds:1,0").explanation.find("B is stored in the levels") == std::string::npos);
  CHECK(summed(1e6, true, "").explanation.find("B is stored in the levels") == std::string::npos);
}

TEST_CASE("an intermediate is stored in the order that the loops of a sparse result have an operand in") {
  const auto session = Session::create();
  REQUIRE(session);
  const auto generated = [](std::string_view text) { return *generate_tensor(text, {}, Resources(), "operand"); };
  session->set("T", generated("sparse(5000x200x3000,nnz=60000)"));
  session->set("B", generated("sparse(5000,nnz=500,seed=2)"));
  session->set("C", generated("uniform(200x32,seed=3)"));
  EvaluateOptions options;
  options.formats["y"] = *parse_format("ssss");
  const std::string text = "y(j,k,s,i) = T(i,j,k) * B(i) * C(j,s)";
  const auto once = session->evaluate(text, {"T", "B", "C"}, options);
  REQUIRE_MESSAGE(once, (once ? "" : once.error().message));
  CHECK(once->report.explanation.find("the levels that its loops ask for") == std::string::npos);
  options.calls = 1e5;
  options.choose_layouts = true;
  const auto often = session->evaluate(text, {"T", "B", "C"}, options);
  REQUIRE_MESSAGE(often, (often ? "" : often.error().message));
  CHECK(often->report.explanation.find("T is stored in the levels that its loops ask for") != std::string::npos);
  CHECK(often->report.plan.schedule.find("intermediate x[j,k,i] ") != std::string::npos);
  const Tensor& left = once->results.at("y");
  const Tensor& right = often->results.at("y");
  CHECK(left.nnz() == right.nnz());
  CHECK(std::ranges::equal(left.values().as<const double>(), right.values().as<const double>()));
}

TEST_CASE("blocks are not chosen where a place without an entry could be seen") {
  const Tensor matrix = blocks(3000, 3);
  const Evaluated infinite = evaluated(matrix, vector(3000, std::numeric_limits<double>::infinity()), 1e6, true);
  CHECK(!chose(infinite));
  CHECK(!chose(evaluated(matrix, vector(3000, 1), 1e6, true, {{"y", *parse_format("s")}})));
  const Tensor given = *convert(matrix, *parse_format("bcsr(2,2)"), Resources(), "B");
  CHECK(!chose(evaluated(given, vector(3000, 1), 1e6, true)));
}

TEST_CASE("layouts of two matrices are chosen together, but not where the padding of one would meet what is not finite") {
  // C is B without the middle of each block, twice.
  const auto two = [](double last) {
    const Tensor b = blocks(1500, 3);
    const Tensor dense = *convert(b, *parse_format("dd"), Resources(), "B");
    const auto stored = dense.values().as<const double>();
    std::array<std::vector<std::uint32_t>, 4> at;
    std::array<std::vector<double>, 2> values;
    for (std::uint32_t i = 0; i < 1500; ++i) {
      for (std::uint32_t j = 0; j < 1500; ++j) {
        if (stored[i * 1500 + j] == 0) continue;
        const bool middle = i % 3 == 1 && j % 3 == 1;
        at[0].push_back(i), at[1].push_back(j), values[0].push_back(middle ? last : stored[i * 1500 + j]);
        if (!middle) at[2].push_back(i), at[3].push_back(j), values[1].push_back(2);
      }
    }
    return std::pair{matrix_of(1500, at[0], at[1], values[0], "ss"), matrix_of(1500, at[2], at[3], values[1], "ss")};
  };
  for (const double last : {2.0, std::numeric_limits<double>::infinity()}) {
    const auto [b, c] = two(last);
    std::vector<std::vector<double>> found;
    for (const bool choose : {false, true}) {
      const auto session = Session::create();
      REQUIRE(session);
      session->set("B", b);
      session->set("C", c);
      session->set("x", vector(1500, 2));
      EvaluateOptions options;
      options.calls = 1e7;
      options.choose_layouts = choose;
      const auto evaluation = session->evaluate("y(i) = B(i,j) * C(i,j) * x(j)", {"B", "C", "x"}, options);
      REQUIRE_MESSAGE(evaluation, (evaluation ? "" : evaluation.error().message));
      const std::string& explanation = evaluation->report.explanation;
      const auto says = [&](const char* part) { return explanation.find(part) != std::string::npos; };
      const bool pair = says("B is stored in ") && says(" and C is stored in ");
      CHECK(pair == (choose && last == 2));
      const Tensor y = *convert(evaluation->results.at("y"), dense_format(1), Resources(), "y");
      const auto values = y.values().as<const double>();
      found.emplace_back(values.begin(), values.end());
    }
    CHECK(found[0] == found[1]);
  }
}

TEST_CASE("how full blocks are") {
  const Tensor matrix = blocks(240, 3);
  for (const std::string_view format : {"ds", "ds:1,0", "uq", "ss", "db"}) {
    CAPTURE(format);
    const auto fills = block_fills(*convert(matrix, *parse_format(format), Resources(), "B"), Resources());
    REQUIRE(fills);
    const bool by_rows = format != "ds:1,0";
    CHECK(fills->size() == (by_rows ? 39 : 35));
    for (const BlockFill& each : *fills) {
      CAPTURE(each.rows);
      CAPTURE(each.columns);
      // By brute force: a place belongs to a block that holds an entry.
      const auto stored = *convert(matrix, *parse_format("dd"), Resources(), "B");
      const auto values = stored.values().as<const double>();
      std::uint64_t blocks_with = 0;
      std::uint64_t entries = 0;
      if (each.pieces == Pieces::slices) {
        std::uint64_t places = 0;
        for (std::uint64_t i = 0; i < 240; i += each.rows) {
          std::int64_t longest = 0;
          for (std::uint64_t a = i; a < i + each.rows; ++a) {
            const auto row = std::span(values).subspan(a * 240, 240);
            longest = std::max<std::int64_t>(longest, 240 - std::ranges::count(row, 0.0));
            entries += static_cast<std::uint64_t>(240 - std::ranges::count(row, 0.0));
          }
          places += static_cast<std::uint64_t>(longest) * each.rows;
        }
        CHECK(each.fill == static_cast<double>(entries) / static_cast<double>(places));
        continue;
      }
      if (each.pieces == Pieces::strips) {
        std::set<std::pair<std::uint64_t, std::uint64_t>> pieces;  // strip, and column less row
        for (std::uint64_t i = 0; i < 240; ++i) {
          for (std::uint64_t j = 0; j < 240; ++j) {
            if (values[i * 240 + j] == 0) continue;
            ++entries;
            pieces.emplace(i / each.rows, j - i);
          }
        }
        CHECK(each.fill == static_cast<double>(entries) / static_cast<double>(pieces.size() * each.rows));
        continue;
      }
      for (std::uint64_t i = 0; i < 240; i += each.rows) {
        for (std::uint64_t j = 0; j < 240; j += each.columns) {
          bool any = false;
          for (std::uint64_t a = i; a < std::min<std::uint64_t>(240, i + each.rows); ++a) {
            for (std::uint64_t b = j; b < std::min<std::uint64_t>(240, j + each.columns); ++b) {
              any = any || values[a * 240 + b] != 0;
              entries += values[a * 240 + b] != 0;
            }
          }
          blocks_with += any;
        }
      }
      CHECK(each.fill == static_cast<double>(entries) / static_cast<double>(blocks_with * each.rows * each.columns));
    }
  }
  CHECK(block_fills(vector(5, 1), Resources())->empty());
  const auto smallest = *smallest_blocks(*convert(matrix, *parse_format("ds"), Resources(), "B"), Resources());
  REQUIRE(!smallest.empty());
  CHECK(smallest.size() <= 4);
  for (std::size_t n = 1; n < smallest.size(); ++n) CHECK(smallest[n - 1].bytes(matrix) <= smallest[n].bytes(matrix));
  CHECK(smallest.front().layout() == "bcsr(3,3)");
  CHECK(smallest.front().bytes(matrix) == 8 * 3600 + 4 * (400 + 80));
}

TEST_CASE("blocks that are listed are counted in all bands of a matrix, not in a sample") {
  constexpr std::uint32_t extent = 9600;
  std::vector<std::uint32_t> rows, columns;
  for (std::uint32_t i = 0; i < extent; ++i) {
    const bool whole = i / 192 % 3 == 0;  // the bands of the sample
    for (std::uint32_t j = 0; j < 15; ++j) {
      if (!whole && i % 3 == 2 && j % 3 == 2) continue;
      rows.push_back(i);
      columns.push_back(j / 3 * 1500 + i / 3 % 500 * 3 + j % 3);
    }
  }
  const Tensor matrix = matrix_of(extent, rows, columns, std::vector<double>(rows.size(), 1), "ds");
  const auto fill_of = [](const std::vector<BlockFill>& fills) {
    return std::ranges::find(fills, std::string("bcsr(3,3)"), &BlockFill::layout)->fill;
  };
  CHECK(fill_of(*block_fills(matrix, Resources())) == 1);
  CHECK(fill_of(*smallest_blocks(matrix, Resources())) == static_cast<double>(rows.size()) / (15 * extent));
}

}  // namespace weft::chosen_layouts_test
