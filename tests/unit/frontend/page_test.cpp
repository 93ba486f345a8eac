#include "frontend/page.h"

#include <doctest/doctest.h>

namespace page_test {

using namespace weft;

namespace {

Report report_of(std::size_t products, std::optional<std::uint64_t> counted = {}) {
  Report report;
  Explanation explained;
  report.expression = "A(i) = \"<&>'\"";
  report.plan.cost_ns = 1000;
  for (std::size_t number = 0; number < products; ++number) {
    ExplainedStatement statement;
    statement.text = "x" + std::to_string(number) + "[i] += <T> * y";
    statement.target = "x" + std::to_string(number) + "[i]";
    statement.factors = {number == 0 ? "S[i,j]" : "x" + std::to_string(number - 1) + "[i]", "T[i,j]"};
    statement.written_by = {number == 0 ? -1 : static_cast<std::int32_t>(number) - 1, -1};
    statement.loops = {"i", "j"};
    statement.fused = number % 2;
    statement.ns = 10;
    explained.statements.push_back(statement);
    ExplainedLoop loop;
    loop.index = "i";
    loop.statement = static_cast<std::uint32_t>(number);
    loop.ns = 10;
    loop.iterations = 4;
    loop.counted = counted;
    explained.loops.push_back(loop);
  }
  report.explained = std::make_shared<const Explanation>(std::move(explained));
  return report;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("text is escaped") {
  CHECK(escaped("a<b>&\"c'") == "a&lt;b&gt;&amp;&quot;c&#39;");
  CHECK(escaped("i, j") == "i, j");
  const std::string text = page(report_of(2), {{"<T>", 1.0}}, false);
  CHECK(text.find("<T>") == std::string::npos);
  CHECK(text.find("A(i) = &quot;&lt;&amp;&gt;&#39;&quot;") != std::string::npos);
  CHECK(text.find("read &lt;T&gt;") != std::string::npos);
}

TEST_CASE("the page loads nothing and runs nothing") {
  const std::string text = page(report_of(3), {}, false);
  for (const char* part : {"http:", "https:", "<script", "<link", "<img", "url(", "@import", "src="}) {
    CAPTURE(part);
    CHECK(text.find(part) == std::string::npos);
  }
  CHECK(text.find("prefers-color-scheme: dark") != std::string::npos);
}

TEST_CASE("the tree has a box per product and operand, all inside the picture") {
  for (const std::size_t products : {1, 2, 9}) {
    const Report report = report_of(products);
    const std::string picture = tree_picture(*report.explained);
    CAPTURE(products);
    CHECK(count(picture, "<rect") == 2 * products + 1);
    CHECK(count(picture, "<path") == 2 * products);
    CHECK(count(picture, "class=\"box product\"") == products);
    const auto number_after = [&](const std::string& part, std::size_t from) {
      return std::stod(picture.substr(picture.find(part, from) + part.size()));
    };
    const double width = number_after("width=\"", 0);
    const double height = number_after("height=\"", 0);
    for (std::size_t at = picture.find("<rect"); at != std::string::npos; at = picture.find("<rect", at + 1)) {
      CHECK(number_after(" x=\"", at) >= 0);
      CHECK(number_after(" x=\"", at) + number_after("width=\"", at) <= width + 1);
      CHECK(number_after(" y=\"", at) + number_after("height=\"", at) <= height + 1);
    }
  }
}

TEST_CASE("counted iterations stand beside the predicted ones, far off ones are marked") {
  CHECK(page(report_of(1), {}, true).find("<th class=\"n\">counted</th>") == std::string::npos);
  CHECK(page(report_of(1, 4), {}, true).find("<td class=\"n\">4</td><td class=\"n\"><span>×1</span>") != std::string::npos);
  const std::string text = page(report_of(1, 1234567), {}, true);
  CHECK(text.find("1&#8239;234&#8239;567") != std::string::npos);
  CHECK(text.find("<span class=\"far\">") != std::string::npos);
}

TEST_CASE("nothing to show is shown") {
  Report report;
  report.expression = "a = 2 * s";
  report.explained = std::make_shared<const Explanation>();
  const std::string text = page(report, {}, false);
  CHECK(text.find("no loop") != std::string::npos);
  CHECK(text.find("nan") == std::string::npos);
  CHECK(percent_text(0) == "0 %");
  CHECK(percent_text(0.001) == "< 1 %");
  CHECK(percent_text(0.374) == "37 %");
}

}  // namespace page_test
