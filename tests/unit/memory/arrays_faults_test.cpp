// Tensors taken from arrays of the host and taken apart again, cut, joined, filtered and asked for single elements.
#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unit/memory/fault_points.h"
#include "weft/arrays.h"
#include "weft/entries.h"

namespace weft::arrays_faults_test {

using allocation_faults::armed;
using test::drawn;
using test::fail_every_allocation;
using test::judged;
using test::Outcome;
using test::refused;

namespace {

double sum(std::span<const double> values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

/// Small integers, so that every order of summation gives the same; what is not stored stays 0.
Tensor whole(Tensor tensor) {
  double next = 1;
  for (double& value : tensor.writable_values<double>())
    if (value != 0) value = next = next == 7 ? 1 : next + 1;
  return tensor;
}

constexpr const char* layouts[] = {"ss", "ds", "uq", "dh", "db", "ss:1,0"};

}  // namespace

TEST_CASE("faults: from coordinates, rows, columns, levels and dense arrays of the host") {
  const std::vector<std::int32_t> rows = {2, 0, 0, 2}, columns = {1, 3, 0, 2}, pos = {0, 2, 2, 4}, crd = {3, 0, 1, 2};
  const std::vector<std::uint32_t> level_pos = {0, 2}, level_crd = {0, 2};
  const std::vector<double> values = {1, 2, 3, 4};
  for (const unsigned threads : {1U, 2U}) {
    const Resources resources{Memory(), Threads(threads), {}, {}};
    const std::vector<HostIndices> both = {rows, columns};
    const std::vector<HostLevel> levels = {{level_pos, level_crd}, {pos, crd}};
    const auto scenario = [&](const char* name, auto&& make, double total) {
      fail_every_allocation(name, [&]() -> Outcome {
        std::vector<std::uint64_t> extents = {3, 4};
        const auto made = armed([&] { return make(std::move(extents)); });
        if (!made) return refused(made.error());
        if (!verify(*made, resources, "T")) return judged(false, "not valid");
        return judged(sum(made->values().template as<const double>()) == total, "other values");
      }, resources.memory, 30);
    };
    using Extents = std::vector<std::uint64_t>;
    scenario("from coordinates", [&](Extents extents) { return from_coo(std::move(extents), both, values, resources); }, 10);
    for (const char* layout : layouts) {
      const Format format = *parse_format(layout);
      fail_every_allocation(std::string("from coordinates in ") + layout, [&]() -> Outcome {
        Extents extents = {3, 4};
        Format wanted = format;
        const auto made = armed([&] { return from_coo(std::move(extents), both, values, std::move(wanted), resources); });
        if (!made) return refused(made.error());
        return judged(made->nnz() == 4 && verify(*made, resources, "T"), "other entries");
      }, resources.memory, 15);
    }
    scenario("from rows", [&](Extents) { return from_csr(3, 4, pos, crd, values, resources); }, 10);
    scenario("from columns", [&](Extents) { return from_csc(4, 3, pos, crd, values, resources); }, 10);
    const std::vector<std::int64_t> strides = {1, 2};
    scenario("from dense", [&](Extents extents) {
      extents.front() = extents.back() = 2;
      return from_dense(std::move(extents), values, resources, strides);
    }, 10);
    fail_every_allocation("from levels", [&]() -> Outcome {
      Extents extents = {3, 4};
      Format format = sparse_format(2);
      const std::vector<std::uint32_t> below_pos = {0, 2, 4};
      const std::vector<HostLevel> given = {{level_pos, level_crd}, {below_pos, crd}};
      const auto made = armed([&] { return from_levels(std::move(format), std::move(extents), given, values, resources); });
      if (!made) return refused(made.error());
      return judged(made->nnz() == 4 && verify(*made, resources, "T"), "other entries");
    }, resources.memory, 30);
  }
}

TEST_CASE("faults: into coordinates, rows, columns and compressed levels") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  for (const char* layout : layouts) {
    const Tensor tensor = whole(drawn("sparse(20x30,nnz=70,seed=2)", layout));
    const double total = sum(to_coo(tensor, resources)->values);
    const auto scenario = [&](const std::string& name, auto&& take) {
      fail_every_allocation(name + " from " + layout, [&]() -> Outcome {
        const auto arrays = armed(take);
        if (!arrays) return refused(arrays.error());
        return judged(arrays->values.size() == 70 && sum(arrays->values) == total, "other values");
      }, resources.memory, 15);
    };
    scenario("coordinates", [&] { return to_coo(tensor, resources); });
    scenario("rows", [&] { return to_csr(tensor, resources); });
    scenario("columns", [&] { return to_csc(tensor, resources); });
    scenario("levels", [&] { return to_csf(tensor, resources); });
  }
}

TEST_CASE("faults: elements, entries, parts and pieces put together") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  for (const char* layout : layouts) {
    const Tensor tensor = whole(drawn("sparse(20x30,nnz=70,seed=2)", layout));
    fail_every_allocation(std::string("elements of ") + layout, [&]() -> Outcome {
      double listed = 0;
      double looked_up = 0;
      std::optional<Error> refusal;
      const VisitEntry visit = [&](std::span<const std::uint64_t> coordinates, double value) {
        listed += value;
        const auto found = at(tensor, coordinates);
        if (found) looked_up += found->value;
        if (!found) refusal = found.error();
        return true;
      };
      const auto visited = armed([&] { return for_each_entry(tensor, visit, resources); });
      if (!visited) return refused(visited.error());
      if (refusal) return refused(*refusal);
      return judged(listed == looked_up && listed != 0, "other elements");
    }, resources.memory, 15);
    fail_every_allocation(std::string("a mistaken element of ") + layout, [&]() -> Outcome {
      const auto found = armed([&] { return at(tensor, {20, 0}); });
      if (found) return judged(false, "it was found");
      if (found.error().kind == ErrorKind::resource) return refused(found.error());
      return judged(found.error().code == ErrorCode::out_of_range, found.error().message);
    }, resources.memory, 15);
    fail_every_allocation(std::string("parts of ") + layout, [&]() -> Outcome {
      const VisitEntry keep = [](std::span<const std::uint64_t> coordinates, double) { return coordinates[0] < 10; };
      const auto kept = armed([&] { return filter(tensor, keep, resources); });
      if (!kept) return refused(kept.error());
      const auto rows = armed([&] { return range(tensor, 0, 0, 10, resources); });
      if (!rows) return refused(rows.error());
      const std::vector<std::uint64_t> places = {7, 7, 25};
      const auto pieces = armed([&] { return split(tensor, 1, places, resources); });
      if (!pieces) return refused(pieces.error());
      const auto whole = armed([&] { return append(*pieces, 1, resources); });
      if (!whole) return refused(whole.error());
      return judged(kept->nnz() == rows->nnz() && pieces->size() == 4 && whole->nnz() == tensor.nnz() && verify(*whole, resources, "T"),
                    "other parts");
    }, resources.memory, 20);
  }
}

}  // namespace weft::arrays_faults_test
