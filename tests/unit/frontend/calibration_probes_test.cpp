#include "frontend/calibration_probes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

namespace weft::calibration_probes_test {
namespace {

constexpr double KiB = 1024;
constexpr double MiB = 1024 * KiB;

Machine with_caches(const std::array<double, 3>& bytes) {
  Machine machine;
  machine.cache_bytes = bytes;
  return machine;
}

struct Sparse {
  unsigned long long rows = 0, columns = 0, entries = 0;
};

Sparse sparse(const std::string& spec) {
  Sparse read;
  REQUIRE(std::sscanf(spec.c_str(), "sparse(%llux%llu,nnz=%llu)", &read.rows, &read.columns, &read.entries) == 3);
  return read;
}

/// Of an operand "uniform(MxN)" or "uniform(N)".
double dense_bytes(const std::string& spec) {
  unsigned long long rows = 0;
  unsigned long long columns = 1;
  REQUIRE(std::sscanf(spec.c_str(), "uniform(%llux%llu)", &rows, &columns) >= 1);
  return 8.0 * static_cast<double>(rows) * static_cast<double>(columns);
}

/// What the probe gathers from.
double table_bytes(const std::vector<Probe>& probes, const std::string& what) {
  const auto found = std::ranges::find(probes, what, &Probe::what);
  REQUIRE(found != probes.end());
  return dense_bytes(found->operands.back().spec);
}

bool is_sparse(const OperandText& operand) { return operand.spec.starts_with("sparse("); }

}  // namespace

TEST_CASE("operands of the probes can be made and are bounded, whatever the caches are said to hold") {
  const std::array<double, 3> shipped = Machine().cache_bytes;
  for (const std::array<double, 3>& caches : {
           shipped,
           {16 * KiB, 512 * KiB, 8 * MiB},
           {24 * KiB, 2 * MiB, 8 * MiB},
           {48 * KiB, 2 * MiB, 32 * MiB},
           {128 * KiB, 16 * MiB, 4 * MiB},
           {48 * KiB, 2 * MiB, 504 * MiB},
           {1, 1, 1},
           {1 * KiB, 1, 2 * KiB},
           {1e300, 1e300, 1e300},
       }) {
    CAPTURE(caches[0]);
    CAPTURE(caches[1]);
    CAPTURE(caches[2]);
    const std::vector<Probe> probes = calibration_probes(with_caches(caches));
    std::set<std::string> names;
    for (const Probe& probe : probes) {
      CAPTURE(probe.what);
      CHECK(names.insert(probe.what).second);
      for (const OperandText& operand : probe.operands) {
        CAPTURE(operand.spec);
        if (!is_sparse(operand)) {
          CHECK(dense_bytes(operand.spec) <= 256 * MiB);
        } else if (probe.operands.size() == 2) {
          const Sparse matrix = sparse(operand.spec);
          CHECK(matrix.entries > 0);
          CHECK(static_cast<double>(matrix.entries) <= 0.8 * static_cast<double>(matrix.rows) * static_cast<double>(matrix.columns));
        }
      }
    }
  }
}

TEST_CASE("what the generator refuses is in no probe of a small first cache") {
  const Resources resources{Memory(), Threads(1), {}, {}};
  std::set<std::string> loaded;  // many are the same for all caches
  for (const double first : {1.0, 16 * KiB, 24 * KiB, 32 * KiB}) {
    CAPTURE(first);
    for (const Probe& probe : calibration_probes(with_caches({first, 64 * KiB, 128 * KiB}))) {
      CAPTURE(probe.what);
      for (const OperandText& operand : probe.operands)
        if (loaded.insert(operand.spec).second) CHECK(load_operand(operand.spec, std::nullopt, resources, operand.name).has_value());
    }
  }
}

TEST_CASE("tables lie in the cache that they are to measure, and beyond the largest one where their bound allows it") {
  for (const std::array<double, 3>& caches : {std::array{32 * KiB, 832 * KiB, 32 * MiB}, {24 * KiB, 2 * MiB, 8 * MiB},
                                              {128 * KiB, 16 * MiB, 4 * MiB}, {48 * KiB, 2 * MiB, 200 * MiB}}) {
    CAPTURE(caches[2]);
    const std::vector<Probe> probes = calibration_probes(with_caches(caches));
    for (const std::string what : {"rows", "elements"}) {
      CHECK(table_bytes(probes, what + " from the first cache") <= caches[0]);
      CHECK(table_bytes(probes, what + " from the second cache") <= caches[1]);
      CHECK(table_bytes(probes, what + " from the second cache") > caches[0]);
      CHECK(table_bytes(probes, what + " from the third cache") <= caches[2]);
      CHECK(table_bytes(probes, what + " from memory") > std::max(caches[1], caches[2]));
    }
  }
  const std::vector<Probe> large = calibration_probes(with_caches({48 * KiB, 2 * MiB, 504 * MiB}));
  CHECK(table_bytes(large, "rows from memory") > table_bytes(large, "rows from the third cache"));
}

}  // namespace weft::calibration_probes_test
