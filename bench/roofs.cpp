#include "bench/roofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "bench/data.h"
#include "bench/gather.h"
#include "bench/timing.h"

namespace weft::bench {
namespace {

constexpr double kib = 1024;
constexpr double mib = 1024 * kib;
constexpr std::size_t tasks_of_thread = 8;  // so that a thread that is late loses little
constexpr std::size_t row_elements = 32;

// What is computed has to be used; relaxed, once a task.
std::atomic<double> kept = 0;
void keep(double value) { kept.store(value, std::memory_order_relaxed); }

/// Billions of units a second, of `units` a task: the best of some rounds.
double best_rate(const Threads& threads, double units, const std::function<void(std::size_t task, unsigned slot)>& body) {
  const std::size_t tasks = tasks_of_thread * threads.count();
  double ms = 0;
  for (int round = 0; round < 6; ++round) {
    const double now = time_ms([&] { threads.for_each(tasks, body); });
    ms = round == 0 ? now : std::min(ms, now);
  }
  return units * static_cast<double>(tasks) / ms * 1e-6;
}

double gflops(const Threads& threads) {
  constexpr int rounds = 100'000;
  constexpr int sums = 16;
  return best_rate(threads, 2.0 * 8 * sums * rounds, [](std::size_t task, unsigned) {
    Vector sum[sums];  // each of its own value, or the compiler computes one for all
    for (int n = 0; n < sums; ++n) sum[n] = all_lanes(n);
    const Vector factor = all_lanes(1 / static_cast<double>(task + 2));
    for (int round = 0; round < rounds; ++round)
      for (int n = 0; n < sums; ++n) sum[n] = sum[n] * factor + factor;
    for (int n = 1; n < sums; ++n) sum[0] += sum[n];
    keep(lane_sum(sum[0]));
  });
}

double read_in_order(const double* from, std::size_t elements, std::size_t times) {
  Vector sum[8] = {};
  for (std::size_t time = 0; time < times; ++time)
    for (std::size_t at = 0; at + 64 <= elements; at += 64)
      for (int n = 0; n < 8; ++n) sum[n] += loaded(from + at + 8 * n);
  for (int n = 1; n < 8; ++n) sum[0] += sum[n];
  return lane_sum(sum[0]);
}

/// Each thread reads a piece of its own.
double stream_rate(const Threads& threads, const std::vector<double>& memory, double bytes) {
  const auto elements = static_cast<std::size_t>(bytes / 8 / threads.count()) / 64 * 64;
  const std::size_t times = std::max<std::size_t>(static_cast<std::size_t>(8 * mib / 8) / elements, 1);
  return best_rate(threads, static_cast<double>(elements * times) * 8,
                   [&](std::size_t, unsigned slot) { keep(read_in_order(memory.data() + slot * elements, elements, times)); });
}

std::vector<std::uint32_t> drawn_places(std::size_t count, std::size_t extent) {
  std::vector<std::uint32_t> places(count);
  for (std::size_t n = 0; n < count; ++n) places[n] = static_cast<std::uint32_t>(mix(n) % extent);
  return places;
}

double row_rate(const Threads& threads, const std::vector<double>& memory, double bytes) {
  constexpr std::size_t rows = 10'000;
  const auto places =
      drawn_places(rows * tasks_of_thread * threads.count() + fetched_ahead, static_cast<std::size_t>(bytes) / 8 / row_elements);
  return best_rate(threads, rows * row_elements * 8.0, [&](std::size_t task, unsigned) {
    const std::uint32_t* const mine = places.data() + task * rows;
    Row<row_elements> sum;
    sum.clear();
    for (std::size_t n = 0; n < rows; ++n) {
      fetch_row<row_elements>(memory.data() + mine[n + fetched_ahead] * row_elements);
      sum.add_scaled(2, memory.data() + mine[n] * row_elements);
    }
    keep(lane_sum(sum.part[0] + sum.part[1] + sum.part[2] + sum.part[3]));
  });
}

double element_rate(const Threads& threads, const std::vector<double>& memory, double bytes) {
  constexpr std::size_t elements = 1 << 17;
  const auto places = drawn_places(elements * tasks_of_thread * threads.count(), static_cast<std::size_t>(bytes) / 8);
  return best_rate(threads, elements * 8.0, [&](std::size_t task, unsigned) {
    const std::uint32_t* const mine = places.data() + task * elements;
    Vector sum{};
    Vector other{};
    for (std::size_t n = 0; n < elements; n += 16) {
      sum += gathered(memory.data(), mine + n);
      other += gathered(memory.data(), mine + n + 8);
    }
    keep(lane_sum(sum + other));
  });
}

std::string text_of(const RateBySize& rates) {
  std::string text;
  for (const auto& [bytes, rate] : rates.points)
    text += bytes < mib ? fmt::format(" {:.0f} ({:.0f} KiB)", rate, bytes / kib) : fmt::format(" {:.0f} ({:.0f} MiB)", rate, bytes / mib);
  return text;
}

}  // namespace

double RateBySize::at(double bytes) const {
  const auto above = std::ranges::find_if(points, [&](const auto& point) { return point.first >= bytes; });
  if (above == points.begin()) return points.front().second;
  if (above == points.end()) return points.back().second;
  const auto below = above - 1;
  const double share = std::log(bytes / below->first) / std::log(above->first / below->first);
  return below->second * std::pow(above->second / below->second, share);
}

Roofs measure_roofs(const Threads& threads) {
  const std::vector<double> memory(static_cast<std::size_t>(192 * mib / 8), 1.0);
  const double count = threads.count();
  Roofs roofs;
  roofs.threads = threads.count();
  roofs.gflops = gflops(threads);
  for (const double bytes : {16 * kib * count, 384 * kib * count, 12 * mib, 192 * mib})
    roofs.stream.points.emplace_back(bytes, stream_rate(threads, memory, bytes));
  for (const double bytes : {16 * kib, 512 * kib, 2 * mib, 7 * mib, 24 * mib, 128 * mib})
    roofs.rows.points.emplace_back(bytes, row_rate(threads, memory, bytes));
  for (const double bytes : {16 * kib, 512 * kib, 2 * mib, 12 * mib, 128 * mib})
    roofs.elements.points.emplace_back(bytes, element_rate(threads, memory, bytes));
  return roofs;
}

std::string roofs_line(const Roofs& roofs) {
  return fmt::format("{} thread{}: {:.0f} GFLOP/s; GB/s read in order{}, rows of 256 bytes{}, elements{}\n", roofs.threads,
                     roofs.threads == 1 ? "" : "s", roofs.gflops, text_of(roofs.stream), text_of(roofs.rows), text_of(roofs.elements));
}

}  // namespace weft::bench
