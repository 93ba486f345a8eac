#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <random>

#include "unit/runtime/file_fixture.h"

namespace write_test {

using namespace weft;
using namespace weft::test;
using Extents = std::vector<std::uint64_t>;

namespace {

/// A tensor of the given entries.
Tensor tensor_of(const Extents& extents, const Entries& entries_, std::string_view format) {
  const Resources one = resources(1);
  const Format wanted = parse_format(format).value();
  Coordinates coordinates;
  coordinates.extents = extents;
  coordinates.scalar = wanted.scalar;
  coordinates.count = entries_.size();
  coordinates.values = Buffer::allocate(entries_.size() * scalar_bytes(wanted.scalar), one.memory, "test").value();
  for (std::size_t mode = 0; mode != extents.size(); ++mode) {
    const bool wide = extents[mode] > (std::uint64_t{1} << 32);
    coordinates.crd.push_back(Buffer::allocate(entries_.size() * (wide ? 8u : 4u), one.memory, "test").value());
  }
  std::size_t n = 0;
  for (const auto& [point, value] : entries_) {
    for (std::size_t mode = 0; mode != extents.size(); ++mode) {
      if (extents[mode] > (std::uint64_t{1} << 32)) {
        coordinates.crd[mode].as<std::uint64_t>()[n] = point[mode];
      } else {
        coordinates.crd[mode].as<std::uint32_t>()[n] = static_cast<std::uint32_t>(point[mode]);
      }
    }
    if (wanted.scalar == Scalar::f64) {
      coordinates.values.as<double>()[n++] = value;
    } else {
      coordinates.values.as<float>()[n++] = static_cast<float>(value);
    }
  }
  return build(std::move(coordinates), wanted, one, "A").value();
}

std::string written(const TemporaryDirectory& directory, const Tensor& tensor, const std::string& name,
                    unsigned threads = 2) {
  const Expected<void> done = write_tensor(tensor, directory.path(name), resources(threads), "A");
  REQUIRE_MESSAGE(done.has_value(), done.error().message);
  return directory.bytes(name);
}

Error write_failure(const Tensor& tensor, const std::string& path, const Resources& with = resources()) {
  const Expected<void> done = write_tensor(tensor, path, with, "A");
  REQUIRE_FALSE(done.has_value());
  return done.error();
}

/// A tensor large enough for many blocks of output.
Tensor large() {
  Entries entries_;
  for (std::uint64_t n = 0; n != 50000; ++n) entries_[{n / 7, n % 7}] = static_cast<double>(n) / 8;
  return tensor_of({7200, 7}, entries_, "ss");
}

}  // namespace

TEST_CASE("write tns: sorted in mode order whatever the layout, integers plain, 17 digits otherwise") {
  const TemporaryDirectory directory;
  const Entries entries_ = {{{0, 1}, 3}, {{0, 2}, -0.1}, {{2, 0}, 1e20}};
  const std::string expected = "1 2 3\n1 3 -0.10000000000000001\n3 1 1e+20\n";
  for (const char* format : {"ss", "ss:1,0", "ds", "ds:1,0", "dd", "dd:1,0", "sd", "uq", "uq:1,0"}) {
    CAPTURE(format);
    CHECK(written(directory, tensor_of({3, 3}, entries_, format), "a.tns") == expected);
  }
  CHECK(written(directory, tensor_of({3, 3}, {{{0, 0}, 0.1}, {{2, 2}, 16777216}}, "ss:f32"), "a.tns") ==
        "1 1 0.100000001\n3 3 16777216\n");
  CHECK(written(directory, tensor_of({}, {{{}, 2.5}}, ""), "a.tns") == "2.5\n");
  CHECK(written(directory, tensor_of({}, {{{}, 12345678901234568.0}}, ""), "a.tns") == "12345678901234568\n");
  CHECK(written(directory, tensor_of({}, {{{}, 123456789012345680.0}}, ""), "a.tns") == "1.2345678901234568e+17\n");
  CHECK(written(directory, tensor_of({}, {{{}, 1e9}}, ":f32"), "a.tns") == "1e+09\n");
  CHECK(written(directory, tensor_of({}, {}, ""), "a.tns") == "0\n");
}

TEST_CASE("write tns: explicit zeros stay when the last level is sparse, go when it is dense") {
  const TemporaryDirectory directory;
  const Entries entries_ = {{{0, 0}, 0}, {{0, 1}, 1}, {{1, 1}, 2}};
  CHECK(written(directory, tensor_of({2, 2}, entries_, "ss"), "a.tns") == "1 1 0\n1 2 1\n2 2 2\n");
  CHECK(written(directory, tensor_of({2, 2}, entries_, "dd"), "a.tns") == "1 2 1\n2 2 2\n");
  CHECK(written(directory, tensor_of({2, 2}, entries_, "sd"), "a.tns") == "1 2 1\n2 2 2\n");
}

TEST_CASE("write tns: the shape survives trailing empty slices and no entries at all") {
  const TemporaryDirectory directory;
  CHECK(written(directory, tensor_of({3, 4}, {{{0, 3}, 1}}, "ss"), "a.tns") == "# shape: 3 4\n1 4 1\n");
  CHECK(read(directory.path("a.tns")).extents() == Extents{3, 4});
  CHECK(written(directory, tensor_of({3, 0, 5}, {}, "sss"), "a.tns") == "# shape: 3 0 5\n");
  CHECK(read(directory.path("a.tns")).extents() == Extents{3, 0, 5});
  CHECK(written(directory, tensor_of({3, 2}, {}, "dd"), "a.tns") == "# shape: 3 2\n");
  for (const char* name : {"a.tns.gz", "a.tns.zst"}) {
    written(directory, tensor_of({3, 4}, {}, "ss"), name);
    CHECK(read(directory.path(name)).extents() == Extents{3, 4});
  }
}

TEST_CASE("write tns: numbers at the edge come back unchanged") {
  const TemporaryDirectory directory;
  using Limits = std::numeric_limits<double>;
  const double numbers[] = {-0.0,     Limits::max(), Limits::min(), Limits::denorm_min(), -INFINITY,
                            INFINITY, 1e15,          1e15 - 1,      999999999999999.9,    123456789012345680.0,
                            1.0 / 3,  5e-324,        -1e17,         4503599627370497.5};
  for (const double number : numbers) {
    written(directory, tensor_of({1}, {{{0}, number}}, "s"), "a.tns");
    const double back = stored(read(directory.path("a.tns"))).at({0});
    CHECK(back == number);
    CHECK(std::signbit(back) == std::signbit(number));
  }
  written(directory, tensor_of({1}, {{{0}, NAN}}, "s"), "a.tns");
  CHECK(std::isnan(stored(read(directory.path("a.tns"))).at({0})));
  for (const float number : {0.1f, 1e9f, 999999999.f, 3.4028235e38f, 1e-45f, -0.0f, 16777217.f}) {
    written(directory, tensor_of({1}, {{{0}, double{number}}}, "s:f32"), "a.tns");
    CHECK(stored(read(directory.path("a.tns"), with_format("s:f32"))).at({0}) == double{number});
  }
}

TEST_CASE("write tns: coordinates beyond 32 bits") {
  const TemporaryDirectory directory;
  const Entries entries_ = {{{4294967296, 9223372036854775806u}, 1}, {{0, 0}, 2}};
  const Tensor tensor = tensor_of({4294967297, 9223372036854775807u}, entries_, "ss");
  CHECK(written(directory, tensor, "a.tns") == "1 1 2\n4294967297 9223372036854775807 1\n");
  CHECK(stored(read(directory.path("a.tns"))) == entries_);
}

TEST_CASE("write mtx: matrices and vectors") {
  const TemporaryDirectory directory;
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  const Entries entries_ = {{{0, 1}, 3}, {{1, 0}, 0.5}};
  for (const char* format : {"ss", "ss:1,0", "dd", "dd:1,0", "ds"}) {
    CHECK(written(directory, tensor_of({3, 4}, entries_, format), "a.mtx") == banner + "3 4 2\n1 2 3\n2 1 0.5\n");
  }
  CHECK(read(directory.path("a.mtx")).extents() == Extents{3, 4});
  CHECK(written(directory, tensor_of({4}, {{{2}, 7}}, "s"), "a.mtx") == banner + "4 1 1\n3 1 7\n");
  CHECK(written(directory, tensor_of({0, 4}, {}, "ss"), "a.mtx") == banner + "0 4 0\n");
  for (const char* name : {"a.mtx.gz", "a.mtx.zst"}) {
    written(directory, tensor_of({3, 4}, entries_, "ss"), name);
    CHECK(stored(read(directory.path(name))) == entries_);
  }
  const Error error = write_failure(tensor_of({2, 2, 2}, {}, "sss"), directory.path("b.mtx"));
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.message.find("b.mtx: A has order 3, a Matrix Market file holds a matrix or a vector") !=
        std::string::npos);
  CHECK(write_failure(tensor_of({}, {}, ""), directory.path("b.mtx")).kind == ErrorKind::input);
}

TEST_CASE("write npy: dense in C order whatever the layout") {
  const TemporaryDirectory directory;
  const Entries entries_ = {{{0, 1}, 3}, {{1, 2}, 0.5}};
  std::string first;
  for (const char* format : {"dd", "dd:1,0", "ss", "ss:1,0", "ds"}) {
    CAPTURE(format);
    const std::string bytes = written(directory, tensor_of({2, 3}, entries_, format), "a.npy");
    if (first.empty()) first = bytes;
    CHECK(bytes == first);
  }
  CHECK(first.size() == 128 + 6 * 8);
  CHECK(first.find("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }") == 10);
  const Tensor back = read(directory.path("a.npy"));
  CHECK(back.format().text() == "dd:0,1");
  const std::span<const double> values = std::as_const(back.values()).as<double>();
  CHECK(std::vector<double>(values.begin(), values.end()) == std::vector<double>{0, 3, 0, 0, 0, 0.5});
  CHECK(written(directory, tensor_of({2}, {{{1}, 0.1}}, "s:f32"), "a.npy").find("'<f4'") != std::string::npos);
  CHECK(stored(read(directory.path("a.npy"))) == Entries{{{0}, 0}, {{1}, double{0.1f}}});
  CHECK(written(directory, tensor_of({}, {{{}, 4}}, ""), "a.npy").find("'shape': ()") != std::string::npos);
  CHECK(stored(read(directory.path("a.npy"))) == Entries{{{}, 4}});
  written(directory, tensor_of({0, 3}, {}, "ss"), "a.npy");
  CHECK(read(directory.path("a.npy")).extents() == Extents{0, 3});
}

TEST_CASE("write: what was read and written back is equal, through every format of text, random") {
  const TemporaryDirectory directory;
  const char* const formats[] = {"s", "ds:1,0", "sss:2,0,1", "ssss:3,1,0,2", "uqqqq:4,3,2,1,0"};
  for (unsigned seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const std::size_t order = 1 + seed % 5;
    Extents extents;
    for (std::size_t mode = 0; mode != order; ++mode) extents.push_back(1 + random() % 9);
    Entries entries_;
    for (std::size_t n = random() % 60; n > 0; --n) {
      std::vector<std::uint64_t> point;
      for (const std::uint64_t extent : extents) point.push_back(random() % extent);
      entries_[point] = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 150);
    }
    const Tensor tensor = tensor_of(extents, entries_, formats[order - 1]);
    for (const char* name : {"a.tns", "a.tns.gz", "a.tns.zst"}) {
      written(directory, tensor, name, 1 + seed % 2);
      const Tensor back = read(directory.path(name));
      CHECK(back.extents() == extents);
      CHECK(stored(back) == entries_);
    }
    CHECK(directory.files() <= 3);
  }
}

TEST_CASE("write: many blocks come in order, with any number of threads") {
  const TemporaryDirectory directory;
  const Tensor tensor = large();
  const Entries expected = stored(tensor);
  const std::string text = written(directory, tensor, "a.tns", 1);
  CHECK(written(directory, tensor, "b.tns", 2) == text);
  for (const char* name : {"a.tns.gz", "a.tns.zst"}) {
    written(directory, tensor, name);
    CHECK(directory.bytes(name).size() < text.size() / 3);
    CHECK(stored(read(directory.path(name))) == expected);
  }
}

TEST_CASE("write: nothing partial is left under the name, and no temporary") {
  const TemporaryDirectory directory;
  const Tensor tensor = large();
  directory.write("a.tns", "before");
  SUBCASE("when cancelled") {
    for (const char* name : {"a.tns", "a.tns.gz", "a.tns.zst", "a.mtx", "a.npy"}) {
      Resources cancelled = resources();
      cancelled.cancellation.cancel();
      CHECK(write_failure(tensor, directory.path(name), cancelled).kind == ErrorKind::cancelled);
    }
  }
  SUBCASE("when memory runs out") {
    Resources limited = resources();
    limited.memory = Memory(1000);
    CHECK(write_failure(tensor, directory.path("a.tns"), limited).kind == ErrorKind::resource);
    CHECK(write_failure(tensor, directory.path("a.npy"), limited).kind == ErrorKind::resource);
    CHECK(limited.memory.used() == 0);
  }
  SUBCASE("when the extension is unknown") {
    CHECK(write_failure(tensor, directory.path("a.csv")).message.find("unknown extension") != std::string::npos);
  }
  CHECK(directory.bytes("a.tns") == "before");
  CHECK(directory.files() == 1);
}

TEST_CASE("write: paths that cannot be written, and files that are replaced") {
  const TemporaryDirectory directory;
  const Tensor tensor = tensor_of({1}, {{{0}, 1}}, "s");
  for (const char* extension : {".tns", ".mtx", ".npy"}) {
    const std::string path = directory.path("absent/a") + extension;
    const Error error = write_failure(tensor, path);
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.message == "cannot write " + path + ": No such file or directory");
  }
  std::filesystem::create_directory(directory.path("folder.tns"));
  CHECK(write_failure(tensor, directory.path("folder.tns")).message.find("Is a directory") != std::string::npos);
  directory.write("a.tns", "before");
  CHECK(written(directory, tensor, "a.tns") == "1 1\n");
  CHECK(directory.files() == 2);
  // As the umask says, not as a private temporary.
  struct stat made {};
  struct stat ordinary {};
  directory.write("ordinary", "");
  REQUIRE(::stat(directory.path("a.tns").c_str(), &made) == 0);
  REQUIRE(::stat(directory.path("ordinary").c_str(), &ordinary) == 0);
  CHECK(made.st_mode == ordinary.st_mode);
}

TEST_CASE("write: what zstd's encoder holds is charged") {
  ZSTD_CCtx* const encoder = ZSTD_createCCtx();
  REQUIRE(encoder != nullptr);
  std::mt19937 random(1);
  std::string text(8 << 20, ' '), output(ZSTD_CStreamOutSize(), '\0');
  for (char& c : text) c = static_cast<char>(random());
  ZSTD_inBuffer input{text.data(), text.size(), 0};
  while (input.pos < input.size) {
    ZSTD_outBuffer to{output.data(), output.size(), 0};
    REQUIRE(ZSTD_isError(ZSTD_compressStream2(encoder, &to, &input, ZSTD_e_continue)) == 0);
  }
  const std::uint64_t held = ZSTD_sizeof_CCtx(encoder) + output.size();
  ZSTD_freeCCtx(encoder);
  CHECK(held <= zstandard_bytes);
  CHECK(held > zstandard_bytes / 2);

  const TemporaryDirectory directory;
  const Tensor tensor = tensor_of({3}, {{{1}, 2}}, "s");
  for (const char* name : {"a.tns.zst", "a.npy.zst"}) {
    CAPTURE(name);
    Resources little = resources();
    little.memory = Memory(zstandard_bytes);
    const Expected<void> refused = write_tensor(tensor, directory.path(name), little, "A");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::resource);
    CHECK(little.memory.used() == 0);
    CHECK(directory.files() == 0);
    Resources enough = resources();
    enough.memory = Memory(zstandard_bytes + (2 << 20));
    CHECK(write_tensor(tensor, directory.path(name), enough, "A"));
    CHECK(enough.memory.used() == 0);
    std::filesystem::remove(directory.path(name));
  }
}

TEST_CASE("write: a disk that takes no more is a resource error and leaves nothing") {
  const TemporaryDirectory directory;
  const Tensor tensor = large();
  // A limit on the size of files acts as a full disk would.
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = 1000;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::vector<Error> errors;
  for (const char* name : {"a.tns", "a.tns.gz", "a.tns.zst", "a.mtx", "a.npy"}) {
    const Expected<void> done = write_tensor(tensor, directory.path(name), resources(), "A");
    errors.push_back(done ? Error{} : done.error());
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  for (const Error& error : errors) {
    CHECK(error.kind == ErrorKind::resource);
    CHECK(error.message.find("File too large") != std::string::npos);
  }
  CHECK(directory.files() == 0);
}

}  // namespace write_test
