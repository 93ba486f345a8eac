#include "engine/jit/jit.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "tests/unit/codegen/jit_run.h"

namespace jit_test {

using namespace weft;

namespace {

ObjectCode sum_code(const char* coefficient_sign) {
  const Expected<loop::Program> program =
      loop::parse(std::string("program sum\n  index i\n  input a : f64 {dense} access a[i]\n"
                              "  output s : f64 {} access s[]\n  for i: locate a\n    s ") +
                  coefficient_sign + "= a\n");
  REQUIRE(program.has_value());
  const Expected<ObjectCode> object = compile(*program, host_target(), {});
  REQUIRE_MESSAGE(object.has_value(), object.error().message);
  return *object;
}

double run(const LoadedCode& code) {
  const std::vector<double> a{1, 2, 4};
  double sum = 0;
  const std::uint8_t cancelled = 0;
  Worker worker;
  worker.cancelled = &cancelled;
  const std::uint64_t frame[] = {reinterpret_cast<std::uintptr_t>(a.data()), reinterpret_cast<std::uintptr_t>(&sum), 3};
  REQUIRE(code.function()(frame, 0, 3, &worker) == 0);
  return sum;
}

}  // namespace

TEST_CASE("kernels are loaded side by side and live as long as their handles, even after the Jit") {
  LoadedCode kept;
  {
    const Expected<Jit> jit = Jit::create();
    REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
    const ObjectCode plus = sum_code("+");
    const Expected<LoadedCode> first = jit->load(plus, "sum");
    const Expected<LoadedCode> again = jit->load(plus, "sum");
    const Expected<LoadedCode> minus = jit->load(sum_code("-"), "sum");
    REQUIRE(first.has_value());
    REQUIRE(again.has_value());
    REQUIRE(minus.has_value());
    CHECK((first->function() != again->function()));
    CHECK(run(*first) == 7);
    CHECK(run(*minus) == -7);
    kept = *again;
  }
  CHECK(run(kept) == 7);
}

TEST_CASE("loading and unloading from many threads") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE(jit.has_value());
  const ObjectCode plus = sum_code("+");
  std::vector<int> good(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < good.size(); ++n)
    threads.emplace_back([&, n] {
      for (int round = 0; round < 20; ++round) {
        const Expected<LoadedCode> code = jit->load(plus, "sum");
        if (code && run(*code) == 7) ++good[n];
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(good == std::vector<int>(4, 20));
}

TEST_CASE("defective bytes are errors") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE(jit.has_value());
  const ObjectCode good = sum_code("+");
  const auto refused = [&](std::string bytes) {
    return !jit->load(ObjectCode{std::move(bytes)}, "broken").has_value();
  };
  CHECK(refused(""));
  CHECK(refused("not an object"));
  CHECK(refused(good.bytes.substr(0, 40)));
  CHECK(refused(good.bytes.substr(0, good.bytes.size() / 2)));
  std::string other_machine = good.bytes;
  other_machine[18] = static_cast<char>(0xB7);  // e_machine: AArch64
  CHECK(refused(other_machine));
  std::string no_symbol = good.bytes;
  const std::size_t name = no_symbol.find("weft_kernel");
  REQUIRE(name != std::string::npos);
  no_symbol[name] = 'W';
  CHECK(refused(no_symbol));
  CHECK_FALSE(refused(good.bytes));
}

}  // namespace jit_test
