#include "bench/reference.h"

#include <vector>

#include <fmt/format.h>

#include "frontend/parse.h"

namespace weft::bench {
namespace {

// One access with the numbers of its indices and row-major strides.
struct Access {
  std::vector<std::size_t> indices;
  std::vector<std::uint64_t> strides;
  const double* values = nullptr;

  std::uint64_t offset(const std::vector<std::uint64_t>& at) const {
    std::uint64_t sum = 0;
    for (std::size_t mode = 0; mode < indices.size(); ++mode) sum += at[indices[mode]] * strides[mode];
    return sum;
  }
};

class Numbering {
 public:
  std::size_t number(const std::string& name, std::uint64_t extent) {
    const auto [place, added] = numbers_.try_emplace(name, numbers_.size());
    if (added) extents.push_back(extent);
    return place->second;
  }
  std::vector<std::uint64_t> extents;

 private:
  std::map<std::string, std::size_t> numbers_;
};

Access access(const ParsedAccess& parsed, const Tensor& tensor, Numbering& numbering) {
  Access made;
  made.strides.assign(parsed.indices.size(), 1);
  for (std::size_t mode = parsed.indices.size(); mode-- > 0;) {
    if (mode + 1 < parsed.indices.size()) made.strides[mode] = made.strides[mode + 1] * tensor.extents[mode + 1];
  }
  for (std::size_t mode = 0; mode < parsed.indices.size(); ++mode)
    made.indices.push_back(numbering.number(parsed.indices[mode].name, tensor.extents[mode]));
  made.values = tensor.values.as<const double>().data();
  return made;
}

}  // namespace

Expected<void> check_slices(const std::string& expression, const std::map<std::string, Tensor>& operands,
                            const Tensor& result, const Resources& resources) {
  const auto parsed = parse_expression(expression);
  if (!parsed) return std::unexpected(parsed.error());
  const ParsedAssignment& assignment = parsed->assignments.front();
  Numbering numbering;
  std::size_t sparse_indices = 0;
  std::vector<Access> dense;
  for (const ParsedAccess& factor : assignment.terms.front().factors) {
    Access made = access(factor, operands.at(factor.name), numbering);
    if (factor.name == "T")
      sparse_indices = made.indices.size();  // T comes first, so its modes are the indices 0, 1, …
    else
      dense.push_back(std::move(made));
  }
  const Access target = access(assignment.result, result, numbering);
  const auto listed = entries(operands.at("T"), false, resources);
  if (!listed) return std::unexpected(listed.error());

  const std::uint64_t step = result.extents[0] / 16 + 1;
  const std::uint64_t slice = target.strides[0];
  std::vector<double> expected((result.extents[0] + step - 1) / step * slice, 0.0);
  const auto values = listed->values.as<const double>();
  std::vector<std::uint64_t> at(numbering.extents.size(), 0);
  for (std::uint64_t n = 0; n < listed->count; ++n) {
    for (std::size_t mode = 0; mode < sparse_indices; ++mode)
      at[mode] = numbering.extents[mode] <= std::uint64_t{1} << 32 ? listed->crd[mode].as<const std::uint32_t>()[n]
                                                                   : listed->crd[mode].as<const std::uint64_t>()[n];
    const std::uint64_t first = at[target.indices[0]];
    if (first % step != 0) continue;
    // Every combination of the indices that T does not have, like the digits of a counter.
    for (bool more = true; more;) {
      double product = values[n];
      for (const Access& factor : dense) product *= factor.values[factor.offset(at)];
      expected[first / step * slice + (target.offset(at) - first * slice)] += product;
      std::size_t digit = sparse_indices;
      while (digit < at.size() && ++at[digit] == numbering.extents[digit]) at[digit++] = 0;
      more = digit < at.size();
    }
  }
  const auto got = result.values.as<const double>();
  for (std::uint64_t n = 0; n < expected.size(); ++n) {
    const std::uint64_t place = n / slice * step * slice + n % slice;
    if (got[place] != expected[n])
      return internal_error(fmt::format("element {} of the result is {} but should be {}", place, got[place], expected[n]));
  }
  return {};
}

Expected<void> check_equal(const Tensor& result, const double* expected, const std::string& what) {
  const auto got = result.values.as<const double>();
  for (std::size_t n = 0; n < got.size(); ++n)
    if (got[n] != expected[n])
      return internal_error(fmt::format("element {} of the result is {} but {} gives {}", n, got[n], what, expected[n]));
  return {};
}

}  // namespace weft::bench
