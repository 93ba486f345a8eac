// NumPy archives: the sparse matrices of scipy.sparse.save_npz, and the arrays of numpy.savez.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>
#include <utility>

#include "runtime/indices.h"
#include "runtime/npy_array.h"
#include "runtime/scalar_traits.h"
#include "runtime/text_entries.h"
#include "runtime/zip_archive.h"

namespace weft {

namespace {

// Sets of modes are 32-bit words in the statistics.
constexpr std::uint64_t most_modes = 32;

/// An array of the archive whose header has been read. `request` names it: "x.npz:data".
struct ArchivedArray {
  FileRequest request;
  NextBytes next;
  NpyArray array;
};

std::string_view without_extension(std::string_view name) {
  return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
}

Expected<ArchivedArray> open_array(const ZipArchive& archive, const ZipEntry& entry, NpyText text,
                                   const FileRequest& request) {
  FileRequest of_member = request;
  const std::string shown = quoted(without_extension(entry.name));
  of_member.path += ":" + shown.substr(1, shown.size() - 2);
  Expected<ZipMember> opened = archive.member(entry);
  if (!opened) return std::unexpected(opened.error());
  const auto bytes = std::make_shared<ZipMember>(std::move(*opened));
  NextBytes next = [bytes](char* to, std::size_t count) { return bytes->read(to, count); };
  Expected<NpyArray> array = read_npy_preamble(next, text, of_member);
  if (!array) return std::unexpected(array.error());
  const std::uint64_t present = entry.size - array->preamble;
  const std::uint64_t expected = array->count * array->header.bytes;
  if (present != expected) {
    return file_error(of_member, fmt::format("{}: {} bytes of elements, the shape in the header ({}) needs {}",
                                             present < expected ? "truncated" : "too long", present,
                                             fmt::join(array->header.shape, "x"), expected));
  }
  return ArchivedArray{std::move(of_member), std::move(next), std::move(*array)};
}

/// "a, b and 3 more".
std::string listed(const ZipArchive& archive) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t n = 0; n != std::min(most, archive.entries().size()); ++n) {
    const std::string shown = quoted(without_extension(archive.entries()[n].name));
    text += (n > 0 ? ", " : "") + shown.substr(1, shown.size() - 2);
  }
  if (archive.entries().size() > most) text += fmt::format(" and {} more", archive.entries().size() - most);
  return text;
}

Expected<const ZipEntry*> chosen_member(const ZipArchive& archive, const FileRequest& request) {
  if (archive.entries().empty()) return file_error(request, "an archive without any array");
  if (!request.member.empty()) {
    if (const ZipEntry* entry = archive.find(request.member + ".npy")) return entry;
    if (const ZipEntry* entry = archive.find(request.member)) return entry;
    return file_error(request,
                      fmt::format("no member {}; the archive holds {}", quoted(request.member), listed(archive)));
  }
  if (archive.entries().size() == 1) return &archive.entries().front();
  return file_error(request, fmt::format("an archive of {} arrays: name one of them, such as {}:{}; it holds {}",
                                         archive.entries().size(), request.given,
                                         without_extension(archive.entries().front().name), listed(archive)));
}

/// A matrix or array of scipy.sparse in the order in which its parts depend on each other.
class SparseArchive {
 public:
  SparseArchive(const ZipArchive& archive, const FileRequest& request) : archive_(archive), request_(request) {}

  Expected<Coordinates> read() {
    Expected<std::string> format = read_format();
    if (!format) return std::unexpected(format.error());
    if (*format != "csr" && *format != "csc" && *format != "bsr" && *format != "coo") {
      return unsupported(
          fmt::format("{}: a sparse matrix in {} format; weft reads csr, csc, bsr and coo: save A.tocsr()",
                      request_.path, quoted(*format)));
    }
    if (Expected<void> shape = read_shape(); !shape) return std::unexpected(shape.error());
    const bool grouped = *format != "coo";
    if (grouped && shape_.size() != 2 && !(*format == "csr" && shape_.size() == 1)) {
      return file_error(request_, fmt::format("{} of {} dimensions; it has two", *format, shape_.size()));
    }
    Expected<ArchivedArray> data = part("data");
    if (!data) return std::unexpected(data.error());
    data_ = &*data;
    if (Expected<void> read = grouped ? read_grouped(*format) : read_coo(); !read) return std::unexpected(read.error());
    return std::move(made_);
  }

 private:
  Expected<ArchivedArray> part(std::string_view name, NpyText text = NpyText::refused) const {
    const ZipEntry* entry = archive_.find(std::string(name) + ".npy");
    if (entry == nullptr) {
      return file_error(
          request_, fmt::format("a sparse matrix without the member {}; the archive holds {}", name, listed(archive_)));
    }
    return open_array(archive_, *entry, text, request_);
  }

  Expected<std::string> read_format() const {
    Expected<ArchivedArray> part = this->part("format", NpyText::allowed);
    if (!part) return std::unexpected(part.error());
    const NpyHeader& header = part->array.header;
    if (part->array.count != 1 || (header.kind != 'S' && header.kind != 'U'))
      return file_error(part->request, "it is no text");
    char bytes[64] = {};
    Expected<std::size_t> got = part->next(bytes, std::min<std::size_t>(header.bytes, sizeof bytes));
    if (!got) return std::unexpected(got.error());
    std::string text;
    // The letters of "csr" are bytes among zeros in either byte order.
    std::copy_if(bytes, bytes + *got, std::back_inserter(text), [](char c) { return c != '\0'; });
    return text;
  }

  Expected<void> read_shape() {
    Expected<ArchivedArray> part = this->part("shape");
    if (!part) return std::unexpected(part.error());
    if (part->array.count == 0 || part->array.count > most_modes) {
      return file_error(part->request, fmt::format("{} extents; weft handles 1 to {}", part->array.count, most_modes));
    }
    const auto take = [&](std::span<const std::uint64_t> piece, std::uint64_t) -> Expected<void> {
      shape_.insert(shape_.end(), piece.begin(), piece.end());
      return {};
    };
    return read_integers(part->array, part->next, part->array.count, take, part->request);
  }

  /// Extents, and room for that many entries. A shape that was given may be larger than that of the file.
  Expected<void> make_room(std::uint64_t count) {
    made_.extents = shape_;
    if (const auto& shape = request_.options.shape) {
      const bool larger =
          shape->size() == shape_.size() && std::ranges::equal(*shape, shape_, std::ranges::greater_equal());
      if (!larger) {
        return file_error(request_, fmt::format("a sparse array of shape {}, which the shape given for it contradicts",
                                                fmt::join(shape_, "x")));
      }
      made_.extents = *shape;
    }
    if (const auto& format = request_.options.format; format && format->modes() != shape_.size()) {
      return file_error(request_, fmt::format("a sparse array of order {}, but the format is for {} modes", shape_.size(),
                                              format->modes()));
    }
    made_.count = count;
    made_.scalar = request_.scalar();
    const std::string what = "entries of " + request_.path;
    for (const std::uint64_t extent : made_.extents) {
      Expected<Buffer> column =
          Buffer::allocate(count * (coordinate_bits(extent) / 8), request_.resources.memory, what);
      if (!column) return std::unexpected(column.error());
      made_.crd.push_back(std::move(*column));
    }
    Expected<Buffer> values = Buffer::allocate(count * scalar_bytes(made_.scalar), request_.resources.memory, what);
    if (!values) return std::unexpected(values.error());
    made_.values = std::move(*values);
    return {};
  }

  Expected<void> read_values() {
    return with_element(made_.scalar, [&]<class T>(T) {
      return read_elements(data_->array, data_->next, made_.values.as<T>(), data_->request);
    });
  }

  void set(std::size_t mode, std::uint64_t entry, std::uint64_t coordinate) {
    if (coordinate_bits(made_.extents[mode]) == 64) {
      made_.crd[mode].as<std::uint64_t>()[entry] = coordinate;
    } else {
      made_.crd[mode].as<std::uint32_t>()[entry] = static_cast<std::uint32_t>(coordinate);
    }
  }

  /// The next `made_.count` integers of the part as coordinates of a mode.
  Expected<void> read_column(const ArchivedArray& part, std::size_t mode) {
    const auto take = [&](std::span<const std::uint64_t> piece, std::uint64_t first) -> Expected<void> {
      for (std::size_t n = 0; n != piece.size(); ++n) {
        if (piece[n] >= shape_[mode]) return out_of_range(part, first + n, piece[n], shape_[mode]);
        set(mode, first + n, piece[n]);
      }
      return {};
    };
    return read_integers(part.array, part.next, made_.count, take, part.request);
  }

  static std::unexpected<Error> out_of_range(const ArchivedArray& part, std::uint64_t element, std::uint64_t coordinate,
                                             std::uint64_t extent) {
    return file_error(part.request, fmt::format("element {} is {}, but the extent of that dimension is {}", element,
                                                coordinate, extent));
  }

  Expected<void> read_coo() {
    const std::uint64_t count = data_->array.count;
    if (data_->array.header.shape.size() != 1) return file_error(data_->request, "not one value per entry");
    if (Expected<void> room = make_room(count); !room) return room;
    if (archive_.find("coords.npy") != nullptr) {
      Expected<ArchivedArray> part = this->part("coords");
      if (!part) return std::unexpected(part.error());
      const NpyHeader& header = part->array.header;
      if (header.shape != std::vector<std::uint64_t>{shape_.size(), count}) {
        return file_error(part->request,
                          fmt::format("shape {}, but {} entries of {} dimensions need {}x{}",
                                      fmt::join(header.shape, "x"), count, shape_.size(), shape_.size(), count));
      }
      if (header.fortran_order && shape_.size() > 1) return unsupported(part->request.path + ": stored by columns");
      for (std::size_t mode = 0; mode != shape_.size(); ++mode) {
        if (Expected<void> read = read_column(*part, mode); !read) return read;
      }
      return read_values();
    }
    if (shape_.size() != 2) return file_error(request_, "a sparse array without the member coords");
    for (std::size_t mode = 0; mode != 2; ++mode) {
      Expected<ArchivedArray> part = this->part(mode == 0 ? "row" : "col");
      if (!part) return std::unexpected(part.error());
      if (part->array.header.shape != data_->array.header.shape) {
        return file_error(part->request, fmt::format("{} coordinates for {} values", part->array.count, count));
      }
      if (Expected<void> read = read_column(*part, mode); !read) return read;
    }
    return read_values();
  }

  /// csr, csc and bsr: `indices` in groups, which `indptr` ends.
  Expected<void> read_grouped(const std::string& format) {
    const NpyHeader& data = data_->array.header;
    std::uint64_t block[2] = {1, 1};  // rows and columns of a block
    if (data.shape.size() != (format == "bsr" ? 3 : 1)) {
      return file_error(data_->request, fmt::format("of {} dimensions, which {} has not", data.shape.size(), format));
    }
    if (format == "bsr") {
      block[0] = data.shape[1];
      block[1] = data.shape[2];
      if (data.fortran_order) return unsupported(data_->request.path + ": blocks stored by columns");
    }
    const bool vector = shape_.size() == 1;
    const std::size_t group_mode = format == "csc" ? 1 : 0;
    const std::size_t other_mode = vector ? 0 : 1 - group_mode;
    const std::uint64_t grouped = vector ? 1 : shape_[group_mode];
    for (std::size_t side = 0; format == "bsr" && side != 2; ++side) {
      if (block[side] > 0 && shape_[side] % block[side] == 0) continue;
      return file_error(data_->request, fmt::format("blocks of {}x{} do not divide a matrix of {}", block[0], block[1],
                                                    fmt::join(shape_, "x")));
    }
    const std::uint64_t groups = grouped / block[group_mode];
    Expected<Buffer> ends = read_ends(groups);
    if (!ends) return std::unexpected(ends.error());
    const std::span<const std::uint64_t> end = std::as_const(*ends).as<std::uint64_t>();
    const std::uint64_t stored = end.back();
    Expected<ArchivedArray> indices = part("indices");
    if (!indices) return std::unexpected(indices.error());
    if (indices->array.header.shape.size() != 1 || indices->array.count != data.shape[0]) {
      return file_error(indices->request, fmt::format("{} indices for {} {}", indices->array.count, data.shape[0],
                                                      format == "bsr" ? "blocks" : "values"));
    }
    if (stored > indices->array.count) {
      return file_error(request_,
                        fmt::format("indptr ends at {}, but there are {} indices", stored, indices->array.count));
    }
    const std::uint64_t entries_of_block = block[0] * block[1];  // stored with every one of them
    if (Expected<void> room = make_room(stored * entries_of_block); !room) return room;
    const std::uint64_t others = shape_[other_mode] / block[other_mode == 0 ? 0 : 1];
    std::uint64_t group = 0;
    const auto take = [&](std::span<const std::uint64_t> piece, std::uint64_t first) -> Expected<void> {
      for (std::size_t n = 0; n != piece.size(); ++n) {
        const std::uint64_t position = first + n;
        while (end[group + 1] <= position) ++group;
        if (piece[n] >= others) return out_of_range(*indices, position, piece[n], others);
        for (std::uint64_t inside = 0; inside != entries_of_block; ++inside) {
          const std::uint64_t entry = position * entries_of_block + inside;
          set(other_mode, entry, piece[n] * block[1] + inside % block[1]);
          if (!vector) set(group_mode, entry, group * block[0] + inside / block[1]);
        }
      }
      return {};
    };
    if (Expected<void> read = read_integers(indices->array, indices->next, stored, take, indices->request); !read)
      return read;
    return read_values();
  }

  /// indptr: 0, then the ends of the groups.
  Expected<Buffer> read_ends(std::uint64_t groups) {
    Expected<ArchivedArray> part = this->part("indptr");
    if (!part) return std::unexpected(part.error());
    if (part->array.header.shape.size() != 1 || part->array.count == 0 || part->array.count - 1 != groups) {
      return file_error(part->request,
                        fmt::format("{} elements, but {} groups need one more than that", part->array.count, groups));
    }
    Expected<Buffer> ends =
        Buffer::allocate(part->array.count * 8, request_.resources.memory, "indptr of " + request_.path);
    if (!ends) return ends;
    const std::span<std::uint64_t> end = ends->as<std::uint64_t>();
    const auto take = [&](std::span<const std::uint64_t> piece, std::uint64_t first) -> Expected<void> {
      for (std::size_t n = 0; n != piece.size(); ++n) {
        const std::uint64_t least = first + n == 0 ? 0 : end[first + n - 1];
        if (piece[n] < least || (first + n == 0 && piece[n] != 0)) {
          return file_error(part->request, first + n == 0
                                               ? fmt::format("it begins with {}, not with 0", piece[n])
                                               : fmt::format("element {} is {}, less than the one before ({})",
                                                             first + n, piece[n], least));
        }
        end[first + n] = piece[n];
      }
      return {};
    };
    if (Expected<void> read = read_integers(part->array, part->next, part->array.count, take, part->request); !read) {
      return std::unexpected(read.error());
    }
    return ends;
  }

  const ZipArchive& archive_;
  const FileRequest& request_;
  std::vector<std::uint64_t> shape_;
  const ArchivedArray* data_ = nullptr;
  Coordinates made_;
};

bool holds_sparse_matrix(const ZipArchive& archive) {
  for (const std::string_view name : {"format.npy", "shape.npy", "data.npy"}) {
    if (archive.find(name) == nullptr) return false;
  }
  return true;
}

}  // namespace

Expected<Tensor> read_npz(ByteSource source, const FileRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const Expected<ZipArchive> archive = ZipArchive::open(std::move(source), request);
  if (!archive) return std::unexpected(archive.error());
  if (!request.member.empty() || !holds_sparse_matrix(*archive)) {
    const Expected<const ZipEntry*> entry = chosen_member(*archive, request);
    if (!entry) return std::unexpected(entry.error());
    Expected<ArchivedArray> array = open_array(*archive, **entry, NpyText::refused, request);
    if (!array) return std::unexpected(array.error());
    Expected<Tensor> tensor = read_dense(array->array, array->next, nullptr, array->request);
    request.times->parse = Milliseconds(std::chrono::steady_clock::now() - begin).count();
    return tensor;
  }
  Expected<Coordinates> coordinates = SparseArchive(*archive, request).read();
  if (!coordinates) return std::unexpected(coordinates.error());
  const auto parsed = std::chrono::steady_clock::now();
  Format format = request.options.format ? *request.options.format
                                         : sparse_format(coordinates->extents.size(), request.options.scalar);
  Expected<Tensor> tensor = build(std::move(*coordinates), std::move(format), request.resources, request.name);
  request.times->parse = Milliseconds(parsed - begin).count();
  request.times->build = Milliseconds(std::chrono::steady_clock::now() - parsed).count();
  return tensor;
}

}  // namespace weft
