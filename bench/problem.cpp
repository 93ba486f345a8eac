#include "bench/problem.h"

#include <algorithm>

#include "frontend/parse.h"

namespace weft::bench {
namespace {

const std::string letters = "ijklm";

// "T(i,j,k)"
std::string sparse_access(std::size_t order) {
  std::string text = "T(";
  for (std::size_t mode = 0; mode < order; ++mode) text += (mode == 0 ? "" : ",") + letters.substr(mode, 1);
  return text + ")";
}

Problem mttkrp(const std::string& data, std::size_t order, std::uint32_t mode, std::uint64_t rank) {
  std::string text = std::string("A(") + letters[mode] + ",r) = " + sparse_access(order);
  for (std::size_t other = 0; other < order; ++other)
    if (other != mode) text += std::string(" * F") + std::to_string(other) + "(" + letters[other] + ",r)";
  return {"mttkrp/" + data + "/mode" + std::to_string(mode) + "/r" + std::to_string(rank), text, data, Baseline::mttkrp,
          mode, rank};
}

}  // namespace

std::vector<Problem> problems(const Data& data) {
  std::vector<Problem> all;
  const auto add_mttkrp = [&](const std::string& name, std::size_t order, const std::vector<std::uint64_t>& ranks) {
    for (std::uint32_t mode = 0; mode < order; ++mode)
      for (const std::uint64_t rank : ranks) all.push_back(mttkrp(name, order, mode, rank));
  };
  add_mttkrp("uniform3", 3, {16, 32, 64});
  add_mttkrp("power3", 3, {16, 32, 64});
  add_mttkrp("uniform4", 4, {16, 32, 64});
  add_mttkrp("uniform5", 5, {16, 32, 64});
  if (data.has("flights2001_count")) add_mttkrp("flights2001_count", 4, {16, 32, 64});
  if (data.has("kjv_trigram")) add_mttkrp("kjv_trigram", 3, {16, 32, 64});
  if (data.has("fb15k237")) add_mttkrp("fb15k237", 3, {16, 32, 64});
  // Its factors have up to 2.5 million rows.
  if (data.has("debian_contents")) add_mttkrp("debian_contents", 4, {16});

  for (const std::uint64_t rank : {16, 32})
    all.push_back({"ttmc/uniform3/r" + std::to_string(rank), "A(i,r,s) = T(i,j,k) * B(j,r) * C(k,s)", "uniform3",
                   Baseline::none, 0, rank});
  all.push_back({"tttp/cube200/r32", "S(i,j,k) = T(i,j,k) * A(i,r) * B(j,r) * C(k,r)", "cube200", Baseline::none, 0, 32});
  all.push_back({"spmv/matrix200k", "y(i) = T(i,j) * x(j)", "matrix200k", Baseline::spmv, 0, 1});
  for (const std::uint64_t rank : {16, 32, 64})
    all.push_back({"spmm/matrix200k/r" + std::to_string(rank), "A(i,r) = T(i,j) * B(j,r)", "matrix200k", Baseline::spmm, 0,
                   rank});
  for (const char* size : {"four60", "four120", "four200", "four200dense"})
    all.push_back({std::string("four-sparse/") + size, "R(i,j,k) = A(i,p,q) * B(j,p,r) * C(k,q,r) * D(j,k,r)", size,
                   Baseline::four_sparse, 0, 1});
  return all;
}

Expected<std::map<std::string, Tensor>> operands(const Problem& problem, Data& data, const Resources& resources) {
  std::map<std::string, Tensor> named;
  if (problem.baseline == Baseline::four_sparse) {
    for (const auto& [name, variant] : {std::pair("A", ".1"), std::pair("B", ".2"), std::pair("C", ".3"), std::pair("D", ".4")}) {
      auto tensor = data.tensor(problem.data + variant, resources);
      if (!tensor) return std::unexpected(tensor.error());
      named[name] = std::move(*tensor);
    }
    return named;
  }
  const auto parsed = parse_expression(problem.expression);
  if (!parsed) return std::unexpected(parsed.error());
  auto tensor = data.tensor(problem.data, resources);
  if (!tensor) return std::unexpected(tensor.error());
  std::map<std::string, std::uint64_t> extents;
  for (const ParsedAccess& factor : parsed->assignments.front().terms.front().factors) {
    if (factor.name == "T") {
      for (std::size_t mode = 0; mode < factor.indices.size(); ++mode)
        extents[factor.indices[mode].name] = tensor->extents[mode];
      named["T"] = *tensor;
      continue;
    }
    std::vector<std::uint64_t> shape;
    std::uint64_t seed = 0;
    for (const char character : factor.name) seed = seed * 256 + static_cast<unsigned char>(character);
    for (const ParsedIndex& index : factor.indices) {
      const auto known = extents.find(index.name);
      shape.push_back(known == extents.end() ? problem.rank : known->second);
    }
    auto dense = random_dense(shape, seed, resources);
    if (!dense) return std::unexpected(dense.error());
    named[factor.name] = std::move(*dense);
  }
  return named;
}

}  // namespace weft::bench
