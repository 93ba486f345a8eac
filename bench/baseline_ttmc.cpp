// TTMc of order three in the root mode of a CSF: the row of each fiber of the last mode is computed in registers and put aside; the outer
// products of a batch of fibers are added to the root's matrix together, tile by tile, so that it is read and written once per batch.
#include <algorithm>
#include <memory>

#include "bench/baseline.h"
#include "bench/csf.h"
#include "bench/row.h"

namespace weft::bench {
namespace {

struct TtmcOperands {
  Csf csf;
  std::vector<Tensor> owners;
  const double* middle = nullptr;
  const double* last = nullptr;
};
using TtmcShared = std::shared_ptr<const TtmcOperands>;

template <int R>
struct Waiting {
  alignas(64) double rows[32][R];
  const double* scales[32];
  int count = 0;
};

/// Has the compiler take the row for something that it cannot load again: else it does so for every row of the tile.
template <int R>
inline void hold_row(Row<R>& row) {
#ifdef __AVX512F__
  for (int n = 0; n < Row<R>::count; ++n) asm("" : "+v"(row.part[n].part[0]));
#else
  static_cast<void>(row);
#endif
}

/// Sixteen vectors of the matrix: rows from `top` on, all of their columns.
template <int R>
inline void add_to_tile(const Waiting<R>& waiting, double* __restrict matrix, int top, bool fresh) {
  constexpr int columns = R / 8;
  constexpr int rows = 16 / columns;
  Vector tile[rows][columns];
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      tile[r][c] = fresh ? Vector{} : loaded(matrix + (top + r) * R + c * 8);
  for (int n = 0; n < waiting.count; ++n) {
    Row<R> row;
    row.load(waiting.rows[n]);
    hold_row(row);
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) tile[r][c] += waiting.scales[n][top + r] * row.part[c];
  }
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) stored(matrix + (top + r) * R + c * 8, tile[r][c]);
}

template <int R, int Batch>
void root_matrix(const TtmcOperands& given, std::uint32_t root, Waiting<R>& waiting, double* __restrict matrix) {
  const Csf& csf = given.csf;
  bool fresh = true;
  const std::uint32_t end = csf.pos[1][root + 1];
  for (std::uint32_t fiber = csf.pos[1][root]; fiber < end;) {
    waiting.count = static_cast<int>(std::min<std::uint32_t>(Batch, end - fiber));
    for (int n = 0; n < waiting.count; ++n, ++fiber) {
      Row<R> row;
      row.clear();
      for (std::uint32_t at = csf.pos[2][fiber]; at < csf.pos[2][fiber + 1]; ++at)
        row.add_scaled(csf.values[at], given.last + std::size_t{csf.crd[2][at]} * R);
      row.store(waiting.rows[n]);
      waiting.scales[n] = given.middle + std::size_t{csf.crd[1][fiber]} * R;
    }
    for (int top = 0; top < R; top += 128 / R) add_to_tile<R>(waiting, matrix, top, fresh);
    fresh = false;
  }
}

template <int R, int Batch>
BaselineRun ttmc_kernel(const TtmcShared& given) {
  return [given](const Threads& threads, double* result) {
    const Csf& csf = given->csf;
    threads.for_each(csf.chunks.size() - 1, [&](std::size_t chunk, unsigned) {
      Waiting<R> waiting;
      clear_rows_between(csf, chunk, R * R, result);
      for (std::uint32_t root = csf.chunks[chunk]; root < csf.chunks[chunk + 1]; ++root)
        root_matrix<R, Batch>(*given, root, waiting, result + std::size_t{csf.crd[0][root]} * R * R);
    });
  };
}

template <int R>
std::vector<BaselineVariant> ttmc_of_rank(const TtmcShared& given) {
  return {{"batches of 8", ttmc_kernel<R, 8>(given)},
          {"batches of 16", ttmc_kernel<R, 16>(given)},
          {"batches of 32", ttmc_kernel<R, 32>(given)}};
}

}  // namespace

Expected<std::vector<BaselineVariant>> make_ttmc_baselines(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                                           const Resources& resources) {
  auto csf = make_csf(operands.at("T"), 0, resources);
  if (!csf) return std::unexpected(csf.error());
  if (csf->order != 3) return input_error("the hand-written TTMc has order 3");
  auto given = std::make_shared<TtmcOperands>();
  given->csf = std::move(*csf);
  given->owners = {operands.at("B"), operands.at("C")};
  given->middle = given->owners[0].values().as<const double>().data();
  given->last = given->owners[1].values().as<const double>().data();
  if (problem.rank == 16) return ttmc_of_rank<16>(given);
  if (problem.rank == 32) return ttmc_of_rank<32>(given);
  return input_error("the hand-written TTMc has rank 16 or 32");
}

}  // namespace weft::bench
