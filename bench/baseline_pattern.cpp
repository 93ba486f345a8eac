// Results with the pattern of T: every stored entry times a sum over dense rows (SDDMM, TTTP), alone or multiplied on
// (SDDMM, then SpMM); and with the pattern of its leading modes: tensor times matrix, in one mode or two.
#include <algorithm>
#include <array>
#include <memory>

#include "bench/baseline.h"
#include "bench/csf.h"
#include "bench/row.h"

namespace weft::bench {
namespace {

struct Factors {
  std::vector<Tensor> owners;
  std::array<const double*, 3> values{};

  static Factors of(const std::map<std::string, Tensor>& operands, const std::vector<std::string>& names) {
    Factors made;
    for (const std::string& name : names) {
      made.owners.push_back(operands.at(name));
      made.values[made.owners.size() - 1] = made.owners.back().values().as<const double>().data();
    }
    return made;
  }
};

// Over the roots of a chunk.
using Body = std::function<void(const Csf& csf, std::size_t chunk, std::uint32_t begin, std::uint32_t end, double* values)>;

BaselineVariant by_chunks(const std::string& name, const Csf& csf, Body body) {
  return {name, [csf, body = std::move(body)](const Threads& threads, double* values) {
            threads.for_each(csf.chunks.size() - 1,
                             [&](std::size_t chunk, unsigned) { body(csf, chunk, csf.chunks[chunk], csf.chunks[chunk + 1], values); });
          }};
}

// The leaves below one position, whose row is `row`.
template <int R, bool Fetched>
inline void sample_leaves(const Csf& csf, const double* factor, std::uint32_t parent, const Row<R>& row, double* values) {
  const std::size_t last = csf.order - 1;
  const std::uint32_t* const crd = csf.crd[last];
  const std::uint32_t leaves = csf.first(csf.roots);
  for (std::uint32_t at = csf.pos[last][parent]; at < csf.pos[last][parent + 1]; ++at) {
    if constexpr (Fetched) fetch_row<R>(factor + std::size_t{crd[std::min(at + fetched_ahead, leaves - 1)]} * R);
    values[at] = csf.values[at] * row.dot(factor + std::size_t{crd[at]} * R);
  }
}

template <int R, bool Fetched>
BaselineVariant sampled(const std::string& name, const Csf& given, const Factors& factors) {
  return by_chunks(name, given, [factors](const Csf& csf, std::size_t, std::uint32_t begin, std::uint32_t end, double* values) {
    const double* const last = factors.values[csf.order - 1];
    for (std::uint32_t root = begin; root < end; ++root) {
      Row<R> first;
      first.load(factors.values[0] + std::size_t{csf.crd[0][root]} * R);
      if (csf.order == 2) {
        sample_leaves<R, Fetched>(csf, last, root, first, values);
        continue;
      }
      for (std::uint32_t at = csf.pos[1][root]; at < csf.pos[1][root + 1]; ++at) {
        Row<R> row = first;
        row.multiply(factors.values[1] + std::size_t{csf.crd[1][at]} * R);
        sample_leaves<R, Fetched>(csf, last, at, row, values);
      }
    }
  });
}

// Of order three: one loop over the entries below a root.
template <int R, bool Fetched>
BaselineVariant sampled_flat(const std::string& name, const Csf& given, const std::shared_ptr<const FlatEntries>& flat,
                             const Factors& factors) {
  return by_chunks(name, given, [flat, factors](const Csf& csf, std::size_t, std::uint32_t begin, std::uint32_t end, double* values) {
    const std::uint32_t* const middle = flat->crd[1].data();
    const std::uint32_t* const last = flat->crd[2].data();
    for (std::uint32_t root = begin; root < end; ++root) {
      Row<R> first;
      first.load(factors.values[0] + std::size_t{csf.crd[0][root]} * R);
      const std::uint32_t stop = csf.first(root + 1);
      for (std::uint32_t at = csf.first(root); at < stop; ++at) {
        if constexpr (Fetched) {
          fetch_row<R>(factors.values[1] + std::size_t{middle[at + fetched_ahead]} * R);
          fetch_row<R>(factors.values[2] + std::size_t{last[at + fetched_ahead]} * R);
        }
        Row<R> row = first;
        row.multiply(factors.values[1] + std::size_t{middle[at]} * R);
        values[at] = csf.values[at] * row.dot(factors.values[2] + std::size_t{last[at]} * R);
      }
    }
  });
}

template <int R, bool Fetched>
BaselineVariant sampled_product(const std::string& name, const Csf& given, const Factors& factors) {
  return by_chunks(name, given, [factors](const Csf& csf, std::size_t chunk, std::uint32_t begin, std::uint32_t end, double* values) {
    const std::uint32_t leaves = csf.first(csf.roots);
    clear_rows_between(csf, chunk, R, values);
    for (std::uint32_t root = begin; root < end; ++root) {
      Row<R> row;
      row.load(factors.values[0] + std::size_t{csf.crd[0][root]} * R);
      Row<R> sum;
      sum.clear();
      for (std::uint32_t at = csf.pos[1][root]; at < csf.pos[1][root + 1]; ++at) {
        if constexpr (Fetched) {
          const std::size_t next = std::size_t{csf.crd[1][std::min(at + fetched_ahead, leaves - 1)]} * R;
          fetch_row<R>(factors.values[1] + next);
          fetch_row<R>(factors.values[2] + next);
        }
        const std::size_t column = std::size_t{csf.crd[1][at]} * R;
        sum.add_scaled(csf.values[at] * row.dot(factors.values[1] + column), factors.values[2] + column);
      }
      sum.store(values + std::size_t{csf.crd[0][root]} * R);
    }
  });
}

// The row of one fiber of the last mode.
template <int R>
inline Row<R> fiber_row(const Csf& csf, const double* factor, std::uint32_t fiber) {
  Row<R> sum;
  sum.clear();
  for (std::uint32_t at = csf.pos[2][fiber]; at < csf.pos[2][fiber + 1]; ++at)
    sum.add_scaled(csf.values[at], factor + std::size_t{csf.crd[2][at]} * R);
  return sum;
}

template <int R>
BaselineVariant ttm(const Csf& given, const Factors& factors) {
  return by_chunks("", given, [factors](const Csf& csf, std::size_t, std::uint32_t begin, std::uint32_t end, double* values) {
    for (std::uint32_t fiber = csf.pos[1][begin]; fiber < csf.pos[1][end]; ++fiber)
      fiber_row<R>(csf, factors.values[0], fiber).store(values + std::size_t{fiber} * R);
  });
}

template <int R>
BaselineVariant ttm_chain(const Csf& given, const Factors& factors) {
  return by_chunks("", given, [factors](const Csf& csf, std::size_t, std::uint32_t begin, std::uint32_t end, double* values) {
    for (std::uint32_t root = begin; root < end; ++root) {
      double* const block = values + std::size_t{root} * R * R;
      std::fill(block, block + R * R, 0.0);
      for (std::uint32_t fiber = csf.pos[1][root]; fiber < csf.pos[1][root + 1]; ++fiber) {
        const Row<R> row = fiber_row<R>(csf, factors.values[1], fiber);
        const double* scales = factors.values[0] + std::size_t{csf.crd[1][fiber]} * R;
        for (int r = 0; r < R; ++r) {
          double* const into = block + r * R;
          for (int n = 0; n < Row<R>::count; ++n) stored(into + 8 * n, loaded(into + 8 * n) + scales[r] * row.part[n]);
        }
      }
    }
  });
}

// T's own levels, or its first ones above dense levels of extent R; fresh values.
Expected<Tensor> result_over(const Csf& csf, std::size_t levels, std::size_t dense, std::uint64_t rank, const Resources& resources) {
  TensorArrays made;
  made.format = sparse_format(levels + dense);
  std::uint64_t size = csf.owner.positions(levels - 1);
  for (std::size_t level = 0; level < levels + dense; ++level) {
    made.extents.push_back(level < levels ? csf.owner.extents()[level] : rank);
    made.levels.push_back(level < levels ? csf.owner.levels()[level] : LevelArrays());
    if (level < levels) continue;
    made.format.levels[level].kind = LevelKind::dense;
    size *= rank;
  }
  auto values = Buffer::allocate(size * sizeof(double), resources.memory, "result");
  if (!values) return std::unexpected(values.error());
  made.values = std::move(*values);
  return Tensor(std::move(made));
}

template <int R>
std::vector<BaselineVariant> sampled_variants(const Csf& csf, const Factors& factors) {
  std::vector<BaselineVariant> variants = {sampled<R, true>("nested, fetched", csf, factors), sampled<R, false>("nested", csf, factors)};
  if (csf.order == 2) return variants;
  const auto flat = std::make_shared<const FlatEntries>(flat_entries(csf));
  variants.push_back(sampled_flat<R, true>("flat, fetched", csf, flat, factors));
  variants.push_back(sampled_flat<R, false>("flat", csf, flat, factors));
  return variants;
}

template <int R>
Expected<std::vector<BaselineKernel>> of_rank(const Problem& problem, const Csf& csf, const std::map<std::string, Tensor>& operands,
                                              const Resources& resources) {
  std::vector<std::string> names = {"A", "B"};
  if (csf.order == 3) names.push_back("C");
  Expected<Tensor> result = Tensor();
  std::vector<BaselineVariant> variants;
  switch (problem.baseline) {
    case Baseline::sampled:
      result = result_over(csf, csf.order, 0, R, resources);
      variants = sampled_variants<R>(csf, Factors::of(operands, names));
      break;
    case Baseline::sampled_product: {
      result = dense_zeros({csf.owner.extents()[0], R}, dense_format(2), resources, "result");
      const Factors factors = Factors::of(operands, {"A", "B", "D"});
      variants = {sampled_product<R, true>("fetched", csf, factors), sampled_product<R, false>("not fetched", csf, factors)};
      break;
    }
    case Baseline::ttm:
      result = result_over(csf, 2, 1, R, resources);
      variants = {ttm<R>(csf, Factors::of(operands, {"U"}))};
      break;
    case Baseline::ttm_chain:
      result = result_over(csf, 1, 2, R, resources);
      variants = {ttm_chain<R>(csf, Factors::of(operands, {"U", "V"}))};
      break;
    default: return input_error("no such hand-written kernel");
  }
  if (!result) return std::unexpected(result.error());
  return over_values(variants, std::move(*result));
}

}  // namespace

Expected<std::vector<BaselineKernel>> make_pattern_baselines(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                                             const Resources& resources) {
  const auto csf = make_csf(operands.at("T"), 0, resources);
  if (!csf) return std::unexpected(csf.error());
  if (problem.rank == 16) return of_rank<16>(problem, *csf, operands, resources);
  if (problem.rank == 32) return of_rank<32>(problem, *csf, operands, resources);
  if (problem.rank == 64) return of_rank<64>(problem, *csf, operands, resources);
  return input_error("the hand-written kernels have rank 16, 32 or 64");
}

}  // namespace weft::bench
