// Reading and writing of every file format.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "unit/memory/fault_points.h"
#include "unit/runtime/file_fixture.h"
#include "weft/file.h"

namespace weft::files_faults_test {

using allocation_faults::armed;
using test::fail_every_allocation;
using test::judged;
using test::Outcome;
using test::refused;
using test::TemporaryDirectory;

namespace {

const std::string matrix_text = "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 1 2\n3 4 5\n2 2 7\n";
const std::string tensor_text = "1 1 1 2\n3 4 1 5\n2 2 2 7\n";

double sum_of(const Tensor& tensor) {
  double sum = 0;
  for (const double value : tensor.values().as<const double>()) sum += value;
  return sum;
}

std::string npy_bytes() {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  header += '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
  for (const double value : {2.0, 0.0, 5.0, 0.0, 7.0, 0.0}) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

}  // namespace

TEST_CASE("faults: reading") {
  const TemporaryDirectory directory;
  std::vector<std::string> paths = {directory.write("t.tns", tensor_text),
                                    directory.write("t.tns.gz", test::gzip(tensor_text)),
                                    directory.write("t.tns.zst", test::zstandard(tensor_text)),
                                    directory.write("m.mtx", matrix_text),
                                    directory.write("m.mtx.gz", test::gzip(matrix_text)),
                                    directory.write("m.mtx.zst", test::zstandard(matrix_text)),
                                    directory.write("a.npy", npy_bytes()),
                                    directory.write("any", test::zstandard(matrix_text))};
  // An archive as weft writes it, read from the file and, compressed, from memory.
  const Resources plain{Memory(), Threads(1), {}, {}};
  const auto matrix = read_tensor(directory.path("m.mtx"), {}, plain, "M");
  const auto dense = read_tensor(directory.path("a.npy"), {}, plain, "A");
  REQUIRE(matrix);
  REQUIRE(dense);
  for (const char* name : {"m.npz", "m.npz.gz"}) {
    REQUIRE(write_tensor(*matrix, directory.path(name), plain, "M"));
    paths.push_back(directory.path(name));
  }
  REQUIRE(write_tensor(*dense, directory.path("d.npz"), plain, "A"));
  paths.push_back(directory.path("d.npz"));
  for (const unsigned threads : {1U, 2U}) {
    for (const std::string& path : paths) {
      const Resources resources{Memory(), Threads(threads), {}, {}};
      fail_every_allocation("reading " + path.substr(path.rfind('/') + 1) + " on " + std::to_string(threads), [&]() -> Outcome {
        auto tensor = armed([&] { return read_tensor(path, {}, resources, "T"); });
        if (!tensor) return refused(tensor.error());
        return judged(sum_of(*tensor) == 14, "another sum");
      }, resources.memory, 25);
    }
  }
}

TEST_CASE("faults: reading a text with a defect is never taken for a success") {
  const TemporaryDirectory directory;
  const std::string path = directory.write("t.tns", tensor_text + "1 x 1 2\n");
  const Resources resources{Memory(), Threads(1), {}, {}};
  fail_every_allocation("reading a defect", [&]() -> Outcome {
    auto tensor = armed([&] { return read_tensor(path, {}, resources, "T"); });
    if (tensor) return {.error = {}, .wrong = "it was read"};
    if (tensor.error().kind == ErrorKind::input)
      return judged(tensor.error().message.find(":4:") != std::string::npos, tensor.error().message);
    return refused(tensor.error());
  }, resources.memory, 60);
}

TEST_CASE("faults: writing") {
  const TemporaryDirectory directory;
  const Resources resources{Memory(), Threads(1), {}, {}};
  const auto matrix = read_tensor(directory.write("m.mtx", matrix_text), {}, resources, "M");
  REQUIRE(matrix);
  for (const std::string name : {"w.tns", "w.tns.gz", "w.tns.zst", "w.mtx", "w.mtx.gz", "w.mtx.zst", "w.npy",
                                 "w.npy.gz", "w.npz", "w.npz.zst"}) {
    const std::string path = directory.path(name);
    fail_every_allocation("writing " + name, [&]() -> Outcome {
      const auto written = armed([&] { return write_tensor(*matrix, path, resources, "M"); });
      if (directory.files() > 2) return {.error = {}, .wrong = "a temporary file is left"};
      if (!written) return refused(written.error());
      const auto again = read_tensor(path, {}, resources, "M");
      std::filesystem::remove(path);
      return judged(again && sum_of(*again) == 14, "other entries");
    }, resources.memory, 40);
  }
}

}  // namespace weft::files_faults_test
