// Tensors cut and put together by a host: on one thread and on two, in turn.
#include <fmt/format.h>

#include "bench/data.h"
#include "bench/host_figures.h"
#include "weft/entries.h"

namespace weft::bench {

Expected<void> host_pieces(Errors& errors) {
  const Resources alone{Memory(), Threads(1), {}, {}}, both{Memory(), Threads(2), {}, {}};
  const auto T = random_sparse({{2000, 3000, 4000}, 1'000'000, 1, 1}, both);
  if (!errors.good(T)) return errors.first();
  const std::vector<std::uint64_t> places = {500, 1000, 1500};
  const VisitEntry keep = [](std::span<const std::uint64_t> at, double) { return (at[0] + at[2]) % 3 != 0; };
  const auto parts = split(*T, 1, places, both);
  const auto half = filter(*T, keep, alone);
  if (!errors.good(parts) || !errors.good(half)) return errors.first();
  const auto first = split(*T, 0, places, both);
  if (!errors.good(first)) return errors.first();
  const auto is_whole = [&](const Expected<Tensor>& whole) {
    if (!errors.good(whole)) return;
    if (whole->nnz() != T->nnz() || !same_values(*whole, T->values().as<const double>())) errors.wrong("what was put together");
  };
  is_whole(append(*parts, 1, both));
  is_whole(append(*first, 0, both));
  std::vector<std::function<void()>> calls;
  for (const Resources* const resources : {&alone, &both}) {
    calls.emplace_back([&, resources] { errors.good(filter(*T, keep, *resources)); });
    calls.emplace_back([&, resources] { errors.good(filter(*T, keep, *resources, Calls::at_once)); });
    calls.emplace_back([&, resources] { errors.good(split(*T, 1, places, *resources)); });
    calls.emplace_back([&, resources] { errors.good(append(*parts, 1, *resources)); });
    calls.emplace_back([&, resources] { errors.good(append(*first, 0, *resources)); });
  }
  const auto us = microseconds(calls, 1, 4);
  const char* const names[] = {"filter 1 M entries", "filter, asked by all threads at once", "split into 4 along the mode stored second",
                               "append these", "append 4 along the mode stored first"};
  for (std::size_t number = 0; number < std::size(names); ++number) {
    print_line(fmt::format("{}, 1 thread", names[number]), us[number]);
    print_line("  2 threads", us[number + std::size(names)], "1 thread", us[number]);
  }
  return errors.first();
}

}  // namespace weft::bench
