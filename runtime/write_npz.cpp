// Writing .npz: archives of stored members, as numpy.savez makes them, which numpy.load and scipy.sparse.load_npz read.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "runtime/array_output.h"
#include "runtime/file_formats.h"
#include "runtime/indices.h"
#include "runtime/npy_header.h"
#include "runtime/written_layout.h"
#include "runtime/zip_records.h"

namespace weft {

namespace {

/// An array to be written: the bytes of `data` live elsewhere.
struct ArchiveMember {
  std::string name;  ///< "data.npy"
  std::string preamble;
  std::string_view data;
  std::uint64_t offset = 0;  ///< of its local header, once written
  std::uint32_t crc = 0;

  std::uint64_t size() const { return preamble.size() + data.size(); }
};

void append(std::string& record, std::uint64_t number, unsigned bytes) {
  for (unsigned byte = 0; byte != bytes; ++byte) record += static_cast<char>((number >> (8 * byte)) & 255);
}

std::uint64_t in_32_bits(std::uint64_t number) { return std::min(number, zip::all_ones32); }

/// What local headers and entries of the directory have in common, from the version on. The time is the first of 1980.
std::string common_fields(const ArchiveMember& member, bool wide) {
  std::string fields;
  append(fields, wide ? 45 : 20, 2);
  append(fields, 0, 2);  // flags
  append(fields, zip::stored, 2);
  append(fields, 0, 2);
  append(fields, 33, 2);
  append(fields, member.crc, 4);
  append(fields, wide ? zip::all_ones32 : member.size(), 4);
  append(fields, wide ? zip::all_ones32 : member.size(), 4);
  append(fields, member.name.size(), 2);
  return fields;
}

std::string local_header(const ArchiveMember& member) {
  const bool wide = member.size() >= zip::all_ones32;
  std::string header(zip::local_signature);
  header += common_fields(member, wide);
  append(header, wide ? 20 : 0, 2);
  header += member.name;
  if (!wide) return header;
  append(header, zip::zip64_extra, 2);
  append(header, 16, 2);
  append(header, member.size(), 8);
  append(header, member.size(), 8);
  return header;
}

std::string directory_entry(const ArchiveMember& member) {
  const bool wide_size = member.size() >= zip::all_ones32;
  const bool wide_offset = member.offset >= zip::all_ones32;
  std::string extra;
  for (int time = 0; wide_size && time != 2; ++time) append(extra, member.size(), 8);
  if (wide_offset) append(extra, member.offset, 8);
  std::string entry(zip::central_signature);
  append(entry, 45, 2);  // made by
  entry += common_fields(member, wide_size);
  append(entry, extra.empty() ? 0 : extra.size() + 4, 2);
  append(entry, 0, 2);  // comment
  append(entry, 0, 2);  // disk
  append(entry, 0, 2);
  append(entry, 0600U << 16, 4);  // permissions, as numpy gives them
  append(entry, in_32_bits(member.offset), 4);
  entry += member.name;
  if (extra.empty()) return entry;
  append(entry, zip::zip64_extra, 2);
  append(entry, extra.size(), 2);
  return entry + extra;
}

std::string directory_end(std::uint64_t members, std::uint64_t offset, std::uint64_t bytes) {
  std::string end;
  if (offset >= zip::all_ones32) {
    end = zip::end64_signature;
    append(end, zip::end64_bytes - 12, 8);
    append(end, 45, 2);
    append(end, 45, 2);
    append(end, 0, 4);
    append(end, 0, 4);
    append(end, members, 8);
    append(end, members, 8);
    append(end, bytes, 8);
    append(end, offset, 8);
    end += zip::locator_signature;
    append(end, 0, 4);
    append(end, offset + bytes, 8);
    append(end, 1, 4);
  }
  end += zip::end_signature;
  append(end, 0, 4);
  append(end, members, 2);
  append(end, members, 2);
  append(end, bytes, 4);
  append(end, in_32_bits(offset), 4);
  append(end, 0, 2);
  return end;
}

Expected<void> write_archive(std::vector<ArchiveMember>& members, ArrayOutput& file) {
  std::uint64_t expected = 0;
  for (const ArchiveMember& member : members) expected += member.size();
  file.expect(expected);
  std::uint64_t offset = 0;
  std::string directory;
  for (ArchiveMember& member : members) {
    uLong crc = crc32(0, nullptr, 0);
    for (const std::string_view bytes : {std::string_view(member.preamble), member.data}) {
      if (bytes.empty()) continue;  // null begins a new sum
      crc = crc32_z(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    }
    member.crc = static_cast<std::uint32_t>(crc);
    member.offset = offset;
    const std::string header = local_header(member);
    for (const std::string_view bytes : {std::string_view(header), std::string_view(member.preamble), member.data}) {
      if (Expected<void> written = file.write(bytes); !written) return written;
      offset += bytes.size();
    }
    directory += directory_entry(member);
  }
  if (Expected<void> written = file.write(directory + directory_end(members.size(), offset, directory.size()));
      !written) {
    return written;
  }
  return file.finish();
}

ArchiveMember array_member(std::string name, const NpyHeader& header, std::string_view data) {
  return {.name = std::move(name) + ".npy", .preamble = npy_preamble(header), .data = data, .offset = 0, .crc = 0};
}

std::string_view bytes_of(const Buffer& buffer) {
  return {static_cast<const char*>(buffer.data()), buffer.size_bytes()};
}

NpyHeader integers(unsigned bytes, std::vector<std::uint64_t> shape) {
  return {.kind = 'i', .bytes = bytes, .big_endian = false, .fortran_order = false, .shape = std::move(shape)};
}

NpyHeader reals(const Tensor& tensor, std::uint64_t count) {
  return {.kind = 'f',
          .bytes = scalar_bytes(tensor.format().scalar),
          .big_endian = false,
          .fortran_order = false,
          .shape = {count}};
}

/// Bytes that the members of a sparse archive refer to.
struct SparseHead {
  std::vector<std::int64_t> shape;
  std::string_view format;

  void add_to(std::vector<ArchiveMember>& members) const {
    const NpyHeader text{.kind = 'S',
                         .bytes = static_cast<unsigned>(format.size()),
                         .big_endian = false,
                         .fortran_order = false,
                         .shape = {}};
    const NpyHeader flag{.kind = 'b', .bytes = 1, .big_endian = false, .fortran_order = false, .shape = {}};
    members.push_back(array_member("format", text, format));
    members.push_back(array_member("shape", integers(8, {shape.size()}),
                                   {reinterpret_cast<const char*>(shape.data()), shape.size() * 8}));
    // Makes load_npz return a csr_array, which is what new programs should have, and the only kind of other orders.
    members.push_back(array_member("_is_array", flag, std::string_view("\x01", 1)));
  }
};

bool by_columns(const Tensor& matrix) { return matrix.format().mode_order[0] == 1; }

/// Whether the starts of the rows (or columns) of a matrix would take far more than its entries: 4 GB of 2 entries in 10^9 rows.
bool starts_prevail(const Tensor& matrix) {
  return matrix.extents()[by_columns(matrix) ? 1 : 0] / 16 > matrix.nnz() + 1000;
}

/// The compressed level of a matrix by rows, or by columns, is what scipy calls indptr and indices.
Expected<void> write_compressed(const Tensor& tensor, SparseHead head, ArrayOutput& file, const Resources& resources,
                                std::string_view name) {
  const std::uint32_t outer = by_columns(tensor) ? 1 : 0;
  Format format = sparse_format(2, tensor.format().scalar);
  format.mode_order = {outer, 1 - outer};
  format.levels[0].kind = LevelKind::dense;
  Expected<Tensor> made = convert(tensor, format, resources, name);
  if (!made) return std::unexpected(made.error());
  // scipy has one signed type for both arrays.
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  const bool wide = std::max({made->nnz(), tensor.extents()[0], tensor.extents()[1]}) > most ||
                    made->format().levels[1].pos_bits == 64 || made->format().levels[1].crd_bits == 64;
  if (wide && (made->format().levels[1].pos_bits != 64 || made->format().levels[1].crd_bits != 64)) {
    format.levels[1].pos_bits = format.levels[1].crd_bits = 64;
    made = convert(tensor, format, resources, name);
    if (!made) return std::unexpected(made.error());
  }
  head.format = outer == 1 ? "csc" : "csr";
  const std::uint64_t stored = made->nnz();
  const unsigned width = wide ? 8 : 4;
  std::vector<ArchiveMember> members;
  members.push_back(
      array_member("indices", integers(width, {stored}), bytes_of(made->levels()[1].crd).substr(0, stored * width)));
  const std::uint64_t ends = made->extent_of_level(0) + 1;
  members.push_back(
      array_member("indptr", integers(width, {ends}), bytes_of(made->levels()[1].pos).substr(0, ends * width)));
  head.add_to(members);
  members.push_back(array_member("data", reals(tensor, stored),
                                 bytes_of(made->values()).substr(0, stored * scalar_bytes(tensor.format().scalar))));
  return write_archive(members, file);
}

/// Any order as scipy's coo_array: a row of coordinates per mode; those of a matrix under names of their own.
Expected<void> write_coordinates(const Tensor& tensor, SparseHead head, ArrayOutput& file, const Resources& resources,
                                 std::string_view name) {
  Expected<Coordinates> sorted = sorted_entries(tensor, resources, name);
  if (!sorted) return std::unexpected(sorted.error());
  Expected<Buffer> coords =
      Buffer::allocate(sorted->count * tensor.order() * 8, resources.memory, "coordinates to write");
  if (!coords) return std::unexpected(coords.error());
  const std::span<std::int64_t> to = coords->as<std::int64_t>();
  for (std::size_t mode = 0; mode != tensor.order(); ++mode) {
    const Indices from(sorted->crd[mode], coordinate_bits(sorted->extents[mode]));
    resources.threads.for_each(resources.threads.count(), [&](std::size_t part, unsigned) {
      const std::uint64_t parts = resources.threads.count();
      for (std::uint64_t n = sorted->count * part / parts; n != sorted->count * (part + 1) / parts; ++n) {
        to[mode * sorted->count + n] = static_cast<std::int64_t>(from[n]);
      }
    });
    sorted->crd[mode] = Buffer();
  }
  head.format = "coo";
  std::vector<ArchiveMember> members;
  if (tensor.order() == 2) {
    members.push_back(array_member("row", integers(8, {sorted->count}), bytes_of(*coords).substr(0, 8 * sorted->count)));
    members.push_back(array_member("col", integers(8, {sorted->count}), bytes_of(*coords).substr(8 * sorted->count)));
  } else {
    members.push_back(array_member("coords", integers(8, {tensor.order(), sorted->count}), bytes_of(*coords)));
  }
  head.add_to(members);
  members.push_back(array_member("data", reals(tensor, sorted->count), bytes_of(sorted->values)));
  return write_archive(members, file);
}

/// The tensor's name as a member's, if Python takes it for a name.
std::string member_name(std::string_view name) {
  const bool plain = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                     std::ranges::all_of(name, [](unsigned char c) { return c == '_' || std::isalnum(c) != 0; });
  return plain ? std::string(name) : "arr_0";
}

}  // namespace

Expected<void> write_npz(const Tensor& tensor, const std::string& path, Compression compression,
                         const Resources& resources, std::string_view name) {
  for (std::size_t mode = 0; mode != tensor.order(); ++mode) {
    if (tensor.extents()[mode] <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) continue;
    return input_error(
        fmt::format("{}: the extent of mode {} of {} exceeds the integers of NumPy; write .tns", path, mode, name));
  }
  // The file is opened first: a wrong path is told before a large tensor is converted.
  Expected<ArrayOutput> file = ArrayOutput::create(path, compression, resources);
  if (!file) return std::unexpected(file.error());
  if (!tensor.format().all_dense()) {
    const SparseHead head{.shape = {tensor.extents().begin(), tensor.extents().end()}, .format = {}};
    if (tensor.order() == 2 && !starts_prevail(tensor)) return write_compressed(tensor, head, *file, resources, name);
    return write_coordinates(tensor, head, *file, resources, name);
  }
  const Expected<Tensor> dense = in_c_order(tensor, resources, name);
  if (!dense) return std::unexpected(dense.error());
  const NpyHeader header = header_of(*dense);
  std::vector<ArchiveMember> members;
  members.push_back(
      array_member(member_name(name), header, bytes_of(dense->values()).substr(0, dense->nnz() * header.bytes)));
  return write_archive(members, *file);
}

}  // namespace weft
