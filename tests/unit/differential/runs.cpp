#include "runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <set>

#include "oracle/built_network.h"

namespace weft::test {
namespace {

// The handler may not allocate: the text lies ready.
std::array<char, 1 << 16> watched;
std::size_t watched_bytes = 0;
// A machine shared with others lets a network wait much longer than it computes; one that waits for itself computes nothing.
constexpr unsigned waiting = 9;
constexpr std::uint64_t usual_share = 8;

void hung(int) {
  constexpr std::string_view message = "no answer in time from\n";
  const bool written = ::write(2, message.data(), message.size()) > 0 && ::write(2, watched.data(), watched_bytes) > 0;
  ::_exit(written ? 124 : 125);
}

std::uint64_t environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

Runs runs(std::uint64_t count) {
  // Far enough apart that two commits draw no network in common, and small enough to be typed.
  const std::uint64_t first = 1 + draw() % 1'000'000 * 10'000;
  return {environment("WEFT_SEED", first), environment("WEFT_COUNT", is_long_run() ? count : count / usual_share)};
}

Watchdog::Watchdog(std::string_view network, unsigned seconds) {
  watched_bytes = std::min(network.size(), watched.size() - 1);
  std::copy_n(network.begin(), watched_bytes, watched.begin());
  watched[watched_bytes++] = '\n';
  std::signal(SIGPROF, hung);
  std::signal(SIGALRM, hung);
  const itimerval computing{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  ::setitimer(ITIMER_PROF, &computing, nullptr);
  ::alarm(waiting * seconds);
}

Watchdog::~Watchdog() {
  const itimerval off{};
  ::setitimer(ITIMER_PROF, &off, nullptr);
  ::alarm(0);
}

std::string differences(const CoordinateMap& result, const CoordinateMap& expected) {
  std::set<std::vector<std::uint64_t>> coordinates;
  for (const auto& entry : result) coordinates.insert(entry.first);
  for (const auto& entry : expected) coordinates.insert(entry.first);
  auto value = [](const CoordinateMap& map, const std::vector<std::uint64_t>& at) {
    const auto place = map.find(at);
    return place == map.end() ? 0 : place->second;
  };
  std::string text;
  int listed = 0;
  for (const auto& at : coordinates) {
    // Written so that NaN differs from everything.
    if (value(result, at) == value(expected, at)) continue;
    if (++listed > 4) return text + " …";
    text += fmt::format("{}R({}) is {} instead of {}", text.empty() ? "" : ", ", fmt::join(at, ","), value(result, at),
                        value(expected, at));
  }
  return text;
}

std::string wrong_result(const Tensor& result, const CoordinateMap& expected) {
  if (auto right = verify(result, Resources(), "R"); !right) return right.error().message;
  const auto found = entries_of(result, Resources());
  return found ? differences(*found, expected) : found.error().message;
}

}  // namespace weft::test
