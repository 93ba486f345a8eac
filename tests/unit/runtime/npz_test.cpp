#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <cstring>
#include <thread>

#include "unit/runtime/file_fixture.h"

namespace npz_test {

using namespace weft;
using namespace weft::test;
using Extents = std::vector<std::uint64_t>;

namespace {

std::string little(std::uint64_t number, int bytes) {
  std::string text;
  for (int byte = 0; byte != bytes; ++byte) text += static_cast<char>((number >> (8 * byte)) & 255);
  return text;
}

template <class T>
std::string array(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
  const std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string file = std::string("\x93NUMPY\x01\0", 8) + little(header.size(), 2) + header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return file;
}

std::string text_array(const std::string& descr, const std::string& bytes) {
  return array<char>(descr, "()", std::vector<char>(bytes.begin(), bytes.end()));
}

std::string deflated(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string made(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  made.resize(stream.total_out);
  deflateEnd(&stream);
  return made;
}

struct Member {
  std::string name;
  std::string bytes;
};

/// A zip file as Python's zipfile makes it; `wide`: with zip64 records, as for large ones.
std::string zip_of(const std::vector<Member>& members, bool compressed = false, bool wide = false) {
  std::string file;
  std::string directory;
  for (const auto& [name, bytes] : members) {
    const std::string stored = compressed ? deflated(bytes) : bytes;
    const std::string method = little(compressed ? 8 : 0, 2);
    const std::string crc =
        little(crc32(0, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<uInt>(bytes.size())), 4);
    const std::string sizes = little(stored.size(), 4) + little(bytes.size(), 4);
    const std::uint64_t offset = file.size();
    const std::string ones = little(~0ULL, 4);
    const std::string extra =
        wide ? little(1, 2) + little(24, 2) + little(bytes.size(), 8) + little(stored.size(), 8) + little(offset, 8)
             : "";
    file += "PK\x03\x04" + little(20, 2) + little(0, 2) + method + little(0, 4) + crc + sizes + little(name.size(), 2) +
            little(0, 2) + name + stored;
    directory += "PK\x01\x02" + little(20, 2) + little(20, 2) + little(0, 2) + method + little(0, 4) + crc +
                 (wide ? ones + ones : sizes) + little(name.size(), 2) + little(extra.size(), 2) +
                 std::string(10, '\0') + (wide ? ones : little(offset, 4)) + name + extra;
  }
  const std::uint64_t offset = file.size();
  file += directory;
  if (wide) {
    const std::uint64_t at = file.size();
    file += "PK\x06\x06" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) + little(members.size(), 8) +
            little(members.size(), 8) + little(directory.size(), 8) + little(offset, 8);
    file += "PK\x06\x07" + little(0, 4) + little(at, 8) + little(1, 4);
  }
  return file + "PK\x05\x06" + little(0, 4) + little(members.size(), 2) + little(members.size(), 2) +
         little(directory.size(), 4) + little(wide ? ~0ULL : offset, 4) + little(0, 2);
}

const std::vector<double> four = {1, 2, 3, 4};

/// [[1 0 2] [0 0 0] [0 3 0] [0 0 4]]
std::vector<Member> csr() {
  return {{"indices.npy", array<std::int32_t>("<i4", "(4,)", {0, 2, 1, 2})},
          {"indptr.npy", array<std::int32_t>("<i4", "(5,)", {0, 2, 2, 3, 4})},
          {"format.npy", text_array("|S3", "csr")},
          {"shape.npy", array<std::int64_t>("<i8", "(2,)", {4, 3})},
          {"data.npy", array<double>("<f8", "(4,)", four)}};
}

const Entries matrix = {{{0, 0}, 1}, {{0, 2}, 2}, {{2, 1}, 3}, {{3, 2}, 4}};

std::vector<Member> with(std::vector<Member> members, const std::string& name, const std::string& bytes) {
  for (Member& member : members) {
    if (member.name == name) member.bytes = bytes;
  }
  return members;
}

std::vector<Member> without(std::vector<Member> members, const std::string& name) {
  std::erase_if(members, [&](const Member& member) { return member.name == name; });
  return members;
}

void check_refused(const std::string& path, std::string_view reason, ErrorKind kind = ErrorKind::input) {
  const Error error = read_failure(path);
  INFO(error.message);
  CHECK(error.kind == kind);
  CHECK(error.message.find(reason) != std::string::npos);
  CHECK(error.message.find(".npz") != std::string::npos);
}

}  // namespace

TEST_CASE("npz: the sparse formats of scipy, stored and deflated, with and without zip64") {
  const TemporaryDirectory directory;
  const auto made = [&](const std::vector<Member>& members, bool compressed, bool wide) {
    return directory.write("a.npz", zip_of(members, compressed, wide));
  };
  std::vector<Member> csc = with(csr(), "format.npy", text_array("|S3", "csc"));
  csc = with(csc, "indices.npy", array<std::int64_t>("<i8", "(4,)", {0, 2, 0, 3}));
  csc = with(csc, "indptr.npy", array<std::int64_t>("<i8", "(4,)", {0, 1, 2, 4}));
  csc = with(csc, "data.npy", array<double>("<f8", "(4,)", {1, 3, 2, 4}));
  const std::vector<Member> coo = {{"row.npy", array<std::int32_t>("<i4", "(5,)", {3, 2, 0, 0, 3})},
                                   {"col.npy", array<std::uint16_t>("<u2", "(5,)", {2, 1, 2, 0, 2})},
                                   {"format.npy", text_array("<U3", std::string("c\0\0\0o\0\0\0o\0\0\0", 12))},
                                   {"shape.npy", array<std::int32_t>("<i4", "(2,)", {4, 3})},
                                   {"data.npy", array<std::int8_t>("|i1", "(5,)", {3, 3, 2, 1, 1})}};
  for (const bool compressed : {false, true}) {
    for (const bool wide : {false, true}) {
      CAPTURE(compressed);
      CAPTURE(wide);
      for (const std::vector<Member>& members : {csr(), csc, coo}) {
        const Tensor tensor = read(made(members, compressed, wide));
        CHECK(tensor.extents() == Extents{4, 3});
        CHECK(tensor.format().text() == "ss:0,1");
        CHECK(stored(tensor) == matrix);  // of coo with a duplicate summed
      }
    }
  }
  CHECK(read(made(csr(), true, false), with_shape({9, 3})).extents() == Extents{9, 3});
  CHECK(read(made(csr(), true, false), with_format("ds:1,0:f32")).format().text() == "ds:1,0");
}

TEST_CASE("npz: blocks, vectors, and coordinates of any order") {
  const TemporaryDirectory directory;
  std::vector<Member> bsr = with(csr(), "format.npy", text_array("|S3", "bsr"));
  bsr = with(bsr, "indices.npy", array<std::int32_t>("<i4", "(2,)", {1, 0}));
  bsr = with(bsr, "indptr.npy", array<std::int32_t>("<i4", "(3,)", {0, 1, 2}));
  bsr = with(bsr, "shape.npy", array<std::int64_t>("<i8", "(2,)", {4, 6}));
  bsr = with(bsr, "data.npy", array<double>("<f8", "(2, 2, 3)", {1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12}));
  const Tensor blocks = read(directory.write("b.npz", zip_of(bsr)));
  CHECK(stored(blocks) == Entries{{{0, 3}, 1},
                                  {{0, 4}, 2},
                                  {{0, 5}, 3},
                                  {{1, 3}, 4},
                                  {{1, 4}, 5},
                                  {{1, 5}, 6},
                                  {{2, 0}, 7},
                                  {{2, 1}, 0},
                                  {{2, 2}, 9},
                                  {{3, 0}, 10},
                                  {{3, 1}, 11},
                                  {{3, 2}, 12}});
  check_refused(directory.write("b.npz", zip_of(with(bsr, "shape.npy", array<std::int64_t>("<i8", "(2,)", {4, 5})))),
                "do not divide");

  std::vector<Member> coo = {{"coords.npy", array<std::int64_t>("<i8", "(3, 2)", {0, 1, 2, 2, 4, 0})},
                             {"format.npy", text_array("|S3", "coo")},
                             {"shape.npy", array<std::int64_t>("<i8", "(3,)", {2, 3, 5})},
                             {"data.npy", array<float>("<f4", "(2,)", {1.5F, 2.5F})}};
  CHECK(stored(read(directory.write("c.npz", zip_of(coo)))) == Entries{{{0, 2, 4}, 1.5}, {{1, 2, 0}, 2.5}});
  check_refused(directory.write("c.npz", zip_of(with(coo, "shape.npy", array<std::int64_t>("<i8", "(3,)", {2, 2, 5})))),
                "c.npz:coords: element 0 is 2, but the extent of that dimension is 2");
  std::vector<Member> vector = with(csr(), "shape.npy", array<std::int64_t>("<i8", "(1,)", {7}));
  vector = with(vector, "indptr.npy", array<std::int32_t>("<i4", "(2,)", {0, 4}));
  vector = with(vector, "indices.npy", array<std::int32_t>("<i4", "(4,)", {6, 0, 3, 2}));
  CHECK(stored(read(directory.write("v.npz", zip_of(vector)))) == Entries{{{0}, 2}, {{2}, 4}, {{3}, 3}, {{6}, 1}});
}

TEST_CASE("npz: the arrays of numpy.savez by name") {
  const TemporaryDirectory directory;
  const Member a{"a.npy", array<double>("<f8", "(2, 2)", four)};
  const Member b{"b/c.npy", array<std::int16_t>("<i2", "(3,)", {1, 2, 3})};
  const std::string two = directory.write("two.npz", zip_of({a, b}, true));
  CHECK(stored(read(two + ":b/c")) == Entries{{{0}, 1}, {{1}, 2}, {{2}, 3}});
  CHECK(read(two + ":a").format().text() == "dd:0,1");
  CHECK(read(directory.write("one.npz", zip_of({a}))).nnz() == 4);
  check_refused(two, "an archive of 2 arrays: name one of them");
  check_refused(two, "it holds a, b/c");
  check_refused(two + ":d", "no member 'd'; the archive holds a, b/c");
  check_refused(directory.write("none.npz", zip_of({})), "an archive without any array");
  CHECK(read(directory.write("s.npz", zip_of(csr())) + ":data").extents() == Extents{4});
  check_refused(directory.write("o.npz", zip_of({{"o.npy", array<double>("|O", "()", {1})}})), "Python objects",
                ErrorKind::unsupported);
}

TEST_CASE("npz: what is no sparse matrix that weft reads") {
  const TemporaryDirectory directory;
  const auto made = [&](const std::vector<Member>& members) { return directory.write("bad.npz", zip_of(members)); };
  check_refused(made(with(csr(), "format.npy", text_array("|S3", "dia"))), "'dia' format", ErrorKind::unsupported);
  check_refused(made(without(csr(), "indptr.npy")), "without the member indptr");
  check_refused(made(with(csr(), "indptr.npy", array<std::int32_t>("<i4", "(5,)", {0, 2, 1, 3, 4}))),
                "bad.npz:indptr: element 2 is 1, less than");
  check_refused(made(with(csr(), "indptr.npy", array<std::int32_t>("<i4", "(5,)", {1, 2, 2, 3, 4}))), "begins with 1");
  check_refused(made(with(csr(), "indptr.npy", array<std::int32_t>("<i4", "(5,)", {0, 2, 2, 3, 5}))),
                "indptr ends at 5, but there are 4");
  check_refused(made(with(csr(), "indptr.npy", array<std::int32_t>("<i4", "(4,)", {0, 2, 2, 4}))),
                "4 groups need one more");
  check_refused(made(with(csr(), "indices.npy", array<std::int32_t>("<i4", "(4,)", {0, 2, 3, 2}))),
                "bad.npz:indices: element 2 is 3");
  check_refused(made(with(csr(), "indices.npy", array<std::int32_t>("<i4", "(4,)", {0, -2, 1, 2}))), "element 1 is -2");
  check_refused(made(with(csr(), "indices.npy", array<double>("<f8", "(4,)", {0, 2, 1, 2}))), "no integers");
  check_refused(made(with(csr(), "data.npy", array<double>("<f8", "(3,)", {0, 2, 1}))), "4 indices for 3 values");
  check_refused(made(with(csr(), "shape.npy", array<std::int64_t>("<i8", "(3,)", {4, 3, 2}))), "csr of 3 dimensions");
  check_refused(
      made(with(csr(), "data.npy", array<std::int64_t>("<i8", "(4,)", {1, 2, (std::int64_t{1} << 60) + 1, 3}))),
      "bad.npz:data: element 2 (from 0, as stored) is 1152921504606846977, an integer that f64 cannot hold exactly");
  check_refused(made(with(csr(), "data.npy", array<double>("<f8", "(5,)", four))), "truncated: 32 bytes of elements");
}

TEST_CASE("npz: damaged archives end in an error wherever they are cut or changed") {
  const TemporaryDirectory directory;
  for (const bool compressed : {false, true}) {
    const std::string whole = zip_of(csr(), compressed);
    for (std::size_t kept = 4; kept < whole.size(); kept += 7) {
      const auto cut = read_tensor(directory.write("cut.npz", whole.substr(0, kept)), {}, resources(1), "T");
      CHECK_FALSE(cut.has_value());
    }
    std::size_t refused = 0;
    for (std::size_t at = 0; at < whole.size(); at += 3) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ 0x55);
      const auto tensor = read_tensor(directory.write("changed.npz", changed), {}, resources(1), "T");
      refused += !tensor;
      if (tensor) CHECK(verify(*tensor, resources(1), "T"));
    }
    CHECK(refused * 6 > whole.size() / 3);
  }
  std::string data = zip_of(csr());
  data[data.find(std::string("\0\0\0\0\0\0\xF0\x3F", 8)) + 6] = '\x70';  // the 1 among the values
  check_refused(directory.write("sum.npz", data), "member 'data.npy': its checksum is wrong");
}

TEST_CASE("npz: what is written is read again, sparse and dense, compressed too") {
  const TemporaryDirectory directory;
  const Tensor sparse = read(directory.write("a.npz", zip_of(csr())));
  const auto again = [&](const Tensor& tensor, const std::string& name) {
    const Expected<void> done = write_tensor(tensor, directory.path(name), resources(), "A");
    REQUIRE_MESSAGE(done.has_value(), done.error().message);
    return read(directory.path(name));
  };
  for (const char* name : {"b.npz", "b.npz.gz", "b.npz.zst"}) CHECK(stored(again(sparse, name)) == matrix);
  const Tensor columns = read(directory.path("a.npz"), with_format("ss:1,0:f32"));
  CHECK(stored(again(columns, "c.npz")) == matrix);
  CHECK(directory.bytes("c.npz").find("csc") != std::string::npos);
  CHECK(directory.bytes("b.npz").find("csr") != std::string::npos);
  const Tensor cube = read(directory.write("t.tns", "1 2 3 4\n5 2 1 7\n"));
  CHECK(stored(again(cube, "d.npz")) == stored(cube));
  const Tensor dense = read(directory.path("a.npz"), with_format("dd:1,0"));
  CHECK(stored(again(dense, "e.npz")) == stored(dense));
  CHECK(read(directory.path("e.npz") + ":A").nnz() == 12);
  const Tensor empty = read(directory.write("e.tns", "# shape: 3 4\n"));
  CHECK(again(empty, "f.npz").extents() == Extents{3, 4});
  // Where rows would take more than entries, as scipy's coo.
  const Tensor few = read(directory.write("few.tns", "# shape: 3000000000 4\n3000000000 2 5\n1 1 7\n"));
  CHECK(stored(again(few, "g.npz")) == stored(few));
  CHECK(directory.bytes("g.npz").size() < 2000);
}

TEST_CASE("npz: memory is charged, from files and from compressed ones") {
  const TemporaryDirectory directory;
  std::vector<double> values(200000, 1.0);
  const std::string bytes = zip_of({{"a.npy", array<double>("<f8", "(200000,)", values)}});
  for (const std::string& path : {directory.write("a.npz", bytes), directory.write("a.npz.gz", gzip(bytes))}) {
    const Resources limited{Memory(1 << 20), Threads(1), {}, {}};
    const auto refused = read_tensor(path, {}, limited, "T");
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::resource);
    CHECK(limited.memory.used() == 0);
    CHECK(read(path).nnz() == 200000);
  }
}

}  // namespace npz_test
