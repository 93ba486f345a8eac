#include "bench/data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "weft/file.h"

namespace weft::bench {
namespace {

// The tensors of the tables this project compares itself with.
const std::map<std::string, SparseRecipe>& recipes() {
  static const std::map<std::string, SparseRecipe> known = {
      {"uniform3", {{2000, 2000, 2000}, 2'000'000, 1, 1}},
      {"power3", {{12000, 9000, 28000}, 5'700'000, 3, 2}},
      {"uniform4", {{500, 500, 500, 500}, 2'000'000, 1, 3}},
      {"uniform5", {{100, 100, 100, 100, 100}, 1'000'000, 1, 4}},
      {"cube200", {{200, 200, 200}, 800'000, 1, 5}},
      {"matrix100k", {{100'000, 100'000}, 1'000'000, 1, 7}},
      {"matrix10k", {{10'000, 10'000}, 500'000, 1, 8}},
      {"power50k", {{50'000, 50'000}, 150'000, 2, 9}},
      {"matrix200k", {{200'000, 200'000}, 4'000'000, 1, 6}},
      {"four60", {{60, 60, 60}, 2'160, 1, 10}},
      {"four120", {{120, 120, 120}, 17'280, 1, 20}},
      {"four200", {{200, 200, 200}, 8'000, 1, 30}},
      {"four200dense", {{200, 200, 200}, 80'000, 1, 40}},
  };
  return known;
}

// "four60.2" is another tensor of the recipe "four60".
std::pair<std::string, std::uint64_t> split_variant(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {name, 0};
  return {name.substr(0, dot), std::strtoull(name.c_str() + dot + 1, nullptr, 10)};
}

// Empty if there is none.
std::string file_of(const std::string& directory, const std::string& name) {
  if (directory.empty()) return {};
  for (const char* extension : {".tns.zst", ".mtx.zst"}) {
    const std::filesystem::path path = std::filesystem::path(directory) / (name + extension);
    if (std::filesystem::exists(path)) return path.string();
  }
  return {};
}

Expected<Coordinates> blank(const std::vector<std::uint64_t>& extents, std::uint64_t count, const Memory& memory) {
  Coordinates coordinates;
  coordinates.extents = extents;
  coordinates.count = count;
  for (std::size_t mode = 0; mode < extents.size(); ++mode) {
    auto crd = Buffer::allocate(count * 4, memory, "coordinates");
    if (!crd) return std::unexpected(crd.error());
    coordinates.crd.push_back(std::move(*crd));
  }
  auto values = Buffer::allocate(count * 8, memory, "values");
  if (!values) return std::unexpected(values.error());
  coordinates.values = std::move(*values);
  return coordinates;
}

}  // namespace

std::uint64_t mix(std::uint64_t state) {
  state += 0x9E3779B97F4A7C15;
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EB;
  return state ^ (state >> 31);
}

Expected<Tensor> random_sparse(const SparseRecipe& recipe, const Resources& resources) {
  auto coordinates = blank(recipe.extents, recipe.draws, resources.memory);
  if (!coordinates) return std::unexpected(coordinates.error());
  const std::size_t order = recipe.extents.size();
  for (std::size_t mode = 0; mode < order; ++mode) {
    const auto crd = coordinates->crd[mode].as<std::uint32_t>();
    const auto extent = static_cast<double>(recipe.extents[mode]);
    for (std::uint64_t n = 0; n < recipe.draws; ++n) {
      const double unit = static_cast<double>(mix(recipe.seed * 0x10000000000 + n * order + mode) >> 11) * 0x1p-53;
      crd[n] = static_cast<std::uint32_t>(extent * (recipe.skew == 1 ? unit : std::pow(unit, recipe.skew)));
    }
  }
  const auto values = coordinates->values.as<double>();
  for (std::uint64_t n = 0; n < recipe.draws; ++n) values[n] = static_cast<double>(1 + mix(~n) % 4);
  return build(std::move(*coordinates), sparse_format(order), resources, "T");
}

Expected<Tensor> random_dense(const std::vector<std::uint64_t>& extents, std::uint64_t seed, const Resources& resources) {
  auto tensor = dense_zeros(extents, dense_format(extents.size()), resources, "factor");
  if (!tensor) return tensor;
  const auto values = tensor->writable_values<double>();
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<double>(1 + mix(seed * 0x10000000000 + n) % 4);
  return tensor;
}

bool Data::has(const std::string& name) const {
  return recipes().contains(split_variant(name).first) ||
         !file_of(directory_, name).empty();
}

Expected<Tensor> Data::tensor(const std::string& name, const Resources& resources) {
  if (const auto known = tensors_.find(name); known != tensors_.end()) return known->second;
  Expected<Tensor> tensor = Tensor{};
  const auto [base, variant] = split_variant(name);
  if (const auto recipe = recipes().find(base); recipe != recipes().end()) {
    SparseRecipe wanted = recipe->second;
    wanted.seed += variant;
    // Fibers keep their lengths: the extents shrink with the entries.
    if (quick_ && wanted.draws > 100'000) {
      const double shrink = std::pow(1.0 / 20, 1.0 / static_cast<double>(wanted.extents.size()));
      for (std::uint64_t& extent : wanted.extents)
        extent = static_cast<std::uint64_t>(static_cast<double>(extent) * shrink);
      wanted.draws /= 20;
    }
    tensor = random_sparse(wanted, resources);
  } else if (has(name)) {
    tensor = read_tensor(file_of(directory_, name), {}, resources, name);
    if (tensor) {
      const auto values = tensor->writable_values<double>();
      const bool whole = std::ranges::all_of(values, [](double value) { return value == std::floor(value); });
      for (std::size_t n = 0; n < values.size() && (tensor->order() == 2 || !whole); ++n)
        values[n] = static_cast<double>(1 + mix(~n) % 4);
    }
  } else {
    return input_error("no tensor is named " + name);
  }
  if (tensor) tensors_[name] = *tensor;
  return tensor;
}

}  // namespace weft::bench
