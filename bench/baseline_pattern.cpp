// Results with the pattern of T: every stored entry times a sum over dense rows (SDDMM, TTTP), alone or multiplied on
// (SDDMM, then SpMM); and with the pattern of its leading modes: tensor times matrix, in one mode or two.
#include <array>

#include "bench/baseline.h"
#include "bench/csf.h"
#include "bench/row.h"

namespace weft::bench {
namespace {

constexpr std::uint32_t ahead = 16;  // leaves between fetching a row and reading it

// Inlined before GCC finds that a function which only prefetches has no effects, and leaves its calls out.
template <int R>
[[gnu::always_inline]] inline void fetch(const double* row) {
  for (int n = 0; n < R; n += 8) __builtin_prefetch(row + n);
}

template <int R>
inline double dot(const Row<R>& row, const double* __restrict other) {
  const auto* from = reinterpret_cast<const LooseVector*>(other);
  Vector sum = row.part[0] * from[0];
  for (int n = 1; n < Row<R>::count; ++n) sum += row.part[n] * from[n];
  double total = 0;
  for (int lane = 0; lane < 8; ++lane) total += sum[lane];
  return total;
}

template <int R>
inline Row<R> load(const double* from) {
  Row<R> row;
  row.clear();
  row.add_scaled(1, from);
  return row;
}

template <int R>
inline Row<R> product(const double* left, const double* right) {
  Row<R> row;
  row.clear();
  row.add_product(load<R>(left), right);
  return row;
}

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

using Body = std::function<void(std::uint32_t begin, std::uint32_t end, double* result)>;  // over root positions

BaselineKernel by_chunks(const Csf& csf, Tensor result, bool cleared, Body body) {
  const std::size_t size = result.values().as<double>().size();
  return over_values(
      [csf, cleared, size, body = std::move(body)](const Threads& threads, double* values) {
        if (cleared) clear(values, size, threads);
        threads.for_each(csf.chunks.size() - 1, [&](std::size_t chunk, unsigned) {
          body(csf.chunks[chunk], csf.chunks[chunk + 1], values);
        });
      },
      std::move(result));
}

template <int R>
BaselineKernel sampled(const Csf& csf, const Factors& factors, Tensor result) {
  const std::uint32_t leaves = static_cast<std::uint32_t>(csf.owner.nnz());
  const std::size_t last = csf.order - 1;
  // The leaves below one position, whose row is `row`.
  const auto entries = [csf, factors, last, leaves](std::uint32_t parent, const Row<R>& row, double* result_values) {
    const double* rows = factors.values[last];
    const std::uint32_t* crd = csf.crd[last];
    for (std::uint32_t at = csf.pos[last][parent]; at < csf.pos[last][parent + 1]; ++at) {
      fetch<R>(rows + std::size_t{crd[std::min(at + ahead, leaves - 1)]} * R);
      result_values[at] = csf.values[at] * dot(row, rows + std::size_t{crd[at]} * R);
    }
  };
  return by_chunks(csf, std::move(result), false, [=](std::uint32_t begin, std::uint32_t end, double* values) {
    for (std::uint32_t root = begin; root < end; ++root) {
      const double* first = factors.values[0] + std::size_t{csf.crd[0][root]} * R;
      if (last == 1)
        entries(root, load<R>(first), values);
      else
        for (std::uint32_t at = csf.pos[1][root]; at < csf.pos[1][root + 1]; ++at)
          entries(at, product<R>(first, factors.values[1] + std::size_t{csf.crd[1][at]} * R), values);
    }
  });
}

template <int R>
BaselineKernel sampled_product(const Csf& csf, const Factors& factors, Tensor result) {
  const std::uint32_t leaves = static_cast<std::uint32_t>(csf.owner.nnz());
  return by_chunks(csf, std::move(result), true, [=](std::uint32_t begin, std::uint32_t end, double* values) {
    for (std::uint32_t root = begin; root < end; ++root) {
      const Row<R> row = load<R>(factors.values[0] + std::size_t{csf.crd[0][root]} * R);
      Row<R> sum;
      sum.clear();
      for (std::uint32_t at = csf.pos[1][root]; at < csf.pos[1][root + 1]; ++at) {
        const std::size_t next = std::size_t{csf.crd[1][std::min(at + ahead, leaves - 1)]} * R;
        fetch<R>(factors.values[1] + next);
        fetch<R>(factors.values[2] + next);
        const std::size_t column = std::size_t{csf.crd[1][at]} * R;
        sum.add_scaled(csf.values[at] * dot(row, factors.values[1] + column), factors.values[2] + column);
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
BaselineKernel ttm(const Csf& csf, const Factors& factors, Tensor result) {
  return by_chunks(csf, std::move(result), false, [=](std::uint32_t begin, std::uint32_t end, double* values) {
    for (std::uint32_t fiber = csf.pos[1][begin]; fiber < csf.pos[1][end]; ++fiber)
      fiber_row<R>(csf, factors.values[0], fiber).store(values + std::size_t{fiber} * R);
  });
}

template <int R>
BaselineKernel ttm_chain(const Csf& csf, const Factors& factors, Tensor result) {
  return by_chunks(csf, std::move(result), true, [=](std::uint32_t begin, std::uint32_t end, double* values) {
    for (std::uint32_t root = begin; root < end; ++root) {
      double* const block = values + std::size_t{root} * R * R;
      for (std::uint32_t fiber = csf.pos[1][root]; fiber < csf.pos[1][root + 1]; ++fiber) {
        const Row<R> row = fiber_row<R>(csf, factors.values[1], fiber);
        const double* scales = factors.values[0] + std::size_t{csf.crd[1][fiber]} * R;
        for (int r = 0; r < R; ++r) {
          auto* into = reinterpret_cast<LooseVector*>(block + r * R);
          for (int n = 0; n < Row<R>::count; ++n) into[n] += scales[r] * row.part[n];
        }
      }
    }
  });
}

// T's own levels, or its first ones above dense levels of extent R; fresh values.
Expected<Tensor> result_over(const Csf& csf, std::size_t levels, std::size_t dense, std::uint64_t rank,
                             const Resources& resources) {
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
Expected<BaselineKernel> of_rank(const Problem& problem, const Csf& csf, const std::map<std::string, Tensor>& operands,
                                 const Resources& resources) {
  std::vector<std::string> names = {"A", "B"};
  if (csf.order == 3) names.push_back("C");
  Expected<Tensor> result = Tensor();
  switch (problem.baseline) {
    case Baseline::sampled:
      if (result = result_over(csf, csf.order, 0, R, resources); !result) break;
      return sampled<R>(csf, Factors::of(operands, names), std::move(*result));
    case Baseline::sampled_product:
      if (result = dense_zeros({csf.owner.extents()[0], R}, dense_format(2), resources, "result"); !result) break;
      return sampled_product<R>(csf, Factors::of(operands, {"A", "B", "D"}), std::move(*result));
    case Baseline::ttm:
      if (result = result_over(csf, 2, 1, R, resources); !result) break;
      return ttm<R>(csf, Factors::of(operands, {"U"}), std::move(*result));
    case Baseline::ttm_chain:
      if (result = result_over(csf, 1, 2, R, resources); !result) break;
      return ttm_chain<R>(csf, Factors::of(operands, {"U", "V"}), std::move(*result));
    default:
      return input_error("no such hand-written kernel");
  }
  return std::unexpected(result.error());
}

}  // namespace

Expected<BaselineKernel> make_pattern_baseline(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                               const Resources& resources) {
  const auto csf = make_csf(operands.at("T"), 0, resources);
  if (!csf) return std::unexpected(csf.error());
  if (problem.rank == 16) return of_rank<16>(problem, *csf, operands, resources);
  if (problem.rank == 32) return of_rank<32>(problem, *csf, operands, resources);
  if (problem.rank == 64) return of_rank<64>(problem, *csf, operands, resources);
  return input_error("the hand-written kernels have rank 16, 32 or 64");
}

}  // namespace weft::bench
