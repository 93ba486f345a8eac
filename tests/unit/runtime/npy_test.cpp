#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/npy_header.h"
#include "unit/runtime/file_fixture.h"

namespace npy_test {

using namespace weft;
using namespace weft::test;
using Extents = std::vector<std::uint64_t>;

namespace {

/// A file as numpy.save writes it, but for the padding.
std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  const std::string header = dictionary + "\n";
  for (int byte = 0; byte != (version == 1 ? 2 : 4); ++byte) {
    file += static_cast<char>((header.size() >> (8 * byte)) & 255);
  }
  return file + header + data;
}

std::string dictionary(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

template <class T>
std::string bytes_of(const std::vector<T>& values, bool big_endian = false) {
  std::string bytes;
  for (const T value : values) {
    std::string one(sizeof(T), '\0');
    std::memcpy(one.data(), &value, sizeof(T));
    if (big_endian) std::reverse(one.begin(), one.end());
    bytes += one;
  }
  return bytes;
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  if (tensor.format().scalar == Scalar::f64) {
    for (const double value : std::as_const(tensor.values()).as<double>()) values.push_back(value);
  } else {
    for (const float value : std::as_const(tensor.values()).as<float>()) values.push_back(value);
  }
  return values;
}

template <class T>
void check_type(const TemporaryDirectory& directory, const std::string& type) {
  using Limits = std::numeric_limits<T>;
  // f64 holds 53 bits of a 64-bit integer.
  T most = Limits::max();
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) most -= most % (T{1} << (Limits::digits - 53));
  const std::vector<T> data = {T{0}, T{1}, T{100}, Limits::lowest(), most, T(3)};
  std::vector<double> expected;
  for (const T value : data) expected.push_back(static_cast<double>(value));
  for (const bool big_endian : {false, true}) {
    const std::string descr = (big_endian ? ">" : "<") + type;
    CAPTURE(descr);
    const Tensor tensor = read(directory.write("a.npy", npy(dictionary(descr, "(2, 3)"), bytes_of(data, big_endian))));
    CHECK(tensor.extents() == Extents{2, 3});
    CHECK(tensor.format().text() == "dd:0,1");
    CHECK(values_of(tensor) == expected);
  }
}

}  // namespace

TEST_CASE("npy: every real and integer type in both byte orders") {
  const TemporaryDirectory directory;
  check_type<double>(directory, "f8");
  check_type<float>(directory, "f4");
  check_type<std::int8_t>(directory, "i1");
  check_type<std::int16_t>(directory, "i2");
  check_type<std::int32_t>(directory, "i4");
  check_type<std::int64_t>(directory, "i8");
  check_type<std::uint8_t>(directory, "u1");
  check_type<std::uint16_t>(directory, "u2");
  check_type<std::uint32_t>(directory, "u4");
  check_type<std::uint64_t>(directory, "u8");
  const std::string flags = npy(dictionary("|b1", "(3,)"), std::string("\0\1\2", 3));
  CHECK(values_of(read(directory.write("a.npy", flags))) == std::vector<double>{0, 1, 1});
}

TEST_CASE("npy: half precision") {
  const TemporaryDirectory directory;
  const std::vector<std::uint16_t> bits = {0x3C00, 0xC000, 0x0001, 0x7BFF, 0x7C00, 0xFC00, 0x8000, 0x3555, 0x7E00};
  const std::vector<double> values =
      values_of(read(directory.write("a.npy", npy(dictionary("<f2", "(9,)"), bytes_of(bits)))));
  REQUIRE(values.size() == 9);
  CHECK(std::vector<double>(values.begin(), values.begin() + 7) ==
        std::vector<double>{1, -2, std::ldexp(1, -24), 65504, INFINITY, -INFINITY, 0});
  CHECK(std::signbit(values[6]));
  CHECK(values[7] == 0.333251953125);
  CHECK(std::isnan(values[8]));
  CHECK(values_of(read(directory.write("a.npy", npy(dictionary(">f2", "(9,)"), bytes_of(bits, true)))))[3] == 65504);
}

TEST_CASE("npy: numpy.longdouble, 80 bits in 16 bytes, is rounded once") {
  const TemporaryDirectory directory;
  // Between 1 and its neighbours in f64 and f32, by less than half of what tells those apart.
  const std::vector<long double> data = {1.5L, -0.0L, 1 + 0x1p-53L + 0x1p-60L, 1 + 0x1p-24L + 0x1p-60L, INFINITY, 0x1p-1080L};
  for (const bool big_endian : {false, true}) {
    const std::string descr = big_endian ? ">f16" : "<f16";
    const std::string path = directory.write("a.npy", npy(dictionary(descr, "(6,)"), bytes_of(data, big_endian)));
    const std::vector<double> values = values_of(read(path));
    CHECK(values == std::vector<double>{1.5, 0, 1 + 0x1p-52, 1 + 0x1p-24, INFINITY, 0});
    CHECK(std::signbit(values[1]));
    ReadOptions single;
    single.scalar = Scalar::f32;
    CHECK(values_of(read(path, single)) == std::vector<double>{1.5, 0, 1, 1 + 0x1p-23, INFINITY, 0});
  }
  const Error overflow = read_failure(directory.write("a.npy", npy(dictionary("<f16", "(2,)"), bytes_of<long double>({1, 0x1p1024L}))));
  CHECK(overflow.kind == ErrorKind::input);
  CHECK(overflow.message.find("element 1 (from 0, as stored) overflows f64") != std::string::npos);
  // As numpy 2 writes array([1, pi]) of that type.
  std::string written(32, '\0');
  written.replace(7, 3, "\x80\xFF\x3F");
  written.replace(16, 10, "\x35\xC2\x68\x21\xA2\xDA\x0F\xC9\x00\x40", 10);
  CHECK(values_of(read(directory.write("a.npy", npy(dictionary("<f16", "(2,)"), written)))) == std::vector{1, 3.14159265358979323846});
}

TEST_CASE("npy: storage orders, versions, orders of tensors, forms of the header") {
  const TemporaryDirectory directory;
  const std::vector<double> data = {0, 1, 2, 3, 4, 5};
  const Tensor fortran = read(directory.write("a.npy", npy(dictionary("<f8", "(2, 3)", true), bytes_of(data))));
  CHECK(fortran.format().text() == "dd:1,0");
  CHECK(values_of(fortran) == data);  // kept in place
  CHECK(stored(fortran).at({1, 2}) == 5);
  CHECK(stored(fortran).at({1, 0}) == 1);
  const Tensor row_major = read(directory.path("a.npy"), with_format("dd"));
  CHECK(values_of(row_major) == std::vector<double>{0, 2, 4, 1, 3, 5});
  for (const int version : {1, 2, 3}) {
    CHECK(values_of(read(directory.write("a.npy", npy(dictionary("<f8", "(6,)"), bytes_of(data), version)))) == data);
  }
  const Tensor scalar = read(directory.write("a.npy", npy(dictionary("<f8", "()"), bytes_of<double>({2.5}))));
  CHECK(scalar.order() == 0);
  CHECK(stored(scalar) == Entries{{{}, 2.5}});
  for (const char* shape : {"(0,)", "(2, 0, 3)", "(0, 9223372036854775807)"}) {
    CHECK(read(directory.write("a.npy", npy(dictionary("<i4", shape), ""))).nnz() == 0);
  }
  const char* const forms[] = {
      "{'shape':(2L,3L),'fortran_order':False,'descr':'<f8'}   ",
      "{\"descr\": \"<f8\", \"shape\": (2, 3,), \"fortran_order\": False}",
      "{ 'descr' : '=f8' ,\n 'fortran_order' : False , 'shape' : ( 2 , 3 ) }",
  };
  for (const char* form : forms)
    CHECK(read(directory.write("a.npy", npy(form, bytes_of(data)))).extents() == Extents{2, 3});
}

TEST_CASE("npy: requested formats and scalars") {
  const TemporaryDirectory directory;
  const std::string path =
      directory.write("a.npy", npy(dictionary("<f8", "(2, 3)"), bytes_of<double>({0, 1, 0, 0, 0.1, 0})));
  const Tensor sparse = read(path, with_format("ss:1,0:f32"));
  CHECK(sparse.format().text() == "ss:1,0");
  CHECK(stored(sparse) == Entries{{{0, 1}, 1}, {{1, 1}, double{0.1f}}});
  ReadOptions single;
  single.scalar = Scalar::f32;
  CHECK(read(path, single).format().scalar == Scalar::f32);
  CHECK(read(path, with_shape({2, 3})).nnz() == 6);
  const auto message = [&](const ReadOptions& options) { return read_failure(path, options).message; };
  CHECK(message(with_shape({3, 2})).find("the shape in the file (2x3) contradicts") != std::string::npos);
  CHECK(message(with_format("sss")).find("order 2, but the format is for 3 modes") != std::string::npos);
  const Error overflow = read_failure(
      directory.write("a.npy", npy(dictionary("<f8", "(3,)"), bytes_of<double>({INFINITY, 1e39, 1e40}))), single);
  CHECK(overflow.kind == ErrorKind::input);
  CHECK(overflow.message.find("element 1 (from 0, as stored) overflows f32") != std::string::npos);
}

TEST_CASE("npy: many elements, read in pieces by several threads") {
  const TemporaryDirectory directory;
  std::vector<std::int32_t> data(700001);
  for (std::size_t n = 0; n != data.size(); ++n) data[n] = static_cast<std::int32_t>(n * 7919 % 1000003);
  const std::vector<double> expected(data.begin(), data.end());
  const std::string big = npy(dictionary(">i4", "(700001,)"), bytes_of(data, true));
  const std::string plain = npy(dictionary("<f8", "(700001,)"), bytes_of(expected));
  for (const unsigned threads : {1u, 2u}) {
    CHECK(values_of(read(directory.write("a.npy", big), {}, threads)) == expected);
    CHECK(values_of(read(directory.write("a.npy", plain), {}, threads)) == expected);
  }
}

TEST_CASE("npy: what is not supported") {
  const TemporaryDirectory directory;
  for (const char* descr : {"<c8", "<c16", ">c16", "<f12", "|S3", "<U4", "|O", "<M8[ns]", "|V8"}) {
    const Error error = read_failure(directory.write("a.npy", npy(dictionary(descr, "(0,)"), "")));
    CAPTURE(descr);
    CHECK(error.message.find("a.npy: the element type '" + std::string(descr) + "'") != std::string::npos);
    CHECK(error.kind == ErrorKind::unsupported);
  }
  const std::string record = "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }";
  CHECK(read_failure(directory.write("a.npy", npy(record, "12345678"))).kind == ErrorKind::unsupported);
}

TEST_CASE("npy: every malformed file is told with its reason") {
  const TemporaryDirectory directory;
  const std::string six = bytes_of<double>({0, 1, 2, 3, 4, 5});
  const std::string good = npy(dictionary("<f8", "(2, 3)"), six);
  std::string unknown_version = good;
  unknown_version[6] = 9;
  const struct {
    std::string bytes;
    std::string reason;
  } cases[] = {
      {"", "no .npy file"},
      {"\x93NUMPY", "no .npy file"},
      {"1 2 3\n4 5 6 7 8 9\n", "no .npy file"},
      {unknown_version, "version 9.0 of .npy is unknown"},
      {good.substr(0, 40), "truncated within the header"},
      {npy("", "", 2).substr(0, 11), "truncated within the header"},
      {good.substr(0, good.size() - 1), "truncated: 47 bytes of elements, the shape in the header (2x3) needs 48"},
      {good.substr(0, good.size() - 48), "truncated: 0 bytes"},
      {good + "x", "too long: 49 bytes"},
      {npy("garbage", six), "the header is no dictionary"},
      {npy("{'descr': '<f8', 'shape': (2, 3)}", six), "lacks one of"},
      {npy("{'descr': '<f8', 'fortran_order': False}", six), "lacks one of"},
      {npy("{'fortran_order': False, 'shape': (2, 3)}", six), "lacks one of"},
      {npy("{'descr': '<f8', 'fortran_order': 0, 'shape': (2, 3)}", six), "neither True nor False"},
      {npy("{'descr': '<f8', 'fortran_order': False, 'shape': [2, 3]}", six), "shape is no tuple"},
      {npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2 3)}", six), "shape is no tuple"},
      {npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 3)}", six), "no whole number"},
      {npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", six), "unknown key 'x'"},
      {npy(dictionary("<f8", "(2, 3)") + "x", six), "text behind its dictionary"},
      {npy("{'descr': '<f8", six), "no quoted text"},
      {npy(dictionary("<", "(2, 3)"), six), "is not a NumPy type"},
      {npy(dictionary("<f8", "(4294967296, 4294967296)"), six), "more elements than any file"},
      {npy(dictionary("<f8", "(99999999999999999999999,)"), six), "no whole number below 2^64"},
  };
  for (const auto& bad : cases) {
    INFO(bad.reason);
    const std::string path = directory.write("bad.npy", bad.bytes);
    const Error error = read_failure(path);
    INFO(error.message);
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.message.starts_with(path + ": "));
    CHECK(error.message.find(bad.reason) != std::string::npos);
  }
  CHECK(read_failure(directory.path("absent.npy")).message.find("No such file") != std::string::npos);
}

TEST_CASE("npy: the preamble parses back and is padded as numpy pads it") {
  const TemporaryDirectory directory;
  const Extents shapes[] = {{}, {5}, {2, 3}, Extents(30, 1)};
  for (const Extents& shape : shapes) {
    const std::string preamble = npy_preamble({'f', 4, false, false, shape});
    CHECK(preamble.size() % 64 == 0);
    const std::string text = preamble + std::string(shape.empty()       ? 4
                                                    : shape.size() == 1 ? 20
                                                    : shape.size() == 2 ? 24
                                                                        : 4,
                                                    '\0');
    CHECK(read(directory.write("a.npy", text)).extents() == shape);
  }
}

}  // namespace npy_test
