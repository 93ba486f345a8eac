#include "runtime/file_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "runtime/shell_word.h"

namespace weft {

using namespace std::string_view_literals;

namespace {

struct Magic {
  std::string_view bytes;
  Content content;
};

constexpr Magic magics[] = {
    {"\x93NUMPY"sv, Content::npy},
    {"PK\x03\x04"sv, Content::zip},
    {"PK\x05\x06"sv, Content::zip},
    {"\x1F\x8B"sv, Content::gzip},
    {"\x28\xB5\x2F\xFD"sv, Content::zstandard},
    {"\x89HDF\r\n\x1A\n"sv, Content::hdf5},
    {"MATLAB 5.0 MAT-file"sv, Content::matlab},
    {"MATLAB 7.3 MAT-file"sv, Content::hdf5},
    {"PAR1"sv, Content::parquet},
    {"ARROW1"sv, Content::arrow},
    {"BZh"sv, Content::bzip2},
    {"\xFD"
     "7zXZ\0"sv,
     Content::xz},
};

struct Extension {
  std::string_view end;
  Content content;
};

constexpr Extension foreign[] = {
    {".mat", Content::matlab},    {".h5", Content::hdf5},         {".hdf5", Content::hdf5},
    {".csv", Content::csv},       {".parquet", Content::parquet}, {".arrow", Content::arrow},
    {".feather", Content::arrow}, {".bz2", Content::bzip2},       {".xz", Content::xz},
};

/// "directory/x.mat" and ".npy" to "directory/x.npy".
std::string with_extension(const std::string& path, std::string_view extension) {
  const std::size_t dot = path.rfind('.');
  const bool has = dot != std::string::npos && dot > path.rfind('/') + 1 && dot > 0;
  return (has ? path.substr(0, dot) : path) + std::string(extension);
}

/// ".gz", ".zst" or nothing.
std::string_view compressed_suffix(std::string_view path) {
  for (const std::string_view suffix : {".gz", ".zst"}) {
    if (path.ends_with(suffix)) return suffix;
  }
  return "";
}

bool begins_with_banner(std::string_view begin) {
  constexpr std::string_view banner = "%%matrixmarket";
  if (begin.starts_with("\xEF\xBB\xBF")) begin.remove_prefix(3);
  return begin.size() >= banner.size() && std::equal(banner.begin(), banner.end(), begin.begin(), [](char a, char b) {
           return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
         });
}

}  // namespace

Content content_of(std::string_view begin) {
  if (begin.empty()) return Content::empty;
  if (begins_with_banner(begin)) return Content::matrix_market;
  for (const Magic& magic : magics) {
    if (begin.starts_with(magic.bytes)) return magic.content;
  }
  // Skippable frames, with which zstd files of some tools begin: 0x184D2A50 to 0x184D2A5F.
  if (begin.size() >= 4 && (static_cast<unsigned char>(begin[0]) & 0xF0) == 0x50 &&
      begin.substr(1, 3) == "\x2A\x4D\x18") {
    return Content::zstandard;
  }
  return begin.find('\0') == std::string_view::npos ? Content::text : Content::binary;
}

std::string_view description(Content content) {
  switch (content) {
    case Content::empty:
      return "an empty file";
    case Content::text:
      return "a text";
    case Content::binary:
      return "a file of bytes that are no text";
    case Content::matrix_market:
      return "a Matrix Market file";
    case Content::npy:
      return "a NumPy array";
    case Content::zip:
      return "a zip archive (.npz)";
    case Content::gzip:
      return "gzip data";
    case Content::zstandard:
      return "zstd data";
    case Content::hdf5:
      return "an HDF5 file";
    case Content::matlab:
      return "a MATLAB file";
    case Content::parquet:
      return "a Parquet file";
    case Content::arrow:
      return "an Arrow file";
    case Content::bzip2:
      return "bzip2 data";
    case Content::xz:
      return "xz data";
    case Content::csv:
      break;
  }
  return "comma-separated values";
}

std::optional<FileKind> kind_of(Content content) {
  switch (content) {
    case Content::empty:
    case Content::text:
      return FileKind::tns;
    case Content::matrix_market:
      return FileKind::mtx;
    case Content::npy:
      return FileKind::npy;
    case Content::zip:
      return FileKind::npz;
    default:
      return std::nullopt;
  }
}

Content foreign_by_name(std::string_view path) {
  std::string name = lower_case_name(path);
  name.resize(name.size() - compressed_suffix(name).size());
  for (const Extension& extension : foreign) {
    if (name.ends_with(extension.end)) return extension.content;
  }
  return Content::text;
}

std::optional<std::string> conversion(Content content, const std::string& path) {
  const std::string file = shell_word(path);
  const auto python = [&](std::string_view code, std::string_view made) {
    return fmt::format("python3 -c \"{}\" {} {}", code, file, shell_word(with_extension(path, made)));
  };
  switch (content) {
    case Content::matlab:
      return "MATLAB files are not read; this writes the first matrix in it: " +
             python(
                 "import sys, scipy.io as io; "
                 "io.mmwrite(sys.argv[2], next(v for k, v in io.loadmat(sys.argv[1]).items() if k[0] != '_'))",
                 ".mtx");
    case Content::hdf5:
      return "HDF5 is not read; this writes the first data set in it: " +
             python(
                 "import sys, h5py, numpy; f = h5py.File(sys.argv[1]); "
                 "numpy.save(sys.argv[2], next(v for v in f.values() if hasattr(v, 'dtype'))[()])",
                 ".npy");
    case Content::parquet:
    case Content::arrow:
      return fmt::format(
                 "{} is not read; this writes its columns, which are to be coordinates from 1 on and the value: ",
                 content == Content::parquet ? "Parquet" : "Arrow") +
             python(fmt::format(
                        "import sys, pandas; pandas.read_{}(sys.argv[1]).to_csv(sys.argv[2], sep=' ', header=False, "
                        "index=False)",
                        content == Content::parquet ? "parquet" : "feather"),
                    ".tns");
    case Content::csv: {
      const std::string_view suffix = compressed_suffix(path);
      const std::string made = shell_word(with_extension(path.substr(0, path.size() - suffix.size()), ".tns"));
      const std::string begin =
          "comma-separated values are not read; where a line is the coordinates, from 1 on, and the value: ";
      if (suffix.empty()) {
        return fmt::format("{}tr , ' ' < {} > {}   (tail -n +2 {} | tr , ' ' leaves out a line of names)", begin, file,
                           made, file);
      }
      return fmt::format("{}{} {} | tr , ' ' > {}   (with tail -n +2 between them a line of names is left out)", begin,
                         suffix == ".gz" ? "zcat" : "zstdcat", file, made);
    }
    case Content::bzip2:
      return fmt::format(
          "bzip2 data are not read; give - for the file and its bytes on standard input: "
          "bzip2 -dc {} | weft info -",
          file);
    case Content::xz:
      return fmt::format(
          "xz data are not read; give - for the file and its bytes on standard input: "
          "xz -dc {} | weft info -",
          file);
    default:
      return std::nullopt;
  }
}

}  // namespace weft
