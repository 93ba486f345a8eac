// MTTKRP of order three to five in the root mode of a CSF, with every partial row in registers. Nested: the factored algorithm of Smith,
// Ravindran, Sidiropoulos and Karypis, "SPLATT" (IPDPS 2015), with one row of sums for the innermost loop or two, which long fibers want.
// Flat: one loop over the entries below a root, which short fibers want.
#include <array>
#include <memory>

#include "bench/baseline.h"
#include "bench/csf.h"
#include "bench/row.h"

namespace weft::bench {
namespace {

/// What all variants over one CSF read.
struct MttkrpOperands {
  Csf csf;
  FlatEntries flat;
  std::array<const double*, highest_csf_order> factors{};  ///< by level
  std::vector<Tensor> owners;
};
using MttkrpShared = std::shared_ptr<const MttkrpOperands>;

/// The sum over the leaves below one position.
template <int R, int Level, bool Two>
inline Row<R> leaf_sum(const MttkrpOperands& given, std::uint32_t parent) {
  const std::uint32_t* const crd = given.csf.crd[Level];
  const double* const factor = given.factors[Level];
  Row<R> sum;
  sum.clear();
  std::uint32_t at = given.csf.pos[Level][parent];
  const std::uint32_t end = given.csf.pos[Level][parent + 1];
  if constexpr (Two) {
    Row<R> other;
    other.clear();
    for (; at + 2 <= end; at += 2) {
      sum.add_scaled(given.csf.values[at], factor + std::size_t{crd[at]} * R);
      other.add_scaled(given.csf.values[at + 1], factor + std::size_t{crd[at + 1]} * R);
    }
    sum.add(other);
  }
  for (; at < end; ++at) sum.add_scaled(given.csf.values[at], factor + std::size_t{crd[at]} * R);
  return sum;
}

/// The sum over the entries below position `parent`, of which level `Level` is the first.
template <int R, int Level, int Order, bool Two>
inline Row<R> below(const MttkrpOperands& given, std::uint32_t parent) {
  if constexpr (Level == Order - 1) {
    return leaf_sum<R, Level, Two>(given, parent);
  } else {
    Row<R> sum;
    sum.clear();
    const std::uint32_t end = given.csf.pos[Level][parent + 1];
    for (std::uint32_t position = given.csf.pos[Level][parent]; position < end; ++position)
      sum.add_product(below<R, Level + 1, Order, Two>(given, position),
                      given.factors[Level] + std::size_t{given.csf.crd[Level][position]} * R);
    return sum;
  }
}

template <int R, int Order, bool Two>
struct Nested {
  static Row<R> root(const MttkrpOperands& given, std::uint32_t root) { return below<R, 1, Order, Two>(given, root); }
};

template <int R, int Order, bool Fetched>
struct Flat {
  static Row<R> root(const MttkrpOperands& given, std::uint32_t root) {
    Row<R> sum;
    sum.clear();
    const std::uint32_t end = given.csf.first(root + 1);
    for (std::uint32_t at = given.csf.first(root); at < end; ++at) {
      if constexpr (Fetched)
        for (int level = 1; level < Order; ++level)
          fetch_row<R>(given.factors[level] + std::size_t{given.flat.crd[level][at + fetched_ahead]} * R);
      Row<R> product;
      product.set_scaled(given.csf.values[at], given.factors[1] + std::size_t{given.flat.crd[1][at]} * R);
      for (int level = 2; level + 1 < Order; ++level) product.multiply(given.factors[level] + std::size_t{given.flat.crd[level][at]} * R);
      sum.add_product(product, given.factors[Order - 1] + std::size_t{given.flat.crd[Order - 1][at]} * R);
    }
    return sum;
  }
};

template <int R, typename Kernel>
BaselineRun mttkrp_kernel(const MttkrpShared& given) {
  return [given](const Threads& threads, double* result) {
    const Csf& csf = given->csf;
    threads.for_each(csf.chunks.size() - 1, [&](std::size_t chunk, unsigned) {
      clear_rows_between(csf, chunk, R, result);
      for (std::uint32_t root = csf.chunks[chunk]; root < csf.chunks[chunk + 1]; ++root)
        Kernel::root(*given, root).store(result + std::size_t{csf.crd[0][root]} * R);
    });
  };
}

template <int R, int Order>
void add_of_order(std::vector<BaselineVariant>& variants, const MttkrpShared& given, const std::string& layout) {
  variants.push_back({"nested" + layout, mttkrp_kernel<R, Nested<R, Order, false>>(given)});
  variants.push_back({"nested, two sums" + layout, mttkrp_kernel<R, Nested<R, Order, true>>(given)});
  variants.push_back({"flat" + layout, mttkrp_kernel<R, Flat<R, Order, false>>(given)});
  variants.push_back({"flat, fetched" + layout, mttkrp_kernel<R, Flat<R, Order, true>>(given)});
}

template <int R>
Expected<void> add_of_rank(std::vector<BaselineVariant>& variants, const MttkrpShared& given, const std::string& layout) {
  switch (given->csf.order) {
    case 3: add_of_order<R, 3>(variants, given, layout); return {};
    case 4: add_of_order<R, 4>(variants, given, layout); return {};
    case 5: add_of_order<R, 5>(variants, given, layout); return {};
    default: return input_error("the hand-written MTTKRP has order 3 to 5");
  }
}

Expected<void> add_variants(std::vector<BaselineVariant>& variants, Csf csf, const Problem& problem,
                            const std::map<std::string, Tensor>& operands, const std::string& layout) {
  auto given = std::make_shared<MttkrpOperands>();
  given->csf = std::move(csf);
  given->flat = flat_entries(given->csf);
  for (std::size_t level = 1; level < given->csf.order; ++level) {
    given->owners.push_back(operands.at("F" + std::to_string(given->csf.owner.format().mode_order[level])));
    given->factors[level] = given->owners.back().values().as<const double>().data();
  }
  switch (problem.rank) {
    case 16: return add_of_rank<16>(variants, given, layout);
    case 32: return add_of_rank<32>(variants, given, layout);
    case 64: return add_of_rank<64>(variants, given, layout);
    default: return input_error("the hand-written MTTKRP has rank 16, 32 or 64");
  }
}

}  // namespace

Expected<std::vector<BaselineVariant>> make_mttkrp_baselines(const Problem& problem, const std::map<std::string, Tensor>& operands,
                                                             const Resources& resources) {
  std::vector<BaselineVariant> variants;
  auto csf = make_csf(operands.at("T"), problem.mode, resources);
  if (!csf) return std::unexpected(csf.error());
  const Format format = csf->owner.format();
  if (auto added = add_variants(variants, std::move(*csf), problem, operands, ""); !added) return std::unexpected(added.error());
  auto longer = make_csf_of_long_fibers(operands.at("T"), problem.mode, resources);
  if (!longer) return std::unexpected(longer.error());
  if (longer->owner.format() == format) return variants;
  if (auto added = add_variants(variants, std::move(*longer), problem, operands, ", long fibers"); !added)
    return std::unexpected(added.error());
  return variants;
}

}  // namespace weft::bench
