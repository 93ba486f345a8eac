#include "bench/problem.h"

#include <algorithm>
#include <functional>

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

// Products of sparse matrices and tensors, results sorted and compressed.
void add_products(std::vector<Problem>& all, const Data& data) {
  const auto add = [&](const std::string& kind, const std::string& expression, Baseline baseline, const std::string& format,
                       const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (data.has(name))
        all.push_back({.name = kind + "/" + name,
                       .expression = expression,
                       .data = name,
                       .baseline = baseline,
                       .stored = format == "ds" ? "ds" : "",
                       .formats = {{"A", format}}});
  };
  add("spgemm", "A(i,j) = T(i,k) * T(k,j)", Baseline::product, "ds",
      {"matrix100k", "matrix10k", "power50k", "brack2", "copter2", "mdual", "notredame_www", "cage10"});
  add("spgemm-aat", "A(i,j) = T(i,k) * T(j,k)", Baseline::product, "ds",
      {"lp_maros_r7", "lp_dfl001", "groebner_f855_aug", "basker1"});
  add("spgemm-chain", "A(i,j) = T(i,k) * T(k,l) * T(l,j)", Baseline::product_chain, "ds", {"mdual", "cage10"});
  add("spgemm-masked", "A(i,j) = T(i,j) * T(i,k) * T(k,j)", Baseline::masked_product, "ds",
      {"matrix100k", "brack2", "copter2", "notredame_www"});
  // Tensors with themselves over one group of modes, as in FaSTCC's table (SC 2025), whose tensors are not at hand.
  add("self/02", "A(i,j) = T(k,i,l) * T(k,j,l)", Baseline::product, "ss", {"kjv_trigram"});
  add("self/12", "A(i,j) = T(i,k,l) * T(j,k,l)", Baseline::product, "ss", {"kjv_bigram_book", "flights2001_delay"});
  add("self/123", "A(i,j) = T(i,k,l,m) * T(j,k,l,m)", Baseline::product, "ss", {"flights2001_count", "yago_temporal"});
  add("self/12", "A(i,l,m,j,n,o) = T(i,p,q,l,m) * T(j,p,q,n,o)", Baseline::product, "ssssss",
      {"jf17k_4ary", "wikipeople_4ary"});
}

// Results that have the pattern of T or of its leading modes.
void add_patterns(std::vector<Problem>& all, const Data& data) {
  const auto add = [&](const std::string& kind, const std::string& expression, Baseline baseline,
                       const std::vector<std::string>& names, const std::vector<std::uint64_t>& ranks,
                       std::map<std::string, std::string> formats, std::set<std::string> results, const std::string& definition) {
    for (const std::string& name : names)
      for (const std::uint64_t rank : ranks)
        if (data.has(name))
          all.push_back({.name = kind + "/" + name + "/r" + std::to_string(rank),
                         .expression = expression,
                         .data = name,
                         .baseline = baseline,
                         .rank = rank,
                         .formats = formats,
                         .results = results,
                         .definition = definition});
  };
  add("tttp", "S(i,j,k) = T(i,j,k) * A(i,r) * B(j,r) * C(k,r)", Baseline::sampled, {"uniform3", "cube200", "flights2001_delay", "fb15k237"},
      {32}, {{"S", "like(T)"}}, {}, "");
  add("sddmm", "S(i,j) = T(i,j) * A(i,r) * B(j,r)", Baseline::sampled, {"matrix200k", "kjv_verse_word"}, {32, 64},
      {{"S", "like(T)"}}, {}, "");
  const std::string fused = "S(i,j) = T(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * D(j,h)";
  const std::string product = "O(i,h) = T(i,j) * A(i,k) * B(j,k) * D(j,h)";
  add("sddmm-spmm", fused, Baseline::sampled_product, {"matrix200k", "kjv_verse_word"}, {32}, {{"O", "dd"}}, {}, product);
  add("sddmm-spmm-both", fused, Baseline::sampled_product, {"matrix200k", "kjv_verse_word"}, {32},
      {{"S", "like(T)"}, {"O", "dd"}}, {"S"}, product);
  add("ttm", "Y(i,j,r) = T(i,j,k) * U(k,r)", Baseline::ttm, {"uniform3", "kjv_trigram", "fb15k237"}, {16, 32}, {{"Y", "ssd"}}, {}, "");
  add("ttm-chain", "Y(i,r,s) = T(i,j,k) * U(j,r) * V(k,s)", Baseline::ttm_chain, {"kjv_trigram", "wn18"}, {16}, {{"Y", "sdd"}},
      {}, "");
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

  const auto add_ttmc = [&](const std::string& name, const std::vector<std::uint64_t>& ranks) {
    for (const std::uint64_t rank : ranks)
      if (data.has(name))
        all.push_back({.name = "ttmc/" + name + "/r" + std::to_string(rank),
                       .expression = "A(i,r,s) = T(i,j,k) * B(j,r) * C(k,s)",
                       .data = name,
                       .baseline = Baseline::ttmc,
                       .rank = rank});
  };
  add_ttmc("uniform3", {16, 32});
  add_ttmc("power3", {16, 32});
  add_ttmc("fb15k237", {16});
  all.push_back({"spmv/matrix200k", "y(i) = T(i,j) * x(j)", "matrix200k", Baseline::spmv, 0, 1});
  for (const std::uint64_t rank : {16, 32, 64})
    all.push_back({"spmm/matrix200k/r" + std::to_string(rank), "A(i,r) = T(i,j) * B(j,r)", "matrix200k", Baseline::spmm, 0,
                   rank});
  for (const std::string size : {"four60", "four120", "four200", "four200dense"})
    all.push_back({.name = "four-sparse/" + size,
                   .expression = "R(i,j,k) = A(i,p,q) * B(j,p,r) * C(k,q,r) * D(j,k,r)",
                   .data = size,
                   .baseline = Baseline::four_sparse,
                   .sparse = {{"A", size + ".1"}, {"B", size + ".2"}, {"C", size + ".3"}, {"D", size + ".4"}},
                   .formats = {{"R", "ddd"}}});
  add_products(all, data);
  add_patterns(all, data);
  return all;
}

Expected<std::map<std::string, Tensor>> operands(const Problem& problem, Data& data, const Resources& resources) {
  const auto parsed = parse_expression(problem.expression);
  if (!parsed) return std::unexpected(parsed.error());
  std::map<std::string, Tensor> named;
  std::map<std::string, std::uint64_t> extents;
  const auto factors_do = [&](const std::function<Expected<void>(const ParsedAccess&)>& action) -> Expected<void> {
    std::set<std::string> assigned;
    for (const ParsedAssignment& assignment : parsed->assignments) {
      for (const ParsedAccess& factor : assignment.terms.front().factors)
        if (!assigned.contains(factor.name))
          if (auto done = action(factor); !done) return done;
      assigned.insert(assignment.result.name);
    }
    return {};
  };
  const auto read = [&](const ParsedAccess& factor) -> Expected<void> {
    const auto other = problem.sparse.find(factor.name);
    if (factor.name != "T" && other == problem.sparse.end()) return {};
    auto tensor = data.tensor(other == problem.sparse.end() ? problem.data : other->second, resources);
    if (tensor && !problem.stored.empty()) {
      const auto format = parse_format(problem.stored);
      if (!format) return std::unexpected(format.error());
      tensor = convert(*tensor, *format, resources, factor.name);
    }
    if (!tensor) return std::unexpected(tensor.error());
    for (std::size_t mode = 0; mode < factor.indices.size(); ++mode)
      extents[factor.indices[mode].name] = tensor->extents()[mode];
    named[factor.name] = std::move(*tensor);
    return {};
  };
  const auto draw = [&](const ParsedAccess& factor) -> Expected<void> {
    if (named.contains(factor.name)) return {};
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
    return {};
  };
  if (auto done = factors_do(read); !done) return std::unexpected(done.error());
  if (auto done = factors_do(draw); !done) return std::unexpected(done.error());
  return named;
}

}  // namespace weft::bench
