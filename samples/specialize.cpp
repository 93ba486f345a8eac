// Three patterns, three kernels: how much faster code gets that is made for the matrix it multiplies.
//
// Build it against an installed weft, for example: c++ -std=c++23 specialize.cpp $(pkg-config --cflags --libs weft)
#include <weft/session.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::uint32_t size = 64;

// 1. A sparse matrix from a list of places; entries are 1, 2, 3, ….
weft::Expected<weft::Tensor> matrix(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& places) {
  const weft::Resources resources;
  weft::Coordinates coordinates;
  coordinates.extents = {size, size};
  coordinates.count = places.size();
  for (int mode = 0; mode < 2; ++mode) {
    auto crd = weft::Buffer::allocate(places.size() * sizeof(std::uint32_t), resources.memory, "coordinates");
    if (!crd) return std::unexpected(crd.error());
    coordinates.crd.push_back(*crd);
  }
  auto values = weft::Buffer::allocate(places.size() * sizeof(double), resources.memory, "values");
  if (!values) return std::unexpected(values.error());
  coordinates.values = *values;
  for (std::size_t n = 0; n < places.size(); ++n) {
    coordinates.crd[0].as<std::uint32_t>()[n] = places[n].first;
    coordinates.crd[1].as<std::uint32_t>()[n] = places[n].second;
    coordinates.values.as<double>()[n] = static_cast<double>(n + 1);
  }
  return weft::build(std::move(coordinates), *weft::parse_format("ds"), resources, "M");
}

int failed(const weft::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main() {
  // 2. Three patterns of one size: a diagonal with its neighbours, an arrow, and something irregular.
  std::vector<std::pair<std::string, std::vector<std::pair<std::uint32_t, std::uint32_t>>>> patterns(3);
  patterns[0].first = "tridiagonal";
  patterns[1].first = "arrow";
  patterns[2].first = "irregular";
  for (std::uint32_t i = 0; i < size; ++i) {
    for (std::uint32_t j = std::max(i, 1U) - 1; j < std::min(i + 2, size); ++j) patterns[0].second.emplace_back(i, j);
    if (i > 0) patterns[1].second.emplace_back(i, 0);
    patterns[1].second.emplace_back(i, i);
    for (std::uint32_t n = 0; n < i % 5; ++n) patterns[2].second.emplace_back(i, (i * 7 + n * 13) % size);
  }

  // 3. A session, and a vector to multiply with. One thread: these products take less time than waking a second one.
  weft::EngineOptions options;
  options.resources.threads = weft::Threads(1);
  auto session = weft::Session::create(options);
  if (!session) return failed(session.error());
  auto vector = weft::dense_zeros({size}, weft::dense_format(1), options.resources, "x");
  if (!vector) return failed(vector.error());
  for (std::uint32_t i = 0; i < size; ++i) vector->writable_values<double>()[i] = 1 + i % 3;
  session->set("x", *vector);

  std::printf("%-12s %10s %10s %10s   %s\n", "y = M x", "generic", "profiled", "baked", "speed-up of baked over generic");
  for (const auto& [name, places] : patterns) {
    const auto pattern = matrix(places);
    if (!pattern) return failed(pattern.error());
    session->set("M", *pattern);
    // 4. The same expression in three grades: for the formats alone, for the sizes, for this very pattern. Only the
    //    generic kernel is found again for the next pattern; the baked ones are three different kernels.
    std::vector<double> microseconds;
    std::vector<double> first;
    for (const auto grade :
         {weft::Specialization::generic, weft::Specialization::profiled, weft::Specialization::baked}) {
      weft::EvaluateOptions evaluate;
      evaluate.specialize = grade;
      evaluate.repeat = 5000;
      const auto evaluation = session->evaluate("y(i) = M(i,j) * x(j)", {"M", "x"}, evaluate);
      if (!evaluation) return failed(evaluation.error());
      microseconds.push_back(evaluation->report.median_run_ms() * 1000);
      // 5. All grades give the same result: facts shape code, never meaning.
      const auto values = evaluation->results.at("y").values().as<const double>();
      const std::vector<double> result(values.begin(), values.end());
      if (first.empty()) first = result;
      if (result != first) {
        std::fprintf(stderr, "error: the grades differ\n");
        return 1;
      }
    }
    std::printf("%-12s %7.3f us %7.3f us %7.3f us   %.2f\n", name.c_str(), microseconds[0], microseconds[1], microseconds[2],
                microseconds[0] / microseconds[2]);
  }
  // 6. In a program that does not know which is best, Specialization::automatic chooses by EvaluateOptions::calls.
  return 0;
}
