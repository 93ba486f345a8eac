#include "bench/exam_network.h"

#include <algorithm>
#include <filesystem>

#include "frontend/parse.h"
#include "runtime/indices.h"
#include "weft/file.h"

namespace weft::bench {
namespace {

using Extents = std::vector<std::uint64_t>;

ExamOperand drawn(std::string name, Extents extents, std::uint64_t draws, double skew = 1) {
  return {std::move(name), std::move(extents), {}, draws, skew};
}

ExamOperand corner(std::string name, std::string file, Extents extents) {
  return {std::move(name), std::move(extents), std::move(file), 0, 1};
}

// Sparse times dense: one tensor filters, all trees and fusions are open.
std::vector<ExamNetwork> decompositions() {
  const std::string mttkrp = "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)";
  const std::string ttmc = "A(i,r,s) = T(i,j,k) * B(j,r) * C(k,s)";
  const Extents cube = {300, 300, 300};
  return {
      {"mttkrp3/uniform", mttkrp, {drawn("T", cube, 60'000)}, 32},
      {"mttkrp3/skewed", mttkrp, {drawn("T", {1000, 1000, 1000}, 60'000, 3)}, 16, true},
      {"mttkrp3/kjv", mttkrp, {corner("T", "kjv_trigram.tns.zst", {6000, 6000, 6000})}, 32},
      {"mttkrp3-mode1/fb15k", "A(j,r) = T(i,j,k) * B(i,r) * C(k,r)",
       {corner("T", "fb15k237.tns.zst", {5000, 237, 5000})}, 32, true},
      {"mttkrp3-mode1/octane", "A(j,r) = T(i,j,k) * B(i,r) * C(k,r)", {corner("T", "octane_pari.tns.zst", {60, 202, 202})}, 16, true},
      {"mttkrp3-mode2/octane", "A(k,r) = T(i,j,k) * B(i,r) * C(j,r)", {corner("T", "octane_pari.tns.zst", {60, 202, 202})}, 16, true},
      {"mttkrp3-mode2/uniform", "A(k,r) = T(i,j,k) * B(i,r) * C(j,r)", {drawn("T", {600, 600, 600}, 60'000)}, 16, true},
      {"mttkrp3/flights", "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", {corner("T", "flights2001_delay.tns.zst", {100, 229, 60})}, 32,
       true},
      {"mttkrp4/uniform", "A(i,r) = T(i,j,k,l) * B(j,r) * C(k,r) * D(l,r)", {drawn("T", {60, 60, 60, 60}, 40'000)}, 16},
      {"mttkrp5/wikipeople", "A(i,r) = T(z,i,j,k,l) * Z(z,r) * B(j,r) * C(k,r) * D(l,r)",
       {corner("T", "wikipeople_4ary.tns.zst", {50, 3309, 4204, 1481, 1632})}, 16, true},
      {"ttmc3/uniform", ttmc, {drawn("T", {150, 150, 150}, 20'000)}, 16},
      {"ttmc3/skewed", ttmc, {drawn("T", {400, 400, 400}, 20'000, 2)}, 12, true},
      {"ttmc3/flights", ttmc, {corner("T", "flights2001_delay.tns.zst", {60, 100, 60})}, 16, true},
      {"ttmc3/fb15k", ttmc, {corner("T", "fb15k237.tns.zst", {2000, 237, 2000})}, 16, true},
      {"ttmc3/kjv", ttmc, {corner("T", "kjv_trigram.tns.zst", {2000, 2000, 2000})}, 16, true},
      {"ttmc4/uniform", "A(i,r,s,t) = T(i,j,k,l) * B(j,r) * C(k,s) * D(l,t)", {drawn("T", {30, 30, 30, 30}, 8'000)}, 8},
      {"tttp3/uniform", "S(i,j,k) = T(i,j,k) * A(i,r) * B(j,r) * C(k,r)", {drawn("T", {60, 60, 60}, 30'000)}, 32},
      {"tttp3/flights", "S(i,j,k) = T(i,j,k) * A(i,r) * B(j,r) * C(k,r)",
       {corner("T", "flights2001_delay.tns.zst", {60, 60, 40})}, 16, true},
      {"ttm-chain/uniform", "A(p,q,k) = T(i,j,k) * B(i,p) * C(j,q)", {drawn("T", {120, 120, 60}, 20'000)}, 8},
      {"4-index/uniform", "V(p,q,r,s) = T(i,j,k,l) * A(i,p) * B(j,q) * C(k,r) * D(l,s)",
       {drawn("T", {16, 16, 16, 16}, 4'000)}, 10},
      {"tensor-train/ends", "A(j,b) = T(i,j,k) * G(i,a) * H(k,b) * F(a,j,b)", {drawn("T", {100, 100, 100}, 20'000)}, 8},
      {"tensor-train6", "v() = T(i,j,k,l,m,n) * A(i,a) * B(a,j,b) * C(b,k,c) * D(c,l,d) * E(d,m,e) * F(e,n)",
       {drawn("T", {12, 12, 12, 12, 12, 12}, 3'000)}, 4, true},
  };
}

// Matrices: graph neural networks, chains, patterns that are counted.
std::vector<ExamNetwork> graphs() {
  return {
      {"sddmm/uniform", "S(i,j) = M(i,j) * A(i,k) * B(j,k)", {drawn("M", {1500, 1500}, 60'000)}, 32},
      {"spmm/cage10", "O(i,h) = M(i,j) * X(j,h)", {corner("M", "cage10.mtx.zst", {6000, 6000})}, 32, true},
      {"spmm-gemm/uniform", "O(i,h) = M(i,j) * X(j,k) * W(k,h)", {drawn("M", {2000, 2000}, 60'000)}, 32},
      {"spmm-gemm/maros", "O(i,h) = M(i,j) * X(j,k) * W(k,h)", {corner("M", "lp_maros_r7.mtx.zst", {3136, 9408})}, 24, true},
      {"sddmm-spmm/uniform", "O(i,h) = M(i,j) * A(i,k) * B(j,k) * D(j,h)", {drawn("M", {2000, 2000}, 60'000)}, 32},
      {"sddmm-spmm/kjv", "O(i,h) = M(i,j) * A(i,k) * B(j,k) * D(j,h)",
       {corner("M", "kjv_verse_word.mtx.zst", {8000, 12000})}, 24, true},
      {"sddmm-spmm-gemm/skewed", "O(i,g) = M(i,j) * A(i,k) * B(j,k) * D(j,h) * W(h,g)",
       {drawn("M", {2000, 2000}, 50'000, 2)}, 16},
      {"sparse-chain/uniform", "O(i,l) = A(i,j) * B(j,k) * C(k,l)",
       {drawn("A", {1000, 1000}, 15'000), drawn("B", {1000, 1000}, 15'000)}, 32},
      {"scaled-spmv/bcsstk16", "y(i) = M(i,j) * d(j) * x(j)", {corner("M", "bcsstk16.mtx.zst", {4884, 4884})}, 1, true},
      {"two-hops/uniform", "y(i) = M(i,j) * N(j,k) * x(k)",
       {drawn("M", {3000, 3000}, 60'000), drawn("N", {3000, 3000}, 60'000)}, 1},
      {"triangles/skewed", "t() = K(i,j) * K(j,k) * K(k,i)", {drawn("K", {600, 600}, 6'000, 2)}, 1},
      {"triangles/www", "t() = K(i,j) * K(j,k) * K(k,i)", {corner("K", "notredame_www.mtx.zst", {6000, 6000})}, 1, true},
      {"four-cycles/uniform", "t() = K(i,j) * K(j,k) * K(k,l) * K(l,i)", {drawn("K", {150, 150}, 900)}, 1},
      {"wedges/bcsstk16", "t(i) = K(i,j) * K(j,k) * K(i,l)", {corner("K", "bcsstk16.mtx.zst", {400, 400})}, 1, true},
      {"chain8/uniform", "O(a,i) = A(a,b) * B(b,c) * C(c,d) * D(d,e) * E(e,f) * F(f,g) * G(g,h) * H(h,i)",
       {drawn("A", {80, 80}, 400), drawn("B", {80, 80}, 400), drawn("D", {80, 80}, 400), drawn("F", {80, 80}, 400)}, 12},
      {"chain10/uniform",
       "y(a) = A(a,b) * B(b,c) * C(c,d) * D(d,e) * E(e,f) * F(f,g) * G(g,h) * H(h,i) * I(i,j) * x(j)",
       {drawn("A", {80, 80}, 300), drawn("C", {80, 80}, 300), drawn("E", {80, 80}, 300), drawn("G", {80, 80}, 300),
        drawn("I", {80, 80}, 300)},
       80, true},
  };
}

// Two sparse operands, and a sparse result where that is cheaper.
std::vector<ExamNetwork> sparse_products() {
  return {
      {"spmspv/uniform", "y(i) = M(i,j) * x(j)", {drawn("M", {20'000, 20'000}, 400'000), drawn("x", {20'000}, 1'000)}, 1, true},
      {"spmspm/uniform", "C(i,l) = A(i,j) * B(j,l)", {drawn("A", {2000, 2000}, 20'000), drawn("B", {2000, 2000}, 20'000)}, 1, true},
      {"spmspm/cage10", "C(i,l) = M(i,j) * M(j,l)", {corner("M", "cage10.mtx.zst", {3000, 3000})}, 1, true},
  };
}

// Several sparse tensors: quantum chemistry, knowledge graphs, and the network that the project began with.
std::vector<ExamNetwork> products() {
  const std::string four = "R(i,j,k) = A(i,p,q) * B(j,p,r) * C(k,q,r) * D(j,k,r)";
  const auto four_sparse = [](std::uint64_t extent, std::uint64_t draws) {
    std::vector<ExamOperand> operands;
    for (const char* name : {"A", "B", "C", "D"}) operands.push_back(drawn(name, {extent, extent, extent}, draws));
    return operands;
  };
  const std::string centre3 = "X(k,i,u) = P(k,m,n) * C(m,i) * D(n,u)";
  return {
      {"3-centre/octane", centre3, {corner("P", "octane_pari.tns.zst", {60, 202, 202}), corner("C", "octane_C.mtx.zst", {202, 33})},
       16},
      {"3-centre-masked/uniform", "X(k,i,u) = I(m,n,k) * C(n,i) * P(m,u) * L(k,i)",
       {drawn("I", {60, 60, 80}, 8'000), drawn("C", {60, 30}, 400), drawn("P", {60, 30}, 400), drawn("L", {80, 30}, 300)}, 1},
      {"3-centre-masked/octane", "X(k,i,u) = I(m,n,k) * C(n,i) * P(m,u) * L(k,i)",
       {corner("I", "octane_ovl3.tns.zst", {202, 202, 80}), corner("C", "octane_C.mtx.zst", {202, 33}),
        corner("P", "octane_S.mtx.zst", {202, 40}), drawn("L", {80, 33}, 300)},
       1, true},
      {"coulomb/octane", "J(m,n) = P(k,m,n) * Q(k,a,b) * S(a,b)",
       {corner("P", "octane_pari.tns.zst", {60, 202, 202}), corner("Q", "octane_pari.tns.zst", {60, 202, 202}),
        corner("S", "octane_S.mtx.zst", {202, 202})},
       1, true},
      {"4-centre/uniform", "E(i,j,l,m) = I(i,j,k) * I(l,m,k)", {drawn("I", {25, 25, 200}, 2'500)}, 1},
      {"4-centre-contracted/octane", "E(i,j) = P(k,i,m) * P(k,j,n) * S(m,n)",
       {corner("P", "octane_pari.tns.zst", {20, 202, 202}), corner("S", "octane_S.mtx.zst", {202, 202})}, 1, true},
      {"four-sparse/60", four, four_sparse(60, 2'160), 1},
      {"four-sparse/120", four, four_sparse(120, 17'280), 1},
      {"four-sparse/200", four, four_sparse(200, 8'000), 1, true},
      {"four-sparse/200dense", four, four_sparse(200, 40'000), 1, true},
      {"bigram-chain/kjv", "O(b) = K(u,v,b) * K(v,w,b)", {corner("K", "kjv_bigram_book.tns.zst", {6000, 6000, 20})}, 1},
      {"bigram-triangle/kjv", "O(b,d) = K(u,v,b) * K(v,w,b) * K(u,w,d)",
       {corner("K", "kjv_bigram_book.tns.zst", {4000, 4000, 12})}, 1},
      {"triple-triangle/wn18", "O(a,b,c) = W(i,a,j) * W(j,b,k) * W(k,c,i)",
       {corner("W", "wn18.tns.zst", {12000, 18, 12000})}, 1, true},
      {"triple-paths/fb15k", "O(a,b) = W(i,a,j) * W(j,b,k)", {corner("W", "fb15k237.tns.zst", {2000, 237, 2000})}, 1, true},
  };
}

Expected<Tensor> cut(const Tensor& whole, const ExamOperand& operand, const Resources& resources) {
  if (whole.order() != operand.extents.size()) return input_error(operand.file + " has another number of modes");
  auto all = entries(whole, false, resources);
  if (!all) return std::unexpected(all.error());
  const std::size_t order = operand.extents.size();
  std::vector<Indices> crd;
  for (std::size_t mode = 0; mode < order; ++mode) crd.emplace_back(all->crd[mode], coordinate_bits(all->extents[mode]));
  std::vector<std::uint64_t> kept;
  for (std::uint64_t n = 0; n < all->count; ++n) {
    bool inside = true;
    for (std::size_t mode = 0; mode < order; ++mode) inside = inside && crd[mode][n] < operand.extents[mode];
    if (inside) kept.push_back(n);
  }
  Coordinates coordinates;
  coordinates.extents = operand.extents;
  coordinates.count = kept.size();
  for (std::size_t mode = 0; mode < order; ++mode) {
    auto buffer = Buffer::allocate(kept.size() * 4, resources.memory, "coordinates");
    if (!buffer) return std::unexpected(buffer.error());
    const auto out = buffer->as<std::uint32_t>();
    for (std::size_t n = 0; n < kept.size(); ++n) out[n] = static_cast<std::uint32_t>(crd[mode][kept[n]]);
    coordinates.crd.push_back(std::move(*buffer));
  }
  auto values = Buffer::allocate(kept.size() * 8, resources.memory, "values");
  if (!values) return std::unexpected(values.error());
  const auto out = values->as<double>();
  for (std::size_t n = 0; n < kept.size(); ++n) out[n] = static_cast<double>(1 + mix(n) % 4);
  coordinates.values = std::move(*values);
  return build(std::move(coordinates), sparse_format(order), resources, operand.name);
}

Expected<Tensor> sparse_operand(const ExamOperand& operand, const std::string& directory, std::uint64_t seed,
                                const Resources& resources) {
  if (operand.file.empty()) {
    std::uint64_t own = seed;
    for (const char letter : operand.name) own = own * 256 + static_cast<unsigned char>(letter);
    return random_sparse({operand.extents, operand.draws, operand.skew, own}, resources);
  }
  const auto whole = read_tensor((std::filesystem::path(directory) / operand.file).string(), {}, resources, operand.name);
  if (!whole) return std::unexpected(whole.error());
  return cut(*whole, operand, resources);
}

}  // namespace

std::vector<ExamNetwork> exam_networks(const std::string& directory) {
  std::vector<ExamNetwork> all;
  for (auto group : {decompositions(), graphs(), sparse_products(), products()}) {
    for (ExamNetwork& network : group) {
      const bool there = std::ranges::all_of(network.sparse, [&](const ExamOperand& operand) {
        return operand.file.empty() ||
               (!directory.empty() && std::filesystem::exists(std::filesystem::path(directory) / operand.file));
      });
      if (there) all.push_back(std::move(network));
    }
  }
  return all;
}

Expected<std::map<std::string, Tensor>> exam_operands(const ExamNetwork& network, const std::string& directory,
                                                      std::uint64_t seed, const Resources& resources) {
  const auto parsed = parse_expression(network.expression);
  if (!parsed) return std::unexpected(parsed.error());
  std::map<std::string, Tensor> named;
  for (const ExamOperand& operand : network.sparse) {
    auto tensor = sparse_operand(operand, directory, seed, resources);
    if (!tensor) return std::unexpected(tensor.error());
    named[operand.name] = std::move(*tensor);
  }
  std::map<std::string, std::uint64_t> extents;
  const auto& factors = parsed->assignments.front().terms.front().factors;
  for (const ParsedAccess& factor : factors) {
    const auto known = named.find(factor.name);
    if (known == named.end()) continue;
    for (std::size_t mode = 0; mode < factor.indices.size(); ++mode)
      extents[factor.indices[mode].name] = known->second.extents()[mode];
  }
  for (const ParsedAccess& factor : factors) {
    if (named.contains(factor.name)) continue;
    std::vector<std::uint64_t> shape;
    for (const ParsedIndex& index : factor.indices) shape.push_back(extents.try_emplace(index.name, network.rank).first->second);
    auto dense = random_dense(shape, seed + shape.size(), resources);
    if (!dense) return std::unexpected(dense.error());
    named[factor.name] = std::move(*dense);
  }
  return named;
}

}  // namespace weft::bench
