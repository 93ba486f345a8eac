#include "bench/reference.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/parse.h"

namespace weft::bench {
namespace {

// One factor. Sparse ones are listed by the coordinates of the indices that the factors before them have.
struct Access {
  std::vector<std::size_t> indices;
  std::vector<bool> known;  // by mode: bound by factors before
  const double* values = nullptr;
  std::vector<std::uint64_t> strides;  // dense; empty: sparse
  std::vector<Tuple> tuples;           // sparse: by entry
  std::unordered_map<Tuple, std::vector<std::uint32_t>, TupleHash> entries_of;
};

class Definition {
 public:
  Definition(const ParsedAssignment& assignment, const std::map<std::string, Tensor>& operands) {
    for (const ParsedAccess& factor : assignment.terms.front().factors)
      for (std::size_t mode = 0; mode < factor.indices.size(); ++mode)
        index(factor.indices[mode].name, operands.at(factor.name).extents()[mode]);
    for (const ParsedIndex& result : assignment.result.indices) target_.push_back(index(result.name, 0));
    first_ = target_.empty() ? extents_.size() : target_[0];
    step_ = target_.empty() ? 1 : extents_[first_] / 16 + 1;
  }

  std::uint64_t step() const { return step_; }

  // Sparse factors first, that with the result's first index before all others, then whichever shares an index.
  Expected<void> add_factors(const ParsedAssignment& assignment, const std::map<std::string, Tensor>& operands,
                             const Resources& resources) {
    std::vector<ParsedAccess> left = assignment.terms.front().factors;
    std::vector<bool> bound(extents_.size(), false);
    while (!left.empty()) {
      const auto rank = [&](const ParsedAccess& factor) {
        const bool dense = operands.at(factor.name).format().all_dense();
        const bool shares = std::ranges::any_of(factor.indices, [&](const ParsedIndex& own) {
          const std::size_t number = index(own.name, 0);
          return accesses_.empty() ? number == first_ : bound[number];
        });
        return (dense ? 0 : 2) + (shares ? 1 : 0);
      };
      const auto next = std::ranges::max_element(left, {}, rank);
      if (auto added = add(*next, operands.at(next->name), bound, resources); !added) return added;
      left.erase(next);
    }
    return {};
  }

  std::unordered_map<Tuple, double, TupleHash> evaluate() {
    at_.assign(extents_.size(), 0);
    sums_.clear();
    combine(0, 1);
    return std::move(sums_);
  }

 private:
  std::size_t index(const std::string& name, std::uint64_t extent) {
    const auto [place, added] = numbers_.try_emplace(name, numbers_.size());
    if (added) extents_.push_back(extent);
    return place->second;
  }

  Expected<void> add(const ParsedAccess& parsed, const Tensor& tensor, std::vector<bool>& bound, const Resources& resources) {
    Access made;
    for (const ParsedIndex& own : parsed.indices) {
      made.indices.push_back(index(own.name, 0));
      made.known.push_back(bound[made.indices.back()]);
    }
    if (tensor.format().all_dense()) {
      made.strides.assign(parsed.indices.size(), 1);
      for (std::size_t mode = parsed.indices.size(); mode-- > 1;) made.strides[mode - 1] = made.strides[mode] * tensor.extents()[mode];
      made.values = tensor.values().as<const double>().data();
    } else {
      auto listed = entries(tensor, false, resources);
      if (!listed) return std::unexpected(listed.error());
      const auto& kept = kept_.emplace_back(std::move(*listed));
      made.values = kept.values.as<const double>().data();
      made.tuples.resize(kept.count, Tuple(parsed.indices.size()));
      for (std::size_t mode = 0; mode < parsed.indices.size(); ++mode) {
        if (kept.extents[mode] > std::uint64_t{1} << 32) return input_error("the check has 32-bit coordinates");
        const auto crd = kept.crd[mode].as<const std::uint32_t>();
        for (std::uint64_t n = 0; n < kept.count; ++n) made.tuples[n][mode] = crd[n];
      }
      for (std::uint32_t n = 0; n < kept.count; ++n) {
        Tuple key;
        bool wanted = true;
        for (std::size_t mode = 0; mode < made.indices.size(); ++mode) {
          if (made.known[mode]) key.push_back(made.tuples[n][mode]);
          if (made.indices[mode] == first_) wanted = wanted && made.tuples[n][mode] % step_ == 0;
        }
        if (wanted) made.entries_of[key].push_back(n);
      }
    }
    for (const std::size_t number : made.indices) bound[number] = true;
    accesses_.push_back(std::move(made));
    return {};
  }

  void combine(std::size_t number, double product) {
    if (number == accesses_.size()) {
      Tuple tuple;
      for (const std::size_t own : target_) tuple.push_back(at_[own]);
      sums_[tuple] += product;
      return;
    }
    const Access& access = accesses_[number];
    if (!access.strides.empty() || access.indices.empty()) return combine_dense(number, 0, 0, product);
    Tuple key;
    for (std::size_t mode = 0; mode < access.indices.size(); ++mode)
      if (access.known[mode]) key.push_back(at_[access.indices[mode]]);
    const auto found = access.entries_of.find(key);
    if (found == access.entries_of.end()) return;
    for (const std::uint32_t entry : found->second) {
      bool diagonal = true;
      for (std::size_t mode = 0; mode < access.indices.size(); ++mode) {
        for (std::size_t before = 0; before < mode; ++before)
          diagonal = diagonal && (access.indices[before] != access.indices[mode] ||
                                  access.tuples[entry][before] == access.tuples[entry][mode]);
        at_[access.indices[mode]] = access.tuples[entry][mode];
      }
      if (diagonal) combine(number + 1, product * access.values[entry]);
    }
  }

  // Modes of a dense factor one after the other, every coordinate where the index is not bound yet.
  void combine_dense(std::size_t number, std::size_t mode, std::uint64_t offset, double product) {
    const Access& access = accesses_[number];
    if (mode == access.indices.size()) return combine(number + 1, product * access.values[offset]);
    const std::size_t own = access.indices[mode];
    if (access.known[mode]) return combine_dense(number, mode + 1, offset + at_[own] * access.strides[mode], product);
    const std::uint64_t step = own == first_ ? step_ : 1;
    for (std::uint64_t coordinate = 0; coordinate < extents_[own]; coordinate += step) {
      at_[own] = static_cast<std::uint32_t>(coordinate);
      combine_dense(number, mode + 1, offset + coordinate * access.strides[mode], product);
    }
  }

  std::map<std::string, std::size_t> numbers_;
  std::vector<std::uint64_t> extents_;
  std::vector<std::size_t> target_;
  std::size_t first_ = 0;
  std::uint64_t step_ = 1;
  std::vector<Coordinates> kept_ = {};
  std::vector<Access> accesses_;
  std::vector<std::uint32_t> at_;
  std::unordered_map<Tuple, double, TupleHash> sums_;
};

bool last_level_dense(const Tensor& tensor) {
  return tensor.format().levels.empty() || tensor.format().levels.back().kind == LevelKind::dense;
}

}  // namespace

std::size_t TupleHash::operator()(const Tuple& tuple) const {
  std::uint64_t hash = 0;
  for (const std::uint32_t coordinate : tuple) hash = (hash ^ coordinate) * 0x9E3779B97F4A7C15 + (hash >> 29);
  return hash;
}

Expected<Slices> evaluate_slices(const std::string& expression, const std::map<std::string, Tensor>& operands,
                                 const Resources& resources) {
  const auto parsed = parse_expression(expression);
  if (!parsed) return std::unexpected(parsed.error());
  Definition definition(parsed->assignments.front(), operands);
  if (auto added = definition.add_factors(parsed->assignments.front(), operands, resources); !added)
    return std::unexpected(added.error());
  return Slices{definition.step(), definition.evaluate()};
}

Expected<void> check_slices(const Slices& slices, const Tensor& result, const Resources& resources) {
  const auto stored = entries(result, false, resources);
  if (!stored) return std::unexpected(stored.error());
  const auto values = stored->values.as<const double>();
  std::size_t reached = 0;
  for (std::uint64_t n = 0; n < stored->count; ++n) {
    if (!stored->crd.empty() && stored->crd[0].as<const std::uint32_t>()[n] % slices.step != 0) continue;
    Tuple tuple;
    for (const Buffer& crd : stored->crd) tuple.push_back(crd.as<const std::uint32_t>()[n]);
    const auto found = slices.expected.find(tuple);
    if (found == slices.expected.end()) {
      if (last_level_dense(result) && values[n] == 0) continue;
      return internal_error(fmt::format("the result stores ({}), which no product reaches, with {}", fmt::join(tuple, ","), values[n]));
    }
    if (found->second != values[n])
      return internal_error(fmt::format("the result is {} at ({}) but should be {}", values[n], fmt::join(tuple, ","), found->second));
    ++reached;
  }
  if (reached != slices.expected.size())
    return internal_error(fmt::format("the result stores {} entries of some slices that should have {}", reached,
                                      slices.expected.size()));
  return {};
}

Expected<void> check_equal(const Tensor& result, const Tensor& expected, const std::string& what, const Resources& resources) {
  if (result.format().levels.size() != expected.format().levels.size())
    return internal_error(fmt::format("the result has another order than {}", what));
  if (result.format().mode_order != expected.format().mode_order) {
    const auto turned = convert(result, expected.format(), resources, "result");
    if (!turned) return std::unexpected(turned.error());
    return check_equal(*turned, expected, what, resources);
  }
  const auto left = entries(result, false, resources);
  if (!left) return std::unexpected(left.error());
  const auto right = entries(expected, false, resources);
  if (!right) return std::unexpected(right.error());
  if (left->count != right->count)
    return internal_error(fmt::format("the result stores {} entries but {} gives {}", left->count, what, right->count));
  const auto same = [&](const Buffer& a, const Buffer& b) {
    return a.size_bytes() == b.size_bytes() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  };
  if (!std::ranges::equal(left->crd, right->crd, same))
    return internal_error(fmt::format("the result stores other coordinates than {}", what));
  const auto got = left->values.as<const double>();
  const auto wanted = right->values.as<const double>();
  for (std::size_t n = 0; n < got.size(); ++n)
    if (got[n] != wanted[n])
      return internal_error(fmt::format("entry {} of the result is {} but {} gives {}", n, got[n], what, wanted[n]));
  return {};
}

}  // namespace weft::bench
