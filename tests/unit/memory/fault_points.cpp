#include "unit/memory/fault_points.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/kept.h"
#include "unit/share.h"
#include "weft/file.h"

namespace weft::test {
namespace {

using allocation_faults::Fails;

std::uint64_t environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What runs now, for the line that a crash leaves.
char running[256] = "";

extern "C" void tell_point(int signal) {
  (void)!::write(2, running, std::strlen(running));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

Outcome run(const std::string& name, const std::function<Outcome()>& scenario, std::uint64_t number, Fails fails) {
  std::snprintf(running, sizeof running, "\nended by a fault: %s, allocation %llu%s fails\n", name.c_str(),
                static_cast<unsigned long long>(number), fails == Fails::rest ? " and all later ones" : "");
  allocation_faults::begin(number, fails);
  return scenario();
}

/// Threads that go to sleep give back the last they have after the caller is through: so many are waited for, a while.
std::size_t kept_in_the_end(std::size_t expected) {
  std::size_t kept = allocation_faults::kept();
  for (int turn = 0; turn < (expected == 0 ? 5 : 200) && kept != expected; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kept = allocation_faults::kept();
  }
  return kept;
}

struct Totals {
  std::uint64_t points = 0, refused = 0;
};
Totals totals;

}  // namespace

Tensor drawn(const std::string& text, const char* format) {
  const auto wanted = format ? std::optional(*parse_format(format)) : std::nullopt;
  auto tensor = generate_tensor(text, wanted, Resources{Memory(), Threads(1), {}, {}}, "T");
  REQUIRE(tensor);
  return *tensor;
}

void fail_every_allocation(const std::string& name, const std::function<Outcome()>& scenario, const Memory& memory,
                           std::uint64_t usual, Left left) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS}) std::signal(signal, tell_point);
  const std::uint64_t seed = environment("WEFT_SEED", 1 + test::draw());
  const std::uint64_t count = environment("WEFT_COUNT", scaled(static_cast<unsigned>(usual)));
  const std::uint64_t only = environment("WEFT_POINT", 0);
  CAPTURE(name);
  INFO("to repeat: WEFT_SEED=", seed, " WEFT_COUNT=", count, " test_memory; WEFT_POINT=number for that one");
  // What is made once in a process, or kept for the next call, is there after the first two.
  for (int warm = 0; warm < 3; ++warm) {
    const Outcome usually = run(name, scenario, 0, Fails::none);
    REQUIRE_MESSAGE(usually.wrong.empty(), usually.wrong);
    REQUIRE_MESSAGE(!usually.error, usually.error->message);
  }
  const std::uint64_t allocations = allocation_faults::seen();
  give_back_kept(memory);
  std::size_t kept = kept_in_the_end(0);
  const std::uint64_t charged = memory.used();
  REQUIRE(allocations > 0);
  std::mt19937_64 dice(seed);
  std::uint64_t refused_here = 0;
  for (const Fails fails : {Fails::one, Fails::rest}) {
    const std::uint64_t points = only != 0 ? 1 : count == 0 ? allocations : std::min(count, allocations);
    for (std::uint64_t point = 1; point <= points; ++point) {
      const std::uint64_t number = only != 0 ? only : points == allocations ? point : dice() % allocations + 1;
      const Outcome faulty = run(name, scenario, number, fails);
      const bool fired = allocation_faults::fired();
      ++totals.points;
      refused_here += faulty.error ? 1 : 0;
      const Outcome again = run(name, scenario, 0, Fails::none);
      give_back_kept(memory);
      std::size_t kept_now = left == Left::tokens ? kept : kept_in_the_end(kept);
      if (kept_now != kept) {
        // What a process makes once, on the way to its first error, stays; what is lost is lost each time.
        kept = kept_now;
        (void)run(name, scenario, number, fails);
        (void)run(name, scenario, 0, Fails::none);
        give_back_kept(memory);
        kept_now = kept_in_the_end(kept);
      }
      const bool sound = faulty.wrong.empty() && again.wrong.empty() && !again.error && kept_now == kept && memory.used() == charged &&
                         (!faulty.error || (faulty.error->kind == ErrorKind::resource && !faulty.error->message.empty()));
      if (sound) continue;
      CAPTURE(number);
      CAPTURE(fired);
      CHECK_MESSAGE(faulty.wrong.empty(), "with the fault: ", faulty.wrong);
      if (faulty.error) {
        CHECK_MESSAGE(faulty.error->kind == ErrorKind::resource, "an error of another kind: ", faulty.error->message);
        CHECK_MESSAGE(!faulty.error->message.empty(), "an error without a message");
      }
      CHECK_MESSAGE(again.wrong.empty(), "afterwards: ", again.wrong);
      CHECK_MESSAGE(!again.error, "afterwards: ", again.error->message);
      CHECK_MESSAGE(kept_now == kept, "allocations that were not given back:\n", allocation_faults::newest_kept(6));
      REQUIRE_MESSAGE(memory.used() == charged, "the account of memory");
      REQUIRE(kept_now == kept);
      REQUIRE_MESSAGE(false, "this point");
    }
  }
  totals.refused += refused_here;
  CHECK_MESSAGE(refused_here > 0, "no fault was ever seen");
  if (std::getenv("WEFT_COUNT") != nullptr) {
    MESSAGE(name, ": ", allocations, " allocations, ", refused_here, " refused; so far ", totals.points, " faults");
  }
}

}  // namespace weft::test
