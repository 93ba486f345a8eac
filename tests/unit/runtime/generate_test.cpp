#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "unit/runtime/reference.h"
#include "weft/file.h"

namespace generate_test {

using namespace weft;
using namespace weft::reference;

namespace {

Tensor generated(std::string_view text, std::optional<Format> format = std::nullopt, unsigned threads = 2) {
  auto tensor = generate_tensor(text, format, resources(threads), "G");
  REQUIRE_MESSAGE(tensor, (tensor ? "" : tensor.error().message));
  CHECK(verify(*tensor, resources(), "G"));
  return *tensor;
}

std::uint64_t splitmix64(std::uint64_t z) {
  z ^= z >> 30;
  z *= 0xBF58476D1CE4E5B9ull;
  z ^= z >> 27;
  z *= 0x94D049BB133111EBull;
  z ^= z >> 31;
  return z;
}

/// The definition, drawn one by one.
Entries expected_sparse(const std::vector<std::uint64_t>& extents, std::size_t nnz, std::uint64_t seed) {
  Entries entries;
  const std::uint64_t modes = extents.size();
  for (std::uint64_t t = 0; entries.size() < nnz; ++t) {
    Tuple tuple;
    for (std::uint64_t m = 0; m < modes; ++m) {
      const std::uint64_t z = splitmix64((seed + 0x5EED) * 0x9E3779B97F4A7C15ull + t * modes + m + 1);
      // The high half of a 64 by 64 bit product, from 32-bit halves.
      const std::uint64_t low = (extents[m] & 0xFFFFFFFF) * (z & 0xFFFFFFFF);
      const std::uint64_t a = (extents[m] >> 32) * (z & 0xFFFFFFFF) + (low >> 32);
      const std::uint64_t b = (extents[m] & 0xFFFFFFFF) * (z >> 32) + (a & 0xFFFFFFFF);
      tuple.push_back((extents[m] >> 32) * (z >> 32) + (a >> 32) + (b >> 32));
    }
    entries[tuple] = 0;
  }
  std::uint64_t n = 0;
  for (auto& [tuple, value] : entries)
    value = static_cast<double>(splitmix64(seed * 0x9E3779B97F4A7C15ull + ++n) >> 11) * 0x1p-53;
  return entries;
}

}  // namespace

TEST_CASE("uniform and ones follow their formulas") {
  const Tensor tensor = generated("uniform(3x4,seed=5)");
  CHECK(tensor.format() == dense_format(2));
  for (std::uint64_t n = 0; n < 12; ++n)
    CHECK(tensor.values().as<double>()[n] ==
          static_cast<double>(splitmix64(5 * 0x9E3779B97F4A7C15ull + n + 1) >> 11) * 0x1p-53);
  const Tensor narrow = generated("uniform( 3x4 , seed = 5 )", parse_format("dd:1,0:f32").value());
  for (std::uint64_t i = 0; i < 3; ++i)
    for (std::uint64_t j = 0; j < 4; ++j)
      CHECK(narrow.values().as<float>()[j * 3 + i] ==
            static_cast<float>(splitmix64(5 * 0x9E3779B97F4A7C15ull + i * 4 + j + 1) >> 40) * 0x1p-24f);
  CHECK(generated("uniform(7)").values().as<double>()[0] == generated("uniform(7,seed=0)").values().as<double>()[0]);
  CHECK(generated("uniform(7,seed=1)").values().as<double>()[0] != generated("uniform(7)").values().as<double>()[0]);
  CHECK(stored(generated("ones(2x1)")) == Entries{{{0, 0}, 1}, {{1, 0}, 1}});
  CHECK(stored(generated("ones()")) == Entries{{{}, 1}});
  CHECK(generated("uniform(0x5)").nnz() == 0);
  CHECK(stored(generated("uniform(4x5)", sparse_format(2))) == stored(generated("uniform(4x5)")));
}

TEST_CASE("sparse draws exactly the coordinates of its definition") {
  CHECK(stored(generated("sparse(20x30x50,nnz=100,seed=3)")) == expected_sparse({20, 30, 50}, 100, 3));
  CHECK(stored(generated("sparse(20x30,nnz=140)")) == expected_sparse({20, 30}, 140, 0));     // repeats, few
  CHECK(stored(generated("sparse(20x30,nnz=151,seed=9)")) == expected_sparse({20, 30}, 151, 9));  // marked
  CHECK(stored(generated("sparse(5x4,nnz=20,seed=1)")) == expected_sparse({5, 4}, 20, 1));    // full
  CHECK(stored(generated("sparse(1000x1000,nnz=50000,seed=2)")) == expected_sparse({1000, 1000}, 50000, 2));
  CHECK(stored(generated("sparse(9223372036854775807x3x9999999999999,nnz=50)")) ==
        expected_sparse({~0ull >> 1, 3, 9999999999999ull}, 50, 0));
  CHECK(stored(generated("sparse(20x30x50,nnz=100,seed=3)", parse_format("uqq:2,0,1").value())) ==
        expected_sparse({20, 30, 50}, 100, 3));
  CHECK(generated("sparse(20x30,nnz=0)").nnz() == 0);
  CHECK(generated("sparse(0x30,nnz=0)").nnz() == 0);
  CHECK(stored(generated("sparse(40x50,nnz=99)", {}, 1)) == stored(generated("sparse(40x50,nnz=99)", {}, 2)));
  CHECK(generated("sparse(9x9,nnz=9)", parse_format("ss:0,1:f32").value()).values().as<float>()[0] ==
        generated("uniform(9)", parse_format("d:0:f32").value()).values().as<float>()[0]);
}

TEST_CASE("progress of a generated tensor never goes back, and is told often") {
  for (const char* text :
       {"sparse(3000x3000,nnz=100000)", "sparse(30x3000x3000,nnz=100)", "sparse(300x300,nnz=80000)", "uniform(300x300)"}) {
    std::vector<double> shares;
    Resources telling = resources(2);
    telling.progress = [&](std::string_view, double share) { shares.push_back(share); };
    REQUIRE(generate_tensor(text, std::nullopt, telling, "G"));
    CHECK(std::ranges::is_sorted(shares));
    CHECK(shares.front() == 0);
    CHECK(shares.back() <= 1);
    if (std::string_view(text) == "sparse(3000x3000,nnz=100000)") CHECK(shares.size() > 10);
  }
}

TEST_CASE("what is a generator, and what is wrong with it") {
  CHECK(is_generator("uniform(2x3)"));
  CHECK(is_generator("sparse(2,nnz=1)"));
  CHECK_FALSE(is_generator("uniform"));
  CHECK_FALSE(is_generator("random(2x3)"));
  CHECK_FALSE(is_generator("dir/uniform(2).tns"));
  CHECK_FALSE(is_generator("2.5"));
  auto message = [](std::string_view text, std::optional<Format> format = std::nullopt) {
    auto tensor = generate_tensor(text, format, resources(), "G");
    REQUIRE_FALSE(tensor);
    CHECK(tensor.error().kind == ErrorKind::input);
    CHECK(tensor.error().message.find("G") != std::string::npos);
    return tensor.error().message;
  };
  CHECK(message("uniform(2xx3)").find("'' is not an extent") != std::string::npos);
  CHECK(message("uniform(2x-3)").find("'-3' is not an extent") != std::string::npos);
  CHECK(message("uniform(99999999999999999999)").find("is not an extent") != std::string::npos);
  CHECK(message("uniform(2,3)").find("extents are joined by 'x'") != std::string::npos);
  CHECK(message("uniform(2,seed=x)").find("needs an unsigned number") != std::string::npos);
  CHECK(message("uniform(2,seed=1,seed=2)").find("given twice") != std::string::npos);
  CHECK(message("uniform(2,nnz=1)").find("nnz belongs to sparse()") != std::string::npos);
  CHECK(message("ones(2,seed=1)").find("takes no seed") != std::string::npos);
  CHECK(message("sparse(2x3)").find("needs nnz=NUMBER") != std::string::npos);
  CHECK(message("sparse(2x3,nnz=7)").find("7 nonzeros do not fit into the 6 coordinates") != std::string::npos);
  CHECK(message("sparse(0x3,nnz=1)").find("0 coordinates") != std::string::npos);
  CHECK(message("uniform(2x3)", dense_format(1)).find("has 1 levels") != std::string::npos);
  CHECK(message("nonsense(2)").find("none of") != std::string::npos);
}

}  // namespace generate_test
