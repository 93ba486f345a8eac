// R(i,j,k) = A(i,p,q) * B(j,p,r) * C(k,q,r) * D(j,k,r), all four sparse, in the loop order j, k, r, p, q, i: D filters
// first, and the two leading indices of every tensor are dense tables, so that nothing is ever searched.
#include <algorithm>
#include <vector>

#include "bench/baseline.h"

namespace weft::bench {
namespace {

// Levels dense, dense, compressed in the mode order given.
struct Table {
  Tensor owner;
  std::uint64_t second = 0;  // extent of the second level
  const std::uint32_t* pos = nullptr;
  const std::uint32_t* crd = nullptr;
  const double* values = nullptr;

  std::uint64_t row(std::uint64_t first, std::uint64_t inner) const { return first * second + inner; }
};

Expected<Table> table(const Tensor& tensor, const std::vector<std::uint32_t>& mode_order, const Resources& resources) {
  Format format = sparse_format(3);
  format.mode_order = mode_order;
  format.levels[0].kind = LevelKind::dense;
  format.levels[1].kind = LevelKind::dense;
  auto converted = convert(tensor, format, resources, "operand");
  if (!converted) return std::unexpected(converted.error());
  if (converted->format().levels[2].pos_bits != 32 || converted->format().levels[2].crd_bits != 32)
    return input_error("the hand-written kernels have 32-bit indices");
  Table made;
  made.owner = std::move(*converted);
  made.second = made.owner.extent_of_level(1);
  made.pos = made.owner.levels()[2].pos.as<const std::uint32_t>().data();
  made.crd = made.owner.levels()[2].crd.as<const std::uint32_t>().data();
  made.values = made.owner.values().as<const double>().data();
  return made;
}

}  // namespace

Expected<std::vector<BaselineVariant>> make_four_sparse_baselines(const std::map<std::string, Tensor>& operands,
                                                                  const Resources& resources) {
  const auto a = table(operands.at("A"), {1, 2, 0}, resources);  // p, q, i
  if (!a) return std::unexpected(a.error());
  const auto b = table(operands.at("B"), {0, 2, 1}, resources);  // j, r, p
  if (!b) return std::unexpected(b.error());
  const auto c = table(operands.at("C"), {0, 2, 1}, resources);  // k, r, q
  if (!c) return std::unexpected(c.error());
  const auto d = table(operands.at("D"), {0, 1, 2}, resources);  // j, k, r
  if (!d) return std::unexpected(d.error());
  const std::uint64_t extent_i = operands.at("A").extents()[0];
  const std::uint64_t extent_j = operands.at("D").extents()[0];
  const std::uint64_t extent_k = operands.at("D").extents()[1];
  BaselineRun run = [a = *a, b = *b, c = *c, d = *d, extent_i, extent_j, extent_k](const Threads& threads, double* result) {
    const std::uint64_t plane = extent_j * extent_k;
    clear(result, extent_i * plane, threads);
    // Some four rows of j a task: the rows weigh about the same.
    const std::uint64_t tasks = (extent_j + 3) / 4;
    threads.for_each(tasks, [&](std::size_t task, unsigned) {
      const std::uint64_t end_j = std::min<std::uint64_t>(extent_j, (task + 1) * 4);
      for (std::uint64_t j = task * 4; j < end_j; ++j)
        for (std::uint64_t k = 0; k < extent_k; ++k) {
          double* const column = result + j * extent_k + k;
          const std::uint64_t row_d = d.row(j, k);
          for (std::uint32_t at_d = d.pos[row_d]; at_d < d.pos[row_d + 1]; ++at_d) {
            const std::uint32_t r = d.crd[at_d];
            const std::uint64_t row_b = b.row(j, r);
            const std::uint64_t row_c = c.row(k, r);
            for (std::uint32_t at_b = b.pos[row_b]; at_b < b.pos[row_b + 1]; ++at_b) {
              const double db = d.values[at_d] * b.values[at_b];
              for (std::uint32_t at_c = c.pos[row_c]; at_c < c.pos[row_c + 1]; ++at_c) {
                const double dbc = db * c.values[at_c];
                const std::uint64_t row_a = a.row(b.crd[at_b], c.crd[at_c]);
                for (std::uint32_t at_a = a.pos[row_a]; at_a < a.pos[row_a + 1]; ++at_a)
                  column[a.crd[at_a] * plane] += dbc * a.values[at_a];
              }
            }
          }
        }
    });
  };
  return std::vector<BaselineVariant>{{"", std::move(run)}};
}

}  // namespace weft::bench
