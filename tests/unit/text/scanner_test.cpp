#include "engine/text/scanner.h"

#include <doctest/doctest.h>

namespace weft::scanner_test {

TEST_CASE("what is taken is taken from left to right, and spans tell where it was") {
  Scanner scanner("  ab += T.2");
  scanner.skip_blanks();
  const std::size_t begin = scanner.position();
  CHECK(begin == 2);
  CHECK(scanner.take_name() == "ab");
  CHECK(scanner.since(begin) == Span{2, 4});
  CHECK(scanner.here() == Span{4, 4});
  CHECK(!scanner.take("+="));  // a blank stands before it
  scanner.skip_blanks();
  CHECK(scanner.at("+"));
  CHECK(scanner.take("+="));
  scanner.skip_blanks();
  CHECK(scanner.next() == 'T');
  CHECK(scanner.next_character() == Span{8, 9});
  CHECK(scanner.rest() == "T.2");
  scanner.skip(3);
  CHECK(scanner.at_end());
  CHECK(scanner.next() == '\0');
  CHECK(scanner.next_character() == Span{11, 11});
  CHECK(scanner.take_name().empty());
}

TEST_CASE("dots go on with a name nowhere, before what goes on with one, or anywhere") {
  const auto name = [](std::string_view text, Dots dots) { return Scanner(text).take_name(dots); };
  CHECK(name("K.1", Dots::none) == "K");
  CHECK(name("K.1.x+", Dots::inner) == "K.1.x");
  CHECK(name("K.", Dots::inner) == "K");
  CHECK(name("K..1", Dots::inner) == "K");
  CHECK(name("K.", Dots::any) == "K.");
  CHECK(name("K..1(", Dots::any) == "K..1");
  CHECK(name("2T", Dots::none) == "2T");
  CHECK(name("(", Dots::any).empty());
}

TEST_CASE("a word ends where no name goes on; what is no such word stays") {
  Scanner scanner("loops loopsy loops.1 loops");
  CHECK(scanner.take_word("loops"));
  scanner.skip_blanks();
  CHECK(!scanner.take_word("loops"));
  CHECK(scanner.take_name() == "loopsy");
  scanner.skip_blanks();
  CHECK(!scanner.take_word("loops", Dots::any));
  CHECK(scanner.take_word("loops"));
  CHECK(scanner.take(".1"));
  scanner.skip_blanks();
  CHECK(!scanner.take_word("loopsy"));
  CHECK(scanner.take_word("loops"));
  CHECK(scanner.at_end());
}

TEST_CASE("numbers; one that is none, or too large, stays") {
  Scanner scanner("12a 4294967296");
  CHECK(scanner.take_number<std::uint32_t>() == 12u);
  CHECK(!scanner.take_number<std::uint32_t>());
  CHECK(scanner.take("a"));
  scanner.skip_blanks();
  CHECK(!scanner.take_number<std::uint32_t>());
  CHECK(scanner.take_number<std::uint64_t>() == std::uint64_t{4294967296});
  CHECK(Scanner("-0.5x").take_number<double>() == -0.5);
}

TEST_CASE("the digits of reals: an exponent only with digits behind it") {
  const auto digits = [](std::string_view text) { return Scanner(text).take_real_digits(); };
  CHECK(digits("2") == "2");
  CHECK(digits("2.*") == "2.");
  CHECK(digits(".5e") == ".5");
  CHECK(digits("1e-3x") == "1e-3");
  CHECK(digits("1E+") == "1");
  CHECK(digits("1e5.2") == "1e5");
}

TEST_CASE("blanks are what the language says; a copy takes reading back") {
  Scanner lines("a\nb", " ");
  CHECK(lines.take_until_blank() == "a\nb");
  Scanner scanner("a\nb", " \n");
  const Scanner before = scanner;
  CHECK(scanner.take_until_blank() == "a");
  scanner = before;
  CHECK(scanner.rest() == "a\nb");
}

}  // namespace weft::scanner_test
