#include "runtime/file_content.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "unit/runtime/file_fixture.h"

namespace file_content_test {

using namespace weft;
using namespace weft::test;
using Extents = std::vector<std::uint64_t>;

namespace {

const std::string text = "1 2 3.5\n4 1 2\n";
const std::string matrix = "%%MatrixMarket matrix coordinate real general\n4 2 2\n1 2 3.5\n4 1 2\n";
const Entries meant = {{{0, 1}, 3.5}, {{3, 0}, 2}};

void check_says(const std::string& path, std::string_view reason) {
  const Error error = read_failure(path);
  INFO(error.message);
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.message.find(reason) != std::string::npos);
}

/// A pipe with a name, which a thread writes the bytes to once.
class NamedPipe {
 public:
  NamedPipe(const TemporaryDirectory& directory, std::string bytes)
      : path_(directory.path("pipe")), bytes_(std::move(bytes)) {
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    writer_ = std::thread([this] {
      const int descriptor = ::open(path_.c_str(), O_WRONLY);
      for (std::size_t at = 0; at < bytes_.size();) {
        // Uneven pieces: what reads must not take a short piece for the end.
        const ssize_t written =
            ::write(descriptor, bytes_.data() + at, std::min<std::size_t>(bytes_.size() - at, 7777));
        if (written <= 0) break;
        at += static_cast<std::size_t>(written);
      }
      ::close(descriptor);
    });
  }
  ~NamedPipe() {
    writer_.join();
    ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string bytes_;
  std::thread writer_;
};

std::string file_of(const Tensor& tensor, const TemporaryDirectory& directory, const std::string& name) {
  REQUIRE(write_tensor(tensor, directory.path(name), resources(), "A"));
  return directory.bytes(name);
}

}  // namespace

TEST_CASE("file content: a name that says no format leaves it to the content") {
  const TemporaryDirectory directory;
  const Tensor tensor = read(directory.write("a.tns", text));
  for (const std::string& bytes : {text, matrix, "\xEF\xBB\xBF" + matrix, file_of(tensor, directory, "a.npz"),
                                   gzip(text), zstandard(matrix), gzip(file_of(tensor, directory, "a.npz"))}) {
    CHECK(stored(read(directory.write("data", bytes))) == meant);
    CHECK(stored(read(directory.write("data.txt", bytes))) == meant);
  }
  CHECK(read(directory.write("data", file_of(tensor, directory, "a.npy"))).format().text() == "dd:0,1");
  CHECK(stored(read(directory.write("data.gz", gzip(text)))) == meant);
  CHECK(stored(read("tns:" + directory.write("data.csv", text))) == meant);
  CHECK(stored(read("tns:" + directory.write("data", zstandard(text)))) == meant);
  CHECK(stored(read("mtx:" + directory.write("x.tns", matrix))) == meant);
  CHECK(stored(read("npz:" + directory.write("x.zip", directory.bytes("a.npz")))) == meant);
}

TEST_CASE("file content: content that contradicts the name or the word in front of it") {
  const TemporaryDirectory directory;
  const Tensor tensor = read(directory.write("a.tns", text));
  const std::string npy = file_of(tensor, directory, "a.npy");
  const std::string npz = file_of(tensor, directory, "a.npz");
  const std::string path = directory.write("x.mtx", npy);
  check_says(path, "begins like a NumPy array, not like a Matrix Market file; npy:" + path + " reads it");
  check_says(directory.write("x.tns", npz), "begins like a zip archive (.npz), not like the text of a .tns");
  check_says(directory.write("x.tns", matrix), "begins like a Matrix Market file");
  check_says("mtx:" + directory.write("x", npy), "begins like a NumPy array");
  check_says("npy:" + directory.write("x", npz), "begins like a zip archive");
  check_says("npz:" + directory.write("x", npy), "begins like a NumPy array");
  check_says("npz:" + directory.write("x", text), "it is no zip archive");
  check_says(directory.write("x.npz", ""), "it is no zip archive");
  check_says(directory.write("x.tns", gzip(text)), "these are gzip data: the name should end in .gz");
  check_says(directory.write("x.mtx.zst", zstandard(gzip(matrix))), "these are gzip data");
  check_says(directory.write("x", std::string("1 2\0 3\n", 7)), "bytes that are no text");
  check_says(directory.write("x", text) + ":a.npz:a", "No such file");
}

TEST_CASE("file content: formats that are not read name the line that converts them") {
  const TemporaryDirectory directory;
  for (const auto& [name, says] : {std::pair("a.csv", "tr , ' ' < "),
                                   {"a.mat", "io.loadmat"},
                                   {"a.h5", "h5py"},
                                   {"a.HDF5", "h5py"},
                                   {"a.parquet", "read_parquet"},
                                   {"a.arrow", "read_feather"},
                                   {"a.feather", "read_feather"},
                                   {"a.tns.bz2", "bzip2 -dc "},
                                   {"a.tns.xz", "xz -dc "}}) {
    check_says(directory.write(name, text), says);
  }
  using namespace std::string_view_literals;
  for (const auto& [bytes, says] : {std::pair("\x89HDF\r\n\x1A\n"sv, "h5py"),
                                    {"MATLAB 5.0 MAT-file, "sv, "loadmat"},
                                    {"PAR1\0"sv, "read_parquet"},
                                    {"ARROW1\0"sv, "read_feather"},
                                    {"BZh91AY&SY"sv, "bzip2 -dc"},
                                    {"\xFD"
                                     "7zXZ\0"sv,
                                     "xz -dc"}}) {
    check_says(directory.write("a", bytes), says);
    check_says(directory.write("a.tns", bytes), says);
  }
  check_says(directory.write("it's.csv", text), "it'\\''s.csv'");
}

TEST_CASE("file content: pipes are read as files are") {
  const TemporaryDirectory directory;
  std::string long_text;
  for (int n = 1; n <= 60000; ++n) long_text += std::to_string(n) + " " + std::to_string(n % 97 + 1) + " 2\n";
  const Tensor tensor = read(directory.write("a.tns", long_text));
  const Entries entries = stored(tensor);
  for (const std::string& bytes :
       {long_text, gzip(long_text), zstandard(long_text), file_of(tensor, directory, "a.mtx"),
        file_of(tensor, directory, "a.npz"), gzip(file_of(tensor, directory, "a.npz"))}) {
    const NamedPipe pipe(directory, bytes);
    CHECK(stored(read(pipe.path())) == entries);
  }
  {
    const NamedPipe pipe(directory, file_of(tensor, directory, "a.npy"));
    CHECK(stored(read(pipe.path(), with_format("ss"))) == entries);
  }
  for (const std::string& bytes :
       {file_of(tensor, directory, "a.npy").substr(0, 100000), file_of(tensor, directory, "a.npz").substr(0, 100000)}) {
    const NamedPipe pipe(directory, bytes);
    const auto cut = read_tensor(pipe.path(), {}, resources(), "T");
    REQUIRE_FALSE(cut.has_value());
    CHECK(cut.error().message.find("truncated") != std::string::npos);
  }
  {
    const NamedPipe pipe(directory, "%%MatrixMarket matrix coordinate real general\n4 2 1\n1 2 3.5\n4 1 2\n");
    const auto many = read_tensor(pipe.path(), {}, resources(), "T");
    REQUIRE_FALSE(many.has_value());
    CHECK(many.error().message.find("pipe:2: 2 entries follow, but this line promises 1") != std::string::npos);
  }
}

TEST_CASE("file content: integers of an integer source are exact or refused with their place") {
  const TemporaryDirectory directory;
  const std::string head = "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 ";
  const auto of = [&](const std::string& number) { return directory.write("a.mtx", head + "1\n2 2 " + number + "\n"); };
  for (const char* held : {"9007199254740992", "-9007199254740994", "18014398509481988", "+0009007199254740992",
                           "1000000000000000000000"}) {
    CAPTURE(held);
    CHECK(stored(read(of(held))).at({1, 1}) == std::stod(held));
  }
  for (const char* lost :
       {"9007199254740993", "-9007199254740993", "100000000000000000000001", "1000000000000000000000000"}) {
    check_input_error(of(lost), 4, "is an integer that f64 cannot hold exactly");
  }
  ReadOptions single;
  single.scalar = Scalar::f32;
  check_input_error(of("16777217"), 4, "is an integer that f32 cannot hold exactly", single);
  CHECK(stored(read(of("16777218"), single)).at({1, 1}) == 16777218);
  // A real number is a decimal, rounded.
  CHECK(stored(read(directory.write("b.tns", "1 9007199254740993\n"))).at({0}) == 9007199254740992.0);
}

TEST_CASE("file content: what a file said of its tensor") {
  const TemporaryDirectory directory;
  const auto facts_of = [&](const std::string& path, const ReadOptions& options = {}) {
    FileFacts facts;
    REQUIRE(read_tensor(path, options, resources(), "T", nullptr, &facts));
    return facts;
  };
  CHECK(facts_of(directory.write("a.tns", text)).extents_inferred);
  CHECK_FALSE(facts_of(directory.path("a.tns"), with_shape({5, 5})).extents_inferred);
  CHECK_FALSE(facts_of(directory.write("a.tns", "# shape: 9 9\n" + text)).extents_inferred);
  CHECK_FALSE(facts_of(directory.write("s.tns", "2.5\n")).extents_inferred);
  CHECK_FALSE(facts_of(directory.write("a.mtx", matrix)).extents_inferred);
  CHECK(facts_of(directory.path("a.mtx")).symmetry.empty());
  CHECK(
      facts_of(directory.write("b.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 5\n")).symmetry ==
      "symmetric");
  CHECK(facts_of(directory.write("b.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n"))
            .symmetry == "skew-symmetric");
}

}  // namespace file_content_test
