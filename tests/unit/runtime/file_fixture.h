// Files for tests: a directory of its own, texts written to it, and tensors as plain maps to compare with.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/output_file.h"
#include "unit/runtime/earlier.h"
#include "weft/file.h"

namespace weft::test {

/// A directory that lives as long as the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path(std::string_view name) const { return (path_ / name).string(); }
  std::string write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string bytes(std::string_view name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string gzip(std::string_view text) { return gzip_member(text).value(); }

inline std::string zstandard(std::string_view text) {
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), 3);
  REQUIRE(ZSTD_isError(size) == 0);
  frame.resize(size);
  return frame;
}

inline Resources resources(unsigned threads = 2) { return Resources{Memory(), Threads(threads), Cancellation(), {}}; }

inline ReadOptions with_shape(std::vector<std::uint64_t> shape) {
  ReadOptions options;
  options.shape = std::move(shape);
  return options;
}

inline ReadOptions with_format(std::string_view text) {
  ReadOptions options;
  options.format = parse_format(text).value();
  return options;
}

using Entries = std::map<std::vector<std::uint64_t>, double, reference::Earlier>;

/// The stored entries; two at the same coordinates fail the test.
inline Entries stored(const Tensor& tensor) {
  const Coordinates all = entries(tensor, false, resources(1)).value();
  Entries map;
  for (std::uint64_t n = 0; n != all.count; ++n) {
    std::vector<std::uint64_t> point;
    for (std::size_t mode = 0; mode != all.crd.size(); ++mode) {
      const bool wide = all.extents[mode] > (std::uint64_t{1} << 32);
      point.push_back(wide ? all.crd[mode].as<std::uint64_t>()[n] : all.crd[mode].as<std::uint32_t>()[n]);
    }
    const double value = all.scalar == Scalar::f64 ? all.values.as<double>()[n] : double{all.values.as<float>()[n]};
    map.emplace_hint(map.end(), std::move(point), value);
  }
  CHECK(map.size() == all.count);
  return map;
}

/// Reads what must be readable.
inline Tensor read(const std::string& path, const ReadOptions& options = {}, unsigned threads = 2) {
  Expected<Tensor> tensor = read_tensor(path, options, resources(threads), "T");
  REQUIRE_MESSAGE(tensor.has_value(), tensor.error().message);
  const Expected<void> sound = verify(*tensor, resources(1), "T");
  REQUIRE_MESSAGE(sound.has_value(), sound.error().message);
  return *tensor;
}

/// The error of reading what must not be readable.
inline Error read_failure(const std::string& path, const ReadOptions& options = {}) {
  const Expected<Tensor> one = read_tensor(path, options, resources(1), "T");
  const Expected<Tensor> two = read_tensor(path, options, resources(2), "T");
  REQUIRE_FALSE(one.has_value());
  REQUIRE_FALSE(two.has_value());
  CHECK(one.error() == two.error());
  return one.error();
}

/// Checks that reading fails with "path:LINE: ... reason ... (operand T)".
inline void check_input_error(const std::string& path, std::uint64_t line, std::string_view reason,
                              const ReadOptions& options = {}) {
  const Error error = read_failure(path, options);
  INFO(error.message);
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.message.starts_with(path + ":" + std::to_string(line) + ": "));
  CHECK(error.message.find(reason) != std::string::npos);
  CHECK(error.message.ends_with("(operand T)"));
}

}  // namespace weft::test
