#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "unit/runtime/file_fixture.h"
#include "unit/share.h"

namespace tns_test {

using namespace weft;
using namespace weft::test;
using Extents = std::vector<std::uint64_t>;

TEST_CASE("tns: entries, comments, blank lines, blanks and line ends") {
  const TemporaryDirectory directory;
  const Entries expected = {{{0, 1, 2}, 3.5}, {{1, 0, 0}, -2}, {{1, 4, 3}, 7}};
  const std::string plain = "1 2 3 3.5\n2 1 1 -2\n2 5 4 7\n";
  const std::string texts[] = {
      plain,
      "# a comment\n\n1 2 3 3.5\n   # another\n2 1 1 -2\n\n2 5 4 7",
      "1\t2 \t 3  3.5\t\n  2 1 1 -2\n2 5 4 7.0e0\n\n\n",
      "1 2 3 3.5\r\n\r\n2 1 1 -2\r\n# comment\r\n2 5 4 +7\r\n",
      "\xEF\xBB\xBF"
      "1 2 3 3.5\n2 1 1 -2\n2 5 4 7\n",
      "2 5 4 7\n2 1 1 -2\n0001 02 3 35e-1\n",
      "#\n#\n# shape:\n1 2 3 3.5\n2 1 1 -2.\n2 5 4 7\n#",
  };
  for (const std::string& text : texts) {
    const Tensor tensor = read(directory.write("a.tns", text));
    CAPTURE(text);
    CHECK(tensor.extents() == Extents{2, 5, 4});
    CHECK(tensor.format().text() == "sss:0,1,2");
    CHECK(stored(tensor) == expected);
    CHECK(stored(read(directory.write("a.tns.gz", gzip(text)))) == expected);
    CHECK(stored(read(directory.write("a.tns.zst", zstandard(text)))) == expected);
  }
  CHECK(stored(read(directory.write("UPPER.TNS.GZ", gzip(plain)))) == expected);
}

TEST_CASE("tns: several gzip members and zstd frames, cut within lines, one of them empty") {
  const TemporaryDirectory directory;
  const Entries expected = {{{0, 1}, 3}, {{1, 10}, 4}};
  const std::string gz = gzip("1 2 ") + gzip("") + gzip("3\n2 1") + gzip("1 4\n");
  const std::string zst = zstandard("1 2 ") + zstandard("") + zstandard("3\n2 1") + zstandard("1 4\n");
  CHECK(stored(read(directory.write("a.tns.gz", gz))) == expected);
  CHECK(stored(read(directory.write("a.tns.zst", zst))) == expected);
}

TEST_CASE("tns: compressed texts that end near the end of a block, where the decoder still holds decoded bytes") {
  const TemporaryDirectory directory;
  for (unsigned lines = 65500; lines < 65580; lines += 3) {
    CAPTURE(lines);
    std::string text;
    for (unsigned n = 0; n != lines; ++n) text += "1 1\n";
    for (const std::string& path :
         {directory.write("a.tns.zst", zstandard(text)), directory.write("a.tns.gz", gzip(text))}) {
      CHECK(stored(read(path, {}, 1)) == Entries{{{0}, static_cast<double>(lines)}});
    }
  }
}

TEST_CASE("tns: duplicates are summed, explicit zeros kept") {
  const TemporaryDirectory directory;
  const Tensor tensor = read(directory.write("a.tns", "3 1 2\n1 1 0\n3 1 5\n1 2 4\n1 2 -4\n"));
  CHECK(stored(tensor) == Entries{{{0, 0}, 0}, {{0, 1}, 0}, {{2, 0}, 7}});
}

TEST_CASE("tns: order 0 is a line with a value, order 1 a list") {
  const TemporaryDirectory directory;
  const Tensor scalar = read(directory.write("a.tns", "# value\n2.5\n"));
  CHECK(scalar.order() == 0);
  CHECK(stored(scalar) == Entries{{{}, 2.5}});
  const Tensor vector = read(directory.write("a.tns", "4 1\n2 3\n"));
  CHECK(vector.extents() == Extents{4});
  CHECK(stored(vector) == Entries{{{1}, 3}, {{3}, 1}});
}

TEST_CASE("tns: a shape gives trailing empty slices and empty tensors") {
  const TemporaryDirectory directory;
  CHECK(read(directory.write("a.tns", "1 2 3\n"), with_shape({7, 9})).extents() == Extents{7, 9});
  const Tensor empty = read(directory.write("a.tns", "# nothing\n\n"), with_shape({7, 0, 9}));
  CHECK(empty.extents() == Extents{7, 0, 9});
  CHECK(empty.nnz() == 0);
  CHECK(read(directory.write("a.tns", ""), with_shape({3})).nnz() == 0);
  SUBCASE("as the comment that the writer leaves") {
    CHECK(read(directory.write("a.tns", "# shape: 7 9\n1 2 3\n")).extents() == Extents{7, 9});
    CHECK(read(directory.write("a.tns", "# shape: 7 9\r\n1 2 3\r\n")).extents() == Extents{7, 9});
    CHECK(read(directory.write("a.tns", "# shape: 7 0 9\n")).extents() == Extents{7, 0, 9});
    CHECK(read(directory.write("a.tns", "# shape: 7 9\n1 2 3\n"), with_shape({2, 2})).extents() == Extents{2, 2});
  }
  SUBCASE("but comments of others mean nothing") {
    CHECK(read(directory.write("a.tns", "# shape: 7 x 9\n1 2 3\n")).extents() == Extents{1, 2});
    CHECK(read(directory.write("a.tns", "# shape: 7\n1 2 3\n")).extents() == Extents{1, 2});
    CHECK(read(directory.write("a.tns", "# shape: 1 1\n1 2 3\n")).extents() == Extents{1, 2});
    CHECK(read(directory.write("a.tns", "1 2 3\n# shape: 7 9\n")).extents() == Extents{1, 2});
  }
}

TEST_CASE("tns: a requested format is honoured, f32 included") {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.tns", "1 2 0.1\n2 1 16777217\n");
  const Tensor tensor = read(path, with_format("ds:1,0:f32"));
  CHECK(tensor.format().text() == "ds:1,0");
  CHECK(tensor.format().scalar == Scalar::f32);
  CHECK(stored(tensor) == Entries{{{0, 1}, double{0.1f}}, {{1, 0}, 16777216}});
  CHECK(stored(read(path, with_format("dd"))).size() == 4);
  ReadOptions single;
  single.scalar = Scalar::f32;
  CHECK(read(path, single).format().scalar == Scalar::f32);
  check_input_error(path, 1, "the format is for 3 modes", with_format("sss"));
}

TEST_CASE("tns: numbers") {
  const TemporaryDirectory directory;
  const auto value = [&](const std::string& text) {
    return stored(read(directory.write("a.tns", "1 " + text + "\n"))).at({0});
  };
  CHECK(value("0.1") == 0.1);
  CHECK(value("-1.7976931348623157e308") == -1.7976931348623157e308);
  CHECK(value("4.9406564584124654e-324") == 4.9406564584124654e-324);
  CHECK(value("1e-400") == 0);
  CHECK(value("9007199254740993") == 9007199254740992.0);  // between two doubles: to even
  CHECK(value("123456789012345678") == 123456789012345678.0);
  CHECK(value("123456789012345678901234567890") == 123456789012345678901234567890.0);
  CHECK(value("000000000000000000000000000012") == 12);
  CHECK(value(".5") == 0.5);
  CHECK(value("5.") == 5);
  CHECK(std::signbit(value("-0")));
  for (const char* text : {"inf", "+Inf", "INF", "Infinity", "infinity"}) CHECK(value(text) == INFINITY);
  for (const char* text : {"-inf", "-Infinity"}) CHECK(value(text) == -INFINITY);
  for (const char* text : {"nan", "NaN", "-nan", "+NAN"}) CHECK(std::isnan(value(text)));
}

TEST_CASE("tns: coordinates beyond 32 bits, and a product of extents beyond 64") {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.tns", "4294967297 1 2\n4294967296 9223372036854775807 3\n1 1 4\n");
  const Tensor tensor = read(path);
  CHECK(tensor.extents() == Extents{4294967297, 9223372036854775807u});
  CHECK(stored(tensor) == Entries{{{4294967296, 0}, 2}, {{4294967295, 9223372036854775806u}, 3}, {{0, 0}, 4}});
  const Tensor edge = read(directory.write("b.tns", "4294967296 1 2\n"));
  CHECK(stored(edge) == Entries{{{4294967295, 0}, 2}});
  const Tensor beyond = read(directory.write("b.tns", "4294967297 1 2\n"));
  CHECK(stored(beyond) == Entries{{{4294967296, 0}, 2}});
  const Error refused = read_failure(directory.write("c.tns", "1 1 2\n1 9223372036854775808 2\n"));
  CHECK(refused.kind == ErrorKind::input);
  CHECK(refused.message.find("c.tns:2: coordinate 9223372036854775808 in mode 1 is above 2^63 - 1") != std::string::npos);
  // A comment that no tensor can obey is as good as none.
  CHECK(read(directory.write("d.tns", "# shape: 9223372036854775808\n5 1\n")).extents() == Extents{5});
}

TEST_CASE("tns: every malformed line is told with its number and reason") {
  const TemporaryDirectory directory;
  const std::string many(300000, '\n');  // more than a block
  const struct {
    std::string text;
    std::uint64_t line;
    std::string reason;
  } cases[] = {
      {"", 1, "no entries"},
      {"# only\n\n# comments\n", 3, "no entries"},
      {"1 2 3\n1 2\n", 2, "2 fields, expected 3 (2 coordinates and a value)"},
      {"1 2 3\n\n1 2 3 4\n", 3, "4 fields, expected 3"},
      {"1 2 3\n1 2 3 # comment\n", 2, "5 fields, expected 3"},
      {"1 2 3\n0 2 3\n", 2, "coordinate 0 in mode 0: coordinates count from 1"},
      {"1 2 3\n# x\r\n2 0 3\n", 3, "coordinate 0 in mode 1"},
      {"1 2 3\n-1 2 3\n", 2, "coordinate -1 in mode 0 is negative"},
      {"1 2 3\n1.5 2 3\n", 2, "'1.5' in mode 0 is not a coordinate"},
      {"1 2 3\n1 x 3\n", 2, "'x' in mode 1 is not a coordinate"},
      {"1 2 3\n1 18446744073709551616 3\n", 2, "coordinate '18446744073709551616' in mode 1 exceeds 64 bits"},
      {"1 2 3\n1 99999999999999999999999 3\n", 2, "exceeds 64 bits"},
      {"1 2 3\n1 2 abc\n", 2, "'abc' is not a number"},
      {"1 2 3\n1 2 3x\n", 2, "'3x' is not a number"},
      {"1 2 3\n1 2 +-3\n", 2, "'+-3' is not a number"},
      {"1 2 3\n1 2 -\n", 2, "'-' is not a number"},
      {"1 2 3\n1 2 1e\n", 2, "is not a number"},
      {"1 2 3\n1 2 0x10\n", 2, "'0x10' is not a number"},
      {"1 2 3\n1 2 1e309\n", 2, "the value '1e309' overflows f64"},
      {"1 2 3\n1 2 -1e999\n", 2, "overflows f64"},
      {"1 2 3\r1 2 3\n", 1, "'3?1' in mode 2 is not a coordinate"},
      {"hello world foo\n", 1, "'hello' in mode 0 is not a coordinate"},
      {std::string("1 2 3\n\0\0\n", 9), 2, "1 field, expected 3"},
      {many + "1 2 3\n" + many + "1 2 x\n" + many + "1 2 y\n", 600002, "'x' is not a number"},
      {many + "1 2 3\n" + many + "1 0 3\n1 2 x\n", 600002, "coordinate 0 in mode 1"},
  };
  for (const auto& bad : cases) {
    INFO(bad.text.substr(0, 80));
    check_input_error(directory.write("bad.tns", bad.text), bad.line, bad.reason);
    check_input_error(directory.write("bad.tns.gz", gzip(bad.text)), bad.line, bad.reason);
  }
  ReadOptions single;
  single.scalar = Scalar::f32;
  check_input_error(directory.write("bad.tns", "1 1\n2 1e39\n"), 2, "the value '1e39' overflows f32", single);
  check_input_error(directory.write("bad.tns", "1 1 1\n# x\n1 4 2\n"), 3,
                    "coordinate 4 in mode 1 exceeds the shape, whose extent there is 3", with_shape({2, 3}));
  check_input_error(directory.write("bad.tns", "1 1 1\n"), 1, "the shape has 3 extents", with_shape({2, 3, 4}));
  std::string wide = "1";
  for (int mode = 0; mode < 33; ++mode) wide += " 1";
  CHECK(read_failure(directory.write("bad.tns", wide)).kind == ErrorKind::unsupported);
  check_input_error(directory.write("bad.tns", "words" + wide), 1, "'words1' in mode 0 is not a coordinate");
}

TEST_CASE("tns: files that cannot be read at all") {
  const TemporaryDirectory directory;
  CHECK(read_failure(directory.path("absent.tns")).message.find("absent.tns: No such file") != std::string::npos);
  std::filesystem::create_directory(directory.path("folder.tns"));
  CHECK(read_failure(directory.path("folder.tns")).message.find("folder.tns: Is a directory") != std::string::npos);
}

TEST_CASE("tns: damaged compressed data") {
  const TemporaryDirectory directory;
  std::string text;
  for (int n = 1; n <= 100000; ++n) text += std::to_string(n) + " " + std::to_string(n % 97) + "\n";
  for (const bool gz : {true, false}) {
    const std::string name = gz ? "bad.tns.gz" : "bad.tns.zst";
    const std::string whole = gz ? gzip(text) : zstandard(text);
    CHECK(read(directory.write(name, whole)).nnz() == 100000);
    for (const std::size_t kept : {whole.size() - 1, whole.size() / 2, std::size_t{20}, std::size_t{3}}) {
      const Error error = read_failure(directory.write(name, whole.substr(0, kept)));
      CHECK(error.kind == ErrorKind::input);
      CHECK(error.message.find(name + ":") != std::string::npos);
      CHECK(error.message.find(gz ? "truncated gzip data" : "truncated zstd data") != std::string::npos);
    }
    check_input_error(directory.write(name, ""), 1, "the file is empty");
    check_input_error(directory.write(name, "1 1\n2 3\n"), 1, gz ? "damaged gzip data" : "damaged zstd data");
    std::string damaged = whole;
    for (std::size_t n = 0; n != 40; ++n)
      damaged[damaged.size() / 2 + n] = static_cast<char>(~damaged[damaged.size() / 2 + n]);
    CHECK(read_failure(directory.write(name, damaged)).kind == ErrorKind::input);
    check_input_error(directory.write(name, whole + "trailing garbage"), 100001, "damaged");
  }
}

TEST_CASE("tns: memory is charged and limited, cancellation is heard") {
  const TemporaryDirectory directory;
  std::string text;
  for (int n = 1; n <= 200000; ++n) text += std::to_string(n) + " 1 1\n";
  const std::string path = directory.write("a.tns", text);
  Resources limited = resources();
  limited.memory = Memory(1 << 20);
  const Expected<Tensor> refused = read_tensor(path, {}, limited, "T");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == ErrorKind::resource);
  CHECK(limited.memory.used() == 0);

  Resources cancelled = resources();
  cancelled.cancellation.cancel();
  const Expected<Tensor> stopped = read_tensor(path, {}, cancelled, "T");
  REQUIRE_FALSE(stopped.has_value());
  CHECK(stopped.error().kind == ErrorKind::cancelled);

  ReadTimes times;
  const Resources ample = resources();
  {
    const Expected<Tensor> tensor = read_tensor(path, {}, ample, "T", &times);
    REQUIRE(tensor.has_value());
    CHECK(times.text_bytes == text.size());
    CHECK(ample.memory.used() == tensor->bytes());
  }
  CHECK(ample.memory.used() == 0);
}

TEST_CASE("tns: progress of a slow pipe, which may cancel") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("pipe.tns");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  for (const bool cancels : {false, true}) {
    std::jthread writer([&] {
      std::ofstream pipe(path);
      for (int n = 1; n <= 5; ++n) {
        // More than one read, so that the reader sees time pass.
        for (int line = 0; line < 40000; ++line) pipe << n << " 1 1\n";
        pipe.flush();
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
      }
    });
    int calls = 0;
    Resources watched = resources();
    watched.progress = [&](std::string_view what, double fraction) {
      ++calls;
      CHECK(what == "reading " + path);
      CHECK(fraction >= 0);
      CHECK(fraction <= 1);
      if (cancels) watched.cancellation.cancel();
    };
    const auto begin = std::chrono::steady_clock::now();
    const auto handler = std::signal(SIGPIPE, SIG_IGN);  // the reader leaves early when cancelled
    const Expected<Tensor> tensor = read_tensor(path, {}, watched, "T");
    writer.join();
    std::signal(SIGPIPE, handler);
    const auto elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    CHECK(calls >= 1);
    CHECK(calls <= elapsed * 10);
    REQUIRE(tensor.has_value() == !cancels);
    if (cancels) {
      CHECK(tensor.error().kind == ErrorKind::cancelled);
    } else {
      CHECK(tensor->nnz() == 5);
    }
  }
}

TEST_CASE("tns: a line longer than a block") {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.tns", "#" + std::string(1000000, 'x') + "\n1" + std::string(700000, ' ') +
                                                        "2 3\n2 2 " + std::string(500000, '0') + "4\n");
  CHECK(stored(read(path)) == Entries{{{0, 1}, 3}, {{1, 1}, 4}});
  std::filesystem::resize_file(directory.write("long.tns", "1 1\n"), 70 << 20);
  check_input_error(directory.path("long.tns"), 2, "more than 64 MiB");
}

TEST_CASE("tns: random tensors in random order, any number of threads, equal what was meant") {
  const TemporaryDirectory directory;
  for (unsigned seed = 0; seed < 20; ++seed) {
    if (!test::is_drawn_sanitized(seed)) continue;
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const std::size_t order = 1 + seed % 5;
    const std::size_t lines = seed % 4 == 0 ? 60000 : seed;
    Entries expected;
    Extents extents(order, 1);
    std::string text;
    for (std::size_t n = 0; n < lines + 1; ++n) {
      std::vector<std::uint64_t> point;
      for (std::size_t mode = 0; mode < order; ++mode) {
        point.push_back(random() % (mode % 2 == 0 ? 1000 : 7));
        extents[mode] = std::max(extents[mode], point.back() + 1);
        text += std::to_string(point.back() + 1) + (random() % 8 == 0 ? "\t  " : " ");
      }
      const double value = static_cast<double>(random() % 64) / 4 - 8;
      text += std::to_string(value) + (random() % 8 == 0 ? " \r\n" : "\n");
      if (random() % 16 == 0) text += "# comment\n\n";
      expected[point] += value;
    }
    const std::string path = directory.write("a.tns", text);
    for (const unsigned threads : {1u, 2u, 5u}) {
      const Tensor tensor = read(path, {}, threads);
      CHECK(tensor.extents() == extents);
      CHECK(stored(tensor) == expected);
    }
    CHECK(stored(read(directory.write("a.tns.zst", zstandard(text)))) == expected);
  }
}

TEST_CASE("tns: the real tensors have the size their index tells") {
  const char* const data = std::getenv("WEFT_DATA");
  if (data == nullptr || *data == 0) {
    MESSAGE("skipped: WEFT_DATA is not set");
    return;
  }
  const Tensor flights = read(std::string(data) + "/flights2001_count.tns.zst");
  CHECK(flights.extents() == Extents{229, 229, 182, 24});
  CHECK(flights.nnz() == 2607931);
  double sum = 0;
  for (const double value : std::as_const(flights.values()).as<double>()) sum += value;
  CHECK(sum == 3000000);
}

}  // namespace tns_test
