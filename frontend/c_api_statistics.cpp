// weft.h: what is known of tensors.
#include <fmt/format.h>

#include "frontend/c_api.h"
#include "frontend/named_operands.h"

using namespace weft;
using namespace weft::c_api;

int32_t weft_statistics_create(const char* format, const uint64_t* extents, double nnz, int32_t finite, weft_statistics** made,
                               weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_statistics*> {
    if (auto there = given(format, "format"); !there) return std::unexpected(there.error());
    auto parsed = parse_format(format);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    if (parsed->layout)
      return unsupported("figures are of entries in a plain format, such as ds; the layout of an operand is pinned when it is compiled");
    if (parsed->order() > 0) {
      if (auto there = given(extents, "extents"); !there) return std::unexpected(there.error());
    }
    double most = 1;
    for (std::size_t mode = 0; mode < parsed->order(); ++mode) most *= static_cast<double>(extents[mode]);
    if (!(nnz >= 0 && nnz <= most)) return input_error(fmt::format("{} entries: at most {} fit the extents", nnz, most));
    Statistics known({extents, extents + parsed->order()}, *parsed, nnz, {}, finite != 0);
    std::string text = known.text();
    return new weft_statistics{std::move(known), std::move(text)};
  });
}

int32_t weft_statistics_set_distinct(weft_statistics* statistics, uint32_t modes, double count, weft_error** error) {
  return setting(statistics, "statistics", error, [&]() -> Expected<void> {
    if (statistics->counted) return input_error("these statistics are counted from a tensor");
    const Statistics& known = statistics->known;
    if (modes == 0 || std::uint64_t{modes} >> known.extents().size() != 0) {
      return input_error(fmt::format("modes {:#x}: one or more of the lowest {} bits", modes, known.extents().size()));
    }
    if (!(count >= 0 && count <= known.nnz())) return input_error(fmt::format("{} distinct coordinates of {} entries", count, known.nnz()));
    auto distinct = statistics->distinct;
    distinct[modes] = count;
    Statistics changed(known.extents(), known.format(), known.nnz(), distinct, known.finite());
    statistics->text = changed.text();
    statistics->known = std::move(changed);
    statistics->distinct = std::move(distinct);
    return {};
  });
}

int32_t weft_statistics_of(const weft_engine* engine, const weft_tensor* tensor, weft_statistics** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_statistics*> {
    if (auto there = all(given(engine, "engine"), given(tensor, "tensor")); !there) return std::unexpected(there.error());
    const Statistics& known = weft::statistics(tensor->tensor, engine->resources().threads);
    return new weft_statistics{known, known.text(), true};
  });
}

double weft_statistics_nnz(const weft_statistics* statistics) { return statistics ? statistics->known.nnz() : 0; }

double weft_statistics_distinct(const weft_statistics* statistics, uint32_t modes) {
  return statistics ? statistics->known.distinct(modes) : 0;
}

int32_t weft_statistics_finite(const weft_statistics* statistics) { return statistics && statistics->known.finite() ? 1 : 0; }

int32_t weft_statistics_fibers(const weft_statistics* statistics, uint32_t level, double* mean, uint64_t* maximum, double* spread,
                               weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = given(statistics, "statistics"); !there) return there;
    const std::size_t order = statistics->known.extents().size();
    if (level >= order) return input_error(fmt::format("level {} of a tensor with {}: they begin at 0", level, order));
    const FiberLengths fibers = statistics->known.fibers(level);
    if (mean) *mean = fibers.mean;
    if (maximum) *maximum = fibers.maximum;
    if (spread) *spread = fibers.spread;
    return {};
  });
}

const char* weft_statistics_text(const weft_statistics* statistics) { return statistics ? statistics->text.c_str() : ""; }
void weft_statistics_free(weft_statistics* statistics) { delete statistics; }
